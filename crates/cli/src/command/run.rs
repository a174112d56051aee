//! `evenair run`.

use crate::arguments::{ScenarioArguments, share};
use crate::capture::Capture;
use crate::gateway;
use crate::interrupt::{self, STOP};
use crate::output::{Place, command_line, finish, print, resolved, warn};
use crate::progress::Bar;
use crate::seeds;
use crate::terminal;
use crate::text;
use anyhow::{Context, Result, ensure};
use clap::Args;
use evenair_scenario::{Resolved, Time};
use evenair_study::chart::{self, Figures};
use evenair_study::document::{RunMeans, document};
use evenair_study::{
    Outcome, OutputFile, OutputFolder, Progress as _, RecordOptions, RunRecord, SEEDS_MAX, Sweep, html,
    manifest, tables,
};
use evenair_units::{Duration, Instant};
use serde_json::json;
use std::io::Write as _;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    after_help = "Writes into DIR, where --out names one: scenario.toml (all defaults resolved), result.json (means over seeds, and each seed),\n\
    runs.jsonl, and the tables flows.csv, links.csv, seeds.csv and, with --series, series.csv, with --timeline, frames.csv; the same\n\
    as Parquet, if evenair was built with --features parquet; figures.json, which evenair plot DIR draws (with --ledger, --series\n\
    and --timeline also of those); manifest.json says what made them.\n\n\
    Examples:\n  \
    evenair run chen10/a\n  \
    evenair run chen10/a --set preset=ns2 --seeds 5\n  \
    evenair run chen10/a --set backoff.law=adaptive --set connections.k=10 --ledger\n  \
    evenair run chen10/a --ledger --series --timeline 20s..20.1s --out result\n  \
    evenair run chen10/a --report=chen10-a.html\n  \
    evenair run jam10/chain --set duration='10 s' --pcap chain.pcap\n  \
    evenair run jam10/chain --set duration='10 s' --pcap captures/\n  \
    evenair run jam10/grid --precision 5%\n  \
    evenair run my.toml --json --series > result.jsonl"
)]
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
    /// Record every frame of a window: who held the air, when, for whom, which flow's, what was lost (in the JSON, and
    /// DIR/frames.csv)
    #[arg(long, value_name = "FROM..TO", value_parser = window)]
    pub(crate) timeline: Option<(Instant, Instant)>,
    /// Go on with more seeds until each flow's goodput is known this well: half of its 95 % interval over the largest
    /// goodput, such as 2%
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) precision: Option<f64>,
    /// Also write every frame of the first seed to a capture that Wireshark and tshark read: the whole air to a file; to a folder,
    /// one that is there or a name that ends in /, a capture for each node, of what it sent and decoded
    #[arg(long, value_name = "FILE|DIR/")]
    pub(crate) pcap: Option<PathBuf>,
    /// Print the result as JSON, one document a line and seed; means over seeds are in result.json of --out
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Place,
    /// Also write a report to look at in a browser: the network, what each flow gets and could get, where the senders' time goes,
    /// a window of the air, everything over time. What it shows is recorded for it
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "report.html")]
    pub(crate) report: Option<PathBuf>,
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

impl RunOptions {
    /// What would have no effect is not taken.
    fn check(&self, scenario: &Resolved) -> Result<()> {
        let goes_somewhere = self.json || self.place.out.is_some();
        for (option, is_given) in [("--series", self.series), ("--timeline", self.timeline.is_some())] {
            ensure!(goes_somewhere || !is_given, "{option} has no effect: say --json or --out DIR with it");
        }
        let end = Instant::ZERO + scenario.settings().warmup.0 + scenario.settings().duration.0;
        if let Some((from, to)) = self.timeline
            && to > end
        {
            let end = end.as_secs_f64();
            ensure!(from.as_secs_f64() < end, "--timeline begins after the run ends, at {end} s");
            terminal::warn(format_args!("--timeline goes on beyond the end of the run, at {end} s"));
        }
        ensure!(
            self.precision.is_none() || self.seeds < SEEDS_MAX,
            "--precision has no effect: it goes on to {SEEDS_MAX} seeds at most, and --seeds asks for {}",
            self.seeds
        );
        Ok(())
    }
}

