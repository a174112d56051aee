//! Random networks, written as scenarios: in none is a packet lost without account or delivered twice.
//!
//! They draw MACs and standards, RTS/CTS, every law of every family as the catalogue lists them, interference
//! added up, and several hops and wires. They also draw gateways and sources that hold packets back, lossy
//! and bursty links, and TCP with and without SACK, RACK, timestamps and delayed acknowledgements. Traffic is
//! TCP, datagrams of every pattern, broadcasts, the web, and flows that begin at random.

use evenair_netsim::{Network, RunResult};
use evenair_scenario::{ListedFamily, Resolved};
use proptest::prelude::*;
use std::fmt::Write;
use std::sync::LazyLock;

/// A scenario's text, part by part.
fn scenario() -> impl Strategy<Value = String> {
    (2usize..7).prop_flat_map(|nodes| {
        let flows = prop::collection::vec((0..nodes, 1..nodes, flow()), 1..6);
        (places(nodes), radio(), mac(), laws(), tcp(), flows, (extras(nodes), queues(nodes), gateway(nodes))).prop_map(
            |(places, radio, mac, laws, tcp, flows, (extras, queues, gateway))| {
                let mut text = format!("duration = \"600 ms\"\nwarmup = \"200 ms\"\n{radio}\n{mac}\n{laws}\n{tcp}\n");
                let nodes = places.len();
                let list: Vec<String> = places
                    .iter()
                    .enumerate()
                    .map(|(i, (x, y))| format!("{{ id = \"n{i}\", at = [{x:.1}, {y:.1}] }}"))
                    .collect();
                writeln!(text, "nodes = [{}, {{ id = \"server\" }}]", list.join(", ")).expect("a string");
                writeln!(text, "wires = [{{ from = \"server\", to = \"n0\", rate = \"3 Mbps\", delay = \"3 ms\", queue = \"5 packets\" }}]")
                    .expect("a string");
                text.push_str(&(extras + &queues));
                text.push_str(&gateway);
                for (i, (from, step, (kind, broadcast, via_wire))) in flows.iter().enumerate() {
                    let to = (from + step) % nodes;
                    let (from, to) = match (*broadcast && !(kind.contains("tcp") || kind.contains("tfrc") || kind.contains("web")), via_wire) {
                        (true, _) => (format!("n{from}"), "*".to_string()),
                        (false, true) if i % 2 == 0 => ("server".into(), format!("n{to}")),
                        (false, true) => (format!("n{from}"), "server".into()),
                        (false, false) => (format!("n{from}"), format!("n{to}")),
                    };
                    writeln!(text, "[[flows]]\nid = \"{i}\"\nfrom = \"{from}\"\nto = \"{to}\"\nstart = \"{} ms\"\n{kind}", 30 * i)
                        .expect("a string");
                }
                text
            },
        )
    })
}

/// Nodes along a line, not too far from the one before, so that there are routes; some to the side.
fn places(nodes: usize) -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((40.0f64..230.0, -90.0f64..90.0), nodes).prop_map(|steps| {
        let mut x = 0.0;
        let mut place = |(dx, y): (f64, f64)| {
            x += dx;
            (x, y)
        };
        steps.into_iter().map(&mut place).collect()
    })
}

fn radio() -> impl Strategy<Value = String> {
    let rule = prop::sample::select(vec!["strongest", "first", "sum"]);
    (rule, 250.0f64..800.0, 0.0f64..15.0).prop_map(|(rule, sense, capture)| {
        format!(
            "radio = {{ transmission_range = \"250 m\", carrier_sense_range = \"{sense:.0} m\", interference = \"{rule}\", capture = \"{capture:.1} dB\" }}"
        )
    })
}

/// The names of a family's laws, those that are only just built among them.
pub(super) fn names(family: &str) -> Vec<String> {
    // The catalogue of laws and kinds of traffic takes longer to build than a case.
    static FAMILIES: LazyLock<Vec<ListedFamily>> = LazyLock::new(evenair_scenario::laws);
    let family = FAMILIES.iter().find(|f| f.family == family).expect("a family of laws");
    family.laws.iter().map(|law| law.name.clone()).collect()
}

fn mac() -> impl Strategy<Value = String> {
    prop_oneof![4 => wifi(), 1 => ideal()]
}

fn ideal() -> impl Strategy<Value = String> {
    (1u32..20).prop_map(|queue| {
        format!("mac = {{ kind = \"ideal\", data_rate = \"6 Mbps\", queue = \"{queue} packets\" }}")
    })
}

