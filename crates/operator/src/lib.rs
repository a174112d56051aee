//! `evenair gateway`: the operator's commands, for the complete evenair and for the command for
//! routers.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "this is where printing lives")]

/// Prints text that may contain foreign names: of subscribers, hosts, devices and rules.
macro_rules! say {
    ($($words:tt)*) => { anstream::println!("{}", crate::lines(&format!($($words)*))) };
}

mod replay;
mod status;

use anyhow::{Context, Error, Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use evenair_gateway::config::{Config, LastLeases, Mode};
use evenair_gateway::control::{Answer, Request, ask};
use evenair_gateway::kernel::{AllFound, Kernel, Root};
use evenair_gateway::plan::{Names, difference};
use evenair_gateway::run::{self, Ended, RunOptions, wall_ms};
use evenair_gateway::subscribers::Place;
use evenair_gateway::{
    Gateway, Linux, Meaning, Memory, Mistake, OperatorFiles, Side, Subscriber, Subscribers,
};
use evenair_units::{Instant, printable};
use std::path::{Path, PathBuf};

/// Exit status of a daemon that another is to follow (`EX_TEMPFAIL` of sysexits.h).
const HANDED_OVER: i32 = 75;

/// The options of `evenair gateway`.
#[derive(Debug, Args)]
#[command(
    after_help = "One box between a mesh and the Internet, no software on the nodes: a token bucket for each subscriber and direction in this machine's own queues, \
    and once an epoch a law of [Jam10] sets their rates by the counts of the queues. Begin by observing; nothing is changed until the file has mode = \"enforce\".\n\n\
    A file to begin with (gateway.toml):\n  \
    mesh = \"mesh0\"            # the device towards the mesh\n  \
    uplink = \"wan0\"           # the device towards the Internet\n  \
    link_rate = \"20 Mbps\"     # what the gateway's own radio link carries\n  \
    subscribers = \"subscribers.csv\"   # id,name,prefixes,weight,cap\n\n\
    Then: check, plan, run, and in another terminal: status, why NAME."
)]
pub struct GatewayOptions {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Check the file, and list the features that this machine has and lacks for it
    #[command(
        after_help = "Nothing is changed. Exit status 2 where the file is wrong, or the machine would not enforce it.\n\nExample:\n  evenair gateway check gateway.toml"
    )]
    Check(FileArgument),
    /// Print the changes that `run` would make, as lines of tc, nft and ethtool; nothing is changed
    #[command(
        after_help = "The plan goes from the devices' installed state to the law's initial rates; without the devices, from nothing.\n\n\
    Example:\n  evenair gateway plan gateway.toml"
    )]
    Plan(FileArgument),
    /// Run the gateway in the foreground, until Ctrl-C or SIGTERM; SIGHUP reloads the file
    #[command(
        after_help = "At the end the devices are as they were before (on_stop = \"remove\"). After a crash or a kill -9 the next run adopts the installed state, and `clear` removes it. \
    It needs CAP_NET_ADMIN and CAP_NET_RAW: root has both, and so does a user inside a user namespace.\n\n\
    Examples:\n  \
    evenair gateway run gateway.toml\n  \
    evenair gateway run gateway.toml --mode enforce --confirm 5min    # then, if all is well: evenair gateway confirm gateway.toml"
    )]
    Run(RunArguments),
    /// Show all subscribers: rates, limits, and their bounds
    #[command(
        after_help = "Examples:\n  evenair gateway status gateway.toml --watch\n  evenair gateway status gateway.toml --json"
    )]
    Status(StatusArguments),
    /// Explain a subscriber's rates, in words for customers
    #[command(after_help = "Example:\n  evenair gateway why gateway.toml anna")]
    Why(WhyArguments),
    /// Open all limits until `resume`
    #[command(after_help = "Example:\n  evenair gateway pause gateway.toml")]
    Pause(FileArgument),
    /// Set the limits again
    #[command(after_help = "Example:\n  evenair gateway resume gateway.toml")]
    Resume(FileArgument),
    /// Confirm a trial that `run --confirm` started: its settings stay
    #[command(after_help = "Example:\n  evenair gateway confirm gateway.toml")]
    Confirm(FileArgument),
    /// Reload the file, without a gap
    #[command(
        after_help = "If the file has mistakes, prints them and keeps the last good one.\n\nExample:\n  evenair gateway reload gateway.toml"
    )]
    Reload(FileArgument),
    /// Stop, and leave the limits to the next `run`, which adopts them without losing a packet: for
    /// upgrades
    #[command(
        after_help = "The daemon ends with exit status 75, at which the service in the package starts the new one.\n\nExample:\n  evenair gateway hand-over gateway.toml"
    )]
    HandOver(FileArgument),
    /// Remove the remains of a gateway that has ended, and nothing else
    #[command(after_help = "Example:\n  evenair gateway clear gateway.toml")]
    Clear(ClearArguments),
    /// Replay a record, with its own law or with another
    #[command(
        after_help = "The law on record repeats every decision bit for bit; otherwise the exit status is 1. For another law the output has its rates beside those on record, without the \
subscribers' reaction to them.\n\n\
    Examples:\n  \
    evenair gateway replay /var/lib/evenair/log\n  \
    evenair gateway replay log --law fixed\n  \
    evenair gateway replay log --law '{\"law\": \"pfrc\", \"gamma\": 0.9}'"
    )]
    Replay(replay::ReplayArguments),
    /// Print all data for a report of a problem: file, machine, kernel state, the record's last lines
    #[command(
        after_help = "The output has names and addresses: read it before you send it.\n\nExample:\n  evenair gateway support-dump gateway.toml > dump.txt"
    )]
    SupportDump(FileArgument),
}

