//! `evenair backoff`.

use crate::text::columns;
use anyhow::{Context, Error, Result, bail};
use clap::{Args, Subcommand};
use evenair_access::radio::{Found, Known, Linux, Radio, driver};
use evenair_access::run::{self, RunOptions};
use evenair_access::trial::{self, Trial};
use evenair_access::{Config, Mode, config, metrics, role, status, tape};
use evenair_laws::backoff::{Category, Registers};
use evenair_linux::wireless::Station;
use evenair_units::{Duration, Rate, printable};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

/// Exit status if the driver takes no registers, or the law cannot run with it.
const TAKES_NONE: u8 = 3;

#[derive(Debug, Args)]
#[command(
    about = "Run a back-off law on a Linux access point: contention windows, AIFSN and TXOP, set ten times a second",
    long_about = "The simulator's back-off law runs on a Linux access point; its registers reach the driver of a stock kernel within \
    the country's limits and is put back; its decisions equal the simulator's. What that does to the air is shown in the \
    simulator and by shares among real mac80211 stations on a simulated medium, not on radio hardware, of which we have \
    none.\n\n\
    It is the restraint of access points with long queues that helps a starving neighbour. An access point that starves gains \
    nothing by running it alone (evenair study lee12/access-points).",
    after_help = "Nothing is set until --enforce, or mode = \"enforce\" in the file.\n\n\
    To begin with:\n  \
    evenair backoff check wlan0\n  \
    evenair backoff run wlan0\n  \
    sudo evenair backoff run wlan0 --enforce --for '10 min'\n  \
    evenair backoff status wlan0"
)]
pub(crate) struct BackoffOptions {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Check whether this interface's registers can be set, by which law, and within which limits
    #[command(
        after_help = "Example:\n  evenair backoff check wlan0\n  sudo evenair backoff check wlan0 --trial"
    )]
    Check(CheckArguments),
    /// Run a law until Ctrl-C, and put the registers back
    #[command(
        after_help = "Example:\n  sudo evenair backoff run wlan0 --enforce --law virtual-queue --set aifsn=3 --tape wlan0.tape"
    )]
    Run(RunArguments),
    /// Show the observations and registers of a running law
    #[command(after_help = "Example:\n  evenair backoff status wlan0")]
    Status(StatusArguments),
    /// Put back the registers that a killed run left
    #[command(after_help = "Example:\n  sudo evenair backoff restore wlan0")]
    Restore(Place),
    /// Run a law over a tape, and compare its registers
    #[command(
        after_help = "Example:\n  evenair backoff replay wlan0.tape\n  evenair backoff replay wlan0.tape --law optimal"
    )]
    Replay(ReplayArguments),
}

/// The access point, by a file or by options.
#[derive(Debug, Args)]
struct Place {
    /// The access point's interface
    #[arg(value_name = "INTERFACE", required_unless_present = "config")]
    interface: Option<String>,
    /// A file with interface, mode, category, law and restore
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The folder of state and status
    #[arg(long, value_name = "FOLDER", conflicts_with = "config", default_value = config::STATE)]
    state: PathBuf,
}

#[derive(Debug, Args)]
struct LawArguments {
    /// The law: virtual-queue, optimal, queueing-delay or adaptive
    #[arg(long, conflicts_with = "config")]
    law: Option<String>,
    /// A key of the law, such as b=0.02; evenair list laws backoff names them
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "config")]
    set: Vec<String>,
}

#[derive(Debug, Args)]
struct CheckArguments {
    #[command(flatten)]
    place: Place,
    /// Set the largest windows for 5 s while you saturate the link, and measure whether the driver obeys
    #[arg(long)]
    trial: bool,
    /// Do not ask before the trial
    #[arg(long, requires = "trial")]
    yes: bool,
}

