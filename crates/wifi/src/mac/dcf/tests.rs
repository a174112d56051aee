//! Scripted timelines of each channel-access rule; `fuzz` has event sequences by chance and their invariants.
//!
//! The air is driven by hand: a small host lets it do what is due and writes down every frame. Draws are fixed by
//! windows of zero where a script needs exact times.

mod categories;
mod causes;
mod distance;
mod energy;
mod fuzz;
mod mixed;
mod modes;
mod overlap;
mod protection;
mod shape;

use super::*;
use crate::air::{BROADCAST, Head, Outcome, PacketId, Up};
use crate::loss::LossModel;
use crate::mac::edca::Arbitration;
use crate::phy::Mode;
use evenair_des::Stream;
use evenair_laws::backoff::{BackoffLaw, Category, Dcf, Draw, Edca, Holding, OnFailure, PhysicalLayer, When};
use evenair_topology::{Link, Position, Propagation, ThresholdRadio};
use evenair_units::{Dbm, Probability, Rate};

const DATA_BYTES: u32 = 1000;

#[derive(Clone)]
struct Bench {
    air: DcfAir,
    out: Vec<Up>,
    now: Instant,
    up: Vec<(Instant, Up)>,
}

fn us(time: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(time)
}

fn timing() -> MacTiming {
    MacTiming::b(crate::Preamble::Long, Rate::from_kbps(1_000))
}

/// Back-offs of exactly this many slots, never doubled.
fn exactly(slots: u64) -> Access {
    let mean = timing().slot * slots;
    let draw = Draw::Fixed { mean };
    Access { draw, on_failure: OnFailure::Redraw, when: When::BeforeFrame, holding: Holding::Packet }
}

fn dcf() -> Access {
    Dcf::dsss().access()
}

impl Ear {
    /// As if an obstacle stood between.
    fn hide(&mut self) {
        (self.sensed, self.decodable, self.noticed, self.clear_alone) = (false, false, false, false);
    }
}

impl Bench {
    /// Nodes on a line at these places [m], one contender each, in range of each other below 250 m, audible to 800 m.
    fn line(at_m: &[f64], access: impl Fn(usize) -> Access, timing: MacTiming, rules: Rules) -> Self {
        let at: Vec<Position> = at_m.iter().map(|&x| Position::new(x, 0.0)).collect();
        let radio = ThresholdRadio {
            transmission_range_m: 250.0,
            carrier_sense_range_m: 800.0,
            interference_range_m: 800.0,
            propagation: Propagation::default(),
        };
        Self::over(&Medium::from_positions(&at, &radio), access, timing, rules)
    }

    /// One contender on each node of a medium.
    fn over(medium: &Medium, access: impl Fn(usize) -> Access, timing: MacTiming, rules: Rules) -> Self {
        let stream = |n: usize| Stream::named(1, &format!("node {n}"), "backoff");
        let contention = |n: usize| Contention {
            node: n as u32,
            access: access(n),
            arbitration: Arbitration::dcf(&timing),
            stream: stream(n),
        };
        let contenders = (0..medium.nodes()).map(contention).collect();
        let mut air = DcfAir::new(medium, contenders, timing, rules);
        air.timeline = Some(Box::new(Timeline::new(Instant::ZERO, Instant::NEVER)));
        Self { air, out: Vec::new(), now: Instant::ZERO, up: Vec::new() }
    }

    fn standard(at_m: &[f64], access: impl Fn(usize) -> Access) -> Self {
        Self::line(at_m, access, timing(), Rules::standard())
    }

    fn collect(&mut self) {
        let next = self.air.next_at();
        assert!(next >= self.now, "something was due in the past");
        assert!(next < IDLE_COUNTDOWN || next.is_never(), "an access with nothing to send");
        let deadlines = &self.air.deadlines;
        assert!(deadlines.iter().all(|&deadline| deadline >= self.now), "a countdown has ended unseen");
        self.up.extend(self.out.drain(..).map(|up| (self.now, up)));
    }

    fn offer(&mut self, by: u32, to: u32) {
        self.offer_bytes(by, to, DATA_BYTES);
    }

    fn offer_bytes(&mut self, by: u32, to: u32, bytes: u32) {
        let mode = Mode::at(Rate::from_kbps(11_000));
        let head = Head { to, size: Bytes::new(bytes), mode, packet: PacketId(by) };
        self.air.offer(self.now, by, head);
        self.collect();
    }

