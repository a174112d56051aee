//! The command line's arguments.

use crate::command::completions;
#[cfg(all(feature = "live", target_os = "linux"))]
use crate::command::{
    backoff::BackoffOptions, cc::CcOptions, doctor::DoctorOptions, emulate::EmulateOptions,
    multiconn::MulticonnOptions,
};
use crate::command::{
    cite::CiteOptions, compare::CompareOptions, completions::CompletionsOptions, demo::DemoOptions,
    fluid::FluidOptions, glossary::GlossaryOptions, list::ListOptions, man::ManOptions, new::NewOptions,
    play::PlayOptions, plot::PlotOptions, run::RunOptions, schema::SchemaOptions, show::ShowOptions,
    solve::SolveOptions, study::StudyOptions, sweep::SweepOptions, verdicts::VerdictsOptions,
};
use crate::output::shell_word;
use crate::terminal::{self, TerminalArguments};
use anyhow::{Context, Result};
use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::engine::ArgValueCompleter;
use evenair_scenario::Resolved;
use std::path::Path;
use std::time::Duration;

/// Simulate and analyse TCP over CSMA (802.11), from the optimum to the packet.
///
/// Start with `evenair demo`: within a minute it shows how TCP starves over 802.11, why, and a remedy. `evenair glossary`
/// explains words that are new to you.
#[derive(Debug, Parser)]
#[command(name = "evenair", version = env!("EVENAIR_VERSION"), propagate_version = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) terminal: TerminalArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The central study: TCP starves over 802.11, and adaptive CSMA with multi-connection TCP cures it
    Demo(DemoOptions),
    /// Write a scenario to begin with, explained line by line
    New(NewOptions),
    /// Simulate a scenario, packet by packet
    Run(RunOptions),
    /// Open the playground: build networks and watch their air in the browser
    Play(PlayOptions),
    /// Let this machine's own TCP, and programs, run over a scenario's air, in real time
    #[cfg(all(feature = "live", target_os = "linux"))]
    Emulate(EmulateOptions),
    /// Check whether this machine has the programs and rights that the live commands need
    #[cfg(all(feature = "live", target_os = "linux"))]
    Doctor(DoctorOptions),
    /// Hold everyone behind a mesh's gateway to a fair share: this machine's own queues, set by [Jam10]'s laws
    #[cfg(all(feature = "live", target_os = "linux"))]
    Gateway(evenair_operator::GatewayOptions),
    #[cfg(all(feature = "live", target_os = "linux"))]
    Backoff(BackoffOptions),
    /// Carry streams over several TCP connections to a relay of one's own, as many as a law says
    #[cfg(all(feature = "live", target_os = "linux"))]
    Multiconn(MulticonnOptions),
    /// Bring a window law into this machine's kernel, for any program's sockets: QUIC-TCP, FAST, Vegas
    #[cfg(all(feature = "live", target_os = "linux"))]
    Cc(CcOptions),
    /// Live commands, which this build lacks
    #[cfg(not(all(feature = "live", target_os = "linux")))]
    #[command(hide = true, name = "emulate", aliases = ["backoff", "cc", "doctor", "gateway", "multiconn"])]
    Live {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Solve for the best allocation of a scenario
    Solve(SolveOptions),
    /// Follow a scenario's laws as differential equations, to where they rest
    Fluid(FluidOptions),
    /// Compare one scenario's best rates with its rates by theory and over 802.11, and name the gaps
    Compare(CompareOptions),
    /// Reproduce a figure or table of a paper, claim by claim, or run a study of your own
    Study(StudyOptions),
    /// List the claims of the papers that hold here, and why the others fail
    Verdicts(VerdictsOptions),
    /// Vary keys of a scenario: a table, a figure, and files for pandas
    Sweep(SweepOptions),
    /// Draw the figures of a result as SVG, PNG or PDF, without a browser
    Plot(PlotOptions),
    /// Show a scenario: map, ranges, conflict graph, capacity
    Show(ShowOptions),
    /// List laws with their parameters and uses, studies, or scenarios
    List(ListOptions),
    /// Explain words of tables, of the field and of the papers
    Glossary(GlossaryOptions),
    /// Print citations as BibTeX: the papers of a study, and evenair
    Cite(CiteOptions),
    /// Print the JSON Schema of scenarios, studies or results, for editors and programs
    Schema(SchemaOptions),
    /// Print the script that teaches a shell to complete commands, options, and ids of scenarios and studies
    Completions(CompletionsOptions),
    /// Print the manual page, or write those of all commands
    Man(ManOptions),
}

