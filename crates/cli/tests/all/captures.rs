//! Captures: one of each node, as tshark reads them.

use super::{evenair, stderr};
use evenair_needs::find_all;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// A DATA frame of a capture: its beginning, and its transmitter.
type Data = ((u32, u32), u8);

/// The records of a capture: when each frame began, its bytes behind radiotap, and its whole length.
fn records(path: &Path) -> Vec<((u32, u32), Vec<u8>, usize)> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (mut at, mut records) = (24, Vec::new());
    while at < bytes.len() {
        let end = at + 16 + word(at + 8) as usize;
        let frame = bytes[at + 16 + 15..end].to_vec();
        records.push(((word(at), word(at + 4)), frame, word(at + 12) as usize - 15));
        at = end;
    }
    records
}

/// The DATA frames of a capture.
fn data_frames(path: &Path) -> BTreeSet<Data> {
    let data =
        |(start, frame, _): ((u32, u32), Vec<u8>, usize)| (frame[0] == 0x08).then(|| (start, frame[15] - 1));
    records(path).into_iter().filter_map(data).collect()
}

/// RFC 1071: parts that add up to all ones have the right checksum.
fn adds_up(parts: &[&[u8]]) -> bool {
    let bytes: Vec<u8> = parts.concat();
    let sum: u64 =
        bytes.chunks(2).map(|pair| u64::from(pair[0]) * 256 + u64::from(*pair.get(1).unwrap_or(&0))).sum();
    sum > 0 && sum.is_multiple_of(0xffff)
}

#[test]
fn checksums_are_right_over_the_whole_length() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("air.pcap");
    // TCP with all that its header can have, and datagrams.
    let all = ["tcp.sack=true", "tcp.timestamps=true", "tcp.options=true"];
    for (id, settings, protocol) in [("chen10/a", &all[..], 6), ("jam10/chain-udp", &[], 17)] {
        let settings = settings.iter().flat_map(|setting| ["--set", setting]);
        let settings: Vec<&str> =
            ["--set", "duration=1 s", "--set", "warmup=1 s"].into_iter().chain(settings).collect();
        let output = evenair(&[&["run", id, "--pcap", path.to_str().unwrap()], &settings[..]].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let mut seen = 0;
        for (start, frame, length) in records(&path).into_iter().filter(|(_, frame, _)| frame[0] == 0x08) {
            let (ip, body) = frame[32..].split_at(20); // behind the headers of 802.11 and LLC
            assert!(adds_up(&[ip]), "{start:?}: IP");
            let payload = vec![0; length - 4 - frame.len()];
            let carried = (body.len() + payload.len()) as u16;
            assert_eq!(usize::from(u16::from_be_bytes([ip[2], ip[3]])), 20 + usize::from(carried));
            assert!(
                adds_up(&[&ip[12..], &[0, ip[9]], &carried.to_be_bytes(), body, &payload]),
                "{start:?}: {body:?}"
            );
            seen += usize::from(ip[9] == protocol);
        }
        assert!(seen > 100, "{id}: {seen}");
    }
}

const CHAIN: [&str; 6] = ["run", "jam10/chain", "--set", "duration=2 s", "--set", "warmup=1 s"];