    /// No node hears one node, or one node does not hear another.
    fn deafen(&mut self, from: Option<usize>, to: u32) {
        for node in 0..self.air.nodes.len() {
            if from.is_none_or(|from| from == node) {
                for i in self.air.ears_of(node, 0).chain(self.air.far_ears_of(node, 0)) {
                    if self.air.ears[i].node == to {
                        self.air.ears[i].hide();
                    }
                }
            }
        }
    }

    /// Two nodes do not hear each other.
    fn part(&mut self, a: u32, b: u32) {
        self.deafen(Some(a as usize), b);
        self.deafen(Some(b as usize), a);
    }

    /// Whether `at` has decoded a packet of contender `from`.
    fn has_received(&self, from: u32, at: u32) -> bool {
        let is_it = |up: &Up| matches!(*up, Up::Received { from: f, at: a, .. } if (f, a) == (from, at));
        self.up.iter().any(|(_, up)| is_it(up))
    }

    /// Runs until this instant.
    fn run_to(&mut self, end: Instant) {
        while let Some(now) = self.air.advance(end, &mut self.out) {
            self.now = now;
            self.collect();
        }
        self.now = self.now.max(end);
    }

    /// Starts of DATA frames [ns] by a node.
    fn data_starts(&self, node: u32) -> Vec<u64> {
        let frames = self.air.timeline.as_ref().unwrap().frames().iter();
        frames.filter(|f| f.from == node && f.kind == FrameKind::Data).map(|f| f.start.as_nanos()).collect()
    }

    /// Starts [ns] and kinds of all frames, in order.
    fn frames(&self) -> Vec<(u64, u32, FrameKind)> {
        let frames = self.air.timeline.as_ref().unwrap().frames().iter();
        let mut frames: Vec<_> = frames.map(|f| (f.start.as_nanos(), f.from, f.kind)).collect();
        frames.sort_unstable_by_key(|&(start, from, _)| (start, from));
        frames
    }

    fn done(&self) -> Vec<(u64, u32, Outcome)> {
        let done = |(at, up): &(Instant, Up)| match up {
            Up::Done { by, outcome, .. } => Some((at.as_nanos(), *by, *outcome)),
            Up::Received { .. } | Up::Attempt { .. } => None,
        };
        self.up.iter().filter_map(done).collect()
    }
}

fn data_ns() -> u64 {
    timing().data(Bytes::new(DATA_BYTES), Rate::from_kbps(11_000)).as_nanos()
}

/// One-way propagation over this distance [ns].
fn flight_ns(metres: f64) -> u64 {
    Position::new(0.0, 0.0).propagation(Position::new(metres, 0.0)).as_nanos()
}

#[test]
fn frame_on_idle_medium_goes_at_once() {
    // Clause 10.3.4.2: idle for a DIFS, so no back-off; then DATA, SIFS, ACK and twice the propagation.
    let mut bench = Bench::standard(&[0.0, 100.0], |_| dcf());
    bench.run_to(us(1000));
    bench.offer(0, 1);
    bench.run_to(us(10_000));
    assert_eq!(bench.data_starts(0), [1_000_000]);
    let end = 1_000_000 + data_ns() + 10_000 + 304_000 + 2 * flight_ns(100.0);
    // Completion is booked at the instant at which the ACK's sender ends it; its last bit arrives a flight later.
    assert_eq!(bench.done(), [(end - flight_ns(100.0), 0, Outcome::Delivered)]);
}

#[test]
fn frame_within_difs_waits_for_its_end_only() {
    let mut bench = Bench::standard(&[0.0, 100.0], |_| dcf());
    bench.run_to(us(20));
    bench.offer(0, 1);
    bench.run_to(us(5_000));
    assert_eq!(bench.data_starts(0), [50_000]);
}

