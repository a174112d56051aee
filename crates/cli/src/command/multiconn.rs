//! `evenair multiconn`.

mod probe;
mod status;

use anyhow::{Error, Result};
use clap::{Args, Subcommand};
use evenair_multiconn::config::{Config, ConnectConfig, RelayConfig};
use evenair_multiconn::forward::Forward;
use evenair_multiconn::keys::{PublicKey, SecretKey};
use evenair_multiconn::run;
use evenair_results::digits::counted;
use evenair_units::Rate;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(
    after_help = "For hosts behind a lossy link, where loss-based TCP gets a fraction of the path's rate. Where both ends may use BBR, one BBR connection does as well: \
try probe first.\n\n\
    At both ends, once:\n  evenair multiconn keygen relay.key        # at the relay; prints its public key\n  evenair multiconn keygen me.key           # at home; prints your public key\n\n\
    At the relay, authorised.toml lists the allowed keys and their destinations:\n  [[key]]\n  name = \"me\"\n  key = \"ed25519:…\"\n  destinations = [\"*:443\", \"*:80\"]\n\n  \
    evenair multiconn relay --keys relay.key --authorised authorised.toml\n\n\
    At home:\n  evenair multiconn connect relay.example.org --relay-keys ed25519:… --key me.key -L socks5://1080\n  curl --proxy socks5h://127.0.0.1:1080 https://example.org/"
)]
pub(crate) struct MulticonnOptions {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Make a key: the secret one into a file that only you may read, the public one printed
    #[command(after_help = "Example:\n  evenair multiconn keygen me.key")]
    Keygen(KeygenArguments),
    /// Run the relay: accept connections with authorised keys, and forward their streams
    #[command(
        after_help = "One port for everything. The relay accepts only keys in the file of authorised keys, and only the destinations there. The file is read again when it changes; \
    the sessions of a removed key end within a second.\n\n\
    Example:\n  evenair multiconn relay --keys relay.key --authorised authorised.toml"
    )]
    Relay(RelayArguments),
    /// Open local ports that forward to a relay over several connections
    #[command(after_help = "Examples:\n  \
    evenair multiconn connect relay.example.org --relay-keys ed25519:… --key me.key -L tcp://8080:example.org:80\n  \
    evenair multiconn connect relay.example.org --relay-keys ed25519:… --key me.key -L socks5://1080 --law fixed --set n=4")]
    Connect(ConnectArguments),
    /// Measure a path: is its loss random or congestion, and which law would help
    Probe(probe::ProbeArguments),
    /// Read a file and the keys that it names, and print the resulting settings; opens nothing
    #[command(after_help = "Example:\n  evenair multiconn check multiconn.toml")]
    Check(CheckArguments),
    /// Show the state of a client or a relay on this machine: its connections, and the reason for their number
    #[command(
        after_help = "Examples:\n  evenair multiconn status --watch\n  evenair multiconn status --relay --json\n  \
    evenair multiconn status --metrics > multiconn.prom"
    )]
    Status(status::StatusArguments),
}

#[derive(Debug, Args)]
struct KeygenArguments {
    /// The secret key's file, which is not there yet
    file: PathBuf,
}

#[derive(Debug, Args)]
struct CheckArguments {
    /// The file
    file: PathBuf,
}

#[derive(Debug, Args)]
struct LawArguments {
    /// The law: guarded, rtt-proportional, delay-price, iimd, iiad, utility or fixed
    #[arg(long)]
    law: Option<String>,
    /// A parameter of the law, as in `evenair list laws`; such as gamma=0.3
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<(String, toml::Value)>,
    /// The congestion control of each connection, if the law does not need one; such as cubic
    #[arg(long, value_name = "NAME")]
    congestion: Option<String>,
    #[arg(long, hide = true, value_name = "NAME", value_parser = called_congestion)]
    subflow_cc: Option<String>,
}

/// Refuses the earlier name of an option.
fn called_congestion(_: &str) -> Result<String, String> {
    Err("the option is called --congestion".into())
}

