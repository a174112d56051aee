//! Airtime fairness: stations, that is next hops, share the time of the air and not its bytes; within a station flows have
//! `fq_codel`.
//!
//! # Law
//! Each station has a deficit of airtime. At its turn it sends while that is above zero; else it gets a quantum and goes to the
//! end of the round. The airtime of its packets is taken off: every attempt, with preamble, spaces and
//! acknowledgement, at the station's rate. So a slow station does not take the time of fast ones.
//!
//! # Source
//! T. Høiland-Jørgensen and others, "Ending the Anomaly: Achieving Low Latency and Airtime Fairness in `WiFi`", 2017, section 3.2
//! and algorithm 3; Linux' mac80211 for the defaults: 256 µs, a quantum of 300 bytes, a target of 20 ms.
//!
//! # Deviations
//! Only sent packets count, not those of the station to us. Stations that begin to send have no turn before the round. Packets
//! that share frames are those of the station at its turn, which pays for the whole aggregate; the inter-frame space before it is
//! not counted. Where the buffer is full the flow with the longest queue of all stations loses its first packet, as in mac80211.

use super::{Discipline, DisciplineRole, Fair, FairParams, Queued};
use evenair_laws::marking::CodelParams;
use evenair_units::{Bytes, Duration, Instant, Probability};
use std::collections::{BTreeMap, VecDeque};

/// Parameters of airtime fairness.
#[derive(Clone, Debug, PartialEq)]
pub struct AirtimeParams {
    /// The airtime that a station may take in one turn.
    pub airtime: Duration,
    /// Within a station.
    pub flows: FairParams,
}

impl AirtimeParams {
    /// mac80211's: 256 µs a turn; flows have 300 bytes, 20 ms and 100 ms.
    pub fn mac80211() -> Self {
        let codel = CodelParams { target: Duration::from_millis(20), interval: Duration::from_millis(100) };
        let flows =
            FairParams { quantum: Bytes::new(300), marking: Some(codel.into()), ..FairParams::fq_codel() };
        Self { airtime: Duration::from_micros(256), flows }
    }
}

/// One next hop.
#[derive(Clone, Debug)]
struct Station {
    queue: Fair,
    /// The rest of its turn \[ns\].
    deficit: i64,
    in_round: bool,
}

/// Airtime fairness at work.
#[derive(Clone, Debug)]
pub struct AirtimeFair {
    params: AirtimeParams,
    role: DisciplineRole,
    /// By next hop.
    stations: BTreeMap<u32, Station>,
    round: VecDeque<u32>,
    /// The next hop and the size of the packet in service.
    in_service: Option<(u32, u32)>,
    packets: u32,
    bytes: u64,
}

impl AirtimeFair {
    /// An empty one.
    ///
    /// # Panics
    /// If a turn lasts no time: no station would ever send.
    pub fn new(params: AirtimeParams, role: &DisciplineRole) -> Self {
        assert!(!params.airtime.is_zero(), "a turn of no time");
        Self {
            params,
            role: role.clone(),
            stations: BTreeMap::new(),
            round: VecDeque::new(),
            in_service: None,
            packets: 0,
            bytes: 0,
        }
    }

    fn station(&mut self, next_hop: u32) -> &mut Station {
        let Self { params, role, .. } = self;
        self.stations.entry(next_hop).or_insert_with(|| {
            let queue = Fair::new(params.flows.clone(), role);
            Station { queue, deficit: 0, in_round: false }
        })
    }

    /// An attempt to send has ended: of the packet in service, or of packets for a next hop, in a frame that took so long with its
    /// acknowledgement.
    pub(crate) fn attempted(&mut self, aggregate: Option<(u32, Duration)>) {
        match (self.in_service, aggregate) {
            (_, Some((next_hop, airtime))) => {
                self.station(next_hop).deficit -= airtime.as_nanos().cast_signed();
            }
            (Some((next_hop, size)), None) => self.charge(next_hop, size),
            (None, _) => (),
        }
    }

    fn charge(&mut self, next_hop: u32, size: u32) {
        let airtime = self.role.airtimes.of(next_hop, size).as_nanos().cast_signed();
        self.station(next_hop).deficit -= airtime;
    }

    fn left(&mut self, packet: &Queued) {
        debug_assert!(self.packets > 0 && self.bytes >= u64::from(packet.size), "more leaves than came");
        self.packets -= 1;
        self.bytes -= u64::from(packet.size);
    }

    /// Whether the air has to tell of each attempt.
    pub(crate) fn wants_attempts(&self) -> bool {
        self.role.airtimes.per_attempt
    }
}

impl Discipline for AirtimeFair {
    fn refusal(&mut self, now: Instant, arrival: &Queued) -> Probability {
        self.station(arrival.next_hop).queue.refusal(now, arrival)
    }

    fn refused(&mut self, arrival: &Queued) {
        self.station(arrival.next_hop).queue.refused(arrival);
    }

    fn enqueue(&mut self, now: Instant, arrival: Queued) {
        self.packets += 1;
        self.bytes += u64::from(arrival.size);
        let station = self.station(arrival.next_hop);
        station.queue.enqueue(now, arrival);
        if !station.in_round {
            station.in_round = true;
            self.round.push_back(arrival.next_hop);
        }
    }

    #[inline(never)] // out of the way of queues that are first in, first out
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Queued>) -> Option<Queued> {
        self.in_service = None;
        let turn = self.params.airtime.as_nanos().cast_signed();
        loop {
            let next_hop = *self.round.front()?;
            let station = self.stations.get_mut(&next_hop).expect("a station at its turn is known");
            debug_assert!(station.in_round, "a station has a turn that is in no round");
            if station.queue.packets() > 0 && station.deficit <= 0 {
                station.deficit += turn;
                self.round.rotate_left(1);
                continue;
            }
            let already = dropped.len();
            let first = station.queue.dequeue(now, dropped);
            if first.is_none() {
                // A debt stays: used airtime must be paid. Unused airtime is lost.
                (station.in_round, station.deficit) = (false, station.deficit.min(0));
                self.round.pop_front();
            }
            for gone in dropped.iter().skip(already).copied().chain(first) {
                self.left(&gone);
            }
            let Some(first) = first else { continue };
            self.in_service = Some((next_hop, first.size));
            if !self.role.airtimes.per_attempt {
                self.charge(next_hop, first.size);
            }
            return Some(first);
        }
    }

    /// Dequeues more packets for the station at its turn, which pays for them beyond its turn.
    fn dequeue_for(&mut self, now: Instant, next_hop: u32, dropped: &mut Vec<Queued>) -> Option<Queued> {
        let already = dropped.len();
        let first = self.stations.get_mut(&next_hop)?.queue.dequeue(now, dropped);
        for gone in dropped.iter().skip(already).copied().chain(first) {
            self.left(&gone);
        }
        let first = first?;
        if !self.role.airtimes.per_attempt {
            self.charge(next_hop, first.size);
        }
        Some(first)
    }

    fn evict(&mut self, arrival: &Queued) -> Option<Queued> {
        let longest = self.stations.values_mut().max_by_key(|station| station.queue.longest())?;
        let evicted = longest.queue.evict(arrival)?;
        self.left(&evicted);
        Some(evicted)
    }

    fn packets(&self) -> u32 {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}