/// Clause 10.3.4.2: with a back-off, where the packet comes while the medium is busy, or reserved.
#[test]
fn packet_on_a_busy_medium_needs_a_back_off() {
    for is_reserved in [false, true] {
        let waits: Vec<u64> = (0..8)
            .map(|trial| {
                let mut bench = Bench::standard(&[0.0, 100.0, 50.0], |_| dcf());
                for _ in 0..trial {
                    bench.air.queues[2].stream.unit(); // another back-off in each trial
                }
                let idle_from = if is_reserved {
                    bench.air.nodes[2].reserved_until = us(2_000);
                    2_000_000
                } else {
                    bench.offer(0, 1);
                    50_000 + data_ns() + flight_ns(100.0) + 10_000 + 304_000 + flight_ns(50.0)
                };
                bench.run_to(us(500));
                bench.offer(2, 1);
                bench.run_to(us(10_000));
                bench.data_starts(2)[0] - idle_from - 50_000
            })
            .collect();
        assert!(waits.iter().all(|wait| wait.is_multiple_of(20_000)), "{waits:?}");
        assert!(waits.iter().any(|&wait| wait > 0), "{waits:?}");
    }
}

/// Clause 10.3.4.2: the medium must be idle for a DIFS *after* the packet came, too. Node 1 answers at the instant at which a
/// frame has reached it: its own ACK comes first, so that its packet needs a back-off. In ns-3 it does not.
#[test]
fn interrupted_difs_draws_a_back_off() {
    let enough = Rules { idle_once_is_enough: true, ..Rules::standard() };
    // In ns-2 a back-off that pauses keeps its count (`BackoffTimer::pause`).
    for (rules, timing, is_drawn) in [
        (Rules::standard(), timing(), true),
        (enough, timing(), false),
        (Rules::ns2(), timing().ns2(), false),
    ] {
        let data = timing.data(Bytes::new(DATA_BYTES), Rate::from_kbps(11_000)).as_nanos();
        let difs_of_its_own = if rules.own_difs { 50_000 } else { 0 };
        let waits: Vec<u64> = (0..8)
            .map(|trial| {
                let mut bench = Bench::line(&[0.0, 100.0], |_| dcf(), timing, rules);
                for _ in 0..trial {
                    bench.air.queues[1].stream.unit(); // another back-off in each trial
                }
                bench.run_to(us(1000));
                bench.offer(0, 1);
                let data_end = 1_000_000 + difs_of_its_own + data + flight_ns(100.0);
                bench.run_to(Instant::from_nanos(data_end));
                bench.offer(1, 0);
                bench.run_to(us(10_000));
                let ack_end = data_end + 10_000 + 304_000;
                bench.data_starts(1)[0] - ack_end - 50_000
            })
            .collect();
        assert!(waits.iter().all(|wait| wait.is_multiple_of(20_000) || !is_drawn), "{waits:?}");
        assert_eq!(waits.iter().any(|&wait| wait > 0), is_drawn, "{waits:?}");
    }
}

#[test]
fn ns2_waits_its_difs_and_draws_on_idle_medium() {
    let mut bench = Bench::line(&[0.0, 100.0], |_| Dcf::dsss().ns2().access(), timing().ns2(), Rules::ns2());
    bench.run_to(us(1000));
    bench.offer(0, 1);
    bench.run_to(us(10_000));
    let wait = bench.data_starts(0)[0] - 1_000_000;
    assert!(
        wait >= 50_000 && (wait - 50_000).is_multiple_of(20_000) && wait <= 50_000 + 30 * 20_000,
        "{wait}"
    );
}

#[test]
fn countdown_freezes_and_resumes_after_a_difs() {
    // Node 2 has 5 slots, node 0 has 2: when 0 starts, 2 has counted 2 of its 5 slots.
    let mut bench = Bench::standard(&[0.0, 100.0, 50.0], |n| exactly(if n == 2 { 5 } else { 2 }));
    bench.offer(0, 1);
    bench.offer(2, 1);
    bench.run_to(us(5_000));
    assert_eq!(bench.data_starts(0)[0], 50_000 + 40_000);
    // Idle again when the ACK has reached node 2, 50 m from its sender.
    let ack_end = 90_000 + data_ns() + flight_ns(100.0) + 10_000 + 304_000;
    let resumed = ack_end + flight_ns(50.0) + 50_000;
    // Continuous back-offs count time to the nanosecond: 40 µs and the flight to node 2.
    let left = 100_000 - 40_000 - flight_ns(50.0);
    assert_eq!(bench.data_starts(2), [resumed + left]);
}

