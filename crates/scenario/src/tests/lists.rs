//! Links and conflicts in files, and amounts and probabilities as they are usually written.

use super::*;
use std::fs;
use tempfile::TempDir;

const THREE: &str = r#"
links = { file = "links.csv" }
conflicts = { file = "conflicts.csv" }
flows = [
    { id = "one", from = "a", to = "b" },
    { id = "two", from = "c", to = "d" },
    { id = "three", from = "e", to = "f" },
]
"#;

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn load(files: &[(&str, &str)]) -> Result<Resolved, String> {
    let folder = folder(files);
    Resolved::load(&folder.path().join("x.toml"), &[]).map_err(|error| error.to_string())
}

/// The three links with these conflicts.
fn three(links: &str, conflicts: &str) -> Result<Resolved, String> {
    load(&[("x.toml", THREE), ("links.csv", links), ("conflicts.csv", conflicts)])
}

fn pairs(scenario: &Resolved) -> Vec<(usize, usize)> {
    scenario.layout().conflicts.edges().collect()
}

#[test]
fn links_and_conflicts_are_read_from_files() {
    let plain = "1,a,b\n2,c,d\n3,e,f\n";
    let headed = "\u{feff}to;id;from\r\nb;1;a\r\nd;2;c\r\nf;3;e\r\n";
    for links in [plain, headed, "a b\nc d\ne f\n", "# ours\n\n1\ta\tb\n2\tc\td\n3\te\tf\n"] {
        for conflicts in
            ["1,2\n2,3\n", "Link_A, Link_B\n1, 2\n\n# more\n2, 3\n", "a>b,2\n2,e>f\n", "a,c\nc,e\n"]
        {
            let scenario = three(links, conflicts).unwrap();
            assert_eq!(pairs(&scenario), [(0, 1), (1, 2)], "{links}{conflicts}");
            // A written-out scenario does without the files.
            let again = parse(&scenario.to_toml().unwrap()).unwrap();
            assert_eq!(again, scenario);
        }
    }
}

#[test]
fn a_faulty_line_is_named() {
    let links = "id,from,to\n1,a,b\n2,c,d\n3,e,f\n";
    let refused = |links: &str, conflicts: &str| three(links, conflicts).expect_err("should be refused");
    let unknown = refused(links, "1,2\n\n2,9\n");
    assert!(unknown.contains("x.toml:3:"), "{unknown}");
    assert!(
        unknown.contains("conflicts.file: conflicts.csv, line 3: there is no link \"9\"; links are 1, 2, 3"),
        "{unknown}"
    );
    assert!(refused(links, "one,other\n1,2\n").contains("line 1: there is no link \"one\""));
    assert!(refused(links, "one,other\n1,2\n").contains("(a header is link_a,link_b)"));
    assert!(refused(links, "1,2,0.5\n").contains("line 1 has 3 columns"));
    assert!(refused(links, "1,1\n").contains("\"1\" stands there twice"));
    assert!(refused("id,from,to\n1,a\n", "1,2\n").contains("links.csv, line 2 has 2 columns"));
    assert!(refused("", "").contains("links.csv has no link"));
    assert!(load(&[("x.toml", THREE)]).unwrap_err().contains("links.csv cannot be read"));
    let twice = refused("1,a,b\n1,c,d\n", "1,1\n");
    assert!(twice.contains("stands there twice") || twice.contains("is there already"), "{twice}");
    let keys = THREE.replace("file = \"links.csv\"", "flie = \"links.csv\"");
    assert!(message(&keys).contains("unknown field `flie`; did you mean file?"), "{}", message(&keys));
}

#[test]
fn a_wires_trace_is_read_from_a_file() {
    let traced = |trace: &str, file: &str| {
        let text = format!(
            "nodes = [{{ id = 'a' }}, {{ id = 'b' }}]\nwires = [{{ from = 'a', to = 'b', delay = '1 ms', {trace} }}]\n\
            flows = [{{ id = 'f', from = 'a', to = 'b' }}]\n"
        );
        load(&[("x.toml", &text), ("up.trace", file)])
    };
    let from_file = "trace = { file = 'up.trace' }";
    let scenario = traced(from_file, "# ours\n1\n4\n4\n\n10\n").unwrap();
    for wire in &scenario.network().wires {
        assert_eq!(wire.rate.as_bps(), 4 * 12_000 * 100, "four packets each 10 ms");
        assert!(wire.trace.is_some());
    }
    assert_eq!(traced("trace = [1, 4, 4, 10]", "").unwrap(), scenario);
    assert_eq!(parse(&scenario.to_toml().unwrap()).unwrap(), scenario, "it does without the file");
    for (trace, file, reason) in [
        (
            from_file,
            "1\n2.5\n",
            "wires[0].trace: up.trace, line 2: \"2.5\" is no whole number of milliseconds",
        ),
        (from_file, "1\n# x\n5\n4\n", "up.trace, line 4: 4 ms comes before 5 ms"),
        (from_file, "1 2\n", "up.trace, line 1 has 2 columns; a line has one instant"),
        (from_file, "", "up.trace has no instant"),
        (from_file, "0\n", "up.trace ends at 0 ms"),
        ("trace = [2, 1]", "", "wires[0].trace: has instants out of order"),
        ("trace = [1], rate = '1 Mbps'", "", "wires[0].rate: a wire has a rate or a trace"),
        ("queue = '5 packets'", "", "wires[0].rate: is missing"),
        ("trace = { file = 'none' }", "", "none cannot be read"),
    ] {
        let refused = traced(trace, file).expect_err(trace);
        assert!(refused.contains(reason), "{trace}: {refused}");
    }
}