pub(crate) fn run(options: &RunOptions) -> Result<()> {
    let scenario = options.scenario.resolve()?;
    options.check(&scenario)?;
    warn(&scenario);
    // What has no place to go is not computed.
    let capture = options.pcap.as_deref().map(|path| Capture::create(&scenario, path)).transpose()?;
    let output = options.place.prepare()?;
    let report = options.report.as_deref().map(OutputFile::create).transpose()?;
    interrupt::watch();
    let keep = RecordOptions {
        series: options.series || report.is_some(),
        every: Some(options.every),
        ledger: options.ledger || report.is_some(),
        times: true,
        histograms: false,
        timeline: options.timeline,
    };
    let mut sweep = Sweep::of_scenario(scenario.clone(), options.seeds, keep);
    if report.is_some() && options.timeline.is_none() {
        sweep.show_air();
    }
    if let Some(precision) = options.precision {
        sweep.set_precision(precision, SEEDS_MAX);
    }
    let bar = Bar::new(&scenario.settings().name);
    bar.expected(sweep.work());
    let runs = sweep.run_in_memory(&STOP, &bar)?;
    drop(bar);
    if let Some(capture) = capture {
        capture.record(&scenario)?;
    }
    let name = options.scenario.called();
    // Only who wants figures waits for the optimum in them.
    let (drawn, kept);
    let (outcome, runs): (Option<&Outcome>, &[RunRecord]) = if output.is_some() || report.is_some() {
        drawn = Outcome::of_run(name, &sweep, runs);
        (Some(&drawn), drawn.groups()[0].runs)
    } else {
        kept = runs;
        (None, &kept)
    };
    // Long series make long lines: they are put together only for who reads them.
    let lines = if options.json || output.is_some() { json_lines(name, runs) } else { String::new() };
    // What was computed is told even where the disk is full.
    let mut written = Ok(());
    if let (Some(output), Some(outcome)) = (output, outcome) {
        written = write(output, &scenario, outcome, &lines);
    }
    if let (Some(mut file), Some(outcome)) = (report, outcome) {
        let page = html::run_report(outcome, &command_line(), &gateway::did(runs));
        file.write_all(page.as_bytes()).context("cannot write the report")?;
        file.finish()?;
    }
    let told = if options.json { print(&lines) } else { print(&as_text(options, &scenario, runs)) };
    written.and(told)
}

fn as_text(options: &RunOptions, scenario: &Resolved, runs: &[RunRecord]) -> String {
    let settings = scenario.settings();
    let name = if settings.name.is_empty() { options.scenario.called() } else { &settings.name };
    let seeds = if runs.len() == 1 {
        format!("seed {}", runs[0].seed)
    } else {
        format!("means over {} seeds with their 95 % intervals", runs.len())
    };
    let head = format!("{name}: {} after {} of warm-up, {seeds}", settings.duration, settings.warmup);
    let head = text::wrapped("", &head, terminal::width()) + "\n";
    head + &text::runs(runs, options.ledger) + &gateway::did(runs) + &seeds::as_text(runs)
}

/// Writes the scenario, the runs, their tables and figures.
fn write(output: OutputFolder, scenario: &Resolved, outcome: &Outcome, lines: &str) -> Result<()> {
    let groups = outcome.groups();
    let (name, group) = (&outcome.study.id, groups[0]);
    output.write("scenario.toml", &resolved(scenario)?)?;
    output.write("runs.jsonl", lines)?;
    output.write("result.json", &format!("{:#}\n", document("run", &RunMeans::of(name, group.runs))))?;
    output.write(chart::FILE, &Figures::of(outcome).to_json())?;
    tables::write(output.drafts(), &groups).context("cannot write the tables")?;
    let mut manifest = manifest(&command_line());
    manifest.insert("runs".into(), group.runs.iter().map(|run| group.manifest_entry(run)).collect());
    finish(output, manifest)
}

/// One document a line and seed.
fn json_lines(scenario: &str, runs: &[RunRecord]) -> String {
    let mut text = String::new();
    for run in runs {
        let mut run = serde_json::to_value(run).expect("a record is plain data");
        run["scenario"] = json!(scenario);
        text += &format!("{}\n", document("run", &run));
    }
    text
}