#[test]
fn slotted_countdowns_lose_a_cut_slot() {
    let slotted = |slots: u64| Access {
        draw: Draw::Slots { window: 0, end_included: true },
        on_failure: OnFailure::Double { window_max: slots as u32 },
        when: When::BeforeFrame,
        holding: Holding::Packet,
    };
    let mut bench = Bench::standard(&[0.0, 100.0, 50.0], |n| if n == 2 { slotted(0) } else { exactly(0) });
    bench.offer(0, 1);
    bench.run_to(us(60)); // 0 is on the air since 50 µs
    bench.offer(2, 1);
    // Draw 0 slots for node 2 and give it 3 by hand: 2 whole slots pass before the next interruption.
    bench.air.countdowns[2].begin(timing().slot * 3);
    let ack_end = 50_000 + data_ns() + flight_ns(100.0) + 10_000 + 304_000 + flight_ns(50.0);
    let cut = Instant::from_nanos(ack_end + 50_000 + 44_000);
    bench.run_to(cut);
    bench.air.freeze(2, 2, cut);
    assert_eq!(
        bench.air.countdowns[2].left(),
        Some(timing().slot),
        "a frame after 44 µs is known of at 59: two slots, not 2.2"
    );
}

#[test]
fn window_doubles_by_failure_until_the_drop() {
    // Node 1 is out of range: nothing is ever decoded.
    let mut bench = Bench::standard(&[0.0, 400.0], |_| dcf());
    bench.run_to(us(1000));
    bench.offer(0, 1);
    let mut windows = Vec::new();
    for _ in 0..8 {
        let attempts = bench.air.counters(0).attempts;
        let mut at = bench.now;
        while bench.air.counters(0).attempts == attempts && bench.done().is_empty() {
            at += Duration::from_micros(10);
            bench.run_to(at);
        }
        windows.push(bench.air.queues[0].window);
    }
    assert_eq!(windows, [31, 63, 127, 255, 511, 1023, 1023, 31], "seven attempts, then the window is reset");
    assert_eq!(bench.air.counters(0).attempts, 7);
    assert!(matches!(bench.done()[..], [(_, 0, Outcome::Dropped)]));
}

/// Of many frames that no node decodes [ns]: from the offer to the first attempt, and from there to the second.
fn gaps(on_failure: OnFailure) -> Vec<(u64, u64)> {
    let draw = Draw::Exponential { mean: Duration::from_micros(1000), slotted: false };
    let access = Access { draw, on_failure, when: When::BeforeFrame, holding: Holding::Packet };
    let mut bench = Bench::standard(&[0.0, 400.0], |_| access);
    bench.run_to(us(1000)); // idle for longer than a DIFS
    let mut gaps = Vec::new();
    for _ in 0..50 {
        let offered = bench.now;
        bench.offer(0, 1);
        bench.run_to(offered + Duration::from_millis(200));
        let starts = bench.data_starts(0);
        let first = &starts[starts.len() - 7..]; // seven attempts each
        gaps.push((first[0] - offered.as_nanos(), first[1] - first[0]));
    }
    gaps
}

#[test]
fn collision_draws_again_or_repeats_the_same() {
    let timeout = data_ns() + 222_000;
    for (first, second) in gaps(OnFailure::Repeat) {
        // Without slots the countdown goes on at the time-out, the medium having been idle for a DIFS.
        assert_eq!(first, second - timeout, "the same back-off");
    }
    let anew = gaps(OnFailure::Redraw);
    let same = anew.iter().filter(|(first, second)| *first == second - timeout).count();
    assert_eq!(same, 0);
    let mean = anew.iter().map(|(_, second)| second - timeout).sum::<u64>() / anew.len() as u64;
    assert!((600_000..1_500_000).contains(&mean), "{mean} ns, drawn with a mean of 1 ms");
}

#[test]
fn missing_ack_is_noticed_after_the_time_out() {
    // Clause 10.3.2.9: SIFS + slot + preamble = 222 µs after the frame. Slots are counted from its end and a DIFS:
    // the next boundary is 230 µs after the end.
    let access = Access {
        draw: Draw::Slots { window: 0, end_included: true },
        on_failure: OnFailure::Double { window_max: 0 },
        when: When::BeforeFrame,
        holding: Holding::Packet,
    };
    let mut bench = Bench::standard(&[0.0, 400.0], |_| access);
    bench.offer(0, 1);
    bench.run_to(us(10_000));
    let starts = bench.data_starts(0);
    assert_eq!(starts[1] - starts[0], data_ns() + 230_000);
}

