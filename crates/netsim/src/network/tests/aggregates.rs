//! Packets that share frames: staging, disciplines, TCP.

use super::*;
use evenair_wifi::{Aggregation, Format, GuardInterval, Modulation, Phy, Width};

/// A cell of 802.11ac at 80 MHz and 390 Mb/s: node 0 is an access point, the others stand around it. Each flow goes from one to
/// another.
pub(super) fn cell(nodes: u32, flows: &[(u32, u32, Traffic)]) -> NetworkSpec {
    let at: Vec<Position> = (0..nodes).map(|n| Position::new(f64::from(n), 0.0)).collect();
    let radio = ThresholdRadio {
        transmission_range_m: 250.0,
        carrier_sense_range_m: 800.0,
        interference_range_m: 800.0,
        propagation: Propagation::default(),
    };
    let mut spec = four_links(false);
    spec.nodes = (0..nodes).map(|n| format!("n{n}")).collect();
    spec.medium = Medium::from_positions(&at, &radio);
    let timing = MacTiming { phy: Phy::ac(), ..MacTiming::a(ControlRate::Mandatory) }.qos();
    spec.mac = MacSpec::Dcf { timing, rules: Rules::standard() };
    spec.backoff = BackoffParams::Edca(EdcaParams::default());
    spec.surroundings.physical_layer = PhysicalLayer::Ofdm;
    let modulation = Modulation {
        format: Format::Vht,
        mcs: 9,
        streams: 1,
        width: Width::Mhz80,
        guard_interval: GuardInterval::Ns800,
    };
    spec.data_mode = Mode::of(modulation).unwrap();
    spec.aggregation = Some(Staging { limits: Aggregation::standard(), airtime: Some(Staging::AIRTIME) });
    spec.queue = QueueSpec::fifo(300);
    let model = spec.flows[0].clone();
    let flow = |(i, (from, to, traffic)): (usize, &(u32, u32, Traffic))| FlowSpec {
        name: format!("{i}"),
        path: vec![*from, *to],
        category: Category::BestEffort,
        traffic: traffic.clone(),
        ..model.clone()
    };
    spec.flows = flows.iter().enumerate().map(flow).collect();
    spec
}

/// The counts of the queue that sent most.
fn busiest(result: &RunResult) -> AggregateResult {
    let links = result.links.iter().filter_map(|link| link.aggregates);
    links.max_by_key(|aggregates| aggregates.mpdus).expect("queues aggregate")
}

pub(super) fn saturated() -> Traffic {
    Traffic::Datagrams { size: Bytes::new(1_500), headers: Bytes::new(0), pattern: Pattern::Saturated }
}

/// A lone station: 43 µs and 7.5 slots, an aggregate of 42 packets in 1372 µs (333 symbols after 44 µs), 16 and 32 µs for the
/// block acknowledgement: 27 440 packets a second.
#[test]
fn a_saturated_station_sends_full_aggregates() {
    let result = Network::run(&cell(2, &[(1, 0, saturated())]), seconds(1, 1, 4));
    let link = busiest(&result);
    assert!((link.mean_aggregate - 42.0).abs() < 0.01, "{link:?}");
    assert_eq!((link.mpdus_lost, link.given_up, link.block_acks_missing), (0, 0, 0));
    let expected_pps = 42.0 / (43e-6 + 7.5 * 9e-6 + 1_372e-6 + 48e-6);
    assert!(
        (result.flows[0].goodput_pps / expected_pps - 1.0).abs() < 0.003,
        "{}",
        result.flows[0].goodput_pps
    );
    assert_conserved(&result);
}

/// The same, with one aggregate staged: the next is filled up when the one before is acknowledged.
#[test]
fn one_staged_aggregate_saturates_a_station() {
    let mut spec = cell(2, &[(1, 0, saturated())]);
    spec.aggregation = Some(Staging { limits: Aggregation::standard(), airtime: None });
    let result = Network::run(&spec, seconds(1, 1, 4));
    let link = busiest(&result);
    assert!((link.mean_aggregate - 42.0).abs() < 0.01, "{link:?}");
}

