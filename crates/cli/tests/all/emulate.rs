//! `evenair emulate`, as an ordinary user wherever the machine lets one be had.

use crate::{evenair, json, stderr, stdout};
use evenair_needs::{Missing, NEEDS, Remedy, find_all, once};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Starts a command as the user `nobody`, with a device file of its own: root's file may be open to root
/// alone.
const AS_NOBODY: &str = "set -e
device=$(mktemp -d)/tun
mknod \"$device\" c 10 200
chmod 666 \"$device\"
mount --bind \"$device\" /dev/net/tun
rm -r \"$(dirname \"$device\")\"
cd /
exec setpriv --reuid 65534 --regid 65534 --clear-groups --reset-env \"$@\"";

/// The words that start the rest as an ordinary user.
const NOBODY: [&str; 6] = ["unshare", "--mount", "sh", "-c", AS_NOBODY, "sh"];

/// The words before `evenair` that make it an ordinary user's.
fn prefix() -> &'static Result<Vec<&'static str>, Missing> {
    static PREFIX: OnceLock<Result<Vec<&'static str>, Missing>> = OnceLock::new();
    let probe = || {
        let mut reason = String::new();
        for (name, words) in [("an ordinary user", &NOBODY[..]), ("the same user", &[])] {
            match start(words, &["emulate", "jam10/chain", "--", "true"]).output() {
                Ok(done) if done.status.success() => return Ok(name.to_owned()),
                Ok(done) => reason = stderr(&done),
                Err(error) => reason = error.to_string(),
            }
        }
        Err(reason)
    };
    PREFIX.get_or_init(|| match once("emulation", probe) {
        Ok(name) if name == "an ordinary user" => Ok(NOBODY.to_vec()),
        Ok(_) => Ok(Vec::new()),
        Err(reason) => Err(Missing::new("emulation", reason)),
    })
}

pub(crate) fn start(prefix: &[&str], arguments: &[&str]) -> Command {
    let words = [prefix, &[env!("CARGO_BIN_EXE_evenair")], arguments].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).stdin(Stdio::null());
    command
}

/// The command with these arguments; `None`, and the test is counted as skipped, where the machine has no emulation.
fn emulation(arguments: &[&str]) -> Option<Command> {
    match prefix() {
        Ok(words) => Some(start(words, &[&["emulate"], arguments].concat())),
        Err(missing) => {
            missing.skip();
            None
        }
    }
}

pub(crate) fn run(arguments: &[&str]) -> Option<Output> {
    emulation(arguments).map(|mut command| command.output().expect("the command runs"))
}

