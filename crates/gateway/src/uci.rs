//! The operator's file in OpenWrt's form (`/etc/config/evenair`, UCI): the same keys, each section a
//! table.
//!
//! UCI is translated to TOML line by line. So one parser has all keys, and a mistake has the operator's
//! line number.

use crate::Mistake;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The section that has the file's own keys.
const OWN: &str = "gateway";
/// Sections that may occur more than once.
const MANY: [&str; 3] = ["subscriber", "leases", "delegated"];
/// Options that are lists; each line adds one value.
const LISTS: [&str; 3] = ["prefixes", "ports", "despite"];
/// Options that are words, even if they look like numbers.
const WORDS: [&str; 6] = ["mesh", "uplink", "id", "name", "prefixes", "page"];
/// Options that are yes or no, for which UCI has many words.
const SWITCHES: [&str; 3] = ["acknowledgements", "neighbours", "shared"];
/// Whether the service is started: an option of `/etc/init.d`, not of the gateway.
const ENABLED: &str = "enabled";

/// Returns a text as TOML, from either form.
pub(crate) fn as_toml<'a>(file: &str, text: &'a str) -> Result<Cow<'a, str>, Mistake> {
    if is_uci(text) { Reader::new(file).read(text).map(Cow::Owned) } else { Ok(Cow::Borrowed(text)) }
}

/// Returns whether a text is UCI: no line of TOML begins with a key and a blank, and then another word.
pub(crate) fn is_uci(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    first.is_some_and(|line| {
        let mut words = line.split_whitespace();
        matches!(words.next(), Some("config" | "package")) && words.next().is_some_and(|word| word != "=")
    })
}

struct Reader<'a> {
    file: &'a str,
    section: String,
    /// Whether the file's own section has begun; the others must follow it.
    own: bool,
    /// Lists of the section, by the line of their first option.
    lists: BTreeMap<String, (usize, Vec<String>)>,
    lines: Vec<String>,
}

impl<'a> Reader<'a> {
    const fn new(file: &'a str) -> Self {
        Self { file, section: String::new(), own: false, lists: BTreeMap::new(), lines: Vec::new() }
    }

    fn read(mut self, text: &str) -> Result<String, Mistake> {
        for line in text.lines() {
            let number = self.lines.len() + 1;
            let words = words(line).map_err(|why| Mistake::of(self.file, why).at(number))?;
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let written = match words[..] {
                [] | ["package", _] => Ok(String::new()),
                ["config", section] | ["config", section, _] => self.begin(section),
                ["option", key, value] => self.option(key, value),
                ["list", key, value] => self.list(key, value),
                _ => Err("a line of UCI is: config SECTION, option KEY 'VALUE', or list KEY 'VALUE'".into()),
            };
            let written = written.map_err(|why| Mistake::of(self.file, why).at(number))?;
            self.lines.push(written);
        }
        self.end();
        Ok(self.lines.join("\n") + "\n")
    }

    /// Ends the section: writes its lists with all their values.
    fn end(&mut self) {
        for (key, (line, values)) in std::mem::take(&mut self.lists) {
            let values: Vec<String> = values.iter().map(|value| scalar(&key, value)).collect();
            self.lines[line] = format!("{key} = [{}]", values.join(", "));
        }
    }

    fn begin(&mut self, section: &str) -> Result<String, String> {
        self.end();
        if section == OWN && !self.section.is_empty() {
            return Err(format!("config {OWN} must come once, and first"));
        }
        self.own |= section == OWN;
        if !self.own {
            return Err(format!("config {section} must come after config {OWN}, which has mesh and uplink"));
        }
        section.clone_into(&mut self.section);
        is_key(section)?;
        Ok(match section {
            OWN => String::new(),
            many if MANY.contains(&many) => format!("[[{section}]]"),
            _ => format!("[{section}]"),
        })
    }

