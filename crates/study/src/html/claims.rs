//! The table of claims: their measured values, and the cause of a failure where it is known.

use super::Page;
use super::words::{escape, explained};
use crate::claim::{ClaimResult, Verdict};
use crate::language::{Claim, Reference};
use crate::outcome::Outcome;
use evenair_results::digits;

pub(super) fn claims(page: &mut Page, outcome: &Outcome) {
    if outcome.claims.is_empty() {
        return;
    }
    page.section("claims", "Claims");
    page.put(format_args!("<p class=\"filter\" data-for=\"claims-table\"></p>"));
    let has_paper = outcome.claims.iter().any(|claim| claim.paper.is_some());
    let paper = if has_paper { "<th class=\"n\">paper</th>" } else { "" };
    page.put(format_args!(
        "<table id=\"claims-table\" class=\"claims cards\"><thead><tr><th></th><th>claim</th><th class=\"n\">measured</th><th class=\"n\">needed</th>{paper}</tr></thead><tbody>"
    ));
    let mut told = Told::default();
    for (number, (claim, result)) in outcome.study.claims.iter().zip(&outcome.claims).enumerate() {
        row(page, number + 1, claim, result, has_paper, &told.why(number + 1, outcome, result));
    }
    page.body.push_str("</tbody></table>\n");
}

fn row(page: &mut Page, number: usize, claim: &Claim, result: &ClaimResult, has_paper: bool, why: &str) {
    let class = result.verdict.name();
    let mark = match result.verdict {
        Verdict::Holds => "✓",
        Verdict::Fails => "✗",
        Verdict::Undecided => "?",
    };
    let place = result.place.as_ref().map(|place| format!("<small>{}</small>", escape(place)));
    let other = result.reference.as_ref().map(|Reference { value, origin }| {
        format!("<small>{}: {}</small>", escape(origin), digits::exact(*value))
    });
    let off = off(claim, result).map(|off| format!("<small>{off}</small>"));
    page.put(format_args!(
        "<tr class=\"{class}\" id=\"claim-{number}\"><td class=\"verdict\"><span title=\"{class}\">{mark}</span> <i>{class}</i></td><td>{}{}{}{why}</td><td class=\"n\" data-h=\"measured\">{}{}</td><td class=\"n\" data-h=\"needed\">{}</td>{}</tr>",
        explained(&result.claim),
        place.unwrap_or_default(),
        other.unwrap_or_default(),
        result.measured.map_or("nothing".into(), |m| digits::measured(m, result.half_width)),
        off.unwrap_or_default(),
        result.required,
        match (has_paper, result.paper) {
            (true, Some(paper)) => format!("<td class=\"n\" data-h=\"paper\">{}</td>", digits::printed(paper)),
            (true, None) => "<td class=\"n\"></td>".into(),
            _ => String::new(),
        }
    ));
}

/// How far off a claim that fails is: from the paper's number, or else from its bound.
fn off(claim: &Claim, result: &ClaimResult) -> Option<String> {
    let measured = result.measured?;
    if result.verdict != Verdict::Fails {
        return None;
    }
    let bound = claim.holds.nearest_bound(measured);
    let (whose, beside) = match result.paper.filter(|paper| *paper != 0.0) {
        Some(paper) => ("the paper's", paper),
        None => ("the bound", bound),
    };
    let side = if measured < beside { "below" } else { "above" };
    if beside == 0.0 || measured.signum() * beside.signum() < 0.0 {
        return Some(format!("{} {side} {whose}", digits::exact((measured - beside).abs())));
    }
    let times = measured / beside;
    Some(if times >= 3.0 {
        format!("{} times {whose}", two_digits(times))
    } else if (times - 1.0).abs() < 1e-12 {
        format!("no more than {whose}")
    } else {
        format!("{} % {side} {whose}", two_digits((times - 1.0).abs() * 100.0))
    })
}

fn two_digits(x: f64) -> String {
    if x >= 10.0 { format!("{x:.0}") } else { format!("{x:.1}") }
}

/// Which of a study's reasons have been told, and beside which claim.
#[derive(Debug, Default)]
struct Told(Vec<(String, usize)>);

impl Told {
    /// The reason beside a claim that does not hold, in full where it is told first.
    fn why(&mut self, number: usize, outcome: &Outcome, result: &ClaimResult) -> String {
        let Some(why) = result.why.as_ref().filter(|_| result.verdict != Verdict::Holds) else {
            return String::new();
        };
        if let Some((_, first)) = self.0.iter().find(|(told, _)| told == why) {
            return format!("<p class=\"why\"><b>Why:</b> see <a href=\"#claim-{first}\">above</a></p>");
        }
        self.0.push((why.clone(), number));
        let of_all = outcome.study.why.as_ref() == Some(why) && outcome.claims.len() > 1;
        let head = if of_all { "Of the claims that fail here:" } else { "Why:" };
        format!("<p class=\"why\"><b>{head}</b> {}</p>", explained(why))
    }
}
