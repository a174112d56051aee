//! Height, transmit power and channels of nodes.

use super::*;
use evenair_topology::Reach;

fn reach(scenario: &Resolved, from: usize, to: usize) -> Option<Reach> {
    scenario.network().medium.hearing(from, to).map(|ear| ear.reach)
}

/// Nodes a and b, 30 m apart on the ground and 40 m in height: 50 m.
#[test]
fn the_third_coordinate_is_height() {
    let at = |place: &str, range: &str| {
        let text = TWO.replace("[100, 0]", place).replace("250 m", range).replace("800 m", "60 m");
        parse(&text)
    };
    let scenario = at("[30, 0, 40]", "50.01 m").unwrap();
    assert_eq!(reach(&scenario, 0, 1), Some(Reach::Decodable));
    assert_eq!(parse(&scenario.to_toml().unwrap()).unwrap(), scenario);
    assert!(at("[30, 0, 40]", "49.99 m").unwrap_err().to_string().contains("no route"));
    assert!(at("[30, 0, 0]", "49.99 m").is_ok());
    assert!(at("[30, 0, nan]", "50 m").unwrap_err().to_string().contains("coordinates are metres"));
}

const THRESHOLDS: &str = "radio = { receive_threshold = '-64 dBm', carrier_sense_threshold = '-78 dBm', transmit_power = '20 dBm', propagation = 'free-space', frequency = '2.4 GHz' }";

/// Free space at 2.4 GHz loses 40.05 dB over 1 m (Friis: 20·log10(4π·2.4e9/299792458)) and 20·log10(d) more: 20 dBm reach -64 dBm at
/// 10^((84 - 40.05)/20) = 157.6 m, 26 dBm at 314.5 m.
#[test]
fn a_nodes_own_power_reaches_further() {
    let heard = |distance_m: f64, power: &str| {
        let text = format!(
            "{THRESHOLDS}
            nodes = [{{ id = 'a', at = [0, 0]{power} }}, {{ id = 'b', at = [{distance_m}, 0] }}, {{ id = 'c', at = [1, 0] }}]
            flows = [{{ id = '1', from = 'a', to = 'c' }}]"
        );
        let scenario = parse(&text).unwrap();
        assert_eq!(parse(&scenario.to_toml().unwrap()).unwrap(), scenario);
        [reach(&scenario, 0, 1), reach(&scenario, 1, 0)]
    };
    let (decoded, sensed) = (Some(Reach::Decodable), Some(Reach::Sensed));
    assert_eq!(heard(157.0, ""), [decoded, decoded]);
    assert_eq!(heard(158.0, ""), [sensed, sensed]);
    let strong = ", transmit_power = '26 dBm'";
    assert_eq!(heard(314.0, strong), [decoded, sensed]);
    assert_eq!(heard(315.0, strong), [sensed, sensed]);
}

#[test]
fn a_power_without_effect_is_refused() {
    let refused = |text: &str| message(text);
    let ranges = refused(&TWO.replace("at = [0, 0]", "at = [0, 0]\ntransmit_power = \"20 dBm\""));
    assert!(ranges.contains("nodes[0].transmit_power: needs thresholds that are powers"), "{ranges}");
    let one = THRESHOLDS.replace("receive_threshold = '-64 dBm'", "transmission_range = '100 m'");
    let one = refused(&format!(
        "{one}\nnodes = [{{ id = 'a', at = [0, 0] }}, {{ id = 'b', at = [9, 0], transmit_power = '9 dBm' }}]\nflows = [{{ id = '1', from = 'a', to = 'b' }}]"
    ));
    assert!(one.contains("nodes[1].transmit_power: needs thresholds that are powers"), "{one}");
    let signals = refused(
        "radio = { receive_threshold = '-64 dBm', carrier_sense_threshold = '-78 dBm' }
        nodes = [{ id = 'a', transmit_power = '20 dBm' }, { id = 'b' }]
        signals = [{ from = 'a', to = 'b', power = '-50 dBm' }]
        flows = [{ id = '1', from = 'a', to = 'b' }]",
    );
    assert!(signals.contains("change those"), "{signals}");
}

