//! Links between the pages of the repository lead to files that are there: a reader of a clone, or of a forge, has no site.

use anyhow::Result;
use std::fs;
use std::path::{Path, PathBuf};

/// Files that are made for the site: pictures (docs/figures.py), the playground.
const MADE: [&str; 2] = ["figures/", "../play/"];

/// A finding for each link to a file that is missing.
pub(crate) fn findings(root: &Path, pages: &[PathBuf]) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for page in pages {
        let name = page.strip_prefix(root).unwrap_or(page).display();
        for (line, target) in targets(&fs::read_to_string(page)?) {
            if !page.with_file_name(&target).exists() {
                findings.push(format!(
                    "{name}:{line}: the link to {target} leads nowhere; name a file or a command"
                ));
            }
        }
    }
    Ok(findings)
}

/// The files to which a page's links lead, with their lines: of `](FILE#PLACE)` outside of blocks of code.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut is_code = false;
    for (k, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        let links = line.split("](").skip(1).filter_map(|rest| rest.split([')', '#', ' ']).next());
        let is_file = |target: &&str| {
            !target.is_empty() && !target.contains(':') && !MADE.iter().any(|made| target.starts_with(made))
        };
        found.extend(links.filter(is_file).map(|target| (k + 1, target.to_string())));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_files_are_found() {
        let text = "See [a](b.md) and [c](../d.md#e).\n```text\n[x](y.md)\n```\n[p](#q) [w](https://example.org) ![f](figures/f.svg)\n";
        assert_eq!(targets(text), [(1, "b.md".into()), (1, "../d.md".into())]);
    }

    #[test]
    fn a_dead_link_is_a_finding() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("page.md");
        fs::write(&page, "[here](page.md#top)\n[nowhere](reference/page.md)\n").unwrap();
        let found = findings(folder.path(), &[page]).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("page.md:2: the link to reference/page.md"), "{found:?}");
    }
}
