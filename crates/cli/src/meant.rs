//! Command lines that are not right, and the likely meaning of them.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// Commands by names that other programs have for them.
const COMMANDS: [(&str, &str); 17] = [
    ("simulate", "run"),
    ("sim", "run"),
    ("simulation", "run"),
    ("start", "run"),
    ("optimize", "solve"),
    ("optimise", "solve"),
    ("optimum", "solve"),
    ("init", "new"),
    ("create", "new"),
    ("example", "new"),
    ("examples", "list scenarios"),
    ("scenario", "list scenarios"),
    ("scenarios", "list scenarios"),
    ("studies", "list studies"),
    ("laws", "list laws"),
    ("metrics", "list metrics"),
    ("figure", "plot"),
];

/// Keys of a scenario that people look for among the options.
const KEYS: [&str; 5] = ["duration", "warmup", "seed", "preset", "name"];

/// The same error, with the likely meaning in the place of clap's guess.
pub(crate) fn with_meaning(mut error: Error) -> Error {
    let said = |error: &Error, kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let tip = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            said(&error, ContextKind::InvalidSubcommand).and_then(|word| command(&word))
        }
        // A word that is like a list's name is a slip of it.
        ErrorKind::InvalidValue
            if said(&error, ContextKind::InvalidArg).as_deref() == Some("[WHAT]")
                && error.get(ContextKind::SuggestedValue).is_none() =>
        {
            said(&error, ContextKind::InvalidValue).and_then(|word| searched(&word))
        }
        ErrorKind::UnknownArgument => said(&error, ContextKind::InvalidArg).and_then(|word| key(&word)),
        _ => None,
    };
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedSubcommand);
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::TrailingArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
    error
}

/// The command that a word means.
fn command(word: &str) -> Option<String> {
    let (_, command) = COMMANDS.iter().find(|(other, _)| *other == word.to_lowercase())?;
    Some(format!("write 'evenair {command}'"))
}

/// The search that a word behind `list` means.
fn searched(word: &str) -> Option<String> {
    let is_word = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-/_".contains(c));
    is_word.then(|| format!("write 'evenair list scenarios {word}', or studies, laws, metrics"))
}

/// The change of a scenario that an option means, or the argument.
fn key(option: &str) -> Option<String> {
    if option == "--metric" {
        return Some("a figure's name stands behind the folder: evenair plot DIR goodput".into());
    }
    let key = option.strip_prefix("--")?.replace('-', "_");
    KEYS.contains(&key.as_str()).then_some(())?;
    let value = value_of(option, std::env::args()).unwrap_or_default();
    // A quantity stands with a space before its unit.
    let unit =
        value.find(|c: char| c.is_alphabetic()).filter(|&at| at > 0 && value[..at].parse::<f64>().is_ok());
    let value = unit.map_or(value.clone(), |at| format!("'{} {}'", &value[..at], &value[at..]));
    Some(format!("{key} is a key of the scenario: --set {key}={value}"))
}

/// The value of an option among some words, behind a `=` or as the next one.
fn value_of(option: &str, words: impl Iterator<Item = String>) -> Option<String> {
    let mut words = words.skip_while(|word| word.split('=').next() != Some(option));
    match words.next()?.split_once('=') {
        Some((_, value)) => Some(value.into()),
        None => words.next(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_programs_lead_to_commands() {
        let all = crate::arguments::command();
        let known: Vec<&str> = all.get_subcommands().map(clap::Command::get_name).collect();
        for (other, command) in COMMANDS {
            let verb = command.split(' ').next().unwrap();
            assert!(known.contains(&verb) && !known.contains(&other), "{other}");
        }
        assert!(key("--duration").unwrap().starts_with("duration is a key of the scenario: --set duration="));
        let words = |text: &str| value_of("--seed", text.split(' ').map(String::from));
        assert_eq!(words("run a --seed=7 x").as_deref(), Some("7"));
        assert_eq!(words("run a --seed 7 x").as_deref(), Some("7"));
        assert_eq!(words("run a --seed"), None);
        assert_eq!(key("--nothing"), None);
        assert!(searched("hidden").unwrap().starts_with("write 'evenair list scenarios hidden'"));
        assert_eq!(searched("a b"), None);
        assert!(key("--metric").unwrap().ends_with("evenair plot DIR goodput"));
    }
}
