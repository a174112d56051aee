//! `evenair doctor`.

use crate::output::print;
use anyhow::{Result, ensure};
use clap::Args;
use evenair_linux::scheduling;
use evenair_needs::{NEEDS, Remedy, find};
use std::fmt::Write as _;
use std::process::{Command, Stdio};

#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 if everything that is needed is there, 2 if something is missing.\n\nExample:\n  evenair doctor"
)]
pub(crate) struct DoctorOptions {}

/// Something that live commands need, or that examples and tests use.
struct Need {
    what: &'static str,
    /// The thing found; or the thing missing, and the remedy.
    found: Result<String, String>,
    /// It is good to have, and no more.
    optional: bool,
}

pub(crate) fn doctor(_: &DoctorOptions) -> Result<()> {
    let needs = needs();
    let mut text = String::new();
    for Need { what, found, optional } in &needs {
        let (sign, words) = match found {
            Ok(words) => ("yes", words),
            Err(words) if *optional => ("no ", words),
            Err(words) => ("NO ", words),
        };
        let _ = writeln!(text, "{sign}  {what}: {words}");
    }
    print(&text)?;
    let missing = needs.iter().filter(|need| need.found.is_err() && !need.optional).count();
    ensure!(missing == 0, "{missing} needs of evenair emulate are missing");
    Ok(())
}

fn needs() -> Vec<Need> {
    let needed = |what, found| Need { what, found, optional: false };
    let mut needs = vec![
        needed("Linux 5.11 or later", kernel()),
        needed(
            "user namespaces",
            evenair_linux::sandbox::probe().map_or_else(|e| Err(e.to_string()), |()| Ok("allowed".into())),
        ),
        needed("TUN devices", tun()),
        needed("an emulation from its beginning to its end", emulation()),
        Need { what: "real-time scheduling", found: real_time(), optional: true },
        Need { what: "congestion controls", found: congestion_controls(), optional: true },
    ];
    let programs = NEEDS.iter().filter_map(|need| match need.remedy {
        Remedy::Package(package) => Some((need, package)),
        Remedy::Words(_) => None,
    });
    needs.extend(programs.map(|(need, package)| {
        Need {
            what: need.name,
            found: find(need.name)
                .map(|place| place.display().to_string())
                .ok_or_else(|| format!("not found; it is in the package {package} ({})", need.gives)),
            optional: true,
        }
    }));
    needs
}

fn kernel() -> Result<String, String> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").map_err(|e| e.to_string())?;
    let release = release.trim().to_owned();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version >= (5, 11) { Ok(release) } else { Err(format!("this is {release}")) }
}

fn tun() -> Result<String, String> {
    let opened = std::fs::OpenOptions::new().read(true).write(true).open("/dev/net/tun");
    opened.map(|_| "allowed".into()).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "there is no /dev/net/tun; load the module: modprobe tun".into(),
        _ => format!("/dev/net/tun: {error}; let users open it: chmod 666 /dev/net/tun"),
    })
}

fn congestion_controls() -> Result<String, String> {
    let there = evenair_linux::tcp::available().map_err(|e| e.to_string())?;
    let missing: Vec<&str> = ["reno", "cubic", "bbr", "vegas"]
        .into_iter()
        .filter(|name| !there.iter().any(|x| x == name))
        .collect();
    if missing.is_empty() {
        return Ok(there.join(", "));
    }
    let modules: Vec<String> = missing.iter().map(|name| format!("modprobe tcp_{name}")).collect();
    Err(format!("{}; not {} ({})", there.join(", "), missing.join(", "), modules.join("; ")))
}

fn real_time() -> Result<String, String> {
    let most = scheduling::REAL_TIME_MAX;
    let tried = scheduling::probe().map(|()| "allowed".into());
    tried.map_err(|error| format!("{error}; packets are late on a busy machine. Let users have it: \"* - rtprio {most}\" in /etc/security/limits.conf"))
}

/// The whole, tried: a network of four nodes comes up, a program runs at one, and all is taken down.
fn emulation() -> Result<String, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut command = Command::new(program);
    command.args(["--quiet", "emulate", "jam10/chain", "--", "true"]).stdin(Stdio::null());
    let done = command.output().map_err(|e| e.to_string())?;
    if done.status.success() {
        return Ok("works".into());
    }
    Err(String::from_utf8_lossy(&done.stderr).trim().trim_start_matches("evenair: ").to_owned())
}
