//! End to end: the first commands, and the citation.

use crate::{evenair, stderr, stdout};
use std::path::Path;
use std::process::Command;

/// A template's commands, as its comments have them; spaces set off their explanations.
fn commands(text: &str) -> Vec<&str> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("#   evenair "));
    lines.map(|line| line.split("    ").next().unwrap().trim()).collect()
}

/// Runs a command line in a folder, as a shell would; simulations are cut to a moment.
fn in_shell(folder: &Path, line: &str) -> std::process::Output {
    let simulates = ["run ", "sweep "].iter().any(|verb| line.starts_with(verb));
    let short = if simulates { " --set duration='2 s' --set warmup='1 s'" } else { "" };
    let script = format!("'{}' {line}{short}", env!("CARGO_BIN_EXE_evenair"));
    Command::new("sh").args(["-c", &script]).current_dir(folder).output().unwrap()
}

#[test]
fn templates_and_commands_in_comments_run() {
    let templates = [("cell", 5), ("chain", 4), ("hidden", 3), ("mesh", 4), ("gateway", 3), ("modern", 5)];
    for (template, least) in templates {
        let folder = tempfile::tempdir().unwrap();
        let written = in_shell(folder.path(), &format!("new 'my net.toml' --template {template}"));
        assert!(stdout(&written).contains("evenair run 'my net.toml'"), "{}", stderr(&written));
        let text = std::fs::read_to_string(folder.path().join("my net.toml")).unwrap();
        let commands = commands(&text);
        assert!(commands.len() >= least && !text.contains("FILE"), "{template}: {commands:?}");
        for line in commands {
            let output = in_shell(folder.path(), line);
            assert!(output.status.success(), "{template}: {line}: {}", stderr(&output));
            assert!(!stderr(&output).contains("warning"), "{template}: {line}: {}", stderr(&output));
        }
        // A user's file is not overwritten.
        let again = in_shell(folder.path(), "new 'my net.toml'");
        assert_eq!(again.status.code(), Some(2));
        assert!(stderr(&again).contains("my net.toml is in the way"), "{}", stderr(&again));
        assert!(in_shell(folder.path(), "new 'my net.toml' --force").status.success());
        assert_eq!(std::fs::read_to_string(folder.path().join("my net.toml.before")).unwrap(), text);
    }
    assert!(stderr(&evenair(&["new", "my.json"])).contains(".toml"));
}

/// In the template of hidden terminals they do collide, and RTS helps.
#[test]
fn hidden_terminals_are_hidden() {
    let folder = tempfile::tempdir().unwrap();
    in_shell(folder.path(), "new my.toml --template hidden");
    let goodput = |more: &str| {
        let run: serde_json::Value =
            serde_json::from_slice(&in_shell(folder.path(), &format!("run my.toml --json {more}")).stdout)
                .unwrap();
        let collided: f64 =
            run["links"].as_array().unwrap().iter().map(|l| l["collided"].as_f64().unwrap()).sum();
        let attempts: f64 =
            run["links"].as_array().unwrap().iter().map(|l| l["attempts"].as_f64().unwrap()).sum();
        collided / attempts
    };
    let (hidden, heard) = (goodput(""), goodput("--set radio.carrier_sense_range='550 m'"));
    assert!(hidden > 0.3 && heard < 0.1, "{hidden} {heard}");
}

#[test]
fn citation_has_paper_and_evenair() {
    let text = stdout(&evenair(&["cite", "chen10/fig-4-2", "chen10/a", "Lee12"]));
    assert_eq!(text.matches("@mastersthesis{Chen10,").count(), 1, "{text}");
    assert!(text.contains("@article{Lee12,") && text.contains("@software{evenair,"), "{text}");
    assert_eq!(text.matches('{').count(), text.matches('}').count());
    assert!(
        stdout(&evenair(&["cite", "demo"])).contains("Chen10"),
        "a study that says in its source whose it is"
    );
    assert!(!stdout(&evenair(&["cite"])).contains("thesis"));
    assert!(stderr(&evenair(&["cite", "chen10/fig-42"])).contains("did you mean chen10/fig-4-2"));
}
