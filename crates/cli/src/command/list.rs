//! Lists of laws, studies, scenarios and metrics.

mod laws;

use crate::output::print;
use crate::{terminal, text};
use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use evenair_results::document::written;
use evenair_scenario::Resolved;
use evenair_study::document::{ListedEntry, ListedMetric};
use evenair_study::{Metric, Paper, Study};
use serde_json::{Map, Value};
use std::fmt::Display;
use std::path::Path;
use wildmatch::WildMatch;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    evenair list\n  \
    evenair list laws connections\n  \
    evenair list laws cubic --json\n  \
    evenair list metrics '*delay*'\n  \
    evenair list scenarios hidden\n  \
    evenair list studies 'jam10/fig-8-*'")]
pub(crate) struct ListOptions {
    /// The list to print; by default, the names of the lists
    #[arg(value_enum)]
    pub(crate) what: Option<Listed>,
    /// Names of laws or their families, patterns such as 'jam10/*', parts of names, files of your own; a word that is in no name is looked
    /// for in titles and descriptions
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// Every law of every family: its paper, its parameters, where it may be used
    Laws,
    /// Every metric: its unit, its meaning, and its form for all flows together
    Metrics,
    /// Every study that is built in, by paper
    Studies,
    /// Every scenario that is built in, by paper
    Scenarios,
}

pub(crate) fn list(options: &ListOptions) -> Result<()> {
    match options.what {
        None => kinds(options),
        Some(Listed::Laws) => laws::laws(options),
        Some(Listed::Metrics) => metrics(options),
        Some(Listed::Studies) => studies(options),
        Some(Listed::Scenarios) => scenarios(options),
    }
}

/// The lists, how many entries each has, and their use.
fn kinds(options: &ListOptions) -> Result<()> {
    let count = [
        (
            "laws",
            evenair_scenario::laws().iter().map(|family| family.laws.len()).sum(),
            "in scenarios and --set, e.g. backoff.law=adaptive",
        ),
        (
            "metrics",
            Metric::all().count(),
            "in studies and sweeps, e.g. evenair sweep … --metric goodput,round-trip",
        ),
        ("studies", evenair_study::study_ids().count(), "evenair study ID, or --all"),
        (
            "scenarios",
            evenair_study::scenario_ids().count(),
            "evenair show ID, then run, solve, fluid, compare or sweep it",
        ),
    ];
    if options.json {
        let counts: Map<String, Value> =
            count.iter().map(|(kind, n, _)| ((*kind).into(), Value::from(*n))).collect();
        return print(&told("counts", counts.into()));
    }
    let mut out = String::new();
    for (kind, n, how) in count {
        out += &format!("{n:5}  {:26}  {how}\n", format!("evenair list {kind}"));
    }
    print(&(out + "\nA name or a pattern behind it lists less: evenair list studies 'jam10/*'\n"))
}

/// A list as JSON.
fn told(kind: &str, list: Value) -> String {
    written("list", &Map::from_iter([(kind.to_string(), list)]))
}

/// Something that is listed by its id.
struct Entry {
    id: String,
    /// Its description, or the reason why there is none.
    title: Result<String, String>,
    /// Its description; words are looked for here, too.
    about: String,
    paper: Option<Paper>,
}

impl Entry {
    /// By its title and description.
    fn new<E: Display>(id: &str, said: Result<(String, String), E>) -> Self {
        let (title, about) = match said {
            Ok((title, about)) => (Ok(title), about),
            Err(error) => (Err(error.to_string()), String::new()),
        };
        Self { id: id.into(), title, about, paper: Paper::of(id) }
    }

    /// The text in which a word is looked for.
    fn text(&self) -> String {
        format!("{} {}", self.title.as_deref().unwrap_or_default(), self.about)
    }

    fn listed(&self) -> ListedEntry {
        let (title, error) = match &self.title {
            Ok(title) => (Some(title.clone()), None),
            Err(error) => (None, Some(error.clone())),
        };
        ListedEntry { id: self.id.clone(), title, error, paper: self.paper.map(|paper| paper.tag) }
    }
}

