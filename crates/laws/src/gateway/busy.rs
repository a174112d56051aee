//! Busy time: how long a class has data outstanding beyond the gateway, measured from the packets that pass
//! there.
//!
//! # Law
//! A flow is busy
//! - downstream, over TCP: while the highest sequence number that was let through is above the highest that was acknowledged;
//! - otherwise: since a full-sized packet was let through until a smaller one is. A full-sized packet
//!   announces more data; a smaller one ends them. A silence longer than the flow's pauses explain also ends
//!   the busy time: three times the longest recent one, a second at least. (A time-out in vain is followed by
//!   one twice as long; none is below a second.)
//!
//! A class is busy while any of its flows is. A flow of which nothing passes for [`FORGOTTEN`] is over.
//!
//! A number far from those before ([`JUMP`]) is forged or another connection's: it counts once a second one
//! is near it. An acknowledgement covers no more than was let through (RFC 9293 §3.10.7.4). So one invented
//! segment has no effect beyond the next true one.
//!
//! # Source
//! Ours. Busy time separates a subscriber that others starve from one that wants little: neither leaves a
//! backlog at the gateway.
//!
//! # Signals
//! Data that were let through, and acknowledgements that come back, both at the gateway. A host that counts
//! packets before its own queue includes the wait there. This changes no judgement: a class that waits there
//! is limited, and it gets its rate as long as it waits. A host calls [`expire`](BusyFlow::expire) for every flow
//! before it reads a class's time: a flow that silence ends was over earlier.
//!
//! # Deviations
//! Packets without acknowledgements that the gateway can read (QUIC, calls) fall under the second rule in
//! both directions. A call is never busy: its packets are all alike and small. A bulk transfer is always
//! busy: its packets are all full.
//!
//! # Example
//! ```
//! use evenair_laws::gateway::{BusyClass, BusyFlow};
//! use evenair_units::{Duration, Instant};
//! let at = |ms| Instant::ZERO + Duration::from_millis(ms);
//! let (mut class, mut flow) = (BusyClass::default(), BusyFlow::default());
//! flow.on_sequence(at(0), 1_448, &mut class);
//! flow.on_sequence(at(10), 2_896, &mut class);
//! flow.on_acknowledgement(at(200), 1_448, &mut class);
//! flow.on_acknowledgement(at(250), 2_896, &mut class);
//! assert_eq!(class.time(at(9_000)), Duration::from_millis(250));
//! ```

use evenair_units::{Duration, Instant};

/// A flow of which nothing passes for so long is over.
pub const FORGOTTEN: Duration = Duration::from_secs(10);
/// Packets that are no larger are never full-sized: network-layer size \[bytes\].
const SMALL: u32 = 500;
/// A flow that is silent for this many times its longest pause has no more data.
const PAUSES: u64 = 3;
/// A shorter silence never ends a flow: RFC 6298 section 2.4, the least time-out.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Each packet fades the longest pause by this part of it.
const FADING: u64 = 64;

/// Consecutive numbers of one connection are no further apart \[bytes\]. This is many times a window that
/// could be lost before the gateway at a mesh's rates.
const JUMP: u32 = 4 << 20;

/// One flow that passes the gateway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusyFlow {
    /// Behind the last byte that was let through, and behind the last that was acknowledged: sequence numbers, which wrap.
    sent: Option<u32>,
    acknowledged: Option<u32>,
    /// The last one that was far from those before.
    odd: Option<u32>,
    /// The largest packet \[bytes\].
    largest: u32,
    /// The longest recent pause between packets that have no visible acknowledgement.
    pause: Duration,
    seen: Instant,
    is_busy: bool,
}

/// Whether a sequence number is behind another, as those of TCP are compared.
const fn is_beyond(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() > 0
}

/// Whether two numbers may be of one connection at about one time.
const fn is_near(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed().unsigned_abs() <= JUMP
}

