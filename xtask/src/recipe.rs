//! CONTRIBUTING's recipe for a law, done as it is written on a copy of the tree.

use crate::run::{cargo_command, root, succeed, target};
use crate::tally::Tally;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;

/// The recipe's places for the law and its family.
const FILE: &str = "crates/laws/src/backoff/patient.rs";
const FAMILY: &str = "crates/laws/src/backoff/mod.rs";

/// Follows the recipe: the law's file, its two lines, its tests, and a run of a scenario that names it.
pub(crate) fn run() -> Result<Tally> {
    let root = root();
    let blocks = blocks(&fs::read_to_string(root.join("CONTRIBUTING.md"))?);
    let [module, line] = &blocks[..] else {
        bail!("the recipe has {} blocks of Rust, not 2", blocks.len());
    };
    let copy = tempfile::tempdir()?;
    let copy = copy.path();
    for name in ["Cargo.toml", "Cargo.lock", "clippy.toml"] {
        fs::copy(root.join(name), copy.join(name)).with_context(|| name.to_string())?;
    }
    for name in ["benches", "crates", "docs/recipes", "xtask", "scenarios", "studies"] {
        copy_folder(&root.join(name), &copy.join(name))?;
    }
    fs::copy(root.join("docs/recipes/patient.rs"), copy.join(FILE))?;
    let family = fs::read_to_string(copy.join(FAMILY))?;
    fs::write(copy.join(FAMILY), with_lines(&family, module, line)?)?;

    // The copy's own crates are compiled again; their dependencies are there already.
    let cargo = |arguments: &[&str]| -> Result<()> {
        succeed(cargo_command().args(arguments).current_dir(copy).env("CARGO_TARGET_DIR", target()))
    };
    cargo(&["test", "--quiet", "--release", "--package", "evenair-laws", "patient"])?;
    let scenario =
        ["cell", "--set", "backoff.law=patient", "--set", "backoff.airtimes=4.0", "--set", "duration=2 s"];
    cargo(
        &[&["run", "--quiet", "--release", "--package", "evenair-cli", "--", "run"][..], &scenario].concat(),
    )?;
    Ok(Tally::passed())
}

/// The Rust blocks of the recipe for a back-off law.
fn blocks(text: &str) -> Vec<String> {
    let recipe = text.split("\n## ").find(|section| section.starts_with("Add a back-off law")).unwrap_or("");
    let blocks = recipe.split("```rust\n").skip(1);
    blocks.filter_map(|block| Some(block.split("   ```").next()?.to_string())).collect()
}

/// The family's file with the module after the last one, and the law after the last of its `laws`.
fn with_lines(family: &str, module: &str, line: &str) -> Result<String> {
    let last = family.rfind("\npub mod ").context("the family has no modules")? + 1;
    let (head, rest) = family.split_at(last);
    let (start, laws) = rest.split_once("    laws {\n").context("the family lists no laws")?;
    let (listed, tail) = laws.split_once("\n    }\n").context("the list of laws has no end")?;
    Ok(format!("{head}{module}{start}    laws {{\n{listed}\n{line}    }}\n{tail}"))
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy_folder(&from, &to)?;
        } else {
            fs::copy(&from, &to)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_where_the_recipe_says() {
        let family = "pub mod a;\npub mod b;\n\nfamily! {\n    laws {\n        A(P => A),\n    }\n}\n";
        let with = with_lines(family, "pub mod c;\n", "        C(Q => C),\n").unwrap();
        assert!(
            with.contains("pub mod c;\npub mod b;")
                && with.contains("A(P => A),\n        C(Q => C),\n    }\n}")
        );
    }
}
