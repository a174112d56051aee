//! Tables of measured figures: `validation/tables/NAME.json` has the figures, a page shows them below `<!-- table: NAME -->`.
//!
//! `EVENAIR_BLESS=1 cargo xtask tidy` writes the pages' tables; without it a difference is a finding. `validation/record.py` writes the
//! files from the tables that programs print.

use crate::tidy::files;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A table of measured figures, and its origin.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// The command that measures the figures, from the root of the repository.
    command: String,
    /// The commit that was measured; of tables older than their file, the last one before they were written.
    commit: String,
    /// The day of the measurement.
    date: String,
    /// The machine.
    machine: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

const MARK: &str = "<!-- table: ";
const FOLDER: &str = "validation/tables";
/// Pages without measured figures of their own: frozen notes, descriptions of keys and words.
const EXEMPT: [&str; 4] = ["docs/notes/", "docs/reference/", "docs/citations.md", "docs/papers/index.md"];

impl Table {
    fn lines(&self) -> Vec<String> {
        let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
        let rule = format!("|{}", "---|".repeat(self.columns.len()));
        [line(&self.columns), rule].into_iter().chain(self.rows.iter().map(|row| line(row))).collect()
    }

    /// Data that others lack to measure again.
    fn findings(&self, name: &str, root: &Path) -> Vec<String> {
        let mut findings = Vec::new();
        if self.rows.iter().any(|row| row.len() != self.columns.len()) {
            findings.push(format!("{FOLDER}/{name}.json: a row has not as many cells as there are columns"));
        }
        if [&self.commit, &self.date, &self.machine].iter().any(|word| word.is_empty()) {
            findings.push(format!("{FOLDER}/{name}.json: commit, date or machine is empty"));
        }
        let script = self.command.split_whitespace().find(|word| word.starts_with("validation/"));
        if let Some(script) = script.filter(|script| !root.join(script).exists()) {
            findings.push(format!("{FOLDER}/{name}.json: the command's {script} does not exist"));
        }
        let is_known = |start: &&str| self.command.contains(start);
        if !["validation/", "cargo ", "evenair "].iter().any(is_known) {
            findings
                .push(format!("{FOLDER}/{name}.json: \"{}\" is no command of this project", self.command));
        }
        findings
    }
}

/// Tables that differ from their files, tables without a file, files without a page, commands that are gone.
pub(crate) fn findings(root: &Path) -> Result<Vec<String>> {
    let mut tables: BTreeMap<String, Table> = BTreeMap::new();
    for file in files(&root.join(FOLDER), &["json"])? {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&file)?;
        tables.insert(name, serde_json::from_str(&text).with_context(|| file.display().to_string())?);
    }
    let blesses = std::env::var_os("EVENAIR_BLESS").is_some();
    let (mut findings, mut shown) = (Vec::new(), BTreeSet::new());
    for file in files(root, &["md"])? {
        let name = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        let text = fs::read_to_string(&file)?;
        let is_page = name.starts_with("docs/") || !name.contains('/');
        if !is_page || (EXEMPT.iter().any(|exempt| name.starts_with(exempt)) && !text.contains(MARK)) {
            continue;
        }
        let (written, of_page) = rendered(&name, &text, &tables, &mut shown);
        findings.extend(of_page);
        if written != text && blesses {
            fs::write(&file, written)?;
        } else if written != text {
            findings.push(format!("{name}: a table differs from its file; EVENAIR_BLESS=1 cargo xtask tidy"));
        }
    }
    let unused = tables.keys().filter(|name| !shown.contains(*name));
    findings.extend(unused.map(|name| format!("{FOLDER}/{name}.json: no page shows it")));
    findings.extend(tables.iter().flat_map(|(name, table)| table.findings(name, root)));
    findings.extend(missing_tests(root, &tables)?);
    Ok(findings)
}

