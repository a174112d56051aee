//! Long links, large packets, short fluid runs: refusals and warnings.

use super::*;

/// Two nodes of 802.11a so far apart.
fn far(distance_m: f64, changes: &[&str]) -> Result<Resolved, ScenarioError> {
    let place = format!("nodes.b.at=[{distance_m}, 0]");
    let given = [
        "mac.kind=\"802.11a\"",
        "radio.transmission_range=\"60 km\"",
        "radio.carrier_sense_range=\"60 km\"",
        "duration=2 s",
        "warmup=1 s",
        "flows.1.traffic=saturated",
        "flows.1.size=\"1500 bytes\"",
        &place,
    ];
    set(&[&given[..], changes].concat())
}

fn throughput_pps(scenario: &Resolved) -> f64 {
    Network::run(scenario.network(), scenario.run_spec(1)).flows[0].goodput_pps
}

#[test]
fn link_too_long_for_its_time_out_is_warned_of() {
    assert!(far(1_300.0, &[]).unwrap().warnings().is_empty());
    let plain = far(7_000.0, &[]).unwrap();
    let warnings = plain.warnings();
    assert_eq!(warnings.len(), 1);
    for word in ["link a>b", "45 us", "mac.ack_timeout = \"distance\"", "mac.coverage_class = 16"] {
        assert!(warnings[0].contains(word), "{word} is missing in {}", warnings[0]);
    }
    let lost = throughput_pps(&plain);
    for remedy in ["mac.ack_timeout=distance", "mac.coverage_class=16", "mac.ack_timeout=\"92 us\""] {
        let mended = far(7_000.0, &[remedy]).unwrap();
        assert!(mended.warnings().is_empty(), "{remedy}");
        assert!(throughput_pps(&mended) > 4.0 * lost, "{remedy}");
    }
    // A class costs slots; the time-out alone does not.
    let of = |change| throughput_pps(&far(7_000.0, &[change]).unwrap());
    assert!(of("mac.ack_timeout=distance") > 1.3 * of("mac.coverage_class=31"));
    let fifty = far(50_000.0, &[]).unwrap().warnings();
    assert!(!fifty[0].contains("coverage_class"), "no class is long enough: {}", fifty[0]);
    let mended = far(50_000.0, &["mac.ack_timeout=distance"]).unwrap();
    assert!(mended.warnings().is_empty() && throughput_pps(&mended) > 500.0);
}

#[test]
fn coverage_classes_and_time_outs_are_checked() {
    let error = |changes: &[&str]| far(7_000.0, changes).unwrap_err().to_string();
    assert!(error(&["mac.coverage_class=32"]).contains("mac.coverage_class: 32 must lie between 0 and 31"));
    assert!(error(&["mac.ack_timeout=\"20 us\""]).contains("mac.ack_timeout: 20 us is less than 45 us"));
    let word = error(&["mac.ack_timeout=long"]);
    assert!(word.contains("allowed are \"standard\", \"distance\" and a time"), "{word}");
    let ns2 = ["mac.kind=\"802.11b\"", "preset=ns2"];
    for change in ["mac.coverage_class=1", "mac.ack_timeout=distance"] {
        assert!(error(&[&ns2[..], &[change]].concat()).contains("ns-2's slot and time-out are fixed"));
        assert!(error(&["mac.kind=ideal", change]).contains("has no meaning for the ideal MAC"));
    }
    // ns-2's own time-out leaves 4 us, 600 m there and back.
    assert!(far(590.0, &ns2).unwrap().warnings().is_empty());
    assert!(far(610.0, &ns2).unwrap().warnings()[0].contains("as in ns-2"));
}

#[test]
fn resolved_scenario_reads_back() {
    for timeout in ["standard", "distance", "\"400 us\""] {
        let scenario = far(100.0, &["mac.coverage_class=3", &format!("mac.ack_timeout={timeout}")]).unwrap();
        let again = parse(&scenario.to_toml().unwrap()).unwrap();
        assert_eq!(again, scenario);
    }
}

