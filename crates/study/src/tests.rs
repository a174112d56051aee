//! Study files, the sweep, and their results.

use super::*;
use crate::chart::Figures;
use crate::document::StudyDocument;
use evenair_laws::backoff::{Access, BackoffLaw, Draw, Holding, OnFailure, OwnBackoff, Scope, When};
use evenair_results::tables::Table;
use evenair_results::{RecordOptions, RunRecord};
use evenair_scenario::Resolved;
use std::sync::atomic::AtomicBool;

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
minus = { metric = "goodput", variant = "one", flow = "2" }
holds = { above = 0.0 }

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
    assert!(
        refused("metric = \"goodput\" }]", "metric = \"speed\" }]").contains("there is no metric \"speed\"")
    );
    assert!(refused("seeds = 3", "seeds = 0").contains("seeds: must be at least 1"));
    let meant = Study::builtin("chen10/fig-42").unwrap_err().to_string();
    assert!(meant.contains("did you mean chen10/fig-4-2"), "{meant}");
}

/// A value of several flows is their mean, whether they are named by their ends or by how their names begin.
#[test]
fn several_flows_are_named_at_once() {
    let with = |flow: &str| {
        SMALL.replace("variant = \"one\", flow = \"1\"", &format!("variant = \"one\", flow = \"{flow}\""))
    };
    let measured = |flow: &str| {
        let study = Study::parse("small", &with(flow)).unwrap();
        let sweep = Sweep::new(&study, false).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let runs = sweep.run(folder.path(), &AtomicBool::new(false), &()).unwrap();
        Outcome::new(study, &sweep, runs).claims[0].measured
    };
    assert_eq!(measured("1*"), measured("1"));
    assert_ne!(measured("*"), measured("1"));
}

#[test]
fn sweep_checks_its_claims_and_draws_a_page() {
    let study = Study::parse("small", SMALL).unwrap();
    let sweep = Sweep::new(&study, false).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let runs = sweep.run(folder.path(), &AtomicBool::new(false), &()).unwrap();
    assert_eq!((runs.len(), runs[0].len()), (1, 3));
    let outcome = Outcome::new(study, &sweep, runs);
    assert_eq!(
        outcome.claims.iter().map(|c| c.verdict).collect::<Vec<_>>(),
        [Verdict::Holds, Verdict::Fails]
    );
    assert!(outcome.row("one", None, Metric::Goodput).unwrap().mean > 300.0);
    let page = html::report(&outcome, &Figures::of(&outcome), "a test");
    assert!(page.contains("with and without &lt;angle brackets&gt;"));
    let verdicts =
        ">1 holds</a> <a class=\"chip fails\" href=\"#claims\">1 fails</a> <small>of the 2 claims behind";
    assert!(page.contains(verdicts), "{page}");
    let csv = table_csv(&outcome);
    assert!(
        csv.starts_with("study,variant,x,flow,metric,mean") && csv.contains("small,one,,total,goodput,"),
        "{csv}"
    );
}

