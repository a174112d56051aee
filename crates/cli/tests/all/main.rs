//! End to end: the command as its users call it. One binary, because each costs a link.

mod begin;
mod captures;
#[cfg(all(feature = "live", target_os = "linux"))]
mod cc;
mod claims;
mod command;
mod documents;
#[cfg(all(feature = "live", target_os = "linux"))]
mod emulate;
#[cfg(all(feature = "live", target_os = "linux"))]
mod gateway;
mod lists;
mod messages;
#[cfg(all(feature = "live", target_os = "linux"))]
mod mistakes;
#[cfg(all(feature = "live", target_os = "linux"))]
mod multiconn;
mod networks;
mod output;
mod play;
mod plots;
#[cfg(all(feature = "live", target_os = "linux"))]
mod robust;
#[cfg(all(feature = "live", target_os = "linux"))]
mod routers;
mod studies;
mod sweeps;
mod terminal;

use std::process::{Command, Output};

fn evenair(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evenair")).args(arguments).output().expect("the command runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn json(output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}
