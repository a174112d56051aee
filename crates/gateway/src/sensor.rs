//! Measures passing packets: their subscribers, their volume, and the time for which each class had
//! data outstanding.
//!
//! A flow is followed from its data's side: TCP data to a subscriber are outstanding until the
//! subscriber acknowledges them. For all other flows the size of packets decides ([`BusyFlow`]).
//!
//! A reset ends both sides of its connection, because data in flight are then never acknowledged (RFC
//! 9293 §3.5.3). Sequence numbers of resets are not compared, since the gateway does not see all
//! packets. If a reset was forged or of another connection, later data open the flow again. Data to an
//! address that is away ([`Answers`]) keep no class busy.
//!
//! Flows and addresses are bounded, and classes share the places ([`Places`]). A subscriber that opens
//! flows or invents addresses without end takes no place of the others. A class with a flow without a
//! place has no known busy time ([`Sensor::is_known`]).

mod places;

use crate::Side;
use crate::kernel::Passed;
use evenair_laws::gateway::{Answers, BusyClass, BusyFlow, Count, FORGOTTEN, RoundTrip, RoundTrips};
use evenair_units::{Duration, Instant, Volume};
use places::Places;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Largest numbers of flows that are followed and of addresses that are remembered.
const FLOWS_MAX: usize = 65_536;
const HOSTS_MAX: usize = 65_536;

/// Number of a subscriber's packets that shows that a flow without acknowledgements has answers. A
/// request and its repetitions are fewer.
const ANSWERED: u32 = 8;

/// Time for which a host is remembered: a server may send data long after the host has left.
const HEARD: Duration = Duration::from_secs(3_600);

/// A flow, from the subscriber's end: both addresses, protocol, ports.
type Key = (IpAddr, IpAddr, u8, u16, u16);

/// One direction of one subscriber.
type Class = (Side, u16);

/// A flow's state.
#[derive(Clone, Copy, Debug)]
struct Flow {
    state: BusyFlow,
    trip: RoundTrip,
    /// Number of its packets so far.
    packets: u32,
    seen: Instant,
}

/// A subscriber's address that has sent packets. An address that never sends is not judged: its answers
/// may take another path.
#[derive(Clone, Copy, Debug)]
struct Host {
    /// The time of its last packet, in either direction.
    seen: Instant,
    /// The unanswered data to it.
    silent: Option<Answers>,
}

impl Host {
    /// Returns the time since which it is away, if it is.
    fn away_from(&self, now: Instant) -> Option<Instant> {
        self.silent.filter(|silent| silent.is_away(now)).map(|silent| silent.away_from())
    }

    /// Returns the time for which data to it have been unanswered.
    fn unanswered(&self, now: Instant) -> Duration {
        self.silent.map_or(Duration::ZERO, |silent| silent.unanswered(now))
    }
}

/// The account of all packets that passed.
#[derive(Clone, Debug)]
pub(crate) struct Sensor {
    flows: Places<Class, Key, Flow>,
    /// The time of each class's last packet in a flow without a place.
    unfollowed: BTreeMap<Class, Instant>,
    busy: BTreeMap<Class, BusyClass>,
    trips: BTreeMap<Class, RoundTrips>,
    passed: BTreeMap<Class, Volume>,
    /// Addresses that have sent packets, by subscriber.
    hosts: Places<u16, IpAddr, Host>,
    /// The time for which data to each class have been unanswered, at the end of an epoch.
    unanswered: BTreeMap<Class, Duration>,
}

impl Default for Sensor {
    fn default() -> Self {
        Self {
            flows: Places::new(FLOWS_MAX),
            unfollowed: BTreeMap::new(),
            busy: BTreeMap::new(),
            trips: BTreeMap::new(),
            passed: BTreeMap::new(),
            hosts: Places::new(HOSTS_MAX),
            unanswered: BTreeMap::new(),
        }
    }
}