#[test]
fn undecoded_frame_is_followed_by_an_eifs() {
    // Node 2 hears node 0 (400 m) and not its receiver's ACK (out of the 800 m of carrier sense).
    let mut bench = Bench::standard(&[0.0, -200.0, 700.0, 800.0], |_| exactly(0));
    bench.offer(0, 1);
    bench.run_to(us(60));
    bench.offer(2, 3);
    bench.run_to(us(5_000));
    let heard = 50_000 + data_ns() + flight_ns(700.0);
    assert_eq!(bench.data_starts(2), [heard + 364_000]);
}

#[test]
fn energy_alone_leaves_no_eifs_behind() {
    // As above, with a receiver that never locks to a signal that it cannot decode: a DIFS is enough.
    let rules = Rules { weak_is_error: false, ..Rules::standard() };
    let mut bench = Bench::line(&[0.0, -200.0, 700.0, 800.0], |_| exactly(0), timing(), rules);
    bench.offer(0, 1);
    bench.run_to(us(60));
    bench.offer(2, 3);
    bench.run_to(us(5_000));
    assert_eq!(bench.data_starts(2), [50_000 + data_ns() + flight_ns(700.0) + 50_000]);
}

#[test]
fn a_frame_that_is_decoded_ends_the_eifs() {
    // Node 2 cannot decode node 0's frame (400 m) but decodes the ACK of node 1 (200 m): a DIFS is enough.
    let mut bench = Bench::standard(&[0.0, 200.0, 400.0, 500.0], |_| exactly(0));
    bench.offer(0, 1);
    bench.run_to(us(60));
    bench.offer(2, 3);
    bench.run_to(us(5_000));
    let ack_end = 50_000 + data_ns() + flight_ns(200.0) + 10_000 + 304_000 + flight_ns(200.0);
    assert_eq!(bench.data_starts(2), [ack_end + 50_000]);
}

#[test]
fn ns2_reserves_the_eifs_and_adds_a_difs() {
    let timing = timing().ns2();
    let mut bench = Bench::line(&[0.0, -200.0, 700.0, 800.0], |_| exactly(0), timing, Rules::ns2());
    bench.offer(0, 1);
    bench.run_to(us(60));
    bench.offer(2, 3);
    bench.run_to(us(5_000));
    let data = timing.data(Bytes::new(DATA_BYTES), Rate::from_kbps(11_000)).as_nanos();
    assert_eq!(bench.data_starts(2), [50_000 + data + flight_ns(700.0) + 414_000]);
}

#[test]
fn decoded_frame_reserves_medium_for_its_ack() {
    // Node 2 decodes node 0 but is out of node 1's reach: without the reservation it would start in the ACK.
    let mut bench = Bench::standard(&[0.0, -250.0, 240.0, 400.0], |_| exactly(0));
    bench.air.ear_range[1].1 = bench.air.ear_range[1].0 + 1; // node 1 is heard by node 0 alone
    bench.offer(0, 1);
    bench.run_to(us(60));
    bench.offer(2, 3);
    bench.run_to(us(5_000));
    let end = 50_000 + data_ns() + flight_ns(240.0);
    assert_eq!(bench.data_starts(2), [end + 10_000 + 304_000 + 50_000]);
}

#[test]
fn equal_countdowns_collide_others_do_not() {
    for (slots, lost) in [(3, 1), (4, 0)] {
        let mut bench = Bench::standard(&[0.0, 50.0, 100.0], |n| exactly(if n == 0 { 3 } else { slots }));
        bench.offer(0, 1);
        bench.offer(2, 1);
        bench.run_to(us(1_200));
        let counters = bench.air.counters(0);
        assert_eq!((counters.collided, counters.receiver_busy, counters.ack_lost), (lost, 0, 0));
    }
}

#[test]
fn countdown_within_sensing_delay_is_not_stopped() {
    // 15 µs of sensing and the flight: so much later still transmits, a nanosecond more does not.
    let known = 15_000 + flight_ns(100.0);
    for (late_ns, transmits) in [(15_000, true), (known, true), (known + 1, false)] {
        let fixed = |ns| Access { draw: Draw::Fixed { mean: Duration::from_nanos(ns) }, ..exactly(0) };
        let mut bench =
            Bench::standard(&[0.0, 50.0, 100.0], |n| fixed(if n == 0 { 40_000 } else { 40_000 + late_ns }));
        bench.offer(0, 1);
        bench.offer(2, 1);
        bench.run_to(us(200));
        assert_eq!(bench.air.stations[2].sending.is_some(), transmits, "{late_ns} ns");
    }
}