#[derive(Debug, Args)]
struct FileArgument {
    /// The gateway's file
    #[arg(default_value = "/etc/evenair/gateway.toml")]
    file: PathBuf,
}

#[derive(Debug, Args)]
struct RunArguments {
    #[command(flatten)]
    file: FileArgument,
    /// Override the file's mode
    #[arg(long)]
    mode: Option<ModeArgument>,
    /// Replace foreign queues on the devices, and restore them at the end
    #[arg(long)]
    take_over: bool,
    /// Stop after this time and restore the earlier state, unless confirmed; such as 5min
    #[arg(long, value_name = "TIME", value_parser = minutes)]
    confirm: Option<evenair_units::Duration>,
    /// If the file has a mistake, use the last one that worked: for services, which are restarted after
    /// a crash
    #[arg(long)]
    or_last: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModeArgument {
    /// Measure and decide, change nothing
    Observe,
    /// Measure and decide, and report the changes that would be made
    DryRun,
    /// Set the limits
    Enforce,
}

impl From<ModeArgument> for Mode {
    fn from(given: ModeArgument) -> Self {
        match given {
            ModeArgument::Observe => Self::Observe,
            ModeArgument::DryRun => Self::DryRun,
            ModeArgument::Enforce => Self::Enforce,
        }
    }
}

#[derive(Debug, Args)]
struct StatusArguments {
    #[command(flatten)]
    file: FileArgument,
    /// Refresh each second, until Ctrl-C
    #[arg(long, conflicts_with = "json")]
    watch: bool,
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct WhyArguments {
    /// The gateway's file, and the subscriber's id or name; the file is optional
    #[arg(num_args = 1..=2, required = true, value_name = "[FILE] NAME")]
    words: Vec<String>,
}

#[derive(Debug, Args)]
struct ClearArguments {
    #[command(flatten)]
    file: FileArgument,
    /// Also remove a tree and a table with evenair's own number and name that no state folder records
    #[arg(long)]
    all: bool,
    /// Only if the watchdog ended the service (`SERVICE_RESULT` of systemd); after any other end the
    /// next run adopts the limits
    #[arg(long)]
    if_it_hung: bool,
}

/// Parses "5min", "5 m" or "300 s".
fn minutes(text: &str) -> Result<evenair_units::Duration, String> {
    let minutes = text.strip_suffix("min").or_else(|| text.strip_suffix('m'));
    let time = match minutes.and_then(|minutes| minutes.trim().parse::<u64>().ok()) {
        Some(minutes) => evenair_units::Duration::from_secs(minutes.saturating_mul(60)),
        None => text.parse().map_err(|_| "give a time such as 5min or '90 s'")?,
    };
    if time.is_zero() { Err("give a time above 0".into()) } else { Ok(time) }
}

/// The calling program.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Its version.
    pub version: &'static str,
    /// Its layout of rows; the first is the header.
    pub columns: fn(&[Vec<String>]) -> String,
}

/// Runs a command.
///
/// # Errors
/// If the file is invalid, no gateway runs although the command needs one, or the machine refuses. The
/// message names the remedy.
pub fn gateway(options: &GatewayOptions, program: &Program) -> Result<()> {
    done(options, program).map_err(|error| {
        // An error of input and output keeps its kind, which the caller examines.
        if error.is::<std::io::Error>() { error } else { Error::msg(lines(&format!("{error:#}"))) }
    })
}

/// Makes a text printable, line by line.
fn lines(text: &str) -> String {
    text.split('\n').map(|line| printable(line, usize::MAX)).collect::<Vec<_>>().join("\n")
}

fn done(options: &GatewayOptions, program: &Program) -> Result<()> {
    match &options.verb {
        Verb::Check(FileArgument { file }) => check(file),
        Verb::Plan(FileArgument { file }) => plan(file),
        Verb::Run(arguments) => {
            let RunArguments { file, mode, take_over, confirm, or_last } = arguments;
            let options = RunOptions {
                mode: mode.map(Mode::from),
                takes_over: *take_over,
                confirm: *confirm,
                or_last: *or_last,
            };
            match run::run(&file.file, options, |words| say!("{words}"))? {
                Ended::Stopped => Ok(()),
                Ended::HandedOver => std::process::exit(HANDED_OVER),
            }
        }
        Verb::Status(StatusArguments { file, watch, json }) => {
            status::status(&file.file, (*watch, *json), program)
        }
        Verb::Why(arguments) => status::why(&arguments.words),
        Verb::Pause(FileArgument { file }) => tell(file, &Request::Pause),
        Verb::Resume(FileArgument { file }) => tell(file, &Request::Resume),
        Verb::Confirm(FileArgument { file }) => tell(file, &Request::Confirm),
        Verb::Reload(FileArgument { file }) => tell(file, &Request::Reload),
        Verb::HandOver(FileArgument { file }) => tell(file, &Request::HandOver),
        Verb::Clear(ClearArguments { if_it_hung: true, .. }) if !has_hung() => Ok(()),
        Verb::Clear(ClearArguments { file, all, .. }) => {
            say!("{}", run::clear(&file.file, *all)?);
            Ok(())
        }
        Verb::Replay(arguments) => replay::replay(arguments, program),
        Verb::SupportDump(FileArgument { file }) => support_dump(file, program),
    }
}

/// Returns whether the watchdog ended the service that runs this command (`systemd.exec(5)`).
fn has_hung() -> bool {
    std::env::var("SERVICE_RESULT").is_ok_and(|result| result == "watchdog")
}

/// Returns the socket of the gateway that runs with a file. Warns about a mistake in the file, because
/// a running gateway keeps its earlier configuration.
fn socket(file: &Path) -> PathBuf {
    if let Err(mistake) = Config::load(file) {
        anstream::eprintln!(
            "{} (a running gateway goes on with the file it read before)",
            lines(&mistake.to_string())
        );
    }
    Config::socket_of(file)
}

/// Sends a request to a running gateway.
fn tell(file: &Path, request: &Request) -> Result<()> {
    // A reload reports mistakes of the file itself.
    let socket = if *request == Request::Reload { Config::socket_of(file) } else { socket(file) };
    match ask(&socket, request)? {
        Answer::Done(words) => say!("{words}"),
        Answer::Refused(why) => bail!("{why}"),
        Answer::Status(_) => bail!("the gateway answered something else"),
    }
    Ok(())
}

/// Returns the parsed content of a file.
fn meaning(file: &Path) -> Result<Meaning, Mistake> {
    OperatorFiles::read(file)?.meaning(file, wall_ms() / 1000, &mut LastLeases::default())
}

fn check(file: &Path) -> Result<()> {
    let Meaning { config, subscribers, troubles } = meaning(file)?;
    let plural = if subscribers.len() == 1 { "" } else { "s" };
    say!("{}: {} subscriber{plural}", file.display(), subscribers.len());
    troubles.iter().for_each(|trouble| say!("{trouble}"));
    // Without subscribers, shows the law's decision for one.
    let somebody = || Subscribers::new([(Place::default(), Subscriber::new("somebody"))]);
    let limited = if subscribers.is_empty() { somebody()? } else { subscribers.clone() };
    let gateway = Gateway::new(Instant::ZERO, &config, limited, Memory::default());
    let decision = gateway.allocation().decision;
    say!("law: {decision}; a decision every {}", gateway.epoch());
    if decision.reason == evenair_laws::gateway::Reason::Unbounded {
        bail!("the law has no bounds: give link_rate, or capacity_high of the law");
    }
    let mut kernel = Linux::new(&config)?;
    let seen = if kernel.packets().is_some() { "yes" } else { "no (CAP_NET_RAW): the law goes without" };
    say!("kernel {}; busy time: {seen}", evenair_linux::kernel());
    let mut against = Vec::new();
    let found = kernel.find()?;
    for (side, device) in [(Side::Down, &config.mesh), (Side::Up, &config.uplink)] {
        match &found.of(side).root {
            Root::Gone => against.push(format!("{device}: no such device; see: ip link")),
            Root::Usual => say!("{device}: free"),
            Root::Ours => say!("{device}: a tree of evenair's is there, which run adopts"),
            Root::Foreign { kind, major, kept } => {
                let remedy = if kept.is_some() {
                    "run --take-over replaces it until the end"
                } else {
                    "remove it first"
                };
                against.push(format!("{device}: another program's {kind} {major:x}: is its root; {remedy}"));
            }
        }
    }
    let unfit = kernel.unfit(&subscribers)?;
    if unfit.is_empty() {
        against.extend(kernel.bypasses(&subscribers)?.iter().map(ToString::to_string));
    }
    against.extend(unfit);
    against.iter().for_each(|against| say!("{against}"));
    kernel.unchecked_sources().iter().for_each(|why| say!("{why}"));
    let unforwarded = kernel.unforwarded(&config, &subscribers);
    unforwarded.iter().for_each(|why| say!("{why}"));
    match () {
        () if !against.is_empty() => bail!("mode = \"enforce\" would not hold, see above"),
        () if !unforwarded.is_empty() => bail!("this machine forwards nothing, see above"),
        () if config.is_nobodys(&subscribers) => bail!("no subscribers, see above"),
        () => Ok(()),
    }
}

fn plan(file: &Path) -> Result<()> {
    let Meaning { config, subscribers, .. } = meaning(file)?;
    let found = match Linux::new(&config).and_then(|mut kernel| kernel.find()) {
        Ok(found) => found,
        Err(failure) => {
            say!("# {failure}; a plan from nothing:");
            AllFound::default()
        }
    };
    let gateway = Gateway::new(Instant::ZERO, &config, subscribers, Memory::default());
    let plan = difference(&gateway.wanted(false), &found);
    let names = Names::of(&config);
    for line in plan.iter().flat_map(|change| change.lines(&names)) {
        say!("{line}");
    }
    if plan.is_empty() {
        say!("# all stands as it should");
    }
    Ok(())
}

fn support_dump(file: &Path, program: &Program) -> Result<()> {
    say!("evenair {} on {}\n", program.version, evenair_linux::kernel());
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    say!("--- {}\n{text}", file.display());
    let config = match Config::load(file) {
        Ok(config) => config,
        // The report needs the mistake, too.
        Err(mistake) => {
            say!("--- {mistake}\n--- status");
            return status_in(&Config::socket_of(file));
        }
    };
    let found = Linux::new(&config).and_then(|mut kernel| kernel.find());
    say!("--- kernel\n{found:#?}\n--- status");
    status_in(&config.socket())?;
    say!("--- the record's last lines");
    let files = evenair_gateway::log::files(&config.log_folder()).unwrap_or_default();
    if let Some((_, last)) = files.last() {
        let text = evenair_service::file::read(last)?;
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(30)..].iter().for_each(|line| say!("{line}"));
    }
    Ok(())
}

/// Prints the whole status of the gateway at a socket, or the reason for which there is none.
fn status_in(socket: &Path) -> Result<()> {
    match ask(socket, &Request::Status) {
        Ok(answer) => say!("{}", serde_json::to_string_pretty(&answer)?),
        Err(failure) => say!("{failure}"),
    }
    Ok(())
}