/// An access point sends to three stations; each aggregate is for one of them, and all disciplines fill them.
#[test]
fn disciplines_fill_aggregates_by_station() {
    let airtime = DisciplineParams::Airtime(AirtimeParams::mac80211());
    for discipline in [
        DisciplineParams::Fifo,
        DisciplineParams::Fair(FairParams::fq_codel()),
        DisciplineParams::Fair(FairParams::cake(Hosts::Both)),
        DisciplineParams::Weighted(WeightedParams::default()),
        airtime,
    ] {
        let flows: Vec<_> = (1..4).map(|to| (0, to, saturated())).collect();
        let mut spec = cell(4, &flows);
        spec.queue = QueueSpec { discipline: discipline.clone(), ..QueueSpec::fifo(1_000) };
        let result = Network::run(&spec, seconds(1, 1, 4));
        let link = busiest(&result);
        assert!(link.mean_aggregate > 20.0, "{discipline:?}: {link:?}");
        let got = goodputs(&result);
        let (least, most) =
            (got.iter().copied().fold(f64::MAX, f64::min), got.iter().copied().fold(0.0, f64::max));
        assert!(least > 0.9 * most, "{discipline:?}: {got:?}");
        assert_conserved(&result);
    }
}

/// TCP both ways over lossy links, with all tries used up now and then.
#[test]
fn tcp_over_aggregates_loses_nothing_of_books() {
    for after_missed in [evenair_wifi::MissedBlockAck::Data, evenair_wifi::MissedBlockAck::Request] {
        let mut spec =
            cell(4, &[(0, 1, Traffic::Tcp(tcp(None))), (2, 0, Traffic::Tcp(tcp(None))), (3, 0, saturated())]);
        let limits = Aggregation { tries: Some(3), after_missed, ..Aggregation::standard() };
        spec.aggregation = Some(Staging { limits, ..spec.aggregation.unwrap() });
        for (from, to) in [(0, 1), (1, 0), (0, 2), (2, 0), (3, 0), (0, 3)] {
            let schedule = vec![(Instant::ZERO, LossModel::Frames(Probability::clamped(0.2)))];
            spec.losses.push(LinkLoss { from, to, schedule });
        }
        let result = Network::run(&spec, seconds(1, 1, 8));
        assert!(goodputs(&result).iter().all(|&pps| pps > 20.0), "{:?}", goodputs(&result));
        let links: Vec<_> = result.links.iter().filter_map(|link| link.aggregates).collect();
        assert!(links.iter().any(|l| l.given_up > 0) && links.iter().all(|l| l.mpdus_lost > 0), "{links:?}");
        assert_conserved(&result);
        for link in result.links.iter().filter_map(|link| link.airtime.as_ref()) {
            let shares =
                link.own + link.collided + link.backoff + link.interframe + link.empty + link.blocked();
            assert!((shares - 1.0).abs() < 1e-9, "{link:?}");
            // A fifth of the packets of each aggregate is lost; all of one, seldom.
            assert!(link.own < 0.01 || (0.1..0.25).contains(&(link.partly / link.own)), "{link:?}");
        }
    }
}

/// The same run with and without an observer, which sees each packet of each aggregate.
#[test]
fn a_trace_sees_each_packet_of_an_aggregate() {
    #[derive(Default)]
    struct Seen {
        parts: u64,
        unknown: u64,
        bitmaps: u64,
    }
    impl FrameSink for Seen {
        fn frame(&mut self, frame: &FrameRecord, packet: Option<&Sent>) {
            self.parts += u64::from(frame.part.is_some());
            self.unknown += u64::from(packet.is_none());
            self.bitmaps += u64::from(frame.window.received[0].count_ones());
        }
    }
    let spec = cell(3, &[(1, 0, saturated()), (2, 0, saturated())]);
    let mut seen = Seen::default();
    let watchers = Watchers { frames: Some(&mut seen), ..Watchers::default() };
    let result = Network::run_watched(&spec, seconds(1, 1, 1), watchers).unwrap();
    assert_eq!(result.fingerprint, Network::run(&spec, seconds(1, 1, 1)).fingerprint);
    let sent: u64 = result.links.iter().filter_map(|link| link.aggregates).map(|a| a.mpdus).sum();
    assert!(seen.parts > sent && seen.unknown == 0, "{} {} {sent}", seen.parts, seen.unknown);
    assert!(seen.bitmaps > 40 * 100, "{}", seen.bitmaps);
}
