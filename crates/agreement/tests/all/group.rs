//! Broadcast frames: by the standard's arithmetic, and by ns-2.

use evenair_agreement::ns2;
use evenair_netsim::Network;
use evenair_scenario::Resolved;

/// How many broadcasts a second a station sends that always has one.
fn broadcasts_per_second(preset: &str, mac: &str, bytes: u32) -> f64 {
    let text = format!(
        "preset = \"{preset}\"\nduration = \"20 s\"\nwarmup = \"1 s\"\n\
         radio = {{ transmission_range = \"100 m\", carrier_sense_range = \"220 m\" }}\n\
         mac = {{ {mac} }}\n\
         nodes = [{{ id = \"a\", at = [0, 0] }}, {{ id = \"b\", at = [10, 0] }}]\n\
         flows = [{{ id = \"f\", from = \"a\", to = \"*\", traffic = \"saturated\", size = \"{bytes} bytes\" }}]\n"
    );
    let scenario = Resolved::parse("group", &text, &[]).expect("the scenario is right");
    let result = Network::run(scenario.network(), scenario.run_spec(1));
    result.links[0].attempts as f64 / result.measured_s
}

/// IEEE 802.11-2016 clause 10.7.5.3: a rate of the basic set, at any data rate. 500 bytes and 36 of the MAC
/// are 4310 bits with SERVICE and tail: 180 symbols of 24 bits at 6 Mb/s, 45 of 96 at 24. DIFS 28 (802.11a:
/// 34), 7.5 slots of 9 in the mean, preamble 20, 4 a symbol, and 802.11g's extension of 6 us. 802.11b: DIFS
/// 50, 15.5 slots of 20, preamble 192, 4288 bits.
#[test]
fn broadcasts_have_a_basic_rate_by_the_standard() {
    let ofdm =
        |difs: f64, symbols: f64, extension: f64| 1e6 / (difs + 7.5 * 9.0 + 20.0 + 4.0 * symbols + extension);
    let dsss = |mbps: f64| 1e6 / (50.0 + 15.5 * 20.0 + 192.0 + (4288.0 / mbps).ceil());
    for (mac, expected) in [
        ("kind = \"802.11g\", data_rate = \"54 Mbps\"", ofdm(28.0, 180.0, 6.0)),
        ("kind = \"802.11g\", data_rate = \"54 Mbps\", rts_threshold = \"0 bytes\"", ofdm(28.0, 180.0, 6.0)),
        ("kind = \"802.11g\", data_rate = \"54 Mbps\", basic_rate = \"24 Mbps\"", ofdm(28.0, 45.0, 6.0)),
        ("kind = \"802.11a\", data_rate = \"12 Mbps\"", ofdm(34.0, 180.0, 0.0)),
        ("data_rate = \"11 Mbps\"", dsss(1.0)),
        ("data_rate = \"11 Mbps\", basic_rate = \"5.5 Mbps\"", dsss(5.5)),
    ] {
        let ours = broadcasts_per_second("standard", mac, 500);
        // Half a per cent: back-offs are drawn.
        assert!((ours / expected - 1.0).abs() < 0.005, "{mac}: {ours}, by hand {expected}");
    }
}

#[test]
fn broadcasts_have_ns2s_basic_rate() {
    let recorded = ns2::broadcasts();
    assert_eq!(recorded.len(), 3);
    for ([data, basic, bytes], theirs) in recorded {
        let mac = format!("data_rate = \"{data} Mbps\", basic_rate = \"{basic} Mbps\"");
        let ours = broadcasts_per_second("ns2", &mac, bytes);
        // ns-2's run is five seconds: 1 %.
        assert!((ours / theirs - 1.0).abs() < 0.01, "{mac}, {bytes} bytes: {ours}, ns-2 {theirs}");
    }
}

/// The how-to's scenario beside its script.
#[test]
fn the_how_tos_chain_agrees_with_ns2() {
    let page = include_str!("../../../../docs/how-to/ns.md");
    let (_, text) = page.split_once("```toml title=\"chain.toml\"\n").expect("the page has the scenario");
    let (text, _) = text.split_once("```").expect("the scenario ends");
    let scenario = Resolved::parse("chain", text, &[]).expect("the scenario is right");
    let ours =
        (1..=3).map(|seed| Network::run(scenario.network(), scenario.run_spec(seed)).flows[0].goodput_bps);
    let ours = ours.sum::<f64>() / 3e3;
    let theirs = ns2::how_to_chain();
    assert!((ours / theirs - 1.0).abs() < 0.01, "{ours} kb/s, ns-2 {theirs}");
}
