//! `evenair sweep`: a scenario with keys varied.

use super::study::shard;
use crate::arguments::{ScenarioArguments, share};
use crate::interrupt::{self, STOP};
use crate::latex::{Tables, tell};
use crate::live;
use crate::output::{Place, command_line, finish, print, resolved, warn_of_all};
use crate::progress::Bar;
use crate::{terminal, text};
use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;
use evenair_results::digits::counted;
use evenair_results::document::document;
use evenair_study::chart::{self, Figures};
use evenair_study::document::SweepDocument;
use evenair_study::{
    Axis, Plan, Plot, Progress as _, Quantity, SEEDS_MAX, Shard, Swept, Vary, VaryError, World, html,
};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(after_help = "Values of a key:\n  \
    5..20             all whole numbers from 5 to 20\n  \
    0.1..0.5:0.1      with a step\n  \
    1..1000:x10       each ten times the one before\n  \
    '1..11 Mbps:2'    with a unit\n  \
    1,2,5             a list; of words, too (dcf,adaptive), of quantities ('1 Mbps,2 Mbps'), and of\n                    \
    TOML's tables (\"{ law = 'dcf' },{ law = 'adaptive', adapt = 0.2 }\")\n\n\
    Several --vary: each value of one with each of the others; with --zip the first with the first.\n\n\
    Writes into DIR: table.csv, a row per point and flow (flow \"all\": all together) with mean, ends of the 95 % interval and \
    number of seeds of each metric; seeds.csv, a row per point, seed and flow; the same as Parquet, if built with --features \
    parquet; report.html; result.json; scenario.toml (all defaults resolved); manifest.json; runs/, from which a sweep that was \
    stopped goes on.\n\n\
    Examples:\n  \
    evenair sweep chen10/a --vary connections.k=5..20:5\n  \
    evenair sweep chen10/a --vary backoff.law=dcf,adaptive --vary connections.k=1..20:5 --plot x=connections.k,color=backoff.law\n  \
    evenair sweep jam10/chain --vary 'mac.data_rate=1 Mbps,2 Mbps,11 Mbps' --metric goodput-kbps,round-trip --seeds 10\n  \
    evenair sweep chen10/a --world fair --vary 'radio.carrier_sense_range=400..800 m:100'")]
pub(crate) struct SweepOptions {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArguments,
    /// A key of the scenario and its values, such as connections.k=5..20; may be given several times
    #[arg(long, value_name = "KEY=VALUES", required = true, value_parser = Axis::parse)]
    pub(crate) vary: Vec<Axis>,
    /// Pair the values of several --vary, instead of combining each with each
    #[arg(long)]
    pub(crate) zip: bool,
    /// The metrics to measure; `evenair list metrics` shows all; delay-p95 is a percentile of delay, ack-loss the loss of
    /// acknowledgements
    #[arg(long, value_name = "METRIC,…", value_delimiter = ',', default_value = "goodput,jain")]
    pub(crate) metric: Vec<Quantity>,
    /// Where the numbers come from: packets, fluid, or an optimum such as fair, proportional, max-min
    #[arg(long, value_name = "WORLD", default_value = "packets")]
    pub(crate) world: World,
    /// The number of seeds of each point [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) seeds: Option<u32>,
    /// Add seeds until half of each flow's 95 % interval is at most this share of the point's largest goodput, such as 2%
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "shard")]
    pub(crate) precision: Option<f64>,
    /// A figure of the report: the key along its axis, the metric, and the key with a colour per value, or flow; may be given
    /// several times. By default, a figure of each metric
    #[arg(long, value_name = "x=KEY,y=METRIC,color=KEY", value_parser = Plot::parse)]
    pub(crate) plot: Vec<Plot>,
    /// Do one part of the runs only, and no report; run once more without it when all parts are done
    #[arg(long, value_name = "I/N", value_parser = shard, conflicts_with_all = ["json", "latex"])]
    pub(crate) shard: Option<Shard>,
    /// Print the table as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) tables: Tables,
    #[command(flatten)]
    pub(crate) place: Place,
}

impl SweepOptions {
    fn plan(&self) -> Result<Plan> {
        ensure!(self.scenario.name != "-", "a sweep reads its scenario more than once: give a file, not -");
        if let Some(option) = self.seeds.map(|_| "--seeds").or(self.precision.map(|_| "--precision")) {
            ensure!(self.world.is_random(), "{option} has no effect: chance has no part in this world");
        }
        let vary = Vary {
            set: self.scenario.set.clone(),
            axes: self.vary.clone(),
            paired: self.zip,
            world: self.world,
            seeds: self.seeds.unwrap_or(5),
            precision: self.precision,
            seeds_max: SEEDS_MAX,
            metrics: self.metric.clone(),
            plots: self.plot.clone(),
            ..Vary::new(&self.scenario.name)
        };
        ensure!(!self.zip || self.vary.len() > 1, "--zip has no effect: there is one --vary");
        vary.plan(Some(Path::new(""))).map_err(|error: VaryError| anyhow!("{error}"))
    }