/// A page with its tables as their files have them.
fn rendered(
    page: &str,
    text: &str,
    tables: &BTreeMap<String, Table>,
    shown: &mut BTreeSet<String>,
) -> (String, Vec<String>) {
    let (mut out, mut findings): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        out.push(line.into());
        let Some(name) = line.strip_prefix(MARK).and_then(|rest| rest.strip_suffix(" -->")) else {
            if line.starts_with('|') {
                let mut rows = Vec::new();
                while let Some(row) = lines.next_if(|next| next.starts_with('|')) {
                    out.push(row.into());
                    rows.push(row);
                }
                if rows.iter().any(|row| is_measured(row)) {
                    findings.push(format!("{page}: a table of figures without a file in {FOLDER}: {line}"));
                }
            }
            continue;
        };
        while lines.next_if(|next| next.starts_with('|')).is_some() {}
        let Some(table) = tables.get(name) else {
            findings.push(format!("{page}: there is no {FOLDER}/{name}.json"));
            continue;
        };
        shown.insert(name.into());
        out.extend(table.lines());
    }
    (out.join("\n") + "\n", findings)
}

/// Whether a row has two figures with decimals, as measured ones have.
fn is_measured(row: &str) -> bool {
    let cells = row.split('|').map(str::trim);
    let is_figure = |cell: &&str| {
        cell.contains('.') && cell.chars().all(|letter| letter.is_ascii_digit() || " .±<%".contains(letter))
    };
    cells.filter(is_figure).count() > 1
}

/// Tests that a table names and no crate has.
fn missing_tests(root: &Path, tables: &BTreeMap<String, Table>) -> Result<Vec<String>> {
    let with_tests =
        tables.iter().filter(|(_, table)| table.columns.iter().any(|column| column.starts_with("test")));
    let cells = with_tests.flat_map(|(name, table)| table.rows.iter().map(move |row| (name, row)));
    let named: Vec<(&String, String)> = cells
        .filter_map(|(name, row)| Some((name, row.last()?)))
        .flat_map(|(name, cell)| cell.split('`').skip(1).step_by(2).map(move |word| (name, word.into())))
        .filter(|(_, word): &(_, String)| {
            word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        })
        .collect();
    let mut missing: Vec<&(&String, String)> = named.iter().collect();
    for file in files(&root.join("crates"), &["rs"])? {
        let text = fs::read_to_string(&file)?;
        missing.retain(|(_, test)| {
            !text.contains(&format!("fn {test}")) && !text.contains(&format!(" {test} "))
        });
    }
    Ok(missing.iter().map(|(name, test)| format!("{FOLDER}/{name}.json: there is no test {test}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables() -> BTreeMap<String, Table> {
        let text = r#"{ "command": "validation/x.py", "commit": "a", "date": "b", "machine": "c",
            "columns": ["nodes", "time [s]"], "rows": [["100", "0.87"]] }"#;
        BTreeMap::from([("speed".into(), serde_json::from_str(text).unwrap())])
    }

    #[test]
    fn a_marked_table_is_that_of_its_file() {
        let page =
            "Text.\n\n<!-- table: speed -->\n| nodes | time [s] |\n|---|---|\n| 100 | 0.99 |\n\nMore.\n";
        let mut shown = BTreeSet::new();
        let (written, findings) = rendered("p", page, &tables(), &mut shown);
        assert_eq!(written, page.replace("0.99", "0.87"));
        assert!(findings.is_empty() && shown.contains("speed"));
        let (again, _) = rendered("p", &written, &tables(), &mut shown);
        assert_eq!(again, written);
    }

    #[test]
    fn figures_without_a_file_are_found() {
        let page = "| a | b | c |\n|---|---|---|\n| one | 0.87 | 1.5 ± 0.2 |\n";
        let (written, findings) = rendered("p", page, &tables(), &mut BTreeSet::new());
        assert_eq!(written, page);
        assert_eq!(findings.len(), 1, "{findings:?}");
        let words = "| key | default |\n|---|---|\n| `rate` | 0.5 |\n";
        assert!(rendered("p", words, &tables(), &mut BTreeSet::new()).1.is_empty());
        let unknown = "<!-- table: no-such -->\n| a |\n|---|\n";
        assert_eq!(rendered("p", unknown, &tables(), &mut BTreeSet::new()).1.len(), 1);
    }
}