impl BusyFlow {
    /// Data that TCP will acknowledge were let through: `end` is the number behind them.
    pub fn on_sequence(&mut self, now: Instant, end: u32, class: &mut BusyClass) {
        self.seen = now;
        if self.sent.is_some_and(|sent| !is_near(end, sent)) {
            if self.odd.replace(end).is_none_or(|odd| !is_near(end, odd)) {
                return;
            }
            // Another connection of the same ports.
            (self.sent, self.acknowledged) = (None, None);
        }
        self.odd = None;
        self.sent = Some(self.sent.filter(|&sent| !is_beyond(end, sent)).unwrap_or(end));
        self.set(now, self.is_outstanding(), class);
    }

    /// All before this number was acknowledged.
    pub fn on_acknowledgement(&mut self, now: Instant, number: u32, class: &mut BusyClass) {
        self.seen = now;
        let Some(sent) = self.sent.filter(|&sent| is_near(number, sent) || !is_beyond(number, sent)) else {
            return;
        };
        let number = if is_beyond(number, sent) { sent } else { number };
        self.acknowledged =
            Some(self.acknowledged.filter(|&before| !is_beyond(number, before)).unwrap_or(number));
        self.set(now, self.is_outstanding(), class);
    }

    /// A packet of this network-layer size \[bytes\], without a visible acknowledgement, was let through.
    pub fn on_packet(&mut self, now: Instant, size: u32, class: &mut BusyClass) {
        self.expire(now, class);
        if self.largest > 0 {
            let faded = self.pause.saturating_sub(self.pause / FADING);
            self.pause = faded.max(now.since(self.seen));
        }
        self.seen = now;
        self.largest = self.largest.max(size);
        self.set(now, size >= self.largest && size > SMALL, class);
    }

    /// Whether it is busy.
    pub const fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// It is over.
    pub fn end(&mut self, now: Instant, class: &mut BusyClass) {
        self.set(now, false, class);
    }

    /// It is over, if nothing has passed of it for long, and was so before now.
    pub fn expire(&mut self, now: Instant, class: &mut BusyClass) {
        let over = self.seen + self.patience();
        if now >= over {
            self.set(over, false, class);
        }
    }

    /// A flow that is silent for this long is over.
    fn patience(&self) -> Duration {
        if self.sent.is_some() { FORGOTTEN } else { (self.pause * PAUSES).clamp(TIMEOUT, FORGOTTEN) }
    }

    fn is_outstanding(&self) -> bool {
        match (self.sent, self.acknowledged) {
            (Some(sent), Some(acknowledged)) => is_beyond(sent, acknowledged),
            (sent, _) => sent.is_some(),
        }
    }

    fn set(&mut self, now: Instant, is_busy: bool, class: &mut BusyClass) {
        match (self.is_busy, is_busy) {
            (false, true) => class.begin(now),
            (true, false) => class.end(now),
            _ => (),
        }
        self.is_busy = is_busy;
    }
}

/// The time for which any flow of a class was busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusyClass {
    flows: u32,
    since: Instant,
    before: Duration,
}

impl BusyClass {
    /// Until now, from the beginning.
    pub fn time(&self, now: Instant) -> Duration {
        self.before + if self.flows > 0 { now.since(self.since) } else { Duration::ZERO }
    }

    const fn begin(&mut self, now: Instant) {
        if self.flows == 0 {
            self.since = now;
        }
        self.flows += 1;
    }

