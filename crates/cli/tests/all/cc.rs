//! `evenair cc`, on the running kernel where it can be had: as root, and where the user has not loaded the law already.

use crate::{evenair, json, stderr, stdout};
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

#[test]
fn unsupported_law_gives_one_line() {
    for (arguments, word) in [
        (vec!["load", "quic-tcp", "--set", "rho=0.3"], "rho = 0.3: in the kernel 0, 0.5 or 1"),
        (vec!["load", "quic-tcp", "--set", "p=0"], "p = 0 is not allowed: above 0"),
        (vec!["load", "vegas", "--set", "delta=1"], "evenair list laws window"),
        (
            vec!["load", "quic-tcp", "--set", "p=abc"],
            "p=abc: invalid type: string \"abc\", expected a number; evenair list laws window",
        ),
        (
            vec!["load", "fast", "--set", "alpha=3", "--set", "rounds=1.5"],
            "rounds=1.5: invalid type: number `1.5`, expected a whole number",
        ),
        (vec!["load", "reno"], "there are quic-tcp, fast, vegas"),
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
        _ => evenair_needs::skip("root", "setpriv gives no ordinary user"),
    }
}

/// Unloads the test's laws, however it ends.
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
        return evenair_needs::skip("eBPF congestion control", stderr(&loaded));
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
    for parameter in ["p=abc", "kappa=none"] {
        let refused = stderr(&evenair(&["cc", "set", "quic-tcp", "rho=0.5", parameter]));
        let says = refused.contains(&format!("{parameter}: invalid type: "))
            && refused.contains("expected a number");
        assert!(says, "{refused}");
    }
    let listed = stdout(&evenair(&["cc", "list"]));
    assert!(listed.contains("p=30 kappa=20 rho=1"), "nothing is set by halves: {listed}");
    // Sockets are not moved to a law that is unloaded too, and then none is unloaded.
    let refused = evenair(&["cc", "unload", "quic-tcp", "--move-to", "evenair_quic"]);
    assert!(!refused.status.success() && stderr(&refused).contains("it is unloaded itself"), "{refused:?}");
    assert!(Path::new("/sys/fs/bpf/evenair/evenair_quic/link").exists());
    // A socket keeps it for a second: the waiting says so, and ends.
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    evenair_linux::tcp::set_congestion_control(&socket, "evenair_quic").unwrap();
    let closes = thread::spawn(move || {
        thread::sleep(Duration::from_secs(1));
        drop(socket);
    });
    let unloaded = evenair(&["cc", "unload", "quic-tcp", "--wait"]);
    closes.join().unwrap();
    assert_eq!(stdout(&unloaded), "evenair_quic: unloaded; no socket has it\n");
    let told = stderr(&unloaded);
    assert!(
        told.starts_with("evenair_quic: unloaded; 1 socket keeps it, waiting until they close"),
        "{told}"
    );
    assert_eq!(told.lines().count(), 1, "a pipe is told once: {told}");
    assert!(!Path::new("/sys/fs/bpf/evenair/evenair_quic").exists());
    drop(unloads);
}

/// Ends the process that holds a law.
struct Holds(Child);

impl Drop for Holds {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_law_that_a_process_holds_is_called_so() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_evenair"))
        .args(["cc", "load", "vegas", "--foreground"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let Some(first) = lines.next() else {
        return evenair_needs::skip("eBPF congestion control", stderr(&child.wait_with_output().unwrap()));
    };
    let holds = Holds(child);
    assert!(first.unwrap().starts_with("evenair_vegas: alpha=2 beta=4"));
    assert_eq!(lines.next().unwrap().unwrap(), "until Ctrl-C");
    let listed = stdout(&evenair(&["cc", "list"]));
    let row = listed.lines().find(|line| line.contains("evenair_vegas")).unwrap();
    assert!(row.contains("by a process"), "{listed}");
    for arguments in [
        &["cc", "load", "vegas"][..],
        &["cc", "load", "vegas", "--replace"],
        &["cc", "load", "vegas", "--foreground"],
        &["cc", "set", "vegas", "alpha=3"],
        &["cc", "unload", "vegas"],
    ] {
        let output = evenair(arguments);
        let told = stderr(&output);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(told.contains("evenair_vegas is held by another process"), "{arguments:?}: {told}");
        assert!(!told.contains("--replace") && told.trim().lines().count() == 1, "{told}");
    }
    let shown = stdout(&evenair(&["cc", "show", "vegas"]));
    assert!(shown.contains("held by another process"), "{shown}");
    drop(holds);
    // The kernel lets go of it a little later.
    let gone = (0..50).any(|_| {
        thread::sleep(Duration::from_millis(100));
        let listed = stdout(&evenair(&["cc", "list"]));
        let row = listed.lines().find(|line| line.contains("evenair_vegas")).unwrap();
        !row.contains("process") && row.contains("no")
    });
    assert!(gone, "it is there after five seconds");
}
