//! EDCA: spaces, boundaries, bursts, internal collisions (IEEE 802.11-2016 clause 10.22.2), OFDM timing.

use super::*;
use crate::timing::ControlRate;
use evenair_topology::{ConflictGraph, Link};

fn a() -> MacTiming {
    MacTiming::a(ControlRate::Mandatory).qos()
}

fn arbitration(category: Category) -> Arbitration {
    let law = Edca::standard(category, PhysicalLayer::Ofdm);
    Arbitration::of(law.space(), law.access().holding, &a())
}

/// Contenders on nodes 0 and 1, both sending to node 2, of these categories.
fn rivals(first: Category, second: Category) -> Bench {
    let timing = a();
    let links = [Link { from: 0, to: 2 }, Link { from: 1, to: 2 }];
    let medium = Medium::from_conflicts(3, &links, &ConflictGraph::from_edges(2, &[(0, 1)]));
    let contention = |node: u32, category: Category| Contention {
        node,
        access: at_once(),
        arbitration: arbitration(category),
        stream: Stream::named(1, &format!("{node}"), "backoff"),
    };
    host(&medium, vec![contention(0, first), contention(1, second)], timing)
}

fn host(medium: &Medium, contenders: Vec<Contention>, timing: MacTiming) -> Bench {
    let mut air = DcfAir::new(medium, contenders, timing, Rules::standard());
    air.timeline = Some(Box::new(Timeline::new(Instant::ZERO, Instant::NEVER)));
    Bench { air, out: Vec::new(), now: Instant::ZERO, up: Vec::new() }
}

/// A slotted law that draws no slots; tests set the rest of its back-off by hand.
fn at_once() -> Access {
    Access {
        draw: Draw::Slots { window: 0, end_included: true },
        on_failure: OnFailure::Double { window_max: 0 },
        when: When::BeforeFrame,
        holding: Holding::Packet,
    }
}

fn head(to: u32) -> Head {
    let mode = Mode::at(Rate::from_kbps(54_000));
    Head { to, size: Bytes::new(DATA_BYTES), mode, packet: PacketId(to) }
}

impl Bench {
    fn offer_ofdm(&mut self, by: u32, to: u32) {
        self.air.offer(self.now, by, head(to));
        self.collect();
    }

    /// As if the contender had drawn so many slots: on an idle medium since the start.
    fn offer_with(&mut self, by: u32, to: u32, slots: u64) {
        self.air.countdowns[by as usize].begin(timing_slot() * slots);
        let space = self.air.queues[by as usize].arbitration.space;
        self.air.countdowns[by as usize].from = Instant::ZERO + space;
        self.offer_ofdm(by, to);
    }
}

fn timing_slot() -> Duration {
    a().slot
}

#[test]
fn each_category_waits_its_own_space() {
    for (category, space_us) in [
        (Category::Voice, 16 + 2 * 9),
        (Category::Video, 16 + 2 * 9),
        (Category::BestEffort, 16 + 3 * 9),
        (Category::Background, 16 + 7 * 9),
    ] {
        let mut bench = rivals(category, category);
        bench.offer_with(0, 2, 0);
        bench.run_to(us(1_000));
        assert_eq!(bench.data_starts(0), [space_us * 1000], "{category:?}");
    }
}

#[test]
fn interrupted_countdown_counts_its_begun_slot() {
    // Contender 0 (AIFSN 2, 3 slots) starts at 34 + 27 = 61 µs. Contender 1 (AIFSN 3, 5 slots) has passed boundaries at
    // 43, 52 and 61 µs: EDCA has counted 3 slots where DCF would have counted 2.
    let mut bench = rivals(Category::Video, Category::BestEffort);
    bench.offer_with(0, 2, 3);
    bench.offer_with(1, 2, 5);
    bench.run_to(us(70));
    assert_eq!(bench.data_starts(0).len() + bench.air.stations[0].sending.iter().count(), 1);
    assert_eq!(bench.air.countdowns[1].left(), Some(timing_slot() * 2));
}

/// Clause 10.22.2.4: at each boundary from the end of the space on, unless the medium is known to be busy by then, which takes 4 µs.
#[test]
fn slot_counts_if_begun_before_the_frame() {
    let mut bench = rivals(Category::BestEffort, Category::BestEffort);
    bench.offer_with(0, 2, 5);
    // The space is over at 16 + 3·9 = 43 µs.
    for (noticed_ns, left) in [(42_999, 5), (43_000, 4), (51_999, 4), (52_000, 3)] {
        let mut air = bench.air.clone();
        air.freeze(0, 0, Instant::from_nanos(noticed_ns - 4_000));
        assert_eq!(air.countdowns[0].left(), Some(timing_slot() * left), "noticed at {noticed_ns} ns");
    }
}

#[test]
fn a_winner_keeps_the_medium_for_its_txop() {
    // 1008-byte frames at 54 Mb/s: 20 + 39·4 = 176 µs with QoS header; with SIFS, ACK (28 µs) and the SIFS after it an
    // exchange takes 236 µs: six fit into 1504 µs, the last of which needs no SIFS after it.
    let (gaps, exchange) = saturated(rivals(Category::Voice, Category::BestEffort), us(3_000));
    let in_burst = gaps.iter().take_while(|&&gap| gap == exchange).count() as u64;
    assert_eq!(in_burst + 1, (1_504_000 + 16_000) / exchange, "{gaps:?}");
    // Then it contends again: an arbitration space of 34 µs after the acknowledgement instead of a SIFS.
    assert_eq!(gaps[in_burst as usize], exchange - 16_000 + 34_000);
}

