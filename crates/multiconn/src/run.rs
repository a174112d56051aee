//! The two ends of the command, each in a runtime of its own, until a signal ends it.

use crate::config::{ConnectConfig, RelayConfig};
use crate::connect::{Client, ConnectError, connect};
use crate::forward::{Forward, Open, Report};
use crate::listen::{ListenError, listen};
use crate::notice::{Kind, Sparing};
use crate::paths::Known;
use crate::status::{SCHEMA, Status};
use crate::{Mistake, control, relay, status};
use evenair_laws::connections::ConnectionParams;
use evenair_linux::notify::Supervisor;
use evenair_linux::socket::Socket;
use evenair_units::printable;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

/// The time between two checks for faults.
const LOOK: Duration = Duration::from_secs(1);
/// The most characters of a line of the log, which may contain a peer's text.
const LINE_MAX: usize = 1000;

/// The reason why it ended.
#[derive(Debug)]
pub enum RunError {
    /// A mistake in a file or an argument.
    Mistake(Mistake),
    /// The listener failed to start.
    Listen(ListenError),
    /// There is no session.
    Connect(ConnectError),
    /// A local port is not available.
    Forward(Forward, io::Error),
    /// The system refuses a resource.
    System(io::Error),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mistake(mistake) => mistake.fmt(f),
            Self::Listen(error) => error.fmt(f),
            Self::Connect(error) => error.fmt(f),
            Self::Forward(forward, error) => write!(f, "{forward}: {error}"),
            Self::System(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

impl From<Mistake> for RunError {
    fn from(mistake: Mistake) -> Self {
        Self::Mistake(mistake)
    }
}

impl From<io::Error> for RunError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// Serves as a relay until Ctrl-C or SIGTERM. `place` is the origin that mistakes name.
///
/// # Errors
/// If it cannot begin.
pub fn relay(place: &str, config: &RelayConfig, say: impl Fn(&str)) -> Result<(), RunError> {
    let say = |line: &str| say(&printable(line, LINE_MAX));
    let options = config.options(place)?;
    let law = options.law.as_ref().map_or("each client's wish, else guarded".into(), words);
    let keys: Vec<_> = options.keys.iter().map(crate::keys::SecretKey::public).collect();
    let descriptors = more_descriptors();
    runtime()?.block_on(async {
        let mut ends = Ends::new()?;
        let listener = listen(options).await.map_err(RunError::Listen)?;
        for address in listener.addresses() {
            say(&format!("listens on {address}"));
        }
        keys.iter().for_each(|key| say(&format!("key {key}")));
        say(&format!("law of its own data: {law}"));
        say(&format!(
            "at most {} connections, {} MB for streams, {descriptors} descriptors",
            config.connections, config.memory_mb
        ));
        config.rate_most.iter().for_each(|rate| say(&format!("sends {rate} at most to all together")));
        let watcher = listener.watcher();
        let path = config.status.clone().unwrap_or_else(|| status::usual_socket("relay"));
        let watched = watcher.clone();
        let _status = serve_status(&path, move || relay::status(&watched), &say);
        let supervisor = Supervisor::of_environment();
        supervisor.tell("READY=1");
        let (_told, hears) = tokio::sync::mpsc::channel(1);
        tokio::select! {
            () = relay::serve(listener) => {}
            () = ends.any() => say("ends"),
            () = says_troubles(|| watcher.trouble(), hears, &say) => {}
        }
        supervisor.tell("STOPPING=1");
        Ok(())
    })
}

/// Serves local ports until Ctrl-C or SIGTERM.
///
/// # Errors
/// If it cannot begin, as when the relay refuses or a port is taken.
pub fn forwards(place: &str, config: &ConnectConfig, say: impl Fn(&str)) -> Result<(), RunError> {
    let say = |line: &str| say(&printable(line, LINE_MAX));
    let options = config.options(place)?;
    if config.forward.is_empty() {
        let why = "name at least one local port: -L tcp://8080:example.org:80 or -L socks5://1080";
        return Err(Mistake::of(place, why).of_key("forward").into());
    }
    more_descriptors();
    runtime()?.block_on(async {
        let mut ends = Ends::new()?;
        let (told, hears) = tokio::sync::mpsc::channel(16);
        let mut open = Vec::new();
        for forward in &config.forward {
            let one = Open::new(forward).await.map_err(|error| RunError::Forward(forward.clone(), error))?;
            open.push((forward, one));
        }
        say(&format!("law: {}; at most {} connections", words(&options.law), options.most));
        options.rate_most.iter().for_each(|rate| say(&format!("sends {rate} at most")));
        let relay_host = options.relay.clone();
        let client = connect(options).await.map_err(RunError::Connect)?;
        let relay_law = client.relay_law().unwrap_or_default();
        say(&format!("connected to {relay_host}; its law: {relay_law}"));
        let Known { up, down } = client.known();
        if (up, down) != (1, 1) {
            say(&format!("begins with the numbers learnt on this path: {up} connections up, {down} down"));
        }
        let path = config.status.clone().unwrap_or_else(|| status::usual_socket("connect"));
        let watched = client.clone();
        let answer = move || Status {
            schema: SCHEMA,
            role: "connect",
            sessions: watched.status(),
            trouble: trouble(&watched),
            handshakes: None,
        };
        let _status = serve_status(&path, answer, &say);
        for (forward, one) in open {
            let listen = one.address()?;
            say(&Forward { listen, ..forward.clone() }.to_string());
            if !listen.ip().is_loopback() {
                say("  that port is open to other machines, and any of them can use it as you");
            }
            let told = told.clone();
            tokio::spawn(one.serve(client.clone(), move |report: &Report<'_>| {
                let kind = if let Report::Port(notice) = report { Some(notice.kind()) } else { None };
                // A notice that does not fit the channel is dropped, so that its sender never waits.
                let _ = told.try_send((kind, report.to_string()));
            }));
        }
        let supervisor = Supervisor::of_environment();
        supervisor.tell("READY=1");
        tokio::select! {
            () = ends.any() => say("ends"),
            () = says_troubles(|| trouble(&client), hears, &say) => {}
        }
        Ok(())
    })
}

/// Returns the present fault of a client.
fn trouble(client: &Client) -> Option<String> {
    client.trouble().map(|why| format!("no session: {why}")).or_else(|| client.silence())
}

/// Logs faults while it runs, each once until another occurs, and of one kind at most a line a minute. Also
/// logs the end of a fault.
async fn says_troubles(
    trouble: impl Fn() -> Option<String>,
    mut hears: tokio::sync::mpsc::Receiver<(Option<Kind>, String)>,
    say: &impl Fn(&str),
) {
    let (mut last, mut last_heard, mut sparing) = (None, String::new(), Sparing::new());
    loop {
        let heard = tokio::time::timeout(LOOK, hears.recv()).await.ok().flatten();
        match heard {
            Some((Some(kind), heard)) if sparing.may(Instant::now(), kind) => say(&heard),
            Some((None, heard)) if heard != last_heard => {
                say(&heard);
                last_heard = heard;
            }
            _ => (),
        }
        let now = trouble();
        if now != last {
            say(now.as_deref().unwrap_or("that is over"));
            last = now;
        }
    }
}

fn runtime() -> Result<Runtime, RunError> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

/// The signals that end the program.
struct Ends([tokio::signal::unix::Signal; 2]);

impl Ends {
    fn new() -> io::Result<Self> {
        Ok(Self([signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?]))
    }

