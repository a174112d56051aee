//! Random event sequences, and the properties of all of them.

use super::*;
use crate::timing::ControlRate;
use evenair_laws::backoff::Space;
use proptest::prelude::*;

/// A network, its rules, and its packets in time.
#[derive(Clone, Debug)]
struct Case {
    standard: u8,
    /// Where the nodes stand on a line [m].
    places: Vec<f64>,
    /// Transmission range [m], and carrier sense and interference over it.
    range_m: f64,
    beyond: (f64, f64),
    ns2: bool,
    protected: bool,
    capture: u8,
    capture_db: f64,
    /// The distribution of back-offs.
    law: u8,
    /// Arbitration number of EDCA, and whether bursts are allowed.
    edca: Option<(u32, bool)>,
    loss: Option<f64>,
    coverage_class: u8,
    answer_timeout: Option<u64>,
    retries: u32,
    /// Sender, receiver (8: all), time after the one before [µs], bytes.
    offers: Vec<(usize, usize, u64, u32)>,
}

fn cases(length_m: f64) -> impl Strategy<Value = Case> {
    let world = (
        0u8..3,
        prop::collection::vec(0.0..length_m, 2..8),
        (0.05f64..1.2).prop_map(move |share| share * length_m),
        (1.0f64..3.0, 1.0f64..2.0),
        any::<bool>(),
        any::<bool>(),
        (0u8..2, -3.0f64..15.0),
    );
    let laws = (
        0u8..3,
        prop::option::of((1u32..16, any::<bool>())),
        prop::option::of(0.0f64..1.0),
        prop_oneof![Just(0u8), 0u8..32],
        prop::option::of(0u64..800),
        1u32..8,
    );
    let offers = prop::collection::vec((0usize..8, 0usize..9, 0u64..3000, 1u32..2305), 1..60);
    (world, laws, offers).prop_map(|(world, laws, offers)| {
        let (standard, places, range_m, beyond, ns2, protected, (capture, capture_db)) = world;
        let (law, edca, loss, coverage_class, answer_timeout, retries) = laws;
        Case {
            standard,
            places,
            range_m,
            beyond,
            ns2: ns2 && standard == 0,
            protected,
            capture,
            capture_db,
            law,
            edca,
            loss,
            coverage_class,
            answer_timeout,
            retries,
            offers,
        }
    })
}

impl Case {
    fn timing(&self) -> MacTiming {
        let timing = match self.standard {
            0 => timing(),
            1 => MacTiming::a(ControlRate::Mandatory),
            _ => MacTiming::g(ControlRate::Mandatory),
        };
        let timing = if self.edca.is_some() { timing.qos() } else { timing };
        if self.ns2 {
            return timing.ns2();
        }
        let timing = timing.with_coverage_class(self.coverage_class);
        match self.answer_timeout {
            Some(us) => timing.with_round_trip(Duration::from_micros(us)),
            None => timing,
        }
    }

    fn rules(&self) -> Rules {
        let mut rules = if self.ns2 { Rules::ns2() } else { Rules::standard() };
        rules.rts_threshold = self.protected.then_some(Bytes::new(500));
        rules.short_retry_limit = self.retries;
        rules.capture_db = self.capture_db;
        if !self.ns2 && self.retries.is_multiple_of(2) {
            rules.energy = Some(Propagation::default().received(self.range_m * self.beyond.0));
        }
        if self.capture == 1 && !self.ns2 {
            rules.capture = Capture::Sinr { noise: Dbm::new(-95.0) };
        }
        rules
    }

