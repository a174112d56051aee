//! Warnings of settings without an effect, and none where all have one.

use super::*;

fn warnings(text: &str) -> Vec<String> {
    parse(text).unwrap().warnings()
}

#[track_caller]
fn warns(text: &str, what: &str) {
    let found = warnings(text);
    assert!(found.iter().any(|warning| warning.contains(what)), "{what}: {found:?}");
}

#[test]
fn a_plain_scenario_has_no_warning() {
    assert_eq!(warnings(TWO), Vec::<String>::new());
    let used = "[[losses]]\nfrom = \"b\"\nto = \"a\"\nloss = \"1%\"\n";
    assert_eq!(warnings(&format!("connections = {{ k = 5 }}\n{TWO}{used}")), Vec::<String>::new());
}

#[test]
fn pairs_and_places_without_packets_are_named() {
    let far = format!("{TWO}[[nodes]]\nid = \"z\"\nat = [5000, 0]\n");
    assert_eq!(warnings(&far), Vec::<String>::new(), "a node may stand on a map for nothing");
    warns(
        &format!("{far}[[losses]]\nfrom = \"a\"\nto = \"z\"\nloss = 0.1\n"),
        "losses[0] has no effect: nothing goes between \"a\" and \"z\"",
    );
    warns(
        &format!("{far}[[rates]]\nfrom = \"z\"\nto = \"a\"\nrate = \"1 Mbps\"\n"),
        "rates[0] has no effect",
    );
    warns(
        &format!("{far}[[wires]]\nfrom = \"z\"\nto = \"a\"\nrate = \"1 Mbps\"\ndelay = \"1 ms\"\n"),
        "wires[0] has no effect",
    );
    warns(&format!("{far}[[queues]]\nnodes = [\"z\"]\n"), "queues[0] has no effect at node z");
    let links = "
        links = [{ id = \"1\", from = \"a\", to = \"b\" }, { id = \"2\", from = \"c\", to = \"d\" }]
        flows = [{ id = \"x\", from = \"a\", to = \"b\" }]
    ";
    warns(links, "nothing crosses link 2");
    // A broadcast goes to every node in range.
    let broadcast = TWO.replace("to = \"b\"", "to = \"*\"\ntraffic = \"cbr\"\ninterval = \"1 s\"");
    assert_eq!(warnings(&broadcast), Vec::<String>::new());
}

#[test]
fn tables_that_no_flow_looks_at_are_named() {
    let datagrams = format!("{TWO}traffic = \"cbr\"\ninterval = \"1 s\"\n");
    warns(&format!("connections = {{ k = 5 }}\n{datagrams}"), "[connections] has no effect");
    warns(&format!("rate_law = \"utility-based\"\n{TWO}"), "[rate_law] has no effect");
    warns(&format!("tfrc = {{}}\n{TWO}"), "[tfrc] has no effect");
    warns(&format!("start_jitter = \"1 s\"\n{TWO}start_jitter = \"2 s\"\n"), "start_jitter has no effect");
    let wire = "
        nodes = [{ id = \"a\" }, { id = \"b\" }]
        wires = [{ from = \"a\", to = \"b\", rate = \"1 Mbps\", delay = \"1 ms\" }]
        flows = [{ id = \"x\", from = \"a\", to = \"b\" }]
    ";
    assert_eq!(warnings(wire), Vec::<String>::new());
    warns(&format!("backoff = {{ law = \"adaptive\" }}\n{wire}"), "[backoff] has no effect");
}

#[test]
fn instants_that_run_does_not_reach_are_named() {
    warns(&format!("duration = \"5 s\"\n{TWO}"), "warmup = \"20 s\" is longer than the 5 s");
    assert_eq!(
        warnings(&format!("duration = \"5 s\"\nwarmup = \"6 s\"\n{TWO}")),
        Vec::<String>::new(),
        "it is written"
    );
    warns(&format!("{TWO}start = \"220 s\"\n"), "flow \"1\" never sends: it starts when the run is over");
    warns(&format!("{TWO}stop = \"20 s\"\n"), "nothing is measured of flow \"1\"");
    warns(
        &format!("{TWO}[[losses]]\nfrom = \"a\"\nto = \"b\"\nloss = 0.1\nstart = \"300 s\"\n"),
        "losses[0] has no effect: it starts at 300 s",
    );
    // A stop before the start cannot be meant.
    assert!(message(&format!("{TWO}start = \"9 s\"\nstop = \"5 s\"\n")).contains("must end after it begins"));
}
