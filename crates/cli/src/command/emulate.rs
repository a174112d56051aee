//! `evenair emulate`.

use super::doctor;
use crate::arguments::ScenarioArguments;
use crate::interrupt::{self, STOP};
use crate::output::{print, warn};
use crate::terminal;
use crate::text;
use anyhow::{Context, Error, Result, bail, ensure};
use clap::Args;
use evenair_emulator::{Emulated, HostReport, Lateness, Options, Problem, Program, Strays};
use evenair_linux::sandbox;
use evenair_linux::uplink::{self, Uplink};
use evenair_netsim::Watchers;
use evenair_results::{RecordOptions, RunRecord, SCHEMA_VERSION};
use evenair_scenario::{Resolved, Time};
use evenair_units::Duration;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::ExitCode;

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
    pub(crate) scenario: ScenarioArguments,
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
    /// A router: what passes this node goes through its kernel, with its routing tables, queues and nftables; may be given several times
    #[arg(long, value_name = "NODE")]
    pub(crate) router: Vec<String>,
    /// Let programs reach the machine's own network, and the Internet, through this node, by slirp4netns
    #[arg(long, value_name = "NODE")]
    pub(crate) internet: Option<String>,
    /// Give up when a packet is later than this against its simulated instant, such as 5ms
    #[arg(long, value_name = "TIME", value_parser = late)]
    pub(crate) abort_late: Option<Duration>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Reads "5ms".
fn late(text: &str) -> Result<Duration, String> {
    Ok(text.parse::<Time>()?.0)
}

/// The result, as JSON has it.
#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    command: &'static str,
    #[serde(flatten)]
    run: &'a RunRecord,
    lateness: &'a Lateness,
    strays: Strays,
    host: &'a HostReport,
}

pub(crate) fn emulate(options: &EmulateOptions) -> ExitCode {
    match run(options) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            terminal::error(format_args!("{error:#}"));
            let not_started = error.downcast_ref::<Problem>().and_then(|problem| match problem {
                Problem::Program(program) => Some(program.status()),
                _ => None,
            });
            ExitCode::from(not_started.unwrap_or(FAILED))
        }
    }
}

fn run(options: &EmulateOptions) -> Result<u8> {
    let scenario = options.scenario.resolve()?;
    let programs = options.programs(&scenario)?;
    let routers = options.routers(&scenario)?;
    let with_flows = programs.is_empty() || options.with_flows;
    ensure!(
        with_flows || !options.json,
        "--json has no effect: with programs there is no result of the scenario's flows; say --with-flows, or leave it out"
    );
    if with_flows {
        warn(&scenario);
    }
    let settings = scenario.settings();
    let uplink = options.uplink(&scenario)?;
    sandbox::enter()?;
    if uplink.is_some() {
        let text = format!("nameserver {}\n", uplink::NAME_SERVER);
        sandbox::replace("/etc/resolv.conf".as_ref(), &text).context("cannot say who resolves names")?;
    }
    sandbox::replace("/etc/hosts".as_ref(), &names(&scenario)).context("cannot give nodes their names")?;
    interrupt::watch();
    let keep = RecordOptions { times: true, ..RecordOptions::default() };
    let mut spec = keep.run_spec(&scenario, settings.seed);
    if !programs.is_empty() {
        spec.warmup = Duration::ZERO;
    }
    let asked = Options {
        programs: &programs,
        with_flows,
        routers: &routers,
        uplink: uplink.as_ref().map(|(node, uplink)| (*node, uplink)),
        abort_late: options.abort_late,
    };
    let emulated =
        evenair_emulator::emulate(scenario.network(), spec, &asked, &STOP, &mut Watchers::default())?;
    let status = emulated.status.unwrap_or(0);
    let Emulated { result, lateness, strays, host, .. } = emulated;
    let record = RunRecord::new(&scenario, result, keep);
    if options.json {
        let document = Document {
            schema_version: SCHEMA_VERSION,
            command: "emulate",
            run: &record,
            lateness: &lateness,
            strays,
            host: &host,
        };
        print(&(serde_json::to_string(&document)? + "\n"))?;
    } else if with_flows {
        print(&as_text(options, &scenario, &record, (&lateness, strays, &host)))?;
    } else if is_late(&lateness) || strays.unread > 0 {
        let unread = if strays.unread > 0 {
            format!("; {} were dropped before they were read", strays.unread)
        } else {
            String::new()
        };
        terminal::warn(format_args!("{}{unread}", timing(&lateness)));
    }
    Ok(status)
}