#[test]
fn packets_beyond_16_bits_or_msdu_are_reported() {
    let error = set(&["tcp.payload=\"60000 bytes\"", "tcp.headers=\"6000 bytes\""]).unwrap_err().to_string();
    for word in ["x.toml", "tcp.payload: 60000 bytes", "66000 bytes", "at most 59535 bytes"] {
        assert!(error.contains(word), "{word} is missing in {error}");
    }
    let error = set(&["flows.1.traffic=saturated", "flows.1.size=\"66000 bytes\""]).unwrap_err().to_string();
    assert!(error.contains("60000 bytes"), "{error}");
    let size = |payload: u32| set(&[&format!("tcp.payload=\"{payload} bytes\"")]).unwrap();
    assert!(size(2_256).warnings().is_empty(), "2256 + 40 + 8 bytes of LLC are 2304");
    assert!(size(2_257).warnings()[0].contains("802.11 frame carries"));
    let ns2 = set(&["tcp.payload=\"4000 bytes\"", "preset=ns2"]).unwrap();
    assert!(ns2.warnings().is_empty(), "ns-2 carries it");
}

#[test]
fn fluid_run_before_its_flows_is_refused() {
    let text = r#"
nodes = [{ id = "s" }, { id = "r" }]
wires = [{ from = "s", to = "r", rate = "1 Mbps", delay = "84 ms" }]
losses = [{ from = "s", to = "r", loss = 0.02, one_way = true }]
flows = [{ id = "1", from = "s", to = "r", traffic = "saturated", start = "3 s" }]
fluid = { model = "e-multcp", duration = "2 s" }
"#;
    let error = parse(text).unwrap().fluid().expect_err("nothing flows").to_string();
    assert!(error.contains("no flow is active within fluid.duration, 2 s"), "{error}");
    assert!(parse(&text.replace("2 s", "4 s")).unwrap().fluid().is_ok());
}

/// Time-outs that are over while frames travel, repetitions that are acknowledged late, broadcasts: no packet is lost or counted
/// twice on the way.
#[test]
fn packets_over_fifty_km_are_accounted_for() {
    let text = TWO.replace("[[flows]]", "[[nodes]]\nid = \"c\"\nat = [30000, 0]\n[[flows]]")
        + "[[flows]]\nid = \"2\"\nfrom = \"c\"\nto = \"*\"\ntraffic = \"saturated\"\n";
    for more in
        ["preset=standard", "mac.rts_threshold=\"0 bytes\"", "mac.ack_timeout=distance", "backoff.law=edca"]
    {
        for retries in ["mac.short_retry_limit=1", "mac.short_retry_limit=7"] {
            let changes = [
                "mac.kind=\"802.11a\"",
                "radio.transmission_range=\"60 km\"",
                "radio.carrier_sense_range=\"60 km\"",
                "nodes.b.at=[50000, 0]",
                "duration=3 s",
                "warmup=0 s",
                "flows.1.traffic=tcp",
                more,
                retries,
            ];
            let scenario = Resolved::parse("x.toml", &text, &changes.map(String::from)).unwrap();
            for seed in 1..5 {
                let result = Network::run(scenario.network(), scenario.run_spec(seed));
                let packets = result.packets;
                assert_eq!(
                    packets.originated,
                    packets.delivered + packets.dropped + packets.under_way,
                    "{more}, {retries}, seed {seed}: {packets:?}"
                );
                assert!(result.flows[1].goodput_pps > 100.0);
            }
        }
    }
}

/// IEEE 802.11-2016 clause 10.3.4.4: a packet is given up after dot11ShortRetryLimit, 7, failures. Over 3490 m acknowledgements come
/// 3.3 us after 802.11b's time-out: each packet is given up, and its receiver has it.
#[test]
fn packets_given_up_by_the_sender_are_counted() {
    let changes = [
        "radio.transmission_range=\"20 km\"",
        "radio.carrier_sense_range=\"25 km\"",
        "nodes.b.at=[3490, 0]",
        "duration=30 s",
        "warmup=0 s",
        "mac.data_rate=\"11 Mbps\"",
        "flows.1.traffic=saturated",
        "flows.1.size=\"1500 bytes\"",
    ];
    let scenario = Resolved::parse("x.toml", TWO, &changes.map(String::from)).unwrap();
    let result = Network::run(scenario.network(), scenario.run_spec(1));
    let link = &result.links[0];
    assert!(link.dropped_retries > 600, "{link:?}");
    assert_eq!(link.attempts.div_ceil(7), link.dropped_retries + u64::from(!link.attempts.is_multiple_of(7)));
    assert_eq!((link.received_despite, result.packets.dropped), (link.dropped_retries, 0), "nothing is lost");
    assert!(link.attempts - link.ack_late <= 1, "the last one's may be on its way: {link:?}");
    assert_eq!(link.collided + link.receiver_busy + link.ack_lost, 0, "{link:?}");
}