#[test]
fn hidden_terminals_collide_in_the_middle() {
    let mut bench = Bench::standard(&[0.0, 249.0, 498.0], |_| exactly(0));
    bench.air.ear_range[0].1 -= 1; // node 2 does not hear node 0
    bench.offer(0, 1);
    bench.run_to(us(400));
    let ear = &mut bench.air.ears[bench.air.ear_range[2].0 as usize];
    (ear.decodable, ear.clear_alone) = (false, false);
    bench.offer(2, 1);
    bench.run_to(us(1_100));
    assert_eq!(bench.air.counters(0).collided, 1);
}

#[test]
fn frame_ten_decibels_stronger_survives() {
    // Node 1 receives from 50 m while a frame from 400 m overlaps: 29 dB weaker. By the standard's pairwise capture the
    // order does not matter; in ns-2 the receiver stays with the frame that came first.
    for (rules, weak_first, decoded) in [
        (Rules::standard(), false, true),
        (Rules::standard(), true, true),
        (Rules::ns2(), false, true),
        (Rules::ns2(), true, false),
    ] {
        let offset = |n: usize| match (n, weak_first) {
            (0, true) | (2, false) => 100,
            _ => 0,
        };
        let fixed = |us| Access { draw: Draw::Fixed { mean: Duration::from_micros(us) }, ..exactly(0) };
        let mut bench = Bench::line(&[0.0, 50.0, 450.0, 600.0], |n| fixed(offset(n)), timing(), rules);
        // Deaf to each other, so that they overlap.
        for (a, b) in [(0, 2), (2, 0)] {
            let range = bench.air.ear_range[a];
            let ears = &mut bench.air.ears[range.0 as usize..range.1 as usize];
            ears.iter_mut().find(|e| e.node == b).unwrap().node = 3;
        }
        bench.offer(0, 1);
        bench.offer(2, 3);
        bench.run_to(us(1_200));
        let received = bench.up.iter().any(|(_, up)| matches!(up, Up::Received { from: 0, .. }));
        assert_eq!(received, decoded, "{rules:?}, weak first: {weak_first}");
    }
}

#[test]
fn interference_adds_up_under_sinr_only() {
    // Node 1 receives from 90 m; two nodes 290 m away, each 20.3 dB weaker, together 17.3 dB: at a threshold of 18 dB
    // the frame survives each alone, and both together only where frames are compared one by one. At 17 dB it survives both.
    for (rules, decoded) in [
        (Rules { capture_db: 18.0, ..Rules::standard() }, true),
        (
            Rules {
                capture_db: 18.0,
                capture: Capture::Sinr { noise: Dbm::new(-110.0) },
                ..Rules::standard()
            },
            false,
        ),
        (
            Rules {
                capture_db: 17.0,
                capture: Capture::Sinr { noise: Dbm::new(-110.0) },
                ..Rules::standard()
            },
            true,
        ),
    ] {
        let mut bench = Bench::line(&[90.0, 0.0, -290.0, -290.0, -700.0], |_| exactly(0), timing(), rules);
        for a in [0, 2, 3] {
            // Deaf to each other, so that they overlap.
            for i in bench.air.ears_of(a, 0) {
                if [0, 2, 3].contains(&bench.air.ears[i].node) {
                    bench.air.ears[i].node = 4;
                }
            }
        }
        bench.air.nodes[4].count = 0;
        bench.offer(0, 1);
        bench.offer(2, 4);
        bench.offer(3, 4);
        bench.run_to(us(1_000 + 60));
        let received = bench.up.iter().any(|(_, up)| matches!(up, Up::Received { from: 0, .. }));
        assert_eq!(received, decoded, "{rules:?}");
    }
}

