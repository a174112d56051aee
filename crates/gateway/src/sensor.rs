//! What is told from packets that pass: whose they are, how much of them there is, and for how long each class had data outstanding.
//!
//! A flow is followed from its data's side: what a subscriber is sent over TCP is outstanding until the subscriber acknowledges it; all else goes by
//! the size of packets ([`BusyFlow`]).
//!
//! A reset ends both sides of its connection: data that were on their way are never acknowledged (RFC 9293 §3.5.3). No sequence number is compared,
//! since the gateway does not see all of them: data that follow a reset that was none, of a stranger or of another connection, open the flow again.
//! Data to an address that is away ([`Answers`]) keep nobody busy.

use crate::Side;
use crate::kernel::Passed;
use evenair_laws::gateway::{Answers, BusyClass, BusyFlow, Count, FORGOTTEN, RoundTrip, RoundTrips};
use evenair_units::{Duration, Instant, Volume};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The most flows that are followed: who opens more is not told apart further, and busy time is what the others say.
const FLOWS_MAX: usize = 65_536;

/// Packets from a subscriber in a flow without acknowledgements that make the flow one with answers: a request and its repetitions are fewer.
const ANSWERED: u32 = 8;

/// A host that was heard is remembered for so long: a server may have something for it long after, when it has left.
const HEARD: Duration = Duration::from_secs(3_600);

/// A flow, from the subscriber's end: both addresses, protocol, ports.
type Key = (IpAddr, IpAddr, u8, u16, u16);

/// A flow's state, with its class.
#[derive(Clone, Copy, Debug)]
struct Flow {
    class: (Side, u16),
    state: BusyFlow,
    trip: RoundTrip,
    /// Packets of it so far.
    packets: u32,
    seen: Instant,
}

/// An address of a subscriber from which something has come. Where nothing ever does, answers may take another way, and are no business of ours.
#[derive(Clone, Copy, Debug)]
struct Host {
    /// The subscriber's class.
    minor: u16,
    /// When something was seen of it last, either way.
    seen: Instant,
    /// Data to it that have had no answer.
    silent: Option<Answers>,
}

impl Host {
    /// Whether it is away, and since when.
    fn away_from(&self, now: Instant) -> Option<Instant> {
        self.silent.filter(|silent| silent.is_away(now)).map(|silent| silent.away_from())
    }

    /// For how long data have had no answer.
    fn unanswered(&self, now: Instant) -> Duration {
        self.silent.map_or(Duration::ZERO, |silent| silent.unanswered(now))
    }
}

/// The account of all that passed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sensor {
    flows: BTreeMap<(Side, Key), Flow>,
    busy: BTreeMap<(Side, u16), BusyClass>,
    trips: BTreeMap<(Side, u16), RoundTrips>,
    passed: BTreeMap<(Side, u16), Volume>,
    /// Addresses from which something has come.
    hosts: BTreeMap<IpAddr, Host>,
    /// For how long data to each class have had none, at the end of an epoch.
    unanswered: BTreeMap<(Side, u16), Duration>,
}

impl Sensor {
    /// A packet passed, which may be beside what counts; `owner` says whose class an address has. Gives the address behind the mesh, if
    /// it is nobody's.
    pub(crate) fn see(
        &mut self,
        packet: &Passed,
        counts: bool,
        mut owner: impl FnMut(IpAddr) -> Option<u16>,
    ) -> Option<IpAddr> {
        let (own, other) = match packet.side {
            Side::Down => (packet.to, packet.from),
            Side::Up => (packet.from, packet.to),
        };
        let Some(minor) = owner(own) else { return Some(own) };
        if counts {
            self.passed.entry((packet.side, minor)).or_default().add(packet.size.into());
        }
        let ports = packet.ports.unwrap_or_default();
        let (near, far) = if packet.side == Side::Down { (ports.1, ports.0) } else { ports };
        let key = (own, other, packet.protocol, near, far);
        self.heed(packet, key, minor);
        if packet.tcp.is_some_and(|tcp| tcp.is_reset) {
            self.break_off(packet.at, key);
        } else {
            self.follow(packet, key, minor);
        }
        None
    }

