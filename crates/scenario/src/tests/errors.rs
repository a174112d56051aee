//! The error model by the signal-to-noise ratio: its defaults, its contradictions, and the rates and theory that
//! follow.

use super::*;
use evenair_netsim::MacSpec;
use evenair_wifi::{Capture, Coding, ErrorModel, Mode};

/// One link of this strength, with these keys of the radio and the MAC.
fn link(dbm: f64, errors: &str, mac: &str) -> String {
    format!(
        "radio = {{ {errors} }}
        mac = {{ {mac} }}
        nodes = [{{ id = 'a' }}, {{ id = 'b' }}]
        signals = [{{ from = 'a', to = 'b', power = '{dbm} dBm' }}]
        flows = [{{ id = '1', from = 'a', to = 'b', traffic = 'saturated', size = '1500 bytes' }}]"
    )
}

const BY_SNR: &str = "errors = { model = 'by-snr' }";
const AC: &str = "kind = '802.11ac', width = '20 MHz'";

fn model(of: &Resolved) -> ErrorModel {
    match of.network().mac {
        MacSpec::Dcf { rules, .. } => match rules.capture {
            Capture::Errors(model) => model,
            other => panic!("{other:?}"),
        },
        MacSpec::Ideal => panic!("802.11"),
    }
}

#[test]
fn thresholds_follow_from_the_width() {
    let text = link(-60.0, BY_SNR, "kind = '802.11ax'");
    let scenario = parse(&text).unwrap();
    assert_eq!(parse(&scenario.to_toml().unwrap()).unwrap(), scenario);
    let toml = scenario.to_toml().unwrap();
    for line in
        ["receive_threshold = \"-76 dBm\"", "carrier_sense_threshold = \"-76 dBm\"", "capture = \"5 dB\""]
    {
        assert!(toml.contains(line), "{line} in {toml}");
    }
    // 802.11ax has LDPC wherever it is wider than 20 MHz; kTB of 80 MHz and 7 dB are -87.9 dBm.
    assert_eq!((model(&scenario).coding, model(&scenario).width.as_mhz()), (Coding::Ldpc, 80));
    assert!(toml.contains("interference_threshold = \"-98 dBm\""), "{toml}");
    let a = parse(&link(-60.0, BY_SNR, "kind = '802.11a'")).unwrap();
    assert!(a.to_toml().unwrap().contains("receive_threshold = \"-82 dBm\""));
}

#[test]
fn thresholds_and_errors_do_not_mix() {
    let refused = |radio: &str, mac: &str| message(&link(-60.0, radio, mac));
    let with = |keys: &str| refused(&format!("{BY_SNR}, {keys}"), AC);
    for (keys, key) in [
        ("interference = 'sum'", "radio.interference: is for receivers with thresholds"),
        ("weak_signals = 'errors'", "radio.weak_signals: is for receivers"),
        ("noise = '-94 dBm'", "radio.noise: follows from radio.errors.noise_figure"),
        ("receive_threshold = 'standard'", "radio.receive_threshold: must be one for all rates"),
    ] {
        assert!(with(keys).contains(key), "{}", with(keys));
    }
    assert!(refused(BY_SNR, "kind = 'ideal'").contains("radio.errors: has no meaning for the ideal MAC"));
    let coding = refused("errors = { model = 'by-snr', coding = 'ldpc' }", "kind = '802.11a'");
    assert!(coding.contains("radio.errors.coding: is for 802.11n"), "{coding}");
    let quiet = refused("errors = { model = 'by-snr', noise_figure = '-1 dB' }", AC);
    assert!(quiet.contains("radio.errors.noise_figure: -1 dB must lie between 0 and 40"), "{quiet}");
    let fading = "receive_threshold = '-82 dBm', carrier_sense_threshold = '-82 dBm', fading = { model = 'rayleigh', doppler = '5 Hz' }";
    assert!(refused(fading, AC).contains("radio.fading: is for receivers with an error model"));
    assert!(
        parse(&link(-60.0, &format!("{BY_SNR}, fading = {{ model = 'rayleigh', doppler = '5 Hz' }}"), AC))
            .is_ok()
    );
}

