//! `evenair compare`: one scenario, one idealisation after the other taken away.

use crate::arguments::ScenarioArguments;
use crate::interrupt::{self, STOP};
use crate::latex::{Tables, tell};
use crate::live;
use crate::output::{Place, command_line, finish, print, resolved};
use crate::progress::Bar;
use crate::{terminal, text};
use anyhow::{Context, Result};
use clap::Args;
use evenair_results::digits;
use evenair_results::document::{CompareDocument, written};
use evenair_results::{Comparison, manifest, tables};
use evenair_study::Outcome;
use evenair_study::chart::{self, Figures};

#[derive(Debug, Args)]
#[command(
    after_help = "Writes into DIR, where --out names one: stages.csv (a row per world and flow; as Parquet, too, if built with that feature), \
    result.json, scenario.toml (all defaults resolved), figures.json, which evenair plot DIR draws, and manifest.json.\n\n\
    Examples:\n  \
    evenair compare chen10/a --set backoff.law=adaptive --set connections.k=10\n  \
    evenair compare jam10/chain --seeds 10\n  \
    evenair compare jam10/chain --out worlds\n\n\
    Each step takes one idealisation away: the optimum without entropy, the fixed point of the laws with it, the fluid \
    model's rest, ideal CSMA frame by frame (no collisions, no spaces), 802.11, with --live the kernel's own TCP over it. Steps that the scenario's laws do not have \
    are left out. Below the table stand the additions of each step to the one before, and its measurements: where the senders' \
    time went, lost frames, time-outs, drops. The optimum is the fair one; a world that is less fair can have a greater total."
)]
pub(crate) struct CompareOptions {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArguments,
    /// How many seeds each simulation runs with
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) seeds: u32,
    /// Add a step: real sockets of this machine's kernel over the same air (evenair emulate), in real time, with each seed
    #[arg(long)]
    pub(crate) live: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) tables: Tables,
    #[command(flatten)]
    pub(crate) place: Place,
}

pub(crate) fn compare(options: &CompareOptions) -> Result<()> {
    let base = options.scenario.resolve_still()?;
    let live = options.live.then(live::enter).transpose()?;
    let output = options.place.prepare(&["stages.csv"])?;
    options.tables.heed();
    interrupt::watch();
    let bar = Bar::new(&base.settings().name);
    let comparison = evenair_study::compare(&base, options.seeds, live, &STOP, &bar)?;
    drop(bar);
    let name = options.scenario.called();
    let result = || written("compare", &CompareDocument::of(name, &comparison));
    if let Some(output) = output {
        tables::write_all(output.drafts(), &tables::comparison(&comparison))
            .context("cannot write the table")?;
        output.write("scenario.toml", &resolved(&base)?)?;
        output.write("result.json", &result())?;
        let outcome = Outcome::of_comparison(name, &base, &base.theory()?, &comparison);
        output.write(chart::FILE, &Figures::of(&outcome).to_json())?;
        finish(output, manifest(&command_line()))?;
    }
    if options.json {
        return print(&result());
    }
    let mut out = as_text(&comparison);
    let notes = comparison.notes.iter().map(|note| text::wrapped("", note, terminal::width()));
    notes.for_each(|note| out += &format!("\n{note}"));
    tell(&out)
}

fn as_text(comparison: &Comparison) -> String {
    let Comparison { flows, stages, capacity_pps, .. } = comparison;
    let mut head = text::row(&["share of the rate alone"]);
    head.extend(flows.iter().take(8).map(|name| format!("flow {name}")));
    head.extend(text::row(&["all", "gap", "packets/s"]));
    let mut rows = vec![head];
    let mut before: Option<f64> = None;
    for stage in stages {
        let mut cells = vec![stage.name.to_string()];
        cells.extend(stage.shares.iter().take(8).map(|share| digits::percent(*share)));
        let all: f64 = stage.shares.iter().sum();
        cells.push(digits::percent(all));
        cells.push(before.map_or(String::new(), |b| digits::difference(100.0 * (all - b), 1)));
        cells.push(text::number(stage.rates_pps(capacity_pps).iter().sum()));
        before = Some(all);
        rows.push(cells);
    }
    let mut out = text::columns(&rows);
    out += "\nPackets/s are the shares of the flows' rates alone under the scenario's own MAC, in every world.\n";
    out += "\nadditions of each step to the one before, and its measurements\n";
    for stage in stages.iter().skip(1) {
        out += &text::wrapped(&format!("  {}: ", stage.name), &stage.gap, terminal::width());
    }
    out
}
