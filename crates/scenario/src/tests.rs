//! The language: accepted input, its answers to bad input, and its results.

mod aggregates;
mod changes;
mod errors;
mod gateway;
mod laws;
mod limits;
mod lists;
mod looked_at;
mod mobility;
mod modulated;
mod order;
mod outside;
mod places;
mod rates;
mod shares;
mod traffic;
mod unused;
mod utility;

use super::*;
use evenair_laws::backoff::BackoffParams;
use evenair_laws::window::CubicParams;
use evenair_netsim::Network;
use proptest::prelude::*;

const TWO: &str = r#"
[radio]
transmission_range = "250 m"
carrier_sense_range = "800 m"

[[nodes]]
id = "a"
at = [0, 0]

[[nodes]]
id = "b"
at = [100, 0]

[[flows]]
id = "1"
from = "a"
to = "b"
"#;

fn parse(text: &str) -> Result<Resolved, ScenarioError> {
    Resolved::parse("x.toml", text, &[])
}

fn message(text: &str) -> String {
    parse(text).expect_err("should be refused").to_string()
}

fn set(changes: &[&str]) -> Result<Resolved, ScenarioError> {
    Resolved::parse("x.toml", TWO, &changes.iter().map(ToString::to_string).collect::<Vec<_>>())
}

#[test]
fn a_dozen_lines_run() {
    let scenario = set(&["duration=5 s", "warmup=5 s", "tcp.receiver_window=\"20 packets\""]).unwrap();
    let result = Network::run(scenario.network(), scenario.run_spec(1));
    assert!(result.flows[0].goodput_pps > 400.0, "{}", result.flows[0].goodput_pps);
}

#[test]
fn error_names_file_line_key_and_values() {
    let unknown = message(&TWO.replace("transmission_range =", "transmision_range ="));
    assert!(unknown.starts_with("x.toml:3:1: "), "{unknown}");
    assert!(
        message(&format!("duration = 60\n{TWO}"))
            .starts_with("x.toml:1:12: duration: a time needs a unit; write it as \"60 s\"")
    );
    assert!(
        unknown.ends_with("unknown field `transmision_range`; did you mean transmission_range?"),
        "{unknown}"
    );

    let unit = message(&TWO.replace("250 m", "250 yards"));
    assert!(unit.starts_with("x.toml:3:22: ") && unit.contains("allowed are m, km"), "{unit}");

    let kind = message(&TWO.replace("\"250 m\"", "250"));
    assert!(kind.contains("expected a distance such as \"250 m\""), "{kind}");

    let twice = message(&TWO.replace("id = \"b\"", "id = \"a\""));
    assert!(twice.starts_with("x.toml:11:6: nodes[1].id: \"a\" is there already"), "{twice}");

    let missing = message(&TWO.replace("to = \"b\"", "to = \"z\""));
    assert_eq!(missing, "x.toml:17:6: flows[0].to: there is no node \"z\"; nodes are a, b");

    let far = message(&TWO.replace("[100, 0]", "[300, 0]"));
    assert!(far.contains("flows[0].to: there is no route from \"a\" to \"b\""), "{far}");

    let nan = message(&TWO.replace("[100, 0]", "[nan, 0]"));
    assert!(nan.starts_with("x.toml:12:6: nodes[1].at: coordinates are metres"), "{nan}");

    let sense = message(&TWO.replace("800 m", "100 m"));
    assert!(
        sense.contains("radio: carrier is sensed to 100.0 m, which is below the transmission range"),
        "{sense}"
    );

    let broken = message("this is not TOML");
    assert!(broken.starts_with("x.toml:1:"), "{broken}");
    assert!(message("duration = \"5 s\"").contains("there is no flow"));
    assert!(message("").contains("the file is empty"));
}

#[test]
fn values_are_checked_by_the_law_that_uses_them() {
    let refused = |changes: &[&str]| set(changes).expect_err("should be refused").to_string();
    assert!(refused(&["mac.data_rate=\"54 Mbps\""]).contains("it has 1 Mbps, 2 Mbps, 5.5 Mbps, 11 Mbps"));
    assert!(refused(&["mac.data_rate=\"0 Mbps\""]).contains("is zero"));
    assert!(
        refused(&["backoff.law=adaptive", "backoff.beta=-1"]).contains("backoff.beta: -1 is not allowed")
    );
    assert!(refused(&["connections.k=0"]).contains("connections.k: 0 is not allowed: above 0"));
    assert!(refused(&["connections.k=nan"]).contains("connections.k"));
    assert!(refused(&["mac.queue=\"0 packets\""]).contains("mac.queue"));
    assert!(refused(&["backoff.law=dcf", "backoff.window_max=3"]).contains("window_max"));
    assert!(refused(&["duration=\"0 s\""]).contains("duration"));
    assert!(refused(&["nonsense"]).contains("not of the form key=value"));
    assert!(refused(&["flows.1.nonsense=3"]).contains("unknown field `nonsense`"));
    assert!(refused(&["nodes.a.id.deeper=1"]).contains("there is no place for \"deeper\""));
    let unknown = refused(&["flows.x.start=3 s"]);
    assert_eq!(unknown, "--set 'flows.x.start=3 s': there is no \"x\" to go into; there are 1");
}