#[test]
fn energy_is_added_up_where_asked() {
    let energy = |of: &Resolved| match of.network().mac {
        MacSpec::Dcf { rules, .. } => rules.energy.map(evenair_units::Dbm::level),
        MacSpec::Ideal => panic!("802.11"),
    };
    let with = |keys: &str, mac: &str| parse(&link(-60.0, &format!("{BY_SNR}{keys}"), mac));
    assert_eq!(energy(&with("", AC).unwrap()), None);
    // -62 dBm in 20 MHz, 6 dB more in 80.
    let wide = with(", energy_detection = 'standard'", "kind = '802.11ac', width = '80 MHz'").unwrap();
    assert_eq!(energy(&wide), Some(-56.0));
    assert_eq!(parse(&wide.to_toml().unwrap()).unwrap(), wide);
    assert_eq!(energy(&with(", energy_detection = '-72 dBm'", AC).unwrap()), Some(-72.0));
    let ns3 = parse(&format!("preset = 'ns3'\n{}", link(-60.0, BY_SNR, AC))).unwrap();
    assert_eq!(energy(&ns3), Some(-82.0));
    let low = with(", energy_detection = '-90 dBm'", AC).unwrap_err().to_string();
    assert!(low.contains("radio.energy_detection: -90 dBm lies below the power of carrier sense"), "{low}");
    let thresholds =
        "receive_threshold = '-82 dBm', carrier_sense_threshold = '-82 dBm', energy_detection = 'standard'";
    let ideal = message(&link(-60.0, thresholds, "kind = 'ideal'"));
    assert!(ideal.contains("radio.energy_detection: is for 802.11"), "{ideal}");
}

/// Two pairs of strength -60 dBm that sense each other: MCS 7 of 802.11ac needs 19.6 dB and 4 needs 12.8, so that -75 dBm from the
/// other pair spoil the first and not the second.
#[test]
fn links_conflict_by_the_ratio_where_asked() {
    let text = |radio: &str, mac: &str| {
        format!(
            "radio = {{ {radio} }}
            mac = {{ {mac} }}
            nodes = [{{ id = 'a' }}, {{ id = 'b' }}, {{ id = 'c' }}, {{ id = 'd' }}]
            signals = [
                {{ from = 'a', to = 'b', power = '-60 dBm' }}, {{ from = 'c', to = 'd', power = '-60 dBm' }},
                {{ from = 'a', to = 'd', power = '-75 dBm' }}, {{ from = 'c', to = 'b', power = '-75 dBm' }},
            ]
            flows = [{{ id = '1', from = 'a', to = 'b' }}, {{ id = '2', from = 'c', to = 'd' }}]"
        )
    };
    let conflict = |mcs: u8, rule: &str| {
        let scenario = parse(&text(&format!("{BY_SNR}{rule}"), &format!("{AC}, mcs = {mcs}"))).unwrap();
        let layout = scenario.layout();
        let place = |name: &str| layout.links.iter().position(|(link, _)| link == name).unwrap();
        layout.conflicts.conflict(place("a>b"), place("c>d"))
    };
    let sinr = ", conflicts = 'sinr'";
    assert!(conflict(4, "") && conflict(7, ""));
    assert!(conflict(7, sinr) && !conflict(4, sinr));
    let thresholds = "receive_threshold = '-82 dBm', carrier_sense_threshold = '-82 dBm', conflicts = 'sinr'";
    let ideal = message(&text(thresholds, "kind = 'ideal'"));
    assert!(ideal.contains("radio.conflicts: \"sinr\" is for 802.11"), "{ideal}");
}

/// ns-3's Ideal by its preset; the law of our own has no greatest loss.
#[test]
fn ideal_is_ns_3s_by_its_preset() {
    let control = "kind = '802.11ac', width = '20 MHz', rate_control = 'ideal'";
    let loss = |preset: &str| {
        let scenario = parse(&format!("preset = '{preset}'\n{}", link(-60.0, BY_SNR, control))).unwrap();
        scenario
            .network()
            .rate_control
            .law
            .as_ref()
            .and_then(evenair_laws::rates::RateControlParams::loss_max)
    };
    assert_eq!((loss("standard"), loss("ns3")), (None, Some(0.016)));
}

