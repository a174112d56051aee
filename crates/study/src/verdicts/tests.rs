use super::standing::{Origin, Standing};
use super::{Digest, Measurement, Record, Verdicts};
use crate::language::{Claim, Study};
use std::collections::BTreeMap;

const STUDY: &str = r#"
title = "Three numbers"
id = "jam10/three"
why = "the meshes are ours"
runs = 1
variants = [{ id = "one", label = "One", scenario = "chen10/a" }]
[[claims]]
each = [{ flow = "1", paper = 0.41, low = 0.405, high = 0.415 }, { flow = "2", paper = 0.03, low = 0.025, high = 0.035 }]
text = "{flow} is {paper}"
where = "Table 1"
value = { metric = "goodput", variant = "one", flow = "{flow}" }
paper = "{paper}"
holds = { within = ["{low}", "{high}"] }
[[claims]]
each = { flow = ["1", "2", "3"] }
text = "{flow} is more than nothing"
where = "Table 1"
value = { metric = "backlog", variant = "one", flow = "{flow}" }
holds = { above = 0.0 }
[[claims]]
each = { flow = ["1", "2"] }
text = "{flow} is most of it"
where = "Table 1"
sentence = "most"
needs = "one"
value = { metric = "loss", variant = "one", flow = "{flow}" }
holds = { above = 0.5 }
[[claims]]
text = "c is small"
where = "Table 1"
bound = "ours"
value = { metric = "delay", variant = "one" }
holds = { below = 0.1 }
[[claims]]
text = "d, too"
where = "ours: for comparison"
value = { metric = "goodput", variant = "one" }
holds = { above = 0.0 }
"#;

fn measurement(claim: &Claim, value: f64, half: f64) -> Measurement {
    Measurement {
        of: claim.measures(),
        value: Some(value),
        half_width_95: Some(half),
        interval_95: Some([value - half, value + half]),
        seeds: 8,
    }
}

fn standing(claim: &Claim, runs: Option<u32>, value: f64, half: f64) -> Standing {
    Standing::of(claim, runs, Some(&measurement(claim, value, half)))
}

#[test]
fn number_is_near_within_a_tenth_or_last_digit() {
    let study = Study::parse("jam10/three", STUDY).unwrap();
    let [a, b, c, ..] = &study.claims[..] else { panic!("nine claims") };
    // From 0.405 down a tenth of 0.41 is 0.364, and an interval that reaches there is near.
    assert_eq!(standing(a, None, 0.365, 0.0), Standing::FailsByTolerance);
    assert_eq!(standing(a, None, 0.355, 0.0), Standing::FailsInSubstance);
    assert_eq!(standing(a, None, 0.355, 0.01), Standing::FailsByTolerance);
    // A unit of the last digit of 0.03 is 0.01, more than a tenth of it.
    assert_eq!(standing(b, None, 0.044, 0.0), Standing::FailsByTolerance);
    assert_eq!(standing(b, None, 0.046, 0.0), Standing::FailsInSubstance);
    assert_eq!(standing(c, None, -0.001, 0.0), Standing::FailsInSubstance, "an order that is not there");
    assert_eq!(Standing::of(a, None, None), Standing::NotRun);
}

/// Eight seeds with ±0.02 leave a run ±0.02·√(1 + 8) = ±0.06 and a mean of 8 runs ±0.02·√2 = ±0.0283.
#[test]
fn printed_run_holds_if_one_of_ours_may_give_it() {
    let study = Study::parse("jam10/three", STUDY).unwrap();
    let number = &study.claims[0];
    assert_eq!(standing(number, Some(1), 0.35, 0.018), Standing::FailsByTolerance, "0.404 at most");
    assert_eq!(standing(number, Some(1), 0.346, 0.02), Standing::Holds, "0.406 at most");
    assert_eq!(standing(number, Some(8), 0.376, 0.02), Standing::FailsByTolerance, "0.4043 at most");
    assert_eq!(standing(number, Some(8), 0.378, 0.02), Standing::Holds, "0.4063 at most");
    assert_eq!(standing(number, None, 0.346, 0.02), Standing::FailsByTolerance);
    // ±0.07·3 is more than half of 0.41.
    assert_eq!(standing(number, Some(1), 0.4, 0.07), Standing::Undecided, "runs differ too much");
    assert_eq!(standing(&study.claims[2], Some(1), 0.1, 0.2), Standing::Undecided, "no printed number");
    assert_eq!(number.required(Some(25)), "0.405 to 0.415 in a mean of 25 runs");
}

