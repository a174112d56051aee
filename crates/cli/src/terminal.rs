//! The user's terminal, and messages beside results.

use anstyle::{AnsiColor, Style};
use clap::{Args, ValueEnum};
use evenair_units::printable;
use std::fmt::Display;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const OPEN: Style = AnsiColor::Yellow.on_default();

/// Where it is not known how wide a line may be.
const WIDTH: usize = 100;

/// The options of every command.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct TerminalArguments {
    /// Print results and errors only: no progress, no warnings
    #[arg(long, short, global = true, help_heading = "Terminal")]
    pub(crate) quiet: bool,
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t = Colour::Auto,
        help_heading = "Terminal",
        help = "Colours; auto: on a terminal, unless NO_COLOR or CLICOLOR_FORCE decides"
    )]
    pub(crate) color: Colour,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Colour {
    Auto,
    Always,
    Never,
}

static QUIET: AtomicBool = AtomicBool::new(false);

impl TerminalArguments {
    /// Holds for the whole process: there is one terminal.
    pub(crate) fn heed(self) {
        QUIET.store(self.quiet, Ordering::Relaxed);
        match self.color {
            Colour::Auto => anstream::ColorChoice::Auto,
            Colour::Always => anstream::ColorChoice::Always,
            Colour::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

/// Whether nothing but results and errors is wanted.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints to standard error, apart from the output that programs read.
pub(crate) fn warn(what: impl Display) {
    if !is_quiet() {
        let _ = writeln!(anstream::stderr().lock(), "{OPEN}warning:{OPEN:#} {}", harmless(what));
    }
}

/// Announces the next step, on a terminal only.
pub(crate) fn note(what: impl Display) {
    if !is_quiet() {
        let _ = writeln!(anstream::stderr().lock(), "{}", harmless(what));
    }
}

/// An error, the last thing that is said.
pub(crate) fn error(what: impl Display) {
    let _ = writeln!(anstream::stderr().lock(), "{BAD}evenair:{BAD:#} {}", harmless(what));
}

/// Text line by line without a terminal's control codes: it may quote files and peers.
fn harmless(what: impl Display) -> String {
    let lines: Vec<String> = what.to_string().lines().map(|line| printable(line, usize::MAX)).collect();
    lines.join("\n")
}

/// Characters of a line of output.
pub(crate) fn width() -> usize {
    let terminal = terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal.or_else(told).filter(|width| *width > 0).unwrap_or(WIDTH)
}
