//! The daemon in real time: the clock, signals, state, socket and tape around [`Daemon`].

use crate::config::{Config, Mode};
use crate::radio::{Found, Linux, Radio};
use crate::state::{Hold, Kept, State};
use crate::status::{Listener, socket};
use crate::tape::{Entry, Head, VERSION};
use crate::{Daemon, restore::Origin};
use evenair_linux::confinement::{Confinement, give_up_capabilities};
use evenair_linux::notify::Supervisor;
use evenair_linux::signals::Signals;
use evenair_linux::wireless::News;
use evenair_units::{Duration, Instant};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// The options of a run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The time after which it ends.
    pub ends_after: Option<Duration>,
    /// The file that the tape goes to.
    pub tape: Option<PathBuf>,
}

/// Returns the monotonic time.
fn now() -> Instant {
    let time = clock_gettime(ClockId::Monotonic);
    Instant::from_nanos(time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned())
}

/// Runs a law until it is stopped, and puts the registers back. `told` gets lines for the terminal.
///
/// # Errors
/// If it cannot begin or go on; the message has the remedy. Registers that it has set are put back.
pub fn run(config: &Config, options: &RunOptions, mut told: impl FnMut(&str)) -> io::Result<()> {
    let mut supervisor = Supervisor::of_environment();
    let mut signals = Signals::new()?;
    let mut radio = Linux::new(&config.interface, config.category)?;
    let news = News::new()?;
    let found = must_be_there(&mut radio, &config.interface)?;
    let state = State::take(&config.state, &config.interface)?;
    let mut config = config.clone();
    let before = state.read()?;
    let _hold = (config.mode == Mode::Enforce || before.is_some())
        .then(|| Hold::take(&config.interface, found.interface.index))
        .transpose()?;
    if let Some(kept) = before {
        told("the last run ended without putting registers back");
        told(&put_back(&kept, &config)?);
        let is_same = kept.is_of_this_boot() && kept.category == config.category;
        if is_same && config.restore.1 == Origin::Default {
            config.restore.0 = kept.restore;
        }
        state.forget()?;
    }
    let mut tape = options.tape.as_deref().map(|path| Tape::create(path, &config)).transpose()?;
    let listener = Listener::new(&socket(&config.state, &config.interface))?;
    told(&greeting(&config));
    if config.mode == Mode::Enforce {
        state.keep(&Kept::new(config.category, config.restore.0))?;
    }
    confine(&config, options, &mut told)?;
    supervisor.tell("READY=1");
    let mode = config.mode;
    let mut daemon = Daemon::new(config, radio);
    let around = Around { signals: &mut signals, news, supervisor: &mut supervisor, listener: &listener };
    let ended = turn(&mut daemon, around, options, tape.as_mut(), &mut told);
    supervisor.tell("STOPPING=1");
    if mode == Mode::Enforce {
        if daemon.status().sets > 0 {
            told(&daemon.restore()?);
        }
        state.forget()?;
    }
    ended
}

/// The daemon's surroundings: signals, messages of the kernel, the service manager, the status.
struct Around<'a> {
    signals: &'a mut Signals,
    news: News,
    supervisor: &'a mut Supervisor,
    listener: &'a Listener,
}

/// The least time between two looks at the interface because of messages.
const CALM: Duration = Duration::from_millis(50);

/// Updates until a signal or the end of the time. A message about the interface has its registers set at once.
fn turn(
    daemon: &mut Daemon<Linux>,
    mut around: Around<'_>,
    options: &RunOptions,
    mut tape: Option<&mut Tape>,
    told: &mut impl FnMut(&str),
) -> io::Result<()> {
    let (begun, interval) = (now(), daemon.interval());
    around.supervisor.expect(interval);
    let (mut next, mut is_news, mut calm_until) = (begun, false, begun);
    loop {
        let at = now();
        if options.ends_after.is_some_and(|time| at.since(begun) >= time) {
            return Ok(());
        }
        let mut said = Vec::new();
        if is_news && at >= calm_until {
            (is_news, calm_until) = (false, at + CALM);
            said.append(&mut daemon.refresh(at)?.said);
        }
        if at >= next {
            let mut step = daemon.step(at)?;
            said.append(&mut step.said);
            if let Some(tape) = &mut tape {
                tape.add(&step.entries, at)?;
            }
            around.supervisor.is_alive(at);
            // A late update makes up for nothing: the law sees how long it was.
            next = (next + interval).max(at);
        }
        said.iter().for_each(|said| told(said));
        around.listener.show(&daemon.status());
        let until = if is_news { next.min(calm_until) } else { next };
        around.wait(until.since(now().min(until)))?;
        is_news |= around.news.take(daemon.index())?;
        // A terminal that closes ends the run, too: SIGHUP.
        if around.signals.take().is_some() {
            return Ok(());
        }
    }
}

impl Around<'_> {
    /// Waits for a signal or a message, for this time at most.
    fn wait(&self, time: Duration) -> io::Result<()> {
        let [of_wireless, of_links] = self.news.descriptors();
        let mut all = [
            PollFd::new(&*self.signals, PollFlags::IN),
            PollFd::from_borrowed_fd(of_wireless, PollFlags::IN),
            PollFd::from_borrowed_fd(of_links, PollFlags::IN),
        ];
        wait(&mut all, time)
    }
}