#[test]
fn page_counts_sentences_once() {
    let study = Study::parse("jam10/three", STUDY).unwrap();
    let mut measured: Vec<Measurement> =
        study.claims.iter().map(|claim| measurement(claim, 1.0, 0.01)).collect();
    measured[0] = measurement(&study.claims[0], 0.2, 0.001);
    measured[3] = measurement(&study.claims[3], -1.0, 0.1); // one of the three rows of a sentence
    measured[5] = measurement(&study.claims[5], 0.1, 0.1); // one of two of which one is enough
    let digest = |word: &str| Digest { scenario: word.into(), beginning: Some("f".into()) };
    let variants = BTreeMap::from([("one".into(), digest("a"))]);
    let [command, commit, date] =
        ["evenair study jam10/three", "0123456789abcdef", "2010-08-31"].map(String::from);
    let seconds = Some(2.5);
    let record = Record { study: study.id.clone(), command, commit, date, seconds, variants, measured };
    assert_eq!(serde_json::from_str::<Record>(&record.to_json()).unwrap(), record);
    let page_of = |word: &str| {
        let now = BTreeMap::from([(study.id.clone(), BTreeMap::from([("one".into(), digest(word))]))]);
        let records = BTreeMap::from([(record.study.clone(), record.clone())]);
        let of = |now| Verdicts::of(std::slice::from_ref(&study), &records, now);
        assert_eq!(of(None).all.paper.stale, 0, "where it is not asked");
        of(Some(&now)).page()
    };
    let fresh = page_of("a");
    let counts = "1 | · | 3 | · | · | · | 1 | · | · | 1 | · | · | ·";
    let row = format!("| `jam10/three` | Three numbers | {counts} | 2010-08-31, `0123456789ab` |");
    assert!(fresh.contains(&row), "{fresh}");
    assert!(fresh.contains(&format!("| all | {counts} |")), "{fresh}");
    assert!(fresh.contains("Of 4 claims of the papers 3 fail in substance: 75.0 %. With words judged by our bounds: 4 of 5, 80.0 %."), "{fresh}");
    assert!(fresh.contains("| none is named | 3 | · | 1 |"), "{fresh}");
    assert!(
        fresh.contains("the meshes are ours")
            && fresh
                .contains("| 1 is 0.41 | Table 1 | substance | 0.405 to 0.415 in a run | 0.2000 ± 0.0010 |"),
        "{fresh}"
    );
    let stale = page_of("b");
    assert!(
        stale.contains(
            "| · | · | · | · | 4 | · | · | · | 1 | · | · | · | 1 | 2010-08-31, `0123456789ab`; stale: `one` |"
        ),
        "{stale}"
    );
    assert_eq!(Origin::of(&study.claims[7]), Origin::Word);
}

#[test]
fn claims_of_one_measurement_share_its_words() {
    let study = Study::parse("jam10/three", STUDY).unwrap();
    assert_eq!(study.claims[0].measures(), "goodput of one, flow 1");
    let mut claim = study.claims[0].clone();
    claim.over = Some(study.claims[1].value.clone());
    assert_eq!(claim.measures(), "goodput of one, flow 1 / goodput of one, flow 2");
    claim.minus = Some(study.claims[8].value.clone());
    assert_eq!(claim.measures(), "(goodput of one, flow 1 - goodput of one) / goodput of one, flow 2");
}