impl Sensor {
    /// Takes a packet; `counts` is whether it adds to the volume, and `owner` returns an address's
    /// class. Returns the address behind the mesh, if it has no class.
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
            self.break_off(packet.at, key, minor);
        } else {
            self.follow(packet, key, minor);
        }
        None
    }

    /// Notes whether the subscriber answers from this address.
    fn heed(&mut self, packet: &Passed, key: Key, minor: u16) {
        let (now, own) = (packet.at, key.0);
        if packet.side == Side::Up {
            // An address without a place is treated like one that never sends: it is not judged.
            let new = Host { seen: now, silent: None };
            self.hosts.get_or_insert(minor, own, || new).into_iter().for_each(|host| *host = new);
            return;
        }
        let is_answered = || self.flows.get((Side::Up, minor), &key).is_some_and(|up| up.packets >= ANSWERED);
        let asks = packet.tcp.map_or_else(is_answered, |tcp| tcp.has_data);
        if let Some(host) = self.hosts.get_mut(minor, &own).filter(|_| asks) {
            host.seen = now;
            host.silent.get_or_insert(Answers::new(now)).on_data(now);
        }
    }

    /// Ends a connection in both directions.
    fn break_off(&mut self, now: Instant, key: Key, minor: u16) {
        for side in Side::ALL {
            if let Some(mut known) = self.flows.remove((side, minor), &key) {
                known.state.end(now, self.busy.entry((side, minor)).or_default());
            }
        }
    }

    fn follow(&mut self, packet: &Passed, key: Key, minor: u16) {
        let (now, side) = (packet.at, packet.side);
        let class = (side, minor);
        let carries = packet.tcp.is_none_or(|tcp| tcp.has_data || tcp.is_last);
        if carries {
            let (state, trip) = (BusyFlow::default(), RoundTrip::default());
            let new = || Flow { state, trip, packets: 0, seen: now };
            match self.flows.get_or_insert(class, key, new) {
                Some(known) => {
                    let away = self.hosts.get(minor, &key.0).and_then(|host| host.away_from(now));
                    carry(packet, known, away, self.busy.entry(class).or_default());
                }
                None => drop(self.unfollowed.insert(class, now)),
            }
        }
        if side == Side::Up
            && let Some(number) = packet.tcp.and_then(|tcp| tcp.acknowledged)
            && let Some(known) = self.flows.get_mut((Side::Down, minor), &key)
        {
            let class = (Side::Down, minor);
            known.seen = now;
            known.state.on_acknowledgement(now, number, self.busy.entry(class).or_default());
            known.trip.on_acknowledgement(now, number, self.trips.entry(class).or_default());
        }
    }

    /// Ends an epoch: a silent flow has ended at the time when its silence began. Forgets flows that
    /// have been silent for long.
    pub(crate) fn expire(&mut self, now: Instant) {
        let Self { flows, busy, hosts, unanswered, unfollowed, .. } = self;
        unanswered.clear();
        flows.retain(|class, key, known| {
            let busy = busy.entry(class).or_default();
            known.state.expire(now, busy);
            let host = hosts.get(class.1, &key.0);
            if let Some(away) = host.and_then(|host| host.away_from(now)) {
                known.state.end(away, busy);
            } else if known.state.is_busy() {
                let waits = host.map_or(Duration::ZERO, |host| host.unanswered(now));
                unanswered.entry(class).and_modify(|least| *least = waits.min(*least)).or_insert(waits);
            }
            now.since(known.seen) < FORGOTTEN
        });
        flows.level(|class, mut flow| {
            flow.state.end(now, busy.entry(class).or_default());
            unfollowed.insert(class, now);
        });
        unfollowed.retain(|_, seen| now.since(*seen) < FORGOTTEN);
        hosts.retain(|_, _, host| {
            host.silent = host.silent.filter(|silent| !silent.is_over(now));
            now.since(host.seen) < HEARD
        });
        hosts.level(|_, _| ());
        // If no flow keeps a class busy, its addresses that are away count.
        for (minor, host) in hosts.iter().filter(|(_, host)| host.away_from(now).is_some()) {
            unanswered.entry((Side::Down, minor)).or_insert(host.unanswered(now));
        }
    }

    /// Forgets the hosts, because packets cannot be seen and answers are unknown.
    pub(crate) fn see_nothing(&mut self) {
        self.hosts.clear();
    }

    /// Returns whether all recent flows of a class were followed, so that its busy time is known, at
    /// the end of the epoch.
    pub(crate) fn is_known(&self, class: Class) -> bool {
        !self.unfollowed.contains_key(&class)
    }

    /// Returns the time for which data of a class have been unanswered at the end of the epoch, or
    /// `None` if unknown.
    pub(crate) fn unanswered(&self, class: Class) -> Option<Duration> {
        self.unanswered.get(&class).copied().filter(|_| self.is_known(class))
    }

    /// Returns the busy time of a class so far.
    pub(crate) fn busy(&self, class: Class, now: Instant) -> Duration {
        self.busy.get(&class).map_or(Duration::ZERO, |busy| busy.time(now))
    }

    /// Returns the sum of a class's round-trip times so far \[ns\], and their number.
    pub(crate) fn round_trips(&self, class: Class) -> (Count, Count) {
        let trips = self.trips.get(&class).copied().unwrap_or_default();
        (Count::Wide(trips.sum.as_nanos()), Count::Wide(trips.count))
    }

    /// Returns the volume of a class so far.
    pub(crate) fn passed(&self, class: Class) -> Volume {
        self.passed.get(&class).copied().unwrap_or_default()
    }
}

