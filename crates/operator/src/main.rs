//! The command `evenair` for routers: only the gateway, so that it is small.
#![forbid(unsafe_code)]

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Exit status of invalid input, as in the complete evenair.
const BAD_INPUT: u8 = 2;

/// Fair rates for all subscribers behind a mesh's gateway; simulations and studies are in evenair's
/// other build.
#[derive(Debug, Parser)]
#[command(name = "evenair", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Limit all subscribers behind a mesh's gateway to fair shares, by this machine's own queues and
    /// [Jam10]'s laws
    #[cfg(target_os = "linux")]
    Gateway(evenair_operator::GatewayOptions),
}

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    {
        let Command::Gateway(options) = Arguments::parse().command;
        let program = evenair_operator::Program { version: env!("CARGO_PKG_VERSION"), columns };
        match evenair_operator::gateway(&options, &program) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(error) => anstream::eprintln!("evenair: {error:#}"),
        }
    }
    ExitCode::from(BAD_INPUT)
}

/// Formats rows, the first of which is the header, in columns: the first to the left, the others to the
/// right.
#[cfg(target_os = "linux")]
fn columns(rows: &[Vec<String>]) -> String {
    let length = |cell: &String| cell.chars().count();
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |i| rows.iter().filter_map(|row| row.get(i)).map(length).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    let cell = |(i, cell): (usize, &String)| {
        let pad = " ".repeat(widths[i] - length(cell));
        if i == 0 { format!("  {cell}{pad}") } else { format!("  {pad}{cell}") }
    };
    let line = |row: &Vec<String>| row.iter().enumerate().map(cell).collect::<String>();
    rows.iter().map(|row| line(row).trim_end().to_owned() + "\n").collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn columns_line_up() {
        let row = |cells: &[&str]| cells.iter().map(ToString::to_string).collect();
        let text = super::columns(&[row(&["a", "1"]), row(&["long", "1000"]), row(&["one"])]);
        assert_eq!(text, "  a        1\n  long  1000\n  one\n");
    }
}
