//! 802.11n, ac and ax: their keys, their defaults, older stations beside them.

use super::*;
use evenair_laws::backoff::PhysicalLayer;
use evenair_netsim::MacSpec;
use evenair_units::{Bytes, Duration, Rate};
use evenair_wifi::{GuardInterval, Mode, Modulation, Width};

fn scenario(mac: &str, more: &str) -> String {
    format!(
        "{more}
        radio = {{ transmission_range = '250 m', carrier_sense_range = '800 m' }}
        mac = {{ {mac} }}
        nodes = [{{ id = 'a', at = [0, 0] }}, {{ id = 'b', at = [100, 0] }}, {{ id = 'c', at = [0, 100] }}]
        flows = [{{ id = '1', from = 'a', to = 'b' }}, {{ id = '2', from = 'c', to = 'b' }}]"
    )
}

fn with(mac: &str) -> Resolved {
    parse(&scenario(mac, "")).unwrap()
}

fn refused(mac: &str, more: &str) -> String {
    message(&scenario(mac, more))
}

fn modulation(of: &Resolved) -> Modulation {
    of.network().data_mode.modulation().expect("a mode of 802.11n, ac or ax")
}

#[test]
fn modes_are_written_as_the_standards_name_them() {
    let scenario =
        with("kind = '802.11ac', width = '80 MHz', mcs = 9, streams = 2, guard_interval = '400 ns'");
    let found = modulation(&scenario);
    assert_eq!((found.mcs, found.streams, found.width), (9, 2, Width::Mhz80));
    assert_eq!(found.guard_interval, GuardInterval::Ns400);
    // IEEE 802.11-2016 table 21-39: 866.7 Mb/s.
    assert_eq!(scenario.network().rate(0, 1), Rate::from_bps(866_666_667));
    assert_eq!(parse(&scenario.to_toml().unwrap()).unwrap(), scenario);
}

#[test]
fn default_is_fastest_common_rate() {
    let text = |mac: &str| with(mac).network().data_mode.to_string();
    assert_eq!(text("kind = '802.11n'"), "HT MCS 7, 20 MHz, 1 stream, 800 ns");
    assert_eq!(text("kind = '802.11ac'"), "VHT MCS 9, 80 MHz, 1 stream, 800 ns");
    assert_eq!(text("kind = '802.11ac', width = '20 MHz'"), "VHT MCS 8, 20 MHz, 1 stream, 800 ns");
    assert_eq!(text("kind = '802.11ax'"), "HE MCS 11, 80 MHz, 1 stream, 800 ns");
    assert_eq!(text("kind = '802.11ax', band = '2.4 GHz'"), "HE MCS 11, 20 MHz, 1 stream, 800 ns");
}

#[test]
fn nonstandard_mode_is_refused() {
    let mac = |keys: &str| refused(keys, "");
    let twenty = mac("kind = '802.11ac', width = '20 MHz', mcs = 9");
    assert!(
        twenty.contains("mac.mcs: MCS 9 does not exist at 20 MHz with 1 stream: VHT has MCS"),
        "{twenty}"
    );
    for (keys, key, why) in [
        ("kind = '802.11n', width = '80 MHz'", "width", "HT has no channels of 80 MHz"),
        ("kind = '802.11ac', width = '85 MHz'", "width", "85 MHz is no width: use 20, 40, 80 or 160 MHz"),
        (
            "kind = '802.11ac', guard_interval = '1600 ns'",
            "guard_interval",
            "VHT has no guard interval of 1600 ns",
        ),
        ("kind = '802.11ac', guard_interval = '1 us'", "guard_interval", "use 400, 800, 1600 or 3200 ns"),
        ("kind = '802.11ac', streams = 5", "streams", "there are no 5 streams: use 1 to 4"),
        ("kind = '802.11ac', mcs = 300", "mcs", "300 is too great"),
        ("kind = '802.11ac', band = '6 GHz'", "band", "6 GHz has no 802.11ac: use 5 GHz"),
        ("kind = '802.11n', band = '6 GHz'", "band", "6 GHz has no 802.11n"),
        ("kind = '802.11ax', band = '2.4 GHz', width = '80 MHz'", "width", "80 MHz is for 5 and 6 GHz"),
        ("kind = '802.11ac', data_rate = '54 Mbps'", "data_rate", "is for 802.11a, b and g"),
        ("kind = '802.11ac', preamble = 'short'", "preamble", "is for 802.11b"),
        ("kind = '802.11ac', protection = 'none'", "protection", "is for stations beside older ones"),
        ("kind = '802.11a', mcs = 7", "mcs", "is for 802.11n, ac and ax"),
        ("kind = '802.11a', band = '5 GHz'", "band", "is for 802.11n, ac and ax"),
        ("kind = 'ideal', width = '20 MHz'", "width", "has no meaning for the ideal MAC"),
    ] {
        let said = mac(keys);
        assert!(said.contains(&format!("mac.{key}")) && said.contains(why), "{keys}: {said}");
    }
    let ns2 = refused("kind = '802.11ac'", "preset = 'ns2'");
    assert!(ns2.contains("ns-2's 802.11 is 802.11b"), "{ns2}");
    let by_rate = scenario("kind = '802.11ac'", "")
        .replace("transmission_range = '250 m'", "receive_threshold = { '6 Mbps' = '-82 dBm' }");
    let by_rate = message(&by_rate);
    assert!(by_rate.contains("by rate is for 802.11a, b and g"), "{by_rate}");
}

