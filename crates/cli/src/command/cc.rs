//! `evenair cc`.

mod status;

use crate::text::columns;
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use evenair_kernel::law::{self, Law};
use evenair_kernel::pins::{self, Leaving, Pinned};
use evenair_kernel::sockets::Look;
use evenair_kernel::{Trouble, Wanted, load};
use evenair_linux::confinement;
use evenair_results::digits::counted;
use evenair_service::law::unknown;
use std::io::IsTerminal as _;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(
    after_help = "A law that is loaded is one of the kernel's congestion controls: curl, iperf3 -C evenair_quic, a route (ip route … congctl evenair_quic), a program's TCP_CONGESTION, and \
    evenair emulate with tcp.window = \"quic-tcp\" use it. The machine's default is never changed. Everything is gone after unload, or the next boot.\n\n\
    To begin with:\n  \
    sudo evenair cc load quic-tcp --set p=20 --set kappa=0.5\n  \
    sudo evenair cc status --watch\n  \
    sudo evenair cc unload"
)]
pub(crate) struct CcOptions {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Load a law, and leave it in the kernel
    #[command(
        after_help = "It takes root (CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON), Linux 6.4 or later, and a kernel that describes its types (BTF). The law is pinned below /sys/fs/bpf/evenair.\n\n\
    Examples:\n  \
    evenair cc load quic-tcp --set rho=0.5 --set p=20 --set kappa=0.5\n  \
    evenair cc load vegas --for-everybody\n  \
    evenair cc load fast --foreground    # until Ctrl-C, without a pin"
    )]
    Load(LoadArguments),
    /// List the laws: which are loaded, with their parameters and numbers of sockets
    #[command(after_help = "Example:\n  evenair cc list")]
    List,
    /// Show a law's object, and the verifier's log of it
    #[command(after_help = "Example:\n  evenair cc show quic-tcp --log | less")]
    Show(ShowArguments),
    /// Change a loaded law's parameters, also for sockets that already have it
    #[command(after_help = "Example:\n  evenair cc set quic-tcp p=10 kappa=0.3")]
    Set(SetArguments),
    /// Show the sockets of this network namespace that have a law, and the law's state at each
    #[command(
        after_help = "Examples:\n  evenair cc status --watch\n  evenair cc status --json\n  ip netns exec NAME evenair cc status"
    )]
    Status(StatusArguments),
    /// Take laws out of the kernel
    #[command(
        after_help = "New sockets cannot choose it from then on; those that have it keep it until they close.\n\n\
    Examples:\n  \
    evenair cc unload\n  \
    evenair cc unload quic-tcp --move-to cubic    # sockets of this network namespace\n  \
    evenair cc unload quic-tcp --wait             # until the last socket has closed"
    )]
    Unload(UnloadArguments),
}

#[derive(Debug, Args)]
struct LoadArguments {
    /// The law: quic-tcp, fast, or vegas
    #[arg(value_name = "LAW")]
    law: String,
    /// A parameter, such as p=20; evenair list laws window names them
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Let users without privileges choose it, also in their own namespaces
    #[arg(long)]
    for_everybody: bool,
    /// Replace a loaded law of this name; sockets keep their state
    #[arg(long, conflicts_with = "foreground")]
    replace: bool,
    /// Hold the law until Ctrl-C, and leave no files
    #[arg(long)]
    foreground: bool,
}

#[derive(Debug, Args)]
struct ShowArguments {
    /// The law
    #[arg(value_name = "LAW")]
    law: String,
    /// Print the verifier's whole log, too
    #[arg(long)]
    log: bool,
}

#[derive(Debug, Args)]
struct SetArguments {
    /// The law
    #[arg(value_name = "LAW")]
    law: String,
    /// Its parameters
    #[arg(value_name = "NAME=VALUE", required = true)]
    parameters: Vec<String>,
}

