//! Users' programs at nodes.

use evenair_linux::NetworkNamespace;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The least time that background programs have to get ready for the one in the foreground: a server to
/// listen.
const READY: Duration = Duration::from_millis(300);
/// The most further time that they have, on a busy machine too.
const READY_MORE: Duration = Duration::from_secs(5);
/// A program is ready once it sleeps at this many successive observations, `LOOK` apart.
const LOOKS: u32 = 3;
const LOOK: Duration = Duration::from_millis(30);

/// A program and its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The node's number.
    pub node: u32,
    /// The program and its arguments, without a shell.
    pub words: Vec<String>,
}

/// Running programs: the last in the foreground, with the terminal; all others without input.
#[derive(Debug)]
pub(crate) struct Programs {
    behind: Vec<Child>,
    front: Option<Child>,
}

/// A program that could not be started. Its status is that of `env`: 127 if it was not found, else 126.
#[derive(Debug)]
pub struct NotStarted {
    /// The program.
    pub program: String,
    /// The kernel's error.
    pub error: io::Error,
}

impl NotStarted {
    /// Returns the status with which `env` ends.
    pub fn status(&self) -> u8 {
        if self.error.kind() == io::ErrorKind::NotFound { 127 } else { 126 }
    }
}

impl Programs {
    /// Starts all, each in its node's namespace.
    pub(crate) fn start(programs: &[Program], namespaces: &[NetworkNamespace]) -> Result<Self, NotStarted> {
        let mut started = Self { behind: Vec::new(), front: None };
        for (index, program) in programs.iter().enumerate() {
            let is_last = index + 1 == programs.len();
            if is_last && index > 0 {
                wait_until_ready(&started.behind);
            }
            let mut command = Command::new(&program.words[0]);
            command.args(&program.words[1..]);
            if !is_last {
                // Ctrl-C is for the one in the foreground.
                command.stdin(Stdio::null()).process_group(0);
            }
            let not_started = |error| NotStarted { program: program.words[0].clone(), error };
            let child = namespaces[program.node as usize].within(|| command.spawn());
            let child = child.and_then(|child| child).map_err(not_started)?;
            if is_last {
                started.front = Some(child);
            } else {
                started.behind.push(child);
            }
        }
        Ok(started)
    }

    /// Returns the status of the foreground's program as in a shell, once it has ended.
    pub(crate) fn ended(&mut self) -> Option<u8> {
        let status = self.front.as_mut()?.try_wait().ok()??;
        Some(shell_status(status))
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        for child in self.behind.iter_mut().chain(&mut self.front) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits until all programs wait for an event, as a server does for its clients.
#[expect(clippy::disallowed_methods, reason = "programs of the machine are waited for")]
fn wait_until_ready(programs: &[Child]) {
    std::thread::sleep(READY);
    let (begun, mut asleep) = (Instant::now(), 0);
    while asleep < LOOKS && begun.elapsed() < READY_MORE {
        std::thread::sleep(LOOK);
        asleep = if programs.iter().all(is_asleep) { asleep + 1 } else { 0 };
    }
}

/// Returns whether a program waits for an event, or has ended: it neither runs nor wants a processor
/// (`proc_pid_stat(5)`, third field).
fn is_asleep(program: &Child) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", program.id())).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    !matches!(state, Some('R' | 'D'))
}

fn shell_status(status: ExitStatus) -> u8 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_wait_are_asleep() {
        let mut waits = Command::new("sleep").arg("60").spawn().unwrap();
        let mut computes = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        wait_until_ready(std::slice::from_ref(&waits));
        assert!(is_asleep(&waits));
        assert!((0..3).any(|_| !is_asleep(&computes)));
        for child in [&mut waits, &mut computes] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
