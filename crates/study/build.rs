//! Puts the repository's scenarios, studies and records of full runs into the binary, so that `evenair study` and
//! `evenair verdicts` work anywhere.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    // Asked for now, not when this script was compiled: a copy of a build folder may come from another place.
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    let mut code = String::new();
    let libraries = [
        ("SCENARIOS", "scenarios", "toml"),
        ("STUDIES", "studies", "toml"),
        ("RECORDS", "validation/verdicts", "json"),
    ];
    for (name, folder, extension) in libraries {
        let folder = root.join(folder);
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        collect(&folder, extension, &mut files);
        files.sort();
        writeln!(code, "pub(crate) static {name}: &[(&str, &str)] = &[").expect("a string takes everything");
        for file in files {
            let id = file.strip_prefix(&folder).expect("found below it").with_extension("");
            let id = id.to_str().expect("names are ASCII").replace('\\', "/");
            writeln!(code, "    ({id:?}, include_str!({:?})),", file.display())
                .expect("a string takes everything");
        }
        code.push_str("];\n");
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it")).join("library.rs");
    std::fs::write(out, code).expect("the build folder can be written");
}

fn collect(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("the folder is part of the repository");
    for entry in entries {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            collect(&path, extension, files);
        } else if path.extension().is_some_and(|e| e == extension) {
            files.push(path);
        }
    }
}