impl EmulateOptions {
    /// The nodes that are routers.
    fn routers(&self, scenario: &Resolved) -> Result<Vec<u32>> {
        let routers: Result<BTreeSet<u32>, String> =
            self.router.iter().map(|name| scenario.node(name)).collect();
        Ok(routers.map_err(|error| Error::msg(format!("--router: {error}")))?.into_iter().collect())
    }

    /// The node through which the machine's own network is reached, and what carries it there: outside of the sandbox, hence made before.
    fn uplink(&self, scenario: &Resolved) -> Result<Option<(u32, Uplink)>> {
        let Some(name) = &self.internet else { return Ok(None) };
        let node = scenario.node(name).map_err(|error| Error::msg(format!("--internet: {error}")))?;
        let program = uplink::PROGRAM;
        ensure!(
            doctor::find(program).is_some(),
            "--internet: {program} is not installed; it is in the package {program}"
        );
        Ok(Some((node, Uplink::new().context("--internet: no process outside of the sandbox")?)))
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

fn as_text(
    options: &EmulateOptions,
    scenario: &Resolved,
    record: &RunRecord,
    (lateness, strays, host): (&Lateness, Strays, &HostReport),
) -> String {
    let settings = scenario.settings();
    let name = if settings.name.is_empty() { options.scenario.called() } else { &settings.name };
    let head = format!(
        "{name}: {:.1} s after {} of warm-up, in real time, over Linux {}",
        record.measured_s, settings.warmup, host.kernel
    );
    let mut text = text::wrapped("", &head, terminal::width()) + "\n";
    text += &text::runs(std::slice::from_ref(record), false);
    let simulated: Vec<&str> = (record.flows.iter().map(|flow| flow.flow.as_str()))
        .filter(|flow| !host.real_flows.iter().any(|real| real == flow))
        .collect();
    if !simulated.is_empty() {
        let _ =
            writeln!(text, "\nSimulated, since Linux has nothing like them: flows {}", simulated.join(", "));
    }
    for failed in &host.failed_flows {
        terminal::warn(format_args!("a connection could not be opened: flow {failed}"));
    }
    let _ = writeln!(text, "\n{}", timing(lateness));
    if strays != Strays::default() {
        let Strays { no_route, no_packet, hops_used_up, refused, unread } = strays;
        let _ = writeln!(
            text,
            "Beside the air: {no_route} packets without a route, {no_packet} that are no IP packets, {hops_used_up} whose hops were used up, {refused} refused by their kernel, {unread} dropped before they were read{}",
            if unread > 0 { ": do not trust figures of whoever sent them" } else { "" }
        );
    }
    text
}

/// Whether more than a thousandth of the packets were later than a millisecond, and more than a few.
fn is_late(lateness: &Lateness) -> bool {
    lateness.beyond_1ms * lateness.packets as f64 > (lateness.packets as f64 / 1000.0).max(10.0)
}

/// How much to trust the figures.
fn timing(lateness: &Lateness) -> String {
    let &Lateness { p50_s, p99_s, most_s, beyond_1ms, packets, .. } = lateness;
    let verdict = if is_late(lateness) { ": do not trust figures that hang on milliseconds" } else { "" };
    format!(
        "{packets} packets, late by {:.0} µs in the median, {:.0} µs at the 99th percentile, {:.1} ms at most; {:.2} % later than 1 ms{verdict}",
        p50_s * 1e6,
        p99_s * 1e6,
        most_s * 1e3,
        beyond_1ms * 100.0
    )
}
