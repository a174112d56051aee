use super::*;
use proptest::prelude::*;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "it is only read")]
struct File {
    name: String,
    #[serde(default)]
    item: Vec<Item>,
    law: Option<Law>,
    page: Option<std::net::SocketAddr>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "it is only read")]
struct Item {
    id: String,
    #[serde(default)]
    weight: f64,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "law", rename_all = "kebab-case")]
#[allow(dead_code, reason = "it is only read")]
enum Law {
    Fixed(Fixed),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "it is only read")]
struct Fixed {
    n: u32,
    #[serde(default)]
    start: f64,
}

#[test]
fn first_mistake_of_a_text_is_named() {
    let first = |text: &str| parse::<File>("f", text).unwrap_err().to_string();
    assert!(first("name = 'a'\nz = 1\nb = 2\n").starts_with("f:2:1: unknown field `z`"));
    assert!(first("name = 5\nb = 2\n").starts_with("f:1:8: name: invalid type"));
}

const TEXT: &str = "name = 'a'\n[[item]]\nid = 'x'\n[[item]]\nid = 'y'\n";

/// Lines, columns and keys are counted by hand in the texts.
#[test]
fn mistake_has_line_column_and_key() {
    for (more, expected) in [
        ("weight = 'x'", ":6:10: item[1].weight: invalid type: string \"x\", expected a number"),
        ("wieght = 1", ":6:1: unknown field `wieght`; did you mean weight?"),
        ("[[item]]\nweight = 1", ":6:1: item[2]: missing field `id`"),
        ("id = 'z'", ":6:1: \"id\" is there twice, first in line 5; leave one out"),
        ("weight = [1", ":6:12: unclosed array, expected `]`"),
        ("[law]\nlaw = 'fixed'\nn = 'x'", ":8:5: law.n: invalid type: string \"x\", expected a whole number"),
        ("[law]\nlaw = 'fixed'\nn = 1\nstrat = 1", ":9:1: unknown field `strat`; did you mean start?"),
        ("[law]\nlaw = 'fixd'\nn = 1", ":7:7: law.law: unknown variant `fixd`; did you mean fixed?"),
        ("[law]\nlaw = 'fixed'\n", ":6:1: law: missing field `n`"),
    ] {
        let mistake = parse::<File>("f.toml", &format!("{TEXT}{more}")).unwrap_err();
        assert_eq!(mistake.to_string(), format!("f.toml{expected}"), "{more}");
    }
    let mistake = parse::<File>("f.toml", "name = 'å'\npage = 'x'\n").unwrap_err().to_string();
    assert_eq!(mistake, "f.toml:2:8: page: \"x\" is no address with a port; write \"127.0.0.1:9180\"");
    let mistake = parse::<File>("f.toml", "").unwrap_err().to_string();
    assert_eq!(mistake, "f.toml:1:1: missing field `name`");
}

#[test]
fn columns_count_characters() {
    assert_eq!(line_and_column("å = 1\nb", 3), (1, 3));
    assert_eq!(line_and_column("å = 1\nb", 7), (2, 1));
    assert_eq!(line_and_column("ab", 99), (1, 3));
}

#[test]
fn missing_key_has_the_place_of_its_table() {
    let text = format!("{TEXT}[law]\nn = 1\n");
    assert_eq!(place_of(&text, &KeyPath::entry("item", 1, "weight")), Some((4, 1)));
    assert_eq!(place_of(&text, &KeyPath::key("law.n")), Some((7, 5)));
    assert_eq!(place_of(&text, &KeyPath::key("unknown.rate")), Some((1, 1)));
}

proptest! {
    #[test]
    fn damaged_text_is_refused_or_read(place in 0..60_usize, with: char) {
        let mut chars: Vec<char> = format!("{TEXT}[law]\nlaw = 'fixed'\nn = 1\n").chars().collect();
        let length = chars.len();
        chars[place % length] = with;
        let text: String = chars.into_iter().collect();
        if let Err(mistake) = parse::<File>("f", &text) {
            let lines = text.matches('\n').count() + 1;
            prop_assert!(mistake.line.is_none_or(|line| line <= lines), "{mistake}");
        }
    }
}