    async fn any(&mut self) {
        let [interrupt, terminate] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
}

/// Serves the status socket; logs a failure, after which the program runs without it.
fn serve_status(
    path: &Path,
    answer: impl Fn() -> Status + Send + 'static,
    say: &impl Fn(&str),
) -> Option<Socket> {
    match status::serve(path, answer) {
        Ok(socket) => {
            say(&format!("status: evenair multiconn status {}", path.display()));
            Some(socket)
        }
        Err(error) => {
            say(&format!("no status socket: {}: {error}; --status PATH puts it elsewhere", path.display()));
            None
        }
    }
}

/// Returns a law with all its parameters, on one line.
pub fn words(law: &ConnectionParams) -> String {
    let table = toml::Table::try_from(law).unwrap_or_default();
    let name = table.get("law").and_then(|law| law.as_str()).unwrap_or("a law of one's own").to_string();
    let parameters =
        table.iter().filter(|(key, _)| *key != "law").map(|(key, value)| format!("{key} = {value}"));
    let congestion = control::congestion_control(law).map(|name| format!("over {name}"));
    std::iter::once(name).chain(parameters).chain(congestion).collect::<Vec<_>>().join(", ")
}

/// Raises the soft limit of descriptors to the hard one, since each stream needs a socket; returns it.
pub(crate) fn more_descriptors() -> u64 {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    let before = limit.current;
    limit.current = limit.maximum;
    let now = if setrlimit(Resource::Nofile, limit).is_ok() { limit.maximum } else { before };
    now.unwrap_or(u64::MAX)
}

/// Returns the configured status socket, or the default of a role.
pub fn status_socket(config: Option<&PathBuf>, role: &str) -> PathBuf {
    config.cloned().unwrap_or_else(|| status::usual_socket(role))
}
