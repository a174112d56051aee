//! Plain words, counted: comments and pages keep to the rules of prose that a count can check, each file to no more than it had.
//!
//! `xtask/words.toml` lists the files that exceed the common limits, with their own. `EVENAIR_BLESS=1 cargo xtask tidy` lowers those
//! limits to the present counts; nothing raises them.

use crate::tidy::files;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Words for persons; machines are "it".
const PERSONS: [&str; 9] =
    ["who", "whoever", "whose", "whom", "nobody", "somebody", "anybody", "everybody", "himself"];
/// Words that hide the subject of a clause.
const WHATS: [&str; 2] = ["what", "whatever"];
/// Words of a diary.
const DIARY: [&str; 4] = ["lately", "anew", "meanwhile", "nowadays"];
/// The most words of a sentence.
const SENTENCE_MAX: usize = 40;
/// The most words of pages' prose: a page that needs more has two subjects, or tables that belong to a note.
const PAGES: [(&str, usize); 8] = [
    ("README.md", 500),
    ("CHANGELOG.md", 3000),
    ("docs/how-to/backoff.md", 950),
    ("docs/how-to/", 800),
    ("docs/tutorial/", 800),
    ("docs/concepts/", 1000),
    ("docs/papers/", 600),
    ("docs/", 1000),
];
/// Folders and files that are frozen, generated or not prose of ours.
const EXEMPT: [&str; 4] = ["docs/notes/", "target/", "xtask/stub/", "evenair-results/"];

/// The counted features, in the order of the limits in the file.
const COUNTED: [&str; 4] = ["persons", "whats", "sentences above 40 words", "diary"];
type Counts = [usize; COUNTED.len()];

/// Counts of some prose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Prose {
    words: usize,
    sentences: usize,
    counts: Counts,
}

impl Prose {
    fn of(text: &str) -> Self {
        let mut prose = Self::default();
        for sentence in sentences(text) {
            let words: Vec<String> = words(&sentence).collect();
            prose.words += words.len();
            prose.sentences += 1;
            let count = |list: &[&str]| words.iter().filter(|word| list.contains(&word.as_str())).count();
            let long = usize::from(words.len() > SENTENCE_MAX);
            let found = [count(&PERSONS), count(&WHATS), long, count(&DIARY)];
            prose.counts.iter_mut().zip(found).for_each(|(sum, more)| *sum += more);
        }
        prose
    }

    fn add(&mut self, other: Self) {
        self.words += other.words;
        self.sentences += other.sentences;
        self.counts.iter_mut().zip(other.counts).for_each(|(sum, more)| *sum += more);
    }

    /// The limits of a file without limits of its own: a `what` in 1000 words, and nothing else.
    const fn common_limits(self) -> Counts {
        [0, self.words.div_ceil(1000), 0, 0]
    }
}

/// The findings of all files, and the counts of all of them in a sentence.
pub(crate) fn findings(root: &Path) -> Result<(Vec<String>, String)> {
    let path = root.join("xtask/words.toml");
    let text = fs::read_to_string(&path).context("xtask/words.toml")?;
    let limits: BTreeMap<String, Counts> = toml::from_str(&text).context("xtask/words.toml")?;
    let (mut findings, mut lowered, mut all) = (Vec::new(), BTreeMap::new(), Prose::default());
    for file in files(root, &["rs", "md"])? {
        let name = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        if EXEMPT.iter().any(|exempt| name.starts_with(exempt)) {
            continue;
        }
        let text = fs::read_to_string(&file)?;
        let is_page = file.extension().is_some_and(|ending| ending == "md");
        let prose = Prose::of(&if is_page { of_page(&text) } else { of_code(&text) });
        all.add(prose);
        if let Some((_, most)) = PAGES.iter().find(|(page, _)| is_page && name.starts_with(page))
            && prose.words > *most
        {
            findings.push(format!("{name}: {} words of prose, more than {most}", prose.words));
        }
        let common = prose.common_limits();
        let limit = limits.get(&name).copied().unwrap_or(common);
        for (index, what) in COUNTED.iter().enumerate() {
            let (count, most) = (prose.counts[index], limit[index].max(common[index]));
            if count > most {
                findings.push(format!(
                    "{name}: {what}: {count}, more than {most}; see the rules in CONTRIBUTING.md"
                ));
            }
        }
        let least = |index: usize| prose.counts[index].min(limit[index].max(common[index]));
        if (0..COUNTED.len()).any(|index| prose.counts[index] > common[index]) {
            lowered.insert(name, [least(0), least(1), least(2), least(3)]);
        }
    }
    if std::env::var_os("EVENAIR_BLESS").is_some() {
        fs::write(path, written(&lowered))?;
    }
    Ok((findings, told(all)))
}

