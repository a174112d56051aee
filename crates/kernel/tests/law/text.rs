//! The C implementation of a law, as a program for this machine.

use evenair_kernel::law::{Law, encode};
use evenair_laws::tape::RecordOf;
use evenair_laws::window::{Delivery, Repair, WindowParams, WindowTold};
use evenair_units::{Duration, Instant};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

pub(super) struct Text {
    folder: TempDir,
}

impl Text {
    /// Compiles it; returns none without a C compiler.
    pub(super) fn compiled(law: Law) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let source = format!("{}/bpf/{}.c", env!("CARGO_MANIFEST_DIR"), law.name().replace('-', "_"));
        let compiler = Command::new("cc")
            .args(["-O2", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-o"])
            .arg(folder.path().join("law"))
            .arg(Path::new(&source))
            .output();
        match compiler {
            Ok(done) => assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr)),
            Err(error) => {
                evenair_needs::skip("cc", error);
                return None;
            }
        }
        Some(Self { folder })
    }

    /// Returns the answers to some lines.
    fn ask(&self, lines: &str) -> String {
        let mut program = Command::new(self.folder.path().join("law"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = program.stdin.take().unwrap();
        let answers = std::thread::scope(|scope| {
            scope.spawn(move || input.write_all(lines.as_bytes()).unwrap());
            program.wait_with_output().unwrap()
        });
        assert!(answers.status.success(), "the C text did not understand a line");
        String::from_utf8(answers.stdout).unwrap()
    }

    pub(super) fn places(&self) -> String {
        self.ask("S\n")
    }

    /// Returns its windows after each event of a tape.
    pub(super) fn windows(&self, params: &WindowParams, tape: &[RecordOf<WindowParams>]) -> Vec<f64> {
        let mut lines = parameters(params);
        let mut delivery = Delivery::default();
        let mut counts = vec![false];
        for record in tape {
            let line = line(&record.told, &mut delivery);
            counts.push(!line.is_empty());
            lines += &line;
        }
        let answers = self.ask(&lines);
        let mut answers = answers.lines().map(window);
        // An event that the C code gets only with the next one has no effect yet.
        let mut last = 0.0;
        let windows = counts.iter().zip(std::iter::once(None).chain(tape.iter().map(Some)));
        let windows = windows.filter_map(|(counts, record)| {
            if *counts || record.is_none() {
                last = answers.next().unwrap();
            }
            record.map(|_| last)
        });
        windows.collect()
    }

    /// Returns its windows after one step each from a window, with samples of two round trips before \[us\].
    pub(super) fn steps(&self, params: &WindowParams, steps: &[(u64, u64, u64)]) -> Vec<f64> {
        let mut lines = parameters(params);
        for (window, base, round_trip) in steps {
            let _ =
                write!(lines, "B {} 0\nA 0 {base} 0 0 1 0 0 0\nA 0 {round_trip} 0 0 1 0 0 1\n", window << 16);
        }
        self.ask(&lines).lines().skip(1).map(window).skip(2).step_by(3).collect()
    }
}

/// Returns the first number of an answer: a window, with its fraction.
fn window(answer: &str) -> f64 {
    let size: u64 = answer.split(' ').next().unwrap().parse().unwrap();
    size as f64 / 65_536.0
}

fn parameters(params: &WindowParams) -> String {
    let numbers = encode(params).unwrap();
    format!("P {}\n", numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" "))
}

/// Returns the C code's input for an event: a delivery comes with the acknowledgement that follows.
fn line(told: &WindowTold, delivered: &mut Delivery) -> String {
    let micros = |time: Option<Duration>| time.map_or(0, |time| time.as_nanos() / 1000);
    match told {
        WindowTold::Begin(start) => {
            format!("B {} {}\n", (start.initial_window * 65_536.0) as u64, start.initial_ssthresh as u32)
        }
        WindowTold::OnDelivery { delivery } => {
            *delivered = *delivery;
            String::new()
        }
        WindowTold::OnAck { acked } => {
            let Delivery { repair, after_idle, .. } = std::mem::take(delivered);
            let (repairs, idle) = (u8::from(repair != Repair::None), u8::from(after_idle));
            let now = acked.now.since(Instant::ZERO).as_nanos() / 1000;
            let flight = acked.flight.saturating_sub(acked.segments);
            let (sample, segments) = (micros(acked.sample), acked.segments);
            let (advances, grows) = (u8::from(acked.advances), u8::from(acked.grows()));
            format!("A {now} {sample} {segments} {flight} {advances} {repairs} {idle} {grows}\n")
        }
        WindowTold::OnLoss { loss } => format!("L {}\n", loss.flight as u64),
        WindowTold::OnTimeout { loss } => format!("T {} {}\n", loss.flight as u64, u8::from(loss.repeated)),
        other => panic!("the kernel knows no {other:?}"),
    }
}
