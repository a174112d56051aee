//! Rates that go different distances, and stations of two kinds.

use super::*;
use evenair_laws::backoff::DcfParams;
use evenair_netsim::MacSpec;
use evenair_units::{Duration, Rate};

/// Free space at 5.18 GHz loses 46.73 dB over 1 m (Friis: 20·log10(4π·5.18e9/299792458)) and 20·log10(d) more.
const RADIO: &str = "radio = { receive_threshold = 'standard', transmit_power = '20 dBm', propagation = 'free-space', frequency = '5.18 GHz' }";

fn link(distance_m: f64, radio: &str, mac: &str) -> Result<Resolved, ScenarioError> {
    parse(&format!(
        "{radio}
        mac = {{ kind = '802.11a'{mac} }}
        nodes = [{{ id = 'a', at = [0, 0] }}, {{ id = 'b', at = [{distance_m}, 0] }}]
        flows = [{{ id = '1', from = 'a', to = 'b' }}]"
    ))
}

const BY_DISTANCE: &str = ", data_rate = 'by-distance'";

#[test]
fn links_have_fastest_rate_that_they_can_carry() {
    // 20 dBm reach -65 dBm at 10^((85 - 46.73)/20) = 81.9 m, -66 at 91.9, -74 at 230.8, -82 at 579.8.
    for (distance_m, mbps) in [(81.5, 54), (82.5, 48), (92.5, 36), (230.0, 24), (232.0, 18), (579.0, 6)] {
        let scenario = link(distance_m, RADIO, BY_DISTANCE).unwrap();
        assert_eq!(scenario.network().rate(0, 1), Rate::from_kbps(mbps * 1000), "{distance_m} m");
        assert_eq!(scenario.network().data_mode.rate(), Rate::from_kbps(mbps * 1000));
        assert_eq!(parse(&scenario.to_toml().unwrap()).unwrap(), scenario);
    }
    let far = link(581.0, RADIO, BY_DISTANCE).unwrap_err().to_string();
    assert!(far.contains("they are 581.0 m apart, and the range is 579.8 m"), "{far}");
}

#[test]
fn a_rate_that_does_not_reach_makes_no_route() {
    assert!(link(230.0, RADIO, ", data_rate = '24 Mbps'").is_ok());
    let far = link(232.0, RADIO, ", data_rate = '24 Mbps'").unwrap_err().to_string();
    assert!(far.contains("no route") && far.contains("by-distance"), "{far}");
    // A link's own rate may be slower.
    let own = format!("{RADIO}\nrates = [{{ from = 'a', to = 'b', rate = '6 Mbps' }}]");
    assert!(link(232.0, &own, ", data_rate = '24 Mbps'").is_ok());
}

#[test]
fn ranges_may_be_given_for_some_rates() {
    let ranges = "radio = { transmission_range = { '12 Mbps' = '100 m', '54 Mbps' = '30 m' } }";
    for (distance_m, mbps) in [(30.0, 54), (30.1, 12), (100.0, 12)] {
        let scenario = link(distance_m, ranges, BY_DISTANCE).unwrap();
        assert_eq!(scenario.network().rate(0, 1), Rate::from_kbps(mbps * 1000), "{distance_m} m");
        assert_eq!(scenario.layout().ranges_m, Some((100.0, 100.0)));
    }
    assert!(link(100.1, ranges, BY_DISTANCE).is_err());
    // 18 to 48 Mbps go as far as 54, 6 and 9 as far as 12.
    assert!(link(30.1, ranges, ", data_rate = '18 Mbps'").is_err());
    assert!(link(100.0, ranges, ", data_rate = '6 Mbps'").is_ok());
    let some = RADIO.replace("'standard'", "{ '6 Mbps' = '-90 dBm', '54 Mbps' = 'standard' }");
    assert_eq!(link(81.5, &some, BY_DISTANCE).unwrap().network().rate(0, 1), Rate::from_kbps(54_000));
    assert_eq!(link(82.5, &some, BY_DISTANCE).unwrap().network().rate(0, 1), Rate::from_kbps(6_000));
}

#[test]
fn table_without_rates_is_refused() {
    let refused = |radio: &str, mac: &str| link(10.0, radio, mac).unwrap_err().to_string();
    let one = "radio = { transmission_range = '250 m', carrier_sense_range = '550 m' }";
    assert!(refused(one, BY_DISTANCE).contains("mac.data_rate: \"by-distance\" needs a range"));
    let twice = RADIO.replace("{ receive", "{ transmission_range = '9 m', receive");
    assert!(refused(&twice, "").contains("twice"));
    let upside_down = "radio = { transmission_range = { '6 Mbps' = '30 m', '54 Mbps' = '90 m' } }";
    assert!(refused(upside_down, "").contains("54 Mbps would reach further than 6 Mbps"));
    let unknown = "radio = { transmission_range = { '11 Mbps' = '30 m' } }";
    assert!(refused(unknown, "").contains("11 Mbps is not a rate of this physical layer"));
    assert!(refused("radio = { receive_threshold = {} }", "").contains("an empty table"));
    assert!(refused(RADIO, ", data_rate = 'by distance'").contains("or \"by-distance\""));
    assert!(refused(&RADIO.replace("'standard'", "'standart'"), "").contains("or \"standard\""));
}