fn wifi() -> impl Strategy<Value = String> {
    let standard = prop::sample::select(vec![
        ("802.11b", "11 Mbps"),
        ("802.11b", "1 Mbps"),
        ("802.11a", "54 Mbps"),
        ("802.11a", "6 Mbps"),
        ("802.11g", "24 Mbps"),
    ]);
    let rts = prop::option::of(prop::sample::select(vec![0, 100, 500]));
    (standard, rts, 1u32..20, 1u32..8).prop_map(|((kind, rate), rts, queue, retries)| {
        let rts = rts.map(|bytes| format!(", rts_threshold = \"{bytes} bytes\"")).unwrap_or_default();
        format!(
            "mac = {{ kind = \"{kind}\", data_rate = \"{rate}\", queue = \"{queue} packets\", short_retry_limit = {retries}, long_retry_limit = {retries}{rts} }}"
        )
    })
}

fn laws() -> impl Strategy<Value = String> {
    let mut backoff: Vec<String> =
        names("backoff").iter().map(|law| format!("backoff = {{ law = \"{law}\" }}")).collect();
    backoff.extend(
        [
            "backoff = { law = \"dcf\", window_min = 3, window_max = 7 }",
            "backoff = { law = \"adaptive\", interval = \"50 ms\", dummies = true, redraw = false }",
            "backoff = { law = \"optimal\", interval = \"5 ms\", b = 0.5, dummies = true }",
            "backoff = { law = \"optimal\", interval = \"5 ms\", b = 0.1, adapts = \"holding\", holding_max = \"20 ms\" }",
            "backoff = { law = \"virtual-queue\", interval = \"5 ms\", adapts = \"holding\", dummies = true }",
            "backoff = { law = \"virtual-queue\", interval = \"5 ms\", execution = \"hardware\" }",
            "backoff = { law = \"queueing-delay\", scale = 0.01, dummies = true, form = \"exponential\" }",
            "backoff = { law = \"queue-length\", interval = \"50 ms\", window_max = 3 }",
        ]
        .map(String::from),
    );
    let drop = names("marking").into_iter().map(|law| format!("drop = {{ law = \"{law}\" }}"));
    let connections = names("connections").into_iter().map(|law| {
        let often = if law == "fixed" { "n = 3" } else { "interval = \"100 ms\"" };
        format!("connections = {{ law = \"{law}\", {often} }}")
    });
    let mut rest: Vec<String> = drop.chain(connections).collect();
    rest.extend(
        [
            "",
            "drop = { law = \"proportional\", per_packet = 0.05 }",
            "connections = { k = 100, interval = \"100 ms\" }",
        ]
        .map(String::from),
    );
    (prop::sample::select(backoff), prop::sample::select(rest))
        .prop_map(|(backoff, rest)| format!("{backoff}\n{rest}"))
}

fn tcp() -> impl Strategy<Value = String> {
    let mut windows = names("window");
    windows.push("newreno".into());
    let window = prop::sample::select(windows);
    let loss = prop::sample::select(vec![
        "sack = false",
        "sack = true, rack = false",
        "sack = true, rack = true, tail_loss_probe = false",
        "sack = true, rack = true, tail_loss_probe = true",
    ]);
    let acks = prop::sample::select(vec![
        "",
        ", delayed_ack = \"100 ms\"",
        ", delayed_ack = \"100 ms\", quick_acks = \"16 packets\"",
    ]);
    (window, loss, acks, any::<bool>(), any::<bool>(), any::<bool>(), 2u32..64).prop_map(
        |(window, loss, acks, timestamps, options, handshake, receiver)| {
            format!(
                "tcp = {{ window = \"{window}\", {loss}{acks}, timestamps = {timestamps}, options = {options}, handshake = {handshake}, receiver_window = \"{receiver} packets\", min_rto = \"50 ms\" }}"
            )
        },
    )
}

