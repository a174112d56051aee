//! Studies, built in or of one's own: run, changed, exported.

use super::completions;
use super::list::{self, ListOptions, Listed};
use crate::arguments::share;
use crate::interrupt::{self, STOP};
use crate::latex::{Tables, tell};
use crate::live;
use crate::output::{Overwrite, Place, finish, print, resolved, shell_word, warn_of_all};
use crate::progress::Bar;
use crate::record::Recorder;
use crate::terminal;
use crate::text;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use evenair_results::digits::counted;
use evenair_results::document::{document, written};
use evenair_results::{OutputFolder, tables};
use evenair_study::chart::{self, Figures};
use evenair_study::document::StudyDocument;
use evenair_study::{Outcome, Progress as _, Shard, Study, Sweep, Tally, Variant, html};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;
use wildmatch::WildMatch;

#[derive(Debug, Args)]
#[command(
    after_help = "Writes into DIR/ID (by default evenair-results/ID): report.html, result.json, figures.json, table.csv, claims.csv, \
    flows.csv, links.csv, seeds.csv (and series.csv; the same as Parquet, if built with --features parquet), study.toml, scenarios/ with all \
    defaults resolved, and manifest.json.\n\
    A claim holds, fails, or is undecided where its 95 % interval lies on both sides of a bound (see --decide).\n\
    On several machines: give each --shard I/N and one shared DIR, then run once more without it.\n\
    Finished runs are kept: running again does only the missing ones.\n\
    The exit code tells whether the studies ran, not whether their claims hold.\n\n\
    Examples:\n  \
    evenair study chen10/fig-4-2 --quick\n  \
    evenair study 'jam10/fig-8-*'\n  \
    evenair study jam10/fig-8-2 --variant pfrc --seeds 3 --set duration='60 s'\n  \
    evenair study jam10/fig-8-2 --export mine\n  \
    evenair study mine/fig-8-2.toml --check\n  \
    evenair study mine/fig-8-2.toml"
)]
pub(crate) struct StudyOptions {
    /// Ids such as chen10/fig-4-2, patterns such as 'jam10/*', or files of your own; without any, lists the studies, as
    /// `evenair list studies` does
    #[arg(value_name = "ID|FILE", conflicts_with = "all", add = ArgValueCompleter::new(completions::studies))]
    pub(crate) ids: Vec<String>,
    #[arg(
        long,
        value_name = "KEY=VALUE",
        help = "Override a key of every variant's scenario, e.g. --set duration='60 s': it wins over the study's own, its variants' and --quick's"
    )]
    pub(crate) set: Vec<String>,
    /// How many seeds, instead of the study's own number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) seeds: Option<u32>,
    /// Only this variant, or all points of this sweep; may be given several times
    #[arg(long, value_name = "VARIANT")]
    pub(crate) variant: Vec<String>,
    /// Instead of running it: write the study and its scenarios there, to edit and to run as a file
    #[arg(long, value_name = "DIR", conflicts_with_all = ["all", "set", "seeds", "variant", "quick", "shard", "decide", "precision", "seeds_max", "out", "json", "latex"])]
    pub(crate) export: Option<PathBuf>,
    /// Instead of running it: look for mistakes, in its scenarios with its changes, too
    #[arg(long, conflicts_with_all = ["export", "shard", "decide", "precision", "seeds_max", "json", "latex", "out"])]
    pub(crate) check: bool,
    /// Every study; those over real sockets, which take as long as they simulate, with --live only
    #[arg(long)]
    pub(crate) all: bool,
    /// With --all or a pattern: those over real sockets, too; named by themselves they need no such word
    #[arg(long)]
    pub(crate) live: bool,
    /// Fewer seeds and shorter runs
    #[arg(long)]
    pub(crate) quick: bool,
    /// Do one part of the runs only, and no report
    #[arg(long, value_name = "I/N", value_parser = shard, conflicts_with_all = ["precision", "seeds_max", "json", "latex"])]
    pub(crate) shard: Option<Shard>,
    /// Record the measured values with commit and day in DIR/ID.json, which `evenair verdicts` shows; only of a study in
    /// full, by a program that was built from a commit
    #[arg(long, value_name = "DIR", conflicts_with_all = ["set", "seeds", "variant", "quick", "shard", "precision", "export", "check"])]
    pub(crate) record: Option<PathBuf>,
    /// Only those studies of which --record's folder has no record, or one of other scenarios or other trajectories; with --decide
    /// where the record had it
    #[arg(long, requires = "record")]
    pub(crate) due: bool,
    /// Add seeds until half of each flow's 95 % interval is at most this share of the largest goodput, such as 2%
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) precision: Option<f64>,
    /// Add seeds until every claim is decided by its 95 % interval, up to the study's largest number of seeds; only
    /// variants of undecided claims get more
    #[arg(long, conflicts_with = "shard")]
    pub(crate) decide: bool,
    /// The most seeds that --decide and --precision may take, instead of the study's own limit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) seeds_max: Option<u32>,
    /// Print the results as JSON, one document a line and study
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) tables: Tables,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// Where results go if nothing is said.
pub(super) const RESULTS: &str = "evenair-results";

