//! Studies, built in or of one's own: run, changed, exported.

use crate::arguments::{ListOptions, Listed, StudyOptions};
use crate::commands::{STOP, print, resolved, watch_for_interrupt, write_file};
use crate::list;
use crate::progress::Bar;
use crate::text;
use anyhow::{Context, Result, bail, ensure};
use evenair_study::{Outcome, Study, Sweep, Tally, Variant, html, tables};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use wildmatch::WildMatch;

/// Runs a study, and on until its claims are decided if that is asked for.
fn simulate(sweep: &Sweep, study: Study, folder: &Path, decide: bool) -> Result<Outcome> {
    let id = study.id.clone();
    let bar = Bar::new(&id);
    let runs = sweep.run(folder, &STOP, &bar).inspect_err(|_| bar.clear())?;
    let mut outcome = Outcome::new(study, sweep, runs);
    while let Some(wanted) = outcome.seeds_to_decide().filter(|_| decide) {
        bar.tell(format!("{id}: {} undecided", outcome.tally().undecided));
        let more = sweep.run_more(&outcome.runs_of_each(), &wanted, folder, &STOP, &bar);
        outcome.add(more.inspect_err(|_| bar.clear())?);
    }
    bar.clear();
    Ok(outcome)
}

/// Conducts one study in a folder and writes its report, result and tables.
pub(crate) fn conduct(
    sweep: &Sweep,
    study: Study,
    folder: &Path,
    command: &str,
    decide: bool,
) -> Result<Outcome> {
    let text = study.text().to_owned();
    let outcome = simulate(sweep, study, &folder.join("runs"), decide)?;
    write_file(&folder.join("report.html"), &html::report(&outcome, command))?;
    write_file(&folder.join("result.json"), &format!("{:#}\n", outcome.to_json()))?;
    write_file(&folder.join("table.csv"), &outcome.to_csv())?;
    write_file(&folder.join("manifest.json"), &format!("{:#}\n", outcome.manifest(command)))?;
    write_file(&folder.join("study.toml"), &text)?;
    let scenarios = folder.join("scenarios");
    std::fs::create_dir_all(&scenarios).with_context(|| format!("cannot make {}", scenarios.display()))?;
    for (variant, scenario) in outcome.scenarios() {
        write_file(&scenarios.join(format!("{variant}.toml")), &resolved(scenario)?)?;
    }
    tables::write(folder, &outcome.groups())
        .and_then(|()| tables::write_claims(folder, &outcome.claims))
        .context("cannot write the tables")?;
    Ok(outcome)
}

/// A study that is asked for, and the name by which it was.
struct Asked {
    name: String,
    /// Where its results go, below the folder of all.
    folder: PathBuf,
    study: Study,
}

/// All that are asked for, read before any runs: a misspelt id must not cost the studies before it.
fn asked(options: &StudyOptions) -> Result<Vec<Asked>> {
    let builtin = |id: &str| Ok(Asked { name: id.into(), folder: id.into(), study: Study::builtin(id)? });
    if options.all {
        return evenair_study::study_ids().map(builtin).collect();
    }
    let mut all: Vec<Asked> = Vec::new();
    for name in &options.ids {
        let path = Path::new(name);
        if path.is_file() {
            let folder = PathBuf::from(path.file_stem().unwrap_or(path.as_os_str()));
            all.push(Asked { name: name.clone(), folder, study: Study::load(path)? });
        } else if name.contains(['*', '?']) {
            let pattern = WildMatch::new(name);
            let before = all.len();
            for id in evenair_study::study_ids().filter(|id| pattern.matches(id)) {
                all.push(builtin(id)?);
            }
            ensure!(all.len() > before, "no built-in study is called \"{name}\"; see evenair list studies");
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            bail!("there is no file {name}");
        } else {
            all.push(builtin(name)?);
        }
    }
    let mut folders = BTreeMap::new();
    for Asked { name, folder, .. } in &all {
        if let Some(other) = folders.insert(folder, name) {
            bail!("{other} and {name} would both write to {}", options.out.join(folder).display());
        }
    }
    Ok(all)
}

