//! Collects the source of each law from the section `# Source` of its file's header. Lists of laws print this
//! text.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    let source = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("src");
    println!("cargo::rerun-if-changed={}", source.display());
    let mut files = Vec::new();
    collect(&source, &mut files);
    files.sort();
    let mut code = String::from("&[\n");
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source is text");
        if let Some(written) = section(&text) {
            let module = file.strip_prefix(&source).expect("found below it").with_extension("");
            let module = module.to_str().expect("names are ASCII").replace(['/', '\\'], "::");
            writeln!(code, "    ({module:?}, {written:?}),").expect("a string takes everything");
        }
    }
    code.push_str("]\n");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it")).join("sources.rs");
    std::fs::write(out, code).expect("the build folder can be written");
}

/// The text under `# Source` in a file's header, in one line.
fn section(text: &str) -> Option<String> {
    let header = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let lines: Vec<&str> =
        header.skip_while(|line| *line != "# Source").skip(1).take_while(|line| !line.is_empty()).collect();
    (!lines.is_empty()).then(|| lines.join(" "))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder is part of the crate") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}