/// A line is named where the file has the mistake; else the change is.
#[test]
fn change_is_blamed_for_its_mistake() {
    let refused = |changes: &[&str]| set(changes).expect_err("should be refused").to_string();
    let long = ["duration=5 s", "radio.capture=loud", "warmup=1 s"];
    assert!(refused(&long).starts_with("--set 'radio.capture=loud': radio.capture: "), "{}", refused(&long));
    let replaced = refused(&["nodes.b.at=[9e15, 0]"]);
    assert!(
        replaced.starts_with("--set 'nodes.b.at=[9e15, 0]': nodes[1].at: coordinates are metres"),
        "{replaced}"
    );
    // The mistake stands in the file, and was none before.
    let brought = refused(&["nodes.b.at=[900, 0]"]);
    assert!(brought.starts_with("x.toml:17:6: flows[0].to: there is no route"), "{brought}");
    assert!(brought.ends_with("(with --set 'nodes.b.at=[900, 0]')"), "{brought}");
    // The file's own mistakes are at its own lines, with any change.
    let text = TWO.replace("800 m", "8 yards");
    let own = Resolved::parse("x.toml", &text, &["duration=5 s".into()]).unwrap_err().to_string();
    assert!(own.starts_with("x.toml:4:23: radio.carrier_sense_range: ") && !own.contains("--set"), "{own}");
    assert!(Resolved::parse("x.toml", &text, &["radio.carrier_sense_range=800 m".into()]).is_ok());
}

#[test]
fn known_or_unbuilt_word_is_named() {
    let refused = |changes: &[&str]| set(changes).expect_err("should be refused").to_string();
    for (change, words) in [
        ("mac.kind=802.11be", "not built: `802.11be`, 802.11be and later"),
        ("mac.kind=ac", "unknown variant `ac`; 802.11n, ac and ax are `mac.kind`"),
        ("radio.propagation=rayleigh", "unknown variant `rayleigh`; fading is `radio.fading`"),
        ("radio.propagation=jakes", "not built: `jakes`, this model of fading or path loss"),
        ("velocity=walk", "unknown field `velocity`; nodes move by `tracks` and `walks`"),
        ("routing=olsr", "not built: `routing`, routing protocols"),
        ("mac.rate_control=minstrel", "unknown variant `minstrel`; rate control is `mac.rate_control`"),
        ("tcp.window=bbr2", "not built: `bbr2`, this window law; evenair list laws"),
        ("tcp.window=CUBIC", "there is no window law `CUBIC`; did you mean cubic?"),
        ("backoff.law=adaptve", "unknown variant `adaptve`; did you mean adaptive?"),
        ("flows.1.traffic=Saturated", "did you mean saturated?"),
        ("mac.data-rate=2 Mbps", "unknown field `data-rate`; did you mean data_rate?"),
    ] {
        let text = refused(&[change]);
        assert!(text.contains(words), "{change}: {text}");
    }
    let text = TWO.replace("id = \"b\"", "id = \"north-ap\"").replace("to = \"b\"", "to = \"nort-ap\"");
    assert!(
        message(&text).contains("there is no node \"nort-ap\"; did you mean north-ap?"),
        "{}",
        message(&text)
    );
    let far =
        Resolved::parse("x.toml", &text.replace("nort-ap", "north-ap"), &["nodes.north_ap.at=[1,1]".into()]);
    assert!(far.unwrap_err().to_string().contains("did you mean north-ap?"));
}

/// Two nodes that decode each other in the open sense each other through a wall of 10 dB, and do not hear each other through one of 60.
#[test]
fn wall_weakens_crossing_signal() {
    let heard = |walls: &str| {
        let text = TWO
            .replace("[[flows]]", "[[nodes]]\nid = \"c\"\nat = [0, 100]\n\n[[flows]]")
            .replace("to = \"b\"", "to = \"c\"");
        let scenario = parse(&format!("{walls}\n{text}")).unwrap();
        scenario
            .network()
            .medium
            .hearing(0, 1)
            .map(|ear| (ear.is_decodable(), ear.is_sensed(), ear.power.level()))
    };
    let wall = |loss: &str| format!("walls = [{{ from = [50, -10], to = [50, 10], loss = \"{loss}\" }}]");
    let (decodable, _, open) = heard("").unwrap();
    let (through, sensed, weaker) = heard(&wall("20 dB")).unwrap();
    assert!(decodable && !through && sensed && (open - weaker - 20.0).abs() < 1e-9, "{open} {weaker}");
    assert_eq!(heard(&wall("60 dB")), None);
    assert_eq!(heard(&wall("60 dB").replace("-10]", "1]")), heard(""), "the signal passes beside it");
    let refused = |walls: &str| message(&format!("{walls}\n{TWO}"));
    assert!(refused(&wall("0 dB")).contains("walls[0].loss: a wall weakens signals by more than 0 dB"));
    assert!(refused(&wall("6 dB").replace("[50, 10]", "[50, -10]")).contains("walls[0].to: "));
    assert!(refused(&wall("6 dB").replace("[50, 10]", "[50, 10, 3]")).contains("expected two values"));
}

