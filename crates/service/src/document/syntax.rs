//! Faults of a text that is no TOML, in its author's words: other quotes, another language, a key twice.

/// Explains the fault that TOML finds at a place of a text, so that it can be mended; none, where TOML's own message says enough.
pub(super) fn fault(text: &str, offset: Option<usize>, message: &str) -> Option<String> {
    if let Some(language) = other_language(text) {
        return Some(format!("this is {language}; write TOML, with lines such as duration = \"5 s\""));
    }
    let offset = offset.filter(|offset| text.is_char_boundary(*offset))?;
    let rest = &text[offset..];
    let line = rest.lines().next().unwrap_or_default();
    if let Some(quote) = line.chars().find(|c| "“”„‟‘’‚«»".contains(*c)) {
        return Some(format!("{quote} is no quote of TOML; write \" instead"));
    }
    if message.contains("duplicate key") {
        let key = line.trim_start_matches('[').split(['=', ']']).next().unwrap_or_default().trim();
        let first = first_line(text, key, offset)?;
        return Some(format!("\"{key}\" is there twice, first in line {first}; leave one out"));
    }
    None
}

/// Whether a text holds nothing but empty lines and comments.
pub fn is_empty(text: &str) -> bool {
    lines(text).next().is_none()
}

/// Lines that are neither empty nor comments.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The language that a text is in, if it is one that people also write settings in.
fn other_language(text: &str) -> Option<&'static str> {
    let first = lines(text).next()?;
    if first.starts_with('{') {
        return Some("JSON");
    }
    let key = first.split_once(':').filter(|(_, value)| value.is_empty() || value.starts_with(' '));
    let is_word = |key: &str| !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    (first == "---" || key.is_some_and(|(key, _)| is_word(key))).then_some("YAML")
}

/// The number of the line before a place at which a key was set first in its table, or a table of this name begun.
fn first_line(text: &str, key: &str, offset: usize) -> Option<usize> {
    let before = &text[..text[..offset].rfind('\n').map_or(0, |end| end + 1)];
    let is_table = text[before.len()..].trim_start().starts_with('[');
    let mut first = None;
    for (line, number) in before.lines().map(str::trim_start).zip(1..) {
        let sets = line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='));
        if is_table && line.starts_with(&format!("[{key}]")) {
            return Some(number);
        }
        if !is_table && line.starts_with('[') {
            first = None;
        } else if !is_table && sets {
            first = first.or(Some(number));
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_no_toml_are_named() {
        let fault =
            |text: &str, offset: usize, message: &str| fault(text, Some(offset), message).unwrap_or_default();
        assert!(fault("{\"duration\": \"5 s\"}", 0, "").starts_with("this is JSON; write TOML"));
        assert!(fault("# mine\nduration: 5 s\nnodes:\n  - a\n", 7, "").starts_with("this is YAML"));
        assert_eq!(fault("a = 1\nb = “5 s”\n", 10, ""), "“ is no quote of TOML; write \" instead");
        let twice = "name = \"x\"\n\nseed = 1\nseed = 2\n";
        assert_eq!(
            fault(twice, 21, "duplicate key"),
            "\"seed\" is there twice, first in line 3; leave one out"
        );
        let tables = "[mac]\n[tcp]\n[mac]\n";
        assert_eq!(
            fault(tables, 13, "duplicate key"),
            "\"mac\" is there twice, first in line 1; leave one out"
        );
        let entries = "[[nodes]]\nid = 1\n[[nodes]]\nid = 2\nid = 3\n";
        assert_eq!(
            fault(entries, 34, "duplicate key"),
            "\"id\" is there twice, first in line 4; leave one out"
        );
        assert_eq!(fault("a = 1\nb 2\n", 8, "expected ="), "");
        assert!(is_empty("# nothing\n\n") && !is_empty("a = 1"));
    }
}
