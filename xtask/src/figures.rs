//! Figures in running text: each is in a block or table of its page, or `xtask/figures.toml` names its source.
//!
//! A figure is a number with a unit or a percent sign. Tables and output of a page are generated or tested, so a figure that repeats
//! them needs no entry, even if rounded. Any other is a setting, a rule or a measurement. Its entry names a file and a text in it: `"0.2 s" = "crates/multiconn/src/session.rs: from_millis(200)"`.

use crate::tidy::files;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Units of measured quantities.
const UNITS: [&str; 26] = [
    "%",
    "ns",
    "us",
    "µs",
    "ms",
    "s",
    "min",
    "seconds",
    "minutes",
    "hours",
    "b/s",
    "kb/s",
    "Mb/s",
    "Gb/s",
    "kB/s",
    "MB/s",
    "bytes/s",
    "kB",
    "MB",
    "GB",
    "packets/s",
    "dB",
    "dBm",
    "m",
    "m/s",
    "times",
];
/// Frozen notes; pages with figures of the papers or of standards.
const EXEMPT: [&str; 3] = ["docs/notes/", "docs/papers/", "docs/citations.md"];
const LIST: &str = "xtask/figures.toml";

/// Figures of pages that have no source, and entries without a figure or with a source that is gone.
pub(crate) fn findings(root: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(root.join(LIST)).context(LIST)?;
    let listed: BTreeMap<String, BTreeMap<String, String>> = toml::from_str(&text).context(LIST)?;
    let (mut findings, mut pages) = (Vec::new(), BTreeSet::new());
    for file in files(root, &["md"])? {
        let page = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        let is_page = page.starts_with("docs/") || page == "python/README.md" || !page.contains('/');
        if !is_page || page == "CHANGELOG.md" || EXEMPT.iter().any(|exempt| page.starts_with(exempt)) {
            continue;
        }
        let none = BTreeMap::new();
        let sources = listed.get(&page).unwrap_or(&none);
        findings.extend(of_page(&page, &fs::read_to_string(&file)?, sources));
        pages.insert(page);
    }
    for (page, sources) in &listed {
        if !pages.contains(page) {
            findings.push(format!("{LIST}: there is no page {page}"));
        }
        findings.extend(sources.iter().filter_map(|(figure, source)| lost(root, page, figure, source)));
    }
    Ok(findings)
}

/// A source that is no file outside of `docs/` with the text that the entry quotes.
fn lost(root: &Path, page: &str, figure: &str, source: &str) -> Option<String> {
    let (path, quoted) = source.split_once(": ").unwrap_or((source, figure));
    let is_there = !path.starts_with("docs/")
        && fs::read_to_string(root.join(path)).is_ok_and(|text| text.contains(quoted));
    (!is_there).then(|| format!("{LIST}: {page}: {figure}: {path} has no \"{quoted}\""))
}

fn of_page(page: &str, text: &str, sources: &BTreeMap<String, String>) -> Vec<String> {
    let (prose, shown) = split(text);
    let words: Vec<&str> = prose.split_whitespace().collect();
    let known = numbers(&shown);
    let (mut findings, mut used) = (Vec::new(), BTreeSet::new());
    for (index, pair) in words.windows(2).enumerate() {
        let unit = pair[1].trim_matches(|letter: char| ".,:;()*".contains(letter));
        let number = pair[0].trim_matches(|letter: char| ".,:;()*±−-".contains(letter));
        let is_interval = words.get(index + 2).is_some_and(|next| next.starts_with("interval"));
        if !UNITS.contains(&unit) || number.parse::<f64>().is_err() || is_interval {
            continue;
        }
        // "10 000 nodes" is one number.
        let thousands = index.checked_sub(1).map(|before| words[before]).filter(|before| {
            number.len() == 3 && before.len() < 4 && before.chars().all(|letter| letter.is_ascii_digit())
        });
        let number = thousands.map_or_else(|| number.into(), |before| format!("{before}{number}"));
        let figure = format!("{number} {unit}");
        if sources.contains_key(&figure) {
            used.insert(figure);
        } else if !known.iter().any(|known| is_rounded(*known, &number)) {
            findings.push(format!(
                "{page}: {figure} has no source: no block or table of the page has the number; name a file in {LIST}, or leave it out"
            ));
        }
    }
    let unused = sources.keys().filter(|figure| !used.contains(*figure));
    findings.extend(unused.map(|figure| format!("{LIST}: {page} has no {figure}")));
    findings
}

/// The running text of a page, and the rest: blocks, tables, words in code.
fn split(text: &str) -> (String, String) {
    let (mut prose, mut shown, mut in_block) = (String::new(), String::new(), false);
    for line in text.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            in_block = !in_block;
        } else if in_block || trimmed.starts_with('|') {
            shown.push_str(line);
            shown.push('\n');
        } else if !trimmed.starts_with("<!--") {
            for (index, part) in line.split('`').enumerate() {
                let to = if index % 2 == 1 { &mut shown } else { &mut prose };
                to.push_str(part);
                to.push(' ');
            }
        }
    }
    (prose, shown)
}

/// All numbers in a text; spaces and commas between digits separate thousands as well as numbers.
fn numbers(text: &str) -> Vec<f64> {
    let joined: Vec<char> = text.chars().collect();
    let plain: String = joined
        .iter()
        .enumerate()
        .filter(|(index, letter)| {
            let is_digit =
                |at: Option<usize>| at.and_then(|at| joined.get(at)).is_some_and(char::is_ascii_digit);
            let rest = joined[index + 1..].iter().take_while(|letter| letter.is_ascii_digit()).count();
            !(" ,".contains(**letter) && is_digit(index.checked_sub(1)) && rest == 3)
        })
        .map(|(_, letter)| *letter)
        .collect();
    let all = [text, &plain].into_iter().flat_map(|text| {
        text.split(|letter: char| !letter.is_ascii_digit() && letter != '.')
            .filter_map(|word| word.trim_matches('.').parse().ok())
    });
    all.collect()
}

/// Whether a number of the page, or a thousand times or a hundredth of it, rounds to the one in the text.
fn is_rounded(known: f64, number: &str) -> bool {
    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let Ok(value) = number.parse::<f64>() else { return false };
    let half = 0.5 * 10_f64.powi(-i32::try_from(decimals).unwrap_or(0)) + 1e-9;
    [1.0, 100.0].into_iter().any(|factor| (known * factor - value).abs() <= half)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "It takes 12.5 s, and 41 % of `7 ms`.\nAll of 10 000\ntimes 3 %.\n\n```\n12.53 0.41\n```\n| 10 000 |\n";

    #[test]
    fn figures_of_blocks_and_lists_have_sources() {
        let sources = BTreeMap::from([("3 %".into(), "xtask/src/main.rs".into())]);
        assert_eq!(of_page("p", PAGE, &sources), Vec::<String>::new());
        let findings = of_page("p", &PAGE.replace("12.5 s", "13.5 s"), &sources);
        assert!(findings.len() == 1 && findings[0].contains("13.5 s"), "{findings:?}");
        let findings = of_page("p", "No figure.", &sources);
        assert!(findings.len() == 1 && findings[0].contains("has no 3 %"), "{findings:?}");
    }

    #[test]
    fn source_without_its_text_is_lost() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(lost(root, "p", "3 %", "src/figures.rs: const UNITS").is_none());
        assert!(lost(root, "p", "3 %", "src/figures.rs: no such\u{20}text").is_some());
        assert!(lost(root, "p", "3 %", "docs/index.md").is_some());
    }
}