/// The files of a result, beside those that all results have.
pub(super) fn writes() -> Vec<&'static str> {
    [&["report.html", "study.toml", "table.csv", "claims.csv"], &tables::OF_RUNS[..]].concat()
}

impl StudyOptions {
    /// Whether only options of a list of studies are given.
    fn is_for_a_list(&self) -> bool {
        let lists = self.set.is_empty() && self.variant.is_empty() && self.export.is_none();
        let runs = self.quick || self.decide || self.shard.is_some() || self.precision.is_some();
        let writes = self.check || self.place.out.is_some();
        lists && !runs && !writes && self.seeds.or(self.seeds_max).is_none()
    }

    /// Whether studies over real sockets are meant where many are: it is said, or nothing runs.
    fn with_live(&self) -> bool {
        self.live || self.check || self.export.is_some()
    }

    /// Where the folders of all results are.
    fn folder(&self) -> PathBuf {
        self.place.or(RESULTS)
    }

    /// Options without effect are refused.
    fn check(&self, all: &[Asked]) -> Result<()> {
        let goes_on = self.decide
            || self.precision.is_some()
            || !self.quick && all.iter().any(|one| one.study.precision.is_some());
        ensure!(
            self.seeds_max.is_none() || goes_on,
            "--seeds-max has no effect: it bounds the seeds of --decide and --precision"
        );
        Ok(())
    }
}

/// Reads "2/5".
pub(crate) fn shard(text: &str) -> Result<Shard, String> {
    let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    match parts {
        Some((index, of)) if index >= 1 && index <= of => Ok(Shard { index, of }),
        _ => Err("write the part as I/N, from 1/N to N/N".into()),
    }
}

/// Runs a study, and on until its claims are decided if that is asked for.
fn simulate(sweep: &Sweep, study: Study, folder: &Path, decide: bool, bar: &Bar) -> Result<Outcome> {
    let id = study.id.clone();
    bar.stage(&id);
    let runs = sweep.run(folder, &STOP, bar)?;
    let of = sweep.clone();
    let kept = "all runs are finished and kept; run again to compute the results from them";
    let mut outcome = interrupt::unless_stopped(kept, move || Outcome::new(study, &of, runs))?;
    while let Some(wanted) = outcome.seeds_to_decide().filter(|_| decide) {
        bar.stage(&format!("{id}: {} undecided", outcome.tally().undecided));
        outcome.add(sweep.run_more(&outcome.runs_of_each(), &wanted, folder, &STOP, bar)?);
    }
    Ok(outcome)
}

/// Conducts one study in a folder and writes its report, result and tables; finished runs stay there for the next time.
pub(crate) fn conduct(
    sweep: &Sweep,
    study: Study,
    output: OutputFolder,
    command: &str,
    decide: bool,
    bar: &Bar,
) -> Result<Outcome> {
    let text = study.text().to_owned();
    let outcome = simulate(sweep, study, &output.folder().join("runs"), decide, bar)?;
    let figures = Figures::of(&outcome);
    output.write("report.html", &html::report(&outcome, &figures, command))?;
    output.write(chart::FILE, &figures.to_json())?;
    output.write("result.json", &written("study", &StudyDocument::of(&outcome)))?;
    output.write("study.toml", &text)?;
    for (variant, scenario) in outcome.scenarios() {
        output.write(&format!("scenarios/{variant}.toml"), &resolved(scenario)?)?;
    }
    evenair_study::tables::write_study(output.drafts(), &outcome).context("cannot write the tables")?;
    finish(output, outcome.manifest(command))?;
    Ok(outcome)
}

/// A study that is asked for, and the name by which it was.
struct Asked {
    name: String,
    /// Where its results go, below the folder of all.
    folder: PathBuf,
    study: Study,
    /// Whether it goes on until its claims are decided.
    decide: bool,
}