/// The same, where these programs are installed.
pub(crate) fn run_with(programs: &[&'static str], arguments: &[&str]) -> Option<Output> {
    match find_all(programs) {
        Ok(()) => run(arguments),
        Err(missing) => {
            missing.skip();
            None
        }
    }
}

/// The part that the machine lacks for an example of a document: emulation, or a program that the example names.
pub(crate) fn missing(arguments: &[String]) -> Option<Missing> {
    let words = arguments.iter().flat_map(|word| word.split([' ', '=', ';', '|', '(']));
    let words: Vec<&str> = words.collect();
    let used =
        NEEDS.iter().filter(|need| matches!(need.remedy, Remedy::Package(_)) && words.contains(&need.name));
    let programs: Vec<&'static str> = used.map(|need| need.name).collect();
    if let Err(missing) = find_all(&programs) {
        return Some(missing);
    }
    if arguments.iter().any(|word| word == "--internet") {
        if let Err(missing) = find_all(&["slirp4netns"]) {
            return Some(missing);
        }
        if let Err(error) = std::net::ToSocketAddrs::to_socket_addrs("example.org:443") {
            return Some(Missing::new("the Internet", error));
        }
    }
    prefix().as_ref().err().cloned()
}

/// Answers each datagram with itself.
pub(crate) const ECHO: &str = "import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind((\"\", 7))
while True:
    data, peer = s.recvfrom(2000); s.sendto(data, peer)";

/// Asks by name, twenty times; prints the least round trip in milliseconds. A question begins and ends with a byte of its own: a
/// checksum stands before it in a capture, a time after it, and either can be an x.
const ASK: &str = "import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2)
least = 1e9
for _ in range(20):
    began = time.monotonic(); s.sendto(b\"<\" + b\"x\" * 198 + b\">\", (\"node-3\", 7)); s.recv(2000)
    least = min(least, time.monotonic() - began)
print(least * 1e3)";

#[test]
fn program_reaches_a_name_three_hops_away() {
    let echo = format!("3=python3 -c '{ECHO}'");
    let Some(done) = run(&["jam10/chain", "--at", &echo, "--", "python3", "-c", ASK]) else { return };
    assert!(done.status.success(), "{}", stderr(&done));
    let least_ms: f64 = stdout(&done).trim().parse().expect("a number");
    // Three exchanges of 802.11 at 1 Mb/s each way: DATA of 228 + 34 bytes with its preamble, SIFS, ACK: 2.6 ms and a back-off.
    assert!((6.0 * 2.6..60.0).contains(&least_ms), "{least_ms} ms");
}

/// The other tests take root's rights where an ordinary user is refused. This one tests the refusal.
#[test]
fn an_ordinary_user_emulates_without_rights() {
    let user = match prefix() {
        Err(missing) => return missing.skip(),
        Ok(words) if !words.is_empty() => "65534".to_string(),
        Ok(_) if rustix::process::geteuid().is_root() => {
            return evenair_needs::skip("root", "no command can run as another user");
        }
        Ok(_) => rustix::process::geteuid().as_raw().to_string(),
    };
    let ask =
        "id -u; ip link set dev lo mtu 9000 && echo own network; test -w /etc/passwd || echo same rights";
    let Some(done) = run_with(&["ip"], &["jam10/chain", "--", "sh", "-c", ask]) else { return };
    assert_eq!(stdout(&done), format!("{user}\nown network\nsame rights\n"), "{}", stderr(&done));
}

#[test]
fn statuses_are_those_of_env() {
    for (command, status) in [
        (&["jam10/chain", "--", "sh", "-c", "exit 7"][..], 7),
        (&["jam10/chain", "--", "sh", "-c", "kill -TERM $$"], 128 + 15),
        (&["jam10/chain", "--", "no-such-program"], 127),
        (&["jam10/chain", "--", "/"], 126),
        (&["jam10/chain", "--at", "9=true"], 125),
        (&["jam10/chain", "--at", "true"], 125),
        (&["jam10/chain", "--at", "3=sh -c 'exit"], 125),
        (&["no/scenario"], 125),
    ] {
        let Some(done) = run(command) else { return };
        assert_eq!(done.status.code(), Some(status), "{command:?}: {}", stderr(&done));
        assert!(!(125..=127).contains(&status) || stderr(&done).lines().count() == 1, "{}", stderr(&done));
    }
}

#[test]
fn scenarios_own_flow_is_carried_by_real_sockets() {
    let settings = ["duration=3 s", "warmup=1 s", "tcp.window=reno"];
    let words: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    let only = ["--set", "flows=[{ id = '1', from = '1', to = '0', traffic = 'tcp' }]"];
    let arguments = [&["jam10/chain"], &words[..], &only, &["--json"]].concat();
    let Some(done) = run(&arguments) else { return };
    let emulated = json(&done);
    let simulated = json(&evenair(&[&["run"], &arguments[..]].concat()));
    let goodput =
        |document: &serde_json::Value| document["flows"][0]["goodput_bps"].as_f64().expect("a number");
    // Three seconds of real time beside other tests: that they agree to a tenth is measured elsewhere, at leisure.
    let ratio = goodput(&emulated) / goodput(&simulated);
    assert!((0.5..1.3).contains(&ratio), "{} of {}", goodput(&emulated), goodput(&simulated));
    assert_eq!(emulated["live"]["host"]["real_flows"], serde_json::json!(["1"]));
    let scheduling = &emulated["live"]["host"]["scheduling"];
    assert!(scheduling["real_time"] == 10 || scheduling["refused"].is_string(), "{scheduling}");
    assert!(emulated["live"]["lateness"]["packets"].as_u64() > Some(100), "{}", emulated["live"]);
    assert!(emulated["flows"][0]["round_trip_s"].as_f64() > Some(0.01));
}

const SHORT: [&str; 4] = ["--set", "duration=2 s", "--set", "warmup=1 s"];

#[test]
fn an_emulation_is_kept_as_a_run_is() {
    let folder = tempfile::tempdir().expect("a folder");
    // The user that emulates may be `nobody`.
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).expect("it is ours");
    let (out, capture) = (folder.path().join("out"), folder.path().join("air.pcap"));
    let [place, pcap] = [&out, &capture].map(|path| path.to_str().expect("UTF-8"));
    let written = ["--seeds", "2", "--series", "--ledger", "--report", "--out", place, "--pcap", pcap];
    let Some(done) = run(&[&["jam10/chain"], &SHORT[..], &written].concat()) else { return };
    assert!(done.status.success(), "{}", stderr(&done));
    assert!(stdout(&done).contains("measured in real time, over Linux"), "{}", stdout(&done));
    assert!(stdout(&done).contains("run 2: "), "each run's lateness: {}", stdout(&done));
    let read = |name: &str| std::fs::read_to_string(out.join(name)).expect(name);
    let result: serde_json::Value = serde_json::from_str(&read("result.json")).expect("JSON");
    assert_eq!((&result["command"], &result["seeds"][1]["seed"]), (&"emulate".into(), &2.into()));
    let manifest: serde_json::Value = serde_json::from_str(&read("manifest.json")).expect("JSON");
    assert!(manifest["runs"][1]["live"]["host"]["kernel"].is_string(), "{manifest}");
    assert!(read("report.html").contains("over sockets of Linux"));
    // Two seeds, each of a point a second.
    let (series, flows) = (read("series.csv"), read("flows.csv"));
    assert!(series.lines().count() > 4 && flows.lines().count() == 7);
    // Windows and round trips are those of the flow's sockets.
    let rows = || series.lines().skip(1).filter(|line| line.contains("congestion_window"));
    let value = |line: &str| line.split(',').filter_map(|cell| cell.parse::<f64>().ok()).next_back();
    assert!(rows().filter_map(value).any(|window| window >= 2.0), "{series}");
    assert!(std::fs::metadata(&capture).expect("a capture").len() > 10_000);
}

#[test]
fn captures_have_the_bytes_that_programs_sent() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).expect("it is ours");
    let path = folder.path().join("air.pcap");
    let echo = format!("3=python3 -c '{ECHO}'");
    let asking = ["--at", &echo, "--pcap", path.to_str().expect("UTF-8"), "--", "python3", "-c", ASK];
    let Some(done) = run(&[&["jam10/chain"], &asking[..]].concat()) else { return };
    assert!(done.status.success(), "{}", stderr(&done));
    let capture = std::fs::read(&path).expect("a capture");
    // Twenty questions and their answers, each over three hops at least once.
    let question = format!("<{}>", "x".repeat(198));
    let is_content = |&at: &usize| capture[at..].starts_with(question.as_bytes());
    let found: Vec<usize> = (0..capture.len()).filter(is_content).collect();
    assert!((120..200).contains(&found.len()), "{}", found.len());
    // Each router before has taken a hop; IPv4's and UDP's headers come before the content.
    for hops in [64, 63, 62] {
        let count = found.iter().filter(|&&at| capture[at - 28 + 8] == hops).count();
        assert!((40..80).contains(&count), "{count} with {hops} hops left of {}", found.len());
    }
    assert_eq!(
        std::fs::metadata(&path).expect("a capture").permissions().mode() & 0o077,
        0,
        "of nobody else"
    );
}