/// The times between frames of contender 0 with a queue that is never empty \[ns\]; and of an exchange, the SIFS after it
/// counted.
fn saturated(mut bench: Bench, until: Instant) -> (Vec<u64>, u64) {
    bench.offer_with(0, 2, 0);
    let mut done = 0;
    while bench.now < until {
        let at = bench.air.next_at().min(until);
        bench.run_to(at);
        if bench.done().iter().filter(|d| d.1 == 0).count() > done {
            done += 1;
            bench.offer_ofdm(0, 2);
        }
    }
    let data = a().data(Bytes::new(DATA_BYTES), Rate::from_kbps(54_000)).as_nanos();
    let exchange = data + 2 * 16_000 + a().answer(Rate::from_kbps(54_000)).as_nanos();
    (bench.data_starts(0).windows(2).map(|w| w[1] - w[0]).collect(), exchange)
}

#[test]
fn a_law_may_change_its_txop() {
    let mut bench = rivals(Category::BestEffort, Category::BestEffort);
    bench.air.set_access(0, Access { holding: Holding::Burst(Duration::from_micros(1_504)), ..at_once() });
    let (gaps, exchange) = saturated(bench, us(3_000));
    let in_burst = gaps.iter().take_while(|&&gap| gap == exchange).count() as u64;
    assert_eq!(in_burst + 1, (1_504_000 + 16_000) / exchange, "{gaps:?}");
}

#[test]
fn a_span_is_met_in_the_mean() {
    // Two exchanges and a half, or a quarter: two in every span, and a third in every other, or fourth.
    for parts in [2, 4] {
        let mut bench = rivals(Category::BestEffort, Category::BestEffort);
        let exchange = saturated(bench.clone(), us(1_000)).1 - 16_000;
        let span = Duration::from_nanos(2 * (exchange + 16_000) + exchange / parts);
        bench.air.set_access(0, Access { holding: Holding::Span(span), ..at_once() });
        let (gaps, exchange) = saturated(bench, us(400_000));
        let spans = gaps.iter().filter(|&&gap| gap > exchange).count() as f64;
        let packets = gaps.len() as f64 / spans;
        // Some 600 spans: four standard errors of a fair coin are 0.08.
        assert!((packets - 2.0 - 1.0 / parts as f64).abs() < 0.08, "{packets}");
    }
}

/// A law that draws before each frame draws when a packet comes, not when a TXOP ends that had nothing more to send.
#[test]
fn no_back_off_is_drawn_at_end_of_empty_txop() {
    let mut bench = Bench::standard(&[0.0, 100.0], |_| exactly(3));
    bench.air.set_access(0, Access { holding: Holding::Burst(Duration::from_micros(5_000)), ..exactly(3) });
    bench.offer(0, 1);
    let exchange_end = 110_000 + data_ns() + 10_000 + 304_000 + 2 * flight_ns(100.0);
    bench.run_to(Instant::from_nanos(exchange_end + 80_000));
    bench.offer(0, 1);
    bench.run_to(us(5_000));
    assert_eq!(bench.data_starts(0), [110_000, exchange_end + 80_000 + 60_000]);
}

#[test]
fn urgent_category_wins_the_tie_within_a_node() {
    let timing = a();
    let links = [Link { from: 0, to: 1 }, Link { from: 0, to: 2 }];
    let medium = Medium::from_conflicts(3, &links, &ConflictGraph::new(2));
    let contention = |category| Contention {
        node: 0,
        access: Edca::standard(category, PhysicalLayer::Ofdm).access(),
        arbitration: Arbitration { txop_limit: Duration::ZERO, ..arbitration(category) },
        stream: Stream::named(1, &format!("{category:?}"), "backoff"),
    };
    let mut bench =
        host(&medium, vec![contention(Category::Voice), contention(Category::BestEffort)], timing);
    // Voice, AIFSN 2 and 1 slot; best effort, AIFSN 3 and none: both at 43 µs.
    bench.offer_with(0, 1, 1);
    bench.offer_with(1, 2, 0);
    bench.run_to(us(44));
    assert_eq!(bench.air.stations[0].sending.unwrap().by, 0);
    assert_eq!(bench.air.counters(1).internal, 1);
    assert_eq!(bench.air.queues[1].window, 31, "as if it had collided");
    bench.run_to(us(3_000));
    assert_eq!(bench.done().len(), 2);
    let frames = bench.air.timeline.as_ref().unwrap().frames();
    assert!(frames.iter().all(|f| !f.retry), "nothing was sent twice (clause 9.2.4.1.6)");
}

#[test]
fn extended_space_keeps_the_order_of_categories() {
    // EIFS − DIFS + AIFS: 94 − 34 + 43 for best effort.
    let mut bench = rivals(Category::BestEffort, Category::BestEffort);
    bench.air.nodes[0].extended = true;
    let ready = bench.air.nodes[0].idle_since + Duration::from_micros(94 - 34 + 43);
    bench.air.countdowns[0].end();
    bench.offer_ofdm(0, 2);
    bench.run_to(us(1_000));
    assert_eq!(bench.data_starts(0), [ready.as_nanos()]);
}