/// The command line. A negative number that an option does not take is said to be wrong as a number, not taken for an option.
pub(crate) fn command() -> clap::Command {
    fn numbers(command: clap::Command) -> clap::Command {
        command
            .mut_args(|arg| {
                let takes = arg.get_action().takes_values()
                    && !arg.is_positional()
                    && !arg.is_allow_hyphen_values_set();
                if takes { arg.allow_negative_numbers(true) } else { arg }
            })
            .mut_subcommands(numbers)
    }
    numbers(Arguments::command())
}

/// A scenario and changes of its keys.
#[derive(Debug, Args)]
pub(crate) struct ScenarioArguments {
    /// A scenario file, the id of a built-in one such as chen10/a, or - for standard input
    #[arg(value_name = "SCENARIO", add = ArgValueCompleter::new(completions::scenarios))]
    pub(crate) name: String,
    #[arg(
        long,
        value_name = "KEY=VALUE",
        help = "Override a key, e.g. --set mac.data_rate='2 Mbps' --set nodes.s1.at='[0, 50]'"
    )]
    pub(crate) set: Vec<String>,
}

impl ScenarioArguments {
    /// Its name in results.
    pub(crate) fn called(&self) -> &str {
        if self.name == "-" { STDIN } else { &self.name }
    }

    /// The command that takes it with these changes, to be copied.
    pub(crate) fn command(&self, verb: &str) -> String {
        let set = self.set.iter().map(|change| format!(" --set {}", shell_word(change)));
        format!("evenair {verb} {}{}", shell_word(&self.name), set.collect::<String>())
    }

    /// Reads it from a file, from standard input, or from those that are built in.
    pub(crate) fn resolve(&self) -> Result<Resolved> {
        if self.name == "-" {
            return Ok(Resolved::parse(STDIN, &standard_input()?, &self.set)?);
        }
        Ok(evenair_study::scenario(&self.name, Some(Path::new("")), &self.set)?)
    }

    /// The same of a network that stands still, as theory has it: where nodes move, that of the beginning, and says so.
    pub(crate) fn resolve_still(&self) -> Result<Resolved> {
        let scenario = self.resolve()?;
        if !scenario.moves() {
            return Ok(scenario);
        }
        terminal::warn("nodes move, and theory has one instant: this answer is for the beginning");
        Ok(scenario.at(evenair_units::Instant::ZERO)?)
    }

    /// The same, also of a network without flows: to be looked at.
    pub(crate) fn resolve_network(&self) -> Result<Resolved> {
        if self.name == "-" {
            return Ok(Resolved::parse_network(STDIN, &standard_input()?, &self.set)?);
        }
        Ok(evenair_study::network(&self.name, Some(Path::new("")), &self.set)?)
    }
}

fn standard_input() -> Result<String> {
    std::io::read_to_string(std::io::stdin()).context(STDIN)
}

/// The name of standard input.
const STDIN: &str = "<stdin>";

/// Reads a time such as "90 s" of this machine's clock.
pub(crate) fn time_limit(text: &str) -> std::result::Result<Duration, String> {
    let time: evenair_units::Duration = text.parse().map_err(|_| "give a time such as '90 s'")?;
    if time.is_zero() { Err("give a time above 0".into()) } else { Ok(Duration::from_nanos(time.as_nanos())) }
}

/// Reads "2%" or "0.02".
pub(crate) fn share(text: &str) -> std::result::Result<f64, String> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|x| x / 100.0),
        None => text.parse::<f64>(),
    };
    match value {
        Ok(x) if x > 0.0 && x < 1.0 => Ok(x),
        _ => Err("give a share such as 2% or 0.02".into()),
    }
}
