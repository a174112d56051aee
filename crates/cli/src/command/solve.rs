//! `evenair solve`.

use crate::arguments::{ScenarioArguments, time_limit};
use crate::interrupt::{self, NOTHING, STOP};
use crate::latex::{Tables, tell};
use crate::output::{Place, command_line, finish, print, resolved, warn_of_theory};
use crate::progress::Waiting;
use crate::{terminal, text};
use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use evenair_results::digits::{self, counted};
use evenair_results::document::{ProductFormDocument, ProductFormLink, SolveDocument, written};
use evenair_results::{manifest, tables};
use evenair_scenario::{
    Done, Objective, Optimum, Overfull, Question, Region, Resolved, Solution, Solver, Watch,
};
use evenair_study::Outcome;
use evenair_study::chart::{self, Figures};
use std::time::Duration;

#[derive(Debug, Args)]
#[command(
    after_help = "Writes into DIR, where --out names one: flows.csv, links.csv (with prices), conflicts.csv, sets.csv and set_links.csv \
    (independent sets with their shares of time), the same as Parquet, if evenair was built with --features parquet, result.json, \
    scenario.toml (all defaults resolved), figures.json, which evenair plot DIR draws, and manifest.json.\n\n\
    Examples:\n  \
    evenair solve chen10/a\n  \
    evenair solve jam10/grid --objective max-min --region collision-domains\n  \
    evenair solve chen10/a --objective fixed-point --set backoff.law=adaptive --set connections.k=10\n  \
    evenair solve chen10/a --set flows.2.weight=3 --set flows.2.alpha=1 --set utility.unit=Mbps\n  \
    evenair solve chen10/a --out a-optimum\n  \
    evenair solve chen10/a --exponents 0.8,0.8,0.8,0.8\n  \
    evenair solve chen10/a --wanted 250,130,150,150\n\n\
    A flow's own utility is weight·x^(1−α)/(1−α) of its rate x, at α = 1 weight·log x. x counts packets a second; with \
    [utility] unit = \"Mbps\" megabits of payload, which matters where flows differ in α or in packet size. The conflict graph is \
    that of the positions, or one of your own: conflicts = { file = \"pairs.csv\" } beside [[links]], or a scenario of one table,\n\n  \
    generate = { kind = \"conflict-graph\", file = \"pairs.csv\", flows = { pattern = \"each-link\", traffic = \"saturated\" } }\n\n\
    The fixed point needs a scenario with adaptive back-off and connections. Rates count the airtime of a segment, its \
    802.11 acknowledgement and its TCP acknowledgement, and no back-off and no collisions: no MAC reaches them fully.\n\n\
    The exact region is solved exactly up to some hundreds of links, by generating sets of links that may transmit at once as they are needed; \
    beyond, the allocation is feasible, with a certified bound on any better one."
)]
pub(crate) struct SolveOptions {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArguments,
    /// The objective. By default fair; utility where the scenario has `[utility]`, or a flow alpha or points
    #[arg(long, value_enum)]
    pub(crate) objective: Option<ObjectiveName>,
    /// How much fairness counts, for --objective alpha-fair: 1 is proportional, 2 is fair and the default, large is close to
    /// max-min
    #[arg(long, value_name = "ALPHA", value_parser = alpha)]
    pub(crate) alpha: Option<f64>,
    /// Which rates are possible together
    #[arg(long, value_enum, default_value_t = RegionName::Exact)]
    pub(crate) region: RegionName,
    /// The solver
    #[arg(long, value_enum, default_value_t = SolverName::Own)]
    pub(crate) solver: SolverName,
    /// Give up after this time of the machine's clock [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = time_limit)]
    pub(crate) time_limit: Option<Duration>,
    /// Subtract the loss of CSMA's random turns at that β: the entropy, with the weight 1/BETA; 1 is problem (2) of [QCSMA]
    #[arg(long, value_name = "BETA", value_parser = positive_number)]
    pub(crate) beta: Option<f64>,
    /// Instead of an optimum: how ideal CSMA shares the air if its links have these exponents βr (β times aggressiveness), one per link
    #[arg(long, value_name = "Z,Z,…", value_delimiter = ',', allow_hyphen_values = true, conflicts_with_all = ["objective", "alpha", "region", "solver", "beta", "wanted", "out"])]
    pub(crate) exponents: Vec<f64>,
    /// Instead of an optimum: which exponents βr give the flows these rates [packets/s]
    #[arg(long, value_name = "X,X,…", value_delimiter = ',', allow_hyphen_values = true, value_parser = positive_number, conflicts_with_all = ["objective", "alpha", "region", "solver", "beta", "out"])]
    pub(crate) wanted: Vec<f64>,
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) tables: Tables,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ObjectiveName {
    /// The largest sum of −1/x over all flows' rates x, in which small rates count most: the objective of TCP Reno with equal
    /// round trips
    Fair,
    /// The equilibrium of adaptive back-off and n = kT connections by theory, less the loss of CSMA's random turns: problem MP of
    /// [Chen10] (EP, with wires), with the scenario's own k and β
    FixedPoint,
    /// The largest sum of log x
    Proportional,
    /// The largest sum of x^(1−α)/(1−α), with --alpha
    AlphaFair,
    /// The flows' own utilities: `weight`, and `alpha` or a table of `points`, of each; `[utility]` for all
    Utility,
    /// No flow can have more but at the cost of one that has less
    MaxMin,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SolverName {
    /// Newton's method on the links' prices; sets of links that may transmit at once are added as they are needed
    Own,
    /// A conic interior-point solver: a second opinion on small networks
    Clarabel,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum RegionName {
    /// All that a schedule of the air can reach: shares of time for sets of links that may transmit at once
    Exact,
    /// A simple bound: of links that are all in conflict with each other one transmits at a time
    Cliques,
    /// A simpler model, of [Jam10]: of a link and those in transmission range of it (where conflicts are given, those in conflict with it) one transmits at a time
    CollisionDomains,
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

/// How much of the solver's work is done.
static DONE: Done = Done::new();

pub(crate) fn solve(options: &SolveOptions) -> Result<()> {
    let scenario = options.scenario.resolve_still()?;
    warn_of_theory(&scenario);
    options.tables.heed();
    if !options.exponents.is_empty() || !options.wanted.is_empty() {
        return product_form(options, &scenario);
    }
    let output =
        options.place.prepare(&["flows.csv", "links.csv", "conflicts.csv", "sets.csv", "set_links.csv"])?;
    let objective = match options.objective {
        None => scenario.objective(),
        Some(ObjectiveName::Fair) => Objective::Fair,
        Some(ObjectiveName::FixedPoint) => Objective::FixedPoint,
        Some(ObjectiveName::Proportional) => Objective::Proportional,
        Some(ObjectiveName::AlphaFair) => Objective::AlphaFair(options.alpha.unwrap_or(2.0)),
        Some(ObjectiveName::Utility) => Objective::Utility,
        Some(ObjectiveName::MaxMin) => Objective::MaxMin,
    };
    ensure!(
        options.alpha.is_none() || matches!(objective, Objective::AlphaFair(_)),
        "--alpha has no effect: give --objective alpha-fair with it"
    );
    let region = match options.region {
        RegionName::Exact => Region::Exact,
        RegionName::Cliques => Region::Cliques,
        RegionName::CollisionDomains => Region::CollisionDomains,
    };
    let solver = match options.solver {
        SolverName::Own => Solver::Own,
        SolverName::Clarabel => Solver::Clarabel,
    };
    interrupt::watch();
    let waiting = Waiting::new(&format!(
        "solving for {} over {}",
        counted(scenario.network().flows.len(), "flow", "flows"),
        counted(scenario.layout().links.len(), "link", "links")
    ));
    let question = Question { objective, region, solver, beta: options.beta };
    let asked = scenario.clone();
    let watch = Watch { stop: &STOP, done: Some(&DONE) };
    let look_on = || waiting.reached(DONE.share(), DONE.gap());
    let solve = move || asked.answer_unless(question, watch);
    let kept = format!("{NOTHING}: --region cliques gives a bound at once, or allow more time");
    let optimum = interrupt::within(options.time_limit, &kept, look_on, solve)??;
    drop(waiting);
    let name = options.scenario.called();
    let result = || written("solve", &SolveDocument::of(name, &optimum));
    if let Some(output) = output {
        tables::write_all(output.drafts(), &tables::optimum(&optimum)).context("cannot write the tables")?;
        output.write("scenario.toml", &resolved(&scenario)?)?;
        output.write("result.json", &result())?;
        let outcome = Outcome::of_optimum(name, &scenario, &optimum);
        output.write(chart::FILE, &Figures::of(&outcome).to_json())?;
        finish(output, manifest(&command_line()))?;
    }
    if options.json {
        return print(&result());
    }
    let tables = objective == Objective::Utility && optimum.theory.flows.iter().any(|f| f.points.is_some());
    let note = match (optimum.by_clarabel && solver == Solver::Own, tables) {
        (true, true) => "Found by Clarabel: utilities that are tables of points make a linear programme.\n",
        (true, false) => "Found by Clarabel: evenair's own method stopped short of the optimum.\n",
        (false, _) => "",
    };
    tell(&(as_text(&optimum) + note + &beyond_the_air(&optimum)))
}

/// Says that no schedule carries the rates of a model that leaves conflicts out.
fn beyond_the_air(optimum: &Optimum) -> String {
    if optimum.region != Region::CollisionDomains {
        return String::new();
    }
    let Some(Overfull { links, load }) = optimum.overfull() else { return String::new() };
    let names: Vec<&str> = links.iter().map(|&l| optimum.theory.links[l as usize].as_str()).collect();
    let note = format!(
        "More than the air carries: links {} conflict with each other and would need {:.0} % of the time. Collision domains count \
        transmission range only ([Jam10] section 4.1.2), and these links sense each other from further away; --region exact counts that.",
        text::listed(&names, NAMED_MAX),
        100.0 * load
    );
    format!("\n{}", text::wrapped("", &note, terminal::width()))
}

/// Shares of time from exponents, or exponents from rates.
fn product_form(options: &SolveOptions, scenario: &Resolved) -> Result<()> {
    let exponents = if options.wanted.is_empty() {
        options.exponents.clone()
    } else {
        scenario.exponents_for(&options.wanted)?.1
    };
    let (theory, shares) = scenario.shares_at(&exponents)?;
    if options.json {
        let links = theory.links.iter().zip(&exponents).zip(&shares);
        let link = |((name, z), y): ((&String, &f64), &f64)| ProductFormLink {
            link: name.clone(),
            exponent: *z,
            airtime: *y,
        };
        let scenario = options.scenario.called().into();
        let content = ProductFormDocument { scenario, links: links.map(link).collect() };
        return print(&written("solve", &content));
    }
    let mut rows = vec![text::row(&["link", "exponent βr", "airtime"])];
    for ((name, z), y) in theory.links.iter().zip(&exponents).zip(&shares) {
        rows.push(vec![name.clone(), text::number(*z), digits::percent(*y)]);
    }
    tell(&text::columns(&rows))
}

/// The most links and sets that are printed, and the most links of a set.
const ROWS_MAX: usize = 40;
const NAMED_MAX: usize = 24;

fn as_text(optimum: &Optimum) -> String {
    let mut rows = vec![text::row(&["flow", "packets/s", "kb/s", "of capacity"])];
    let mut total = (0.0, 0.0);
    for ((flow, rate), capacity) in
        optimum.theory.flows.iter().zip(&optimum.rates_pps).zip(&optimum.capacity_pps)
    {
        let kbps = rate * flow.payload_bits / 1e3;
        total = (total.0 + rate, total.1 + kbps);
        let share = digits::percent(rate / capacity);
        rows.push(vec![flow.name.clone(), text::number(*rate), text::number(kbps), share]);
    }
    rows.push(vec!["all".into(), text::number(total.0), text::number(total.1)]);
    let mut out = text::columns(&rows);
    let mut rows = vec![text::row(&["link", "price", "load", "airtime"])];
    for (l, name) in optimum.theory.links.iter().enumerate().take(ROWS_MAX) {
        let price = optimum.prices.get(l).map_or("–".into(), |p| text::number(*p));
        let airtime = optimum.airtime.get(l).map_or("–".into(), |y| digits::percent(*y));
        rows.push(vec![name.clone(), price, digits::percent(optimum.load[l]), airtime]);
    }
    out += &format!("\n{}{}", text::columns(&rows), more(optimum.theory.links.len()));
    let mut sets: Vec<&(Vec<u32>, f64)> =
        optimum.schedule.iter().filter(|(_, share)| *share > 5e-4).collect();
    sets.sort_by(|a, b| b.1.total_cmp(&a.1));
    // Cliques and collision domains bound loads and give no schedule.
    if sets.iter().any(|(set, _)| !set.is_empty()) {
        out += "\nshare of time, and the links that transmit at once\n";
        for (set, share) in sets.iter().take(ROWS_MAX) {
            let names: Vec<&str> = set.iter().map(|&l| optimum.theory.links[l as usize].as_str()).collect();
            let names = if names.is_empty() { "none".into() } else { text::listed(&names, NAMED_MAX) };
            out += &text::wrapped(&format!("  {:5.1} %  ", 100.0 * share), &names, terminal::width());
        }
        out += &more(sets.len());
    }
    match (&optimum.residuals, &optimum.value) {
        (Some(residuals), _) if residuals.worst() < 1e-6 => {
            out += &format!("\nOptimality conditions hold within {:.0e}.\n", residuals.worst().max(1e-16));
            out += &unknown(optimum);
        }
        (Some(residuals), Some(_)) if optimum.by_clarabel => {
            out += &format!(
                "\nClarabel stopped {:.0e} away from the optimality conditions; exact means 1e-6.\n",
                residuals.worst()
            );
        }
        (Some(_), Some((value, bound))) => {
            let note = format!(
                "Not exact: there are too many independent sets to know the best. These rates are feasible; {}.",
                bounded(optimum, *value, *bound)
            );
            out += &format!("\n{}", text::wrapped("", &note, terminal::width()));
        }
        _ => (),
    }
    out
}

/// Flows with so little weight beside others that the bound for all together does not bound their rates.
fn unknown(optimum: &Optimum) -> String {
    let flows = optimum.theory.flows.iter().zip(&optimum.rates_within);
    let unknown: Vec<String> = flows
        .filter(|(_, within)| **within > Solution::KNOWN)
        .map(|(flow, within)| {
            let within =
                if within.is_finite() { format!("{:.0} %", 100.0 * within) } else { "any factor".into() };
            format!("{} ({within})", flow.name)
        })
        .collect();
    if unknown.is_empty() {
        return String::new();
    }
    let note = format!(
        "But some flows have so little weight beside the others that this does not bound their rates well, which may be off by as much as: {}. A smaller --alpha, or --objective max-min, is certain of all.",
        unknown.join(", ")
    );
    text::wrapped("", &note, terminal::width())
}

/// The gap between the found value and its bound, in words: as the factor on the rates that would reach the bound, where all
/// flows have one utility.
fn bounded(optimum: &Optimum, value: f64, bound: f64) -> String {
    let alphas = optimum.theory.flows.iter().map(|flow| optimum.objective.alpha_of(flow));
    let alike = alphas.clone().next().flatten().filter(|first| alphas.clone().all(|a| a == Some(*first)));
    let weight: f64 = optimum.theory.flows.iter().map(|flow| flow.weight).sum();
    match alike.map(|alpha| times(alpha, weight, value, bound)) {
        Some(Some(times)) => {
            format!("no allocation is worth more than {} times all of them", text::number(times))
        }
        Some(None) => "nothing bounds how much better the best is".into(),
        None => format!(
            "their utilities add up to {}, and no allocation's to more than {}",
            text::number(value),
            text::number(bound)
        ),
    }
}

/// The factor on the rates of flows of one α, with utilities that add up to `value`, at which they add up to `bound`; nothing, if
/// no rates are. Of c times the rates w·x^(1−α)/(1−α) is c^(1−α) times as much, and w·log x is w·log c more.
fn times(alpha: f64, weight: f64, value: f64, bound: f64) -> Option<f64> {
    let times = match alpha {
        1.0 => ((bound - value) / weight).exp(),
        alpha => (bound / value).powf(1.0 / (1.0 - alpha)),
    };
    (times.is_finite() && times >= 1.0).then_some(times)
}

fn more(rows: usize) -> String {
    if rows > ROWS_MAX {
        format!("  … {} more (--json has them all)\n", rows - ROWS_MAX)
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::times;

    #[test]
    fn bound_is_given_as_factor_on_rates() {
        let near = |found: Option<f64>, expected: f64| {
            assert!((found.unwrap() - expected).abs() < 1e-12, "{found:?}");
        };
        // −1/x: a tenth less is worth a tenth more of everything.
        near(times(2.0, 1.0, -1.1, -1.0), 1.1);
        near(times(1.0, 3.0, 0.0, 3.0 * 2f64.ln()), 2.0);
        near(times(0.5, 1.0, 2.0, 4.0), 4.0);
        near(times(3.0, 1.0, -0.5, -0.125), 2.0);
        // A sum of −1/x is never above zero, so that such a bound says nothing.
        assert_eq!((times(2.0, 1.0, -1.1, 0.721), times(3.0, 1.0, -1.1, 0.7)), (None, None));
    }
}
