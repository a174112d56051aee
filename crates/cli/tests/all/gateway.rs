//! `evenair gateway`, in the namespaces of `lab/gateway.sh`, wherever the machine lets them be had.

use crate::{evenair, stderr, stdout};
use evenair_needs::{Missing, find_all, once};
use std::path::Path;
use std::process::Command;

const FILE: &str = "mesh = \"mesh0\"\nuplink = \"wan0\"\nstate = \"state\"\n\
    [law]\nlaw = \"pfrc\"\nepoch = \"1 s\"\ncapacity_high = \"6 Mbps\"\n\
    [[subscriber]]\nid = \"anna\"\nname = \"Anna\"\nprefixes = [\"10.0.0.11\"]\n";

/// The output of a script in the lab; `None`, and the test is counted as skipped, where the machine has no lab.
fn lab(script: &str) -> Option<String> {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("gateway.toml"), FILE).expect("a file");
    let program = Path::new(env!("CARGO_BIN_EXE_evenair"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}:/usr/sbin:/sbin", program.parent().expect("a folder").display());
    let lab = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/gateway.sh");
    let run = |script: &str| {
        let mut command = Command::new(&lab);
        command.args(["sh", "-c", script]).current_dir(folder.path()).env("PATH", &path);
        command.output()
    };
    let begins = || match run("true") {
        Ok(done) if done.status.success() => Ok(String::new()),
        Ok(done) => Err(stderr(&done)),
        Err(error) => Err(error.to_string()),
    };
    let programs = find_all(&["unshare", "ip", "tc", "nft", "ping"]);
    let lacks = programs.err().or_else(|| Some(Missing::new("user namespaces", once("lab", begins).err()?)));
    if let Some(missing) = lacks {
        missing.skip();
        return None;
    }
    let done = run(script).expect("it ran before");
    let text = format!("{}{}", stdout(&done), stderr(&done));
    Some(text)
}

