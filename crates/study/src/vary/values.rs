//! The values that a key takes: `connections.k=5..20`, `mac.data_rate=1 Mbps,2 Mbps`, `backoff.law=dcf,adaptive`.

use super::VaryError;
use evenair_units::plain_message;
use std::fmt;

/// The most values of one key, and the most points of all keys together.
pub(super) const MOST: usize = 100_000;

/// A key of the scenario and the values that it takes one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The key, as `--set` has it.
    pub key: String,
    /// Its values.
    pub levels: Vec<Level>,
}

/// A value of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// As it is written in TOML; a word needs no quotes.
    pub text: String,
    /// The number, of a number and of a quantity.
    pub number: Option<f64>,
    /// The quantity's unit.
    pub unit: String,
}

impl Axis {
    /// Reads `KEY=VALUES`: a list such as `1,2,5`, `dcf,adaptive` or `1 Mbps,2 Mbps`; a range such as `5..20`, both ends included,
    /// `0.1..0.5:0.1` with its step, `1..1000:x10` with its factor, `1..11 Mbps:2` with a unit; or both, `1,2,5..20:5`. Commas
    /// within quotes, brackets and braces part nothing: tables are values, too.
    ///
    /// # Errors
    /// Names the value and the right form.
    pub fn parse(text: &str) -> Result<Self, VaryError> {
        let (key, values) = text.split_once('=').ok_or_else(|| {
            VaryError::of(text, "is not of the form KEY=VALUES, such as connections.k=5..20")
        })?;
        let key = key.trim();
        let mut levels = Vec::new();
        for item in items(values) {
            let fail = |why: String| VaryError::of(key, why);
            match item.split_once("..").filter(|_| !item.starts_with(['\'', '"', '[', '{'])) {
                Some((from, to)) => levels.extend(range(item, from, to).map_err(fail)?),
                None => levels.push(Level::read(item).map_err(fail)?),
            }
        }
        Self::new(key, levels)
    }

    /// A key and its values.
    ///
    /// # Errors
    /// If there is none, or one of them twice.
    pub fn new(key: &str, levels: Vec<Level>) -> Result<Self, VaryError> {
        if key.is_empty() {
            return Err(VaryError::of(
                key,
                "a key is missing: write KEY=VALUES, such as connections.k=5..20",
            ));
        }
        if key == "seed" {
            let why = "each point has seeds of its own: give their number with the option seeds";
            return Err(VaryError::of(key, why));
        }
        if levels.len() > MOST {
            let why = format!("{} values are more than the {MOST} that are taken: give a step", levels.len());
            return Err(VaryError::of(key, why));
        }
        let again =
            (1..levels.len()).find(|&i| levels[..i].iter().any(|before| before.text == levels[i].text));
        if let Some(again) = again {
            return Err(VaryError::of(key, format!("{} is given twice", levels[again])));
        }
        Ok(Self { key: key.into(), levels })
    }

    /// Whether all values are numbers, or quantities of one unit.
    pub fn is_numeric(&self) -> bool {
        let unit = self.levels.first().map(|level| &level.unit);
        self.levels.iter().all(|level| level.number.is_some() && Some(&level.unit) == unit)
    }

    /// The key; with the unit of its values, if they have one.
    pub fn title(&self) -> String {
        match self.levels.first() {
            Some(level) if self.is_numeric() && !level.unit.is_empty() => {
                format!("{} [{}]", self.key, level.unit)
            }
            _ => self.key.clone(),
        }
    }
}

impl Level {
    /// Reads one value: a number, a quantity, a word, or anything else that TOML has.
    ///
    /// # Errors
    /// If there is nothing, or a text, list or table of TOML does not end.
    pub fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("a value is missing between commas".into());
        }
        if text.starts_with(['\'', '"', '[', '{'])
            && let Err(error) = format!("value = {text}").parse::<toml::Table>()
        {
            return Err(format!("{text} is not TOML: {}", plain_message(error.message())));
        }
        let plain = text.trim_matches(['\'', '"']);
        let (number, unit) = quantity(plain).map_or((None, ""), |(x, unit)| (Some(x), unit));
        Ok(Self { text: text.into(), number, unit: unit.into() })
    }
}

