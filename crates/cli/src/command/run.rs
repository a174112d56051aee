//! `evenair run`.

use crate::arguments::{ScenarioArguments, share};
use crate::gateway;
use crate::interrupt::{self, STOP};
use crate::output::{print, resolved, warn, write_file};
use crate::progress::Bar;
use crate::text;
use anyhow::{Context, Result, bail};
use clap::Args;
use evenair_netsim::pcap::PcapWriter;
use evenair_netsim::{MacSpec, Network};
use evenair_scenario::{Resolved, Time};
use evenair_study::{RecordOptions, RunRecord, SEEDS_MAX, Sweep, tables};
use evenair_units::{Duration, Instant};
use serde_json::json;
use std::path::{Path, PathBuf};

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
    #[command(flatten)]
    pub(crate) scenario: ScenarioArguments,
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

pub(crate) fn run(options: &RunOptions) -> Result<()> {
    let scenario = options.scenario.resolve()?;
    warn(&scenario);
    interrupt::watch();
    let keep = RecordOptions {
        series: options.series,
        every: Some(options.every),
        ledger: options.ledger,
        histograms: false,
        timeline: options.timeline,
    };
    let mut sweep = Sweep::of_scenario(scenario.clone(), options.seeds, keep);
    if let Some(precision) = options.precision {
        sweep.set_precision(precision, SEEDS_MAX);
    }
    let bar = Bar::new(&scenario.settings().name);
    let runs = sweep.run_in_memory(&STOP, &bar);
    bar.clear();
    let runs = runs?;
    if let Some(path) = &options.pcap {
        capture(&scenario, path).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let lines = json_lines(&options.scenario.name, &runs);
    if let Some(folder) = &options.out {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        write_file(&folder.join("scenario.toml"), &resolved(&scenario)?)?;
        write_file(&folder.join("runs.jsonl"), &lines)?;
        if options.timeline.is_some() {
            write_file(&folder.join("frames.csv"), &frames_csv(&runs))?;
        }
        let group = tables::Group { variant: "run", x: None, runs: &runs };
        tables::write(folder, &[group]).context("cannot write the tables")?;
    }
    if options.json {
        return print(&lines);
    }
    let settings = scenario.settings();
    let name = if settings.name.is_empty() { &options.scenario.name } else { &settings.name };
    let seeds = if runs.len() == 1 {
        format!("seed {}", runs[0].seed)
    } else {
        format!("means over {} seeds", runs.len())
    };
    let head = format!("{name}: {} after {} of warm-up, {seeds}\n\n", settings.duration, settings.warmup);
    print(&(head + &text::runs(&runs, options.ledger) + &gateway::did(&runs)))
}

/// Runs the first seed once more and writes its frames down.
fn capture(scenario: &Resolved, path: &Path) -> Result<()> {
    let network = scenario.network();
    let MacSpec::Dcf { timing, .. } = network.mac else {
        bail!("the ideal MAC has no frames; captures are of 802.11");
    };
    let file = std::io::BufWriter::new(std::fs::File::create(path)?);
    let mut writer = PcapWriter::new(file, network.nodes.len(), timing)?;
    Network::run_traced(network, scenario.run_spec(scenario.settings().seed), &mut writer);
    writer.finish()?;
    Ok(())
}

/// One document a line and seed.
fn json_lines(scenario: &str, runs: &[RunRecord]) -> String {
    let mut text = String::new();
    for run in runs {
        let mut run = serde_json::to_value(run).expect("a record is plain data");
        run["scenario"] = json!(scenario);
        text += &format!("{run}\n");
    }
    text
}

fn frames_csv(runs: &[RunRecord]) -> String {
    let mut text = String::from("seed,start_ms,end_ms,node,kind,decoded\n");
    for run in runs {
        for f in &run.frames {
            text +=
                &format!("{},{},{},{},{},{}\n", run.seed, f.start_ms, f.end_ms, f.node, f.kind, f.decoded);
        }
    }
    text
}
