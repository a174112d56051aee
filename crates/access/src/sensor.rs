//! Counters of stations become a law's view of its link: the access point's downlink in one access category.

use evenair_laws::backoff::{Category, LinkView};
use evenair_linux::wireless::{Queue, Station};
use evenair_units::{Duration, Instant, Rate, Volume};
use std::collections::BTreeMap;

/// Sums differences of counters, station by station: a station that leaves takes its counters with it.
#[derive(Clone, Debug)]
pub struct Sensor {
    category: Category,
    seen: BTreeMap<[u8; 6], Queue>,
    /// The time of the last look; none before the first.
    looked: Option<Instant>,
    backlog: Volume,
    /// The rate of the last packets.
    rate: Rate,
}

/// The differences of one station's counters since the last look.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    served: Volume,
    /// Packets that left the queue, whether they were acknowledged or dropped.
    gone: Volume,
}

impl Sensor {
    /// Returns a sensor of a category.
    pub const fn new(category: Category) -> Self {
        Self {
            category,
            seen: BTreeMap::new(),
            looked: None,
            backlog: Volume { packets: 0, bytes: 0 },
            rate: Rate::from_bps(0),
        }
    }

    /// Returns the law's view. The first look is the beginning: it has a backlog, and no service yet.
    pub fn look(&mut self, now: Instant, stations: &[Station]) -> LinkView {
        let number = number(self.category);
        let (mut service, mut gone, mut backlog) = (Volume::default(), Volume::default(), Volume::default());
        let (mut weighted, mut seen) = (0_u128, BTreeMap::new());
        for station in stations {
            let queue = station.queues[number];
            let first = if self.looked.is_none() { queue } else { Queue::default() };
            let before = self.seen.get(&station.address).copied().unwrap_or(first);
            let step = step(&before, &queue);
            service = sum(service, step.served);
            gone = sum(gone, step.gone);
            backlog = sum(backlog, volume(queue.backlog_packets.into(), queue.backlog_bytes.into()));
            weighted += u128::from(step.served.packets) * u128::from(bps(station));
            seen.insert(station.address, queue);
        }
        self.follow_rate(weighted, service.packets, stations);
        let arrivals = less(sum(gone, backlog), self.backlog);
        let interval = self.looked.map_or(Duration::ZERO, |looked| now.since(looked));
        let arrivals = if self.looked.is_none() { backlog } else { arrivals };
        (self.seen, self.looked, self.backlog) = (seen, Some(now), backlog);
        LinkView {
            now,
            interval,
            arrivals,
            service,
            backlog,
            data_rate: self.rate,
            // mac80211 keeps how long a packet has waited to itself.
            head_of_line_delay: None,
            ..LinkView::default()
        }
    }

    /// Takes the mean rate of the packets that were served; of the stations, as long as none was.
    fn follow_rate(&mut self, weighted: u128, packets: u64, stations: &[Station]) {
        let mean = |sum: u128, count: u64| sum.checked_div(u128::from(count));
        let of_all = || {
            let rates: Vec<u64> = stations.iter().map(bps).filter(|&rate| rate > 0).collect();
            mean(rates.iter().copied().map(u128::from).sum(), rates.len() as u64)
        };
        let known = mean(weighted, packets).filter(|&rate| rate > 0);
        let first = || if self.rate == Rate::from_bps(0) { of_all() } else { None };
        if let Some(rate) = known.or_else(first) {
            self.rate = Rate::from_bps(u64::try_from(rate).unwrap_or(u64::MAX));
        }
    }
}

/// The category's number in Linux.
pub(crate) fn number(category: Category) -> usize {
    Category::ALL.iter().position(|&one| one == category).unwrap_or_default()
}

fn bps(station: &Station) -> u64 {
    u64::from(station.rate_100kbps) * 100_000
}

/// Returns the differences between two looks at a station. Counters that went down are those of a station that came
/// again.
fn step(before: &Queue, now: &Queue) -> Step {
    let is_another = now.sent < before.sent || now.failed < before.failed;
    let before = if is_another { &Queue::default() } else { before };
    let failed = now.failed - before.failed;
    let (packets, bytes, dropped) = if now.has_queue {
        // Of 32 bits, which wrap.
        let taken = |now: u32, before: u32| u64::from(now.wrapping_sub(before));
        (
            taken(now.taken_packets, before.taken_packets),
            taken(now.taken_bytes, before.taken_bytes),
            taken(now.drops, before.drops),
        )
    } else {
        (now.sent - before.sent, 0, 0)
    };
    // Bytes of packets that failed are not counted apart: each has the mean size.
    let served = packets.saturating_sub(failed);
    let part = u128::from(bytes) * u128::from(served);
    let served_bytes = part.checked_div(u128::from(packets)).unwrap_or_default();
    Step {
        served: volume(served, u64::try_from(served_bytes).unwrap_or(bytes)),
        gone: volume(packets.saturating_add(dropped), bytes),
    }
}