/// Two cells on one spot: on one channel they share the air, on two each has it for itself.
#[test]
fn cells_on_two_channels_share_nothing() {
    let cells = |second: u32, flows: &[&str]| {
        let all = [
            "{ id = '1', from = 'a', to = 'A', traffic = 'saturated', start = '0 s' }",
            "{ id = '2', from = 'b', to = 'B', traffic = 'saturated', start = '0 s' }",
        ];
        let flows: Vec<&str> =
            all.into_iter().filter(|flow| flows.iter().any(|id| flow.contains(id))).collect();
        let text = format!(
            "duration = '2 s'
            warmup = '1 s'
            radio = {{ transmission_range = '250 m', carrier_sense_range = '550 m' }}
            mac = {{ channel = 6 }}
            nodes = [
                {{ id = 'a', at = [0, 0] }}, {{ id = 'A', at = [9, 0] }},
                {{ id = 'b', at = [0, 9], channel = {second} }}, {{ id = 'B', at = [9, 9], channel = {second} }},
            ]
            flows = [{}]",
            flows.join(", ")
        );
        parse(&text).unwrap()
    };
    let both = ["'1'", "'2'"];
    let (one, two) = (cells(6, &both), cells(11, &both));
    assert_eq!((one.layout().conflicts.edges().count(), two.layout().conflicts.edges().count()), (1, 0));
    let shares = |scenario: &Resolved| {
        let optimum = scenario.optimum(Objective::MaxMin).unwrap();
        [0, 1].map(|flow| (optimum.rates_pps[flow] / optimum.capacity_pps[flow] * 1e6).round() / 1e6)
    };
    assert_eq!((shares(&one), shares(&two)), ([0.5; 2], [1.0; 2]));
    let goodputs = |scenario: &Resolved| {
        let run = scenario.run_spec(7);
        let result = Network::run(scenario.network(), run);
        result.flows.iter().map(|flow| flow.goodput_pps).collect::<Vec<_>>()
    };
    // Streams are named, so each cell has the same draws as alone.
    let alone: Vec<f64> = both.iter().flat_map(|id| goodputs(&cells(11, &[id]))).collect();
    assert_eq!(goodputs(&two), alone);
    assert!(goodputs(&one).iter().sum::<f64>() < 0.6 * alone.iter().sum::<f64>());
    assert_eq!(parse(&two.to_toml().unwrap()).unwrap(), two);
}

#[test]
fn a_flow_between_channels_needs_a_wire() {
    let text = |wire: &str| {
        format!(
            "radio = {{ transmission_range = '250 m', carrier_sense_range = '550 m' }}
            nodes = [{{ id = 'a', at = [0, 0] }}, {{ id = 'b', at = [9, 0], channel = 11 }}]
            {wire}
            flows = [{{ id = '1', from = 'a', to = 'b' }}]"
        )
    };
    let refused = message(&text(""));
    assert!(refused.contains("no chain of nodes within transmission range and on one channel"), "{refused}");
    assert!(parse(&text("wires = [{ from = 'a', to = 'b', rate = '1 Mbps', delay = '1 ms' }]")).is_ok());
    let wrong = message(&text("").replace("channel = 11", "channel = 0"));
    assert!(wrong.contains("nodes[1].channel: 0 is no channel"), "{wrong}");
}

#[test]
fn poisson_traffic_has_rate_or_count_and_sizes() {
    use evenair_netsim::{Pattern, Traffic};
    use evenair_units::Duration;
    let poisson =
        |keys: &str| parse(&TWO.replace("to = \"b\"", &format!("to = \"b\"\ntraffic = \"poisson\"\n{keys}")));
    let interval = |keys: &str| match poisson(keys).unwrap().network().flows[0].traffic {
        Traffic::Datagrams { pattern: Pattern::Poisson { interval, .. }, size, .. } => {
            (interval, size.count())
        }
        ref other => panic!("{other:?}"),
    };
    let ms = Duration::from_millis;
    // 1000 bytes are 8000 bits.
    assert_eq!(interval("rate = \"80 kbps\""), (ms(100), 1000));
    assert_eq!(interval("interval = \"20 ms\"\nsize = \"200 bytes\""), (ms(20), 200));
    assert_eq!(interval("packets_per_second = 50"), (ms(20), 1000));
    // The mean of 64 and 1500 bytes is 782, 6256 bits.
    assert_eq!(interval("rate = \"6256 bps\"\nsizes = [\"64 bytes\", \"1500 bytes\"]"), (ms(1000), 782));
    let scenario = poisson("packets_per_second = 50\nsizes = [\"64 bytes\", \"1500 bytes\"]").unwrap();
    assert_eq!(parse(&scenario.to_toml().unwrap()).unwrap(), scenario);
    let refused = |keys: &str| poisson(keys).unwrap_err().to_string();
    assert!(refused("").contains("need one of rate"));
    assert!(refused("rate = \"1 Mbps\"\npackets_per_second = 5").contains("need one of rate"));
    assert!(refused("packets_per_second = 0").contains("must lie between"));
    assert!(
        refused("packets_per_second = 5\nsize = \"9 bytes\"\nsizes = [\"9 bytes\"]").contains("remove size")
    );
    assert!(refused("packets_per_second = 5\nsizes = [\"0 bytes\"]").contains("at least 1 byte"));
    assert!(refused("packets_per_second = 5\njitter = 0.5").contains("is for cbr traffic"));
}