/// ns-3's table for MCS 7: 19.62 and 20.50 dB for 10 and 1 % of 1458 bytes; the noise is -93.96 dBm.
#[test]
fn theory_counts_attempts() {
    let theory = |dbm: f64| parse(&link(dbm, BY_SNR, &format!("{AC}, mcs = 7"))).unwrap().theory().unwrap();
    let load = |dbm: f64| theory(dbm).flows[0].loads[0].1;
    let attempts = load(-93.96 + 19.62) / load(-50.0);
    assert!((1.05..1.25).contains(&attempts), "{attempts}");
    assert!((load(-93.96 + 20.5) / load(-50.0) - 1.0).abs() < 0.02);
    // Ten tries in vain: a dead link has next to no capacity.
    assert!((load(-81.0) / load(-50.0) / 1e4 - 1.0).abs() < 1e-6);
    let dead = theory(-81.0);
    assert!((dead.flows[0].loss - 1.0).abs() < 1e-6);
}

#[test]
fn modes_follow_the_ratio() {
    let mode = |dbm: f64, radio: &str| {
        parse(&link(dbm, radio, &format!("{AC}, data_rate = 'by-distance'"))).unwrap().network().mode(0, 1)
    };
    let of = |mode: Mode| mode.modulation().unwrap().mcs;
    // 25.14 dB are 10 % of MCS 9, which VHT lacks at 20 MHz; 23.70 of MCS 8, 19.62 of MCS 7, 18.35 of MCS 6, 0.90 of MCS 0.
    assert_eq!([-60.0, -69.5, -72.5, -81.9].map(|dbm| of(mode(dbm, BY_SNR))), [8, 8, 7, 3]);
    // By the standard's sensitivities: -59 dBm of MCS 8, -64 of MCS 7, -82 of MCS 0.
    let standard = "receive_threshold = 'standard'";
    assert_eq!([-58.9, -59.1, -64.1, -81.9].map(|dbm| of(mode(dbm, standard))), [8, 7, 6, 0]);
    let given = message(&link(-60.0, BY_SNR, &format!("{AC}, mcs = 3, data_rate = 'by-distance'")));
    assert!(given.contains("mac.mcs: contradicts mac.data_rate"), "{given}");
    let far = message(&link(-65.0, standard, &format!("{AC}, mcs = 7")));
    assert!(far.contains("no route"), "{far}");
}

/// Under Rayleigh fading a packet is lost with the mean of the model's losses over an exponential power.
#[test]
fn fading_links_lose_the_mean_over_their_power() {
    let radio = format!("{BY_SNR}, fading = {{ model = 'rayleigh', doppler = '20 Hz' }}");
    let text = link(-64.0, &radio, &format!("{AC}, mcs = 7, short_retry_limit = 1"));
    let text = text.replace("traffic = 'saturated'", "traffic = 'cbr', interval = '10 ms'");
    let text =
        format!("duration = '200 s'\nwarmup = '0 s'\naggregation = {{ packets = 1, retries = 1 }}\n{text}");
    let scenario = parse(&text).unwrap();
    let run = Network::run(scenario.network(), scenario.run_spec(1));
    let lost = 1.0 - run.flows[0].goodput_pps / 100.0;
    let (model, phy) = (model(&scenario), evenair_wifi::Phy::ac());
    let loss = |power: f64| {
        let received = evenair_units::Dbm::new(-64.0 + 10.0 * power.log10());
        // Beside the curve, a preamble needs 4 dB.
        let undetected = model.ratio_db(phy, scenario.network().mode(0, 1), received) < 4.0;
        if undetected {
            1.0
        } else {
            model.loss(phy, scenario.network().mode(0, 1), received, evenair_units::Bytes::new(1_530))
        }
    };
    let step = 1e-4;
    let expected: f64 =
        (0..100_000).map(|i| (f64::from(i) + 0.5) * step).map(|x| (-x).exp() * loss(x) * step).sum();
    // About 20 000 packets in 4000 independent fades: a standard error of 0.4 in 8 %.
    assert!((expected - 0.08).abs() < 0.01, "{expected}");
    assert!((lost - expected).abs() < 0.013, "{lost} {expected}");
}