/// Studies with a record of other runs than they would make at present.
fn due(all: Vec<Asked>, recorder: &Recorder) -> Result<Vec<Asked>> {
    let (count, mut due, mut seconds) = (all.len(), Vec::new(), 0.0);
    for mut asked in all {
        let (is_due, record) = recorder.is_due(&asked.study)?;
        if is_due {
            asked.decide |= record.as_ref().is_some_and(|record| record.command.contains(" --decide"));
            seconds += record.and_then(|record| record.seconds).unwrap_or_default();
            due.push(asked);
        }
    }
    let names = due.iter().map(|asked| asked.name.as_str()).collect::<Vec<_>>().join(", ");
    let took = if seconds > 0.0 { format!("; recorded in {:.0} min", seconds / 60.0) } else { String::new() };
    if !due.is_empty() {
        let all = counted(count, "study is", "studies are");
        terminal::note(format_args!("{} of {all} due{took}: {names}", due.len()));
    }
    Ok(due)
}

/// Many studies that were not named one by one: those over real sockets, which take as long as they simulate, are not meant unless it
/// is said, or nothing else is there.
fn without_live(all: Vec<Asked>) -> Vec<Asked> {
    let count = all.iter().filter(|asked| asked.study.is_live()).count();
    if count == 0 || count == all.len() {
        return all;
    }
    let studies = counted(count, "study", "studies");
    terminal::warn(format_args!("{studies} over real sockets left out: --live runs them, too"));
    all.into_iter().filter(|asked| !asked.study.is_live()).collect()
}

/// All that are asked for, read before any runs: a misspelt id must not cost the studies before it.
fn asked(options: &StudyOptions) -> Result<Vec<Asked>> {
    let decide = options.decide;
    let builtin =
        |id: &str| Ok(Asked { name: id.into(), folder: id.into(), study: Study::builtin(id)?, decide });
    if options.all {
        let all = evenair_study::study_ids().map(builtin).collect::<Result<Vec<_>>>()?;
        return Ok(if options.with_live() { all } else { without_live(all) });
    }
    let mut all: Vec<Asked> = Vec::new();
    for name in &options.ids {
        let path = Path::new(name);
        if path.is_file() {
            let folder = PathBuf::from(path.file_stem().unwrap_or(path.as_os_str()));
            all.push(Asked { name: name.clone(), folder, study: Study::load(path)?, decide });
        } else if name.contains(['*', '?']) {
            let pattern = WildMatch::new(name);
            let ids = evenair_study::study_ids().filter(|id| pattern.matches(id));
            let found = ids.map(builtin).collect::<Result<Vec<_>>>()?;
            ensure!(!found.is_empty(), "no built-in study is called \"{name}\"; see evenair list studies");
            all.extend(if options.with_live() { found } else { without_live(found) });
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            bail!("there is no file {name}");
        } else {
            all.push(builtin(name)?);
        }
    }
    let mut folders = BTreeMap::new();
    for Asked { name, folder, .. } in &all {
        if let Some(other) = folders.insert(folder, name) {
            bail!("{other} and {name} would both write to {}", options.folder().join(folder).display());
        }
    }
    Ok(all)
}

/// The changes that the options make to a study; gives the command that does the same.
fn changed(asked: &mut Asked, options: &StudyOptions) -> Result<String> {
    let Asked { name, study, decide, .. } = asked;
    let mut command = format!("evenair study {}", shell_word(name));
    if options.quick {
        command += " --quick";
    }
    for change in &options.set {
        command += &format!(" --set {}", shell_word(change));
    }
    if let Some(seeds) = options.seeds {
        command += &format!(" --seeds {seeds}");
        (study.seeds, study.quick.seeds) = (seeds, seeds);
    }
    for variant in &options.variant {
        command += &format!(" --variant {}", shell_word(variant));
    }
    if !options.variant.is_empty() {
        study.keep(&options.variant)?;
    }
    study.change(options.set.iter().cloned())?;
    if let Some(most) = options.seeds_max {
        command += &format!(" --seeds-max {most}");
        study.seeds_max = most;
    }
    if let Some(precision) = options.precision {
        command += &format!(" --precision {precision}");
    }
    if *decide {
        command += " --decide";
    }
    Ok(command)
}

/// Looks for mistakes, and says that there is none.
fn check(asked: &Asked, quick: bool) -> Result<()> {
    let Asked { name, study, .. } = asked;
    let sweep = Sweep::new(study, quick)?;
    let count = |n: usize, of: &str| format!("{n} {of}{}", if n == 1 { "" } else { "s" });
    let (variants, claims) = (count(sweep.cases.len(), "variant"), count(study.claims.len(), "claim"));
    let seeds = count(sweep.seeds as usize, "seed");
    print(&format!("{name} is right: {variants}, {seeds} each, {claims}\n"))
}