const MIXED: &str = "
    radio = { transmission_range = '250 m', carrier_sense_range = '550 m' }
    mac = { kind = '802.11g' }
    nodes = [{ id = 'ap', at = [0, 0] }, { id = 'g', at = [9, 0] }, { id = 'b', at = [0, 9], mac = '802.11b' }]
    flows = [{ id = '1', from = 'g', to = 'ap' }, { id = '2', from = 'b', to = 'ap' }]";

/// IEEE 802.11-2016 clause 18.4.5: long slots; aCWmin is 31 for 802.11b (clause 16.3.4) and 15 for stations that have OFDM.
#[test]
fn b_stations_beside_g_have_their_own_rates() {
    let scenario = parse(MIXED).unwrap();
    let network = scenario.network();
    let MacSpec::Dcf { timing, .. } = network.mac else { panic!("802.11") };
    assert_eq!((timing.slot, timing.difs), (Duration::from_micros(20), Duration::from_micros(50)));
    let rates =
        [(0, 1), (1, 0), (0, 2), (2, 0)].map(|(from, to)| network.rate(from, to).as_bps() / 1_000_000);
    assert_eq!(rates, [54, 54, 11, 11]);
    let window = |node| match network.backoff_of(node) {
        BackoffParams::Dcf(DcfParams { window_min, .. }) => *window_min,
        other => panic!("{other:?}"),
    };
    assert_eq!([0, 1, 2].map(window), [Some(15), Some(15), Some(31)]);
    assert_eq!(parse(&scenario.to_toml().unwrap()).unwrap(), scenario);
    // Queues that it shared with a station of 802.11g keep their room.
    let shared =
        parse(&format!("{MIXED}\nqueues = [{{ nodes = ['g', 'b'], queue = '7 packets' }}]")).unwrap();
    assert_eq!([1, 2].map(|node| shared.network().queue_of(node).limit_packets), [7, 7]);
    assert_eq!(shared.network().backoff_of(2), network.backoff_of(2));
    let message = message(&MIXED.replace("802.11g", "802.11a"));
    assert!(message.contains("nodes[2].mac: is for a station of 802.11b beside 802.11g"), "{message}");
    let ofdm = format!("{MIXED}\nrates = [{{ from = 'b', to = 'ap', rate = '6 Mbps' }}]");
    assert!(super::message(&ofdm).contains("rates[0].rate: 6 Mbps is not a rate of this physical layer"));
    let basic = MIXED.replace("kind = '802.11g'", "kind = '802.11g', basic_rate = '6 Mbps'");
    assert!(super::message(&basic).contains("mac.basic_rate: 6 Mbps is not a rate of 802.11b"));
}

#[test]
fn stations_of_edca_and_dcf_share_a_cell() {
    let text = TWO.to_string() + "[[queues]]\nnodes = [\"a\"]\nbackoff = { law = \"edca\" }\n";
    let scenario = parse(&text).unwrap();
    assert_eq!(parse(&scenario.to_toml().unwrap()).unwrap(), scenario);
    let has_qos = |from, to| match scenario.network().mac_between(from, to) {
        MacSpec::Dcf { timing, .. } => timing.is_qos(),
        MacSpec::Ideal => panic!("802.11"),
    };
    assert!(!has_qos(0, 1) && !has_qos(1, 0));
    let other_way = parse(
        &text
            .replace("law = \"edca\"", "law = \"dcf\"")
            .replace("[radio]", "[backoff]\nlaw = \"edca\"\n[radio]"),
    );
    assert!(other_way.is_ok());
}

/// Ideal CSMA decodes all rates alike: links keep their rates, and hear each other as far as the slowest reaches.
#[test]
fn over_ideal_csma_links_keep_their_rates() {
    let ranges = "radio = { transmission_range = { '12 Mbps' = '100 m', '54 Mbps' = '30 m' } }";
    for scenario in [link(100.0, ranges, BY_DISTANCE), link(230.0, RADIO, BY_DISTANCE), parse(MIXED)] {
        let scenario = scenario.unwrap();
        let ideal = scenario.over_ideal_csma().unwrap();
        for (_, link) in &scenario.layout().links {
            let rate = |of: &Resolved| of.network().rate(link.from, link.to);
            assert_eq!(rate(&ideal), rate(&scenario));
        }
        assert_eq!(ideal.layout().conflicts, scenario.layout().conflicts);
    }
}