#[test]
fn link_with_error_model_loses_and_owes_an_eifs() {
    let mut bench = Bench::standard(&[0.0, 100.0, 200.0], |_| exactly(0));
    let always = vec![(Instant::ZERO, LossModel::Frames(Probability::ONE))];
    bench.air.set_loss(0, 1, &LossProcess::new(always, Stream::named(1, "0>1", "loss")));
    bench.offer(0, 1);
    bench.run_to(us(20_000));
    assert_eq!(bench.air.counters(0).collided, 7);
    assert!(matches!(bench.done()[..], [(_, 0, Outcome::Dropped)]));
    assert!(bench.air.nodes[1].extended, "a frame that was not decoded");
    assert!(!bench.air.nodes[2].extended, "the other link is sound");
}

#[test]
fn broadcast_goes_once_to_all_in_range() {
    let mut bench = Bench::standard(&[0.0, 100.0, 200.0, 400.0], |_| dcf());
    bench.offer(0, BROADCAST);
    bench.run_to(us(20_000));
    assert_eq!(bench.data_starts(0), [50_000], "no answer, no repetition");
    let at: Vec<u32> = bench
        .up
        .iter()
        .filter_map(|(_, up)| if let Up::Received { at, .. } = up { Some(*at) } else { None })
        .collect();
    assert_eq!(at, [1, 2], "400 m is out of range");
    assert_eq!(bench.done(), [(50_000 + data_ns(), 0, Outcome::Delivered)]);
}

#[test]
fn a_station_that_transmits_decodes_nothing() {
    // Both start at once and are each other's receivers.
    let mut bench = Bench::standard(&[0.0, 100.0], |_| exactly(0));
    bench.offer(0, 1);
    bench.offer(1, 0);
    bench.run_to(us(1_100));
    assert_eq!((bench.air.counters(0).receiver_busy, bench.air.counters(1).receiver_busy), (1, 1));
    assert_eq!((bench.air.counters(0).collided, bench.air.counters(1).collided), (0, 0), "one cause each");
    assert!(bench.up.is_empty());
}

#[test]
fn repetition_is_acked_but_not_delivered_again() {
    let mut bench = Bench::standard(&[0.0, 100.0], |_| exactly(0));
    bench.offer(0, 1);
    bench.run_to(us(50 + 1000));
    assert_eq!(bench.up.len(), 1, "received, the acknowledgement is under way");
    assert!(bench.air.head_received(0));
    // The sender misses the acknowledgement.
    assert!(bench.air.signals[0].locked().is_some());
    bench.air.signals[0].spoil();
    bench.run_to(us(5_000));
    assert_eq!(bench.air.counters(0).attempts, 2);
    let counters = bench.air.counters(0);
    assert_eq!((counters.collided, counters.receiver_busy, counters.ack_lost), (0, 0, 1));
    let received = bench.up.iter().filter(|(_, up)| matches!(up, Up::Received { .. })).count();
    assert_eq!(received, 1);
    assert_eq!(bench.done().len(), 1);
}

#[test]
fn back_off_after_sending_runs_when_idle() {
    // Clause 10.3.4.3: it is invoked after each transmission; a frame that comes when it is over goes at once.
    let mut bench = Bench::standard(&[0.0, 100.0], |_| dcf());
    bench.offer(0, 1);
    bench.run_to(us(5_000)); // longer than 31 slots after the exchange
    bench.offer(0, 1);
    bench.run_to(us(10_000));
    assert_eq!(bench.data_starts(0)[1], 5_000_000);
}

/// Clause 10.3.4.3: after a transmission a back-off is drawn, also if the next packet comes while it runs; a law that draws
/// before each frame draws when the packet comes.
#[test]
fn back_off_after_a_transmission_is_drawn_once() {
    let exchange_end = 50_000 + data_ns() + 10_000 + 304_000 + 2 * flight_ns(100.0);
    let slots = |when| Access {
        draw: Draw::Slots { window: 31, end_included: true },
        on_failure: OnFailure::Double { window_max: 1023 },
        when,
        holding: Holding::Packet,
    };
    let mut waits = Vec::new();
    for trial in 0..8 {
        let mut bench = Bench::standard(&[0.0, 100.0], |_| slots(When::AfterTransmission));
        for _ in 0..trial {
            bench.air.queues[0].stream.unit(); // another back-off in each trial
        }
        bench.offer(0, 1);
        bench.run_to(Instant::from_nanos(exchange_end + 1_000));
        bench.offer(0, 1);
        bench.run_to(us(5_000));
        waits.push(bench.data_starts(0)[1] - exchange_end - 50_000);
    }
    assert!(waits.iter().all(|wait| wait.is_multiple_of(20_000)) && waits.iter().any(|&wait| wait > 0));
    // 60 µs from the packet's arrival on, 30 µs after the DIFS.
    let mut bench = Bench::standard(&[0.0, 100.0], |_| exactly(3));
    bench.offer(0, 1);
    let exchange_end = exchange_end + 60_000;
    bench.run_to(Instant::from_nanos(exchange_end + 80_000));
    bench.offer(0, 1);
    bench.run_to(us(5_000));
    assert_eq!(bench.data_starts(0)[1], exchange_end + 80_000 + 60_000);
}