    fn option(&mut self, key: &str, value: &str) -> Result<String, String> {
        is_key(key)?;
        match self.section.as_str() {
            "" => Err(format!("option {key} is in no section: put it below config {OWN}")),
            OWN if key == ENABLED => Ok(String::new()),
            _ if LISTS.contains(&key) => {
                // Several values in one option, as in the table of subscribers.
                value.split_whitespace().try_for_each(|one| self.list(key, one).map(drop))?;
                Ok(String::new())
            }
            _ => Ok(format!("{key} = {}", scalar(key, value))),
        }
    }

    fn list(&mut self, key: &str, value: &str) -> Result<String, String> {
        is_key(key)?;
        if self.section.is_empty() {
            return Err(format!("list {key} is in no section: put it below config {OWN}"));
        }
        let (_, values) = self.lists.entry(key.into()).or_insert((self.lines.len(), Vec::new()));
        values.push(value.into());
        Ok(String::new())
    }
}

fn is_key(key: &str) -> Result<(), String> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(is_letter) {
        Ok(())
    } else {
        Err(format!("\"{}\" is no name of a section or option", key.escape_debug()))
    }
}

/// Returns a value in TOML's form. UCI has only words: one that parses as a number becomes a number,
/// except in options that are words.
fn scalar(key: &str, value: &str) -> String {
    let switch = match value {
        "1" | "on" | "true" | "yes" | "enabled" => Some(true),
        "0" | "off" | "false" | "no" | "disabled" => Some(false),
        _ => None,
    };
    if let Some(is_on) = switch.filter(|_| SWITCHES.contains(&key)) {
        return is_on.to_string();
    }
    let number = value.parse::<i64>().map(|number| number.to_string());
    let number = number.or_else(|_| value.parse::<f64>().map(|number| format!("{number:?}")));
    match number {
        Ok(number) if !WORDS.contains(&key) => number,
        _ => toml::Value::String(value.into()).to_string(),
    }
}

/// Returns the words of a line, without their quotes.
fn words(line: &str) -> Result<Vec<String>, &'static str> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(letters.next()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    if quote.is_some() { Err("a quote is open at the line's end") } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const UCI: &str = "package evenair

config gateway 'gateway'
\toption enabled '1'
\toption mesh 'br-lan'
\toption uplink wan
\toption mode \"enforce\"   # limits
\toption eager '100'

config law
\toption law 'pfrc'
\toption epoch '5 s'
\toption gamma '0.9'
\toption link_rate '20 Mbps'

config exempt 'exempt'
\tlist ports '53'
\tlist ports '67'
\toption acknowledgements '0'

config subscriber
\toption id '007'
\toption name 'Anna'\\''s house'
\tlist prefixes '10.0.0.11'
\tlist prefixes 'fd00:0:1::/56'