    /// Whether the subscriber answers from this address.
    fn heed(&mut self, packet: &Passed, key: Key, minor: u16) {
        let (now, own) = (packet.at, key.0);
        if packet.side == Side::Up {
            if self.hosts.len() < FLOWS_MAX || self.hosts.contains_key(&own) {
                self.hosts.insert(own, Host { minor, seen: now, silent: None });
            }
            return;
        }
        let is_answered = || self.flows.get(&(Side::Up, key)).is_some_and(|up| up.packets >= ANSWERED);
        let asks = packet.tcp.map_or_else(is_answered, |tcp| tcp.has_data);
        if let Some(host) = self.hosts.get_mut(&own).filter(|_| asks) {
            host.seen = now;
            host.silent.get_or_insert(Answers::new(now)).on_data(now);
        }
    }

    /// A connection is no more, either way.
    fn break_off(&mut self, now: Instant, key: Key) {
        for side in Side::ALL {
            if let Some(mut known) = self.flows.remove(&(side, key)) {
                known.state.end(now, self.busy.entry(known.class).or_default());
            }
        }
    }

    fn follow(&mut self, packet: &Passed, key: Key, minor: u16) {
        let (now, side) = (packet.at, packet.side);
        let carries = packet.tcp.is_none_or(|tcp| tcp.has_data || tcp.is_last);
        if carries && (self.flows.len() < FLOWS_MAX || self.flows.contains_key(&(side, key))) {
            let (state, trip) = (BusyFlow::default(), RoundTrip::default());
            let new = Flow { class: (side, minor), state, trip, packets: 0, seen: now };
            let known = self.flows.entry((side, key)).or_insert(new);
            (known.seen, known.packets) = (now, known.packets.saturating_add(1));
            let busy = self.busy.entry(known.class).or_default();
            match packet.tcp {
                Some(tcp) if tcp.is_last && side == Side::Up => known.state.end(now, busy),
                Some(tcp) if side == Side::Down => {
                    known.state.on_sequence(now, tcp.end, busy);
                    known.trip.on_sequence(now, tcp.end);
                }
                _ => known.state.on_packet(now, packet.size, busy),
            }
            if let Some(away) = self.hosts.get(&key.0).and_then(|host| host.away_from(now)) {
                known.state.end(away, busy);
            }
        }
        if side == Side::Up
            && let Some(number) = packet.tcp.and_then(|tcp| tcp.acknowledged)
            && let Some(known) = self.flows.get_mut(&(Side::Down, key))
        {
            known.seen = now;
            known.state.on_acknowledgement(now, number, self.busy.entry(known.class).or_default());
            known.trip.on_acknowledgement(now, number, self.trips.entry(known.class).or_default());
        }
    }

    /// An epoch ends: whatever is over by now was over when its silence began to say so. Flows of which nothing has passed for long make room.
    pub(crate) fn expire(&mut self, now: Instant) {
        let Self { flows, busy, hosts, unanswered, .. } = self;
        unanswered.clear();
        flows.retain(|(_, key), known| {
            let busy = busy.entry(known.class).or_default();
            known.state.expire(now, busy);
            let host = hosts.get(&key.0);
            if let Some(away) = host.and_then(|host| host.away_from(now)) {
                known.state.end(away, busy);
            } else if known.state.is_busy() {
                let waits = host.map_or(Duration::ZERO, |host| host.unanswered(now));
                unanswered.entry(known.class).and_modify(|least| *least = waits.min(*least)).or_insert(waits);
            }
            now.since(known.seen) < FORGOTTEN
        });
        hosts.retain(|_, host| {
            host.silent = host.silent.filter(|silent| !silent.is_over(now));
            now.since(host.seen) < HEARD
        });
        // Where nothing keeps a class busy, those that are away.
        for host in hosts.values().filter(|host| host.away_from(now).is_some()) {
            unanswered.entry((Side::Down, host.minor)).or_insert(host.unanswered(now));
        }
    }