#[test]
fn links_have_modes_of_their_own() {
    let rates = "rates = [{ from = 'a', to = 'b', mcs = 4, one_way = true }, { from = 'c', to = 'b', streams = 2, width = '40 MHz' }]";
    let found = parse(&scenario("kind = '802.11ax', mcs = 7", rates)).unwrap();
    let text = |from, to| found.network().mode(from, to).to_string();
    assert_eq!(text(0, 1), "HE MCS 4, 80 MHz, 1 stream, 800 ns");
    assert_eq!(text(1, 0), "HE MCS 7, 80 MHz, 1 stream, 800 ns");
    assert_eq!(text(2, 1), "HE MCS 7, 40 MHz, 2 streams, 800 ns");
    assert_eq!(parse(&found.to_toml().unwrap()).unwrap(), found);
    let wrong = |entry: &str, kind: &str| {
        refused(&format!("kind = '{kind}'"), &format!("rates = [{{ from = 'a', to = 'b', {entry} }}]"))
    };
    let fast = wrong("rate = '54 Mbps'", "802.11ac");
    assert!(fast.contains("rates[0].rate: is for 802.11a, b and g: give mcs"), "{fast}");
    let old = wrong("mcs = 3", "802.11a");
    assert!(old.contains("rates[0].mcs: is for 802.11n, ac and ax"), "{old}");
    let missing = wrong("one_way = true", "802.11a");
    assert!(missing.contains("rates[0].rate: is missing"), "{missing}");
    let none = wrong("mcs = 12", "802.11ax");
    assert!(none.contains("rates[0].mcs: MCS 12 does not exist: HE has MCS 0 to 11"), "{none}");
}

#[test]
fn modulated_stations_contend_by_edca() {
    let found = with("kind = '802.11ac', mcs = 0, width = '20 MHz'");
    let BackoffParams::Edca(edca) = &found.settings().backoff else {
        panic!("{:?}", found.settings().backoff)
    };
    assert_eq!((edca.best_effort.aifsn, edca.best_effort.txop), (Some(3), Some(Duration::ZERO)));
    // IEEE 802.11-2020 table 9-155.
    assert_eq!(edca.video.txop, Some(Duration::from_micros(4_096)));
    assert_eq!(found.network().surroundings.physical_layer, PhysicalLayer::HighThroughput);
    let MacSpec::Dcf { timing, .. } = found.network().mac_between(0, 1) else { panic!("802.11") };
    // 26 bytes of header, 4 of checksum, 8 of LLC and SNAP; 1538 bytes and a delimiter of 4 are 12 358 bits with SERVICE and tail: 476
    // symbols of 26 bits after 40 µs.
    assert_eq!(timing.overhead, Bytes::new(38));
    let mode = found.network().mode(0, 1);
    assert_eq!(timing.data(Bytes::new(1500), mode), Duration::from_micros(40 + 476 * 4));
    // Another law has these headers too.
    let law = parse(&scenario("kind = '802.11ac'", "backoff = 'queueing-delay'")).unwrap();
    let MacSpec::Dcf { timing, .. } = law.network().mac else { panic!("802.11") };
    assert_eq!(timing.overhead, Bytes::new(38));
}

