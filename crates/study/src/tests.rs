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
    assert!(Study::builtin("nothing").unwrap_err().to_string().contains("there are chen10/fig-4-2"));
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
        csv.starts_with("study,variant,flow,metric,mean") && csv.contains("small,one,total,goodput,"),
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