/// [CZ06] eq. (16) beyond where its rates are defined: steps became too short, and nothing said why.
#[test]
fn fluid_model_that_leaves_its_domain_fails() {
    let text = r#"
nodes = [{ id = "a0" }, { id = "a1" }, { id = "a2" }, { id = "s0" }, { id = "s1" }, { id = "s2" }]
wires = [
    { from = "a0", to = "a1", rate = "148.6 kbps", delay = "19.83 ms" },
    { from = "a1", to = "a2", rate = "2698 kbps", delay = "51.19 ms" },
    { from = "s0", to = "a1", rate = "100 Mbps", delay = "39.44 ms" },
    { from = "s1", to = "a1", rate = "100 Mbps", delay = "65.65 ms" },
    { from = "s2", to = "a0", rate = "100 Mbps", delay = "30.45 ms" },
]
losses = [{ from = "a0", to = "a1", loss = 0.05593, one_way = true }, { from = "a1", to = "a2", loss = 0.01703, one_way = true }]
flows = [
    { id = "0", from = "s0", to = "a2", traffic = "saturated", size = "1460 bytes" },
    { id = "1", from = "s1", to = "a2", traffic = "saturated", size = "1460 bytes" },
    { id = "2", from = "s2", to = "a1", traffic = "saturated", size = "1460 bytes" },
]
fluid = { model = "e-multcp-reduced", smoothing = 88.0, gain = 0.01623, connections = 4.0, duration = "50 s" }
"#;
    match parse(text).unwrap().fluid() {
        Ok(run) => assert!(run.views.iter().flat_map(|view| &view.rates).all(|x| x.is_finite())),
        Err(error) => assert!(error.to_string().contains("its drift is no number there"), "{error}"),
    }
}

#[test]
fn too_large_placement_is_refused_at_once() {
    let text = "radio = { transmission_range = \"250 m\", carrier_sense_range = \"550 m\" }\n\
        generate = { kind = \"random\", nodes = 20000, width = \"4294967295 m\", height = \"0.5 m\" }\n";
    let begun = std::time::Instant::now();
    assert!(message(text).contains("random placements connects 20000 nodes"));
    assert!(
        begun.elapsed().as_secs() < 20,
        "it took minutes: every pair of nodes was looked at, a thousand times"
    );
}

/// ECMA-48's escape begins a terminal's commands, U+202E turns text round (UAX #9), and a cell that begins with one of `=+-@` is a formula.
#[test]
fn names_are_no_commands() {
    for (id, why) in [
        ("\\u001b[2J", "\\u{1b}[2J\" is not a name: it has characters"),
        ("a\\nb", "terminals take for commands"),
        ("\\u202egnp", "terminals take for commands"),
        ("=HYPERLINK(1)", "spreadsheets take it for a formula"),
        ("@x", "formula"),
        ("-x", "formula"),
    ] {
        let text = message(&TWO.replace("id = \"b\"", &format!("id = \"{id}\"")));
        assert!(text.contains(why) && text.starts_with("x.toml:11:"), "{text}");
    }
    let named = message(&format!("name = \"\\u001b]0;owned\\u0007\"\n{TWO}"));
    assert!(named.starts_with("x.toml:1:8: name: \"\\u{1b}]0;owned\\u{7}\": it has characters"), "{named}");
    assert!(parse(&format!("name = \"Zoë's – naïve\"\ndescription = \"two\\nlines\"\n{TWO}")).is_ok());
}
