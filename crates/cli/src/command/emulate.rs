//! `evenair emulate`.

use super::run::{self, How, RunOptions};
use crate::STOPPED;
use crate::interrupt;
use crate::live::Emulator;
use crate::output::warn;
use crate::terminal;
use anyhow::{Context, Error, Result, bail, ensure};
use clap::Args;
use evenair_emulator::Program;
use evenair_linux::sandbox;
use evenair_linux::uplink::{self, Uplink};
use evenair_needs::find;
use evenair_scenario::{Resolved, Time};
use evenair_study::Live;
use evenair_units::{Duration, Instant};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Exit statuses as `env` has them: ours, when there is no emulation.
const FAILED: u8 = 125;

#[derive(Debug, Args)]
#[command(
    after_help = "Each node is a network namespace of its own with one device, which is the air; nothing needs root, and nothing is left behind. \
    Without programs, the scenario's own flows run over sockets of this machine's kernel, for the scenario's warmup and duration.\n\n\
    Programs find nodes by their names: ping b; a node that is called by a number as node-3, too. They end when the last of them, which is in the foreground, ends.\n\n\
    Exit status: that of the program in the foreground; 125 where evenair itself fails, 126 where the program cannot be started, 127 \
    where it is not found.\n\n\
    Examples:\n  \
    evenair emulate chen10/a --set warmup='5 s' --set duration='20 s'\n  \
    evenair emulate jam10/chain -- ping -c 3 node-3\n  \
    evenair emulate jam10/chain --at 3='iperf3 -s' --at 0='iperf3 -c node-3'\n  \
    evenair emulate jam10/chain --shell 0"
)]
pub(crate) struct EmulateOptions {
    #[command(flatten)]
    pub(crate) runs: RunOptions,
    /// Run a program at a node; the last one named is in the foreground. Words are split at blanks, quotes keep them together;
    /// no shell looks at them
    #[arg(long, value_name = "NODE=COMMAND")]
    pub(crate) at: Vec<String>,
    /// Open your shell at a node, in the foreground
    #[arg(long, value_name = "NODE", conflicts_with = "command")]
    pub(crate) shell: Option<String>,
    /// Run a program at the scenario's first node, in the foreground
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Let the scenario's own flows run beside the programs
    #[arg(long)]
    pub(crate) with_flows: bool,
    /// A router: packets through this node go through its kernel, with its routing tables, queues and nftables; may be given
    /// several times
    #[arg(long, value_name = "NODE")]
    pub(crate) router: Vec<String>,
    /// Connect the programs to the machine's own network and the Internet through this node, by slirp4netns
    #[arg(long, value_name = "NODE")]
    pub(crate) internet: Option<String>,
    /// Give up when a packet is later than this against its simulated instant, such as 5ms
    #[arg(long, value_name = "TIME", value_parser = late)]
    pub(crate) abort_late: Option<Duration>,
    /// While a node's simulated queue is full, keep packets in its kernel's device queue (1000 packets), as a radio's driver does.
    /// Without it, they are lost at the node, as a simulated flow's are
    #[arg(long)]
    pub(crate) backpressure: bool,
}

/// Reads "5ms".
fn late(text: &str) -> Result<Duration, String> {
    Ok(text.parse::<Time>()?.0)
}

pub(crate) fn emulate(options: &EmulateOptions) -> ExitCode {
    let mut status = FAILED;
    match run(options, &mut status) {
        Ok(()) => ExitCode::from(status),
        Err(error) => {
            terminal::error(format_args!("{error:#}"));
            ExitCode::from(status)
        }
    }
}