/// What the options change of a study; gives the command that does the same.
fn changed(asked: &mut Asked, options: &StudyOptions) -> Result<String> {
    let Asked { name, study, .. } = asked;
    let mut command = format!("evenair study {name}");
    if options.quick {
        command += " --quick";
    }
    for change in &options.set {
        command += &format!(" --set '{change}'");
        study.set.push(change.clone());
    }
    if let Some(seeds) = options.seeds {
        command += &format!(" --seeds {seeds}");
        (study.seeds, study.quick.seeds) = (seeds, seeds);
    }
    for variant in &options.variant {
        command += &format!(" --variant {variant}");
    }
    if !options.variant.is_empty() {
        study.keep(&options.variant)?;
    }
    if let Some(most) = options.seeds_max {
        command += &format!(" --seeds-max {most}");
        study.seeds_max = most;
    }
    Ok(command)
}

pub(crate) fn study(options: &StudyOptions) -> Result<()> {
    let mut all = asked(options)?;
    if all.is_empty() {
        return list::list(&ListOptions { what: Listed::Studies, name: None, json: options.json });
    }
    if let Some(folder) = &options.export {
        return export(&all, folder);
    }
    // Nor must a variant that one of them does not have.
    let commands = all.iter_mut().map(|one| changed(one, options)).collect::<Result<Vec<_>>>()?;
    watch_for_interrupt();
    let (count, mut tally) = (all.len(), Tally::default());
    for (Asked { folder, study, .. }, mut command) in all.into_iter().zip(commands) {
        let folder = options.out.join(folder);
        let mut sweep = Sweep::new(&study, options.quick)?;
        if let Some(shard) = options.shard {
            let bar = Bar::new(&study.id);
            let done = sweep.run_shard(shard, &folder.join("runs"), &STOP, &bar);
            bar.clear();
            print(&format!("{}: part {}/{} is done, {} runs\n", study.id, shard.index, shard.of, done?))?;
            continue;
        }
        if let Some(precision) = options.precision {
            sweep.set_precision(precision, study.seeds_max);
            command += &format!(" --precision {precision}");
        }
        if options.decide {
            command += " --decide";
        }
        let outcome = conduct(&sweep, study, &folder, &command, options.decide)?;
        tally.add(outcome.tally());
        if options.json {
            print(&format!("{}\n", outcome.to_json()))?;
        } else {
            print(&text::outcome(&outcome))?;
            print(&format!("report: {}\n", folder.join("report.html").display()))?;
        }
    }
    if options.json || options.shard.is_some() {
        return Ok(());
    }
    print(&format!("\n{count} studies, {} claims: {tally}\n", tally.all()))
}

/// Writes a study and the scenarios that it names where they can be edited.
fn export(all: &[Asked], folder: &Path) -> Result<()> {
    let [Asked { name, folder: id, study }] = all else {
        bail!("--export takes one study, and {} are named", all.len())
    };
    let last = id.file_name().unwrap_or(id.as_os_str());
    let file = folder.join(last).with_extension("toml");
    ensure!(!file.exists(), "{} is there already; choose another folder", file.display());
    let make = |folder: &Path| {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
    };
    make(folder)?;
    write_file(&file, study.text())?;
    let scenarios: BTreeSet<&str> = study.variants.iter().flat_map(Variant::scenario_ids).collect();
    for id in &scenarios {
        let Some(text) = evenair_study::builtin_scenario(id) else { continue };
        let path = folder.join(format!("{id}.toml"));
        make(path.parent().unwrap_or(folder))?;
        write_file(&path, text)?;
    }
    let (file, beside) = (file.display(), scenarios.into_iter().collect::<Vec<_>>().join(", "));
    print(&format!("{name} is {file}; beside it are its scenarios, {beside}; evenair study {file} runs it\n"))
}