/// Its traffic: whether to all, whether over the wire.
fn flow() -> impl Strategy<Value = (String, bool, bool)> {
    let rated = names("rate")
        .into_iter()
        .map(|law| format!("traffic = \"rated\"\nsize = \"400 bytes\"\nrate_law = {{ law = \"{law}\" }}"));
    let fixed = [
        "traffic = \"tcp\"",
        "traffic = \"tcp\"\ntransfer = \"20 packets\"",
        "traffic = \"tcp\"\napplication_rate = \"300 kbps\"",
        "traffic = \"tfrc\"\nsize = \"700 bytes\"",
        "traffic = \"web\"\nweb = { interval = \"30 ms\", reply = \"9000 bytes\", reply_deviation = \"9000 bytes\", connection = \"per-request\" }",
        "traffic = \"web\"\nweb = { interval = \"50 ms\", arrivals = \"poisson\", request = [\"1 byte\", \"4000 bytes\"] }",
        "traffic = \"saturated\"\nsize = \"500 bytes\"",
        "traffic = \"cbr\"\nsize = \"200 bytes\"\nrate = \"400 kbps\"\njitter = 0.5",
        "traffic = \"poisson\"\nsize = \"300 bytes\"\npackets_per_second = 150.0",
        "traffic = \"on-off\"\nsize = \"900 bytes\"\nrate = \"2 Mbps\"\non = \"50 ms\"\noff = \"50 ms\"",
    ];
    let kind = prop::sample::select(rated.chain(fixed.map(String::from)).collect::<Vec<_>>());
    let category = prop::sample::select(vec!["voice", "video", "best-effort", "background"]);
    let active = prop::sample::select(vec![
        "",
        "start_jitter = \"300 ms\"",
        "active = [[\"0 ms\", \"250 ms\"], [\"400 ms\", \"700 ms\"]]",
        "start_jitter = \"250 ms\"\nactive = [[\"0 ms\", \"250 ms\"], [\"400 ms\", \"700 ms\"]]",
    ]);
    (kind, category, active, any::<bool>(), any::<bool>()).prop_map(
        |(kind, category, active, broadcast, wire)| {
            (format!("{kind}\n#category = \"{category}\"\n{active}"), broadcast, wire)
        },
    )
}

/// Any discipline at all nodes, and at one; first in, first out where there is none.
fn queues(nodes: usize) -> impl Strategy<Value = String> {
    let queue = || {
        let of_flows = ["drr", "fq-codel", "wfq", "airtime-fair"].into_iter().flat_map(|discipline| {
            ["", ", per = \"subscriber\""]
                .map(|per| format!("queue = {{ discipline = \"{discipline}\"{per} }}"))
        });
        let of_hosts = ["queue = { discipline = \"cake\", hosts = \"both\" }"].map(String::from);
        prop::option::of(prop::sample::select(of_flows.chain(of_hosts).collect::<Vec<_>>()))
    };
    (queue(), queue(), 0..nodes).prop_map(|(all, own, node)| {
        let all = all.map_or_else(String::new, |queue| format!("{queue}\n"));
        let own = own.map(|queue| queue.replace(" }", ", limit = \"40 packets\" }"));
        let own = own.map(|queue| format!("queues = [{{ nodes = [\"n{node}\"], {queue} }}]\n"));
        all + &own.unwrap_or_default()
    })
}

/// Links that lose.
fn extras(nodes: usize) -> impl Strategy<Value = String> {
    let loss = prop::sample::select(vec![
        "loss = 0.3",
        "every = 7",
        "bit_error_rate = 0.00002",
        "loss = 0.01, loss_bad = 0.9, good = \"50 ms\", bad = \"20 ms\"",
    ]);
    prop::option::of((0..nodes - 1, loss, any::<bool>())).prop_map(|loss| {
        loss.map_or_else(String::new, |(from, loss, one_way)| {
            format!(
                "losses = [{{ from = \"n{from}\", to = \"n{}\", {loss}, one_way = {one_way} }}]\n",
                from + 1
            )
        })
    })
}

/// A gateway under any law, or with rates of any kind, and sources that are limited; or neither.
fn gateway(nodes: usize) -> impl Strategy<Value = String> {
    let mut rates: Vec<String> = names("gateway")
        .iter()
        .map(|law| {
            let often = if law == "fixed" { "rate = \"300 kbps\"" } else { "epoch = \"50 ms\"" };
            format!("law = {{ law = \"{law}\", {often} }}")
        })
        .collect();
    rates.extend(
        [
            "rate = \"max-min\"",
            "rate = \"1 kbps\"",
            "rate = \"800 kbps\"",
            "law = { law = \"pfrc\", epoch = \"20 ms\", form = \"thesis\", search = \"exponential\" }",
            "law = { law = \"arc\", epoch = \"20 ms\", form = \"thesis\" }",
        ]
        .map(String::from),
    );
    let word = |words: &'static [&'static str]| prop::sample::select(words);
    let shaper = word(&[
        "",
        "shaper = \"aggregate\", ",
        "shaper = \"aggregate-fair\", ",
        "shaper = \"per-subscriber\", ",
    ]);
    let queue = word(&[
        "",
        "queue = { limit = \"1 packets\" }, ",
        "queue = { discipline = \"drr\", limit = \"9 packets\" }, ",
        "queue = { discipline = \"fq-codel\", target = \"1 ms\", limit = \"40 packets\" }, ",
        "queue = { discipline = \"cake\", hosts = \"source\", limit = \"40 packets\" }, ",
        "queue = { discipline = \"wfq\", line = \"3 packets\" }, ",
    ]);
    let rest = word(&[
        "",
        "per = \"flow\", ",
        "directions = \"up\", ",
        "directions = \"down\", ",
        "burst = \"9000 bytes\", ",
    ]);
    let answers = word(&["", "acknowledgements = true, "]);
    let table = (0..nodes, prop::sample::select(rates), shaper, queue, rest, answers).prop_map(
        |(node, rate, shaper, queue, rest, answers)| {
            format!("gateway = {{ node = \"n{node}\", {shaper}{queue}{rest}{answers}{rate} }}\n")
        },
    );
    let limit = word(&[
        "",
        "source_limit = { rate = \"200 kbps\" }\n",
        "source_limit = { rate = \"max-min\", queue = { limit = \"3 packets\" } }\n",
    ]);
    (prop::option::of(table), limit)
        .prop_map(|(table, limit)| format!("{}{limit}", table.unwrap_or_default()))
}

