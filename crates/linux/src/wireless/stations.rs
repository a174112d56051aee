//! The stations of an interface: their rates, and the counters of their queues.

use crate::netlink::attributes::{Attributes, bytes_at, u16_at, u32_of, u64_of};
use crate::netlink::generic::attributes;
use std::io;

/// `NL80211_ATTR_MAC` and `NL80211_ATTR_STA_INFO`.
const ADDRESS: u16 = 6;
const INFO: u16 = 21;
/// `NL80211_STA_INFO_TX_BITRATE` and `TID_STATS`.
const RATE: u16 = 8;
const TRAFFIC: u16 = 31;
/// `NL80211_RATE_INFO_BITRATE`, in 16 bits, and `BITRATE32` \[100 kbit/s\].
const RATE_16: u16 = 1;
const RATE_32: u16 = 5;
/// `NL80211_RATE_INFO_MCS`, `VHT_MCS`, `HE_MCS` and `EHT_MCS`: indices of 802.11n and later.
const INDICES: [u16; 4] = [2, 6, 13, 19];
/// `NL80211_TID_STATS_TX_MSDU`, `TX_MSDU_FAILED` and `TXQ_STATS`.
const SENT: u16 = 2;
const FAILED: u16 = 4;
const QUEUE: u16 = 6;
/// `NL80211_TXQ_STATS_BACKLOG_BYTES`, `BACKLOG_PACKETS`, `DROPS`, `TX_BYTES` and `TX_PACKETS`.
const BACKLOG_BYTES: u16 = 1;
const BACKLOG_PACKETS: u16 = 2;
const DROPS: u16 = 4;
const TAKEN_BYTES: u16 = 9;
const TAKEN_PACKETS: u16 = 10;

/// Number of traffic identifiers of QoS data (IEEE 802.11-2016 table 9-6).
const IDENTIFIERS: u16 = 8;

/// The access category, by its number in Linux, of each user priority (IEEE 802.11-2016 table 10-1): 1 and 2 are
/// background, 0 and 3 best effort, 4 and 5 video, 6 and 7 voice.
const CATEGORY_OF: [u8; IDENTIFIERS as usize] = [2, 3, 3, 2, 1, 1, 0, 0];

/// A station of an access point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Station {
    /// Its hardware address.
    pub address: [u8; 6],
    /// The rate of the last frame to it \[100 kbit/s\]; 0 if there was none.
    pub rate_100kbps: u32,
    /// Whether that rate is one of 802.11n or later.
    pub is_high_throughput: bool,
    /// The counters of its traffic, by category.
    pub queues: [Queue; super::CATEGORIES],
}

/// Counters of a station's packets of one category, since it joined. Those of queues have 32 bits and wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Packets that were sent.
    pub sent: u64,
    /// Packets of these that were not acknowledged.
    pub failed: u64,
    /// Whether the driver has queues in mac80211; the following are 0 otherwise.
    pub has_queue: bool,
    /// Packets that the driver took from the queue.
    pub taken_packets: u32,
    /// Bytes of these.
    pub taken_bytes: u32,
    /// Packets that were dropped.
    pub drops: u32,
    /// Packets that wait.
    pub backlog_packets: u32,
    /// Bytes of these.
    pub backlog_bytes: u32,
}

impl Queue {
    /// Adds the counters of another traffic identifier of the category.
    fn add(&mut self, traffic: &Attributes<'_>) {
        let long = |kind| traffic.find(kind).and_then(u64_of).unwrap_or_default();
        self.sent = self.sent.wrapping_add(long(SENT));
        self.failed = self.failed.wrapping_add(long(FAILED));
        let Some(queue) = traffic.find(QUEUE).map(Attributes::new) else { return };
        let add = |to: &mut u32, kind| {
            *to = to.wrapping_add(queue.find(kind).and_then(u32_of).unwrap_or_default());
        };
        self.has_queue = true;
        add(&mut self.taken_packets, TAKEN_PACKETS);
        add(&mut self.taken_bytes, TAKEN_BYTES);
        add(&mut self.drops, DROPS);
        add(&mut self.backlog_packets, BACKLOG_PACKETS);
        add(&mut self.backlog_bytes, BACKLOG_BYTES);
    }
}

