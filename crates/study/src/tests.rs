//! Study files, the sweep, and what comes out.

use super::*;
use std::sync::atomic::AtomicBool;

struct Silent;

impl Progress for Silent {
    fn started(&self, _: usize, _: usize) {}
    fn finished_one(&self) {}
}

const SMALL: &str = r#"
id = "small"
title = "A small study"
source = "a test"
about = "One link, with and without <angle brackets>."
seeds = 3
quick = { seeds = 2, set = ["duration=1 s"] }
set = ["duration=2 s", "warmup=1 s"]
variants = [{ id = "one", label = "One", scenario = "chen10/a" }]
figures = [{ kind = "bars", title = "Goodput", metric = "goodput" }]

[[claims]]
text = "Flow 1 gets more than flow 2"
value = { metric = "goodput", variant = "one", flow = "1" }
over = { metric = "goodput", variant = "one", flow = "2" }
holds = { above = 1.0 }

[[claims]]
text = "The total is absurd"
value = { metric = "goodput", variant = "one" }
paper = 1e9
holds = { above = 1e9 }
"#;

#[test]
fn every_study_that_comes_along_is_right() {
    assert!(study_ids().count() >= 9);
    for id in study_ids() {
        let study = Study::builtin(id).unwrap_or_else(|e| panic!("{e}"));
        for quick in [false, true] {
            let sweep = Sweep::new(&study, quick).unwrap_or_else(|e| panic!("{id}: {e}"));
            assert_eq!(sweep.cases.len(), study.variants.len());
        }
        assert!(!study.claims.is_empty() && !study.figures.is_empty(), "{id}");
    }
}

#[test]
fn mistakes_in_a_study_are_named() {
    let refused =
        |from: &str, to: &str| Study::parse("small", &SMALL.replace(from, to)).unwrap_err().to_string();
    assert!(
        refused("variant = \"one\", flow = \"1\"", "variant = \"two\", flow = \"1\"")
            .contains("no variant \"two\"")
    );
    assert!(refused("metric = \"goodput\" }]", "metric = \"speed\" }]").contains("unknown variant `speed`"));
    assert!(refused("seeds = 3", "seeds = 0").contains("at least one seed"));
    assert!(Study::builtin("nothing").unwrap_err().to_string().contains("chen10/fig-4-2, chen10/fig-4-3"));
}

#[test]
fn a_sweep_checks_its_claims_honestly_and_draws_a_page() {
    let study = Study::parse("small", SMALL).unwrap();
    let sweep = Sweep::new(&study, true).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let runs = sweep.run(folder.path(), &AtomicBool::new(false), &Silent).unwrap();
    assert_eq!((runs.len(), runs[0].len()), (1, 2));
    let outcome = Outcome::new(study, &sweep, runs);
    assert_eq!(outcome.claims.iter().map(|c| c.holds).collect::<Vec<_>>(), [true, false]);
    assert!(outcome.row("one", "total", Metric::Goodput).unwrap().mean > 300.0);
    let page = html::report(&outcome, "a test");
    assert!(page.contains("with and without &lt;angle brackets&gt;") && page.contains("Claims: 1 of 2 hold"));
    let csv = outcome.to_csv();
    assert!(
        csv.starts_with("study,variant,x,flow,metric,mean") && csv.contains("small,one,,total,goodput,"),
        "{csv}"
    );
}

#[test]
fn a_stopped_sweep_says_what_is_left() {
    let study = Study::parse("small", SMALL).unwrap();
    let sweep = Sweep::new(&study, false).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let error = sweep.run(folder.path(), &AtomicBool::new(true), &Silent).unwrap_err();
    assert_eq!(error.to_string(), "stopped: 0 of 3 runs are finished and kept; run again to do the rest");
}