/// Adds a data packet to a flow. `away` is the time since which its address is away.
fn carry(packet: &Passed, known: &mut Flow, away: Option<Instant>, busy: &mut BusyClass) {
    let (now, side) = (packet.at, packet.side);
    (known.seen, known.packets) = (now, known.packets.saturating_add(1));
    match packet.tcp {
        Some(tcp) if tcp.is_last && side == Side::Up => known.state.end(now, busy),
        Some(tcp) if side == Side::Down => {
            known.state.on_sequence(now, tcp.end, busy);
            known.trip.on_sequence(now, tcp.end);
        }
        _ => known.state.on_packet(now, packet.size, busy),
    }
    if let Some(away) = away {
        known.state.end(away, busy);
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

    /// Returns a packet between a server and this address and port.
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
    fn strangers_are_counted_without_their_flows() {
        let mut sensor = Sensor::default();
        let seen = sensor.see(&packet(0, Side::Up, ("10.0.0.9", 1), 1500, DATA), true, owner);
        assert_eq!((seen, sensor.flows.len()), (Some("10.0.0.9".parse().unwrap()), 0));
    }

    /// A sender of datagrams to ever more ports; then two others start bulk downloads.
    #[test]
    fn sender_of_many_flows_blinds_itself_alone() {
        let mut sensor = Sensor::default();
        let owners = |address: IpAddr| match address {
            IpAddr::V4(address) => Some(address.octets()[3].into()),
            IpAddr::V6(_) => None,
        };
        let (sprayer, modest) = (0x20_u16, 0x10_u16);
        let spray = |sensor: &mut Sensor, ms: u64| {
            for flow in 0..66_000_u32 {
                let server = IpAddr::from([192, 168, (flow >> 15) as u8, 2]);
                let ports = Some((20_000, flow as u16 & 0x7fff));
                let from = "10.0.0.32".parse().unwrap();
                let (side, protocol, tcp) = (Side::Up, 17, None);
                let packet = Passed { at: at(ms), side, size: 29, from, to: server, protocol, ports, tcp };
                sensor.see(&packet, true, owners);
            }
        };
        let mut end = 0;
        for second in 0..20 {
            if second % 7 == 0 {
                spray(&mut sensor, 1_000 * second);
            }
            for port in 0..50 {
                end += 1460;
                let tcp = Segment { end, ..DATA };
                sensor.see(
                    &packet(1_000 * second + 1, Side::Down, ("10.0.0.16", port), 1500, tcp),
                    true,
                    owners,
                );
            }
            sensor.expire(at(1_000 * second + 2));
        }
        let now = at(20_000);
        sensor.expire(now);
        assert!(sensor.is_known((Side::Down, modest)) && sensor.is_known((Side::Up, modest)));
        assert_eq!(sensor.busy((Side::Down, modest), now), Duration::from_millis(19_999));
        assert!(!sensor.is_known((Side::Up, sprayer)) && sensor.is_known((Side::Down, sprayer)));
        // Ten seconds after the last packet without a place, busy times are known again.
        sensor.expire(at(24_000));
        assert!(sensor.is_known((Side::Up, sprayer)));
    }

    /// A subscriber with a /56 sends from ever more addresses; another's addresses are judged all the
    /// same.
    #[test]
    fn subscriber_with_many_addresses_hides_none() {
        let mut sensor = Sensor::default();
        let owners = |address: IpAddr| Some(if address.is_ipv6() { 0x20 } else { 0x10 });
        for host in 0..200_000_u128 {
            let from = IpAddr::from((0x2001_0db8_u128 << 96 | host).to_be_bytes());
            let to = "2001:db9::1".parse().unwrap();
            let datagram = Passed {
                at: at(0),
                side: Side::Up,
                size: 49,
                from,
                to,
                protocol: 17,
                ports: None,
                tcp: None,
            };
            sensor.see(&datagram, true, owners);
        }
        assert!(sensor.hosts.len() <= HOSTS_MAX / 2);
        let acknowledgement = Segment { has_data: false, ..DATA };
        sensor.see(&packet(0, Side::Up, ANNA, 40, acknowledgement), true, owners);
        sensor.see(&packet(10, Side::Down, ANNA, 1500, Segment { end: 1460, ..DATA }), true, owners);
        sensor.expire(at(6_000));
        assert_eq!(sensor.unanswered((Side::Down, 0x10)), Some(Duration::from_millis(5_990)));
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