#[test]
fn an_abstract_conflict_graph_is_a_scenario() {
    let text = r#"
        mac = { kind = "ideal" }
        generate = { kind = "conflict-graph", file = "graph.csv", flows = { pattern = "each-link", traffic = "saturated" } }
    "#;
    let scenario = load(&[("x.toml", text), ("graph.csv", "source,target\nu,v\nv,w\nalone\n")]).unwrap();
    assert_eq!(pairs(&scenario), [(0, 1), (1, 2)]);
    let flows: Vec<&str> = scenario.settings().flows.iter().map(|flow| flow.id.as_str()).collect();
    assert_eq!(flows, ["u", "v", "w", "alone"]);
    // log x₁ + log x₂ + log x₃ with x₂ + max(x₁, x₃) ≤ 1: two thirds, one third, two thirds; a lone link has all.
    let optimum = scenario.optimum(Objective::Proportional).unwrap();
    for (load, share) in optimum.load.iter().zip([2.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0, 1.0]) {
        assert!((load - share).abs() < 1e-6, "{:?}", optimum.load);
    }
    // Names that a header could have, too, are names.
    let letters = load(&[("x.toml", text), ("graph.csv", "a,b\nb,c\n")]).unwrap();
    assert_eq!(pairs(&letters), [(0, 1), (1, 2)]);
    let wrong = text.replace("each-link", "random");
    let wrong = load(&[("x.toml", &wrong), ("graph.csv", "a,b\n")]).unwrap_err();
    assert!(wrong.contains("\"each-link\""), "{wrong}");
}

const GRAPH: &str = r#"
mac = { kind = "ideal" }
generate = { kind = "conflict-graph", file = "graph.csv", flows = { pattern = "each-link", traffic = "saturated" } }
"#;

/// The links of a graph in a file.
fn graph(text: &str) -> Result<Vec<String>, String> {
    let scenario = load(&[("x.toml", GRAPH), ("graph.csv", text)])?;
    Ok(scenario.settings().links.here().iter().map(|link| link.id.clone()).collect())
}

/// A first line is a header where its words are those of headers and no names of links.
#[test]
fn a_header_makes_no_links() {
    for header in [
        "from,to",
        "From, To",
        "source,target",
        "src,dst",
        "sender,receiver",
        "node_a,node_b",
        "link 1,link 2",
        "tx,rx",
        "first,second",
        "# any,words",
    ] {
        assert_eq!(graph(&format!("{header}\nL1,L2\nL2,L3\n")).unwrap(), ["L1", "L2", "L3"], "{header}");
    }
    for unclear in ["u,v", "von,nach", "L7,L8", "0,1", "alone", "x"] {
        let refused = graph(&format!("{unclear}\nL1,L2\nL2,L3\n")).unwrap_err();
        assert!(refused.contains("graph.csv, line 1: ") && refused.contains("nowhere else"), "{refused}");
        assert!(refused.contains("write it as link_a,link_b"), "{refused}");
        // The remedy helps.
        let names = unclear.split(',').count();
        let read = graph(&format!("link_a,link_b\n{unclear}\nL1,L2\nL2,L3\n")).unwrap();
        assert_eq!(read.len(), names + 3, "{unclear}");
    }
    // Words of headers that other lines name are links; so are those of a file of one line.
    assert_eq!(graph("first,second\nsecond,third\n").unwrap(), ["first", "second", "third"]);
    assert_eq!(graph("a,b\n").unwrap(), ["a", "b"]);
    assert!(graph("from,to\n").unwrap_err().contains("graph.csv has no link"));
}

/// A flow over the first line's link makes it a link.
#[test]
fn a_link_with_a_flow_is_no_header() {
    let text = r#"
        mac = { kind = "ideal" }
        generate = { kind = "conflict-graph", file = "graph.csv" }
        flows = [{ id = "1", from = "x", to = "x-receiver", traffic = "saturated" }]
    "#;
    let scenario = load(&[("x.toml", text), ("graph.csv", "x,y\nL1,L2\n")]).unwrap();
    assert_eq!(scenario.settings().links.here().len(), 4);
}