    fn bench(&self) -> Bench {
        let at: Vec<Position> = self.places.iter().map(|&x| Position::new(x, 0.0)).collect();
        let radio = ThresholdRadio {
            transmission_range_m: self.range_m,
            carrier_sense_range_m: self.range_m * self.beyond.0,
            interference_range_m: self.range_m * self.beyond.0 * self.beyond.1,
            propagation: Propagation::default(),
        };
        let timing = self.timing();
        let access = |_| match (self.law, self.ns2) {
            (0, true) => Dcf::dsss().ns2().access(),
            (0, false) => dcf(),
            (1, _) => Access {
                draw: Draw::Exponential { mean: Duration::from_micros(300), slotted: false },
                ..exactly(0)
            },
            _ => Access {
                draw: Draw::Slots { window: 0, end_included: true },
                on_failure: OnFailure::Double { window_max: 3 },
                when: When::AfterTransmission,
                holding: Holding::Packet,
            },
        };
        let mut bench = Bench::over(&Medium::from_positions(&at, &radio), access, timing, self.rules());
        if let Some((aifsn, bursts)) = self.edca {
            let txop_limit = Duration::from_micros(if bursts { 3_008 } else { 0 });
            let arbitration =
                Arbitration::of(Space::Aifs { slots: aifsn }, Holding::Burst(txop_limit), &timing);
            for (queue, countdown) in bench.air.queues.iter_mut().zip(&mut bench.air.countdowns) {
                queue.arbitration = arbitration;
                countdown.space = queue.arbitration.space;
                countdown.at_boundary = queue.arbitration.at_boundary;
            }
        }
        let n = self.places.len();
        for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a as u32, b as u32))) {
            if let Some(p) = self.loss {
                let model = LossModel::Frames(Probability::clamped(p));
                let stream = Stream::named(1, &format!("{a}>{b}"), "loss");
                bench.air.set_loss(a, b, &LossProcess::new(vec![(Instant::ZERO, model)], stream));
            }
        }
        bench.air.start_ledger(Instant::ZERO);
        bench
    }

    /// Every offer ends in one outcome, nothing is received twice, all that is due lies ahead (the bench asserts it), and at the end
    /// the air is idle and every nanosecond booked.
    fn holds(&self) -> Result<(), TestCaseError> {
        let mut bench = self.bench();
        let n = self.places.len();
        let (mut offered, mut broadcasts) = (vec![0usize; n], vec![0usize; n]);
        let mbps = if self.standard == 0 { 11 } else { 54 };
        for &(from, to, wait, bytes) in &self.offers {
            let from = from % n;
            let to = if to == 8 { BROADCAST } else { (to % n) as u32 };
            bench.run_to(bench.now + Duration::from_micros(wait));
            let queue = &bench.air.queues[from];
            if from as u32 == to || queue.head.is_some() || queue.held.is_some() {
                continue;
            }
            let mode = Mode::at(Rate::from_kbps(mbps * 1000));
            let packet = PacketId(offered[from] as u32);
            let head = Head { to, size: Bytes::new(bytes), mode, packet };
            bench.air.report_attempts(from as u32, true);
            bench.air.offer(bench.now, from as u32, head);
            bench.collect();
            offered[from] += 1;
            broadcasts[from] += usize::from(to == BROADCAST);
        }
        let end = bench.now + Duration::from_secs(4);
        bench.run_to(end);
        let done = bench.done();
        for (c, &offered) in offered.iter().enumerate() {
            let own = || done.iter().filter(|d| d.1 == c as u32);
            prop_assert_eq!(own().count(), offered, "contender {}", c);
            let is_own = |up: &&(Instant, Up)| matches!(up.1, Up::Received { from, .. } if from == c as u32);
            let received = bench.up.iter().filter(is_own).count();
            let delivered = own().filter(|d| d.2 != Outcome::Dropped).count();
            // A broadcast is received by several, or none.
            prop_assert!(received.abs_diff(delivered) <= broadcasts[c] * n, "{received} {delivered}");
            prop_assert!(broadcasts[c] > 0 || received == delivered, "{received} {delivered}");
            news_name_their_packets(&bench, c as u32)?;
            let reported = |of_data| {
                let up = bench.up.iter().map(|(_, up)| *up);
                up.filter(
                    |up| matches!(up, &Up::Attempt { by, data, .. } if (by, data) == (c as u32, of_data)),
                )
                .count() as u64
            };
            let counters = bench.air.counters(c as u32);
            prop_assert_eq!(reported(true), counters.attempts - broadcasts[c] as u64);
            prop_assert_eq!(reported(false), counters.requests_failed);
            // Every DATA frame was acknowledged, or has one cause of its failure.
            let acknowledged = |up: &&(Instant, Up)| matches!(up.1, Up::Attempt { by, acknowledged: true, .. } if by == c as u32);
            let acknowledged = bench.up.iter().filter(acknowledged).count();
            let failed = counters.collided + counters.receiver_busy + counters.ack_lost + counters.ack_late;
            prop_assert_eq!(counters.attempts, (broadcasts[c] + acknowledged) as u64 + failed);
            let (signals, station) = (&bench.air.signals[c], &bench.air.stations[c]);
            prop_assert!(signals.is_silent() && signals.carriers() == 0 && signals.locked().is_none());
            prop_assert!(station.sending.is_none() && station.awaiting.is_none() && station.reply.is_none());
            bench.air.ledger.as_mut().unwrap().close(end);
            let booked = bench.air.ledger.as_ref().unwrap().airtime(c as u32).total();
            prop_assert_eq!(booked, end.since(Instant::ZERO));
        }
        prop_assert_eq!(bench.air.free_flights.len(), bench.air.flights.len(), "a frame never landed");
        Ok(())
    }
}

/// News of a contender's packets come packet by packet, in the order of the offers, and end with `Done`.
fn news_name_their_packets(bench: &Bench, c: u32) -> Result<(), TestCaseError> {
    let mut current = 0;
    for (_, up) in &bench.up {
        match *up {
            Up::Received { from, packet, .. } if from == c => prop_assert_eq!(packet, PacketId(current)),
            Up::Attempt { by, packet, .. } if by == c => prop_assert_eq!(packet, PacketId(current)),
            Up::Done { by, packet, .. } if by == c => {
                prop_assert_eq!(packet, PacketId(current));
                current += 1;
            }
            _ => (),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_offer_ends_once_near_by(case in cases(1_500.0)) {
        case.holds()?;
    }

    #[test]
    fn every_offer_ends_once_over_some_kilometres(case in cases(8_000.0)) {
        case.holds()?;
    }

    #[test]
    fn every_offer_ends_once_over_fifty_kilometres(case in cases(50_000.0)) {
        case.holds()?;
    }
}