fn studies(options: &ListOptions) -> Result<()> {
    let said = |study: Study| (study.title, study.about);
    let builtin = |id: &str| Entry::new(id, Study::builtin(id).map(said));
    let file = |path: &Path| Entry::new(&path.to_string_lossy(), Study::load(path).map(said));
    let all = chosen("study", evenair_study::study_ids(), builtin, file, options)?;
    entries("studies (evenair study ID, or --all)", &all, options)
}

fn scenarios(options: &ListOptions) -> Result<()> {
    let said = |scenario: Resolved, text: &str| {
        let settings = scenario.settings();
        let comments: String = text.lines().filter(|line| line.starts_with('#')).collect();
        // Fluid models lack hidden terminals, and say so where a MAC has some.
        let lacks = if scenario.hidden_pairs().is_empty() { None } else { scenario.fluid_lacks() };
        let hidden = if lacks.is_some() { " hidden terminals" } else { "" };
        (settings.name.clone(), format!("{} {comments}{hidden}", settings.description))
    };
    let builtin = |id: &str| {
        let text = evenair_study::builtin_scenario(id).unwrap_or_default();
        Entry::new(id, Resolved::parse(id, text, &[]).map(|scenario| said(scenario, text)))
    };
    let file = |path: &Path| {
        Entry::new(&path.to_string_lossy(), Resolved::load(path, &[]).map(|scenario| said(scenario, "")))
    };
    let all = chosen("scenario", evenair_study::scenario_ids(), builtin, file, options)?;
    entries("scenarios (evenair run ID, evenair show ID)", &all, options)
}

/// The built-in entries that are named, in order, and the files that are named.
fn chosen(
    kind: &str,
    ids: impl Iterator<Item = &'static str>,
    builtin: impl Fn(&str) -> Entry,
    file: impl Fn(&Path) -> Entry,
    options: &ListOptions,
) -> Result<Vec<Entry>> {
    let (files, names): (Vec<_>, Vec<_>) = options.names.iter().partition(|name| Path::new(name).is_file());
    let all: Vec<Entry> =
        if options.names.is_empty() || !names.is_empty() { ids.map(builtin).collect() } else { Vec::new() };
    let mut all = named(all, &names, |entry| entry.id.clone(), Entry::text).map_err(|nothing| {
        anyhow!("no {kind} is called \"{nothing}\", and none has that in its id, title or description; a pattern is written as 'jam10/*'")
    })?;
    all.extend(files.iter().map(|name| Entry { paper: None, ..file(Path::new(name)) }));
    Ok(all)
}

/// Returns the entries of a list that the names choose; all without a name. A pattern or a part of an id chooses entries. A word that
/// is in no id's folder is also looked for in texts. The first name that chooses nothing is the error.
fn named<'a, T>(
    all: Vec<T>,
    names: &[&'a String],
    id: impl Fn(&T) -> String,
    text: impl Fn(&T) -> String,
) -> Result<Vec<T>, &'a str> {
    let mut is_chosen = vec![names.is_empty(); all.len()];
    for name in names {
        let mut found: Vec<bool> = all.iter().map(|one| is_named(&id(one), name)).collect();
        let is_behind_folders =
            |one: &T| id(one).split_once('/').is_some_and(|(folder, _)| !folder.contains(*name));
        let is_word = all.iter().zip(&found).all(|(one, found)| !found || is_behind_folders(one));
        if is_word && !is_pattern(name) && !name.contains('/') {
            let word = name.to_lowercase();
            let in_text = all.iter().map(|one| text(one).to_lowercase().contains(&word));
            found.iter_mut().zip(in_text).for_each(|(found, in_text)| *found |= in_text);
        }
        if !found.contains(&true) {
            return Err(name);
        }
        is_chosen.iter_mut().zip(found).for_each(|(chosen, found)| *chosen |= found);
    }
    Ok(all.into_iter().zip(is_chosen).filter_map(|(one, chosen)| chosen.then_some(one)).collect())
}

fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?'])
}

/// Whether a pattern matches; without stars, whether it is a part.
fn is_named(id: &str, name: &str) -> bool {
    if is_pattern(name) { WildMatch::new(name).matches(id) } else { id.contains(name) }
}

/// Ids and titles, those of a paper below it.
fn entries(head: &str, all: &[Entry], options: &ListOptions) -> Result<()> {
    if options.json {
        let rows: Vec<ListedEntry> = all.iter().map(Entry::listed).collect();
        let kind = if head.starts_with("studies") { "studies" } else { "scenarios" };
        return print(&told(kind, serde_json::to_value(rows)?));
    }
    let width = all.iter().map(|entry| entry.id.len()).max().unwrap_or(0);
    let mut out = format!("{head}\n");
    let papers = Paper::ALL.into_iter().map(Some).chain([None]);
    for paper in papers.filter(|paper| all.iter().any(|entry| entry.paper == *paper)) {
        let paper_or_not = paper.map_or_else(|| "of no paper".into(), |paper| paper.to_string());
        out += &format!("\n{}", text::wrapped("", &paper_or_not, terminal::width()));
        for Entry { id, title, .. } in all.iter().filter(|entry| entry.paper == paper) {
            let title = title.clone().unwrap_or_else(|error| format!("FAULTY: {error}"));
            out += &text::wrapped(&format!("  {id:width$}  "), &title, terminal::width());
        }
    }
    print(&out)
}

fn metrics(options: &ListOptions) -> Result<()> {
    let names: Vec<&String> = options.names.iter().collect();
    let text = |metric: &Metric| metric.about().to_string();
    let all = named(Metric::all().collect(), &names, |metric| metric.name(), text).map_err(|nothing| {
        anyhow!(
            "no metric is called \"{nothing}\", and no description has it; evenair list metrics shows all"
        )
    })?;
    if options.json {
        return print(&told(
            "metrics",
            serde_json::to_value(all.iter().map(ListedMetric::from).collect::<Vec<_>>())?,
        ));
    }
    let mut out = String::from(
        "metrics: name, unit, its form for all flows together (\"network\": of no single flow), meaning\n\n",
    );
    let width = |of: &dyn Fn(&Metric) -> usize| all.iter().map(of).max().unwrap_or(0);
    let unit = |metric: &Metric| metric.unit().unwrap_or("–");
    let names = width(&|metric| metric.name().len());
    let units = width(&|metric| unit(metric).chars().count());
    let overs = width(&|metric| metric.over_flows_name().len());
    for metric in &all {
        let (name, unit, over) = (metric.name(), unit(metric), metric.over_flows_name());
        out += &text::wrapped(
            &format!("  {name:names$}  {unit:units$}  {over:overs$}  "),
            metric.about(),
            terminal::width(),
        );
    }
    print(&(out + &statistics()))
}

/// How words of metrics go on.
fn statistics() -> String {
    let of = |has: fn(Metric) -> bool| {
        Metric::all().filter(|&metric| has(metric)).map(Metric::name).collect::<Vec<_>>().join(", ")
    };
    let times = of(Metric::has_times);
    let over_time = of(Metric::has_series);
    String::from("\n")
        + &text::wrapped(
            "percentiles of every segment, request or packet: ",
            &format!("{times}, with -p95, -p99.9 or another behind the name"),
            terminal::width(),
        )
        + &text::wrapped(
            "of the course over time: ",
            &format!(
                "{over_time}, with -deviation, -least or -greatest behind the name, and -p95 of the others"
            ),
            terminal::width(),
        )
        + &text::wrapped(
            "of a flow's acknowledgements: ",
            "ack- before the name, such as ack-loss",
            terminal::width(),
        )
}