    /// A flow has ended, maybe earlier; busy time of other flows since then stays counted.
    fn end(&mut self, then: Instant) {
        self.before = self.time(then);
        (self.flows, self.since) = (self.flows - 1, self.since.max(then));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn ms(class: &BusyClass, now: u64) -> u64 {
        class.time(at(now)).as_nanos() / 1_000_000
    }

    #[test]
    fn a_class_is_busy_while_any_of_its_flows_is() {
        let mut class = BusyClass::default();
        let [mut one, mut other] = [BusyFlow::default(); 2];
        one.on_sequence(at(0), 100, &mut class);
        other.on_sequence(at(50), 100, &mut class);
        one.on_acknowledgement(at(80), 100, &mut class);
        assert_eq!((one.is_busy(), other.is_busy()), (false, true));
        assert_eq!(ms(&class, 90), 90);
        other.on_acknowledgement(at(120), 100, &mut class);
        assert_eq!(ms(&class, 500), 120);
        // Numbers wrap.
        one.on_sequence(at(500), u32::MAX, &mut BusyClass::default());
    }

    /// RFC 9293 §3.10.7.4: data outside the window are dropped, and an acknowledgement of data not yet sent
    /// is ignored.
    #[test]
    fn invented_numbers_change_nothing() {
        let (mut class, mut flow) = (BusyClass::default(), BusyFlow::default());
        for k in 0..100_u32 {
            let (now, end) = (u64::from(k) * 100, 1_000 * (k + 1));
            flow.on_sequence(at(now), end, &mut class);
            // Far ahead, and far behind; neither twice.
            flow.on_sequence(at(now + 1), end.wrapping_add(0x2000_0000 * (k % 3 + 1)), &mut class);
            flow.on_acknowledgement(at(now + 2), end.wrapping_add(0x4000_0000), &mut class);
            flow.on_acknowledgement(at(now + 40), end, &mut class);
        }
        assert_eq!(ms(&class, 20_000), 100 * 40, "between data and their acknowledgement");
        // An acknowledgement beyond the data that were let through counts only up to them.
        flow.on_sequence(at(20_000), 101_000, &mut class);
        flow.on_acknowledgement(at(20_010), 103_000, &mut class);
        flow.on_sequence(at(20_020), 102_000, &mut class);
        flow.on_acknowledgement(at(20_050), 102_000, &mut class);
        assert_eq!(ms(&class, 21_000), 4_000 + 10 + 30);
    }

    #[test]
    fn another_connection_of_same_ports_is_followed() {
        let (mut class, mut flow) = (BusyClass::default(), BusyFlow::default());
        flow.on_sequence(at(0), 1_000, &mut class);
        flow.on_acknowledgement(at(10), 1_000, &mut class);
        flow.on_sequence(at(100), 0x8000_0000, &mut class);
        flow.on_sequence(at(110), 0x8000_1000, &mut class);
        flow.on_acknowledgement(at(150), 0x8000_1000, &mut class);
        assert_eq!(ms(&class, 9_000), 10 + 40, "from its second segment on");
    }

    #[test]
    fn duplicates_change_nothing() {
        let (mut class, mut flow) = (BusyClass::default(), BusyFlow::default());
        flow.on_sequence(at(0), u32::MAX - 5, &mut class);
        flow.on_sequence(at(1), 10, &mut class);
        flow.on_acknowledgement(at(2), u32::MAX - 5, &mut class);
        flow.on_sequence(at(3), u32::MAX - 5, &mut class); // sent again
        flow.on_acknowledgement(at(4), u32::MAX - 5, &mut class);
        assert_eq!(ms(&class, 5), 5);
        flow.on_acknowledgement(at(6), 10, &mut class);
        flow.on_acknowledgement(at(7), u32::MAX - 5, &mut class);
        assert_eq!(ms(&class, 100), 6, "an old acknowledgement opens nothing");
    }

    #[test]
    fn full_packet_announces_more() {
        let (mut class, mut flow) = (BusyClass::default(), BusyFlow::default());
        for (when, size) in [(0, 1500), (10, 1500), (20, 700), (30, 700)] {
            flow.on_packet(at(when), size, &mut class);
        }
        assert_eq!(ms(&class, 1_000), 20);
        // A call: all alike, and small.
        let (mut class, mut flow) = (BusyClass::default(), BusyFlow::default());
        (0..100).for_each(|k| flow.on_packet(at(20 * k), 200, &mut class));
        assert_eq!(ms(&class, 2_000), 0);
        for (size, busy) in [(SMALL, 0), (SMALL + 1, 80)] {
            let (mut class, mut flow) = (BusyClass::default(), BusyFlow::default());
            (0..5).for_each(|k| flow.on_packet(at(20 * k), size, &mut class));
            assert_eq!(ms(&class, 80), busy, "{size} bytes");
        }
    }

    #[test]
    fn flow_that_ends_is_busy_no_more() {
        let (mut class, mut flow) = (BusyClass::default(), BusyFlow::default());
        flow.on_sequence(at(0), 100, &mut class);
        flow.end(at(50), &mut class);
        assert_eq!((ms(&class, 500), flow.is_busy()), (50, false));
    }

    #[test]
    fn vanished_flow_is_forgotten() {
        let (mut class, mut flow) = (BusyClass::default(), BusyFlow::default());
        flow.on_sequence(at(0), 100, &mut class);
        flow.expire(at(9_999), &mut class);
        assert_eq!(ms(&class, 9_999), 9_999);
        flow.expire(at(20_000), &mut class);
        assert_eq!(ms(&class, 20_000), 10_000, "it was over before");
    }

    /// Full packets at these instants \[ms\], and silence after them: for how long is the class busy \[ms\]?
    fn full_packets(instants: impl Iterator<Item = u64>) -> u64 {
        let (mut class, mut flow) = (BusyClass::default(), BusyFlow::default());
        instants.for_each(|ms| flow.on_packet(at(ms), 1500, &mut class));
        flow.expire(at(60_000), &mut class);
        ms(&class, 60_000)
    }

    #[test]
    fn an_upload_that_ends_is_soon_over() {
        assert_eq!(
            full_packets([20_000, 20_020].into_iter()),
            20 + 1_000,
            "the time before it is no pause of it"
        );
        // A pause of 900 ms fades by a 64th with each of ten packets: 3·900·(63/64)¹⁰ = 2307.
        let busy = full_packets([0].into_iter().chain((0..11).map(|k| 900 + 20 * k)));
        assert!(busy.abs_diff(1_100 + 2_307) <= 2, "{busy}");
        assert_eq!(full_packets((0..100).map(|k| 20 * k)), 1_980 + 1_000);
        assert_eq!(full_packets((0..20).map(|k| 500 * k)), 9_500 + 1_500, "it pauses for half a second");
    }

    #[test]
    fn upload_in_time_outs_is_busy_throughout() {
        // After each in vain the next takes twice as long: a gap of two in vain is three seconds.
        assert_eq!(full_packets([0, 900, 3_000, 7_200, 15_600].into_iter()), 15_600 + 10_000);
        // No pause is known at the first gap, so it counts for the least time-out only.
        assert_eq!(full_packets([0, 3_100, 9_300].into_iter()), 1_000 + 6_200 + 10_000);
    }

    #[test]
    fn pauses_of_long_ago_fade() {
        let late = (0..500).map(|k| 4_000 + 20 * k);
        let busy = full_packets([0].into_iter().chain(late));
        assert_eq!(busy, 1_000 + 9_980 + 1_000);
    }

    proptest! {
        /// For any packets, the time never runs faster than the clock, nor backwards.
        #[test]
        fn it_is_a_time(events in prop::collection::vec((0u64..5_000, 0usize..3, 0u8..4, any::<u32>()), 0..200)) {
            let (mut class, mut flows, mut now, mut told) = (BusyClass::default(), [BusyFlow::default(); 3], 0, 0);
            for (later, flow, kind, number) in events {
                now += later;
                let (flow, class) = (&mut flows[flow], &mut class);
                match kind {
                    0 => flow.on_sequence(at(now), number, class),
                    1 => flow.on_acknowledgement(at(now), number, class),
                    2 => flow.on_packet(at(now), number % 1600, class),
                    _ => flow.end(at(now), class),
                }
                flows.iter_mut().for_each(|flow| flow.expire(at(now), class));
                let time = ms(class, now);
                prop_assert!(time >= told && time - told <= later);
                told = time;
            }
        }
    }
}
