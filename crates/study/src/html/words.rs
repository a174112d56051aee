//! Words on a page: escaped, and explained where they are the field's.

use super::Page;
use crate::glossary;
pub(super) use crate::markup::escape;

/// A text, escaped, with the glossary's explanation of each word where it first stands.
pub(super) fn explained(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut rest = text;
    for (place, len, entry) in glossary::found(text) {
        let at = text.len() - rest.len();
        out += &escape(&rest[..place - at]);
        let word = &rest[place - at..place - at + len];
        out += &format!("<abbr title=\"{}\">{}</abbr>", escape(&entry.means), escape(word));
        rest = &rest[place - at + len..];
    }
    out + &escape(rest)
}

/// The words that the page explains, once more and in full: titles are neither on paper nor under a finger.
pub(super) fn glossary(page: &mut Page) {
    let used: Vec<_> = glossary::entries()
        .iter()
        .filter(|e| page.body.contains(&format!("<abbr title=\"{}\">", escape(&e.means))))
        .collect();
    if used.is_empty() {
        return;
    }
    page.section("words", "Words");
    page.body.push_str("<dl class=\"words\">\n");
    for entry in used {
        page.put(format_args!("<dt>{}</dt><dd>{}</dd>", escape(&entry.word), escape(&entry.means)));
    }
    page.body.push_str("</dl>\n");
}

/// A text as part of an anchor.
pub(super) fn anchor_of(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    let plain: String = plain.collect();
    let words: Vec<&str> = plain.split('-').filter(|word| !word.is_empty()).take(8).collect();
    words.join("-")
}

/// A text as part of an address: all but letters, digits and `-._~` as `%XX` (RFC 3986 §2.1).
pub(super) fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte.into());
        } else {
            out += &format!("%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_hold_any_text() {
        assert_eq!(percent_encoded("a = \"ü\"\n"), "a%20%3D%20%22%C3%BC%22%0A");
    }
}