#[test]
fn slots_and_spaces_depend_on_the_band() {
    let timing = |mac: &str| match with(mac).network().mac {
        MacSpec::Dcf { timing, .. } => timing,
        MacSpec::Ideal => panic!("802.11"),
    };
    let us = Duration::from_micros;
    let near = timing("kind = '802.11n', band = '2.4 GHz'");
    assert_eq!((near.slot, near.sifs, near.difs), (us(9), us(10), us(28)));
    let far = timing("kind = '802.11ac'");
    assert_eq!((far.slot, far.sifs, far.difs), (us(9), us(16), us(34)));
    // SIFS, an ACK at 6 Mb/s, DIFS; SIFS, slot and the 20 µs of a non-HT preamble.
    assert_eq!((far.eifs, far.answer_timeout), (us(16 + 44 + 34), us(16 + 9 + 20)));
    // Table 10-7: MCS 0, 1, 2, 3 have 6, 12, 18, 24 Mb/s as reference, and the mandatory rates are 6, 12, 24.
    for (mcs, mbps) in [(0, 6), (1, 12), (2, 12), (3, 24), (9, 24)] {
        let mode = Mode::of(Modulation { mcs, ..modulation(&with("kind = '802.11ac'")) }).unwrap();
        assert_eq!(far.control(mode), Rate::from_kbps(mbps * 1000), "MCS {mcs}");
    }
}

#[test]
fn presets_of_ns3_have_its_switches() {
    let of = |more: &str| parse(&scenario("kind = '802.11ac', mcs = 9", more)).unwrap();
    let (ours, theirs) = (of(""), of("preset = 'ns3'"));
    let data = |of: &Resolved| match of.network().mac {
        MacSpec::Dcf { timing, rules } => (timing.data(Bytes::new(1500), of.network().data_mode), rules),
        MacSpec::Ideal => panic!("802.11"),
    };
    let ((longer, standard), (shorter, ns3)) = (data(&ours), data(&theirs));
    // VHT-SIG-B: 1538 bytes in 8 symbols of 1560 bits after 40 and 36 µs.
    assert_eq!((longer, shorter), (Duration::from_micros(40 + 32), Duration::from_micros(36 + 32)));
    assert_eq!((standard.weak_is_error, standard.idle_once_is_enough), (true, false));
    assert_eq!((ns3.weak_is_error, ns3.idle_once_is_enough), (false, true));
    assert_eq!(parse(&theirs.to_toml().unwrap()).unwrap(), theirs);
}

#[test]
fn older_stations_have_own_rates_and_headers() {
    let older =
        |kind: &str, mac: &str| scenario(kind, "").replace("id = 'c',", &format!("id = 'c', mac = '{mac}',"));
    let found = parse(&older("kind = '802.11ac'", "802.11a")).unwrap();
    let network = found.network();
    assert_eq!(network.mode(2, 1), Mode::at(Rate::from_kbps(54_000)));
    assert_eq!(network.mode(0, 1).to_string(), "VHT MCS 9, 80 MHz, 1 stream, 800 ns");
    let overhead = |from, to| match network.mac_between(from, to) {
        MacSpec::Dcf { timing, .. } => timing.overhead.count(),
        MacSpec::Ideal => panic!("802.11"),
    };
    assert_eq!((overhead(0, 1), overhead(2, 1), overhead(1, 2)), (38, 36, 36));
    assert!(matches!(network.backoff_of(2), BackoffParams::Dcf(_)), "{:?}", network.backoff_of(2));
    let MacSpec::Dcf { timing, .. } = network.mac else { panic!("802.11") };
    // A CTS of 14 bytes at 24 Mb/s, 28 µs, before a frame that c cannot decode.
    assert_eq!(timing.protection(network.mode(0, 1)), Some(Duration::from_micros(28)));
    assert_eq!(timing.protection(network.mode(2, 1)), None);
    assert_eq!(parse(&found.to_toml().unwrap()).unwrap(), found);
    let bare = parse(&older("kind = '802.11ac', protection = 'none'", "802.11a")).unwrap();
    let MacSpec::Dcf { timing, .. } = bare.network().mac else { panic!("802.11") };
    assert_eq!(timing.protection(network.mode(0, 1)), None);
    for (kind, mac) in [
        ("kind = '802.11ac'", "802.11g"),
        ("kind = '802.11n', band = '2.4 GHz'", "802.11a"),
        ("kind = '802.11ac'", "802.11b"),
    ] {
        let said = message(&older(kind, mac));
        assert!(said.contains(&format!("is for a station of {mac} beside")), "{said}");
    }
    assert!(parse(&older("kind = '802.11n', band = '2.4 GHz'", "802.11g")).is_ok());
}