#[test]
fn wrong_kind_is_named_without_rust_types() {
    let refused = |change: &str| set(&[change]).expect_err("should be refused").to_string();
    for (change, says) in [
        ("seed=one", "seed: invalid type: string \"one\", expected a whole number"),
        ("seed=-1", "seed: invalid value: integer `-1`, expected a whole number, 0 or more"),
        ("tcp.sack=yes", "tcp.sack: invalid type: string \"yes\", expected true or false"),
        ("nodes=5", "nodes: invalid type: integer `5`, expected a list"),
        ("nodes.a.at=[0, true]", "nodes[0].at[1]: invalid type: boolean `true`, expected a number"),
        ("mac=5", "mac: invalid type: integer `5`, expected a table"),
        ("mac.kind=5", "mac.kind: expected a word"),
        ("generate=5", "generate: invalid type: integer `5`, expected a table"),
        // The tables of laws, models and rules are held whole before they are read.
        ("connections.k=abc", "connections.k: invalid type: string \"abc\", expected a number"),
        (
            "connections={law=\"guarded\",max=1.5}",
            "connections.max: invalid type: number `1.5`, expected a whole number",
        ),
        (
            "connections={law=\"guarded\",samples=5}",
            "connections.samples: invalid type: integer `5`, expected a word",
        ),
        ("connections={law=\"guarded\",interval=\"5\"}", "connections.interval: \"5\" has no unit"),
        ("tcp.window={law=\"vegas\",alpha=[]}", "tcp.window.alpha: invalid type: a list, expected a number"),
        ("flows.0.connections={k={}}", "flows[0].connections.k: invalid type: a table, expected a number"),
        (
            "fluid={model=\"e-multcp\",gain=\"x\"}",
            "fluid.gain: invalid type: string \"x\", expected a number",
        ),
        // A table of which the law itself is wrong is no other key's fault.
        ("connections={law=\"guarde\",max=5}", "unknown variant `guarde`; did you mean guarded?"),
        // A value that is no table cannot be an entry of a list of tables.
        ("nodes.0=5", "nodes.0.KEY=VALUE"),
    ] {
        let text = refused(change);
        assert!(text.starts_with(&format!("--set '{change}': ")) && text.contains(says), "{text}");
    }
    let line = message(&format!("{TWO}\n[connections]\nlaw = \"guarded\"\nmax = \"many\"\n"));
    let number = TWO.matches('\n').count() + 4;
    assert!(line.starts_with(&format!("x.toml:{number}:7: connections.max: ")), "{line}");
    assert!(set(&["nodes.0={ id = \"a\", at = [1, 0] }"]).is_ok(), "an entry is a table");
    assert_eq!(set(&["nodes.b.at.0=90"]).unwrap(), set(&["nodes.b.at=[90, 0]"]).unwrap(), "a coordinate");
}

#[test]
fn a_pair_has_two_values_and_no_third_is_lost() {
    let refused = |changes: &[&str]| set(changes).expect_err("should be refused").to_string();
    for change in [
        "nodes.a.at=[0, 0, 3, 4]",
        "nodes.a.at=[0]",
        "flows.1.active=[[\"0 s\", \"1 s\", \"2 s\"]]",
        "flows.1.points=[[0, 0, 0], [1, 1, 1]]",
        "utility.points=[[0, 0], [1, 1, 1]]",
        "conflicts=[[\"a\", \"b\", \"c\"]]",
    ] {
        let text = refused(&[change]);
        let says = ["expected two values", "expected two coordinates"];
        assert!(
            says.iter().any(|says| text.contains(says)) && text.starts_with(&format!("--set '{change}'")),
            "{text}"
        );
    }
    assert!(set(&["nodes.a.at=[0, 3]"]).is_ok());
}

#[test]
fn overrides_reach_entries_by_number_and_by_id() {
    let east = |change: &str| set(&[change]).unwrap().settings.nodes[1].at.unwrap().east_m;
    assert!((east("nodes.b.at=[200, 0]") - 200.0).abs() < 1e-12);
    assert!((east("nodes.1.at=[150, 0]") - 150.0).abs() < 1e-12);
    assert_eq!(set(&["seed=7"]).unwrap().settings.seed, 7);
}