#[test]
fn a_header_of_links_is_no_link() {
    let links = |header: &str| {
        let scenario = three(&format!("{header}\n1,a,b\n2,c,d\n3,e,f\n"), "1,2\n2,3\n")?;
        Ok::<_, String>(scenario.settings().links.here().len())
    };
    for header in
        ["id,from,to", "link,source,target", "name,src,dst", "Link ID,TX node,RX node", "no,sender,receiver"]
    {
        assert_eq!(links(header).unwrap(), 3, "{header}");
    }
    for unclear in ["nr,x,y", "key,von,nach", "4,g,h"] {
        let refused = links(unclear).unwrap_err();
        assert!(
            refused.contains("links.csv, line 1: ") && refused.contains("write it as id,from,to"),
            "{refused}"
        );
    }
    let pairs = |header: &str| three(&format!("{header}\na,b\nc,d\ne,f\n"), "a>b,c>d\n");
    assert_eq!(pairs("src,dst").unwrap().settings().links.here().len(), 3);
    assert!(pairs("x,y").unwrap_err().contains("write it as from,to"));
    // Nodes that flows name are nodes, with any word as their name.
    let text = r#"
        mac = { kind = "ideal" }
        links = { file = "links.csv" }
        flows = [{ id = "1", from = "sender", to = "receiver", traffic = "saturated" }]
    "#;
    let scenario = load(&[("x.toml", text), ("links.csv", "1,sender,relay\n2,relay,receiver\n")]).unwrap();
    assert_eq!(scenario.settings().links.here().len(), 2);
}

#[test]
fn transfers_are_sizes_or_segments() {
    use evenair_netsim::{Source, Traffic};
    let source = |amount: &str| match &set(&[&format!("flows.1.transfer={amount}")]).unwrap().network().flows
        [0]
    .traffic
    {
        Traffic::Tcp(tcp) => tcp.source,
        other => panic!("{other:?}"),
    };
    assert_eq!(source("5 MB"), Source::Segments(5_000));
    assert_eq!(source("2500 bytes"), Source::Segments(3), "the last one full, too");
    assert_eq!(source("20 packets"), Source::Segments(20));
    let refused = |amount: &str| set(&[&format!("flows.1.transfer={amount}")]).unwrap_err().to_string();
    assert!(refused("0 MB").contains("at least 1 byte"));
    assert!(refused("5 Mb").contains("did you mean \"0.625 MB\"?"));
    assert!(refused("900000 GB").contains("without end"));
    assert!(set(&["flows.1.transfer=5 MB"]).unwrap().to_toml().unwrap().contains("transfer = \"5 MB\""));
}

#[test]
fn probabilities_are_numbers_or_percents() {
    let lossy = |loss: &str| parse(&format!("{TWO}[[losses]]\nfrom = \"a\"\nto = \"b\"\nloss = {loss}\n"));
    assert_eq!(lossy("0.05").unwrap(), lossy("\"5%\"").unwrap());
    assert!(lossy("5").unwrap_err().to_string().contains("0.05 or \"5%\""));
    assert!(lossy("\"five\"").unwrap_err().to_string().contains("write it as 0.05 or \"5%\""));
    for law in ["red', probability_max", "fred', probability_max", "proportional', per_packet"] {
        let with = |value: &str| set(&[&format!("drop={{law='{law}={value}}}")]);
        assert_eq!(with("0.02").unwrap(), with("'2%'").unwrap(), "{law}");
        assert!(with("2").unwrap_err().to_string().contains("between 0 and 1"), "{law}");
    }
}

#[test]
fn links_in_conflict_by_a_common_node_are_named() {
    let warned = |conflicts: &str| {
        let text = format!(
            r#"
            mac = {{ kind = "ideal" }}
            links = [{{ id = "1", from = "a", to = "b" }}, {{ id = "2", from = "b", to = "c" }}, {{ id = "3", from = "d", to = "e" }}]
            conflicts = [{conflicts}]
            flows = [
                {{ id = "two-hops", from = "a", to = "c", traffic = "saturated" }},
                {{ id = "one-hop", from = "d", to = "e", traffic = "saturated" }},
            ]
            "#
        );
        let scenario = parse(&text).unwrap();
        (scenario.conflicts_added(), scenario.warnings().join("; "))
    };
    let (added, warnings) = warned(r#"["1", "2"], ["2", "3"]"#);
    let added = added.unwrap();
    assert!(
        added.contains(r#""1" and "3" (node "b" is an end of "2", and "2" conflicts with "3")"#),
        "{added}"
    );
    assert!(warnings.contains(&added));
    assert_eq!(warned(r#"["1", "2"], ["2", "3"], ["3", "1"]"#).0, None);
    assert_eq!(warned(r#"["2", "3"], ["1", "3"]"#).0, None, "that 1 and 2 share a node goes without saying");
    assert_eq!(warned("").0, None);
}
