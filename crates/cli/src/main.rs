//! The command `evenair`: parse, show progress, call down.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "this is where printing lives")]

mod arguments;
mod capture;
mod command;
mod gateway;
mod graph;
mod interrupt;
mod latex;
mod live;
mod meant;
mod output;
mod progress;
mod real_time;
mod record;
mod seeds;
mod terminal;
mod text;
mod verdict;

use arguments::{Arguments, Command};
use clap::FromArgMatches;
use clap_complete::CompleteEnv;
use command::{
    cite, compare, completions, demo, fluid, glossary, list, man, new, play, plot, run, schema, show, solve,
    study, sweep, verdicts,
};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

/// Exit codes: input that is not right; stopped by Ctrl-C (128 + SIGINT).
const BAD_INPUT: u8 = 2;
const STOPPED: u8 = 130;

fn main() -> ExitCode {
    evenair_results::program_is(Some(env!("EVENAIR_COMMIT")), None);
    // A shell that asks how to go on, by the variable COMPLETE, is answered and nothing else happens.
    CompleteEnv::with_factory(arguments::command).complete();
    // An explanation of a word is help, too: more than the options of the command that prints it.
    let asked: Vec<_> = std::env::args_os().skip(1).collect();
    let matches = if asked == ["help", "glossary"] {
        arguments::command().get_matches_from(["evenair", "glossary"])
    } else {
        arguments::command().try_get_matches().unwrap_or_else(|error| meant::with_meaning(error).exit())
    };
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    arguments.terminal.heed();
    let done = match &arguments.command {
        Command::Demo(options) => demo::demo(options),
        Command::New(options) => new::new(options),
        Command::Run(options) => run::run(options),
        #[cfg(all(feature = "live", target_os = "linux"))]
        Command::Emulate(options) => return command::emulate::emulate(options),
        #[cfg(all(feature = "live", target_os = "linux"))]
        Command::Doctor(options) => command::doctor::doctor(options),
        #[cfg(all(feature = "live", target_os = "linux"))]
        Command::Gateway(options) => {
            let program =
                evenair_operator::Program { version: env!("EVENAIR_VERSION"), columns: text::columns };
            evenair_operator::gateway(options, &program)
        }
        #[cfg(all(feature = "live", target_os = "linux"))]
        Command::Backoff(options) => return command::backoff::backoff(options),
        #[cfg(all(feature = "live", target_os = "linux"))]
        Command::Multiconn(options) => command::multiconn::multiconn(options),
        #[cfg(all(feature = "live", target_os = "linux"))]
        Command::Cc(options) => command::cc::cc(options),
        #[cfg(not(all(feature = "live", target_os = "linux")))]
        Command::Live { .. } => live::enter().map(|_| ()),
        Command::Solve(options) => solve::solve(options),
        Command::Fluid(options) => fluid::fluid(options),
        Command::Compare(options) => compare::compare(options),
        Command::Study(options) => study::study(options),
        Command::Verdicts(options) => verdicts::verdicts(options),
        Command::Sweep(options) => sweep::sweep(options),
        Command::Play(options) => play::play(options),
        Command::Plot(options) => plot::plot(options),
        Command::Show(options) => show::show(options),
        Command::List(options) => list::list(options),
        Command::Glossary(options) => glossary::glossary(options),
        Command::Cite(options) => cite::cite(options),
        Command::Schema(options) => schema::schema(options),
        Command::Completions(options) => completions::completions(options),
        Command::Man(options) => man::man(options),
    };
    let Err(error) = done else { return ExitCode::SUCCESS };
    if is_broken_pipe(&error) {
        return ExitCode::SUCCESS; // whoever read our output has read enough
    }
    terminal::error(format_args!("{error:#}"));
    ExitCode::from(if interrupt::STOP.load(Ordering::Relaxed) { STOPPED } else { BAD_INPUT })
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}