/// A shell's functions. `begin` begins a gateway, and waits until it answers. `shows WORDS COMMAND …` repeats a command until it prints
/// these words, for half a minute at most, and prints its last output.
const BEGIN: &str = "begin() { evenair gateway run gateway.toml \"$@\" > run.log 2>&1 & gateway=$!
for i in $(seq 100); do evenair gateway status gateway.toml > /dev/null 2>&1 && return; sleep 0.1; done; cat run.log; }
shows() { words=$1; shift; for i in $(seq 300); do told=$(\"$@\" 2>&1); case $told in *\"$words\"*) break;; esac; sleep 0.1; done; echo \"$told\"; }
tree() { tc class show dev mesh0 | grep -c ' e7a1:' || true; nft list tables; }
";

#[test]
fn unconfirmed_trial_restores_state() {
    let script = "begin --mode enforce --confirm '3 s'; echo before; tree; wait $gateway; echo after; tree; cat run.log";
    let Some(text) = lab(&format!("{BEGIN}{script}")) else { return };
    assert!(text.contains("before\n5\ntable inet evenair\nafter\n0\n"), "{text}");
    assert!(text.contains("ended: no confirmation in time"), "{text}");
}

#[test]
fn gateway_that_was_killed_is_adopted_or_cleared() {
    let script = "begin --mode enforce; kill -9 $gateway; wait $gateway; echo killed; tree
        evenair gateway run gateway.toml --mode enforce > again.log 2>&1 & again=$!
        shows 'nothing was asked for' evenair gateway why gateway.toml Anna; kill $again; wait $again; echo ended; tree
        begin --mode enforce; kill -9 $gateway; wait $gateway
        evenair gateway clear gateway.toml; echo cleared; tree; evenair gateway clear gateway.toml";
    let Some(text) = lab(&format!("{BEGIN}{script}")) else { return };
    assert!(text.contains("killed\n5\ntable inet evenair\n"), "{text}");
    assert!(text.contains("Anna (anna)\nDownloads: no data was requested"), "{text}");
    assert!(text.contains("ended\n0\n"), "{text}");
    assert!(text.contains("as they were before\ncleared\n0\nnothing of evenair's is kept"), "{text}");
}

#[test]
fn socket_answers_and_second_daemon_fails() {
    let script = "begin --mode enforce; evenair gateway run gateway.toml; echo status $?
        evenair gateway pause gateway.toml; tc class show dev mesh0 classid e7a1:10
        evenair gateway resume gateway.toml; shows 'ceil 1Mbit' tc class show dev mesh0 classid e7a1:10
        sed -i 's/6 Mbps/6 Mbits/' gateway.toml; kill -HUP $gateway; shows 'not reloaded' cat run.log; sed -i 's/6 Mbits/6 Mbps/' gateway.toml
        evenair gateway status gateway.toml --json | grep '\"mode\"'; kill $gateway; wait $gateway; echo ended $?
        cat run.log; evenair gateway replay state/log; evenair gateway status gateway.toml";
    let Some(text) = lab(&format!("{BEGIN}{script}")) else { return };
    assert!(
        text.contains("another gateway runs with this state folder") && text.contains("status 2"),
        "{text}"
    );
    assert!(text.contains("ceil 10Gbit") && text.contains("rate 1Mbit ceil 1Mbit"), "{text}");
    assert!(text.contains("\"mode\": \"enforce\"") && text.contains("ended 0"), "{text}");
    assert!(text.contains("not reloaded, all goes on as before: gateway.toml:"), "{text}");
    assert!(text.contains(" 0 differ") && text.contains("no gateway runs with this file"), "{text}");
}

/// A half-written file stops no running gateway, and a service goes on with the last good file.
#[test]
fn mistake_in_file_keeps_limits() {
    let script = "begin --mode enforce; cp gateway.toml good; echo mistake >> gateway.toml
        evenair gateway status gateway.toml; evenair gateway pause gateway.toml; evenair gateway resume gateway.toml
        evenair gateway reload gateway.toml; echo status $?
        head -7 good > gateway.toml; evenair gateway reload gateway.toml; echo status $?
        echo mistake >> good; cp good gateway.toml; kill -9 $gateway; wait $gateway
        evenair gateway run gateway.toml --mode enforce; echo status $?; echo again
        begin --mode enforce --or-last; shows Downloads: evenair gateway why gateway.toml anna; tree; cat run.log
        kill $gateway; wait $gateway; echo ended $?; tree";
    let Some(text) = lab(&format!("{BEGIN}{script}")) else { return };
    let mistake = "gateway.toml:12:8: key with no value";
    assert!(text.matches(mistake).count() >= 4 && text.contains("enforces; "), "{text}");
    assert!(text.contains("the limits are open") && text.contains("the limits hold"), "{text}");
    assert_eq!(text.matches("status 2\n").count(), 3, "{text}");
    assert!(text.contains("no subscribers are left: an empty list is taken for a mistake"), "{text}");
    let (_, again) = text.split_once("again\n").unwrap_or_default();
    assert!(
        again.contains("Anna (anna)\nDownloads:") && again.contains("; it goes on with the last good file"),
        "{text}"
    );
    assert!(again.contains("\n5\ntable inet evenair\n") && again.contains("ended 0\n0\n"), "{text}");
}

/// Reverse paths are checked by the kernel where the operator turns it on; `check` names each device where it is not.
#[test]
fn check_names_devices_with_unchecked_sources() {
    let script = "sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.mesh0.rp_filter=0 net.ipv4.conf.wan0.rp_filter=1
        evenair gateway check gateway.toml; echo status $?
        sysctl -qw net.ipv4.conf.mesh0.rp_filter=1; evenair gateway check gateway.toml; echo status $?";
    let Some(text) = lab(script) else { return };
    assert_eq!(text.matches("status 0\n").count(), 2, "{text}");
    assert_eq!(text.matches("sources of IPv4 are checked not").count(), 1, "{text}");
    assert!(text.contains("\nmesh0: sources of IPv4 are checked not (rp_filter = 0)"), "{text}");
}

#[test]
fn leases_are_followed() {
    let script =
        "printf '[[leases]]\\nformat = \"dnsmasq\"\\nfile = \"leases\"\\n' >> gateway.toml; touch leases
        begin --mode enforce; echo '0 aa:bb 10.0.0.12 ben *' > leases
        shows 10.0.0.12 nft list map inet evenair down4; kill $gateway; wait $gateway";
    let Some(text) = lab(&format!("{BEGIN}{script}")) else { return };
    assert!(text.contains("10.0.0.12 : e7a1:11"), "{text}");
}

/// A daemon killed at any point of its start leaves nothing uncleared.
#[test]
fn killed_daemon_can_be_cleared() {
    let script = "for after in 0.00 0.01 0.02 0.03 0.04 0.06 0.08 0.12 0.2 0.4; do
        evenair gateway run gateway.toml --mode enforce > run.log 2>&1 & gateway=$!
        sleep $after; kill -9 $gateway; wait $gateway; evenair gateway clear gateway.toml > clear.log; tree; done
        begin --mode enforce; kill $gateway; wait $gateway; echo ended $?; tree";
    let Some(text) = lab(&format!("{BEGIN}{script}")) else { return };
    assert!(text.starts_with(&format!("{}ended 0\n0\n", "0\n".repeat(10))), "{text}");
}

/// Short memory ends a daemon at one place or another; its leftovers are adopted or cleared.
#[test]
fn memory_shortage_can_be_cleared() {
    let script = "(echo id,prefixes; for i in $(seq 0 1999); do echo s$i,10.2.$((i / 250)).$((i % 250)); done) > s.csv
        printf 'eager = 5000\nsubscribers = \"s.csv\"\n' | cat - gateway.toml > with; mv with gateway.toml
        for kilobytes in $(seq 10000 7000 90000); do
        (ulimit -v $kilobytes; exec evenair gateway run gateway.toml --mode enforce > run.log 2>&1) & gateway=$!
        sleep 1; kill -9 $gateway; wait $gateway; echo status $?; evenair gateway clear gateway.toml > clear.log; tree; done 2> /dev/null";
    let Some(text) = lab(&format!("{BEGIN}{script}")) else { return };
    assert_eq!(text.lines().filter(|line| *line == "0").count(), 12, "{text}");
    assert!(!text.contains("table inet evenair"), "{text}");
    // The least is not enough to begin, the most is.
    assert!(!text.starts_with("status 137") && text.contains("status 137"), "{text}");
}

/// Silent connections, bytes that come one by one, clients that read nothing, and a flood of requests: epochs of a second stay so.
#[test]
fn clients_of_the_socket_delay_no_epoch() {
    let script = r#"cat > attack.py <<'END'
import socket, time
def connect():
    one = socket.socket(socket.AF_UNIX)
    one.setblocking(False)
    try: one.connect('state/control.sock')
    except OSError: pass
    return one
def send(one, text):
    try: one.send(text)
    except OSError: pass
end, held, drips = time.time() + 6, [], [connect() for _ in range(20)]
while time.time() < end:
    held = held[-500:] + [connect()]
    for drip in drips: send(drip, b' ')
    for _ in range(20): send(connect(), b'"status"\n')
END
        begin --mode enforce; epochs() { evenair gateway status gateway.toml --json | sed -n 's/.*"epochs": \([0-9]*\),/\1/p'; }
        first=$(epochs); python3 attack.py; echo passed $(($(epochs) - first)); kill $gateway; wait $gateway"#;
    let Some(text) = lab(&format!("{BEGIN}{script}")) else { return };
    let passed = text.strip_prefix("passed ").and_then(|count| count.trim().parse::<u32>().ok());
    // In six seconds none would pass if an epoch waited for its clients; a busy machine begins some late.
    assert!(passed.is_some_and(|passed| (3..=8).contains(&passed)), "{text}");
}

/// Nothing is to be reached from outside: the page is on loopback, all else is a socket of files, netlink, or hears packets of its device alone.
#[test]
fn gateway_listens_on_loopback_and_files_only() {
    let script = "echo 'page = \"127.0.0.1:9180\"' | cat - gateway.toml > with; mv with gateway.toml
        begin --mode enforce
        for table in tcp tcp6 udp udp6 udplite udplite6 raw raw6 icmp icmp6 sctp/eps; do
            tail -qn +2 /proc/$gateway/net/$table 2> /dev/null | while read line; do echo $table $line; done; done
        ls -l /proc/$gateway/fd | grep -o 'socket:.*' | tr -dc '0-9\n' | while read number; do
            grep -w $number /proc/$gateway/net/unix | while read _ _ _ flags _ _ _ path; do echo unix $flags $path; done; done
        kill $gateway; wait $gateway";
    let Some(text) = lab(&format!("{BEGIN}{script}")) else { return };
    let internet: Vec<&str> = text.lines().filter(|line| !line.starts_with("unix")).collect();
    // 127.0.0.1:9180, and the state LISTEN (0A).
    assert!(matches!(&internet[..], [page] if page.contains(": 0100007F:23DC 00000000:0000 0A ")), "{text}");
    // The flag of a socket that listens is __SO_ACCEPTCON, 0x10000.
    let heard: Vec<&str> = text.lines().filter(|line| line.starts_with("unix 00010000")).collect();
    assert!(matches!(&heard[..], [socket] if socket.ends_with("state/control.sock")), "{text}");
}

/// A file that is put in the place of one that may be read, and leads elsewhere, is not followed there.
#[test]
fn a_running_daemon_reads_in_its_folders_alone() {
    let script = "printf '[[leases]]\\nformat = \"dnsmasq\"\\nfile = \"leases\"\\n' >> gateway.toml; touch leases
        begin --mode enforce; mkdir ../elsewhere.$$; echo '0 aa:bb 10.0.0.12 ben *' > ../elsewhere.$$/leases
        ln -sf ../elsewhere.$$/leases leases; touch -h leases
        shows 'Permission denied' cat run.log; nft list map inet evenair down4 | grep -c 10.0.0.12; kill $gateway; wait $gateway; rm -r ../elsewhere.$$";
    let Some(text) = lab(&format!("{BEGIN}{script}")) else { return };
    if text.contains("Landlock") {
        return evenair_needs::skip("Landlock", "the daemon reports that it is not confined");
    }
    assert!(text.contains("Permission denied") && text.contains("\n0\n"), "{text}");
}

/// The kernel's view of a daemon's threads: the one that sets limits first, then that of the page.
const THREADS: &str = "threads() { for task in /proc/$gateway/task/*; do
    awk '/^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):/ { printf \"%s%s \", $1, $2 } END { print \"\" }' $task/status; done; }
";

/// Besides `CAP_NET_ADMIN` (bit 12) nothing is left, and nothing can be had again.
#[test]
fn a_running_daemon_may_do_little() {
    let script = "echo 'page = \"127.0.0.1:9180\"' | cat - gateway.toml > with; mv with gateway.toml
        begin --mode enforce; threads; ip link delete mesh0; shows mesh0: cat run.log
        ip link add mesh0 type veth peer name eth9; ip link set mesh0 up; ip link set eth9 up
        shows 5 tree; evenair gateway pause gateway.toml; evenair gateway reload gateway.toml
        sed -i 's/1 s/2 s/; s/9180/9181/' gateway.toml; evenair gateway reload gateway.toml; echo refused $?
        sed -i 's/9181/9180/' gateway.toml; evenair gateway reload gateway.toml; threads
        kill $gateway; wait $gateway; echo ended $?; ls state; tree; cat run.log";
    let Some(text) = lab(&format!("{BEGIN}{THREADS}{script}")) else { return };
    let none = "0000000000000000";
    let of = |kept: &str| {
        format!(
            "CapInh:{none} CapPrm:{kept} CapEff:{kept} CapBnd:{none} CapAmb:{none} NoNewPrivs:1 Seccomp:2"
        )
    };
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        // The loop; the threads of the control socket and of the page.
        for (thread, count) in [(of("0000000000001000"), 1), (of(none), 2)] {
            assert_eq!(text.matches(&thread).count(), 2 * count, "{thread} in {text}");
        }
    }
    // And it does all that it must: a device that comes back has its tree and is heard again, files are read, all is removed.
    assert!(text.contains("5\ntable inet evenair\nthe limits are open"), "{text}");
    assert!(text.contains("read again: 1 subscribers\n") && text.contains("refused 2\n"), "{text}");
    assert!(text.contains("ended 0\nlock\nlog\nstate.json\nworked.json\n0\n"), "the socket is gone: {text}");
    assert!(!text.contains("not permitted") && !text.contains("Permission denied"), "{text}");
}