const SWEPT: &str = r#"
id = "small"
title = "A sweep"
source = "a test"
about = "Two systems over a swept load."
seeds = 3
precision = 0.2
seeds_max = 9
baseline = "slow"
quick = { seeds = 2, set = [] }
set = ["duration=2 s", "warmup=1 s"]
figures = [{ kind = "lines", title = "Goodput", metric = "goodput-kbps" }]

[[variants]]
id = "slow"
label = "1 Mb/s"
scenario = "jam10/chain-udp"
sweep = { parameter = "load [kb/s]", values = [20, 50], set = ['flows.1.rate="{x} kbps"'] }

[[variants]]
id = "fast"
label = "11 Mb/s"
scenario = "jam10/chain-udp"
set = ['mac.data_rate="11 Mbps"']
sweep = { parameter = "load [kb/s]", values = [20, 50], set = ['flows.1.rate="{x} kbps"'] }

[[claims]]
text = "The faster one loses nothing, seed by seed"
value = { metric = "goodput", variant = "fast@50", flow = "1" }
minus = { metric = "goodput", variant = "slow@50", flow = "1" }
holds = { within = [-3.0, 3.0] }
"#;

#[test]
fn a_sweep_makes_a_variant_per_value_and_pairs_it_with_the_baseline() {
    let study = Study::parse("small", SWEPT).unwrap();
    let ids: Vec<&str> = study.variants.iter().map(|v| v.id.as_str()).collect();
    assert_eq!(ids, ["slow@20", "slow@50", "fast@20", "fast@50"]);
    assert!(study.variants[1].set.contains(&"flows.1.rate=\"50 kbps\"".to_string()));
    let sweep = Sweep::new(&study, false).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let runs = sweep.run(folder.path(), &AtomicBool::new(false), &Silent).unwrap();
    assert!(runs.iter().all(|r| (3..=9).contains(&r.len())), "a precision is reached, or the most seeds");
    let outcome = Outcome::new(study, &sweep, runs);
    assert!(outcome.claims[0].holds, "{:?}", outcome.claims);
    let row = outcome.row("fast@50", "1", Metric::GoodputKbps).unwrap();
    assert!(row.difference.is_some() && row.x == Some(50.0));
    assert!(outcome.row("slow@50", "1", Metric::GoodputKbps).unwrap().difference.is_none());
    let page = html::report(&outcome, "test");
    assert!(page.contains("minus 1 Mb/s, paired"));
    assert_eq!(
        outcome.manifest("test")["runs"].as_array().unwrap().len(),
        outcome.groups().iter().map(|g| g.runs.len()).sum::<usize>()
    );
}

#[test]
fn shards_do_all_runs_between_them_and_the_whole_finds_them() {
    let mut text = SWEPT.replace("precision = 0.2", "");
    text = text.replace("seeds_max = 9", "");
    let sweep = Sweep::new(&Study::parse("small", &text).unwrap(), false).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let done: usize = (1..=5)
        .map(|index| sweep.run_shard(Shard { index, of: 5 }, folder.path(), &stop, &Silent).unwrap())
        .sum();
    assert_eq!(done, 4 * 3);
    // With the stop set nothing new would be run.
    let runs = sweep.run(folder.path(), &AtomicBool::new(true), &Silent).unwrap();
    assert_eq!(runs.iter().map(Vec::len).sum::<usize>(), 12);
}

#[test]
fn tables_are_parquet_with_a_row_per_run_and_flow() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let study = Study::parse("small", SMALL).unwrap();
    let sweep = Sweep::new(&study, true).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let runs = sweep.run(&folder.path().join("runs"), &AtomicBool::new(false), &Silent).unwrap();
    let outcome = Outcome::new(study, &sweep, runs);
    tables::write(folder.path(), &outcome.groups()).unwrap();
    let file = std::fs::File::open(folder.path().join("flows.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    assert_eq!(reader.metadata().file_metadata().num_rows(), 2 * 4);
    let first = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
    let text = first.to_string();
    assert!(text.contains("variant: \"one\"") && text.contains("flow: \"1\""), "{text}");
}
