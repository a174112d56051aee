//! Checks the files for packagers (`packaging/`): services, scripts and OpenWrt's files, read by their own
//! tools where those are.

use crate::run::{root, succeed, succeeds};
use crate::tally::Tally;
use anyhow::{Context, Result, ensure};
use evenair_needs::Missing;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const OPENWRT: &str = "packaging/openwrt/files";

pub(crate) fn run() -> Result<Tally> {
    let mut missing = Vec::new();
    let services = files("packaging/systemd", "service")?;
    ensure!(!services.is_empty(), "packaging/systemd has no services");
    if succeeds(Command::new("systemd-analyze").arg("--version")) {
        verify(&services)?;
    } else {
        missing.push(Missing::new("systemd-analyze", "services are not verified"));
    }
    let mut scripts: Vec<PathBuf> = ["postinst", "prerm", "postrm"]
        .iter()
        .map(|name| root().join("packaging/debian").join(name))
        .collect();
    scripts.push(root().join(OPENWRT).join("evenair.init"));
    scripts.push(root().join("lab/gateway.sh"));
    for script in &scripts {
        // BusyBox' shell is OpenWrt's; any other that reads POSIX finds as well a file that is no script.
        succeed(Command::new("sh").arg("-n").arg(script))?;
    }
    if succeeds(Command::new("shellcheck").arg("--version")) {
        succeed(Command::new("shellcheck").args(["--shell=sh", "--exclude=SC3043"]).args(&scripts))?;
    } else {
        missing.push(Missing::new("shellcheck", "scripts are only parsed"));
    }
    openwrt()?;
    Ok(Tally::skipped(&missing, false))
}

/// The files of a folder with an ending, in order.
fn files(folder: &str, ending: &str) -> Result<Vec<PathBuf>> {
    let folder = root().join(folder);
    let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let mut found: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    found.retain(|path| path.extension().is_some_and(|own| own == ending));
    found.sort();
    Ok(found)
}

/// systemd's own reading of the services, and its measure of the daemons' rights. The command need not be installed.
fn verify(services: &[PathBuf]) -> Result<()> {
    let folder = root().join("target/packaging");
    fs::create_dir_all(&folder)?;
    let mut copies = Vec::new();
    for service in services {
        let text = fs::read_to_string(service)?;
        ensure!(text.contains("NoNewPrivileges=yes"), "{}: may gain privileges", service.display());
        let copy = folder.join(service.file_name().context("a file has a name")?);
        fs::write(&copy, text.replace("/usr/bin/evenair", "/bin/true"))?;
        copies.push(copy);
    }
    let mut command = Command::new("systemd-analyze");
    command.args(["verify", "--man=no", "--recursive-errors=no"]).args(&copies);
    let output = command.output().context("systemd-analyze")?;
    let told = String::from_utf8_lossy(&output.stderr);
    // A machine that systemd did not boot reports no more.
    let own: Vec<&str> = told.lines().filter(|line| line.contains("evenair")).collect();
    ensure!(own.is_empty(), "systemd-analyze verify: {}", own.join("\n"));
    DAEMONS.iter().try_for_each(|daemon| measure(&folder.join(daemon)))
}

/// Services that run for long.
const DAEMONS: [&str; 2] = ["evenair-gateway.service", "evenair-backoff@.service"];

/// systemd's measure of a service's rights.
fn measure(daemon: &Path) -> Result<()> {
    let mut security = Command::new("systemd-analyze");
    security.args(["security", "--offline=yes", "--threshold=25", "--no-pager"]).arg(daemon);
    let output = security.output().context("systemd-analyze")?;
    let told = String::from_utf8_lossy(&output.stdout);
    let last = told.lines().rev().find(|line| line.contains("exposure level")).unwrap_or_default();
    println!("{}", last.trim_start_matches(|c: char| !c.is_ascii_alphabetic()));
    let name = daemon.file_name().unwrap_or_default().display();
    ensure!(output.status.success(), "{name}: systemd-analyze security finds more than 2.5 of 10");
    Ok(())
}

/// OpenWrt's files go together. That their keys are the gateway's is its own test (`uci`).
fn openwrt() -> Result<()> {
    let text = |name: &str| {
        let path = root().join(OPENWRT).join(name);
        fs::read_to_string(&path).with_context(|| path.display().to_string())
    };
    let (init, config) = (text("evenair.init")?, text("evenair.config")?);
    ensure!(init.starts_with("#!/bin/sh /etc/rc.common\n"), "evenair.init is none of procd's");
    for word in ["USE_PROCD=1", "FILE=/etc/config/evenair", "config_get_bool enabled gateway enabled 0"] {
        ensure!(init.contains(word), "evenair.init lacks {word}");
    }
    ensure!(config.contains("config gateway 'gateway'\n\toption enabled '0'"), "a package is off at first");
    ensure!(
        Path::new(&root().join("packaging/grafana/evenair-gateway.json")).is_file(),
        "no board for Grafana"
    );
    Ok(())
}