/// One daemon follows another under traffic: the classes and their queues stay, and not one packet is lost.
#[test]
fn a_daemon_that_hands_over_loses_nothing() {
    let script = "ping_() { mesh ping -q -i 0.01 -c 500 -I 10.0.0.11 192.0.2.2 > ping.log 2>&1 & ping=$!; }
        begin --mode enforce; shows 'ceil 1Mbit' tc class show dev mesh0 classid e7a1:10
        sed -i 's/1 s/60 s/' gateway.toml; evenair gateway reload gateway.toml; sleep 1.5 # no decision from now on
        tc class show dev mesh0 | sort > before; ping_; sleep 1
        evenair gateway hand-over gateway.toml; wait $gateway; echo handed $?
        tc class show dev mesh0 | sort | diff - before && echo same; evenair gateway status gateway.toml
        begin --mode enforce; tc class show dev mesh0 | sort | diff - before && echo same
        kill -9 $gateway; wait $gateway; begin --mode enforce; tc class show dev mesh0 | sort | diff - before && echo same
        wait $ping; grep transmitted ping.log; kill $gateway; wait $gateway; tree; cat run.log";
    let Some(text) = lab(&format!("{BEGIN}{script}")) else { return };
    assert!(text.contains("it ends, and leaves all to the next one\nhanded 75\n"), "{text}");
    assert_eq!(text.matches("same\n").count(), 3, "{text}");
    assert!(text.contains("500 packets transmitted, 500 received, 0% packet loss"), "{text}");
    assert!(text.contains("\n0\nmesh0 and wan0") && text.contains("ended: told to end\n"), "{text}");
}