const fn volume(packets: u64, bytes: u64) -> Volume {
    Volume { packets, bytes }
}

const fn sum(a: Volume, b: Volume) -> Volume {
    volume(a.packets.saturating_add(b.packets), a.bytes.saturating_add(b.bytes))
}

const fn less(a: Volume, b: Volume) -> Volume {
    volume(a.packets.saturating_sub(b.packets), a.bytes.saturating_sub(b.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn station(last: u8, rate_100kbps: u32, queue: Queue) -> Station {
        let mut station = Station { address: [2, 0, 0, 0, 0, last], rate_100kbps, ..Station::default() };
        station.queues[2] = queue;
        station
    }

    fn queue(taken: u32, failed: u64, backlog: u32) -> Queue {
        Queue {
            sent: taken.into(),
            failed,
            has_queue: true,
            taken_packets: taken,
            taken_bytes: taken.wrapping_mul(1000),
            backlog_packets: backlog,
            backlog_bytes: backlog * 1000,
            ..Queue::default()
        }
    }

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn differences_are_summed_over_stations() {
        let mut sensor = Sensor::new(Category::BestEffort);
        let first = sensor.look(at(0), &[station(1, 60, queue(500, 7, 3))]);
        assert_eq!((first.service.packets, first.arrivals.packets, first.backlog.packets), (0, 3, 3));
        // 20 packets leave, of which 2 fail, and the backlog goes from 3 to 5; a second station joins: 6 leave, 1 waits.
        let both = [station(1, 60, queue(520, 9, 5)), station(2, 540, queue(6, 0, 1))];
        let view = sensor.look(at(100), &both);
        assert_eq!((view.interval, view.head_of_line_delay), (Duration::from_millis(100), None));
        assert_eq!((view.service.packets, view.backlog.packets), (24, 6));
        assert_eq!(view.service.bytes, 24_000);
        assert_eq!(view.arrivals.packets, 26 + 6 - 3);
        // 18 packets at 6 Mb/s and 6 at 54.
        assert_eq!(view.data_rate, Rate::from_kbps(18_000));
        // The first leaves, and the second's service is its own.
        let view = sensor.look(at(200), &[station(2, 540, queue(16, 0, 0))]);
        assert_eq!((view.service.packets, view.data_rate), (10, Rate::from_kbps(54_000)));
        // It comes again, with counters from zero.
        let view = sensor.look(at(300), &[station(2, 540, queue(4, 0, 0))]);
        assert_eq!(view.service.packets, 4);
    }

    #[test]
    fn counters_of_32_bits_wrap() {
        let before = Queue { sent: 10, taken_packets: u32::MAX - 1, ..queue(0, 0, 0) };
        let now = Queue { sent: 15, taken_packets: 3, ..before };
        assert_eq!(step(&before, &now).served.packets, 5);
    }

    #[test]
    fn driver_without_queues_has_its_sent_packets() {
        let mut sensor = Sensor::new(Category::Background);
        let mut one = Station { address: [1; 6], rate_100kbps: 110, ..Station::default() };
        one.queues[3] = Queue { sent: 100, failed: 10, ..Queue::default() };
        sensor.look(at(0), &[one.clone()]);
        one.queues[3] = Queue { sent: 130, failed: 12, ..Queue::default() };
        let view = sensor.look(at(100), &[one]);
        assert_eq!((view.service.packets, view.arrivals.packets, view.backlog.packets), (28, 30, 0));
        assert_eq!(view.data_rate, Rate::from_kbps(11_000));
    }

    #[test]
    fn packets_that_are_dropped_had_arrived() {
        let mut sensor = Sensor::new(Category::BestEffort);
        sensor.look(at(0), &[station(1, 60, queue(0, 0, 10))]);
        let dropped = Queue { drops: 4, ..queue(3, 0, 5) };
        let view = sensor.look(at(100), &[station(1, 60, dropped)]);
        assert_eq!((view.arrivals.packets, view.service.packets), (2, 3), "10 + 2 = 3 + 4 + 5");
    }

    proptest! {
        /// Any counters give a view that a law takes.
        #[test]
        fn any_counters_make_a_view(looks in prop::collection::vec(
            (any::<u8>(), any::<[u32; 6]>(), any::<[u64; 2]>(), any::<bool>()), 1..40,
        )) {
            let mut sensor = Sensor::new(Category::BestEffort);
            for (ms, (last, short, long, has_queue)) in looks.into_iter().enumerate() {
                let queue = Queue {
                    sent: long[0],
                    failed: long[1],
                    has_queue,
                    taken_packets: short[0],
                    taken_bytes: short[1],
                    drops: short[2],
                    backlog_packets: short[3],
                    backlog_bytes: short[4],
                };
                let view = sensor.look(at(ms as u64), &[station(last % 3, short[5], queue)]);
                prop_assert_eq!(view.backlog.packets, u64::from(short[3]));
                prop_assert!(ms > 0 || view.service.packets == 0);
            }
        }
    }
}
