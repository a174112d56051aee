//! `evenair run`, and the runs of `evenair emulate`.

use crate::arguments::{ScenarioArguments, share};
use crate::capture::Capture;
use crate::gateway;
use crate::interrupt::{self, STOP};
use crate::latex::{Tables, tell};
use crate::output::{Place, command_line, drops_of_backoff, finish, resolved, say_kept, warn};
use crate::progress::Bar;
use crate::real_time;
use crate::seeds;
use crate::terminal;
use crate::text::{self, Shown};
use crate::verdict;
use anyhow::{Context, Result, ensure};
use clap::Args;
use evenair_results::document::{RunMeans, write_line, written};
use evenair_results::verdict::{FairRates, Verdict};
use evenair_results::{OutputFolder, RecordOptions, RunRecord, SeriesFile, manifest, tables};
use evenair_scenario::{Resolved, Time};
use evenair_study::chart::{self, Figures};
use evenair_study::{Aside, Live, Outcome, Progress, SEEDS_MAX, Sweep, World, html};
use evenair_units::{Duration, Instant};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// Points of a time series that a figure shows at most: more than it has pixels.
const POINTS_DRAWN: usize = 2_000;
/// The most nodes with which the ledger is kept without being asked for: with a thousand, each run has a million shares.
const LEDGER_NODES: usize = 500;
/// The name of the report.
const REPORT: &str = "report.html";