#[test]
fn real_sockets_are_a_world_beside_the_others() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).expect("it is ours");
    let compared = [&["compare", "jam10/chain", "--live", "--seeds", "1", "--json"], &SHORT[..]].concat();
    let prefix = match prefix() {
        Ok(prefix) => prefix,
        Err(missing) => return missing.skip(),
    };
    let done = start(prefix, &compared).output().expect("the command runs");
    let stages = json(&done)["stages"].as_array().expect("stages").clone();
    let last = &stages[stages.len() - 1];
    assert_eq!(last["stage"], "Linux");
    assert!(last["flows"][0]["counted_pps"].as_f64() > Some(1.0), "{last}");
    let study = folder.path().join("mine.toml");
    let text = "title = 'The chain, simulated and real'\nsource = 'mine'\nseeds = 1\n\
        set = ['duration=2 s', 'warmup=1 s']\n\
        [[variants]]\nid = 'packets'\nlabel = 'simulated'\nscenario = 'jam10/chain'\n\
        [[variants]]\nid = 'linux'\nlabel = 'real'\nscenario = 'jam10/chain'\nworld = 'linux'\n";
    std::fs::write(&study, text).expect("it is ours");
    let arguments =
        ["study", study.to_str().expect("UTF-8"), "--out", folder.path().to_str().expect("UTF-8"), "--json"];
    let done = start(prefix, &arguments).output().expect("the command runs");
    assert!(stderr(&done).contains("real sockets take 0.1 minutes"), "{}", stderr(&done));
    let manifest = std::fs::read_to_string(folder.path().join("mine/manifest.json")).expect("a manifest");
    let manifest: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
    let live = ["kernel", "scheduling"].map(|key| &manifest["runs"][1]["live"]["host"][key]);
    assert!(manifest["runs"][0]["live"].is_null() && live.iter().all(|told| !told.is_null()), "{manifest}");
    // People are told how late its packets were, too; the runs are kept.
    let done = start(prefix, &arguments[..4]).output().expect("the command runs");
    assert!(stdout(&done).contains("\none run over sockets of Linux"), "{}", stdout(&done));
}