#[derive(Debug, Args)]
struct RunArguments {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    law: LawArguments,
    /// Set registers
    #[arg(long, conflicts_with = "observe")]
    enforce: bool,
    /// Set nothing, even if the file has mode = "enforce"
    #[arg(long)]
    observe: bool,
    /// End after this time, such as '10 min'
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    ends_after: Option<Duration>,
    /// Write the law's observations and answers to a new file
    #[arg(long, value_name = "FILE")]
    tape: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct StatusArguments {
    #[command(flatten)]
    place: Place,
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
    /// Print metrics as Prometheus reads them, for a collector of text files
    #[arg(long, conflicts_with = "json")]
    metrics: bool,
}

#[derive(Debug, Args)]
struct ReplayArguments {
    /// The tape
    tape: PathBuf,
    /// Another law
    #[arg(long)]
    law: Option<String>,
    /// A key of the other law
    #[arg(long, value_name = "KEY=VALUE", requires = "law")]
    set: Vec<String>,
    /// Print every update, not only those that differ
    #[arg(long)]
    all: bool,
}

/// Parses "10 min", "10min" or "300 s".
fn time(text: &str) -> Result<Duration, String> {
    let minutes = text.strip_suffix("min").and_then(|minutes| minutes.trim().parse::<u64>().ok());
    let time = match minutes {
        Some(minutes) => Duration::from_secs(minutes.saturating_mul(60)),
        None => text.parse().map_err(|_| "give a time such as '10 min' or '90 s'")?,
    };
    if time.is_zero() { Err("give a time above 0".into()) } else { Ok(time) }
}

/// Runs a command.
pub(crate) fn backoff(options: &BackoffOptions) -> ExitCode {
    let done = match &options.verb {
        Verb::Check(arguments) => check(arguments),
        Verb::Run(arguments) => run(arguments),
        Verb::Status(arguments) => status(arguments),
        Verb::Restore(place) => restore(place),
        Verb::Replay(arguments) => replay(arguments),
    };
    let Err(error) = done else { return ExitCode::SUCCESS };
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    if kind == Some(io::ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    crate::terminal::error(format_args!("{}", printable(&format!("{error:#}"), usize::MAX)));
    ExitCode::from(if kind == Some(io::ErrorKind::Unsupported) { TAKES_NONE } else { crate::BAD_INPUT })
}

/// Prints a line that may contain foreign names. A reader that is gone does not end a run: registers are put back at its end.
fn say(words: &str) {
    for line in words.lines() {
        let _ = writeln!(anstream::stdout(), "{}", printable(line, usize::MAX));
    }
}

/// Returns the configuration of options or of the file.
fn configured(place: &Place, law: Option<&LawArguments>) -> Result<Config> {
    if let Some(path) = &place.config {
        let config = Config::load(path).map_err(Error::msg)?;
        if place.interface.as_ref().is_some_and(|given| *given != config.interface) {
            bail!("{} is for {}; leave the interface out", path.display(), config.interface);
        }
        return Ok(config);
    }
    let mut table = toml::Table::new();
    if let Some(name) = law.and_then(|law| law.law.clone()) {
        table.insert("law".into(), name.into());
    }
    for given in law.iter().flat_map(|law| &law.set) {
        let (key, value) = key_and_value(given)?;
        table.insert(key, value);
    }
    let interface = place.interface.as_deref().unwrap_or_default();
    Config::of_options(interface, &place.state, table).map_err(Error::msg)
}

/// Parses `key=value`; a value that is not one of TOML is a text.
fn key_and_value(given: &str) -> Result<(String, toml::Value)> {
    let (key, value) =
        given.split_once('=').with_context(|| format!("--set {given}: give KEY=VALUE, such as b=0.02"))?;
    let (key, value) = (key.trim(), value.trim());
    let parsed = format!("x = {value}").parse::<toml::Table>().ok().and_then(|mut table| table.remove("x"));
    Ok((key.into(), parsed.unwrap_or_else(|| value.into())))
}

fn run(arguments: &RunArguments) -> Result<()> {
    let RunArguments { place, law, enforce, observe, ends_after, tape } = arguments;
    let mut config = configured(place, Some(law))?;
    if *enforce {
        config.mode = Mode::Enforce;
    }
    if *observe {
        config.mode = Mode::Observe;
    }
    let options = RunOptions { ends_after: *ends_after, tape: tape.clone() };
    Ok(run::run(&config, &options, say)?)
}

fn restore(place: &Place) -> Result<()> {
    let config = configured(place, None)?;
    say(&run::restore(&config)?);
    Ok(())
}

fn status(arguments: &StatusArguments) -> Result<()> {
    let config = configured(&arguments.place, None)?;
    let status = status::ask(&config.state, &config.interface)?;
    if arguments.json {
        say(&serde_json::to_string_pretty(&status)?);
        return Ok(());
    }
    if arguments.metrics {
        say(&metrics::text(&status));
        return Ok(());
    }
    let or_none =
        |registers: Option<Registers>| registers.map_or("-".into(), |registers| registers.to_string());
    let acts = status.waits.as_ref().map_or("acts".into(), |why| format!("waits: {why}"));
    let rows = [
        ["interface", &status.interface],
        ["law", &format!("{}, {acts}", status.law)],
        ["mode", if status.mode == Mode::Enforce { "enforce" } else { "observe: nothing is set" }],
        ["aggressiveness", &status.aggressiveness.map_or("-".into(), |value| format!("{value:.3}"))],
        ["backlog", &format!("{} packets", status.backlog_packets)],
        ["rate", &format!("{:.1} Mb/s", status.rate_bps as f64 / 1e6)],
        ["wanted", &or_none(status.wanted)],
        ["accepted", &or_none(status.accepted)],
        ["put back at the end", &status.restore.to_string()],
        ["updates", &status.updates.to_string()],
        ["looks after messages", &status.looks.to_string()],
        ["sets", &status.sets.to_string()],
        ["cut by limits", &status.cuts.to_string()],
    ];
    say(&columns(&rows.map(|row| row.map(String::from).to_vec())));
    if status.aggregates {
        say(AGGREGATES);
    }
    Ok(())
}

const AGGREGATES: &str = "802.11n or later: one access to the channel carries an aggregate of up to 5.5 ms, so the law's \
    holding time is an aggregate's, and TXOP 0 is one aggregate";

fn check(arguments: &CheckArguments) -> Result<()> {
    let config = configured(&arguments.place, None)?;
    let mut radio = Linux::new(&config.interface, config.category)?;
    let Some(found) = radio.find()? else {
        let names = radio.names()?;
        let there =
            if names.is_empty() { "there is none".into() } else { format!("there are {}", names.join(", ")) };
        bail!("{}: no such Wi-Fi interface; {there}", config.interface);
    };
    let mut against = Vec::new();
    describe(&config, &found, &mut against);
    if found.against().is_none() {
        describe_stations(&config, &found, &radio.stations()?);
    }
    if !against.is_empty() {
        bail!("registers cannot be set: {}", against.join("; "));
    }
    if arguments.trial { trial(&config, arguments.yes) } else { Ok(()) }
}

/// Describes the stations: the laws that their counters allow, their rates, and the data per channel access.
fn describe_stations(config: &Config, found: &Found, stations: &[Station]) {
    if stations.is_empty() {
        return say("stations: none, so rates and queues are not known yet");
    }
    let number = Category::ALL.iter().position(|one| *one == config.category).unwrap_or_default();
    let laws = if stations.iter().any(|station| station.queues[number].has_queue) {
        "the kernel counts their queues (TXQ statistics), so every law can run"
    } else {
        "the kernel counts only their sent packets, without queues (TXQ statistics), so only law = \"virtual-queue\" by \
         packets can run"
    };
    say(&format!("stations: {}; {laws}", stations.len()));
    let rates = stations.iter().map(|one| one.rate_100kbps);
    let [least, most] = [rates.clone().min(), rates.max()].map(Option::unwrap_or_default);
    let mbps = |rate: u32| f64::from(rate) / 10.0;
    say(&format!("rates of the last frames: {:.1} to {:.1} Mb/s", mbps(least), mbps(most)));
    let newer = stations.iter().filter(|one| one.is_high_throughput).count();
    if newer > 0 {
        say(&format!("stations at rates of 802.11n or later, with aggregates: {newer}"));
    }
    let rate = Rate::from_kbps(u64::from(most) * 100);
    let frequency = found.interface.frequency_mhz.unwrap_or_default();
    let role = role::role(frequency, rate, config.mtu, config.category);
    say(&format!("an access with TXOP 0: {}", role::holding(&role, rate, newer > 0)));
}

/// Describes an interface; adds the reasons against setting its registers.
fn describe(config: &Config, found: &Found, against: &mut Vec<String>) {
    let name = &config.interface;
    match found.against() {
        Some(why) => against.push(why),
        None => say(&format!("{name}: an access point")),
    }
    if let Some(driver) = driver(name) {
        let known = Known::of(&driver);
        say(&format!("driver: {driver}; {known}"));
        if known == Known::TakesNone {
            against.push(format!("the driver {driver} {known}"));
        }
    }
    match found.interface.frequency_mhz {
        Some(frequency) => say(&format!("channel: {frequency} MHz")),
        None => against.push(format!("{name} has no channel yet; start hostapd")),
    }
    match found.limits {
        None => say("limits: its country sets none on this channel"),
        Some(limits) => say(&format!(
            "limits of its country: CWmin {}, CWmax {} and AIFSN {} or more, TXOP {} us or less",
            limits.window_min,
            limits.window_max,
            limits.aifsn,
            limits.txop_units * 32
        )),
    }
    if found.interface.aggregates {
        say(AGGREGATES);
    }
    if !found.others.is_empty() {
        let others = found.others.join(", ");
        say(&format!(
            "other access points of this radio: {others}; many drivers set them, too (whole_radio = true)"
        ));
        if !config.whole_radio {
            against.push(format!(
                "{others} would be set, too; write whole_radio = true in a file if they may be"
            ));
        }
    }
    say(&format!("put back at the end: {} ({})", config.restore.0, config.restore.1));
}

/// The least packets per second of which a trial tells: a saturated link of 1 Mb/s has 80.
const TELLING: f64 = 20.0;

fn trial(config: &Config, yes: bool) -> Result<()> {
    say("The trial takes 10 s. Saturate the link now, for example by a download at a station.");
    if !yes {
        if !io::stdin().is_terminal() {
            bail!("no terminal to ask at; give --yes");
        }
        write!(anstream::stdout(), "Set the largest windows for the last 5 s of it? [y/N] ")?;
        io::stdout().flush()?;
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        if !answer.trim().eq_ignore_ascii_case("y") {
            return Ok(());
        }
    }
    let Trial { before, during } = trial::trial(config)?;
    say(&format!("{before:.0} packets/s before, {during:.0} with CWmin 1023 and AIFSN 15"));
    if before < TELLING {
        bail!("too few packets to tell; saturate the link, and try again");
    }
    say(if during < 0.7 * before {
        "the driver obeys"
    } else {
        "the driver does not obey, or the link was not saturated"
    });
    Ok(())
}

fn replay(arguments: &ReplayArguments) -> Result<()> {
    let shown = arguments.tape.display().to_string();
    let text = std::fs::read_to_string(&arguments.tape).with_context(|| shown.clone())?;
    let other = arguments.law.as_ref().map(|name| {
        let mut table = toml::Table::new();
        table.insert("law".into(), name.as_str().into());
        for given in &arguments.set {
            let (key, value) = key_and_value(given)?;
            table.insert(key, value);
        }
        config::law(&table).map_err(Error::msg)
    });
    let other = other.transpose()?;
    let header = ["update", "on the tape", "replayed"].map(String::from).to_vec();
    let (mut rows, mut number) = (vec![header], 0);
    let replayed = tape::replay(&text, other.as_ref(), |entry, again| {
        number += 1;
        if arguments.all || entry.registers != again {
            rows.push(vec![number.to_string(), entry.registers.to_string(), again.to_string()]);
        }
    });
    let replayed = replayed.map_err(|why| Error::msg(format!("{shown}: {why}")))?;
    if rows.len() > 1 {
        say(&columns(&rows));
    }
    say(&format!("{} updates, {} differ", replayed.updates, replayed.differing));
    if let (Some(line), None) = (replayed.first, &other) {
        bail!(
            "{shown}: line {line}: the law answers otherwise here: it is of another version, or the tape was changed"
        );
    }
    Ok(())
}