    fn folder(&self) -> PathBuf {
        let name = self.scenario.name.strip_suffix(".toml").unwrap_or(&self.scenario.name);
        let name =
            Path::new(name).components().filter(|part| matches!(part, std::path::Component::Normal(_)));
        let default = || Path::new("evenair-results/sweep").join(name.collect::<PathBuf>());
        self.place.or(default())
    }
}

pub(crate) fn sweep(options: &SweepOptions) -> Result<()> {
    let mut plan = options.plan()?;
    options.tables.heed();
    let folder = options.folder();
    let output = options.place.prepare_at(&folder, &["report.html", "table.csv", "seeds.csv"])?;
    let runs = folder.join("runs");
    warn_of_all(plan.sweep.simulated());
    live::prepare([&mut plan.sweep])?;
    interrupt::watch();
    let bar = Bar::new(&plan.study.title);
    bar.expected(plan.sweep.work() / options.shard.map_or(1.0, |shard| shard.of as f64));
    if let Some(shard) = options.shard {
        let done = plan.sweep.run_shard(shard, &runs, &STOP, &bar)?;
        drop(bar);
        let done = counted(done, "run", "runs");
        return print(&format!("part {}/{} is done, {done}\n", shard.index, shard.of));
    }
    let records = plan.sweep.run(&runs, &STOP, &bar)?;
    drop(bar);
    let scenario = resolved(&plan.base)?;
    let swept = plan.conclude(records);
    let command = command_line();
    let document = document("sweep", &SweepDocument::of(&options.scenario.name, &swept));
    let figures = Figures::of(&swept.outcome);
    output.write("report.html", &html::report(&swept.outcome, &figures, &command))?;
    output.write(chart::FILE, &figures.to_json())?;
    output.write("result.json", &format!("{document:#}\n"))?;
    output.write("scenario.toml", &scenario)?;
    swept.write(output.drafts()).context("cannot write the tables")?;
    finish(output, swept.outcome.manifest(&command))?;
    if options.json {
        return print(&format!("{document}\n"));
    }
    tell(&format!(
        "{}{}\nreport: {}\n",
        tables(&swept),
        verdicts(&swept),
        folder.join("report.html").display()
    ))
}

/// The most flows that have columns of their own.
const FLOWS_MAX: usize = 12;

/// A table per metric, a row per point.
fn tables(swept: &Swept) -> String {
    let mut out = format!("{}\n", swept.outcome.study.title);
    for (m, metric) in swept.metrics.iter().enumerate() {
        let flows = swept.rows.iter().filter(|row| row.point == 0 && row.flow.is_some()).count();
        out += &format!("\n{}\n{}", metric.label(), table(swept, m, flows <= FLOWS_MAX));
        if flows > FLOWS_MAX {
            out += &format!("  … each of {flows} flows is in table.csv\n");
        }
    }
    out
}

/// The most points that have their verdict printed.
const VERDICTS_MAX: usize = 12;

/// A line per point that was simulated: which flows starve.
fn verdicts(swept: &Swept) -> String {
    let verdicts = swept.verdicts();
    let mut out = if verdicts.is_empty() { String::new() } else { "\nwho starves\n".to_string() };
    for (point, verdict) in verdicts.iter().take(VERDICTS_MAX) {
        let levels = swept.axes.iter().zip(swept.levels(*point));
        let levels: Vec<String> = levels.map(|(axis, level)| format!("{} {level}", axis.key)).collect();
        let line = format!("{}: {}", levels.join(", "), verdict.headline);
        out += &text::wrapped("  ", &line, terminal::width());
    }
    if let Some(more @ 1..) = verdicts.len().checked_sub(VERDICTS_MAX) {
        out += &format!("  … {} (result.json has all)\n", counted(more as u64, "more point", "more points"));
    }
    out
}

/// One metric: a column per flow, if they are asked for, and one for all of them that is named after its kind.
fn table(swept: &Swept, m: usize, of_flows: bool) -> String {
    let mut flows: Vec<&Option<String>> = Vec::new();
    for row in swept.rows.iter().filter(|row| row.measured[m].is_some()) {
        if (of_flows || row.flow.is_none()) && !flows.contains(&&row.flow) {
            flows.push(&row.flow);
        }
    }
    // All flows together come last, wherever a point has flows that others have not.
    flows.sort_by_key(|flow| flow.is_none());
    let keys = swept.axes.iter().map(Axis::title);
    let of_all = swept.metrics[m].over_flows_name();
    let named =
        flows.iter().map(|flow| flow.as_ref().map_or_else(|| of_all.into(), |name| format!("flow {name}")));
    let mut rows = vec![keys.chain(named).collect::<Vec<_>>()];
    let points = swept.rows.iter().map(|row| row.point).max().map_or(0, |last| last + 1);
    for point in 0..points {
        let mut cells: Vec<String> = swept.levels(point).iter().map(ToString::to_string).collect();
        cells.extend(flows.iter().map(|&flow| {
            let row = swept.rows.iter().find(|row| row.point == point && row.flow == *flow);
            let measured = row.and_then(|row| row.measured[m]);
            measured.map_or_else(|| "–".into(), |x| evenair_results::digits::measured(x.mean, x.half_width))
        }));
        rows.push(cells);
    }
    text::columns(&rows)
}