    /// No packet is to be seen: nothing is known of who answers.
    pub(crate) fn see_nothing(&mut self) {
        self.hosts.clear();
    }

    /// For how long data of a class have had no answer, when the epoch ended.
    pub(crate) fn unanswered(&self, class: (Side, u16)) -> Option<Duration> {
        self.unanswered.get(&class).copied()
    }

    /// For how long a class was busy so far.
    pub(crate) fn busy(&self, class: (Side, u16), now: Instant) -> Duration {
        self.busy.get(&class).map_or(Duration::ZERO, |busy| busy.time(now))
    }

    /// How long a class's round trips took so far \[ns\], and how many there were.
    pub(crate) fn round_trips(&self, class: (Side, u16)) -> (Count, Count) {
        let trips = self.trips.get(&class).copied().unwrap_or_default();
        (Count::Wide(trips.sum.as_nanos()), Count::Wide(trips.count))
    }

    /// What passed of a class so far.
    pub(crate) fn passed(&self, class: (Side, u16)) -> Volume {
        self.passed.get(&class).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod silence;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Segment;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// A packet between a server and who has this address and port.
    fn packet(ms: u64, side: Side, (own, port): (&str, u16), size: u32, tcp: Segment) -> Passed {
        let (own, server) = (own.parse().unwrap(), "1.1.1.1".parse().unwrap());
        let (from, to, ports) = match side {
            Side::Down => (server, own, (443, port)),
            Side::Up => (own, server, (port, 443)),
        };
        Passed { at: at(ms), side, size, from, to, protocol: 6, ports: Some(ports), tcp: Some(tcp) }
    }

    const DATA: Segment =
        Segment { end: 0, acknowledged: Some(1), has_data: true, is_last: false, is_reset: false };
    const ANNA: (&str, u16) = ("10.0.0.1", 5000);

    fn owner(address: IpAddr) -> Option<u16> {
        (address == "10.0.0.1".parse::<IpAddr>().unwrap()).then_some(0x10)
    }

    #[test]
    fn a_download_is_busy_until_it_is_acknowledged() {
        let mut sensor = Sensor::default();
        for (ms, end) in [(0, 1460), (10, 2920)] {
            sensor.see(&packet(ms, Side::Down, ANNA, 1500, Segment { end, ..DATA }), true, owner);
        }
        let acknowledgement = Segment { acknowledged: Some(2920), has_data: false, ..DATA };
        sensor.see(&packet(300, Side::Up, ANNA, 40, acknowledgement), true, owner);
        assert_eq!(sensor.busy((Side::Down, 0x10), at(9_000)), Duration::from_millis(300));
        assert_eq!(sensor.busy((Side::Up, 0x10), at(9_000)), Duration::ZERO, "an acknowledgement is no data");
        assert_eq!(sensor.passed((Side::Down, 0x10)), Volume { packets: 2, bytes: 3000 });
    }

    #[test]
    fn strangers_are_told_and_no_flow_of_theirs_is_kept() {
        let mut sensor = Sensor::default();
        let seen = sensor.see(&packet(0, Side::Up, ("10.0.0.9", 1), 1500, DATA), true, owner);
        assert_eq!((seen, sensor.flows.len()), (Some("10.0.0.9".parse().unwrap()), 0));
    }

    #[test]
    fn flows_that_are_silent_make_room() {
        let mut sensor = Sensor::default();
        for port in 0..100 {
            sensor.see(&packet(0, Side::Up, (ANNA.0, port), 1500, DATA), true, owner);
        }
        sensor.expire(at(9_000));
        assert_eq!(sensor.flows.len(), 100);
        sensor.expire(at(10_000));
        // An upload that falls silent after its first packet is over after a second.
        assert_eq!(
            (sensor.flows.len(), sensor.busy((Side::Up, 0x10), at(60_000))),
            (0, Duration::from_secs(1))
        );
    }
}