/// Without the gateway: no flow may pass the node that it was put at.
fn without_gateway(text: &str) -> String {
    text.lines()
        .filter(|line| !line.starts_with("gateway = "))
        .fold(String::new(), |all, line| all + line + "\n")
}

/// Categories are for EDCA, which ideal CSMA does not know, nor links that lose, nor broadcasts; an application's rate is for
/// a single connection, and a flow with stretches of activity has no start.
fn fitting(text: &str) -> String {
    let text = if text.contains("kind = \"ideal\"") {
        let lossless: Vec<&str> = text.lines().filter(|line| !line.starts_with("losses = ")).collect();
        lossless
            .join("\n")
            .replace("law = \"edca\"", "law = \"dcf\"")
            .replace(", execution = \"hardware\"", "")
            .replace("to = \"*\"", "to = \"server\"")
    } else {
        text.into()
    };
    let several = text.contains("connections = {");
    // The theory defines fairness for flows with one receiver each.
    let text = if text.contains("to = \"*\"") { text.replace("\"max-min\"", "\"300 kbps\"") } else { text };
    let text = if text.contains("law = \"edca\"") { text.replace("#category", "category") } else { text };
    let blocks: Vec<String> = text
        .split("[[flows]]")
        .map(|block| {
            let stretches = block.contains("active = ");
            let fits = |line: &&str| {
                !(stretches && line.starts_with("start =") || several && line.starts_with("application_rate"))
            };
            block.lines().filter(fits).collect::<Vec<_>>().join("\n")
        })
        .collect();
    blocks.join("\n[[flows]]")
}

pub(super) fn assert_conserved(result: &RunResult, text: &str) {
    let p = result.packets;
    assert_eq!(p.originated, p.delivered + p.dropped + p.under_way, "{p:?}\n{text}");
    for flow in &result.flows {
        assert!(flow.goodput_bps.is_finite() && flow.goodput_bps >= 0.0, "{flow:?}\n{text}");
        assert!(flow.retransmitted <= flow.sent, "{flow:?}\n{text}");
        if let Some(transfers) = &flow.transfers {
            assert!(transfers.completed <= transfers.requests, "{flow:?}\n{text}");
            assert!(transfers.took.is_some() == (transfers.completed > 0), "{flow:?}\n{text}");
        }
        assert!(flow.delay.as_ref().is_none_or(|delay| delay.mean_s > 0.0), "{flow:?}\n{text}");
        if let (Some(offered), false) = (flow.offered_pps, flow.to == "*") {
            // The backlog at the beginning of the measurement is delivered in it.
            let slack = 200.0 / result.measured_s;
            assert!(flow.goodput_pps <= offered + slack, "{flow:?}\n{text}");
        }
    }
}

proptest! {
    #[test]
    fn scenarios_conserve_packets_and_repeat(text in scenario(), seed in 0u64..1000) {
        let text = fitting(&text);
        let parse = |text: &str| Resolved::parse("fuzz.toml", text, &[]);
        let parsed = parse(&text).or_else(|error| {
            if error.to_string().contains("nothing to shape") { parse(&without_gateway(&text)) } else { Err(error) }
        });
        let scenario = match parsed {
            Ok(scenario) => scenario,
            // A side step may have left a node out of reach; anything else is a mistake of this file's.
            Err(error) if error.to_string().contains("no route") => return Err(TestCaseError::reject("no route")),
            Err(error) => panic!("{error}\n{text}"),
        };
        let result = Network::run(scenario.network(), scenario.run_spec(seed));
        assert_conserved(&result, &text);
        let again = Network::run(scenario.network(), scenario.run_spec(seed));
        prop_assert_eq!(result.fingerprint, again.fingerprint);
    }
}
