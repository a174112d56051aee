//! `evenair cc`, on the running kernel where it can be had: as root, and where the user has not loaded the law already.

use crate::{evenair, json, stderr, stdout};
use std::path::Path;
use std::process::Command;

#[test]
fn what_the_kernel_cannot_have_is_one_line_that_names_it() {
    for (arguments, word) in [
        (vec!["load", "quic-tcp", "--set", "rho=0.3"], "rho = 0.3: in the kernel 0, 0.5 or 1"),
        (vec!["load", "quic-tcp", "--set", "p=0"], "p = 0 is not allowed: above 0"),
        (vec!["load", "vegas", "--set", "delta=1"], "evenair list laws window"),
        (vec!["load", "quic-tcp", "--set", "p=abc"], "p=abc: it takes a number; evenair list laws window"),
        (
            vec!["load", "fast", "--set", "alpha=3", "--set", "rounds=1.5"],
            "rounds=1.5: it takes a whole number",
        ),
        (vec!["load", "reno"], "it can have quic-tcp, fast, vegas"),
        (vec!["unload", "--move-to", "nothing"], "this kernel has"),
    ] {
        let output = evenair(&[&["cc"], &arguments[..]].concat());
        let told = stderr(&output);
        assert!(!output.status.success() && told.contains(word), "{arguments:?}: {told}");
        assert_eq!(told.trim().lines().count(), 1, "{told}");
    }
}

#[test]
fn an_ordinary_user_is_told_the_remedy() {
    let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let output = Command::new("setpriv")
        .args(nobody)
        .arg(env!("CARGO_BIN_EXE_evenair"))
        .args(["cc", "load", "fast"])
        .current_dir("/")
        .output();
    match output {
        Ok(output) if !stderr(&output).contains("setpriv") => {
            let told = stderr(&output);
            assert!(!output.status.success() && told.contains("sudo evenair cc"), "{told}");
            assert_eq!(told.trim().lines().count(), 1, "{told}");
        }
        _ => eprintln!("SKIPPED: no ordinary user can be had here (setpriv)"),
    }
}

/// Unloads what the test has loaded, however it ends.
struct Unloads;

impl Drop for Unloads {
    fn drop(&mut self) {
        evenair(&["cc", "unload", "quic-tcp"]);
    }
}

#[test]
fn a_law_is_loaded_set_seen_and_unloaded() {
    let loaded = evenair(&["cc", "load", "quic-tcp", "--set", "p=20", "--set", "kappa=0.5"]);
    if !loaded.status.success() {
        eprintln!("SKIPPED: {}", stderr(&loaded).trim());
        return;
    }
    let unloads = Unloads;
    assert_eq!(stdout(&loaded), "evenair_quic: p=20 kappa=0.5 rho=0.5; root may choose it\n");
    let again = stderr(&evenair(&["cc", "load", "quic-tcp"]));
    assert!(again.contains("evenair_quic is loaded already"), "{again}");
    assert!(evenair(&["cc", "load", "quic-tcp", "--replace", "--for-everybody"]).status.success());
    let listed = stdout(&evenair(&["cc", "list"]));
    assert!(listed.contains("evenair_quic") && listed.contains("everybody"), "{listed}");
    let set = evenair(&["cc", "set", "quic-tcp", "p=30", "rho=1", "kappa=20"]);
    assert_eq!(stdout(&set), "evenair_quic: p=30 kappa=20 rho=1\n", "{}", stderr(&set));
    let status = json(&evenair(&["cc", "status", "--json"]));
    let law = status["laws"].as_array().unwrap().iter().find(|law| law["law"] == "quic-tcp").unwrap();
    assert_eq!((law["parameters"]["p"].as_f64(), law["for_everybody"].as_bool()), (Some(30.0), Some(true)));
    let shown = stdout(&evenair(&["cc", "show", "quic-tcp"]));
    assert!(shown.contains("cong_avoid") && shown.contains("sha256"), "{shown}");
    // The emulator refuses other parameters than the scenario's.
    let refused =
        stderr(&evenair(&["emulate", "qcsma/wire", "--set", "duration=1 s", "--set", "warmup=0 s"]));
    assert!(
        refused.contains("evenair cc set quic-tcp p=20 kappa=0.5 rho=0.5") || refused.contains("namespace"),
        "{refused}"
    );
    let unloaded = stdout(&evenair(&["cc", "unload", "quic-tcp", "--wait"]));
    assert_eq!(unloaded, "evenair_quic: unloaded; no socket has it\n");
    assert!(!Path::new("/sys/fs/bpf/evenair/evenair_quic").exists());
    drop(unloads);
}
