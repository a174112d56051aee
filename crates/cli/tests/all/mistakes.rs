//! One mistake has one answer in all formats of files.

use crate::{evenair, stderr};
use std::fs;
use std::path::Path;

/// A format of files.
struct Format {
    /// The command that reads a file of this format.
    command: &'static [&'static str],
    /// A file with two entries of a list; its last line is within the second.
    text: &'static str,
    /// The list, and a key of its entries.
    list: &'static str,
    key: &'static str,
    /// The key with two letters exchanged.
    misspelt: &'static str,
    /// The words for the key's values.
    values: &'static str,
    /// The first key that each entry needs.
    needed: &'static str,
}

const KEY: &str = "ed25519:000000000000000000000000000000000000000000000000000000000000000";

const FORMATS: [Format; 4] = [
    Format {
        command: &["gateway", "check"],
        text: "mesh = \"a\"\nuplink = \"b\"\n[[subscriber]]\nid = \"x\"\n[[subscriber]]\nid = \"y\"\n",
        list: "subscriber",
        key: "weight",
        misspelt: "wieght",
        values: "a number",
        needed: "id",
    },
    Format {
        command: &["multiconn", "check"],
        text: "[[key]]\nkey = \"KEY0\"\nname = \"x\"\n[[key]]\nname = \"y\"\nkey = \"KEY1\"\n",
        list: "key",
        key: "streams",
        misspelt: "straems",
        values: "a whole number",
        needed: "name",
    },
    Format {
        command: &["show"],
        text: "nodes = [{ id = \"a\" }, { id = \"b\" }]\n[[flows]]\nid = \"l\"\nfrom = \"a\"\nto = \"b\"\n[[flows]]\nid = \"m\"\nfrom = \"a\"\nto = \"b\"\n",
        list: "flows",
        key: "weight",
        misspelt: "wieght",
        values: "a number",
        needed: "id",
    },
    Format {
        command: &["study"],
        text: "title = \"t\"\n[[figures]]\nkind = \"bars\"\ntitle = \"x\"\n[[figures]]\nkind = \"bars\"\ntitle = \"y\"\n",
        list: "figures",
        key: "total",
        misspelt: "totla",
        values: "true or false",
        needed: "kind",
    },
];

impl Format {
    /// Returns the answer to a file that ends with some bytes. A relay's keys are in a file beside its own.
    fn answer(&self, folder: &Path, more: &[u8]) -> String {
        let text = self.text.replace("KEY", KEY);
        let file = folder.join("a.toml");
        fs::write(&file, [text.as_bytes(), more].concat()).expect("it is written");
        let read = if self.command == ["multiconn", "check"] {
            fs::write(
                folder.join("relay.toml"),
                "[relay]\nkeys = [\"relay.key\"]\nauthorised = \"a.toml\"\n",
            )
            .expect("it is written");
            folder.join("relay.toml")
        } else {
            file.clone()
        };
        let output = evenair(&[self.command, &[read.to_str().expect("UTF-8")]].concat());
        assert!(!output.status.success(), "{:?}", self.command);
        let said = stderr(&output).replace(folder.to_str().expect("UTF-8"), "");
        let said = said.trim().trim_start_matches("evenair: ").trim_start_matches("error: ");
        said.trim_start_matches('/').lines().next().unwrap_or_default().into()
    }
}

/// The places are counted by hand: the added text begins on the line after the file's own.
#[test]
fn one_mistake_has_one_answer_in_all_formats() {
    let folder = tempfile::tempdir().expect("a folder");
    for format in FORMATS {
        let Format { text, list, key, misspelt, values, needed, .. } = format;
        let (line, value) = (text.lines().count() + 1, key.len() + 4);
        let cases: [(&str, String); 5] = [
            (
                &format!("{key} = \"x\"\n"),
                format!(":{line}:{value}: {list}[1].{key}: invalid type: string \"x\", expected {values}"),
            ),
            (
                &format!("{misspelt} = 1\n"),
                format!(":{line}:1: unknown field `{misspelt}`; did you mean {key}?"),
            ),
            (
                &format!("{key} = 1\n{key} = 2\n"),
                format!(":{}:1: \"{key}\" is there twice, first in line {line}; leave one out", line + 1),
            ),
            (&format!("{key} = [1\n"), format!(":{line}:{}: unclosed array, expected `]`", value + 2)),
            (&format!("[[{list}]]\n"), format!(":{line}:1: {list}[2]: missing field `{needed}`")),
        ];
        for (more, expected) in cases {
            assert_eq!(format.answer(folder.path(), more.as_bytes()), format!("a.toml{expected}"), "{more}");
        }
        assert_eq!(
            format.answer(folder.path(), b"\xff"),
            format!("a.toml:{line}:1: the byte ff is not UTF-8; save the file as UTF-8")
        );
    }
}