#[derive(Debug, Args)]
struct RelayArguments {
    /// A file with a table [relay]; options given here override it
    #[arg(long)]
    config: Option<PathBuf>,
    /// The address to listen at [default: all addresses of both families, port 7443]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Vec<SocketAddr>,
    /// The file of the relay's own key; may be given twice while keys are rotated
    #[arg(long, value_name = "FILE")]
    keys: Vec<PathBuf>,
    /// The file of authorised keys
    #[arg(long, value_name = "FILE")]
    authorised: Option<PathBuf>,
    #[command(flatten)]
    law: LawArguments,
    /// The socket for `status`
    #[arg(long, value_name = "SOCKET")]
    status: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct ConnectArguments {
    /// The relay, and its port [default: 7443]
    relay: Option<String>,
    /// A file with a table [connect]; options given here override it
    #[arg(long)]
    config: Option<PathBuf>,
    /// The relay's public key; may be given twice while keys are rotated
    #[arg(long, value_name = "KEY")]
    relay_keys: Vec<PublicKey>,
    /// Your private key's file
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// A local port: `tcp://[BIND:]PORT:HOST:PORT` or `socks5://[BIND:]PORT`
    #[arg(short = 'L', long = "forward", value_name = "FORWARD")]
    forward: Vec<Forward>,
    #[command(flatten)]
    law: LawArguments,
    /// The largest number of connections [default: 16]
    #[arg(long)]
    most: Option<u32>,
    /// The largest rate of stream bytes over all connections, such as "5 Mbps"
    #[arg(long, value_name = "RATE")]
    rate_most: Option<Rate>,
    /// Send no probes
    #[arg(long)]
    no_probes: bool,
    /// Begin with one connection instead of the number learnt earlier for this path, and record nothing
    #[arg(long)]
    no_remember: bool,
    /// The socket for `status`
    #[arg(long, value_name = "SOCKET")]
    status: Option<PathBuf>,
}

/// Reads "gamma=0.3", "interval=5 s".
fn setting(text: &str) -> Result<(String, toml::Value), String> {
    let (key, value) = text.split_once('=').ok_or("write key=value, such as gamma=0.3")?;
    let table: Result<toml::Table, _> = format!("value = {value}").parse();
    let read = table.ok().and_then(|mut table| table.remove("value"));
    Ok((key.trim().into(), read.unwrap_or_else(|| toml::Value::String(value.trim().into()))))
}

pub(crate) fn multiconn(options: &MulticonnOptions) -> Result<()> {
    match &options.verb {
        Verb::Keygen(KeygenArguments { file }) => keygen(file),
        Verb::Relay(arguments) => relay(arguments),
        Verb::Connect(arguments) => connect(arguments),
        Verb::Probe(arguments) => probe::probe(arguments),
        Verb::Check(CheckArguments { file }) => check(file),
        Verb::Status(arguments) => status::status(arguments),
    }
}

fn keygen(file: &Path) -> Result<()> {
    let key = SecretKey::generate();
    key.save(file).map_err(|error| {
        let is_there = error.kind() == std::io::ErrorKind::AlreadyExists;
        let why = if is_there { "a key is not overwritten: name another file" } else { "not written" };
        Error::new(error).context(format!("{}: {why}", file.display()))
    })?;
    anstream::println!("{}", key.public());
    Ok(())
}

/// The place that mistakes name.
fn place(config: Option<&PathBuf>) -> String {
    config.map_or("the command line".into(), |path| path.display().to_string())
}

fn relay(arguments: &RelayArguments) -> Result<()> {
    let file = arguments.config.as_deref().map(Config::load).transpose()?;
    let mut config: RelayConfig = file.and_then(|file| file.relay).unwrap_or_default();
    if !arguments.listen.is_empty() {
        config.listen.clone_from(&arguments.listen);
    }
    if !arguments.keys.is_empty() {
        config.keys.clone_from(&arguments.keys);
    }
    config.authorised = arguments.authorised.clone().or(config.authorised);
    config.status = arguments.status.clone().or(config.status);
    let LawArguments { law, set, congestion, .. } = &arguments.law;
    if law.is_some() {
        config.law.clone_from(law);
        config.set.clear();
    }
    config.set.extend(set.iter().cloned());
    config.congestion = congestion.clone().or(config.congestion);
    run::relay(&place(arguments.config.as_ref()), &config, |words| anstream::println!("{words}"))?;
    Ok(())
}

fn connect(arguments: &ConnectArguments) -> Result<()> {
    let file = arguments.config.as_deref().map(Config::load).transpose()?;
    let mut config: ConnectConfig = file.and_then(|file| file.connect).unwrap_or_default();
    if let Some(relay) = &arguments.relay {
        config.relay.clone_from(relay);
    }
    if !arguments.relay_keys.is_empty() {
        config.relay_keys.clone_from(&arguments.relay_keys);
    }
    if !arguments.forward.is_empty() {
        config.forward.clone_from(&arguments.forward);
    }
    config.key = arguments.key.clone().or(config.key);
    config.status = arguments.status.clone().or(config.status);
    config.most = arguments.most.unwrap_or(config.most);
    config.rate_most = arguments.rate_most.or(config.rate_most);
    config.probes &= !arguments.no_probes;
    config.remember &= !arguments.no_remember;
    let LawArguments { law, set, congestion, .. } = &arguments.law;
    if let Some(law) = law {
        config.law.clone_from(law);
        config.set.clear();
    }
    config.set.extend(set.iter().cloned());
    config.congestion = congestion.clone().or(config.congestion);
    run::forwards(&place(arguments.config.as_ref()), &config, |words| anstream::println!("{words}"))?;
    Ok(())
}

fn check(file: &Path) -> Result<()> {
    let place = file.display().to_string();
    let config = Config::load(file)?;
    if config.relay.is_none() && config.connect.is_none() {
        return Err(Error::msg(format!("{place}: it has neither a table [relay] nor [connect]")));
    }
    if let Some(relay) = &config.relay {
        let options = relay.options(&place)?;
        let listen: Vec<_> = options.listen.iter().map(ToString::to_string).collect();
        anstream::println!("relay: listens on {}", listen.join(", "));
        options.keys.iter().for_each(|key| anstream::println!("  key {}", key.public()));
        let law = options.law.as_ref().map_or("each client's wish, else guarded".into(), run::words);
        anstream::println!("law of its own data: {law}");
        options
            .rate_most
            .iter()
            .for_each(|rate| anstream::println!("  sends {rate} at most to all together"));
        if let Some(path) = &relay.authorised {
            for entry in evenair_multiconn::authorised::Authorised::load(path)?.iter() {
                let to: Vec<_> = entry.destinations.iter().map(ToString::to_string).collect();
                let to = if to.is_empty() { "nowhere".into() } else { to.join(", ") };
                let expired = if entry.holds(std::time::SystemTime::now()) { "" } else { "; EXPIRED" };
                let rate = entry.rate_most.map_or(String::new(), |rate| format!(", is sent {rate} at most"));
                anstream::println!(
                    "  {} {}: to {to}; up to {}{rate}{expired}",
                    entry.name,
                    entry.key,
                    counted(entry.connections, "connection", "connections")
                );
            }
        }
    }
    if let Some(connect) = &config.connect {
        let options = connect.options(&place)?;
        anstream::println!("connect: to {} as {}", options.relay, options.key.public());
        let most = counted(options.most, "connection", "connections");
        anstream::println!("  law: {}; at most {most}", run::words(&options.law));
        options.rate_most.iter().for_each(|rate| anstream::println!("  sends {rate} at most"));
        if let Some(paths) = &options.paths {
            anstream::println!("  remembers paths in {}", paths.file().display());
        }
        connect.forward.iter().for_each(|forward| anstream::println!("  {forward}"));
    }
    Ok(())
}