#[derive(Debug, Args)]
struct StatusArguments {
    /// Show it again each second, until Ctrl-C
    #[arg(long, conflicts_with = "json")]
    watch: bool,
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct UnloadArguments {
    /// The laws; all that are loaded, if none is named
    #[arg(value_name = "LAW")]
    laws: Vec<String>,
    /// Wait until no socket has it any more
    #[arg(long)]
    wait: bool,
    /// Give sockets of this network namespace that have it another congestion control
    #[arg(long, value_name = "NAME")]
    move_to: Option<String>,
}

pub(crate) fn cc(options: &CcOptions) -> Result<()> {
    match &options.verb {
        Verb::Load(arguments) => bring(arguments),
        Verb::List => list(),
        Verb::Show(arguments) => show(arguments),
        Verb::Set(arguments) => set(arguments),
        Verb::Status(StatusArguments { watch, json }) => status::status(*watch, *json),
        Verb::Unload(arguments) => unload(arguments),
    }
}

fn named(name: &str) -> Result<Law> {
    Law::named(name).with_context(|| format!("in the kernel, {}", unknown(name, &Law::ALL.map(Law::name))))
}

fn bring(arguments: &LoadArguments) -> Result<()> {
    let params = law::with(&named(&arguments.law)?.defaults(), &arguments.set)?;
    let wanted = Wanted { params, for_everybody: arguments.for_everybody, mark: String::new() };
    let (loaded, link) = if arguments.foreground {
        let loaded = load(&wanted, None)?;
        let link = pins::attach(&loaded)?;
        (loaded, Some(link))
    } else {
        (pins::install(&wanted, arguments.replace)?, None)
    };
    confinement::give_up_capabilities()?;
    let who = if wanted.for_everybody { "all users may choose it" } else { "root may choose it" };
    let (control, words) = (loaded.law.control(), law::words(&wanted.params));
    anstream::println!("{control}: {words}; {who}");
    match link {
        Some(link) => {
            anstream::println!("until Ctrl-C");
            drop(loaded);
            Ok(pins::hold(link)?)
        }
        None => Ok(()),
    }
}

fn list() -> Result<()> {
    let mut rows =
        vec![["law", "in the kernel", "loaded", "for", "sockets", "parameters"].map(String::from).to_vec()];
    for law in Law::ALL {
        rows.push(match Pinned::open(law) {
            Ok(pinned) => vec![
                law.name().into(),
                law.control().into(),
                "yes".into(),
                if pinned.is_for_everybody() { "everybody" } else { "root" }.into(),
                pinned.sockets()?.to_string(),
                law::words(&pinned.params()?),
            ],
            Err(Trouble::NotLoaded(_)) => {
                let words = law::words(&law.defaults());
                vec![law.name().into(), law.control().into(), "no".into(), "-".into(), "-".into(), words]
            }
            Err(Trouble::Held(_)) => {
                let row = [law.name(), law.control(), "by a process", "-", "-", "that process has them"];
                row.map(String::from).to_vec()
            }
            // Its pins are root's to look at; its name is in everybody's list.
            Err(Trouble::Unprivileged) => {
                let loaded = if pins::is_in_force(law)? { "yes" } else { "no" };
                let unseen = ["-", "-", "root sees them"].map(String::from);
                [vec![law.name().into(), law.control().into(), loaded.into()], unseen.to_vec()].concat()
            }
            Err(trouble) => return Err(trouble.into()),
        });
    }
    anstream::print!("{}", columns(&rows));
    Ok(())
}

fn show(arguments: &ShowArguments) -> Result<()> {
    let law = named(&arguments.law)?;
    let object = law.object();
    anstream::println!(
        "{} ({}), {} bytes of BPF by {}",
        law.name(),
        law.control(),
        object.len(),
        law::COMPILER.trim()
    );
    anstream::println!("sha256 {}", law.digest());
    match Pinned::open(law) {
        Ok(pinned) => {
            let sockets = counted(pinned.sockets()?, "socket", "sockets");
            anstream::println!("loaded: {}; {sockets}", law::words(&pinned.params()?));
        }
        Err(Trouble::NotLoaded(_)) => anstream::println!("not loaded"),
        Err(trouble @ Trouble::Held(_)) => anstream::println!("{trouble}"),
        Err(trouble) => return Err(trouble.into()),
    }
    let mut log = String::new();
    let wanted = Wanted { params: law.defaults(), for_everybody: false, mark: String::new() };
    let loaded = load(&wanted, arguments.log.then_some(&mut log))?;
    let mut rows = vec![["function", "instructions", "verified"].map(String::from).to_vec()];
    for (name, info) in &loaded.programs {
        rows.push(vec![name.clone(), info.instructions.to_string(), info.verified.to_string()]);
    }
    anstream::print!("{}{log}", columns(&rows));
    Ok(())
}

fn set(arguments: &SetArguments) -> Result<()> {
    let pinned = Pinned::open(named(&arguments.law)?)?;
    let params = law::with(&pinned.params()?, &arguments.parameters)?;
    pinned.set(&params)?;
    anstream::println!("{}: {}", pinned.law.control(), law::words(&pinned.params()?));
    Ok(())
}

fn unload(arguments: &UnloadArguments) -> Result<()> {
    if let Some(to) = &arguments.move_to {
        let there = evenair_linux::tcp::available()?;
        if !there.contains(to) {
            bail!("--move-to {to}: this kernel has {}", there.join(", "));
        }
    }
    let pinned = if arguments.laws.is_empty() {
        Pinned::all()?
    } else {
        let laws = arguments.laws.iter().map(|name| Ok(Pinned::open(named(name)?)?));
        laws.collect::<Result<_>>()?
    };
    if let Some(to) = &arguments.move_to
        && pinned.iter().any(|pinned| pinned.law.control() == to)
    {
        bail!("--move-to {to}: it is unloaded itself; name one that stays, such as cubic");
    }
    if pinned.is_empty() {
        anstream::print!("{}", none_pinned()?);
    }
    // All are out of force before one is waited for.
    let mut left = Vec::new();
    for pinned in pinned {
        let law = pinned.law;
        let leaving = pinned.unload()?;
        if let (Some(to), true) = (&arguments.move_to, leaving.sockets()? > 0) {
            let seen = Look::moving(law.control(), to)?.take()?;
            let moved = seen.iter().filter(|socket| socket.moved == 0).count();
            let all = counted(seen.len(), "socket", "sockets");
            anstream::println!("{}: moved {moved} of {all} to {to}", law.control());
        }
        left.push((law, leaving));
    }
    for (law, leaving) in left {
        let sockets = if arguments.wait { wait(law, &leaving)? } else { leaving.sockets()? };
        match sockets {
            0 => anstream::println!("{}: unloaded; no socket has it", law.control()),
            left => {
                anstream::println!("{}: unloaded; {left} {} it until they close", law.control(), keep(left));
            }
        }
    }
    Ok(())
}

/// The answer where no law is pinned: names the process that holds one, if any does.
fn none_pinned() -> Result<String> {
    let held = pins::held()?.into_iter().map(|law| format!("{}\n", Trouble::Held(law.control().into())));
    let held: String = held.collect();
    Ok(if held.is_empty() { "nothing is loaded\n".into() } else { held })
}

/// Waits until no socket has a law that is out of force, and says how many have: at once, and on a terminal whenever it changes.
fn wait(law: Law, leaving: &Leaving) -> Result<u32> {
    let mut told = 0;
    loop {
        let left = leaving.sockets()?;
        if left == 0 {
            return Ok(0);
        }
        if told == 0 || (left != told && std::io::stderr().is_terminal()) {
            anstream::eprintln!(
                "{}: unloaded; {left} {} it, waiting until they close (Ctrl-C ends the waiting)",
                law.control(),
                keep(left)
            );
            told = left;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn keep(sockets: u32) -> &'static str {
    if sockets == 1 { "socket keeps" } else { "sockets keep" }
}