#[test]
fn a_program_gives_way_to_the_drive() {
    let Some(done) = run(&["jam10/chain", "--", "cat", "/proc/self/stat"]) else { return };
    let words = stdout(&done);
    let (_, after_name) = words.rsplit_once(") ").expect("proc(5)");
    let fields: Vec<&str> = after_name.split(' ').collect();
    // Fields 19 and 41 of proc(5); its third is the first after the name.
    assert_eq!((fields[19 - 3], fields[41 - 3]), ("19", "0"), "nice, and no real-time policy");
}

#[test]
fn reaper_of_processes_is_ordinary() {
    let Some(done) = run(&["jam10/chain", "--", "cat", "/proc/1/stat"]) else { return };
    let words = stdout(&done);
    let (_, after_name) = words.rsplit_once(") ").expect("proc(5)");
    assert_eq!(after_name.split(' ').nth(41 - 3), Some("0"), "field 41 of proc(5): no real-time policy");
}

/// Sends so many datagrams as fast as it can, from a device with room for one in its queue.
const FLOOD: &str = "import socket, subprocess
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
subprocess.run(\"ip link set air0 txqueuelen 1\".split(), check=True)
for _ in range(20000): s.sendto(b\"x\", (\"node-3\", 9))";

#[test]
fn unread_drops_are_reported() {
    let Some(done) = run_with(&["ip"], &["jam10/chain", "--", "python3", "-c", FLOOD]) else { return };
    assert!(done.status.success(), "a program may change its node's device: {}", stderr(&done));
    assert!(stderr(&done).contains("dropped before they were read"), "{}", stderr(&done));
}

/// A program for `--at` that repeats a command until it prints something of this shell pattern, for half a minute at most, and
/// prints its last output; and then does something else.
fn until(node: &str, pattern: &str, command: &str, then: &str) -> String {
    let repeat = "for i in $(seq 300); do told=$(COMMAND); case \"$told\" in PATTERN) break;; esac; sleep 0.1; done; echo \"$told\"; THEN";
    let filled = repeat.replace("COMMAND", command).replace("PATTERN", pattern).replace("THEN", then);
    format!("{node}=sh -c '{filled}'")
}

/// The state of a connection that is established (proc(5)).
const ESTABLISHED: &str = "*\" 01 \"*";

#[test]
fn connection_begins_with_scenarios_threshold() {
    let only = "flows=[{ id = '1', from = '1', to = '0', traffic = 'tcp' }]";
    let settings = ["--set", "tcp.initial_ssthresh='7 packets'", "--set", only, "--with-flows"];
    let look = until("1", ESTABLISHED, "cat /proc/net/tcp", "");
    let Some(done) = run(&[&["jam10/chain"], &settings[..], &["--at", &look]].concat()) else { return };
    // The last word of a connection's line is its threshold, -1 without one (proc(5)).
    let thresholds: Vec<String> =
        stdout(&done).lines().filter_map(|line| Some(line.split_whitespace().nth(16)?.to_owned())).collect();
    assert!(thresholds.iter().any(|threshold| threshold == "7"), "{}", stdout(&done));
}

#[test]
fn connection_waits_scenarios_least_time_out() {
    let only = "flows=[{ id = '1', from = '1', to = '0', traffic = 'tcp' }]";
    let settings = ["--set", "tcp.min_rto='3 s'", "--set", only, "--with-flows"];
    let look = until("1", ESTABLISHED, "cat /proc/net/tcp", "");
    let Some(done) = run(&[&["jam10/chain"], &settings[..], &["--at", &look]].concat()) else { return };
    // The thirteenth word of a connection's line is its time-out in the kernel's ticks, of which there are 100 a second for users
    // (proc(5)); a few hundred milliseconds are the round trip.
    let rtos: Vec<u64> =
        stdout(&done).lines().filter_map(|line| line.split_whitespace().nth(12)?.parse().ok()).collect();
    assert!(rtos.iter().any(|rto| (300..400).contains(rto)), "{}", stdout(&done));
}

/// A transfer and pages between the same two, each with a law of its own.
const TWO_LAWS: &str = "flows=[
    { id = 'transfer', from = '1', to = '0', traffic = 'tcp', window = 'reno' },
    { id = 'pages', from = '1', to = '0', traffic = 'web', window = 'cubic', web = { interval = '50 ms', request = ['100 B', '200 B'], reply = '500 B' } },
]";

#[test]
fn each_flow_has_its_own_law_at_both_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).expect("it is ours");
    let seen = folder.path().join("seen").display().to_string();
    // The transfer's sender, and both ends of the connection that pages go over; a receiver of data alone has any law.
    let established = "ss -tinH state established";
    let server = until("0", "*cubic*", established, &format!("touch {seen}"));
    // The emulation ends with its last program, hence not before the server's.
    let wait = format!("for i in $(seq 300); do [ -e {seen} ] && break; sleep 0.1; done");
    let client = until("1", "*reno*cubic*|*cubic*reno*", established, &wait);
    let look = ["--with-flows", "--at", &server, "--at", &client];
    let Some(done) = run_with(&["ss"], &[&["jam10/chain", "--set", TWO_LAWS], &look[..]].concat()) else {
        return;
    };
    let told = stdout(&done);
    let having = |law: &str| told.lines().filter(|line| line.trim_start().starts_with(law)).count();
    assert!(having("cubic ") >= 2 && having("reno ") >= 1, "{told}");
}