/// The value as one reads it, without quotes.
impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text.trim_matches(['\'', '"']))
    }
}

/// A text's parts between commas that stand in no quotes, brackets or braces.
fn items(text: &str) -> Vec<&str> {
    let (mut items, mut start, mut depth, mut quote) = (Vec::new(), 0, 0, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => {
                items.push(text[start..at].trim());
                start = at + 1;
            }
            _ => (),
        }
    }
    items.push(text[start..].trim());
    items
}

/// A finite number and the unit behind it, "" if there is none; nothing, if it is neither.
fn quantity(text: &str) -> Option<(f64, &str)> {
    let ends = text.char_indices().map(|(at, _)| at).skip(1).chain([text.len()]);
    // The longest beginning that is a number.
    let numbers = ends.filter_map(|end| Some((text[..end].trim_end().parse::<f64>().ok()?, &text[end..])));
    let (number, unit) = numbers.filter(|_| text.starts_with(|c: char| !c.is_alphabetic())).last()?;
    let unit = unit.trim();
    (number.is_finite() && !unit.contains(|c: char| c.is_ascii_digit())).then_some((number, unit))
}

/// How a range goes on.
enum Step {
    By(f64),
    Times(f64),
}

/// The values of `FROM..TO`, `FROM..TO:STEP` or `FROM..TO:xFACTOR`; a unit may stand behind any of the numbers.
fn range(item: &str, from: &str, to: &str) -> Result<Vec<Level>, String> {
    let (to, step) = to.split_once(':').map_or((to, None), |(to, step)| (to, Some(step.trim())));
    let ((from, unit), (to, other)) = (number_of(item, from)?, number_of(item, to)?);
    let unit = if unit.is_empty() { other } else { unit };
    let (step, of_step) = match step.map(|step| (step, step.strip_prefix('x'))) {
        None if from.fract() == 0.0 && to.fract() == 0.0 => (Step::By(1.0), ""),
        None => return Err(format!("{item} needs its step, such as {from}..{to}:{}", (to - from) / 10.0)),
        Some((_, Some(factor))) => (Step::Times(number_of(item, factor)?.0), ""),
        Some((step, None)) => number_of(item, step).map(|(step, unit)| (Step::By(step), unit))?,
    };
    if let Some(strange) = [other, of_step].into_iter().find(|o| !o.is_empty() && *o != unit) {
        return Err(format!("{item}: {unit} and {strange} are two units; write the range in one"));
    }
    if from >= to {
        return Err(format!("{item} ends where it begins, or before"));
    }
    let values = match step {
        Step::By(step) if step > 0.0 => stepped(from, to, step),
        Step::Times(factor) if factor > 1.0 && from > 0.0 => multiplied(from, to, factor),
        Step::By(_) => return Err(format!("{item}: a step is above 0")),
        Step::Times(_) => return Err(format!("{item}: a factor is above 1, and begins above 0")),
    };
    let text = |x: f64| if unit.is_empty() { x.to_string() } else { format!("{x} {unit}") };
    let level = |x| Level { text: text(x), number: Some(x), unit: unit.into() };
    Ok(values.into_iter().take(MOST + 1).map(level).collect())
}

fn number_of<'a>(item: &str, text: &'a str) -> Result<(f64, &'a str), String> {
    let text = text.trim();
    let wrong = || format!("{item}: \"{text}\" is not a number; a range is FROM..TO or FROM..TO:STEP");
    quantity(text).ok_or_else(wrong)
}

/// Both ends included, each value with as many decimals as beginning and step have: 0.3, not 0.30000000000000004.
fn stepped(from: f64, to: f64, step: f64) -> Vec<f64> {
    let decimals = |x: f64| x.to_string().split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let digits = decimals(from).max(decimals(step));
    let count = ((to - from) / step + 1e-9).floor() as usize;
    let at = |i: usize| format!("{:.*}", digits, from + i as f64 * step).parse().expect("a number is one");
    (0..=count.min(MOST)).map(at).collect()
}

