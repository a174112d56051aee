//! Programs' effect on the air, and the state after all is killed.

use crate::emulate::{ECHO, SURROUNDINGS, processes_with, run, start, surroundings};
use crate::{stderr, stdout};
use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Everything that hurts, from the first node; then an echo must still come back. Prints the most memory that evenair had, in kB.
const HURT: &str = r#"
import os, random, socket, time
random.seed(1)
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(100_000): udp.sendto(b"x", ("node-3", 9))
for size in (4_000, 60_000): # fragments
    for _ in range(20): udp.sendto(bytes(size), ("node-3", 9))
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
for _ in range(3_000): # garbage, some of which begins like a packet
    junk = bytearray(random.randbytes(random.randint(1, 1_400)))
    junk[0] = random.choice((0x45, 0x4f, 0x60, junk[0]))
    link.sendto(junk, ("air0", 0x0800))
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
for _ in range(1_000): # from anywhere, with any number of hops
    head = bytes([0x45, random.randrange(256), 0, 60, 0, 0, 0, 0, random.randrange(256), random.choice((1, 6, 17, 44))])
    raw.sendto(head + bytes(2) + random.randbytes(4) + bytes([10, 0, 0, random.randrange(6)]) + random.randbytes(40), ("node-3", 0))
echo = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); echo.settimeout(1)
for _ in range(20):
    echo.sendto(b"alive", ("node-3", 7))
    try:
        echo.recv(100)
        break
    except OSError: pass
else: raise SystemExit("nothing comes back")
for line in open(f"/proc/{os.getppid()}/status"):
    if line.startswith("VmHWM"): print(line.split()[1])
"#;

#[test]
fn air_survives_any_program() {
    let echo = format!("3=python3 -c '{ECHO}'");
    for routers in [&[][..], &["--router", "2"]] {
        let arguments = ["jam10/chain", "--at", &echo, "--", "python3", "-c", HURT];
        let Some(done) = run(&[routers, &arguments].concat()) else { return };
        assert!(done.status.success(), "{routers:?}: {}", stderr(&done));
        let most_kb: u64 = stdout(&done).trim().parse().expect("a number");
        assert!(most_kb < 100_000, "{routers:?}: {most_kb} kB");
    }
}

/// A hundred nodes, each of which hears the next.
fn hundred() -> String {
    let mut text = String::from(
        "radio = { transmission_range = \"100 m\", carrier_sense_range = \"220 m\" }\nnodes = [",
    );
    for node in 0..100 {
        let _ = write!(text, "{{ id = \"n{node}\", at = [{}, 0] }}, ", node * 90);
    }
    text + "]\nflows = [{ id = \"1\", from = \"n0\", to = \"n1\" }]\n"
}

/// The newest process with exactly this argument and with the first word as its program.
fn process(program: &str, word: &str) -> Option<String> {
    let all = std::fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    let mut named = all.map(|entry| entry.file_name().to_string_lossy().into_owned());
    named.find(|name| {
        let line = std::fs::read_to_string(format!("/proc/{name}/cmdline")).unwrap_or_default();
        let words: Vec<&str> = line.trim_end_matches('\0').split('\0').collect();
        words.len() == 2 && words[0] == program && words[1] == word
    })
}

#[test]
fn a_hundred_nodes_are_gone_soon_after_a_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("hundred.toml");
    std::fs::write(&path, hundred()).expect("it is written");
    let _alone = SURROUNDINGS.lock();
    let before = surroundings();
    let seconds = format!("500.{:09}", std::process::id());
    let path = path.to_str().expect("a name");
    // As the user that runs the tests: the user `nobody` may not read a file of this folder.
    if run(&["jam10/chain", "--", "true"]).is_none() {
        return;
    }
    let mut command = start(&[], &["emulate", path, "--with-flows", "--", "sleep", &seconds]);
    let began = Instant::now();
    let mut outer = command.stdout(Stdio::null()).spawn().expect("it starts");
    let wait = |done: &dyn Fn() -> bool, most: f64, what: &str| {
        let since = Instant::now();
        while !done() {
            assert!(since.elapsed().as_secs_f64() < most, "{what}");
            std::thread::sleep(Duration::from_millis(10));
        }
        since.elapsed()
    };
    wait(&|| process("sleep", &seconds).is_some(), 10.0, "it does not come up");
    eprintln!("a hundred nodes are up after {:?}", began.elapsed());
    // One end of a cable here, the other in a node: it goes with the node's namespace. Root alone can lay it.
    let cable = format!("ev{}", std::process::id() % 100_000);
    let pid = process("sleep", &seconds).expect("it runs");
    let lay = ["link", "add", &cable, "type", "veth", "peer", "name", "cable0", "netns", &pid];
    let laid = evenair_needs::find("ip").is_some()
        && Command::new("ip").args(lay).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    outer.kill().expect("it is ours");
    outer.wait().expect("it is ours");
    let took = wait(&|| processes_with(&seconds) == 0, 3.0, "processes are left after 3 s");
    eprintln!("no process {took:?} after the kill");
    if laid {
        let device = format!("/sys/class/net/{cable}");
        let gone = || !std::path::Path::new(&device).exists();
        let took = wait(&gone, 5.0, "a node's namespace is left after 5 s");
        eprintln!("no namespace {took:?} later");
    } else {
        evenair_needs::skip_part("root", "a cable into a node's namespace, which goes with it");
    }
    assert_eq!(surroundings(), before);
}