pub(crate) fn study(options: &StudyOptions) -> Result<()> {
    options.tables.heed();
    let mut all = asked(options)?;
    let recorder = options.record.as_deref().map(Recorder::new).transpose()?;
    if let Some(recorder) = recorder.as_ref().filter(|_| options.due) {
        all = due(all, recorder)?;
        if all.is_empty() {
            terminal::note("no study is due");
            return Ok(());
        }
    }
    if all.is_empty() {
        ensure!(options.is_for_a_list(), "name the studies, or give --all");
        return list::list(&ListOptions {
            what: Some(Listed::Studies),
            names: Vec::new(),
            json: options.json,
        });
    }
    if let Some(folder) = &options.export {
        return export(&all, folder, options.place.overwrite);
    }
    // Nor must a variant that one of them does not have.
    let commands = all.iter_mut().map(|one| changed(one, options)).collect::<Result<Vec<_>>>()?;
    options.check(&all)?;
    if options.check {
        return all.iter().try_for_each(|asked| check(asked, options.quick));
    }
    // Nor a folder that cannot be written.
    let (folder, writes) = (options.folder(), writes());
    let outputs = all.iter().map(|one| options.place.prepare_at(&folder.join(&one.folder), &writes));
    let outputs = outputs.collect::<Result<Vec<_>>>()?;
    let mut sweeps = all.iter().map(|one| planned(&one.study, options)).collect::<Result<Vec<_>>>()?;
    live::prepare(&mut sweeps)?;
    // Those that come with evenair are meant as they are.
    let own = sweeps.iter().zip(&all).filter(|(_, asked)| evenair_study::study_text(&asked.name).is_none());
    warn_of_all(own.flat_map(|(sweep, _)| sweep.simulated()));
    interrupt::watch();
    let bar = Bar::new("");
    let parts = options.shard.map_or(1.0, |shard| shard.of as f64);
    sweeps.iter().for_each(|sweep| bar.expected(sweep.work() / parts));
    let (count, mut tally) = (all.len(), Tally::default());
    let planned = all.into_iter().zip(commands).zip(outputs).zip(sweeps);
    for (((Asked { folder, study, decide, .. }, command), output), sweep) in planned {
        let begun = Instant::now();
        let folder = options.folder().join(folder);
        if let Some(shard) = options.shard {
            bar.stage(&study.id);
            let done = sweep.run_shard(shard, &folder.join("runs"), &STOP, &bar)?;
            let part = format!("part {}/{}", shard.index, shard.of);
            let text = format!("{}: {part} is done, {}\n", study.id, counted(done, "run", "runs"));
            bar.aside(|| print(&text))?;
            continue;
        }
        let outcome = conduct(&sweep, study, output, &command, decide, &bar)?;
        if let Some(recorder) = &recorder {
            recorder.keep(&outcome, &command, begun.elapsed())?;
        }
        tally.add(outcome.tally());
        let text = if options.json {
            format!("{}\n", document("study", &StudyDocument::of(&outcome)))
        } else {
            format!("{}report: {}\n", text::outcome(&outcome), folder.join("report.html").display())
        };
        bar.aside(|| tell(&text))?;
    }
    drop(bar);
    if options.json || options.shard.is_some() {
        return Ok(());
    }
    let (studies, claims) = (counted(count, "study", "studies"), counted(tally.all(), "claim", "claims"));
    tell(&format!("\n{studies}, {claims}: {tally}\n"))
}

/// The runs of a study, as the options want them.
fn planned(study: &Study, options: &StudyOptions) -> Result<Sweep> {
    let mut sweep = Sweep::new(study, options.quick)?;
    if let Some(precision) = options.precision {
        sweep.set_precision(precision, study.seeds_max);
    }
    Ok(sweep)
}

/// Writes a study and the scenarios that it names where they can be edited.
fn export(all: &[Asked], folder: &Path, overwrite: Overwrite) -> Result<()> {
    let [Asked { name, folder: id, study, .. }] = all else {
        bail!("--export takes one study, and {} are named", all.len())
    };
    let last = id.file_name().unwrap_or(id.as_os_str());
    let file = folder.join(last).with_extension("toml");
    let scenarios: BTreeSet<&str> = study.variants.iter().flat_map(Variant::scenario_ids).collect();
    let beside = scenarios.iter().filter_map(|id| Some((id, evenair_study::builtin_scenario(id)?)));
    let beside = beside.map(|(id, text)| (folder.join(format!("{id}.toml")), text.into()));
    let files: Vec<(PathBuf, Vec<u8>)> =
        std::iter::once((file.clone(), study.text().into())).chain(beside).collect();
    overwrite.write_all(&files)?;
    let (file, beside) = (file.display(), scenarios.into_iter().collect::<Vec<_>>().join(", "));
    print(&format!("{name} is {file}; beside it are its scenarios, {beside}; evenair study {file} runs it\n"))
}