#[test]
fn generated_entry_names_its_rule() {
    let text = "
        radio = { transmission_range = \"250 m\", carrier_sense_range = \"800 m\" }
        generate = { kind = \"chain\", nodes = 3, spacing = \"200 m\", flows = { pattern = \"to-gateway\" } }
    ";
    let read = |change: &str| Resolved::parse("x.toml", text, &[change.into()]);
    let refused = read("flows.1.weight=2").unwrap_err().to_string();
    assert!(
        refused
            .contains("--set 'flows.1.weight=2': the scenario's flows are made by the rule `generate.flows`"),
        "{refused}"
    );
    assert!(refused.contains("evenair show SCENARIO --resolved"), "{refused}");
    assert!(read("nodes.1.at=[0, 50]").unwrap_err().to_string().contains("made by the rule `generate`"));
    assert_eq!(read("generate.flows.count=1").unwrap().network().flows.len(), 1);
    // Written out, each can be changed.
    let written = read("seed=1").unwrap().to_toml().unwrap();
    let changed = Resolved::parse("x.toml", &written, &["flows.2.weight=2".into()]).unwrap();
    assert_eq!(changed.settings.flows[1].weight, Some(2.0));
}

#[test]
fn overrides_reach_inline_entries_too() {
    let text = "
        radio = { transmission_range = \"250 m\", carrier_sense_range = \"800 m\" }
        nodes = [{ id = \"a\", at = [0, 0] }, { id = \"b\", at = [0, 100] }]
        flows = [{ id = \"1\", from = \"a\", to = \"b\" }]
        backoff = { law = \"adaptive\", beta = 100 }
    ";
    let changes = ["nodes.b.at=[0, 50]", "flows.0.start=3 s", "backoff.law=dcf"].map(String::from);
    let scenario = Resolved::parse("x.toml", text, &changes).unwrap();
    assert!((scenario.settings.nodes[1].at.unwrap().north_m - 50.0).abs() < 1e-12);
    assert_eq!(scenario.settings.flows[0].start, Some("3 s".parse().unwrap()));
    assert!(matches!(scenario.settings.backoff, BackoffParams::Dcf(_)));
}

#[test]
fn starts_spread_by_chance() {
    let two = format!("start_jitter = \"10 s\"\n{TWO}[[flows]]\nid = \"2\"\nfrom = \"b\"\nto = \"a\"\n");
    let jitters = |text: &str| {
        let scenario = parse(text).unwrap();
        assert_eq!(scenario.written_out().resolve().unwrap(), scenario, "it reads back as the same");
        let of = |flow: &evenair_netsim::FlowSpec| {
            (flow.active[0].0.as_secs_f64(), flow.start_jitter.as_secs_f64())
        };
        scenario.network().flows.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(jitters(&two), [(0.0, 10.0), (0.0, 10.0)]);
    let none = format!("{two}start_jitter = \"0 s\"\n");
    assert_eq!(jitters(&none), [(0.0, 10.0), (0.1, 0.0)], "a flow's own says more");
    assert!(message(&format!("{two}stop = \"9 s\"\n")).contains("flows[1].start_jitter"));
}

#[test]
fn a_law_is_replaced_whole() {
    let text = format!("{TWO}\n[backoff]\nlaw = \"dcf\"\nwindow_min = 15\n");
    let changes = ["backoff.law=adaptive".to_string()];
    let scenario = Resolved::parse("x.toml", &text, &changes).unwrap();
    assert!(matches!(scenario.settings.backoff, BackoffParams::Adaptive(_)));
}

#[test]
fn links_and_conflicts_describe_a_network_too() {
    let text = "
        conflicts = [[\"1\", \"2\"]]
        [[links]]\nid = \"1\"\nfrom = \"a\"\nto = \"b\"
        [[links]]\nid = \"2\"\nfrom = \"c\"\nto = \"d\"
        [[flows]]\nid = \"x\"\nfrom = \"a\"\nto = \"b\"
        [[flows]]\nid = \"y\"\nfrom = \"c\"\nto = \"d\"
    ";
    let scenario = parse(text).unwrap();
    assert!(scenario.layout().conflicts.conflict(0, 1));
    assert!(
        message(&text.replace("[\"1\", \"2\"]", "[\"1\", \"9\"]"))
            .contains("there is no link \"9\"; links are 1, 2")
    );
    let both = format!("{text}\n[[nodes]]\nid = \"q\"\nat = [0, 0]\n");
    assert!(message(&both).contains("not both"));
}

#[test]
fn thresholds_are_ranges_or_powers() {
    // [Jam10] section 3.1.2: 24.5 dBm, -64.37 dBm and -78 dBm are 250 m and 550 m.
    let powers = TWO
        .replace("transmission_range = \"250 m\"", "receive_threshold = \"-64.37 dBm\"")
        .replace("carrier_sense_range = \"800 m\"", "carrier_sense_threshold = \"-78 dBm\"");
    let (transmission, sense) = parse(&powers).unwrap().layout().ranges_m.unwrap();
    assert!((transmission - 250.0).abs() < 1.0 && (sense - 548.0).abs() < 3.0, "{transmission} {sense}");
    let twice = TWO.replace("[radio]", "[radio]\nreceive_threshold = \"-64 dBm\"");
    assert!(message(&twice).contains("gives the transmission range twice"), "{}", message(&twice));
    let none = TWO.replace("carrier_sense_range = \"800 m\"", "");
    assert!(message(&none).contains("does not give the carrier-sense range"), "{}", message(&none));
}

#[test]
fn nodes_and_flows_are_placed_by_rule() {
    let text = |rule: &str| {
        format!(
            "radio = {{ transmission_range = \"250 m\", carrier_sense_range = \"550 m\" }}\n[generate]\n{rule}\nflows = {{ pattern = \"to-gateway\" }}\n"
        )
    };
    let chain = parse(&text("kind = \"chain\"\nnodes = 4\nspacing = \"200 m\"")).unwrap();
    assert_eq!((chain.settings.nodes.len(), chain.settings.flows.len()), (4, 3));
    assert_eq!(chain.network().flows[2].path, [3, 2, 1, 0]);
    let grid = parse(&text("kind = \"grid\"\ncolumns = 3\nrows = 2\nspacing = \"200 m\"")).unwrap();
    assert_eq!(grid.settings.nodes[5].at, Some(At::ground(400.0, 200.0)));
    let random = |seed: u32| {
        parse(&text(&format!(
            "kind = \"random\"\nnodes = 30\nwidth = \"700 m\"\nheight = \"700 m\"\nseed = {seed}"
        )))
        .unwrap()
    };
    assert_eq!(random(1), random(1));
    assert_ne!(random(1).settings.nodes, random(2).settings.nodes);
    // A written-out scenario is read back as it stands.
    assert_eq!(parse(&toml::to_string(&chain).unwrap()).unwrap(), chain);
    let sparse = message(&text("kind = \"random\"\nnodes = 3\nwidth = \"90 km\"\nheight = \"90 km\""));
    assert!(sparse.contains("none of 1000 random placements connects 3 nodes"), "{sparse}");
    let twice = format!(
        "{}[[nodes]]\nid = \"x\"\nat = [0, 0]\n",
        text("kind = \"ring\"\nnodes = 5\nspacing = \"200 m\"")
    );
    assert!(message(&twice).contains("generate: places the nodes"), "{}", message(&twice));
}

#[test]
fn wires_join_the_air_and_carry_flows_without_it() {
    let text = format!(
        "{TWO}[[nodes]]\nid = \"server\"\n[[wires]]\nfrom = \"server\"\nto = \"a\"\nrate = \"10 Mbps\"\ndelay = \"5 ms\"\n"
    );
    let text = text.replace("from = \"a\"\nto = \"b\"", "from = \"server\"\nto = \"b\"");
    let scenario = parse(&text).unwrap();
    assert_eq!(scenario.network().flows[0].path, [2, 0, 1]);
    let result = Network::run(scenario.network(), scenario.run_spec(1));
    assert!(result.flows[0].goodput_pps > 300.0, "{}", result.flows[0].goodput_pps);
    assert!(
        message(&text.replace("to = \"a\"\nrate", "to = \"q\"\nrate"))
            .contains("wires[0].to: there is no node \"q\"")
    );
}

#[test]
fn flow_keys_are_checked_by_traffic() {
    let refused = |changes: &[&str]| set(changes).expect_err("should be refused").to_string();
    assert!(refused(&["flows.1.traffic=cbr"]).contains("need one of rate"));
    assert!(
        refused(&["flows.1.traffic=cbr", "flows.1.interval=5 ms", "flows.1.rate=1 Mbps"])
            .contains("need one of")
    );
    assert!(
        refused(&["flows.1.traffic=cbr", "flows.1.interval=5 ms", "flows.1.jitter=2"])
            .contains("must lie between 0 and 1")
    );
    assert!(refused(&["flows.1.size=500 bytes"]).contains("is for datagrams"));
    assert!(refused(&["flows.1.traffic=on-off", "flows.1.rate=1 Mbps"]).contains("mean times"));
    assert!(refused(&["flows.1.stop=0 s"]).contains("must end after it begins"));
    assert!(refused(&["flows.1.active=[[\"5 s\", \"4 s\"]]"]).contains("flows[0].active"));
    assert!(refused(&["flows.1.to=*"]).contains("broadcast needs datagrams"));
    assert!(refused(&["flows.1.via=[\"z\"]"]).contains("there is no node \"z\""));
    assert!(refused(&["mac.kind=802.11a", "mac.data_rate=11 Mbps"]).contains("it has 6 Mbps"));
    assert!(refused(&["mac.kind=802.11a", "preset=ns2"]).contains("802.11b"));
    assert!(refused(&["mac.short_retry_limit=0"]).contains("at least 1"));
    assert!(refused(&["backoff.law=edca", "backoff.voice.aifsn=0"]).contains("backoff.voice.aifsn"));
    assert!(refused(&["radio.exponent=3"]).contains("no meaning for this propagation"));
    let losses = |entry: &str| message(&format!("{TWO}[[losses]]\nfrom = \"a\"\nto = \"b\"\n{entry}\n"));
    assert!(losses("loss = 1.5").contains("losses[0].loss: 1.5 is not a probability"));
    assert!(losses("loss = 0.1\nevery = 5").contains("give one of loss, every"));
    assert!(losses("good = \"1 s\"").contains("a bursty link needs"));
}

#[test]
fn a_table_of_signals_stands_in_for_places() {
    let text = TWO
        .replace("transmission_range = \"250 m\"", "receive_threshold = \"-64 dBm\"")
        .replace("carrier_sense_range = \"800 m\"", "carrier_sense_threshold = \"-78 dBm\"")
        .replace("at = [0, 0]\n", "")
        .replace("at = [100, 0]\n", "");
    let with = |dbm: &str| format!("{text}[[signals]]\nfrom = \"a\"\nto = \"b\"\npower = \"{dbm} dBm\"\n");
    assert!(parse(&with("-60")).is_ok());
    assert!(message(&with("-70")).contains("no route"));
}

#[test]
fn todays_endpoints_are_the_default() {
    let today = set(&[]).unwrap().settings.tcp;
    assert_eq!((today.window, today.sack), (Some(Window::Law(CubicParams::default().into())), Some(true)));
    assert_eq!(today.delayed_ack, Some("40 ms".parse().unwrap()));
    let paper = set(&["tcp.window=newreno"]).unwrap().settings.tcp;
    assert_eq!((paper.sack, paper.delayed_ack), (Some(false), Some("0 ns".parse().unwrap())));
}

#[test]
fn resolved_scenario_is_complete_and_reads_back() {
    for changes in [
        &["preset=ns2"][..],
        &["backoff.law=adaptive", "connections.k=10"],
        &["mac.kind=ideal"],
        &["mac.kind=802.11a", "backoff.law=edca", "mac.rts_threshold=500 bytes"],
        &["radio.propagation=log-distance", "radio.interference=sum"],
        &["flows.1.traffic=on-off", "flows.1.rate=1 Mbps", "flows.1.on=1 s", "flows.1.off=2 s"],
    ] {
        let scenario = set(changes).unwrap();
        let written = toml::to_string(&scenario).unwrap();
        assert_eq!(parse(&written).unwrap(), scenario, "{written}");
        assert_eq!(scenario.written_out().resolve().unwrap(), scenario, "{written}");
        assert!(written.contains("min_rto"), "defaults are written out");
    }
}

#[test]
fn ns2_preset_changes_defaults_only() {
    let scenario = set(&["preset=ns2", "tcp.receiver_window=\"40 packets\""]).unwrap();
    let Scenario { tcp, mac, .. } = &scenario.settings;
    assert_eq!(tcp.receiver_window, Some(PacketCount(40)));
    assert_eq!(tcp.initial_ssthresh, Some(PacketCount(20)), "whatever the window");
    assert_eq!(tcp.min_rto, Some("200 ms".parse().unwrap()));
    assert_eq!((mac.kind, mac.sensing_delay), (MacKind::Ieee80211b, Some("0 ns".parse().unwrap())));
    assert_eq!((mac.coverage_class, mac.ack_timeout), (None, None));
}

#[test]
fn noise_without_sums_is_refused() {
    let refused = set(&["radio.noise=\"-90 dBm\""]).unwrap_err().to_string();
    assert!(refused.contains("radio.noise: has a meaning only where interference is summed"), "{refused}");
    assert!(set(&["radio.noise=\"-90 dBm\"", "radio.interference=sum"]).is_ok());
}

#[test]
fn changed_scenario_is_checked_again() {
    let mut scenario = set(&[]).unwrap().written_out();
    scenario.flows[0].to = "nowhere".into();
    let refused = scenario.resolve().unwrap_err().to_string();
    assert!(refused.contains("flows[0].to: there is no node \"nowhere\""), "{refused}");
}

#[test]
fn the_schema_describes_every_table() {
    let schema = schema();
    let keys = schema["properties"].as_object().unwrap();
    for key in ["radio", "mac", "backoff", "tcp", "connections", "nodes", "links", "flows"] {
        assert!(keys.contains_key(key), "{key}");
    }
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn the_optimum_of_one_link_is_its_capacity() {
    let optimum = set(&["tcp.window=reno"]).unwrap().optimum(Objective::Fair).unwrap();
    // DIFS + DATA + SIFS + ACK twice: (50 + 192 + 783 + 10 + 304) + (50 + 192 + 56 + 10 + 304) µs
    let expected = 1e6 / f64::from(50 + 192 + 783 + 10 + 304 + 50 + 192 + 56 + 10 + 304);
    assert!((optimum.rates_pps[0] - expected).abs() < 0.01, "{} {expected}", optimum.rates_pps[0]);
}

proptest! {
    /// For any text there is an answer and no panic.
    #[test]
    fn nothing_panics_on_any_text(text in "\\PC{0,200}") {
        let _ = parse(&text);
    }

    /// Nor on a scenario in which one line is cut, doubled or overwritten.
    #[test]
    fn nothing_panics_on_a_damaged_scenario(line in 0usize..17, damage in 0u8..3, junk in "[\\[\\]a-z0-9=\"., -]{0,20}") {
        let mut lines: Vec<String> = TWO.lines().map(Into::into).collect();
        match damage {
            0 => { lines.remove(line); }
            1 => lines.insert(line, lines[line].clone()),
            _ => lines[line] = junk,
        }
        let _ = parse(&lines.join("\n"));
    }

    #[test]
    fn nothing_panics_on_any_override(change in "[a-z._0-9]{0,12}=?[\\[\\]a-z0-9\". -]{0,12}") {
        let _ = Resolved::parse("x.toml", TWO, &[change]);
    }
}

mod theory {
    use super::*;
    use crate::{Objective, Question, Region, Solver};

    const TWO: &str = r#"
        radio = { transmission_range = "250 m", carrier_sense_range = "550 m" }
        mac = { kind = "ideal", data_rate = "2 Mbps" }
        rates = [{ from = "b", to = "c", rate = "1 Mbps", one_way = true }]
        wires = [{ from = "c", to = "d", rate = "4 Mbps", delay = "3 ms" }]
        nodes = [{ id = "a", at = [0, 0] }, { id = "b", at = [200, 0] }, { id = "c", at = [400, 0] }, { id = "d" }]
        flows = [
            { id = "far", from = "a", to = "d", traffic = "saturated", size = "1000 bytes" },
            { id = "near", from = "a", to = "b", traffic = "cbr", rate = "80 kbps", size = "1000 bytes" },
        ]
    "#;

    #[test]
    fn loads_know_rates_wires_and_limits() {
        let theory = Resolved::parse("two.toml", TWO, &[]).unwrap().theory().unwrap();
        assert_eq!(theory.links, ["a>b", "b>c", "c=d"]);
        let far = &theory.flows[0];
        // 8000 bits at 2, 1 and 4 Mb/s
        for ((link, load), (l, a)) in far.loads.iter().zip([(0, 4e-3), (1, 8e-3), (2, 2e-3)]) {
            assert!(*link == l && (load - a).abs() < 1e-12, "{:?}", far.loads);
        }
        assert!((far.propagation_s - 6e-3).abs() < 1e-12 && (far.round_trip_s - 20e-3).abs() < 1e-12);
        assert!((theory.flows[1].limit_pps - 10.0).abs() < 1e-9);
        assert!(theory.conflicts.conflict(0, 1));
    }

    #[test]
    fn a_flow_takes_no_more_than_it_offers() {
        let scenario = Resolved::parse("two.toml", TWO, &[]).unwrap();
        // 4 ms of 10 packets a second leave 0.96 of the air for 12 ms a packet: 80 packets/s.
        for objective in [Objective::Proportional, Objective::Fair, Objective::MaxMin] {
            let optimum = scenario.optimum(objective).unwrap();
            assert!((optimum.rates_pps[0] - 80.0).abs() < 1e-3, "{objective:?}: {:?}", optimum.rates_pps);
            assert!((optimum.rates_pps[1] - 10.0).abs() < 1e-4);
        }
        let second = Question { solver: Solver::Clarabel, ..Question::new(Objective::Proportional) };
        let second = scenario.answer(second).unwrap();
        assert!((second.rates_pps[0] - 80.0).abs() < 0.01);
    }

    #[test]
    fn weights_and_an_entropy_count() {
        let one = ["flows.near.traffic=saturated", "flows.near.weight=3.0"].map(String::from);
        let text = TWO.replace(", rate = \"80 kbps\"", "");
        let scenario = Resolved::parse("two.toml", &text, &one).unwrap();
        // log x over one domain: airtime in proportion to weights, a quarter for 12 ms a packet, three for 4.
        let rates = scenario.optimum(Objective::Proportional).unwrap().rates_pps;
        assert!((rates[0] - 250.0 / 12.0).abs() < 1e-4 && (rates[1] - 187.5).abs() < 1e-3, "{rates:?}");
        let fair = scenario.optimum(Objective::MaxMin).unwrap().rates_pps;
        assert!((fair[1] / fair[0] - 3.0).abs() < 1e-5, "{fair:?}");
        // With entropy some of the time is idle.
        let with = Question { beta: Some(1.0), ..Question::new(Objective::Proportional) };
        let with = scenario.answer(with).unwrap().rates_pps;
        let busy = 12e-3 * with[0] + 4e-3 * with[1];
        assert!(busy > 0.9 && busy < 0.999, "{with:?}");
        let nonsense =
            Question { beta: Some(1.0), region: Region::Cliques, ..Question::new(Objective::Fair) };
        assert!(scenario.answer(nonsense).is_err());
    }

    #[test]
    fn the_fixed_point_of_unequal_rates_is_refused() {
        let laws =
            ["backoff.law=adaptive", "connections.k=10", "flows.near.traffic=saturated"].map(String::from);
        let text = TWO.replace(", rate = \"80 kbps\"", "");
        let scenario = Resolved::parse("two.toml", &text, &laws).unwrap();
        let refused = scenario.optimum(Objective::FixedPoint).unwrap_err().to_string();
        assert!(refused.contains("one rate"), "{refused}");
    }

    #[test]
    fn a_flow_that_leaves_gives_its_share_back() {
        let text = TWO
            .replace("rates = [{ from = \"b\", to = \"c\", rate = \"1 Mbps\", one_way = true }]", "")
            .replace("traffic = \"cbr\", rate = \"80 kbps\"", "traffic = \"saturated\", stop = \"50 s\"");
        let changes =
            ["backoff.law=adaptive", "connections.k=10", "fluid.duration='100 s'"].map(String::from);
        let scenario = Resolved::parse("two.toml", &text, &changes).unwrap();
        let run = scenario.fluid().unwrap();
        let at = |time: f64| run.times.iter().position(|t| *t >= time).unwrap();
        let (before, after) = (&run.views[at(49.0)].rates, &run.views[at(99.0)].rates);
        assert!(before[1] > 10.0 && after[1] == 0.0 && after[0] > 1.1 * before[0], "{before:?} {after:?}");
        assert!(run.has_settled);
        // Alone it rests where the scenario without the other does.
        let alone = text.split("{ id = \"near\"").next().unwrap().to_string() + "]";
        let alone = Resolved::parse("one.toml", &alone, &changes).unwrap();
        let rest = alone.fluid().unwrap().rest.unwrap().1.rates[0];
        assert!((after[0] / rest - 1.0).abs() < 1e-4, "{} {rest}", after[0]);
    }

    #[test]
    fn ideal_csma_drops_80211_settings() {
        let text = r#"
            radio = { transmission_range = "250 m", carrier_sense_range = "550 m" }
            mac = { data_rate = "11 Mbps", basic_rate = "1 Mbps", rts_threshold = "500 bytes" }
            nodes = [{ id = "a", at = [0, 0] }, { id = "b", at = [200, 0] }]
            flows = [{ id = "1", from = "a", to = "b" }]
        "#;
        let ideal = Resolved::parse("one.toml", text, &[]).unwrap().over_ideal_csma().unwrap();
        let mac = ideal.settings.mac;
        assert_eq!((mac.kind, mac.holding), (MacKind::Ideal, Some(HoldingLaw::Packet)));
        assert_eq!(mac.data_rate, Some(DataRate::Fixed("11 Mbps".parse().unwrap())));
        let edca = Resolved::parse("one.toml", text, &["backoff.law=edca".to_string()]).unwrap();
        assert!(edca.over_ideal_csma().is_err());
    }
}

#[test]
fn web_traffic_is_the_thesiss_by_default() {
    let plain = set(&["flows.1.traffic=web"]).unwrap();
    let spec = |scenario: &Resolved| match &scenario.network().flows[0].traffic {
        evenair_netsim::Traffic::Web(web) => web.clone(),
        other => panic!("{other:?}"),
    };
    let web = spec(&plain);
    assert_eq!(web.interval, evenair_units::Duration::from_millis(200));
    let bytes =
        [web.request.0, web.request.1, web.reply, web.reply_deviation].map(evenair_units::Bytes::count);
    assert_eq!(bytes, [200, 1000, 50_000, 10_000]);
    assert_eq!(parse(&plain.to_toml().unwrap()).unwrap(), plain, "it reads back as the same");
    assert_eq!(web.connection, evenair_netsim::WebConnection::Persistent);
    let many =
        set(&["flows.1.traffic=web", "flows.1.web={connection='per-request', reply='9000 bytes'}"]).unwrap();
    let web = spec(&many);
    assert_eq!((web.reply.count(), web.reply_deviation.count()), (9_000, 0));
    assert_eq!(web.connection, evenair_netsim::WebConnection::PerRequest);
    assert_eq!(parse(&many.to_toml().unwrap()).unwrap(), many);
    // The link that carries data is the server's.
    assert_eq!(plain.layout().links[0].0, "b>a");
    let theory = plain.theory().unwrap();
    assert!((theory.flows[0].limit_pps - 50_000.0 / 1_000.0 / 0.2).abs() < 1e-9, "{:?}", theory.flows[0]);
    let refused = |changes: &[&str]| set(changes).unwrap_err().to_string();
    assert!(refused(&["flows.1.web={interval='1 s'}"]).contains("flows[0].web: is for web traffic"));
    let order = refused(&["flows.1.traffic=web", "flows.1.web={request=['9 bytes', '3 bytes']}"]);
    assert!(order.contains("flows[0].web.request"), "{order}");
    assert!(refused(&["flows.1.traffic=web", "flows.1.to=*"]).contains("a broadcast needs datagrams"));
    assert!(refused(&["flows.1.traffic=web", "flows.1.transfer=9 packets"]).contains("is for TCP"));
}