#[test]
fn stopped_sweep_names_missing_runs() {
    let study = Study::parse("small", SMALL).unwrap();
    let sweep = Sweep::new(&study, false).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let error = sweep.run(folder.path(), &AtomicBool::new(true), &()).unwrap_err();
    assert_eq!(error.to_string(), "stopped: 0 of 3 runs finished and kept; run again to do the rest");
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
fn sweep_pairs_each_variant_with_its_baseline() {
    let study = Study::parse("small", SWEPT).unwrap();
    let ids: Vec<&str> = study.variants.iter().map(|v| v.id.as_str()).collect();
    assert_eq!(ids, ["slow@20", "slow@50", "fast@20", "fast@50"]);
    assert!(study.variants[1].set.contains(&"flows.1.rate=\"50 kbps\"".to_string()));
    let sweep = Sweep::new(&study, false).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let runs = sweep.run(folder.path(), &AtomicBool::new(false), &()).unwrap();
    assert!(runs.iter().all(|r| (3..=9).contains(&r.len())), "a precision is reached, or the most seeds");
    let outcome = Outcome::new(study, &sweep, runs);
    assert_eq!(outcome.claims[0].verdict, Verdict::Holds, "{:?}", outcome.claims);
    let row = outcome.row("fast@50", Some("1"), Metric::GoodputKbps).unwrap();
    assert!(row.difference.is_some() && row.x == Some(50.0));
    assert!(outcome.row("slow@50", Some("1"), Metric::GoodputKbps).unwrap().difference.is_none());
    let page = html::report(&outcome, &Figures::of(&outcome), "test");
    assert!(page.contains("minus 1 Mb/s, paired seed by seed"));
    // The headline and the verdict on it, the figure that answers, then the rest; the program's version is in the foot, of each
    // printed page, too.
    let version = concat!("evenair ", env!("CARGO_PKG_VERSION"));
    let paper = format!("@bottom-left {{ content: \"{version}\"; }}");
    let parts = [
        &paper,
        "<h1>",
        "class=\"chip holds\"",
        "data-figure=\"0\"",
        "class=\"about\"",
        "id=\"claims\"",
        "<footer>evenair ",
    ];
    let places = parts.map(|part| page.find(part).unwrap_or_else(|| panic!("{part}")));
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(
        outcome.manifest("test")["runs"].as_array().unwrap().len(),
        outcome.groups().iter().map(|g| g.runs.len()).sum::<usize>()
    );
}

#[test]
fn shards_do_all_runs_and_the_whole_finds_them() {
    let mut text = SWEPT.replace("precision = 0.2", "");
    text = text.replace("seeds_max = 9", "");
    let sweep = Sweep::new(&Study::parse("small", &text).unwrap(), false).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let done: usize = (1..=5)
        .map(|index| sweep.run_shard(Shard { index, of: 5 }, folder.path(), &stop, &()).unwrap())
        .sum();
    assert_eq!(done, 4 * 3);
    // With the stop set nothing new would be run.
    let runs = sweep.run(folder.path(), &AtomicBool::new(true), &()).unwrap();
    assert_eq!(runs.iter().map(Vec::len).sum::<usize>(), 12);
}

#[test]
fn statistics_over_time_are_those_of_the_series() {
    let mut text = SMALL.replace("seeds = 3", "seeds = 2\nsample_every = \"100 ms\"");
    text = text.replace("duration=2 s", "duration=4 s");
    for (statistic, time) in [
        ("mean", ""),
        ("deviation", ""),
        ("least", ""),
        ("greatest", ""),
        ("mean", ", from = \"2 s\", to = \"3 s\""),
    ] {
        text += &format!(
            "[[claims]]\ntext = \"{statistic}\"\nholds = {{ above = 0 }}\nvalue = {{ metric = \"backlog\", variant = \"one\", flow = \"1\", \
             statistic = \"{statistic}\"{time} }}\n"
        );
    }
    text += "[[claims]]\ntext = \"acks\"\nholds = { above = 0 }\nvalue = { metric = \"backlog\", variant = \"one\", flow = \"1\", of = \"acks\" }\n";
    let study = Study::parse("small", &text).unwrap();
    let sweep = Sweep::new(&study, false).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let runs = sweep.run(folder.path(), &AtomicBool::new(false), &()).unwrap();
    let of_run = |run: &RunRecord| {
        let series = run.series.as_ref().expect("of every seed");
        let samples = |queue: &str, from: f64, to: f64| -> Vec<f64> {
            let link = series.links.iter().find(|l| l.queue == queue).unwrap();
            let times = series.time_s.iter().zip(&link.backlog);
            times.filter(|(t, _)| **t > from + 1e-9 && **t < to + 1e-9).map(|(_, x)| *x).collect()
        };
        let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
        let all = samples("s1", 1.0, 5.0);
        assert_eq!(all.len(), 40);
        let deviation = mean(&all.iter().map(|x| (x - mean(&all)).powi(2)).collect::<Vec<_>>()).sqrt();
        [
            mean(&all),
            deviation,
            all.iter().copied().fold(f64::INFINITY, f64::min),
            all.iter().copied().fold(0.0, f64::max),
            mean(&samples("s1", 2.0, 3.0)),
            mean(&samples("r1", 1.0, 5.0)),
        ]
    };
    let by_hand: Vec<[f64; 6]> = runs[0].iter().map(of_run).collect();
    let outcome = Outcome::new(study, &sweep, runs);
    for (i, claim) in outcome.claims[2..].iter().enumerate() {
        let mean = f64::midpoint(by_hand[0][i], by_hand[1][i]);
        assert!((claim.measured.unwrap() - mean).abs() < 1e-9, "{claim:?} {mean}");
    }
    assert!(by_hand[0][1] > 0.0 && (by_hand[0][4] - by_hand[0][0]).abs() > 1e-3, "the test tells them apart");
    let csv = table_csv(&outcome);
    assert!(csv.contains("small,one,,1,backlog-deviation,") && csv.contains("small,one,,1,backlog@2s..3s,"));
}

#[test]
fn unmeasurable_quantity_is_refused() {
    let refused = |value: &str| {
        let text = SMALL.replace("metric = \"goodput\", variant = \"one\", flow = \"2\"", value);
        Study::parse("small", &text).unwrap_err().to_string()
    };
    let jain = "metric = \"jain\", variant = \"one\", flow = \"1\", statistic = \"least\"";
    assert!(refused(jain).contains("jain has no time series"));
    let all = "metric = \"backlog\", variant = \"one\", statistic = \"deviation\"";
    assert!(refused(all).contains("backlog-deviation is of one flow: name it"));
    let acks = "metric = \"delay\", variant = \"one\", flow = \"1\", of = \"acks\"";
    assert!(refused(acks).contains("delay has nothing to do with acknowledgements"));
    let late = "metric = \"goodput\", variant = \"one\", flow = \"1\", from = \"3 s\", to = \"2 s\"";
    assert!(refused(late).contains("goodput@3s..2s ends before it begins"));
}

/// Two variants; one claim is sure, one impossible, one about nothing.
const CLOSE: &str = r#"
id = "small"
title = "Close"
source = "a test"
about = "What two seeds do not decide."
seeds = 2
seeds_max = 7
quick = { seeds = 2 }
set = ["duration=1 s", "warmup=1 s"]
variants = [{ id = "one", label = "One", scenario = "chen10/a" }, { id = "two", label = "Two", scenario = "chen10/a" }]
figures = [{ kind = "bars", title = "Goodput", metric = "goodput" }]

[[claims]]
text = "sure"
value = { metric = "goodput", variant = "two" }
holds = { within = [0.0, 1e9] }

[[claims]]
text = "impossible"
value = { metric = "goodput", variant = "one", flow = "1" }
holds = { below = 0.0 }

[[claims]]
text = "TCP is offered nothing"
value = { metric = "offered", variant = "two", flow = "1" }
holds = { below = 1.0 }
"#;

#[test]
fn only_undecided_variants_get_seeds() {
    let folder = tempfile::tempdir().unwrap();
    let decide = |text: &str| {
        let study = Study::parse("small", text).unwrap();
        let sweep = Sweep::new(&study, false).unwrap();
        let stop = AtomicBool::new(false);
        let runs = sweep.run(folder.path(), &stop, &()).unwrap();
        let mut outcome = Outcome::new(study, &sweep, runs);
        let mut rounds = vec![outcome.runs_of_each()];
        while let Some(wanted) = outcome.seeds_to_decide() {
            let done = outcome.runs_of_each();
            outcome.add(sweep.run_more(&done, &wanted, folder.path(), &stop, &()).unwrap());
            rounds.push(outcome.runs_of_each());
        }
        (outcome, rounds)
    };
    let (outcome, rounds) = decide(CLOSE);
    assert_eq!(rounds, [[2, 2]], "all that seeds can decide is decided");
    let verdicts = |outcome: &Outcome| outcome.claims.iter().map(|c| c.verdict).collect::<Vec<_>>();
    assert_eq!(verdicts(&outcome), [Verdict::Holds, Verdict::Fails, Verdict::Undecided]);
    assert_eq!(outcome.tally().to_string(), "1 hold, 1 do not, 1 undecided");
    let mean = outcome.claims[1].measured.unwrap();
    let (outcome, rounds) = decide(&CLOSE.replace("below = 0.0", &format!("within = [{mean}, {mean}]")));
    assert_eq!(rounds, [[2, 2], [3, 2], [5, 2], [7, 2]], "half as many again, to the study's most");
    assert_eq!(outcome.claims[1].verdict, Verdict::Undecided);
    assert_eq!((outcome.claims[0].seeds, outcome.claims[1].seeds), (2, 7));
    assert_eq!(StudyDocument::of(&outcome).claims[1].verdict, Verdict::Undecided);
}

#[test]
fn numbers_of_another_origin_are_never_papers() {
    let text = SMALL.replace("paper = 1e9", "reference = { value = 12.5, origin = \"a, \\\"b\\\"\" }")
        + "\n[[published]]\nmetric = \"goodput\"\nvariant = \"one\"\nflow = \"1\"\nvalue = 77\norigin = \"ns-2\"\n";
    let study = Study::parse("small", &text).unwrap();
    let sweep = Sweep::new(&study, true).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let runs = sweep.run(folder.path(), &AtomicBool::new(false), &()).unwrap();
    let outcome = Outcome::new(study, &sweep, runs);
    let row = outcome.row("one", Some("1"), Metric::Goodput).unwrap();
    assert_eq!((row.paper, row.reference.as_ref().map(|r| r.value)), (None, Some(77.0)));
    assert!(table_csv(&outcome).contains(",,77,ns-2,2\n"));
    let json = serde_json::to_value(StudyDocument::of(&outcome)).unwrap();
    assert_eq!(json["claims"][1]["reference"], 12.5);
    assert!(json["claims"][1]["paper"].is_null());
    assert!(html::report(&outcome, &Figures::of(&outcome), "test").contains("a, &quot;b&quot;: 12.5"));
    // Rows are the same in JSON as in files.
    let columns = |table: Table| table.into_iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>();
    let keys = |row: &serde_json::Value| row.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&json["table"][0]), columns(tables::summary(&outcome)));
    assert_eq!(keys(&json["claims"][0]), columns(tables::claims(&outcome.claims)));
}