fn told(all: Prose) -> String {
    let [persons, whats, long, diary] = all.counts;
    let per_1000 = |count: usize| 1000.0 * count as f64 / all.words.max(1) as f64;
    format!(
        "{} words: {:.1} for persons and {:.1} of \"what\" in 1000, {:.1} % of sentences above {SENTENCE_MAX} words, {diary} of a diary",
        all.words,
        per_1000(persons),
        per_1000(whats),
        100.0 * long as f64 / all.sentences.max(1) as f64
    )
}

fn written(limits: &BTreeMap<String, Counts>) -> String {
    let mut text =
        format!("# The most of each file: {}. xtask/src/words.rs lowers them.\n", COUNTED.join(", "));
    for (name, counts) in limits {
        let _ = writeln!(text, "{name:?} = {counts:?}");
    }
    text
}

/// The prose of a page: its paragraphs and lists, without code, tables, headings and comments.
fn of_page(text: &str) -> String {
    let (mut prose, mut in_code) = (String::new(), false);
    for line in text.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            in_code = !in_code;
            continue;
        }
        let begins = ["#", "|", "<", "![", "---"].iter().any(|mark| trimmed.starts_with(mark));
        if in_code || begins || trimmed.is_empty() {
            prose.push_str("\n\n");
        } else {
            if ["- ", "* "].iter().any(|mark| trimmed.starts_with(mark)) {
                prose.push_str("\n\n");
            }
            prose.push_str(line);
            prose.push('\n');
        }
    }
    prose
}

/// The comments of a program; each run of lines is a text of its own.
fn of_code(text: &str) -> String {
    let (mut prose, mut in_code) = (String::new(), false);
    for line in text.lines() {
        let comment =
            line.trim_start().strip_prefix("//").map(|rest| rest.trim_start_matches(['/', '!']).trim());
        match comment {
            Some(fence) if fence.starts_with("```") => in_code = !in_code,
            Some("") | None => prose.push_str("\n\n"),
            Some(_) if in_code => {}
            Some(words) => {
                prose.push_str(words);
                prose.push('\n');
            }
        }
        in_code &= comment.is_some();
    }
    prose
}

/// Sentences end at a point, a colon's list item, or a paragraph's end.
fn sentences(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split("\n\n").flat_map(|paragraph| {
        let mut sentences = vec![String::new()];
        for (index, code) in paragraph.split('`').enumerate() {
            if index % 2 == 1 {
                sentences.last_mut().into_iter().for_each(|sentence| sentence.push_str("code"));
                continue;
            }
            let mut parts = code.split_inclusive(['.', '!', '?', ';']).peekable();
            while let Some(part) = parts.next() {
                sentences.last_mut().into_iter().for_each(|sentence| sentence.push_str(part));
                let ends = part.ends_with(['.', '!', '?']);
                if ends && parts.peek().is_none_or(|next| next.starts_with(char::is_whitespace)) {
                    sentences.push(String::new());
                }
            }
        }
        sentences.into_iter().filter(|sentence| words(sentence).next().is_some())
    })
}

fn words(sentence: &str) -> impl Iterator<Item = String> + '_ {
    let words = sentence.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’' && c != '-');
    words.filter(|word| word.chars().any(char::is_alphabetic)).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_paragraphs_are_counted_not_code() {
        let code = "/// Who sends waits. It takes `who`, 1.5 s.\nfn who() {}\n// What\n// follows.\n/// ```\n/// let whose = 1;\n/// ```\n";
        let prose = Prose::of(&of_code(code));
        assert_eq!((prose.sentences, prose.counts), (3, [1, 1, 0, 0]));
        let page = "# Who\n\nA page. It was made anew.\n\n| who |\n|---|\n\n```\nwhat\n```\n- what\n- is\n";
        assert_eq!(Prose::of(&of_page(page)).counts, [0, 1, 0, 1]);
        let long = format!("{}.", "word ".repeat(41));
        assert_eq!(Prose::of(&long).counts, [0, 0, 1, 0]);
        assert_eq!(Prose::of(&long).common_limits(), [0, 1, 0, 0]);
    }
}