/// A supervisor is told that the daemon is ready, lives, and ends; python3 plays it.
#[test]
fn a_supervisor_is_told() {
    let script = "cat > supervisor.py <<'END'
import os, signal, socket, subprocess, sys
heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
heard.bind('notify')
environment = dict(os.environ, NOTIFY_SOCKET=os.path.abspath('notify'), WATCHDOG_USEC='30000000')
daemon = subprocess.Popen(['evenair', 'gateway', 'run', 'gateway.toml'], env=environment, stdout=sys.stderr)
heard.settimeout(20)
alive = 0
while alive < 3:
    text = heard.recv(1000).decode()
    alive += text == 'WATCHDOG=1'
    if text != 'WATCHDOG=1':
        print(text)
daemon.send_signal(signal.SIGTERM)
daemon.wait()
print(heard.recv(1000).decode(), daemon.returncode)
END
        python3 supervisor.py 2> run.log";
    let Some(text) = lab(script) else { return };
    assert!(text.contains("READY=1\nSTATUS=mesh0 and wan0: watches, and changes nothing; "), "{text}");
    assert!(text.contains("WATCHDOG_USEC=10000000\nSTOPPING=1 0\n"), "{text}");
}

/// The commands of the operator's page, as they are printed there, in a shell of the lab: from watching over limits on trial to the end.
#[test]
fn operators_page_works() {
    let page = include_str!("../../../../docs/how-to/gateway.md");
    let (_, page) = page.split_once("## From nothing to watching").expect("its first part");
    let (page, _) = page.split_once("## As a service").expect("the part behind its last command");
    let blocks = |kind: &str| {
        let fence = format!("```{kind}\n");
        page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap_or("")).collect::<Vec<_>>()
    };
    let (file, table) = (blocks("toml")[0], blocks("text")[0]);
    let typed = blocks("sh").join("echo \"== $?\"\n");
    let script = format!(
        "cat > gateway.toml <<'END'\n{file}END\ncat > subscribers.csv <<'END'\n{table}END\ncat > typed <<'END'\n{typed}END
        bash typed"
    );
    if let Err(missing) = find_all(&["bash", "iperf3"]) {
        return missing.skip();
    }
    let Some(text) = lab(&script) else { return };
    let parts: Vec<&str> = text.split("== ").collect();
    let says = |part: usize, words: &[&str]| {
        let said = parts.get(part).copied().unwrap_or_default();
        words.iter().for_each(|word| assert!(said.contains(word), "{part}: {word} in {text}"));
    };
    assert_eq!(parts.len(), 7, "{text}");
    says(0, &["nft add element inet evenair down4 { 10.0.0.11 : e7a1:10 }"]);
    says(1, &["Anna", "Ben", "The school"]);
    says(2, &["Anna (anna)\nDownloads:", "it stays"]);
    says(3, &["open", "read again: 3 subscribers"]);
    says(5, &[" answers, 0 differ", "kb/s for all"]);
    let end = parts[6];
    assert!(!end.contains("e7a1:") && !end.contains("table inet evenair"), "{text}");
    assert!(!text.contains("evenair:") && !text.contains("no such job"), "no command is refused: {text}");
}

