//! The objects of this crate must equal clang's output for `bpf/`. With the same version of clang they are
//! rebuilt and compared; with another, or none, the test is skipped. `EVENAIR_BLESS=1` rewrites them.
#![cfg(target_os = "linux")]

use evenair_needs::skip;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const OBJECTS: [&str; 4] = ["quic_tcp", "fast", "vegas", "sockets"];

fn at(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns the compiler's version line.
fn compiler() -> Option<String> {
    let output = Command::new("clang").arg("--version").output().ok()?;
    String::from_utf8(output.stdout).ok()?.lines().next().map(String::from)
}

fn made(name: &str, folder: &Path) -> Vec<u8> {
    let object = folder.join(format!("{name}.o"));
    // Neither the folder of this tree nor debug lines are part of it, only types (BTF), which need -g.
    let compiled = Command::new("clang")
        .current_dir(at("bpf"))
        .args([
            "-g",
            "-O2",
            "-target",
            "bpfel",
            "-mcpu=v3",
            "-Wall",
            "-Wextra",
            "-Wno-unused-parameter",
            "-Werror",
        ])
        .arg(format!("-fdebug-prefix-map={}=.", at("bpf").display()))
        .args(["-c", &format!("{name}.c"), "-o"])
        .arg(&object)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{name}: {}", String::from_utf8_lossy(&compiled.stderr));
    let stripped = Command::new("llvm-strip").arg("-g").arg(&object).status().expect("llvm-strip");
    assert!(stripped.success(), "{name}");
    fs::read(object).unwrap()
}

#[test]
fn objects_match_clang_output() {
    let recorded = fs::read_to_string(at("objects/COMPILER")).unwrap();
    let blesses = std::env::var_os("EVENAIR_BLESS").is_some();
    let Some(own) = compiler() else {
        return skip("clang", format!("not installed; the objects are by {}", recorded.trim()));
    };
    if own != recorded.trim() && !blesses {
        return skip("clang", format!("this is {own}; the objects are by {}", recorded.trim()));
    }
    let folder = tempfile::tempdir().unwrap();
    for name in OBJECTS {
        let made = made(name, folder.path());
        let place = at(&format!("objects/{name}.o"));
        if blesses {
            fs::write(place, made).unwrap();
        } else {
            assert!(
                made == fs::read(place).unwrap(),
                "{name}.o is not of this source: EVENAIR_BLESS=1 cargo test -p evenair-kernel objects"
            );
        }
    }
    if blesses {
        fs::write(at("objects/COMPILER"), format!("{own}\n")).unwrap();
    }
}

#[test]
fn the_objects_name_no_place_of_a_machine() {
    for name in OBJECTS {
        let object = fs::read(at(&format!("objects/{name}.o"))).unwrap();
        let home = env!("CARGO_MANIFEST_DIR").as_bytes();
        assert!(!object.windows(home.len()).any(|part| part == home), "{name}.o");
    }
}