/// Clause 10.3.4.3: so it does if another frame interrupts it; the rest is counted down before the next packet. While nothing
/// waits, nothing is blocked.
#[test]
fn back_off_with_nothing_to_send_is_interrupted() {
    let after = Access { when: When::AfterTransmission, ..exactly(10) };
    let mut bench = Bench::standard(&[0.0, 100.0, 50.0], |n| if n == 0 { after } else { exactly(0) });
    bench.offer(0, 1);
    let exchange_end = 50_000 + data_ns() + 10_000 + 304_000 + 2 * flight_ns(100.0);
    bench.run_to(Instant::from_nanos(exchange_end));
    bench.air.start_ledger(bench.now);
    let rival = exchange_end + 50_000 + 60_000;
    bench.run_to(Instant::from_nanos(rival));
    bench.offer(2, BROADCAST);
    bench.run_to(Instant::from_nanos(rival + 500_000));
    let ledger = bench.air.ledger.as_mut().unwrap();
    ledger.close(bench.now);
    assert_eq!(ledger.airtime(0).empty.as_nanos(), 110_000 + 500_000);
    bench.offer(0, 1);
    bench.run_to(us(10_000));
    // The back-off is continuous: 60 µs and the flight have been counted. The medium is idle a flight after the frame's end.
    assert_eq!(bench.data_starts(0)[1], rival + data_ns() + 50_000 + 140_000);
}

/// A medium with one node with two queues to two others.
fn two_queues() -> Bench {
    let medium = Medium::from_conflicts(
        3,
        &[Link { from: 0, to: 1 }, Link { from: 0, to: 2 }],
        &evenair_topology::ConflictGraph::new(2),
    );
    let contender = |name: &str| Contention {
        node: 0,
        access: exactly(2),
        arbitration: Arbitration::dcf(&timing()),
        stream: Stream::named(1, name, "backoff"),
    };
    let air = DcfAir::new(&medium, vec![contender("0>1"), contender("0>2")], timing(), Rules::standard());
    Bench { air, out: Vec::new(), now: Instant::ZERO, up: Vec::new() }
}

#[test]
fn two_queues_of_one_node_settle_their_tie() {
    let mut bench = two_queues();
    bench.offer(0, 1);
    bench.offer(1, 2);
    bench.run_to(us(5_000));
    assert_eq!(bench.air.counters(1).internal, 1);
    assert_eq!(bench.air.counters(0).collided + bench.air.counters(1).collided, 0);
    assert_eq!(bench.done().len(), 2);
}

#[test]
fn who_asks_learns_of_every_attempt() {
    // First the receiver is out of range, so that nothing is ever acknowledged; then it is not.
    let rules = Rules { short_retry_limit: 3, ..Rules::standard() };
    for (asks, to, expected) in [(true, 2, vec![false; 3]), (true, 1, vec![true]), (false, 2, Vec::new())] {
        let mut bench = Bench::line(&[0.0, 100.0, 600.0], |_| exactly(0), timing(), rules);
        bench.air.report_attempts(0, asks);
        bench.offer(0, to);
        bench.run_to(us(50_000));
        let attempt = |&(_, up): &(Instant, Up)| match up {
            Up::Attempt { by: 0, packet: PacketId(0), acknowledged, data: true, .. } => Some(acknowledged),
            _ => None,
        };
        assert_eq!(bench.up.iter().filter_map(attempt).collect::<Vec<_>>(), expected);
        assert!(
            matches!(bench.up.last(), Some((_, Up::Done { .. }))),
            "the attempt is reported before the end"
        );
    }
}