#[derive(Debug, Args)]
#[command(
    after_help = "Writes into DIR, where --out names one: scenario.toml (all defaults resolved), result.json (means over seeds, and each seed), \
    runs.jsonl, and the tables flows.csv, links.csv, seeds.csv and, with --series, series.csv, with --timeline, frames.csv; the same \
    as Parquet, if evenair was built with --features parquet; figures.json, which evenair plot DIR draws (with --series and --timeline also \
    of those); manifest.json names the command and the files.\n\n\
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
    /// Print all rows and columns of the tables, and the ledger
    #[arg(long)]
    pub(crate) all: bool,
    /// Print the airtime ledger: where each transmitter's time went
    #[arg(long)]
    pub(crate) ledger: bool,
    /// Keep no ledger: the run is faster, and the verdict does not say which transmissions a sender waits for
    #[arg(long, conflicts_with_all = ["ledger", "report"])]
    pub(crate) no_ledger: bool,
    /// Keep time series (in the JSON, and DIR/series.csv)
    #[arg(long)]
    pub(crate) series: bool,
    /// How often queues and windows are sampled, for series and means
    #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = positive)]
    pub(crate) every: Duration,
    /// Record every frame of a window: transmitter, time, receiver, flow and loss (in the JSON, and DIR/frames.csv)
    #[arg(long, value_name = "FROM..TO", value_parser = window)]
    pub(crate) timeline: Option<(Instant, Instant)>,
    /// Add seeds until half of each flow's 95 % interval is at most this share of the largest goodput, such as 2%
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) precision: Option<f64>,
    /// Also write every frame of the first seed to a capture for Wireshark and tshark. A file gets the whole air. An existing
    /// folder, or a name that ends in /, gets a capture for each node with the frames that it sent and decoded
    #[arg(long, value_name = "FILE|DIR/")]
    pub(crate) pcap: Option<PathBuf>,
    /// Print the result as JSON, one document a line and seed; means over seeds are in result.json of --out
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) tables: Tables,
    #[command(flatten)]
    pub(crate) place: Place,
    /// Also write a report for a browser: the network, each flow's rate and its best rate, the senders' time, a window of the
    /// air, everything over time. Its data are recorded too. Without FILE it is report.html, in DIR where --out names one
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[allow(clippy::option_option, reason = "so clap reads an option whose value may be left out")]
    pub(crate) report: Option<Option<PathBuf>>,
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
    /// The report's place, if one is wanted: in the folder of the result, unless a file is named.
    fn report_path(&self) -> Option<PathBuf> {
        let named = self.report.as_ref()?;
        let default = || self.place.out.as_ref().map_or_else(|| REPORT.into(), |folder| folder.join(REPORT));
        Some(named.clone().unwrap_or_else(default))
    }

    /// The same of one that is no part of a result's folder.
    fn report_file(&self) -> Option<PathBuf> {
        let is_part = self.report == Some(None) && self.place.out.is_some();
        self.report_path().filter(|_| !is_part)
    }

    /// Whether the ledger is kept though it is not asked for: it grows with the square of the transmitters.
    fn keeps_ledger(&self, scenario: &Resolved) -> bool {
        !self.no_ledger && scenario.network().nodes.len() <= LEDGER_NODES
    }

    /// Whether a file is asked for.
    pub(crate) fn writes(&self) -> bool {
        self.place.out.is_some() || self.report.is_some() || self.pcap.is_some()
    }

    /// Options without effect are refused, for runs that last until then.
    pub(crate) fn check(&self, end: Instant) -> Result<()> {
        self.place.overwrite.check(self.writes(), "--out DIR, --report or --pcap")?;
        let goes_somewhere = self.json || self.place.out.is_some();
        ensure!(goes_somewhere || !self.series, "--series has no effect: give --json or --out DIR with it");
        ensure!(
            goes_somewhere || self.report.is_some() || self.timeline.is_none(),
            "--timeline has no effect: give --json or --out DIR with it, or --report"
        );
        ensure!(
            !self.series || Instant::ZERO + self.every <= end,
            "--series has no effect: --every is longer than the run, which ends at {} s",
            end.as_secs_f64()
        );
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

/// Where and how the runs of a command are made.
pub(crate) struct How {
    /// The command's name in results.
    pub(crate) command: &'static str,
    /// Runs in real time are made by this.
    pub(crate) live: Option<Arc<dyn Live>>,
    /// Programs have the terminal: neither a bar nor tables are for it.
    pub(crate) is_silent: bool,
}

/// When a scenario's runs end.
pub(crate) fn end(scenario: &Resolved) -> Instant {
    Instant::ZERO + scenario.settings().warmup.0 + scenario.settings().duration.0
}

pub(crate) fn run(options: &RunOptions) -> Result<()> {
    let scenario = options.scenario.resolve()?;
    options.check(end(&scenario))?;
    warn(&scenario);
    if scenario.network().flows.is_empty() {
        terminal::warn(
            "nothing is sent in this run: the scenario has no flow, and packets from outside come only to a program that injects them \
             (evenair-netsim's example \"outside\"); add a [[flows]] table",
        );
    }
    interrupt::watch();
    conduct(options, &scenario, &How { command: "run", live: None, is_silent: false })
}

/// Makes the requested runs, prints their results and writes them to their places.
pub(crate) fn conduct(options: &RunOptions, scenario: &Resolved, how: &How) -> Result<()> {
    options.tables.heed();
    // A place that cannot be written is found before anything is computed.
    let (place, overwrite) = (&options.place, options.place.overwrite);
    let report = if options.report == Some(None) { &[REPORT][..] } else { &[] };
    let output = place.prepare_if_any(&[&["runs.jsonl"], report, &tables::OF_RUNS[..]].concat())?;
    let is_real = how.live.is_some();
    let capture = |path: &PathBuf| Capture::create(scenario, path, overwrite, is_real);
    let mut capture = options.pcap.as_ref().map(capture).transpose()?;
    let report = options.report_file().map(|path| overwrite.create(&path)).transpose()?;
    let keep = RecordOptions {
        series: options.series || options.report.is_some(),
        every: Some(options.every),
        ledger: options.ledger || options.report.is_some() || options.keeps_ledger(scenario),
        times: true,
        histograms: false,
        timeline: options.timeline,
    };
    let mut sweep = Sweep::of_scenario(scenario.clone(), options.seeds, keep);
    if let Some(live) = &how.live {
        sweep.cases[0].world = World::Linux;
        sweep.set_live(Arc::clone(live));
    }
    if options.report.is_some() && options.timeline.is_none() {
        sweep.show_air();
    }
    if let Some(precision) = options.precision {
        sweep.set_precision(precision, SEEDS_MAX);
    }
    let name = options.scenario.called();
    let disk = output.as_ref().map_or_else(std::env::temp_dir, |output| output.drafts().into());
    let aside = Aside::new(&disk, capture.as_mut().map(Capture::sink));
    let bar = (!how.is_silent).then(|| Bar::new(&scenario.settings().name));
    bar.iter().for_each(|bar| bar.expected(sweep.work()));
    let progress = bar.as_ref().map_or(&() as &dyn Progress, |bar| bar);
    let mut runs = sweep.run_in_memory(&aside, &STOP, progress)?;
    drop(bar);
    let series = aside.into_series();
    let fair = FairRates::of(scenario);
    let verdict = Verdict::beside(scenario, &fair, &runs);
    for run in &mut runs {
        run.scenario = name.into();
        run.verdict = Some(Verdict::beside(scenario, &fair, std::slice::from_ref(run)));
    }
    let means = RunMeans::of(name, verdict, &runs);
    let series_asked = if options.series { &series[..] } else { &[] };
    let done = Done { command: how.command, means: &means, runs: &runs, series: series_asked };
    // Results are printed even where the disk is full.
    let told = match (options.json, how.is_silent) {
        (true, _) => done.print_lines(),
        (false, true) => {
            real_time::warn(&runs);
            Ok(())
        }
        (false, false) => tell(&as_text(options, scenario, how.command, &runs, &means)),
    };
    capture.map_or(Ok(()), Capture::finish)?;
    if output.is_some() || report.is_some() {
        let mut drawn = runs.clone();
        if let Some(first) = series.first() {
            drawn[0].series = Some(first.thinned(POINTS_DRAWN).context("cannot write the time series")?);
        }
        let outcome = Outcome::of_run(name, &sweep, drawn);
        let figures = Figures::of(&outcome);
        let page = options.report.as_ref().map(|_| html::run_report(&outcome, &figures, &command_line()));
        if let Some(output) = output {
            if let (Some(page), None) = (&page, &report) {
                output.write(REPORT, page)?;
            }
            done.write(output, scenario, &figures)?;
        }
        if let (Some(page), Some(file)) = (page, report) {
            say_kept(file.fill(page.as_bytes())?);
        }
    }
    told
}

fn as_text(
    options: &RunOptions,
    scenario: &Resolved,
    command: &str,
    runs: &[RunRecord],
    means: &RunMeans,
) -> String {
    let settings = scenario.settings();
    let name = if settings.name.is_empty() { options.scenario.called() } else { &settings.name };
    let time = format!("{} after {} of warm-up", settings.duration, settings.warmup);
    let seeds = if runs.len() == 1 {
        format!("seed {}", runs[0].seed)
    } else {
        format!("means over {} seeds with their 95 % intervals", runs.len())
    };
    let head = real_time::head(runs).unwrap_or_else(|| format!("{time}, {seeds}"));
    let head = format!("{name}: {head}");
    let drops = drops_of_backoff(scenario).map(|drops| text::wrapped("", drops, terminal::width()));
    let head = text::wrapped("", &head, terminal::width()) + &drops.unwrap_or_default() + "\n";
    let report = options.report_path().map(|path| format!("\nreport: {}\n", path.display()));
    let shown = Shown { all: options.all, ledger: options.ledger };
    let verdict = verdict::as_text(&means.verdict, &options.scenario.command(command), options.all);
    let tables = text::runs(runs, &means.verdict, shown) + &gateway::did(runs) + &seeds::as_text(means);
    head + &verdict + &tables + &real_time::as_text(runs) + &report.unwrap_or_default()
}

/// The runs' results; the time series are on disk, if they were asked for.
struct Done<'a> {
    command: &'static str,
    means: &'a RunMeans,
    runs: &'a [RunRecord],
    series: &'a [SeriesFile],
}

