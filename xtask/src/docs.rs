//! rustdoc and the site of docs/ with warnings as errors, broken links among them.
//!
//! A paper's tag stands in brackets, "[Chen10] eq. (5.2)", a unit behind its quantity, "goodput [packets]",
//! and rustdoc takes both for links. Escaped they would come with their backslashes into the JSON Schema,
//! which is made from the same comments. Cargo.toml therefore has the lint off; here it is on, and any other
//! name than a tag or a unit is an error.

use crate::citations::tags;
use crate::play;
use crate::python::{at_root, environment};
use crate::run::{cargo_command, root, succeed, target};
use crate::tally::Tally;
use crate::tests;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

/// Units of one word; rustdoc takes no composed one, as in "[packets/s]", for a link.
const UNITS: [&str; 8] = ["bytes", "m", "ms", "nats", "packets", "s", "segments", "slots"];

/// One version, so that a new warning of its does not break an old commit.
const BUILDER: &str = "zensical==0.0.73";

const LINKS: &str = "rustdoc::broken_intra_doc_links";

pub(crate) fn run() -> Result<Tally> {
    rustdoc()?;
    site()
}

/// Builds the command, and the site by it.
pub(crate) fn site() -> Result<Tally> {
    tests::build_command()?;
    site_of(&target().join("release/evenair"))
}

/// Builds the site into target/site; its reference pages and figures are a program's output (docs/pages.py).
pub(crate) fn site_of(program: &Path) -> Result<Tally> {
    let Some(python) = environment("docs", Path::new("python3"), &[BUILDER.into()])? else {
        return Ok(Tally::lacks_for_a_part("Python packages", format!("{BUILDER}: the site is not built")));
    };
    succeed(at_root(&python).args(["-B", "docs/pages.py", "target/pages"]).env("EVENAIR", program))?;
    let playground = play::build()?;
    copy(&target().join("play"), &root().join("target/pages/play"))?;
    succeed(at_root(&python).args(["-m", "zensical", "build", "--clean", "--strict"]).stdout(Stdio::null()))?;
    opens_from_disk(&root().join("target/site/index.html"))?;
    Ok(match playground {
        Some(_) => Tally::passed(),
        None => Tally::lacks_for_a_part("the browsers' target", "the site's playground has no simulator"),
    })
}

/// Copies the files of a folder into a new one.
fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let file = entry?.path();
        std::fs::copy(&file, to.join(file.file_name().context("a file has a name")?))?;
    }
    Ok(())
}

/// A page opened from the disk fetches nothing, and its search has a substitute for a worker.
fn opens_from_disk(page: &Path) -> Result<()> {
    let text = std::fs::read_to_string(page)?;
    ensure!(!text.contains("src=\"http"), "{}: something is fetched from elsewhere", page.display());
    for needed in ["iframe-worker.js", "search.js"] {
        ensure!(page.with_file_name(needed).exists(), "no {needed} beside {}", page.display());
    }
    ensure!(text.contains("iframe-worker.js"), "{}: search is dead from the disk", page.display());
    Ok(())
}

fn rustdoc() -> Result<()> {
    let tags = tags(&root())?;
    let mut child = cargo_command()
        .args(["doc", "--quiet", "--release", "--locked", "--workspace", "--all-features", "--no-deps"])
        .arg("--document-private-items")
        .arg("--message-format=json")
        .env("RUSTDOCFLAGS", format!("-W {LINKS}"))
        .stdout(Stdio::piped())
        .spawn()?;
    let messages = child.stdout.take().context("stdin or stdout is piped")?;
    let mut findings = 0;
    for line in BufReader::new(messages).lines() {
        let message: Value = serde_json::from_str(&line?).context("cargo's messages")?;
        let found = &message["message"];
        if message["reason"] == "compiler-message" && !is_reference(found, &tags) {
            println!("{}", found["rendered"].as_str().unwrap_or_default());
            findings += 1;
        }
    }
    if !child.wait()?.success() {
        bail!("cargo doc failed");
    }
    if findings == 0 { Ok(()) } else { bail!("{findings} findings") }
}

/// Whether the name that rustdoc could not resolve is a tag or a unit, or this a summary of such findings.
fn is_reference(message: &Value, tags: &[String]) -> bool {
    if message["code"].is_null() {
        return message["level"] == "warning"; // "12 warnings emitted"
    }
    let is_known = |link: &str| UNITS.contains(&link) || tags.iter().any(|tag| tag == link);
    let text = message["message"].as_str().unwrap_or_default();
    message["code"]["code"] == LINKS && text.split('`').nth(1).is_some_and(is_known)
}