/// From the beginning on, each so many times the one before, to twelve digits.
fn multiplied(from: f64, to: f64, factor: f64) -> Vec<f64> {
    let count = ((to / from).ln() / factor.ln() + 1e-9).floor() as usize;
    let at = |i: usize| format!("{:.11e}", from * factor.powf(i as f64)).parse().expect("a number is one");
    (0..=count.min(MOST)).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        Axis::parse(text).unwrap().levels.into_iter().map(|level| level.text).collect()
    }

    fn wrong(text: &str) -> String {
        Axis::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn ranges_have_both_ends() {
        assert_eq!(texts("k=5..8"), ["5", "6", "7", "8"]);
        assert_eq!(texts("k=5..20:5"), ["5", "10", "15", "20"]);
        assert_eq!(texts("k=5..19:5"), ["5", "10", "15"]);
        assert_eq!(texts("k=0.1..0.5:0.1"), ["0.1", "0.2", "0.3", "0.4", "0.5"]);
        assert_eq!(texts("k=-1..1"), ["-1", "0", "1"]);
        assert_eq!(texts("k=1..1000:x10"), ["1", "10", "100", "1000"]);
        assert_eq!(texts("k=0.001..0.01:x3"), ["0.001", "0.003", "0.009"]);
        assert_eq!(texts("k=1,2,5..20:5"), ["1", "2", "5", "10", "15", "20"]);
    }

    #[test]
    fn ranges_have_units() {
        let expected = ["1 Mbps", "2.5 Mbps", "4 Mbps"];
        for text in ["r=1..4 Mbps:1.5", "r=1 Mbps..4 Mbps:1.5 Mbps", "r=1 Mbps..4:1.5"] {
            assert_eq!(texts(text), expected);
        }
        let axis = Axis::parse("mac.data_rate=1..4 Mbps").unwrap();
        assert!(axis.is_numeric());
        assert_eq!((axis.title().as_str(), axis.levels[3].number), ("mac.data_rate [Mbps]", Some(4.0)));
        assert!(wrong("r=1 kbps..4 Mbps:1").contains("kbps and Mbps are two units"));
    }

    #[test]
    fn lists_are_of_words_quantities_and_tables() {
        assert_eq!(texts("backoff.law=dcf, adaptive"), ["dcf", "adaptive"]);
        assert_eq!(texts("mac.data_rate='1 Mbps','2 Mbps'"), ["'1 Mbps'", "'2 Mbps'"]);
        let tables = texts("backoff={ law = 'adaptive', b = [1, 2] },{ law = 'dcf' }");
        assert_eq!(tables, ["{ law = 'adaptive', b = [1, 2] }", "{ law = 'dcf' }"]);
        assert!(!Axis::parse("a=1,dcf").unwrap().is_numeric());
        assert!(!Axis::parse("a=1 s,1 ms").unwrap().is_numeric(), "two units have no axis in common");
        assert!(!Axis::parse("a=inf,nan").unwrap().is_numeric());
        let rates = Axis::parse("mac.data_rate='1 Mbps',2 Mbps").unwrap();
        assert!(rates.is_numeric());
        assert_eq!(rates.levels[0].to_string(), "1 Mbps");
    }

    #[test]
    fn mistakes_name_value_and_form() {
        for (text, words) in [
            ("connections.k", "connections.k: is not of the form KEY=VALUES"),
            ("=1,2", "a key is missing"),
            ("k=1,,2", "k: a value is missing between commas"),
            ("k=1,2,1", "k: 1 is given twice"),
            ("k=20..5", "k: 20..5 ends where it begins, or before"),
            ("k=0.1..0.5", "0.1..0.5 needs its step, such as 0.1..0.5:0.04"),
            ("k=a..b", "\"a\" is not a number; a range is FROM..TO"),
            ("k=1..5:0", "a step is above 0"),
            ("k=0..5:x2", "a factor is above 1, and begins above 0"),
            ("k={ law = 'dcf'", "is not TOML"),
            ("k=0..1e9", "give a step"),
            ("seed=1..5", "seeds"),
        ] {
            assert!(wrong(text).contains(words), "{text}: {}", wrong(text));
        }
    }
}