/// The power of a signal from node a to node b, 40 m apart.
fn power_dbm(radio: &str) -> f64 {
    let text = format!(
        "radio = {{ transmission_range = '300 m', carrier_sense_range = '600 m', transmit_power = '20 dBm', {radio} }}
        mac = {{ kind = '802.11a' }}
        nodes = [{{ id = 'a', at = [0, 0, 1] }}, {{ id = 'b', at = [40, 0, 4] }}]
        flows = [{{ id = '1', from = 'a', to = 'b' }}]"
    );
    let scenario = parse(&text).unwrap();
    assert_eq!(parse(&scenario.to_toml().unwrap()).unwrap(), scenario);
    scenario.network().medium.hearing(0, 1).unwrap().power.level()
}

#[test]
fn models_of_rooms_have_their_break_points() {
    // Over √(40² + 3²) = 40.1123 m at 5.25 GHz: free space to the break point loses 20·log10(4π·d·5.25e9/299792458), which are 60.83 dB
    // for 5 m, 66.85 for 10, 72.87 for 20, 76.39 for 30; then 35·log10(40.1123/d) more, 31.65, 21.12, 10.58, 4.42.
    let expected =
        [("tgn-a", 92.48), ("tgn-d", 87.97), ("tgn-e", 83.45), ("tgn-f", 80.81), ("tgax-enterprise", 87.97)];
    for (name, loss_db) in expected {
        let power = power_dbm(&format!("propagation = '{name}'"));
        assert!((power - (20.0 - loss_db)).abs() < 0.02, "{name}: {power}");
    }
    // ITU-R P.1238: 20·log10(5250) + N·log10(40.1123) − 28, N of 28, 31 and 22.
    for (name, loss_db) in [("residential", 91.29), ("office", 96.10), ("commercial", 81.67)] {
        let power = power_dbm(&format!("propagation = 'itu-{name}'"));
        assert!((power - (20.0 - loss_db)).abs() < 0.02, "{name}: {power}");
    }
    // A floor is 18.3 dB, and TGax's home loses as much to 5 m as TGn's B.
    let home = power_dbm("propagation = 'tgax-residential', storey = '3 m'");
    assert!((home - (20.0 - 92.48 - 18.3)).abs() < 0.02, "{home}");
}

#[test]
fn shadowing_belongs_to_scenario_and_not_to_seed() {
    let of = |words: &str| power_dbm(&format!("propagation = 'tgn-d'{words}"));
    let is_same = |one: f64, other: f64| (one - other).abs() < 1e-9;
    let plain = of("");
    let shadowed = of(", shadowing = { deviation = '5 dB' }");
    assert!(is_same(shadowed, of(", shadowing = { deviation = '5 dB', distance = '5 m', seed = 1 }")));
    assert!(!is_same(shadowed, of(", shadowing = { deviation = '5 dB', seed = 2 }")));
    assert!((shadowed - plain).abs() > 0.01 && (shadowed - plain).abs() <= 20.0, "{shadowed}");
    assert!(is_same(of(", shadowing = { deviation = '0 dB' }"), plain));
    for (radio, why) in [
        ("shadowing = { deviation = '21 dB' }", "radio.shadowing.deviation"),
        ("shadowing = { deviation = '5 dB', distance = '0 m' }", "radio.shadowing.distance"),
        ("fading = { model = 'rayleigh' }", "radio.fading.doppler: is not given"),
        (
            "fading = { model = 'rayleigh', doppler = '5 Hz', speed = '1 m/s' }",
            "radio.fading.speed: doppler gives",
        ),
        ("fading = { model = 'rician', doppler = '5 Hz' }", "radio.fading.k: is not given"),
        (
            "fading = { model = 'rician', doppler = '5 Hz', k = '6 dB', m = 2 }",
            "radio.fading.m: has no meaning",
        ),
        (
            "fading = { model = 'nakagami', doppler = '5 Hz', m = 0.4 }",
            "radio.fading.m: 0.4 must lie between",
        ),
        ("fading = { model = 'rayleigh', speed = '900 km/h', k = '6 dB' }", "radio.fading.k: has no meaning"),
        ("fading = { model = 'rayleigh', doppler = '5 kHz' }", "5000 Hz is more than 2000 Hz"),
        ("propagation = 'tgn-b', exponent = 3.0", "has no meaning for this propagation"),
    ] {
        let radio =
            format!("radio = {{ transmission_range = '300 m', carrier_sense_range = '600 m', {radio} }}");
        let error = link(40.0, &radio, "").unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let signals = "radio = { receive_threshold = '-80 dBm', carrier_sense_threshold = '-85 dBm', shadowing = { deviation = '5 dB' } }
        signals = [{ from = 'a', to = 'b', power = '-60 dBm' }]
        mac = { kind = '802.11a' }
        nodes = [{ id = 'a' }, { id = 'b' }]
        flows = [{ id = '1', from = 'a', to = 'b' }]";
    assert!(parse(signals).unwrap_err().to_string().contains("needs nodes with positions"));
}
