//! `evenair gateway`, in the namespaces of `lab/gateway.sh`, wherever the machine lets them be had.

use crate::{evenair, stderr, stdout};
use std::path::Path;
use std::process::Command;

const FILE: &str = "mesh = \"mesh0\"\nuplink = \"wan0\"\nstate = \"state\"\n\
    [law]\nlaw = \"pfrc\"\nepoch = \"1 s\"\ncapacity_high = \"6 Mbps\"\n\
    [[subscriber]]\nid = \"anna\"\nname = \"Anna\"\nprefixes = [\"10.0.0.11\"]\n";

/// What a script in the lab prints; nothing, and a word of why, where the machine has no lab.
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
    match run("tc -V && nft -v") {
        Ok(done) if done.status.success() => (),
        Ok(done) => {
            eprintln!("SKIPPED: no lab on this machine: {}", stderr(&done));
            return None;
        }
        Err(error) => {
            eprintln!("SKIPPED: no lab on this machine: {error}");
            return None;
        }
    }
    let done = run(script).expect("it ran before");
    let text = format!("{}{}", stdout(&done), stderr(&done));
    Some(text)
}

/// A shell's function: begins a gateway, and waits until it answers.
const BEGIN: &str = "begin() { evenair gateway run gateway.toml \"$@\" > run.log 2>&1 & gateway=$!
for i in $(seq 100); do evenair gateway status gateway.toml > /dev/null 2>&1 && return; sleep 0.1; done; cat run.log; }
tree() { tc class show dev mesh0 | grep -c ' e7a1:' || true; nft list tables; }
";

#[test]
fn nobody_confirms_and_all_is_as_before() {
    let script = "begin --mode enforce --confirm '3 s'; echo before; tree; wait $gateway; echo after; tree; cat run.log";
    let Some(text) = lab(&format!("{BEGIN}{script}")) else { return };
    assert!(text.contains("before\n4\ntable inet evenair\nafter\n0\n"), "{text}");
    assert!(text.contains("ended: nobody confirmed"), "{text}");
}

#[test]
fn a_gateway_that_was_killed_is_adopted_or_cleared() {
    let script = "begin --mode enforce; kill -9 $gateway; wait $gateway; echo killed; tree
        evenair gateway run gateway.toml --mode enforce > again.log 2>&1 & again=$!; sleep 2
        evenair gateway why gateway.toml Anna; kill $again; wait $again; echo ended; tree
        begin --mode enforce; kill -9 $gateway; wait $gateway
        evenair gateway clear gateway.toml; echo cleared; tree; evenair gateway clear gateway.toml";
    let Some(text) = lab(&format!("{BEGIN}{script}")) else { return };
    assert!(text.contains("killed\n4\ntable inet evenair\n"), "{text}");
    assert!(text.contains("Anna (anna)\nDownloads: nothing was asked for"), "{text}");
    assert!(text.contains("ended\n0\n"), "{text}");
    assert!(text.contains("as they were before\ncleared\n0\nnothing of evenair's is kept"), "{text}");
}

#[test]
fn who_asks_is_answered_and_a_second_one_is_kept_out() {
    let script = "begin --mode enforce; evenair gateway run gateway.toml; echo status $?
        evenair gateway pause gateway.toml; tc class show dev mesh0 classid e7a1:10
        evenair gateway resume gateway.toml; tc class show dev mesh0 classid e7a1:10
        sed -i 's/6 Mbps/6 Mbits/' gateway.toml; kill -HUP $gateway; sleep 1; sed -i 's/6 Mbits/6 Mbps/' gateway.toml
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

#[test]
fn leases_are_followed() {
    let script =
        "printf '[[leases]]\\nformat = \"dnsmasq\"\\nfile = \"leases\"\\n' >> gateway.toml; touch leases
        begin --mode enforce; echo '0 aa:bb 10.0.0.12 ben *' > leases; sleep 7
        nft list map inet evenair down4; kill $gateway; wait $gateway";
    let Some(text) = lab(&format!("{BEGIN}{script}")) else { return };
    assert!(text.contains("10.0.0.12 : e7a1:11"), "{text}");
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
    std::fs::write(&file, FILE).expect("a file");
    let plan = stdout(&evenair(&["gateway", "plan", file.to_str().expect("UTF-8")]));
    assert!(
        plan.contains("a plan from nothing")
            && plan.contains("nft add element inet evenair down4 { 10.0.0.11 : e7a1:10 }"),
        "{plan}"
    );
}