/// Makes the runs; `status` is that with which the command ends.
fn run(options: &EmulateOptions, status: &mut u8) -> Result<()> {
    let scenario = options.runs.scenario.resolve()?;
    ensure!(!scenario.moves(), "nodes that move are not built for emulate; take evenair run");
    let programs = options.programs(&scenario)?;
    let routers = options.routers(&scenario)?;
    let (has_programs, without_flows) = (!programs.is_empty(), !programs.is_empty() && !options.with_flows);
    options.check(has_programs)?;
    options.runs.check(if has_programs { Instant::NEVER } else { run::end(&scenario) })?;
    if !without_flows {
        warn(&scenario);
    }
    let uplink = options.uplink(&scenario)?;
    sandbox::enter()?;
    if uplink.is_some() {
        let text = format!("nameserver {}\n", uplink::NAME_SERVER);
        sandbox::replace("/etc/resolv.conf".as_ref(), &text).context("cannot set the name servers")?;
    }
    sandbox::replace("/etc/hosts".as_ref(), &names(&scenario)).context("cannot give nodes their names")?;
    if has_programs {
        // Ctrl-C is for the program in the foreground, and its end is the end of all.
        ctrlc::set_handler(|| ())?;
    } else {
        interrupt::watch();
    }
    let abort_late = options.abort_late;
    let backpressure = options.backpressure;
    let emulator = Emulator {
        programs,
        routers,
        uplink,
        without_flows,
        abort_late,
        backpressure,
        ..Emulator::default()
    };
    let emulator = Arc::new(emulator);
    let live: Arc<dyn Live> = Arc::clone(&emulator) as _;
    let done = run::conduct(
        &options.runs,
        &scenario,
        &How { command: "emulate", live: Some(live), is_silent: without_flows },
    );
    let ended = emulator.status.load(Ordering::Relaxed);
    *status = match &done {
        Err(_) if interrupt::STOP.load(Ordering::Relaxed) => STOPPED,
        Err(_) if ended == 0 => FAILED,
        _ => ended,
    };
    done
}

impl EmulateOptions {
    /// The nodes that are routers.
    fn routers(&self, scenario: &Resolved) -> Result<Vec<u32>> {
        let routers: Result<BTreeSet<u32>, String> =
            self.router.iter().map(|name| scenario.node(name)).collect();
        Ok(routers.map_err(|error| Error::msg(format!("--router: {error}")))?.into_iter().collect())
    }

    /// The node through which the machine's own network is reached, and the device that forwards there: outside of the sandbox,
    /// hence made before.
    fn uplink(&self, scenario: &Resolved) -> Result<Option<(u32, Uplink)>> {
        let Some(name) = &self.internet else { return Ok(None) };
        let node = scenario.node(name).map_err(|error| Error::msg(format!("--internet: {error}")))?;
        let program = uplink::PROGRAM;
        ensure!(
            find(program).is_some(),
            "--internet: {program} is not installed; it is in the package {program}"
        );
        Ok(Some((node, Uplink::new().context("--internet: no process outside of the sandbox")?)))
    }

    /// Options without effect are refused.
    fn check(&self, has_programs: bool) -> Result<()> {
        ensure!(
            has_programs || !self.with_flows,
            "--with-flows has no effect: without programs the flows run in any case"
        );
        let repeats = self.runs.seeds > 1 || self.runs.precision.is_some();
        ensure!(!has_programs || !repeats, "--seeds and --precision have no effect: programs run once");
        Ok(())
    }

    /// The programs with their nodes, the one in the foreground last.
    fn programs(&self, scenario: &Resolved) -> Result<Vec<Program>> {
        let nodes = &scenario.network().nodes;
        let node = |name: &str| scenario.node(name).map_err(Error::msg);
        let mut programs = Vec::new();
        for at in &self.at {
            let Some((name, command)) = at.split_once('=') else {
                bail!("--at {at}: write NODE=COMMAND, such as --at {}='iperf3 -s'", nodes[0]);
            };
            let words = shlex::split(command).filter(|words| !words.is_empty());
            let words =
                words.with_context(|| format!("--at {at}: a quote is not closed, or there is no command"))?;
            programs.push(Program { node: node(name)?, words });
        }
        if let Some(name) = &self.shell {
            let shell = std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".into());
            programs.push(Program { node: node(name)?, words: vec![shell] });
        }
        if !self.command.is_empty() {
            programs.push(Program { node: 0, words: self.command.clone() });
        }
        Ok(programs)
    }
}

/// Names of nodes for programs, as /etc/hosts has them.
fn names(scenario: &Resolved) -> String {
    let nodes = &scenario.network().nodes;
    let addresses = evenair_emulator::Addresses::of(nodes.len() as u32);
    let mut text = String::from("127.0.0.1 localhost\n::1 localhost\n");
    for (name, node) in nodes.iter().zip(0..) {
        // A name of digits alone would be read as an address.
        let names = format!("{name} node-{name}");
        let _ = write!(text, "{} {names}\n{} {names}\n", addresses.ipv4(node), addresses.ipv6(node));
    }
    text
}