/// Voice by its category, and a transfer by a DSCP of its own.
const MARKED: &str = "flows=[
    { id = 'voice', from = '0', to = '1', traffic = 'cbr', interval = '40 ms', size = '100 B', category = 'voice' },
    { id = 'transfer', from = '0', to = '1', traffic = 'tcp', dscp = 'AF31' },
]";

#[test]
fn a_flows_packets_have_its_dscp() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).expect("it is ours");
    let path = folder.path().join("air.pcap");
    let pcap = ["--set", MARKED, "--pcap", path.to_str().expect("UTF-8")];
    let Some(done) = run(&[&["jam10/chain"], &SHORT[..], &pcap].concat()) else { return };
    assert!(done.status.success(), "{}", stderr(&done));
    let capture = std::fs::read(&path).expect("a capture");
    // The head of LLC names IPv4; the first byte of IPv4 its version and length, the second the DSCP and two bits of ECN; the
    // tenth its protocol.
    let packets = capture.windows(18).filter(|at| at[..9] == [0xaa, 0xaa, 3, 0, 0, 0, 8, 0, 0x45]);
    let (mut voice, mut transfer) = (0, 0);
    for head in packets {
        match head[17] {
            17 => (voice += 1, assert_eq!(head[9], 46 << 2)).1,
            _ => (transfer += 1, assert_eq!(head[9], 26 << 2)).1,
        }
    }
    assert!(
        voice > 20 && transfer > 50,
        "{voice} of voice, {transfer} of the transfer and its acknowledgements"
    );
}