/// A number that is said to be a paper's must say where it is printed there.
#[test]
fn every_number_of_a_paper_has_its_place() {
    let mut silent = Vec::new();
    for id in study_ids() {
        for claim in Study::builtin(id).unwrap().claims {
            if claim.paper.is_some() && claim.place.as_deref().unwrap_or_default().is_empty() {
                silent.push(format!("{id}: {}", claim.text));
            }
        }
    }
    assert!(silent.is_empty(), "no `where` beside `paper`:\n{}", silent.join("\n"));
}

/// Waits so many airtimes, in every state.
#[derive(Clone, Debug)]
struct Steady(f64);

impl evenair_laws::OwnLaw for Steady {
    fn identity(&self) -> String {
        format!("steady, {} airtimes", self.0)
    }
}

impl BackoffLaw for Steady {
    fn scope(&self) -> Scope {
        Scope::NextHop
    }
    fn access(&self) -> Access {
        Access {
            draw: Draw::ExponentialOfFrame { factor: self.0, slotted: false },
            on_failure: OnFailure::Redraw,
            when: When::BeforeFrame,
            holding: Holding::Packet,
        }
    }
}

#[test]
fn own_laws_runs_are_kept_by_identity() {
    let text = builtin_scenario("chen10/a").unwrap();
    let changes = ["duration=2 s", "warmup=1 s"].map(String::from);
    let sweep = |airtimes: f64| {
        let mut scenario = Resolved::parse("a.toml", text, &changes).unwrap().written_out();
        scenario.backoff = OwnBackoff::new(Steady(airtimes)).into();
        Sweep::of_scenario(scenario.resolve().unwrap(), 1, RecordOptions::default())
    };
    let folder = tempfile::tempdir().unwrap();
    let (go, stop) = (AtomicBool::new(false), AtomicBool::new(true));
    let first = sweep(0.5).run(folder.path(), &go, &()).unwrap();
    assert_eq!(sweep(0.5).run(folder.path(), &stop, &()).unwrap(), first, "found again");
    assert!(sweep(8.0).run(folder.path(), &stop, &()).is_err(), "another law's runs are not there");
    let second = sweep(8.0).run(folder.path(), &go, &()).unwrap();
    assert_ne!(first[0][0].fingerprint, second[0][0].fingerprint);
}