impl Station {
    /// Reads a message about a station; returns none without an address.
    pub(crate) fn read(payload: &[u8]) -> io::Result<Option<Self>> {
        let attributes = attributes(payload)?;
        let Some(address) = attributes.find(ADDRESS).and_then(|value| bytes_at(value, 0)) else {
            return Ok(None);
        };
        let info = attributes.within(INFO);
        let rate = info.within(RATE);
        let short = rate.find(RATE_16).and_then(|value| u16_at(value, 0)).map(u32::from);
        let mut station = Self {
            address,
            is_high_throughput: INDICES.iter().any(|&index| rate.find(index).is_some()),
            rate_100kbps: rate.find(RATE_32).and_then(u32_of).or(short).unwrap_or_default(),
            ..Self::default()
        };
        // Kinds are the identifiers from 1 on; the 17th is for frames without one.
        for (kind, value) in info.within(TRAFFIC) {
            if let Some(category) = kind.checked_sub(1).and_then(|tid| CATEGORY_OF.get(usize::from(tid))) {
                station.queues[usize::from(*category)].add(&Attributes::new(value));
            }
        }
        Ok(Some(station))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::HEADER;
    use crate::netlink::generic::request;
    use crate::netlink::message::Message;

    /// Adds a traffic identifier's counters, with a queue's if there is one. The layout is that of `linux/nl80211.h`, by
    /// hand: `mac80211_hwsim` of Linux 6.1 has no queues.
    fn traffic(all: &mut Message, tid: u16, (sent, failed): (u64, u64), queue: Option<[u32; 5]>) {
        all.nest(tid + 1, |one| {
            one.put(2, &sent.to_ne_bytes()).put(3, &7_u64.to_ne_bytes()).put(4, &failed.to_ne_bytes());
            if let Some([backlog_bytes, backlog_packets, drops, bytes, packets]) = queue {
                one.nest(6, |queue| {
                    queue.put_u32(1, backlog_bytes).put_u32(2, backlog_packets).put_u32(4, drops);
                    queue.put_u32(9, bytes).put_u32(10, packets);
                });
            }
        });
    }

    fn message(rate: impl FnOnce(&mut Message), fill: impl FnOnce(&mut Message)) -> Vec<u8> {
        let mut message = request(0x1d, 19);
        message.put_u32(3, 3).put(6, &[2, 0, 0, 0, 1, 0]);
        message.nest(21, |info| {
            info.put_u32(10, 4).nest(8, rate).nest(31, fill);
        });
        message.finish(1)[HEADER..].to_vec()
    }

    #[test]
    fn counters_are_summed_by_category() {
        let bytes = message(
            |rate| {
                rate.put(1, &540_u16.to_ne_bytes()).put_u32(5, 540);
            },
            |all| {
                traffic(all, 0, (25_594, 3), Some([3000, 2, 1, 900, 20]));
                traffic(all, 3, (6, 1), Some([1500, 1, 0, 100, u32::MAX]));
                traffic(all, 6, (5, 0), Some([0, 0, 9, 50, 5]));
                traffic(all, 16, (99, 9), None);
            },
        );
        let station = Station::read(&bytes).unwrap().unwrap();
        assert_eq!((station.address, station.rate_100kbps), ([2, 0, 0, 0, 1, 0], 540));
        assert!(!station.is_high_throughput);
        let best_effort = Queue {
            sent: 25_600,
            failed: 4,
            has_queue: true,
            taken_packets: 19,
            taken_bytes: 1000,
            drops: 1,
            backlog_packets: 3,
            backlog_bytes: 4500,
        };
        assert_eq!(station.queues[2], best_effort, "taken packets wrap");
        assert_eq!((station.queues[0].sent, station.queues[0].drops), (5, 9));
        assert_eq!([station.queues[1], station.queues[3]], [Queue::default(); 2]);
    }

    #[test]
    fn driver_without_queues_has_sent_packets_only() {
        let bytes = message(
            |rate| {
                rate.put(1, &180_u16.to_ne_bytes()).put(2, &[2]);
            },
            |all| traffic(all, 1, (8, 2), None),
        );
        let station = Station::read(&bytes).unwrap().unwrap();
        assert_eq!((station.rate_100kbps, station.is_high_throughput), (180, true));
        assert_eq!(station.queues[3], Queue { sent: 8, failed: 2, ..Queue::default() });
        for length in 0..bytes.len() {
            let _ = Station::read(&bytes[..length]);
        }
        assert_eq!(Station::read(&bytes[..12]).unwrap(), None, "no address");
    }
}
