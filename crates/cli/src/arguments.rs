//! What can be said on the command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use evenair_scenario::Time;
use evenair_study::Shard;
use evenair_units::{Duration, Instant};
use std::path::PathBuf;

/// TCP over CSMA, from the optimum to the packet.
///
/// Start with `evenair demo`: it shows within a minute how TCP starves over 802.11, why, and what cures it.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The central study: TCP starves over 802.11, and adaptive CSMA with multi-connection TCP cures it
    Demo(DemoOptions),
    /// Simulate a scenario, packet by packet
    Run(RunOptions),
    /// Solve for the best allocation of a scenario
    Solve(SolveOptions),
    /// Follow a scenario's laws as differential equations, to where they rest
    Fluid(FluidOptions),
    /// Lay optimum, fluid rest, ideal CSMA and 802.11 of one scenario side by side, and name the gaps
    Compare(CompareOptions),
    /// Reproduce a figure or table of a paper, claim by claim
    Study(StudyOptions),
    /// Show a scenario: map, ranges, conflict graph, capacity
    Show(ShowOptions),
    /// List what there is: laws with their parameters and where they may be used, studies, scenarios
    List(ListOptions),
    /// Print the JSON Schema of the scenario language, for editors
    Schema,
}

const SCENARIO_HELP: &str = "A scenario file, or the id of a built-in one such as chen10/a";
const SET_HELP: &str = "Override a key, e.g. --set mac.data_rate='2 Mbps' --set nodes.s1.at='[0, 50]'";

#[derive(Debug, Args)]
#[command(after_help = "Writes DIR/report.html, result.json, tables and a manifest.\n\
    Runs that are finished are kept: running again does only what is missing.")]
pub(crate) struct DemoOptions {
    /// Where results go
    #[arg(long, value_name = "DIR", default_value = "evenair-results/demo")]
    pub(crate) out: PathBuf,
    /// Fewer seeds and shorter runs
    #[arg(long)]
    pub(crate) quick: bool,
    /// Print the result as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    evenair run chen10/a\n  \
    evenair run chen10/a --set preset=ns2 --seeds 5\n  \
    evenair run chen10/a --set backoff.law=adaptive --set connections.k=10 --ledger\n  \
    evenair run chen10/a --timeline 20s..20.1s --out result\n  \
    evenair run jam10/chain --set duration='10 s' --pcap chain.pcap\n  \
    evenair run jam10/grid --precision 5%\n  \
    evenair run my.toml --json --series > result.jsonl")]
pub(crate) struct RunOptions {
    #[arg(value_name = "SCENARIO", help = SCENARIO_HELP)]
    pub(crate) scenario: String,
    #[arg(long, value_name = "KEY=VALUE", help = SET_HELP)]
    pub(crate) set: Vec<String>,
    /// How many seeds, beginning with the scenario's own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) seeds: u32,
    /// Show where each transmitter's time went
    #[arg(long)]
    pub(crate) ledger: bool,
    /// Keep time series (in the JSON, and DIR/series.csv)
    #[arg(long)]
    pub(crate) series: bool,
    /// How often queues and windows are sampled, for series and means
    #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = positive)]
    pub(crate) every: Duration,
    /// Record every frame of a window: who held the air, when, what was lost (in the JSON, and DIR/frames.csv)
    #[arg(long, value_name = "FROM..TO", value_parser = window)]
    pub(crate) timeline: Option<(Instant, Instant)>,
    /// Go on with more seeds until each flow's goodput is known this well: half of its 95 % interval over the largest
    /// goodput, such as 2%
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) precision: Option<f64>,
    /// Also write every frame of the first seed to a capture that Wireshark and tshark read
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    /// Print the result as JSON, one document a line and seed
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write scenario.toml (all defaults resolved), runs.jsonl, and the tables flows.csv, links.csv and, with --series,
    /// series.csv there; the same as Parquet, if evenair was built with --features parquet
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// Reads "20s..20.1s".
fn window(text: &str) -> Result<(Instant, Instant), String> {
    let (from, to) = text.split_once("..").ok_or("write the window as FROM..TO, such as 20s..20.1s")?;
    let at = |text: &str| text.parse::<Time>().map(|time| Instant::ZERO + time.0);
    let (from, to) = (at(from)?, at(to)?);
    if from < to { Ok((from, to)) } else { Err("the window ends before it begins".into()) }
}

/// Reads "10 ms".
fn positive(text: &str) -> Result<Duration, String> {
    let time = text.parse::<Time>()?.0;
    if time < Duration::from_micros(1) { Err("sample at most once a microsecond".into()) } else { Ok(time) }
}

/// Reads "2%" or "0.02".
fn share(text: &str) -> Result<f64, String> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|x| x / 100.0),
        None => text.parse::<f64>(),
    };
    match value {
        Ok(x) if x > 0.0 && x < 1.0 => Ok(x),
        _ => Err("give a share such as 2% or 0.02".into()),
    }
}