pub(crate) fn wait(all: &mut [PollFd<'_>], time: Duration) -> io::Result<()> {
    let time = Timespec {
        tv_sec: (time.as_nanos() / 1_000_000_000).cast_signed(),
        tv_nsec: (time.as_nanos() % 1_000_000_000).cast_signed(),
    };
    match poll(all, Some(&time)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Returns the lines that a run begins with.
fn greeting(config: &Config) -> String {
    let Config { interface, law: _, restore: (registers, origin), .. } = config;
    let law = config.law_name();
    match config.mode {
        Mode::Observe => format!(
            "{interface}: {law} every {}; it observes and sets nothing (--enforce)",
            config.interval()
        ),
        Mode::Enforce => format!(
            "{interface}: {law} every {}\nat the end it puts back {registers} ({origin})\n\
             an accepted value is no measurement: a driver may round or ignore it (evenair backoff check --trial)",
            config.interval()
        ),
    }
}

pub(crate) fn must_be_there(radio: &mut Linux, interface: &str) -> io::Result<Found> {
    if let Some(found) = radio.find()? {
        return Ok(found);
    }
    let names = radio.names()?;
    let there =
        if names.is_empty() { "there is none".into() } else { format!("there are {}", names.join(", ")) };
    Err(io::Error::new(io::ErrorKind::NotFound, format!("{interface}: no such Wi-Fi interface; {there}")))
}

fn confine(config: &Config, options: &RunOptions, told: &mut impl FnMut(&str)) -> io::Result<()> {
    if config.mode == Mode::Observe {
        give_up_capabilities()?;
    }
    let mut writes = vec![fs::canonicalize(&config.state)?];
    if let Some(tape) = &options.tape {
        let folder =
            tape.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
        writes.push(fs::canonicalize(folder)?);
    }
    let confinement = Confinement { administers: true, reads: Vec::new(), writes };
    for lack in confinement.enter()? {
        told(&lack);
    }
    Ok(())
}

/// A tape that is being written. It is whole up to a second before the end, however that comes.
#[derive(Debug)]
struct Tape {
    path: PathBuf,
    file: BufWriter<File>,
    flushed: Instant,
}

impl Tape {
    fn create(path: &Path, config: &Config) -> io::Result<Self> {
        let failed = |error: io::Error| {
            let why = format!("cannot create the tape {}: {error}; name a new file", path.display());
            io::Error::new(error.kind(), why)
        };
        let file = File::create_new(path).map_err(failed)?;
        let mut tape = Self { path: path.into(), file: BufWriter::new(file), flushed: Instant::ZERO };
        let head = Head { tape: VERSION, interface: config.interface.clone(), law: config.law.clone() };
        tape.line(&serde_json::to_string(&head)?)?;
        Ok(tape)
    }

    fn failed(&self, error: &io::Error) -> io::Error {
        let why = format!("cannot write the tape {}: {error}; the run ends", self.path.display());
        io::Error::new(error.kind(), why)
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        self.file.write_all(line.as_bytes())?;
        self.file.write_all(b"\n")
    }

    fn add(&mut self, entries: &[Entry], at: Instant) -> io::Result<()> {
        for entry in entries {
            self.line(&serde_json::to_string(entry)?).map_err(|error| self.failed(&error))?;
        }
        if at.since(self.flushed.min(at)) >= Duration::from_secs(1) {
            self.file.flush().map_err(|error| self.failed(&error))?;
            self.flushed = at;
        }
        Ok(())
    }
}

/// Puts back the registers that a killed run left. Those of its file count, and of a later file for the same category.
pub(crate) fn put_back(kept: &Kept, config: &Config) -> io::Result<String> {
    if !kept.is_of_this_boot() {
        return Ok("nothing to put back: it was on another machine, or before the last boot".into());
    }
    let mut config = config.clone();
    if config.restore.1 == Origin::Default || kept.category != config.category {
        (config.category, config.restore.0) = (kept.category, kept.restore);
    }
    let radio = Linux::new(&config.interface, config.category)?;
    Daemon::new(config, radio).restore()
}

/// Puts back the registers that a killed run left. Without any it sets nothing.
///
/// # Errors
/// If a run goes on there, or the kernel refuses.
pub fn restore(config: &Config) -> io::Result<String> {
    let mut radio = Linux::new(&config.interface, config.category)?;
    let found = must_be_there(&mut radio, &config.interface)?;
    let state = State::take(&config.state, &config.interface)?;
    let Some(kept) = state.read()? else {
        let (name, folder) = (&config.interface, config.state.display());
        return Ok(format!(
            "nothing to put back: no run has left registers of {name} in {folder}; if in doubt restart hostapd"
        ));
    };
    let _hold = Hold::take(&config.interface, found.interface.index)?;
    let said = put_back(&kept, config)?;
    state.forget()?;
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_laws::backoff::Category;

    /// A state in a folder that outlives a boot, or that machines share.
    #[test]
    fn state_of_another_boot_sets_nothing() {
        let config = Config::parse("b.toml", "interface = 'wlan0'").unwrap();
        let kept = Kept::new(Category::Voice, crate::restore::default(Category::Voice));
        let text = serde_json::to_string(&kept).unwrap().replacen("\"boot\":\"", "\"boot\":\"another", 1);
        let kept = serde_json::from_str(&text).unwrap();
        let told = put_back(&kept, &config).unwrap();
        assert_eq!(told, "nothing to put back: it was on another machine, or before the last boot");
    }
}
