//! `evenair fluid`.

use crate::arguments::{ScenarioArguments, time_limit};
use crate::interrupt::{self, NOTHING, STOP};
use crate::latex::{Tables, tell};
use crate::output::{Place, command_line, finish, print, resolved, warn_of_theory};
use crate::progress::Waiting;
use crate::{terminal, text};
use anyhow::{Context, Result};
use clap::Args;
use evenair_results::digits::{self, counted};
use evenair_results::document::{FluidDocument, written};
use evenair_results::{manifest, tables};
use evenair_scenario::FluidRun;
use evenair_study::Outcome;
use evenair_study::chart::{self, Figures};
use std::time::Duration;

#[derive(Debug, Args)]
#[command(
    after_help = "Writes into DIR, where --out names one: trajectory.csv (time, each component, each flow's rate), flows.csv and links.csv (where \
    they end), the same as Parquet, if evenair was built with --features parquet, result.json, scenario.toml (all defaults \
    resolved), figures.json, which evenair plot DIR draws, and manifest.json.\n\n\
    Examples:\n  \
    evenair fluid chen10/a --set backoff.law=adaptive --set connections.k=10\n  \
    evenair fluid chen10/a --set backoff.law=adaptive --set fluid.implicit=true\n  \
    evenair fluid qcsma/mesh --set fluid.rho=1.0 --out result\n\n\
    The model follows from the scenario's laws, or from fluid.model: reno-csma, e-multcp, e-multcp-reduced, quic-tcp, \
    dual-descent, optimal-csma (evenair schema describes the keys of each). It is followed until it should have settled; \
    then its rest is sought by Newton's method, with the eigenvalues of the linearisation there: all real parts below \
    zero is a stable rest, and the one closest to zero gives the speed of its return."
)]
pub(crate) struct FluidOptions {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArguments,
    /// Give up after this time of the machine's clock: some models run away, or are followed in ever shorter steps
    #[arg(long, value_name = "TIME", default_value = "600 s", value_parser = time_limit)]
    pub(crate) time_limit: Duration,
    /// Print the result, trajectory included, as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) tables: Tables,
    #[command(flatten)]
    pub(crate) place: Place,
}

pub(crate) fn fluid(options: &FluidOptions) -> Result<()> {
    let scenario = options.scenario.resolve_still()?;
    warn_of_theory(&scenario);
    options.tables.heed();
    let output = options.place.prepare(&["trajectory.csv", "flows.csv", "links.csv"])?;
    interrupt::watch();
    let waiting = Waiting::new("following the fluid model");
    let followed = scenario.clone();
    let kept =
        format!("{NOTHING}: make fluid.duration shorter, try fluid.implicit = true, or allow more time");
    let run =
        interrupt::within(Some(options.time_limit), &kept, || (), move || followed.fluid_unless(&STOP))??;
    drop(waiting);
    let name = options.scenario.called();
    let result = || written("fluid", &FluidDocument::of(name, &run));
    if let Some(output) = output {
        tables::write_all(output.drafts(), &tables::fluid(&run)).context("cannot write the tables")?;
        output.write("result.json", &result())?;
        let outcome = Outcome::of_fluid(name, &scenario, &run);
        output.write(chart::FILE, &Figures::of(&outcome).to_json())?;
        output.write("scenario.toml", &resolved(&scenario)?)?;
        finish(output, manifest(&command_line()))?;
    }
    if options.json { print(&result()) } else { tell(&as_text(&run)) }
}

fn as_text(run: &FluidRun) -> String {
    let (end, until) = (run.views.last().expect("a run has an end"), run.times.last().expect("and a time"));
    let mut rows =
        vec![text::row(&["flow", "packets/s", "at rest", "connections", "window", "round trip [ms]"])];
    for (s, flow) in run.theory.flows.iter().enumerate() {
        let rest = run.rest.as_ref().filter(|_| run.overloaded.is_empty());
        let rest = rest.map_or("–".into(), |(_, view)| text::number(view.rates[s]));
        rows.push(vec![
            flow.name.clone(),
            text::number(end.rates[s]),
            rest,
            text::number(end.connections[s]),
            text::number(end.windows[s]),
            text::number(end.round_trips_s[s] * 1e3),
        ]);
    }
    rows.push(vec!["all".into(), text::number(end.rates.iter().sum())]);
    let mut out = format!("after {} s\n{}", text::number(*until), text::columns(&rows));
    let mut rows = vec![text::row(&["link", "price", "airtime"])];
    for (l, name) in run.theory.links.iter().enumerate() {
        let price = end.prices.get(l).map_or("–".into(), |p| text::number(*p));
        let airtime = end.airtime.get(l).map_or("–".into(), |y| digits::percent(*y));
        rows.push(vec![name.clone(), price, airtime]);
    }
    out += &format!("\n{}\n", text::columns(&rows));
    out += &match (run.warning(), &run.rest) {
        (Some(warning), _) => format!("{warning}\n"),
        (None, Some((rest, _))) => {
            let slowest = rest.eigenvalues.first().map_or(f64::NEG_INFINITY, |(re, _)| *re);
            let way = if rest.is_stable() {
                format!("stable: a deviation shrinks by e in {} s", text::number(-1.0 / slowest))
            } else {
                format!("not stable: a deviation grows by e in {} s", text::number(1.0 / slowest))
            };
            let settled =
                if run.has_settled { "The model is at rest." } else { "The model is not at rest yet." };
            format!("{settled} The rest is {way}.\n")
        }
        (None, None) => "There is no rest close to where it ended.\n".into(),
    };
    if let Some(lacks) = &run.lacks {
        out += &text::wrapped("", lacks, terminal::width());
    }
    if let (Some(first), Some(last)) = (run.lyapunov.first(), run.lyapunov.last()) {
        let growth = run.lyapunov.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max) / first;
        out += &format!(
            "The Lyapunov function falls from {} to {}{}.\n",
            text::number(*first),
            text::number(*last),
            if growth > 1e-6 {
                format!(" (and grows by up to {growth:.0e} of its first value on the way)")
            } else {
                String::new()
            }
        );
    }
    out + &format!(
        "{}, {}.\n",
        counted(run.steps, "step", "steps"),
        counted(run.corners.len(), "corner", "corners")
    )
}
