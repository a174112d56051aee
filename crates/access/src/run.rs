//! The daemon in real time: the clock, signals, state, socket and tape around [`Daemon`].

use crate::config::{Config, Mode};
use crate::radio::{Linux, Radio};
use crate::state::{Kept, State};
use crate::status::{Listener, socket};
use crate::tape::{Entry, Head, VERSION};
use crate::{Daemon, restore::Origin};
use evenair_laws::backoff::Registers;
use evenair_linux::confinement::{Confinement, give_up_capabilities};
use evenair_linux::notify::Supervisor;
use evenair_linux::signals::{Asked, Signals};
use evenair_linux::wireless::{News, Station};
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
    must_be_there(&mut radio, &config.interface)?;
    let state = State::take(&config.state, &config.interface)?;
    let before = state.read()?;
    let mut config = config.clone();
    if let Some(kept) = before {
        told("the last run ended without putting registers back");
        if config.restore.1 == Origin::Default && kept.category == config.category {
            config.restore.0 = kept.restore;
        }
        let mut daemon = Daemon::new(config.clone(), radio);
        told(&daemon.restore()?);
        state.forget()?;
        radio = Linux::new(&config.interface, config.category)?;
    }
    let mut tape = options.tape.as_deref().map(|path| Tape::create(path, &config)).transpose()?;
    let listener = Listener::new(&socket(&config.state, &config.interface))?;
    told(&greeting(&config));
    if config.mode == Mode::Enforce {
        state.keep(&Kept { category: config.category, restore: config.restore.0 })?;
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
        if around.signals.take() == Some(Asked::End) {
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

fn wait(all: &mut [PollFd<'_>], time: Duration) -> io::Result<()> {
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

fn must_be_there(radio: &mut Linux, interface: &str) -> io::Result<()> {
    if radio.find()?.is_some() {
        return Ok(());
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
    file: BufWriter<File>,
    flushed: Instant,
}

impl Tape {
    fn create(path: &Path, config: &Config) -> io::Result<Self> {
        let failed = |error: io::Error| {
            io::Error::new(error.kind(), format!("{}: {error}; name a new file", path.display()))
        };
        let file = File::create_new(path).map_err(failed)?;
        let mut tape = Self { file: BufWriter::new(file), flushed: Instant::ZERO };
        let head = Head { tape: VERSION, interface: config.interface.clone(), law: config.law.clone() };
        tape.line(&serde_json::to_string(&head)?)?;
        Ok(tape)
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        self.file.write_all(line.as_bytes())?;
        self.file.write_all(b"\n")
    }

    fn add(&mut self, entries: &[Entry], at: Instant) -> io::Result<()> {
        for entry in entries {
            self.line(&serde_json::to_string(entry)?)?;
        }
        if at.since(self.flushed.min(at)) >= Duration::from_secs(1) {
            self.file.flush()?;
            self.flushed = at;
        }
        Ok(())
    }
}

/// Puts back the registers that a killed run left, or those of the file.
///
/// # Errors
/// If a run goes on there, or the kernel refuses.
pub fn restore(config: &Config) -> io::Result<String> {
    let mut radio = Linux::new(&config.interface, config.category)?;
    must_be_there(&mut radio, &config.interface)?;
    let state = State::take(&config.state, &config.interface)?;
    let mut config = config.clone();
    if let Some(kept) = state.read()?
        && config.restore.1 == Origin::Default
    {
        (config.category, config.restore.0) = (kept.category, kept.restore);
        radio = Linux::new(&config.interface, config.category)?;
    }
    let said = Daemon::new(config, radio).restore()?;
    state.forget()?;
    Ok(said)
}

/// The result of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Packets per second with the present registers.
    pub before: f64,
    /// Packets per second with the largest windows.
    pub during: f64,
}

/// The time of each half of a trial.
const TRIAL_S: u64 = 5;

/// Sets the largest windows for five seconds while the operator saturates the link, and measures packets before and
/// during: the only proof that a driver obeys.
///
/// # Errors
/// If the kernel refuses. The registers are put back.
pub fn trial(radio: &mut impl Radio, config: &Config, mut sleep: impl FnMut(Duration)) -> io::Result<Trial> {
    let number = crate::sensor::number(config.category);
    let sent = |stations: &[Station]| stations.iter().map(|one| one.queues[number].sent).sum::<u64>();
    let second = Duration::from_secs(1);
    let start = sent(&radio.stations()?);
    (0..TRIAL_S).for_each(|_| sleep(second));
    let middle = sent(&radio.stations()?);
    let slowest = Registers { window_min: 1023, window_max: 1023, aifsn: 15, txop_units: 0 };
    // Once a second, since another program may overwrite it.
    let set = (0..TRIAL_S).try_for_each(|_| radio.set(slowest).map(|()| sleep(second)));
    let end = radio.stations().map(|stations| sent(&stations));
    radio.set(config.restore.0)?;
    set?;
    let rate = |from: u64, to: u64| to.saturating_sub(from) as f64 / TRIAL_S as f64;
    Ok(Trial { before: rate(start, middle), during: rate(middle, end?) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::radio::Found;
    use std::cell::Cell;
    use std::rc::Rc;

    /// A station that is sent 500 packets a second, or 200 with windows of 1023 slots, if the driver obeys.
    struct Busy {
        sent: Rc<Cell<u64>>,
        is_slow: Rc<Cell<bool>>,
        obeys: bool,
        set: Vec<Registers>,
    }

    impl Radio for Busy {
        fn find(&mut self) -> io::Result<Option<Found>> {
            Ok(None)
        }

        fn stations(&mut self) -> io::Result<Vec<Station>> {
            let mut station = Station::default();
            station.queues[2].sent = self.sent.get();
            Ok(vec![station])
        }

        fn set(&mut self, registers: Registers) -> io::Result<()> {
            self.is_slow.set(self.obeys && registers.window_min == 1023);
            self.set.push(registers);
            Ok(())
        }
    }

    #[test]
    fn trial_measures_and_puts_back() {
        let config = Config::parse("b.toml", "interface = 'wlan0'").unwrap();
        for (obeys, during) in [(true, 200.0), (false, 500.0)] {
            let (sent, is_slow) = (Rc::new(Cell::new(7)), Rc::new(Cell::new(false)));
            let mut radio =
                Busy { sent: Rc::clone(&sent), is_slow: Rc::clone(&is_slow), obeys, set: Vec::new() };
            let measured = trial(&mut radio, &config, |_| {
                sent.set(sent.get() + if is_slow.get() { 200 } else { 500 });
            });
            assert_eq!(measured.unwrap(), Trial { before: 500.0, during });
            assert_eq!((radio.set.len(), radio.set.last()), (6, Some(&config.restore.0)));
        }
    }
}