/// A flow of each kind that a scenario has and Linux can carry.
const KINDS: &str = "flows=[
    { id = 'saturated', from = '1', to = '0', traffic = 'saturated', size = '200 B', stop = '1 s' },
    { id = 'cbr', from = '0', to = '2', traffic = 'cbr', interval = '40 ms', size = '100 B', jitter = 0.5, start = '1 s' },
    { id = 'on-off', from = '2', to = '1', traffic = 'on-off', interval = '20 ms', size = '100 B', on = '300 ms', off = '300 ms', start = '1 s' },
    { id = 'everybody', from = '1', to = '*', traffic = 'cbr', interval = '50 ms', size = '60 B', start = '1 s' },
    { id = 'web', from = '2', to = '1', traffic = 'web', start = '1 s', web = { interval = '100 ms', request = ['100 B', '200 B'], reply = '500 B', arrivals = 'poisson' } },
    { id = 'pages', from = '0', to = '1', traffic = 'web', start = '1 s', web = { interval = '300 ms', request = ['100 B', '200 B'], reply = '1 kB', connection = 'per-request' } },
    { id = 'file', from = '1', to = '2', transfer = '5 kB', start = '1 s' },
    { id = 'paced', from = '1', to = '0', application_rate = '20 kbps', start = '1 s' },
]";

#[test]
fn real_traffic_matches_simulated_applications() {
    let settings = ["duration=4 s", "warmup=1 s", "tcp.window=reno", KINDS];
    let words: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    let arguments = [&["jam10/chain"], &words[..], &["--json"]].concat();
    let Some(done) = run(&arguments) else { return };
    let emulated = json(&done);
    let simulated = json(&evenair(&[&["run"], &arguments[..]].concat()));
    let flows = emulated["flows"].as_array().expect("flows");
    let names: Vec<&str> = flows.iter().map(|flow| flow["flow"].as_str().unwrap()).collect();
    assert_eq!(emulated["live"]["host"]["real_flows"], serde_json::json!(names), "all of them");
    for (real, twin) in flows.iter().zip(simulated["flows"].as_array().expect("flows")) {
        let of = |document: &serde_json::Value, key: &str| {
            document.pointer(key).and_then(serde_json::Value::as_f64).unwrap_or(0.0)
        };
        // The same instants of the same seed: one more or less where the measured time begins and ends.
        let near = |key: &str, by: f64| {
            let (real, twin) = (of(real, key), of(twin, key));
            assert!((real - twin).abs() <= by, "{key}: {real} for {twin} of {}", names.join(" "));
        };
        match real["flow"].as_str().unwrap() {
            "saturated" => assert_eq!(real["sent"], 0, "before the measured time"),
            "cbr" | "on-off" | "everybody" => near("/sent", 2.0),
            "web" | "pages" => {
                near("/transfers/requests", 1.0);
                near("/transfers/completed", 6.0);
                assert!(of(real, "/transfers/took/mean_s") > 0.005);
            }
            "file" => near("/transfers/completed", 0.0),
            _ => near("/goodput_bps", 8_000.0),
        }
        let goodput = of(real, "/goodput_bps");
        assert!(goodput > 0.0 || real["flow"] == "saturated", "{real}");
    }
    // The air decides the receivers of a broadcast: two nodes on both sides.
    let everybody = flows[3]["goodput_pps"].as_f64().unwrap();
    assert!((25.0..=41.0).contains(&everybody), "{everybody} of 20 a second to two nodes");
}

