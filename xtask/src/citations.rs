//! Every equation that `specs/` lists as built is cited in the code, with its paper.
//!
//! A citation is a paper's tag followed by numbers, in one paragraph of a comment: "[Chen10] eq. (5.1),
//! (A.1)", "[Chen10] Alg. 1", "[Jam10] section 2.4". The numbers belong to the tag up to the next tag, RFC,
//! or IEEE standard. A number without a paper counts for none.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::tidy::files;

/// A file of `specs/`.
#[derive(Deserialize)]
struct Paper {
    tag: String,
    equation: Vec<Equation>,
}

#[derive(Deserialize)]
struct Equation {
    /// "5.1", "Alg. 1", "section 2.4".
    number: String,
    status: Status,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Status {
    Built,
    Planned,
    Deviation,
}

fn papers(root: &Path) -> Result<Vec<Paper>> {
    let read = |file: &Path| toml::from_str(&fs::read_to_string(file)?).context(file.display().to_string());
    files(&root.join("specs"), &["toml"])?.iter().map(|file| read(file)).collect()
}

/// The tags of the papers, "Chen10" and so on.
pub(crate) fn tags(root: &Path) -> Result<Vec<String>> {
    Ok(papers(root)?.into_iter().map(|paper| paper.tag).collect())
}

/// The items that are marked as built and cited nowhere.
pub(crate) fn findings(root: &Path) -> Result<Vec<String>> {
    let papers = papers(root)?;
    let tags: Vec<&str> = papers.iter().map(|paper| paper.tag.as_str()).collect();
    let mut cited = BTreeSet::new();
    let language = root.join("crates/scenario/src/language"); // it lists items for users, and computes nothing
    for file in files(&root.join("crates"), &["rs"])?.iter().filter(|file| !file.starts_with(&language)) {
        for paragraph in comments(&fs::read_to_string(file)?) {
            cited.extend(citations(&paragraph, &tags));
        }
    }
    let built = |paper: &Paper, number: &str| cited.contains(&(paper.tag.clone(), number.to_string()));
    Ok(papers
        .iter()
        .flat_map(|paper| paper.equation.iter().map(move |equation| (paper, equation)))
        .filter(|(paper, equation)| equation.status == Status::Built && !built(paper, &equation.number))
        .map(|(paper, e)| format!("[{}] {} is marked as built, and no code cites it", paper.tag, e.number))
        .collect())
}

/// The comments of a file, each paragraph in one line.
fn comments(text: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    for line in text.lines() {
        // A comment behind code is a paragraph of its own.
        let (code, comment) = match line.find("//") {
            Some(at) => (&line[..at], line[at..].trim_start_matches(['/', '!']).trim()),
            None => (line, ""),
        };
        if !code.trim().is_empty() || comment.is_empty() {
            paragraphs.push(String::new());
        }
        let last = paragraphs.last_mut().expect("there is always one");
        last.push_str(comment);
        last.push(' ');
    }
    paragraphs
}

/// The numbers that a paragraph cites, each with its paper.
fn citations(paragraph: &str, tags: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for tag in tags {
        let name = format!("[{tag}]");
        for (start, _) in paragraph.match_indices(&name) {
            let rest = &paragraph[start + name.len()..];
            let others = tags.iter().map(|other| format!("[{other}]"));
            let end =
                others.chain(["RFC ".into(), "IEEE ".into()]).filter_map(|other| rest.find(&other)).min();
            let numbers = numbers(&rest[..end.unwrap_or(rest.len())]);
            found.extend(numbers.into_iter().map(|number| ((*tag).to_string(), number)));
        }
    }
    found
}

/// "(5.1), (5.3)", "Alg. 1", "section 2.4"; numbers between the ends of "(5.1) to (5.3)" are not cited by it.
fn numbers(text: &str) -> Vec<String> {
    let in_brackets = text.split('(').skip(1).filter_map(|rest| rest.split(')').next());
    let mut found: Vec<String> = in_brackets.filter(|n| is_number(n)).map(Into::into).collect();
    for word in ["Alg. ", "section "] {
        for (start, _) in text.match_indices(word) {
            let number =
                text[start + word.len()..].split([' ', ',', ';', ')', ':']).next().unwrap_or_default();
            found.push(format!("{word}{}", number.trim_end_matches('.')));
        }
    }
    found
}

/// "5.2", "A.1", "14": no word, no year.
fn is_number(word: &str) -> bool {
    let part = |p: &str| !p.is_empty() && p.len() <= 2 && p.chars().all(|c| c.is_ascii_digit());
    match word.split_once('.') {
        Some((chapter, number)) => {
            part(number)
                && (part(chapter) || chapter.len() == 1 && chapter.chars().all(|c| c.is_ascii_uppercase()))
        }
        None => part(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cited(text: &str) -> Vec<String> {
        let all = comments(text).iter().flat_map(|p| citations(p, &["A1", "B2"])).collect::<Vec<_>>();
        all.into_iter().map(|(tag, number)| format!("{tag} {number}")).collect()
    }

    #[test]
    fn numbers_belong_to_the_tag_before_them() {
        assert_eq!(cited("/// [A1] eq. (5.1), (5.3); [B2] (7)"), ["A1 5.1", "A1 5.3", "B2 7"]);
        assert_eq!(cited("//! [A1] eq. (2) to (4), Alg. 1."), ["A1 2", "A1 4", "A1 Alg. 1"]);
        assert_eq!(cited("x(); // `[A1]` section 2.3.2 (J3)"), ["A1 section 2.3.2"]);
    }

    #[test]
    fn a_number_without_its_paper_counts_for_none() {
        assert!(cited("// eq. (5.1), with the floor of RFC 5681 (3)").is_empty());
        assert!(cited("/// [A1] says so.\n///\n/// (5.1) holds.").is_empty(), "another paragraph");
        assert!(cited("f(3); // [A1]\nlet x = y(5);").is_empty(), "code is no citation");
        assert!(cited("// [A1] and RFC 5681 (3)").is_empty());
    }
}
