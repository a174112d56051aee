//! The report: one HTML file that works offline, on a screen, on paper and in the dark.
//!
//! Read `assets/report.js` and `assets/report.css` beside this: the page is whole without them. They show the values under the
//! pointer in its figures, sort and fold its tables, and style it.

mod claims;
mod figures;
mod gateway;
mod head;
mod parameters;
mod run;
mod tables;
mod verdict;
mod words;

use crate::chart::Figures;
use crate::outcome::Outcome;
pub use run::run_report;
use std::fmt::Write;
use words::escape;

const STYLE: &str = include_str!("../assets/report.css");
const BEHAVIOUR: &str = include_str!("../assets/report.js");

/// Draws a study's results and figures into one self-contained page: its first figure answers, and stands before all text.
/// `command` is the line that made it.
pub fn report(outcome: &Outcome, figures: &Figures, command: &str) -> String {
    let mut page = Page::default();
    head::head(&mut page, outcome, command);
    figures::answer(&mut page, figures, command);
    head::about(&mut page, outcome);
    if outcome.study.asked.is_some() {
        verdict::by_variant(&mut page, outcome);
    }
    claims::claims(&mut page, outcome);
    figures::others(&mut page, figures, command);
    tables::tables(&mut page, outcome);
    departures(&mut page, outcome);
    words::glossary(&mut page);
    provenance(&mut page, outcome, command);
    page.whole(outcome)
}

/// A page as it grows: its body and its table of contents.
#[derive(Debug, Default)]
struct Page {
    body: String,
    /// Its sections: their anchors, names, and whether they are parts of the one before.
    contents: Vec<(String, String, bool)>,
    /// The data of figures, for tooltips and tables.
    figures: Vec<serde_json::Value>,
}

impl Page {
    /// Begins a section.
    fn section(&mut self, anchor: &str, title: &str) {
        self.contents.push((anchor.into(), title.into(), false));
        self.put(format_args!("<h2 id=\"{anchor}\">{}</h2>", escape(title)));
    }

    /// Begins a part of a section.
    fn part(&mut self, anchor: &str, title: &str) {
        self.contents.push((anchor.into(), title.into(), true));
        self.put(format_args!("<h3 id=\"{anchor}\">{}</h3>", escape(title)));
    }

    /// The box that unfolds a folded part; `what` names the content.
    fn unfold(&mut self, what: std::fmt::Arguments<'_>) {
        self.put(format_args!("<label class=\"unfold\"><input type=\"checkbox\"> {what}</label>"));
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        writeln!(self.body, "{text}").expect("a string takes everything");
    }

    /// The page with all that it needs.
    fn whole(&self, outcome: &Outcome) -> String {
        let title = escape(&outcome.study.title);
        let mut text = String::with_capacity(self.body.len() + (1 << 16));
        text.push_str("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n");
        text.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        let program = program();
        let _ = write!(text, "<title>{title}</title>\n<style>{STYLE}");
        // On paper the foot is on every page.
        let foot = "@bottom-right { content: counter(page) \" of \" counter(pages); }";
        let _ = write!(text, "@page {{ @bottom-left {{ content: \"{program}\"; }} {foot} }}\n</style>\n");
        let _ = write!(text, "<div class=\"page\">\n{}<main>\n{}", self.navigation(), self.body);
        let _ = write!(text, "<footer>{program}</footer>\n</main>\n</div>\n");
        let figures = for_script(&serde_json::Value::from(self.figures.clone()));
        let _ = write!(text, "<script>\nconst FIGURES = {figures};\n{BEHAVIOUR}</script>\n</html>\n");
        text
    }

    fn navigation(&self) -> String {
        let mut text = String::from(
            "<nav><button id=\"theme\" hidden>dark</button>\n<details open><summary>Contents</summary><ul>\n",
        );
        for (anchor, title, is_part) in &self.contents {
            let class = if *is_part { " class=\"part\"" } else { "" };
            let _ = writeln!(text, "<li{class}><a href=\"#{anchor}\">{}</a></li>", escape(title));
        }
        text + "</ul></details></nav>\n"
    }
}

/// Departures of a study from its paper.
fn departures(page: &mut Page, outcome: &Outcome) {
    let deviations = &outcome.study.deviations;
    if deviations.is_empty() {
        return;
    }
    page.section("departures", "Open points and choices");
    page.body.push_str("<ul>\n");
    for deviation in deviations {
        page.put(format_args!("<li>{}</li>", escape(deviation)));
    }
    page.body.push_str("</ul>\n");
}

fn provenance(page: &mut Page, outcome: &Outcome, command: &str) {
    page.section("made", "How this was made");
    page.put(format_args!("<p class=\"command\"><code>{}</code></p>\n<ul>", escape(command)));
    page.put(format_args!(
        "<li>{}, {} per variant. The same version, scenario and seed give the same numbers on any machine.</li>",
        program(),
        head::seeds(outcome)
    ));
    page.put(format_args!(
        "<li>a ± b is the mean over seeds and half of its 95 % interval (Student's t), rounded to the interval's precision; a mean without ± has one seed, or is the same in all seeds. The result's folder, where one was asked for, has all digits: tables as CSV, result.json, and the scenarios with every default written out.</li>"
    ));
    if outcome.study.values().next().is_some() {
        page.put(format_args!(
            "<li>A claim holds, or fails, where all of its 95 % interval lies on one side of its bound; else it is undecided, and more seeds (<code>--decide</code>) may decide it.</li>"
        ));
    }
    page.body.push_str("<li>The fair optimum maximises Σ −1/x over the rates that the air can carry in turns; a link's capacity counts frames, acknowledgements and inter-frame spaces, and no back-off.</li>\n</ul>\n");
    page.body.push_str("<details><summary>Every parameter of every variant</summary>\n<pre>");
    page.body.push_str(&escape(&parameters::parameters(outcome)));
    page.body.push_str("</pre></details>\n");
}

/// Which program made the page.
fn program() -> String {
    format!("evenair {}", evenair_results::version())
}

/// JSON that may stand inside a script element.
fn for_script(value: &serde_json::Value) -> String {
    value.to_string().replace('<', "\\u003c")
}