/// Reads "2/5".
fn shard(text: &str) -> Result<Shard, String> {
    let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    match parts {
        Some((index, of)) if index >= 1 && index <= of => Ok(Shard { index, of }),
        _ => Err("write the part as I/N, from 1/N to N/N".into()),
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    evenair solve chen10/a\n  \
    evenair solve jam10/grid --objective max-min --region collision-domains\n  \
    evenair solve chen10/a --objective fixed-point --set backoff.law=adaptive --set connections.k=10\n  \
    evenair solve chen10/a --exponents 0.8,0.8,0.8,0.8\n  \
    evenair solve chen10/a --wanted 250,130,150,150\n\n\
    The fixed point needs a scenario with adaptive back-off and connections. Rates count the airtime of a segment, its \
    802.11 acknowledgement and its TCP acknowledgement, and no back-off and no collisions: no MAC reaches them fully.\n\n\
    The exact region is solved exactly up to some hundreds of links, by generating independent sets as they are needed; \
    beyond, the allocation is feasible and a certified bound says how much better any could be.")]
pub(crate) struct SolveOptions {
    #[arg(value_name = "SCENARIO", help = SCENARIO_HELP)]
    pub(crate) scenario: String,
    #[arg(long, value_name = "KEY=VALUE", help = SET_HELP)]
    pub(crate) set: Vec<String>,
    /// What is maximised
    #[arg(long, value_enum, default_value_t = ObjectiveName::Fair)]
    pub(crate) objective: ObjectiveName,
    /// How much fairness counts, for alpha-fair: 1 is proportional, 2 is fair, large is close to max-min
    #[arg(long, value_name = "ALPHA", default_value_t = 2.0, value_parser = alpha)]
    pub(crate) alpha: f64,
    /// Which rates are possible together
    #[arg(long, value_enum, default_value_t = RegionName::Exact)]
    pub(crate) region: RegionName,
    /// Who solves
    #[arg(long, value_enum, default_value_t = SolverName::Own)]
    pub(crate) solver: SolverName,
    /// Add the entropy with the weight 1/BETA, as CSMA of that β does; 1 is problem (2) of [QCSMA]
    #[arg(long, value_name = "BETA", value_parser = positive_number)]
    pub(crate) beta: Option<f64>,
    /// Instead: how ideal CSMA shares the air at these exponents βr, one per link
    #[arg(long, value_name = "Z,Z,…", value_delimiter = ',', allow_hyphen_values = true, conflicts_with_all = ["objective", "wanted"])]
    pub(crate) exponents: Vec<f64>,
    /// Instead: which exponents give the flows these rates [packets/s]
    #[arg(long, value_name = "X,X,…", value_delimiter = ',', conflicts_with = "objective")]
    pub(crate) wanted: Vec<f64>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Reads a number above 0.
fn positive_number(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x > 0.0 && x.is_finite() => Ok(x),
        _ => Err("give a number above 0".into()),
    }
}

/// Reads an α.
fn alpha(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x > 0.0 && x <= 50.0 => Ok(x),
        _ => Err("give a number above 0, 50 at most".into()),
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ObjectiveName {
    /// Σ −1/x, no entropy: what n = kT connections of TCP Reno aim at
    Fair,
    /// Problem MP (EP, with wires) with the scenario's own k and β, entropy included
    FixedPoint,
    /// Σ log x, no entropy
    Proportional,
    /// Σ x^(1−α)/(1−α), no entropy
    AlphaFair,
    /// No flow can have more but at the cost of one that has less
    MaxMin,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SolverName {
    /// Newton's method on the dual, generated independent sets
    Own,
    /// A conic interior-point solver: a second opinion on small networks
    Clarabel,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum RegionName {
    /// The convex hull of the conflict graph's independent sets
    Exact,
    /// Each clique of the conflict graph is busy at most all of the time
    Cliques,
    /// Each collision domain (links within transmission range of a link) is
    CollisionDomains,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Writes into DIR/ID: report.html, result.json, table.csv, claims.csv, flows.csv, links.csv (and series.csv; the\n\
    same as Parquet, if built with --features parquet), study.toml, scenarios/ with all defaults resolved, and manifest.json.\n\
    A claim holds, fails, or is undecided where its 95 % interval lies on both sides of a bound (see --decide).\n\
    On several machines: give each --shard I/N and one shared DIR, then run once more without it.\n\
    Runs that are finished are kept: running again does only what is missing.\n\
    The exit code says whether the studies ran, not whether their claims hold.\n\n\
    Examples:\n  \
    evenair study chen10/fig-4-2 --quick\n  \
    evenair study 'jam10/fig-8-*'\n  \
    evenair study jam10/fig-8-2 --variant pfrc --seeds 3 --set duration='60 s'\n  \
    evenair study jam10/fig-8-2 --export mine\n  \
    evenair study mine/fig-8-2.toml"
)]
pub(crate) struct StudyOptions {
    /// Ids such as chen10/fig-4-2, patterns such as 'jam10/*', or files of your own; none lists what there is, as
    /// `evenair list studies` does
    #[arg(value_name = "ID|FILE", conflicts_with = "all")]
    pub(crate) ids: Vec<String>,
    #[arg(
        long,
        value_name = "KEY=VALUE",
        help = "Override a key of every variant's scenario, e.g. --set duration='60 s'"
    )]
    pub(crate) set: Vec<String>,
    /// How many seeds, instead of the study's own number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) seeds: Option<u32>,
    /// Only this variant, or all points of this sweep; may be given several times
    #[arg(long, value_name = "VARIANT")]
    pub(crate) variant: Vec<String>,
    /// Instead of running it: write the study and its scenarios there, to edit and to run as a file
    #[arg(long, value_name = "DIR", conflicts_with_all = ["all", "set", "seeds", "variant", "quick", "shard", "decide", "precision", "json"])]
    pub(crate) export: Option<PathBuf>,
    /// Every study
    #[arg(long)]
    pub(crate) all: bool,
    /// Fewer seeds and shorter runs
    #[arg(long)]
    pub(crate) quick: bool,
    /// Do one part of the runs only, and no report
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(crate) shard: Option<Shard>,
    /// Go on with more seeds until each flow's goodput is known this well, such as 2%
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) precision: Option<f64>,
    /// Go on with more seeds until every claim is decided by its 95 % interval, or the study's most seeds are reached; only
    /// variants of undecided claims get more
    #[arg(long, conflicts_with = "shard")]
    pub(crate) decide: bool,
    /// The most seeds that --decide and --precision may take, instead of the study's own limit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) seeds_max: Option<u32>,
    /// Print the results as JSON, one document a line and study
    #[arg(long)]
    pub(crate) json: bool,
    /// Where results go
    #[arg(long, value_name = "DIR", default_value = "evenair-results")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    evenair list laws\n  \
    evenair list laws connections\n  \
    evenair list laws cubic --json\n  \
    evenair list studies chen10")]
pub(crate) struct ListOptions {
    /// What is listed
    #[arg(value_enum)]
    pub(crate) what: Listed,
    /// A law or a family of laws; of studies and scenarios, a part of their ids
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Listed {
    /// Every law of every family: its paper, its parameters, where it may be used
    Laws,
    /// Every study that is built in
    Studies,
    /// Every scenario that is built in
    Scenarios,
}

#[derive(Debug, Args)]
pub(crate) struct ShowOptions {
    #[arg(value_name = "SCENARIO", help = SCENARIO_HELP)]
    pub(crate) scenario: String,
    #[arg(long, value_name = "KEY=VALUE", help = SET_HELP)]
    pub(crate) set: Vec<String>,
    /// Print the resolved scenario, all defaults written out, as TOML
    #[arg(long)]
    pub(crate) resolved: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    evenair fluid chen10/a --set backoff.law=adaptive --set connections.k=10\n  \
    evenair fluid chen10/a --set backoff.law=adaptive --set fluid.implicit=true\n  \
    evenair fluid qcsma/mesh --set fluid.rho=1.0 --out result\n\n\
    The model follows from the scenario's laws, or from fluid.model: reno-csma, e-multcp, e-multcp-reduced, quic-tcp, \
    dual-descent, optimal-csma (evenair schema describes the keys of each). It is followed until it should have settled; \
    then its rest is sought by Newton's method, with the eigenvalues of the linearisation there: all real parts below \
    zero is a stable rest, and the one closest to zero says how fast it returns.")]
pub(crate) struct FluidOptions {
    #[arg(value_name = "SCENARIO", help = SCENARIO_HELP)]
    pub(crate) scenario: String,
    #[arg(long, value_name = "KEY=VALUE", help = SET_HELP)]
    pub(crate) set: Vec<String>,
    /// Print the result, trajectory included, as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write trajectory.csv there: time, each component, each flow's rate
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    evenair compare chen10/a --set backoff.law=adaptive --set connections.k=10\n  \
    evenair compare jam10/chain --seeds 10\n\n\
    Each step takes one idealisation away: the optimum without entropy, the fixed point of the laws with it, the fluid \
    model's rest, ideal CSMA frame by frame (no collisions, no spaces), 802.11. Steps that the scenario's laws do not have \
    are left out. The gap of a step is what its idealisation hid.")]
pub(crate) struct CompareOptions {
    #[arg(value_name = "SCENARIO", help = SCENARIO_HELP)]
    pub(crate) scenario: String,
    #[arg(long, value_name = "KEY=VALUE", help = SET_HELP)]
    pub(crate) set: Vec<String>,
    /// How many seeds each simulation runs with
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) seeds: u32,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