#[test]
fn modulated_kinds_run_and_solve_over_ideal_csma() {
    for kind in ["802.11n", "802.11ac", "802.11ax"] {
        let text = scenario(&format!("kind = '{kind}'"), "duration = '1 s'\nwarmup = '1 s'");
        let found = parse(&text).unwrap();
        let run = Network::run(found.network(), found.run_spec(1));
        assert!(run.flows.iter().all(|flow| flow.goodput_pps > 500.0), "{kind}");
        let best = found.optimum(Objective::Fair).unwrap();
        assert!(best.rates_pps.iter().all(|&pps| pps > 500.0), "{kind}: {:?}", best.rates_pps);
        let ideal = found.over_ideal_csma().unwrap();
        assert_eq!(ideal.network().rate(0, 1), found.network().rate(0, 1));
    }
}

#[test]
fn rate_control_is_of_all_or_single_links() {
    let all = with("kind = '802.11ac', rate_control = 'minstrel-ht'");
    let network = all.network();
    assert_eq!(parse(&all.to_toml().unwrap()).unwrap(), all);
    assert!(network.rate_control.of(0, 1).is_some());
    // Ten indices at 40 and 80 MHz, nine at 20 MHz; the slowest has 6.5 Mb/s.
    let modes = network.modes_of(0, 1);
    assert_eq!((modes.len(), modes[0].rate()), (29, Rate::from_kbps(6_500)));
    assert_eq!(modes.last(), Some(&network.data_mode));
    let some = "rates = [{ from = 'a', to = 'b', mcs = 3, streams = 2, rate_control = { law = 'arf', failures = 3 } }]";
    let some = parse(&scenario("kind = '802.11n', guard_interval = '400 ns'", some)).unwrap();
    let network = some.network();
    assert!(network.rate_control.of(1, 0).is_some() && network.rate_control.of(2, 1).is_none());
    assert_eq!(network.modes_of(0, 1).len(), 16, "four indices, two streams, two guard intervals");
    assert_eq!(parse(&some.to_toml().unwrap()).unwrap(), some);
}

#[test]
fn rate_control_without_a_meaning_is_refused() {
    let ideal = refused("kind = 'ideal', rate_control = 'arf'", "");
    assert!(ideal.contains("mac.rate_control") && ideal.contains("ideal MAC"), "{ideal}");
    let none = refused("kind = '802.11a', rate_control = { law = 'arf', failures = 0 }", "");
    assert!(none.contains("mac.rate_control.failures: 0 is not allowed: 1 or more"), "{none}");
    let unknown = refused("kind = '802.11a', rate_control = 'onoe'", "");
    assert!(unknown.contains("minstrel-ht"), "{unknown}");
}

/// At −80 dBm a station of 802.11a is 14 dB above the noise: 54 Mb/s is lost. Theory takes the rate that rate control could
/// sustain, 36 Mb/s (9.7 and 12.8 dB for a tenth of losses at 24 and 36 Mb/s, 17 dB at 48 Mb/s).
#[test]
fn theory_takes_fastest_mode_that_link_sustains() {
    let resolved = |law: &str| {
        parse(&format!(
            "radio = {{ errors = {{ model = 'by-snr' }} }}
            mac = {{ kind = '802.11a' {law} }}
            nodes = [{{ id = 'a' }}, {{ id = 'b' }}]
            signals = [{{ from = 'a', to = 'b', power = '-80 dBm' }}]
            flows = [{{ id = '1', from = 'a', to = 'b', traffic = 'saturated', size = '1500 bytes' }}]"
        ))
        .unwrap()
    };
    let (fixed, controlled) = (resolved(""), resolved(", rate_control = 'ideal'"));
    let rate = |of: &Resolved| of.network().sustained_mode(0, 1).rate();
    assert_eq!((rate(&fixed), rate(&controlled)), (Rate::from_kbps(54_000), Rate::from_kbps(36_000)));
    let loss = |of: &Resolved| of.network().noise_loss(0, 1, Bytes::new(1_500)).unwrap();
    assert!(loss(&fixed) > 0.99 && loss(&controlled) < 0.1, "{} {}", loss(&fixed), loss(&controlled));
}
