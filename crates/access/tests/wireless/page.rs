//! The operator's page, step by step: the commands of `docs/how-to/backoff.md` as they stand there, with its file and the
//! service's own command.

use crate::lab::{Daemon, FIRST, Source, output, shell, status, wait_for};
use std::fs;

const PAGE: &str = include_str!("../../../../docs/how-to/backoff.md");
const SERVICE: &str = include_str!("../../../../packaging/systemd/evenair-backoff@.service");

/// Returns the page's blocks of a kind, in order.
fn blocks(kind: &str) -> impl Iterator<Item = &'static str> {
    PAGE.split("\n```").filter_map(move |block| block.strip_prefix(kind)?.strip_prefix('\n'))
}

/// Returns the command that the service starts.
fn service() -> String {
    let start = SERVICE.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/"));
    start.expect("the service starts a command").replace("%i", FIRST)
}

/// Runs a command that stays, until it has made updates.
fn begin(line: &str) -> Daemon {
    let daemon = Daemon::by_shell(FIRST, line);
    wait_for("updates", || status(FIRST).filter(|told| told.updates > 3));
    daemon
}

/// Runs a command that ends; returns its output.
fn follow(line: &str) -> String {
    // A person answers y.
    let done = output(&line.replace("--trial", "--trial --yes"));
    let told = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{told}{}", String::from_utf8_lossy(&done.stderr));
    told
}

pub(crate) fn operators_page_is_followed() {
    shell("mkdir -p /root /etc/hostapd /etc/evenair; cp /tmp/wlan0.conf /etc/hostapd/hostapd.conf");
    std::env::set_current_dir("/root").expect("a folder");
    for file in blocks("toml") {
        let name = file.lines().next().and_then(|line| line.strip_prefix("# ")).expect("the file's name");
        fs::write(name, file).expect("a file");
    }
    shell("cp evenair-backoff.toml /etc/evenair/backoff-wlan0.toml");
    let source = Source::start(0, "wlan3");
    let (mut running, mut told) = (None, Vec::new());
    for line in blocks("text").flat_map(str::lines).filter(|line| !line.starts_with("cargo ")) {
        println!("  $ {line}");
        let line = line.strip_prefix("sudo ").unwrap_or(line);
        if line.contains(" status ") {
            told.push(follow(line));
            continue;
        }
        // The page's restore puts right what a killed run has left.
        let ends = if line.contains(" restore ") { Daemon::kill } else { Daemon::stop };
        running.take().into_iter().for_each(ends);
        if line.starts_with("systemctl enable --now ") {
            running = Some(begin(&service()));
        } else if line.contains(" run ") {
            running = Some(begin(line));
        } else {
            told.push(follow(line));
        }
    }
    drop(source);
    println!("  {}", told.concat().trim().replace('\n', "\n  "));
    // Check, status, trial, restore, metrics, and two replays.
    let expected = [
        "wlan0: an access point",
        "put back at the end",
        "the driver obeys",
        "put back: CWmin 15",
        "evenair_backoff_updates_total{interface=\"wlan0\"}",
        " updates, 0 differ",
        " updates, ",
    ];
    assert_eq!(told.len(), expected.len(), "commands with an output");
    for (told, expected) in told.iter().zip(expected) {
        assert!(told.contains(expected), "{expected}: {told}");
    }
}