#[test]
fn mistakes_are_told_without_a_lab() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("gateway.toml");
    std::fs::write(&file, FILE.replace("6 Mbps", "6")).expect("a file");
    let done = evenair(&["gateway", "check", file.to_str().expect("UTF-8")]);
    assert_eq!(done.status.code(), Some(2));
    assert!(
        stderr(&done).contains("gateway.toml:") && stderr(&done).contains("\"6\" has no unit"),
        "{}",
        stderr(&done)
    );
    // A discovered subscriber needs no list, and the law has its bounds; without either no subscriber would be limited.
    let (nobody, _) = FILE.split_once("[[").expect("its subscriber");
    for (line, says) in
        [("", "subscribers: no subscribers: name a table"), ("neighbours = true\n", "law: start: configured")]
    {
        std::fs::write(&file, format!("{line}{nobody}")).expect("a file");
        let done = evenair(&["gateway", "check", file.to_str().expect("UTF-8")]);
        let text = stdout(&done) + &stderr(&done);
        assert!(
            text.contains("0 subscribers\n") && text.contains(says) && !text.contains("no bounds"),
            "{text}"
        );
    }
    std::fs::write(&file, FILE).expect("a file");
    let plan = stdout(&evenair(&["gateway", "plan", file.to_str().expect("UTF-8")]));
    assert!(
        plan.contains("a plan from nothing")
            && plan.contains("nft add element inet evenair down4 { 10.0.0.11 : e7a1:10 }"),
        "{plan}"
    );
}