impl Done<'_> {
    /// Writes the scenario, the runs, their tables and figures.
    fn write(&self, output: OutputFolder, scenario: &Resolved, figures: &Figures) -> Result<()> {
        let Self { command, means, runs, series } = *self;
        output.write("scenario.toml", &resolved(scenario)?)?;
        output.write("result.json", &written(command, means))?;
        output.write(chart::FILE, &figures.to_json())?;
        let lines = File::create(output.drafts().join("runs.jsonl")).map(BufWriter::new);
        lines.and_then(|lines| self.lines(lines)).context("cannot write runs.jsonl")?;
        let group = tables::Group { variant: "run", x: None, runs };
        tables::write(output.drafts(), &[group]).context("cannot write the tables")?;
        if !series.is_empty() {
            let portions = runs.iter().zip(series).flat_map(|(run, file)| {
                file.portions().map(|portion| Ok((group.variant, run.seed, Cow::Owned(portion?))))
            });
            tables::write_series(output.drafts(), portions).context("cannot write the time series")?;
        }
        let mut manifest = manifest(&command_line());
        manifest.insert("runs".into(), runs.iter().map(|run| group.manifest_entry(run)).collect());
        finish(output, manifest)
    }

    /// One document a line and seed, written as it is read: time series may be longer than memory.
    fn lines(&self, mut out: impl Write) -> io::Result<()> {
        for (index, run) in self.runs.iter().enumerate() {
            write_line(&mut out, self.command, run, self.series.get(index))?;
        }
        out.flush()
    }

    fn print_lines(&self) -> Result<()> {
        Ok(self.lines(BufWriter::new(anstream::stdout().lock()))?)
    }
}