const POOL: &str = r#"
id = "pool"
title = "A pool of scenarios"
source = "a test"
about = "Chains of three lengths."
seeds = 4
quick = { seeds = 2 }
set = ["preset=ns2", "duration=2 s", "warmup=1 s"]
variants = [{ id = "many", label = "Many", scenarios = ["jam10/hops", "jam10/chain", "jam10/chain-4"] }]
figures = [{ kind = "spread", title = "Worst", metric = "min-over-fair" }]
tables = [{ title = "Fairness", metrics = ["jain-over-fair", "utilisation"] }, { title = "By mesh", metrics = ["min-over-fair"], by_scenario = true }]

[[claims]]
text = "Nobody gets ten times a fair share"
value = { metric = "max-over-fair", variant = "many" }
holds = { below = 10.0 }

[[published]]
metric = "utilisation"
variant = "many"
value = 0.95
"#;

#[test]
fn a_pools_seeds_take_its_scenarios_in_turn() {
    let study = Study::parse("pool", POOL).unwrap();
    let sweep = Sweep::new(&study, false).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let runs = sweep.run(folder.path(), &AtomicBool::new(false), &()).unwrap();
    let names: Vec<usize> = runs[0].iter().map(|run| run.flows.len()).collect();
    assert_eq!(names, [1, 3, 4, 1]);
    assert_eq!(runs[0].iter().map(|run| run.seed).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_ne!(runs[0][0].fingerprint, runs[0][3].fingerprint, "the same chain, another seed");
    let outcome = Outcome::new(study, &sweep, runs.clone());
    assert_eq!(outcome.claims[0].verdict, Verdict::Holds);
    // The fair rate of one flow over three hops is a third of 800.2 kb/s; of 3 and 4 flows a sixth and a tenth.
    let least = |run: &RunRecord, fair_kbps: f64| {
        run.flows.iter().map(|f| f.goodput_bps / 1e3 / fair_kbps).fold(f64::INFINITY, f64::min)
    };
    let shares = [3.0, 6.0, 10.0, 3.0].map(|part| 800.219_238 / part);
    let expected: Vec<f64> = runs[0].iter().zip(shares).map(|(run, fair)| least(run, fair)).collect();
    let measured = outcome.samples("many", Metric::MinOverFair, None).unwrap();
    for (ours, theirs) in measured.iter().zip(&expected) {
        assert!((ours - theirs).abs() < 1e-6, "{measured:?} {expected:?}");
    }
    assert_eq!(outcome.shape().map(|(_, flows)| flows.len()).sum::<usize>(), 0, "no flow is in all of them");
    assert_eq!(outcome.scenarios().map(|(name, _)| name).collect::<Vec<_>>(), ["many.1", "many.2", "many.3"]);
    let by_mesh = outcome.summary(&outcome.study.tables[1]);
    assert_eq!(by_mesh.len(), 3);
    let one_hop_chain = by_mesh[0].1[0].unwrap();
    assert!((one_hop_chain.mean - f64::midpoint(expected[0], expected[3])).abs() < 1e-6, "seeds 1 and 4");
    assert!(one_hop_chain.deviation.is_some() && by_mesh[1].1[0].unwrap().deviation.is_none());
    let page = html::report(&outcome, &Figures::of(&outcome), "a test");
    assert!(page.contains(">Fairness</h3>") && page.contains("paper 0.95<"));
}

#[test]
fn pool_refuses_named_flows() {
    let refused = |from: &str, to: &str| Study::parse("pool", &POOL.replace(from, to)).unwrap_err().message;
    let flow = refused("variant = \"many\" }", "variant = \"many\", flow = \"1\" }");
    assert!(flow.contains("no flow is in all of them"), "{flow}");
    let both = refused("scenarios =", "scenario = \"jam10/hops\", scenarios =");
    assert!(both.contains("one of scenario and scenarios"), "{both}");
    assert!(refused("seeds = 4", "seeds = 4\nprecision = 0.1").contains("a precision is one of flows"));
}

/// Two rates over one wire, and metrics of their delays.
const DELAYS: &str = r#"
title = "t"
source = "s"
seeds = 2
set = ["duration=4 s", "warmup=1 s"]
variants = [{ id = "one", label = "One", scenario = "chen10/a" }]
tables = [{ title = "Times", metrics = ["delay", "delay-p50", "delay-p95", "ack-loss", "jitter", "early-drops", "overflows", "waiting-p99"] }]

[[claims]]
text = "half of the time"
value = { metric = "delay", variant = "one", flow = "2", statistic = "p50", from = "1 s", to = "2 s" }
holds = { below = 1.0 }
"#;

#[test]
fn percentiles_are_of_all_flows_segments() {
    let study = |text: &str| Study::parse("small", text);
    let why = study(DELAYS).unwrap_err().to_string();
    assert!(why.contains("percentiles of delay are of all of the measured time"), "{why}");
    let why = study(&DELAYS.replace("\"p50\"", "\"p5O\"")).unwrap_err().to_string();
    assert!(why.contains("\"p5O\" is no statistic; write mean,"), "{why}");
    let why = study(&DELAYS.replace("delay-p95", "delya-p95")).unwrap_err().to_string();
    assert!(why.contains("there is no metric \"delya-p95\""), "{why}");
    let study = study(&DELAYS.replace(", from = \"1 s\", to = \"2 s\"", "")).unwrap();
    let sweep = Sweep::new(&study, false).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let runs = |stop| sweep.run(folder.path(), &AtomicBool::new(stop), &()).unwrap();
    let fresh = runs(false);
    assert_eq!(runs(true), fresh, "what is kept is read as it was written, histograms too");
    let outcome = Outcome::new(study, &sweep, fresh);
    let of = |flow, word: &str| outcome.samples("one", word.parse::<Quantity>().unwrap(), flow).unwrap()[0];
    let each: Vec<f64> = ["1", "2", "3", "4"].map(|flow| of(Some(flow), "delay-p50")).to_vec();
    let (least, most) = (each.iter().copied().fold(1e9, f64::min), each.iter().copied().fold(0.0, f64::max));
    let all = of(None, "delay-p50");
    assert!(least <= all && all <= most && least > 1e-3, "{all} of {each:?}");
    assert!((of(Some("1..4"), "delay-p50") - all).abs() < 1e-12 && of(None, "delay-p95") > all);
    // The mean over flows is not that over segments, the percentile of all is.
    let run = &outcome.groups()[0].runs[0];
    let mut pooled = evenair_netsim::Histogram::default();
    run.flows.iter().for_each(|flow| pooled.merge(&flow.delay.as_ref().unwrap().histogram));
    assert_eq!(pooled.count(), run.flows.iter().map(|flow| flow.delay.as_ref().unwrap().count).sum::<u64>());
    assert_eq!(Some(all), pooled.quantile_s(0.5));
    let row = outcome.row("one", None, "delay-p50".parse::<Quantity>().unwrap()).unwrap();
    assert_eq!(row.flow, "all");
    // The queues of all four sources fill behind a full one of DCF.
    let drops = of(None, "drops");
    assert!(
        (of(None, "early-drops") + of(None, "overflows") - drops).abs() < 1.0,
        "but for given-up packets: {drops}"
    );
}

/// table.csv of a study.
fn table_csv(outcome: &Outcome) -> String {
    let folder = tempfile::tempdir().unwrap();
    tables::write_study(folder.path(), outcome).unwrap();
    std::fs::read_to_string(folder.path().join("table.csv")).unwrap()
}

#[test]
fn ids_are_distinct_file_names() {
    let variants = "variants = [{ id = \"one\", label = \"One\", scenario = \"chen10/a\" }]";
    let refused = |list: &str| {
        let text = SMALL.replace(variants, &format!("variants = [{list}]"));
        Study::parse("small", &text).unwrap_err().to_string()
    };
    let variant = |id: &str| format!("{{ id = \"{id}\", label = \"\", scenario = \"chen10/a\" }}");
    for id in ["../../evil", "a/b", "", "..", ".hidden", "a\\tb", "a:b"] {
        let text = refused(&[variant("one"), variant(id)].join(", "));
        assert!(text.contains("variants[1].id: ") && text.contains("files are called by it"), "{text}");
    }
    let text = refused(&[variant("one"), variant("one")].join(", "));
    assert!(text.contains(":9:") && text.contains("is the id of variants[0] (line 9), too"), "{text}");
    let text = refused(&[variant("one"), variant("One")].join(", "));
    assert!(text.contains("\"One\" and \"one\" of variants[0] (line 9) would name the same file"), "{text}");
    let pool = "{ id = \"one\", label = \"\", scenarios = [\"chen10/a\", \"chen10/b\"] }";
    assert!(refused(&[pool.into(), variant("one.2")].join(", ")).contains("the same file"));
    let swept = "{ id = \"one\", label = \"\", scenario = \"chen10/a\", sweep = { parameter = \"k\", values = [1, 1], set = [] } }";
    assert!(refused(swept).contains("its sweep has the value of \"one@1\" twice"));
    let id = SMALL.replace("id = \"small\"", "id = \"../small\"");
    assert!(Study::checked("f.toml", "f", &id).unwrap_err().to_string().starts_with("f.toml:2:6: id: "));
}

#[test]
fn numbers_are_finite_and_bounds_of_three_kinds() {
    let refused =
        |from: &str, to: &str| Study::parse("small", &SMALL.replace(from, to)).unwrap_err().to_string();
    let finite = "a finite number is needed here, not";
    for (from, to, key) in [
        ("{ above = 0.0 }", "{ above = nan }", "claims[0].holds"),
        ("{ above = 0.0 }", "{ within = [0, inf] }", "claims[0].holds"),
        ("paper = 1e9", "paper = inf", "claims[1].paper"),
        ("paper = 1e9", "reference = { value = nan, origin = \"us\" }", "claims[1].reference.value"),
        ("seeds = 3", "seeds = 3\nprecision = nan", "precision"),
        (
            "scenario = \"chen10/a\" }",
            "scenario = \"chen10/a\", sweep = { parameter = \"k\", values = [nan], set = [] } }",
            "variants[0].sweep.values",
        ),
    ] {
        let text = refused(from, to);
        assert!(text.contains(&format!("{key}: {finite}")), "{to}: {text}");
    }
    let both = refused("{ above = 0.0 }", "{ above = 1, below = 2 }");
    assert!(both.contains("claims[0].holds: between two bounds is written as within = [1, 2]"), "{both}");
    assert!(refused("{ above = 0.0 }", "{}").contains("give one of below = 5"));
    assert!(refused("{ above = 0.0 }", "{ over = 1 }").contains("unknown field `over`"));
}

#[test]
fn two_published_numbers_of_one_thing_remain() {
    let published = |origin: &str| {
        format!("\n[[published]]\nmetric = \"goodput\"\nvariant = \"one\"\nvalue = 1\n{origin}\n")
    };
    let with = |all: &[&str]| {
        Study::parse("small", &(SMALL.to_string() + &all.iter().map(|o| published(o)).collect::<String>()))
    };
    let text = with(&["", ""]).unwrap_err().to_string();
    assert!(text.contains("published[1]: a number for the same is given in line 24 already"), "{text}");
    assert!(with(&["", "origin = \"ours\""]).is_ok());
}

#[test]
fn outside_change_wins_but_over_a_sweeps_key() {
    let with = |variant: &str| {
        let text =
            SMALL.replace("scenario = \"chen10/a\" }", &format!("scenario = \"chen10/a\", {variant} }}"));
        Study::parse("small", &text).unwrap()
    };
    let mut study = with("set = [\"duration=3 s\"]");
    study.change(["duration=5 s".into()]).unwrap();
    for quick in [false, true] {
        let sweep = Sweep::new(&study, quick).unwrap();
        assert_eq!(sweep.cases[0].scenarios[0].settings().duration.0, evenair_units::Duration::from_secs(5));
    }
    let mut swept =
        with("sweep = { parameter = \"seconds\", values = [1, 2], set = [\"backoff.beta={x}\"] }");
    let refused = swept.change(["backoff={ law = 'adaptive' }".into()]).unwrap_err().to_string();
    assert!(refused.contains("variant \"one\" sweeps this key (seconds)"), "{refused}");
    assert!(swept.change(["duration=5 s".into()]).is_ok());
}