#[test]
fn node_capture_has_sent_and_decoded_frames() {
    let folder = tempfile::tempdir().unwrap();
    let (air, nodes) = (folder.path().join("air.pcap"), format!("{}/nodes/", folder.path().display()));
    for place in [air.to_str().unwrap(), &nodes] {
        let output = evenair(&[&CHAIN[..], &["--pcap", place]].concat());
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let air = data_frames(&air);
    let of_node = |node: u8| data_frames(&Path::new(&nodes).join(format!("{node}.pcap")));
    let sent_by = |frames: &BTreeSet<Data>, node: u8| -> BTreeSet<Data> {
        frames.iter().filter(|(_, from)| *from == node).copied().collect()
    };
    for node in 0..4 {
        let here = of_node(node);
        assert!(here.is_subset(&air));
        assert_eq!(sent_by(&here, node), sent_by(&air, node), "all that node {node} sent");
        for other in 0..4 {
            // Neighbours are 200 m apart and reach 250 m.
            let reach = node.abs_diff(other) == 1;
            let heard = sent_by(&here, other).len();
            assert!(node == other || reach == (heard > 0), "node {node} has {heard} frames of node {other}");
        }
    }
    let lost = sent_by(&air, 2).difference(&of_node(1)).count();
    assert!(lost > 0, "what collides at node 1 is not in its capture");
}

/// How many frames of a capture pass a filter of Wireshark's, which validates checksums.
fn passing(path: &Path, filter: &str) -> usize {
    let mut tshark = Command::new("tshark");
    ["ip", "tcp", "udp"].iter().for_each(|of| _ = tshark.args(["-o", &format!("{of}.check_checksum:TRUE")]));
    let output = tshark.arg("-r").arg(path).args(["-Y", filter]).output().unwrap();
    assert!(output.status.success(), "{filter}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap().lines().count()
}

#[test]
fn how_to_filters_count_as_stated() {
    if let Err(missing) = find_all(&["tshark"]) {
        return missing.skip();
    }
    let page = include_str!("../../../../docs/how-to/wireshark.md");
    let filter = page.split('`').find(|code| code.starts_with("tcp.analysis.retransmission")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("air.pcap");
    let wait = ["--set", "duration=10 s", "--set", "warmup=0 s"];
    // A flow over three hops, and one of one hop that sends more again.
    for (id, flow, node) in [("jam10/chain", 2, 4), ("chen10/a", 0, 1)] {
        let output = evenair(&[&["run", id, "--json", "--pcap", path.to_str().unwrap()], &wait[..]].concat());
        let run = super::json(&output);
        let expected = run["flows"][flow]["retransmitted"].as_u64().unwrap();
        let filter =
            filter.replace("10.0.0.4", &format!("10.0.0.{node}")).replace(":04", &format!(":0{node}"));
        // The last one may wait in its queue still when the run ends: it has not been on the air.
        let on_air = passing(&path, &filter) as u64;
        assert!(on_air > 0 && (on_air..=on_air + 1).contains(&expected), "{id}: {on_air} of {expected}");
        let all = passing(&path, "tcp.analysis.retransmission");
        assert!(all as u64 > expected, "{id}: the plain filter counts {all}");
        let bad = passing(&path, "ip.checksum.status == 0 || tcp.checksum.status == 0");
        assert_eq!((bad, passing(&path, "tcp.checksum.status == 1") > 100), (0, true), "{id}");
    }
}

#[test]
fn tshark_reads_windows_blocks_and_numbers() {
    if let Err(missing) = find_all(&["tshark"]) {
        return missing.skip();
    }
    let folder = tempfile::tempdir().unwrap();
    let place = format!("{}/", folder.path().display());
    // The largest window of a 16-bit field is 65,535 bytes: 100 segments of 1000 need a scale.
    let settings = ["duration=3 s", "warmup=1 s", "tcp.window=cubic", "tcp.sack=true", "tcp.timestamps=true"];
    let settings = settings.into_iter().chain(["tcp.receiver_window=100 packets", "tcp.options=true"]);
    let mut arguments = vec!["run", "chen10/a", "--pcap", &place];
    settings.for_each(|setting| arguments.extend(["--set", setting]));
    let output = evenair(&arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let fields = [
        "_ws.malformed",
        "tcp.flags.syn",
        "tcp.seq",
        "tcp.len",
        "tcp.ack",
        "tcp.window_size",
        "tcp.options.sack_le",
        "tcp.options.sack_re",
        "tcp.options.timestamp.tsval",
        "tcp.options.wscale.shift",
        "tcp.options.sack_perm",
    ];
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(folder.path().join("s1.pcap")).args(["-T", "fields", "-E", "separator=;"]);
    tshark.args(fields.iter().flat_map(|field| ["-e", field]));
    let text = String::from_utf8(tshark.output().unwrap().stdout).unwrap();
    let (mut data, mut blocks, mut opened) = (0, 0, 0);
    for line in text.lines() {
        let cells: Vec<&str> = line.split(';').collect();
        let [malformed, syn, seq, len, ack, window, left, right, stamp, shift, permitted] = cells[..] else {
            panic!("{line}")
        };
        assert_eq!(malformed, "", "{line}");
        if seq.is_empty() {
            continue; // an 802.11 acknowledgement
        }
        assert!(!stamp.is_empty(), "every segment has its timestamp: {line}");
        if syn == "1" || syn == "True" {
            assert_eq!((shift, permitted.is_empty()), ("1", false), "{line}");
            opened += 1;
            continue;
        }
        assert_eq!(window, "100000", "{line}");
        let number = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("{line}"));
        data += u32::from(len == "1000");
        assert!(len == "0" || (len == "1000" && number(seq) % 1000 == 1), "{line}");
        for (left, right) in left.split(',').zip(right.split(',')).filter(|(left, _)| !left.is_empty()) {
            assert!(number(ack) < number(left) && number(left) < number(right), "{line}");
            assert_eq!((number(left) % 1000, number(right) % 1000), (1, 1), "{line}");
            blocks += 1;
        }
    }
    assert!(opened >= 2 && data > 100 && blocks > 10, "{opened} opened, {data} data, {blocks} blocks");
}

/// A frame of 802.11a at 6 Mb/s and its SIFS \[us\] (IEEE 802.11-2016 clause 17.4.3: preamble and SIGNAL 20, symbols of 24 bits and 4 us
/// for SERVICE, frame and tail): its acknowledgement begins so long after it.
fn airtime_and_sifs_us(bytes: usize) -> f64 {
    20.0 + 4.0 * ((16 + 8 * bytes + 6) as f64 / 24.0).ceil() + 16.0
}

#[test]
fn frames_have_length_that_they_had_on_air() {
    let folder = tempfile::tempdir().unwrap();
    let (scenario, path) = (folder.path().join("air.toml"), folder.path().join("air.pcap"));
    for headers in [1, 20, 39, 40, 52, 54, 60, 72, 100, 120] {
        for options in [false, true] {
            let text = format!(
                "duration = \"400 ms\"\nwarmup = \"0 s\"\n\
                 radio = {{ transmission_range = \"100 m\", carrier_sense_range = \"220 m\" }}\n\
                 mac = {{ kind = \"802.11a\", data_rate = \"6 Mbps\", queue = \"10 packets\" }}\n\
                 tcp = {{ payload = \"500 bytes\", headers = \"{headers} bytes\", options = {options}, sack = true, timestamps = true, ecn = true }}\n\
                 nodes = [{{ id = \"a\", at = [0, 0] }}, {{ id = \"b\", at = [10, 0] }}]\n\
                 flows = [{{ id = \"f\", from = \"a\", to = \"b\" }}, {{ id = \"g\", from = \"b\", to = \"a\", traffic = \"cbr\", rate = \"200 kbps\", size = \"20 bytes\" }}]\n"
            );
            std::fs::write(&scenario, text).unwrap();
            let output = evenair(&["run", scenario.to_str().unwrap(), "--pcap", path.to_str().unwrap()]);
            assert!(output.status.success(), "{}", stderr(&output));
            let frames = records(&path);
            let us = |&(seconds, nanos): &(u32, u32)| f64::from(seconds) * 1e6 + f64::from(nanos) / 1e3;
            let mut seen = 0;
            for pair in frames.windows(2) {
                let ((start, data, length), (answer, acknowledgement, _)) = (&pair[0], &pair[1]);
                if data[0] != 0x08 || acknowledgement[0] != 0xd4 {
                    continue;
                }
                let gap = us(answer) - us(start);
                // Propagation over 10 m is 33 ns.
                let expected = airtime_and_sifs_us(*length);
                assert!(
                    (gap - expected).abs() < 0.1,
                    "{headers} {options}: {length} bytes, {gap} us, {expected}"
                );
                seen += 1;
            }
            assert!(seen > 100, "{headers}: {seen}");
        }
    }
}

#[test]
fn frames_have_one_shape_in_json_and_csv() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let output = evenair(&[&CHAIN[..], &["--timeline", "1500ms..1600ms", "--json", "--out", out]].concat());
    let run = super::json(&output);
    let frames = run["frames"].as_array().unwrap();
    let table = std::fs::read_to_string(folder.path().join("frames.csv")).unwrap();
    let mut lines = table.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(names[..3], ["variant", "x", "seed"]);
    assert_eq!(frames.len(), lines.clone().count());
    for (frame, line) in frames.iter().zip(lines) {
        let cells: Vec<&str> = line.split(',').collect();
        let told = names[3..].iter().zip(&cells[3..]).filter(|(_, cell)| !cell.is_empty());
        assert_eq!(told.clone().count(), frame.as_object().unwrap().len(), "{frame} {line}");
        for (name, cell) in told {
            let value = &frame[*name];
            let same = match value {
                serde_json::Value::String(text) => text == cell,
                serde_json::Value::Number(number) => number.as_f64() == cell.parse().ok(),
                other => other.as_bool().map(|is| if is { "true" } else { "false" }) == Some(cell),
            };
            assert!(same, "{name}: {value} {cell}");
        }
    }
    // A segment of 1460 bytes at 1 Mb/s towards the next hop, and the 14 bytes that acknowledge it.
    let data =
        frames.iter().find(|f| f["kind"] == "DATA" && f["size_bytes"] == 1500).expect("a full segment");
    assert_eq!((&data["rate_mbps"], data["flow"].is_string()), (&serde_json::json!(1.0), true), "{data}");
    assert!(data["queue"].as_str().unwrap().contains(data["node"].as_str().unwrap()), "{data}");
    assert!(frames.iter().any(|f| f["kind"] == "ACK" && f["size_bytes"] == 14 && f["to"] == data["node"]));
}

/// A DATA frame as tshark reads it from its radiotap header, and from its beginning to that of its acknowledgement.
struct Read {
    /// Wireshark's number of the physical layer: 7 of 802.11n, 8 of ac, 11 of ax.
    phy: String,
    /// Its rate \[Mb/s\].
    mbps: f64,
    /// Its duration, as tshark computes it \[us\]; it does not, of 802.11ax.
    computed_us: Option<f64>,
    /// From its beginning to that of its acknowledgement \[us\].
    answered_us: f64,
}

fn first_exchange(path: &Path) -> Read {
    let fields = [
        "frame.time_epoch",
        "wlan.fc.type_subtype",
        "wlan_radio.phy",
        "wlan_radio.data_rate",
        "wlan_radio.duration",
    ];
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(path).args(["-T", "fields", "-E", "separator=;"]);
    let output = tshark.args(fields.iter().flat_map(|field| ["-e", field])).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(';').collect()).collect();
    let is = |row: &[&str], kinds: [&str; 2]| kinds.contains(&row[1]);
    // QoS data and an ACK; versions write numbers in either way.
    let answered = |pair: &&[Vec<&str>]| is(&pair[0], ["40", "0x0028"]) && is(&pair[1], ["29", "0x001d"]);
    let pair = rows.windows(2).find(answered).expect("a frame and its acknowledgement");
    let us = |row: &[&str]| row[0].parse::<f64>().unwrap() * 1e6;
    Read {
        phy: pair[0][2].into(),
        mbps: pair[0][3].parse().unwrap(),
        computed_us: pair[0][4].parse().ok(),
        answered_us: us(&pair[1]) - us(&pair[0]),
    }
}

/// tshark computes the durations of 802.11n at 5 GHz as we do. Of 802.11ac it counts neither VHT-SIG-B, 4 us, nor a last symbol that is
/// not full, and of 802.11ax nothing (versions 3.6 to 4.0).
#[test]
fn tshark_reads_modes_and_their_durations() {
    if let Err(missing) = find_all(&["tshark"]) {
        return missing.skip();
    }
    let folder = tempfile::tempdir().unwrap();
    let (scenario, path) = (folder.path().join("air.toml"), folder.path().join("air.pcap"));
    for (mac, phy, mbps, counted_us) in [
        ("kind = \"802.11n\", width = \"20 MHz\", mcs = 0", "7", 6.5, 0.0..0.1),
        ("kind = \"802.11n\", width = \"40 MHz\", mcs = 7, streams = 4", "7", 540.0, 0.0..0.1),
        ("kind = \"802.11n\", mcs = 5, guard_interval = \"400 ns\"", "7", 57.8, 0.0..0.1),
        ("kind = \"802.11ac\", width = \"20 MHz\", mcs = 8", "8", 78.0, 4.0..8.1),
        ("kind = \"802.11ac\", width = \"160 MHz\", mcs = 0, streams = 2", "8", 117.0, 4.0..8.1),
        ("kind = \"802.11ax\", width = \"80 MHz\", mcs = 11, streams = 2", "11", 1201.0, 0.0..0.1),
        (
            "kind = \"802.11ax\", width = \"20 MHz\", mcs = 3, guard_interval = \"3200 ns\"",
            "11",
            29.3,
            0.0..0.1,
        ),
    ] {
        let text = format!(
            "duration = \"50 ms\"\nwarmup = \"0 s\"\n\
             radio = {{ transmission_range = \"100 m\", carrier_sense_range = \"220 m\" }}\n\
             aggregation = {{ packets = 1 }}\nmac = {{ {mac}, queue = \"10 packets\" }}\n\
             nodes = [{{ id = \"a\", at = [0, 0] }}, {{ id = \"b\", at = [10, 0] }}]\n\
             flows = [{{ id = \"f\", from = \"a\", to = \"b\", traffic = \"saturated\", size = \"1500 bytes\" }}]\n"
        );
        std::fs::write(&scenario, text).unwrap();
        let output = evenair(&["run", scenario.to_str().unwrap(), "--pcap", path.to_str().unwrap()]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(passing(&path, "_ws.malformed"), 0, "{mac}");
        let read = first_exchange(&path);
        assert_eq!(read.phy, phy, "{mac}");
        assert!((read.mbps / mbps - 1.0).abs() < 0.001, "{mac}: {} Mb/s", read.mbps);
        assert_eq!(read.computed_us.is_some(), phy != "11", "{mac}");
        let Some(computed_us) = read.computed_us else { continue };
        // SIFS is 16 us, propagation over 10 m 33 ns.
        let longer_us = read.answered_us - 16.0 - computed_us;
        assert!(counted_us.contains(&longer_us), "{mac}: {longer_us} us");
    }
}

/// Of the first aggregate: its duration as tshark adds it up, and from its beginning to that of its block acknowledgement \[us\].
fn first_aggregate(path: &Path) -> (f64, f64) {
    let fields = ["frame.time_epoch", "wlan.fc.type_subtype", "wlan_radio.aggregate.duration"];
    let mut tshark = Command::new("tshark");
    tshark.args(["-2", "-r"]).arg(path).args(["-T", "fields", "-E", "separator=;"]);
    let output = tshark.args(fields.iter().flat_map(|field| ["-e", field])).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(';').collect()).collect();
    let acknowledged = |pair: &&[Vec<&str>]| ["25", "0x0019"].contains(&pair[1][1]) && !pair[0][2].is_empty();
    let pair = rows.windows(2).find(acknowledged).expect("an aggregate and its acknowledgement");
    let us = |row: &[&str]| row[0].parse::<f64>().unwrap() * 1e6;
    (pair[0][2].parse().unwrap(), us(&pair[1]) - us(&pair[0]))
}

/// tshark adds up an aggregate of 802.11n at 20 MHz to the same time as here; of 802.11ac it counts neither VHT-SIG-B, 4 us, nor
/// a last partial symbol. At 40 MHz it takes a symbol of 802.11n for twice that of 20 MHz, which has 4 % fewer bits (version
/// 4.0).
#[test]
fn tshark_adds_up_the_durations_of_aggregates() {
    if let Err(missing) = find_all(&["tshark"]) {
        return missing.skip();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("air.pcap");
    for (kind, width, mcs, counted_us) in [
        ("802.11n", "20 MHz", 7, 0.0..0.1),
        ("802.11ac", "80 MHz", 9, 4.0..8.1),
        ("802.11ac", "80 MHz", 0, 4.0..8.1),
    ] {
        let changes = [
            "duration=30 ms".to_string(),
            "warmup=0 s".into(),
            format!("mac.kind={kind}"),
            format!("mac.width={width}"),
            format!("mac.mcs={mcs}"),
        ];
        let place = path.to_str().unwrap();
        let mut arguments = vec!["run", "wifi/cell-1", "--force", "--pcap", place];
        changes.iter().for_each(|change| arguments.extend(["--set", change]));
        let output = evenair(&arguments);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(passing(&path, "_ws.malformed"), 0, "{kind}");
        let (computed_us, answered_us) = first_aggregate(&path);
        // SIFS is 16 us, propagation over 5 m 17 ns.
        let longer_us = answered_us - 16.0 - computed_us;
        assert!(counted_us.contains(&longer_us), "{kind} {width} {mcs}: {computed_us} us, {longer_us} more");
    }
}
