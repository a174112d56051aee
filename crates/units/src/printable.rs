//! Text from outside, made safe to print.

use alloc::string::String;

/// Returns text from a peer, a file or another program in a form that is safe for a terminal, a log, a
/// status or a label.
///
/// Control characters, line breaks, bidirectional marks, invisible characters and spaces other than
/// U+0020 become escapes such as `\u{1b}`. Letters with their accents, quotes and backslashes stay. The
/// result has at most `most` characters (Unicode scalar values); a text that is cut off ends in `…`. A
/// printable text stays as it is.
///
/// The output's format must escape quotes and backslashes: a Prometheus label, HTML and JSON each do so
/// differently.
///
/// # Example
/// ```
/// use evenair_units::printable;
///
/// assert_eq!(printable("guarded\u{1b}[2J\nowned", 64), "guarded\\u{1b}[2J\\nowned");
/// assert_eq!(printable("Zoë's \"antenna\"", 64), "Zoë's \"antenna\"");
/// assert_eq!(printable("abcdef", 4), "abc…");
/// ```
pub fn printable(text: &str, most: usize) -> String {
    let (mut shown, mut count) = (String::new(), 0);
    // The end of the text if it turns out to be too long.
    let mut cut = 0;
    for c in text.chars() {
        // The letter before keeps an accent whole: `escape_debug` escapes a combining mark only at the start of a text.
        let mut pair = [b'a'; 5];
        let length = c.encode_utf8(&mut pair[1..]).len();
        let pair = core::str::from_utf8(&pair[..=length]).unwrap_or("a");
        let width = if is_plain(c) { 1 } else { pair.escape_debug().skip(1).count() };
        if count + width > most {
            shown.truncate(cut);
            if most > 0 {
                shown.push('…');
            }
            return shown;
        }
        if is_plain(c) {
            shown.push(c);
        } else {
            shown.extend(pair.escape_debug().skip(1));
        }
        count += width;
        if count < most {
            cut = shown.len();
        }
    }
    shown
}

/// Returns whether text equals its own [`printable`] form, except for line breaks and tabs.
///
/// # Example
/// ```
/// use evenair_units::is_printable;
///
/// assert!(is_printable("two\nlines") && !is_printable("\u{1b}[2J"));
/// ```
pub fn is_printable(text: &str) -> bool {
    text.split(['\n', '\r', '\t']).all(|line| printable(line, usize::MAX) == line)
}

/// Returns whether a character is harmless although `escape_debug` would escape it for a string
/// literal.
const fn is_plain(c: char) -> bool {
    matches!(c, '"' | '\'' | '\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Control characters of ECMA-48, Unicode's bidirectional controls (UAX #9 §2) and separators.
    const HARMFUL: &str = "\u{0}\u{7}\u{8}\t\n\r\u{1b}\u{7f}\u{80}\u{85}\u{9b}\u{9d}\u{a0}\u{ad}\u{61c}\u{200b}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{feff}\u{fff9}\u{e0001}";

    #[test]
    fn harmful_characters_are_escaped() {
        for c in HARMFUL.chars() {
            let mut text = String::from("a");
            text.push(c);
            let shown = printable(&text, 99);
            assert!(shown.starts_with("a\\") && shown.is_ascii(), "{shown:?}");
            assert!(!shown.chars().any(char::is_control), "{shown:?}");
            assert_eq!(printable(&shown, 99), shown, "made printable twice it is the same");
        }
    }

    #[test]
    fn letters_of_all_scripts_stay() {
        for text in ["Zoë", "Zoe\u{308}", "日本語", "Ελλάδα", "a \"b\" 'c' \\d", ""] {
            assert_eq!(printable(text, 99), text);
        }
    }

    #[test]
    fn length_is_bounded_for_any_escapes() {
        for text in [HARMFUL, "\u{1b}\u{1b}\u{1b}\u{1b}", "plain text that goes on and on"] {
            for most in 0..40 {
                let shown = printable(text, most);
                assert!(shown.chars().count() <= most, "{most}: {shown}");
                let escapes = shown.matches("\\u{").count();
                assert_eq!(shown.matches('}').count(), escapes, "no escape is cut in two: {shown}");
            }
        }
        assert_eq!(printable("abcd", 4), "abcd");
        assert_eq!(printable("abc\u{1b}", 4), "abc…");
    }
}