#[test]
fn a_law_that_wants_probes_has_them_sent() {
    let of_k = |k: u32| {
        let law = format!("connections = {{ k = {k}, samples = 'probes', interval = '500 ms' }}");
        let flow = format!("flows=[{{ id = 'f', from = '1', to = '0', window = 'newreno', {law} }}]");
        let settings = ["duration=4 s", "warmup=2 s", flow.as_str()];
        let words: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
        run(&[&["jam10/chain"], &words[..], &["--json"]].concat()).map(|done| json(&done)["flows"][0].clone())
    };
    let of = |flow: &serde_json::Value, key: &str| {
        flow.pointer(key).and_then(serde_json::Value::as_f64).expect(key)
    };
    for k in [1, 20] {
        let Some(flow) = of_k(k) else { return };
        // As many as data packets in the round trip before, on the same way.
        let (probes, sent) = (of(&flow, "/probes/sent"), of(&flow, "/sent"));
        assert!((0.5..1.5).contains(&(probes / sent)), "{probes} probes, {sent} segments");
        assert!((0.01..0.1).contains(&of(&flow, "/probes/share")), "{flow}");
        let (probed, measured) = (of(&flow, "/probes/round_trip_s"), of(&flow, "/round_trip_s"));
        if k == 1 {
            // One connection. Where they come and go, each that has just begun counts as much as any in the sockets' statistics,
            // and has not waited yet: with k = 20 this is 1.18 with a standard deviation of 0.15.
            assert!((0.8..1.25).contains(&(probed / measured)), "{probed} s, {measured} s");
        } else {
            // n = kT, a law of whole connections.
            assert!((of(&flow, "/connections") / (20.0 * probed) - 1.0).abs() < 0.5, "{flow}");
        }
    }
}

#[test]
fn a_flow_has_the_stack_that_it_asks_for() {
    let flow = |more: &str| format!("flows=[{{ id = 'f', from = '1', to = '0', {more} }}]");
    let run = |more: &str| {
        run(&["jam10/chain", "--set", "duration=1 s", "--set", "warmup=0 s", "--set", &flow(more), "--json"])
    };
    let Some(real) = run("stack = 'linux', window = 'reno'") else { return };
    assert_eq!(json(&real)["live"]["host"]["real_flows"], serde_json::json!(["f"]));
    let simulated = json(&run("stack = 'simulated', window = 'reno'").unwrap());
    assert_eq!(simulated["live"]["host"]["real_flows"], serde_json::json!([]));
    assert!(simulated["flows"][0]["goodput_bps"].as_f64() > Some(1e5), "{simulated}");
    for (more, reason) in [
        ("stack = 'linux', window = 'scaled-reno'", "congestion control like the window law ScaledReno"),
        ("stack = 'linux', traffic = 'tfrc'", "Linux has no TFRC; real sockets carry TCP and the web under"),
        ("stack = 'windows'", "stack"),
    ] {
        let refused = run(more).unwrap();
        assert_eq!(refused.status.code(), Some(125), "{more}");
        assert!(stderr(&refused).contains(reason), "{}", stderr(&refused));
    }
}