config subscriber
\toption id 'ben'
\toption prefixes '10.0.0.12 10.0.0.13'
\toption weight '2'
";

    #[test]
    fn sections_are_tables_with_places_of_lines() {
        let text = UCI.replace("\toption link_rate '20 Mbps'\n", "");
        let config = Config::parse("evenair", &text).unwrap();
        let toml = "mesh = \"br-lan\"\nuplink = \"wan\"\nmode = \"enforce\"\neager = 100\n\
            [law]\nlaw = \"pfrc\"\nepoch = \"5 s\"\ngamma = 0.9\n[exempt]\nports = [53, 67]\nacknowledgements = false\n\
            [[subscriber]]\nid = \"007\"\nname = \"Anna's house\"\nprefixes = [\"10.0.0.11\", \"fd00:0:1::/56\"]\n\
            [[subscriber]]\nid = \"ben\"\nprefixes = [\"10.0.0.12\", \"10.0.0.13\"]\nweight = 2\n";
        assert_eq!(config, Config::parse("gateway.toml", toml).unwrap());
        let refused =
            |from: &str, to: &str| Config::parse("evenair", &text.replace(from, to)).unwrap_err().to_string();
        for (from, to, says) in [
            ("\"enforce\"", "'loud'", "evenair:7: mode: unknown variant `loud`"),
            ("'0.9'", "'7'", "evenair:13: law.gamma: 7 is not allowed"),
            ("fd00:0:1::/56", "fd00::x", "evenair:23: subscriber[0].prefixes[1]: "),
            ("option eager", "option eger", "evenair:8: unknown field `eger`"),
            ("option eager", "eager", "evenair:8: a line of UCI is"),
            ("config gateway 'gateway'", "", "evenair:4: option enabled is in no section"),
            ("config law", "config gateway", "evenair:10: config gateway must come once, and first"),
            ("'br-lan'", "'br-lan", "evenair:5: a quote is open"),
        ] {
            let refused = refused(from, to);
            assert!(refused.contains(says), "{refused}");
        }
        // A key of another table is refused as in TOML.
        assert!(Config::parse("evenair", UCI).unwrap_err().to_string().contains("link_rate"));
    }

    /// Returns the keys of a table, from the parser's own message.
    fn keys(table: &str) -> BTreeSet<String> {
        let header = if MANY.contains(&table) { format!("[[{table}]]") } else { format!("[{table}]") };
        let least = "mesh = \"a\"\nuplink = \"b\"\n";
        let text = if table == OWN {
            format!("no_such_key = 1\n{least}")
        } else {
            format!("{least}{header}\nno_such_key = 1\n")
        };
        let told = Config::parse("g", &text).unwrap_err().to_string();
        let (_, expected) = told.split_once("expected ").unwrap();
        expected.split('`').skip(1).step_by(2).map(String::from).collect()
    }

    /// OpenWrt's installed configuration file has every key, and no other.
    #[test]
    fn openwrts_file_has_all_keys() {
        let text = include_str!("../../../packaging/openwrt/files/evenair.config");
        let observed = Config::parse("evenair", text).unwrap();
        assert_eq!((observed.mode, observed.mesh.as_str()), (crate::config::Mode::Observe, "br-lan"));
        let is_key =
            |line: &str| ["config ", "\toption ", "\tlist "].iter().any(|word| line.starts_with(word));
        let all = |line: &'static str| line.strip_prefix('#').filter(|line| is_key(line)).unwrap_or(line);
        let all: Vec<&str> = text.lines().map(all).collect();
        Config::parse("evenair", &all.join("\n")).unwrap();
        let mut sections: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut section = String::new();
        for line in all {
            match &words(line).unwrap()[..] {
                [config, name, ..] if config == "config" => section.clone_from(name),
                [_, key, _] if key != ENABLED => {
                    sections.entry(section.clone()).or_default().insert(key.clone());
                }
                _ => (),
            }
        }
        let tables = sections.keys().filter(|name| *name != OWN).cloned();
        let own: BTreeSet<String> = sections[OWN].iter().cloned().chain(tables).collect();
        assert_eq!(own, keys(OWN));
        for (table, found) in sections.iter().filter(|(table, _)| *table != OWN && *table != "law") {
            assert_eq!(*found, keys(table), "{table}");
        }
    }

    #[test]
    fn toml_is_left_alone() {
        for text in ["mesh = \"a\"", "config = 1", "# config gateway\nmesh = \"a\"", "", "[config]"] {
            assert!(matches!(as_toml("g", text), Ok(Cow::Borrowed(same)) if same == text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "((config|option|list) |gateway|law|subscriber|prefixes|ports|['\"\\\\# \t\n=.a-z0-9]){0,60}") {
            if let Ok(toml) = as_toml("g", &text) && is_uci(&text) {
                prop_assert_eq!(toml.lines().count(), text.lines().count());
                let _ = Config::parse("g", &text);
            }
            let _ = Config::parse("g", &format!("config gateway\n{text}"));
        }
    }
}