#[test]
fn gateway_may_be_daemon_in_its_nodes_kernel() {
    let run = |gateway: &str| {
        let gateway = format!("gateway={{ node = 'ap', stack = 'linux', {gateway} }}");
        let nodes = "nodes=[{ id = 'ap', at = [0, 0] }, { id = 'a', at = [50, 0] }, { id = 'b', at = [15, 48] }, { id = 'server' }]";
        let wires = "wires=[{ from = 'ap', to = 'server', rate = '100 Mbps', delay = '1 ms' }]";
        let flows =
            "flows=[{ id = 'up', from = 'a', to = 'server' }, { id = 'down', from = 'server', to = 'b' }]";
        let all = ["duration=4 s", "warmup=2 s", "tcp.window=cubic", nodes, wires, flows, &gateway];
        let settings: Vec<&str> = all.iter().flat_map(|setting| ["--set", setting]).collect();
        run(&[&["cell"], &settings[..], &["--json"]].concat())
    };
    // Four classes, two subscribers' ways up and down, share it.
    let Some(done) = run("law = { law = 'fixed', rate = '800 kbps', shared = true }") else { return };
    let emulated = json(&done);
    for flow in [0, 1] {
        // Of 200 kb/s, headers taken off. Arrivals count, not goodput: a hole that is filled after the warm-up gives the
        // application at once all data before it.
        let arrived = emulated["flows"][flow]["arrived"].as_f64().expect("a number");
        let rate = arrived * 1000.0 * 8.0 / 4.0;
        assert!((150e3..220e3).contains(&rate), "{rate}: {}", emulated["flows"]);
    }
    let classes = emulated["gateway"]["classes"].as_array().expect("classes");
    assert_eq!(classes.len(), 4);
    assert!(classes.iter().all(|class| class["allowed_bps"] == 200e3), "{classes:?}");
    for (gateway, reason) in [
        ("rate = '400 kbps'", "the daemon sets rates by a law"),
        ("law = 'pfrc', per = 'flow'", "the daemon tells subscribers apart"),
    ] {
        let refused = run(gateway).unwrap();
        assert_eq!(refused.status.code(), Some(125), "{gateway}");
        assert!(stderr(&refused).contains(reason), "{}", stderr(&refused));
    }
}

/// Held by a test that reads, or changes, the machine's settings.
pub(crate) static SURROUNDINGS: Mutex<()> = Mutex::new(());

/// Devices, addresses, routes, rules and mounts of the machine. Counters of devices change by themselves.
pub(crate) fn surroundings() -> Vec<String> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let devices = read("/proc/net/dev");
    let names = devices.lines().filter_map(|line| line.split_once(':').map(|(name, _)| name.to_owned()));
    let files =
        ["/proc/net/route", "/proc/net/fib_trie", "/proc/net/if_inet6", "/proc/self/mountinfo"].map(read);
    let rules = ["-4", "-6"].map(|family| Command::new("ip").args([family, "rule"]).output());
    let rules = rules.into_iter().flatten().map(|done| stdout(&done));
    names.chain(files).chain(rules).collect()
}

/// Processes that were started with this word among their arguments.
pub(crate) fn processes_with(word: &str) -> usize {
    let all = std::fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
    let lines = all.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.contains(word)).count()
}

#[test]
fn nothing_is_left_behind_even_after_a_kill() {
    let _alone = SURROUNDINGS.lock();
    let before = surroundings();
    let word = format!("{:09}", std::process::id());
    let sleeper = format!("2=sleep 300.{word}");
    let arguments = ["jam10/chain", "--at", &sleeper, "--", "sleep", &format!("400.{word}")];
    let Some(mut command) = emulation(&arguments) else { return };
    let mut outer = command.stdout(Stdio::null()).spawn().expect("the command runs");
    let began = Instant::now();
    let wait = |done: &dyn Fn() -> bool, what: &str| {
        let since = Instant::now();
        while !done() {
            assert!(since.elapsed() < Duration::from_secs(10), "{what} after {:?}", began.elapsed());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    // The command itself, its two helpers, and both programs.
    let sleeping = || processes_with(&word) == 5;
    wait(&sleeping, "the programs do not run");
    outer.kill().expect("it is ours");
    outer.wait().expect("it is ours");
    wait(&|| processes_with(&word) == 0, "processes are left");
    assert_eq!(surroundings(), before);
}
