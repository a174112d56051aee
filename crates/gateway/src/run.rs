//! The daemon in real time: the clock, signals, files and the socket around [`Daemon`].

use crate::config::{AskedBy, Config, LastLeases, Mode, OnStop};
use crate::control::{Answer, Listener, Request};
use crate::kernel::Failure;
use crate::log::Log;
use crate::page::Page;
use crate::record::{Event, SCHEMA, What};
use crate::state::State;
use crate::status::{Status, fairness};
use crate::{Daemon, Kept, Linux, Meaning, Mistake, OperatorFiles, Subscribers, confine};
use evenair_laws::gateway::GatewayParams;
use evenair_linux::confinement::Confinement;
use evenair_linux::notify::Supervisor;
use evenair_linux::signals::{Asked, Signals};
use evenair_units::{Duration, Instant};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The options of a run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The mode, in place of the configured one.
    pub mode: Option<Mode>,
    /// Whether foreign queues are replaced until the end.
    pub takes_over: bool,
    /// The time after which the daemon ends and restores the earlier state, unless it is confirmed.
    pub confirm: Option<Duration>,
    /// Whether a mistake in the file makes the daemon use its last working configuration.
    pub or_last: bool,
}

/// The reason for which a daemon does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A mistake in the operator's files.
    Mistake(Mistake),
    /// A failure of the machine.
    Failure(Failure),
}

impl From<Mistake> for Problem {
    fn from(mistake: Mistake) -> Self {
        Self::Mistake(mistake)
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mistake(mistake) => mistake.fmt(f),
            Self::Failure(failure) => failure.fmt(f),
        }
    }
}

impl std::error::Error for Problem {}

/// Interval between two checks of the lease files.
const LEASES: Duration = Duration::from_secs(5);
/// Number of troubles that the status lists.
const TROUBLES: usize = 10;

/// Returns the monotonic time.
pub fn now() -> Instant {
    let time = clock_gettime(ClockId::Monotonic);
    Instant::from_nanos(time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned())
}

/// Returns the wall clock \[ms since 1970\].
pub fn wall_ms() -> u64 {
    let time = clock_gettime(ClockId::Realtime);
    time.tv_sec.max(0).cast_unsigned() * 1000 + time.tv_nsec.cast_unsigned() / 1_000_000
}

/// A running daemon.
struct Running {
    path: PathBuf,
    options: RunOptions,
    /// The operator's files, from which the configuration was read.
    files: OperatorFiles,
    config: Config,
    daemon: Daemon<Linux>,
    state: State,
    log: Log,
    /// The time at which it ends unless it is confirmed.
    confirm_by: Option<Instant>,
    troubles: Vec<String>,
    page: Option<Page>,
    /// The times at which the lease files last changed, and the time of the last check.
    changed: Vec<Option<SystemTime>>,
    looked: Instant,
    /// The last readable leases, and the messages about unreadable ones.
    leases: LastLeases,
    unread: Vec<String>,
    asked_to_reload: bool,
    hands_over: bool,
    /// The folders that it works in.
    held: Confinement,
}

/// The way in which a daemon ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By a signal, or for lack of a confirmation; the configuration decides about the limits.
    Stopped,
    /// By a hand-over: the installed state stays for the next daemon.
    HandedOver,
}

/// Runs a gateway until it is stopped. `told` gets the lines for the terminal.
///
/// # Errors
/// If it cannot start; then the earlier state is restored. The message names the remedy.
pub fn run(path: &Path, options: RunOptions, mut told: impl FnMut(&str)) -> Result<Ended, Problem> {
    let mut supervisor = Supervisor::of_environment();
    let mut signals = Signals::new().map_err(|error| Failure::new("signals", error))?;
    let (mut running, listener) = Running::begin(path, options, &mut told)?;
    running.confine(&mut told)?;
    supervisor.tell(&format!("READY=1\nSTATUS={}", running.greeting()));
    let why = loop {
        running.wait(&signals, &listener);
        match signals.take() {
            Some(Asked::End) => break "told to end",
            Some(Asked::Reload) => running.asked_to_reload = true,
            None => (),
        }
        let at = now();
        running.daemon.step(at);
        supervisor.expect(running.daemon.gateway().epoch());
        supervisor.is_alive(at);
        listener.is_alive(wall_ms());
        if running.confirm_by.is_some_and(|by| at >= by) {
            break "no confirmation in time";
        }
        // One request in each pass: an epoch waits for one request at most, for any number of clients.
        let answered = listener.take().map(|(ticket, request)| (ticket, running.answer(&request)));
        if running.hands_over {
            supervisor.tell("STOPPING=1");
            running.daemon.hand_over();
        }
        if std::mem::take(&mut running.asked_to_reload) {
            let words = running
                .reload()
                .unwrap_or_else(|problem| format!("not reloaded, all goes on as before: {problem}"));
            told(&words);
        }
        running.follow_leases(at, &mut told);
        if running.write(&mut told) {
            listener.show(running.status());
        }
        // Replies after the status is published, so that the client's next status shows the change.
        answered.into_iter().for_each(|(ticket, answer)| listener.reply(ticket, answer));
        if running.hands_over {
            return Ok(Ended::HandedOver);
        }
    };
    supervisor.tell("STOPPING=1");
    running.end(why, &mut told)?;
    Ok(Ended::Stopped)
}

/// Reads the operator's files. If they have a mistake and `or_last` is set, returns the last working
/// ones.
fn meant(
    path: &Path,
    or_last: bool,
    leases: &mut LastLeases,
    told: &mut impl FnMut(&str),
) -> Result<(OperatorFiles, Meaning), Mistake> {
    let at_s = wall_ms() / 1000;
    let now = OperatorFiles::read(path).and_then(|files| {
        let meaning = files.meaning(path, at_s, leases)?;
        Ok((files, meaning))
    });
    let mistake = match now {
        Err(mistake) if or_last => mistake,
        now => return now,
    };
    let Some(files) = State::worked(&Config::state_of(path)) else { return Err(mistake) };
    let meaning = files.meaning(path, at_s, leases).map_err(|_| mistake.clone())?;
    told(&format!("{mistake}; it goes on with the last good file"));
    Ok((files, meaning))
}

impl Running {
    fn begin(
        path: &Path,
        options: RunOptions,
        told: &mut impl FnMut(&str),
    ) -> Result<(Self, Listener), Problem> {
        let mut leases = LastLeases::default();
        let (files, meaning) = meant(path, options.or_last, &mut leases, told)?;
        let Meaning { mut config, subscribers, troubles } = meaning;
        config.mode = options.mode.unwrap_or(config.mode);
        troubles.iter().for_each(|trouble| told(&trouble.to_string()));
        let state = State::take(&config.state)?;
        let log = Log::new(&config.log_folder(), config.log.clone());
        let log = log.map_err(|error| Failure::new(config.log_folder().display().to_string(), error))?;
        let is_for_everyone = config.asked_by == AskedBy::Everyone;
        let listener = Listener::new(&config.socket(), config.group, is_for_everyone)?;
        listener.lack().into_iter().for_each(&mut *told);
        let page = config.page.map(Page::open).transpose()?;
        let held = confine::folders(path, &config);
        let mut kernel = Linux::new(&config)?;
        kernel.unforwarded(&config, &subscribers).iter().for_each(|why| told(why));
        if config.mode == Mode::Enforce {
            nothing_past(&mut kernel, &subscribers)?;
        }
        if kernel.packets().is_none() {
            told(
                "packets cannot be read (CAP_NET_RAW): busy time is unknown, and the law uses drops and queues",
            );
        }
        let kept = state.read()?;
        let mut daemon = Daemon::new(now(), &config, subscribers, kernel, (kept, options.takes_over))?;
        // Saves the earlier state before the first change, for the next daemon.
        state.keep(&daemon.kept())?;
        if let Err(failure) = daemon.begin(now()) {
            let undone = daemon.stop("it could not begin", true).and_then(|_| state.keep(&daemon.kept()));
            return Err(undone.err().unwrap_or(failure).into());
        }
        state.keep_files(&files)?;
        let confirm_by = options.confirm.map(|after| now() + after);
        let path = path.to_path_buf();
        let running = Self {
            path,
            options,
            files,
            config,
            daemon,
            state,
            log,
            confirm_by,
            troubles: Vec::new(),
            page,
            changed: Vec::new(),
            looked: now(),
            leases,
            unread: troubles.iter().map(ToString::to_string).collect(),
            asked_to_reload: false,
            hands_over: false,
            held,
        };
        let running = Self { changed: running.changes(), ..running };
        told(&running.greeting());
        listener.show(running.status());
        Ok((running, listener))
    }

    /// Drops all privileges that the daemon does not need.
    fn confine(&self, told: &mut impl FnMut(&str)) -> Result<(), Failure> {
        let lacks =
            self.held.enter().map_err(|error| Failure::new("privileges cannot be given away", error))?;
        lacks.iter().for_each(|lack| told(lack));
        Ok(())
    }

    fn greeting(&self) -> String {
        let Config { mesh, uplink, .. } = &self.config;
        let count = self.daemon.gateway().memory().members.len();
        let what = match self.config.mode {
            Mode::Observe => "watches, and changes nothing",
            Mode::DryRun => "observes, and logs its intended changes",
            Mode::Enforce => "holds everyone to a fair share",
        };
        format!(
            "{mesh} and {uplink}: {what}; {count} subscribers have classes, a decision every {}",
            self.daemon.gateway().epoch()
        )
    }

    /// Waits until something is due, or readable.
    fn wait(&self, signals: &Signals, listener: &Listener) {
        let left = self.daemon.due().since(now()).as_nanos();
        let timeout = Timespec {
            tv_sec: (left / 1_000_000_000).cast_signed(),
            tv_nsec: (left % 1_000_000_000).cast_signed(),
        };
        let mut descriptors = vec![signals.as_fd(), listener.as_fd()];
        descriptors.extend(self.daemon.kernel().packets());
        let mut fds: Vec<_> = descriptors.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        // A wait that a signal interrupts ends too.
        let _ = poll(&mut fds, Some(&timeout));
    }

    fn answer(&mut self, request: &Request) -> Answer {
        match request {
            // The socket's thread answers this from the published status.
            Request::Status => Answer::Status(Box::new(self.status())),
            Request::Pause => {
                self.daemon.pause(true);
                Answer::Done("the limits are open; let them hold again: evenair gateway resume".into())
            }
            Request::Resume => {
                self.daemon.pause(false);
                Answer::Done("the limits hold".into())
            }
            Request::Confirm if self.confirm_by.take().is_some() => {
                self.daemon.note(Event::Confirmed);
                Answer::Done("it stays".into())
            }
            Request::Confirm => Answer::Refused("nothing waits to be confirmed".into()),
            Request::HandOver if self.confirm_by.is_some() => {
                Answer::Refused("a file on trial is not handed over: confirm it first".into())
            }
            Request::HandOver => {
                self.hands_over = true;
                Answer::Done("it ends, and leaves all to the next one".into())
            }
            Request::Reload => match self.reload() {
                Ok(words) => Answer::Done(words),
                Err(problem) => Answer::Refused(format!("all goes on as before: {problem}")),
            },
        }
    }

    fn reload(&mut self) -> Result<String, Problem> {
        let mut leases = self.leases.clone();
        let files = OperatorFiles::read(&self.path)?;
        let meaning = files.meaning(&self.path, wall_ms() / 1000, &mut leases)?;
        let Meaning { mut config, subscribers, troubles } = meaning;
        config.mode = self.options.mode.unwrap_or(config.mode);
        if config.is_nobodys(&subscribers) && !self.config.is_nobodys(self.daemon.gateway().listed()) {
            let why = "no subscribers are left: an empty list is taken for a mistake";
            return Err(Mistake::of(&self.path.display().to_string(), why).of_key("subscribers").into());
        }
        confine::still_reaches(&self.held, &self.path, &config)?;
        let count = subscribers.len();
        self.daemon.reload(now(), &config, subscribers)?;
        self.unread = troubles.iter().map(ToString::to_string).collect();
        self.troubles.extend(self.unread.iter().cloned());
        (self.config, self.leases, self.files) = (config, leases, files);
        if let Err(failure) = self.state.keep_files(&self.files) {
            self.troubles.push(failure.to_string());
        }
        Ok(format!("read again: {count} subscribers"))
    }

    /// Returns the times at which the lease files were last changed.
    fn changes(&self) -> Vec<Option<SystemTime>> {
        let files = self.config.leases.iter().map(|lease| &lease.file);
        files.map(|file| std::fs::metadata(file).and_then(|file| file.modified()).ok()).collect()
    }

    /// Reads the lease files again if they changed.
    fn follow_leases(&mut self, at: Instant, told: &mut impl FnMut(&str)) {
        if at.since(self.looked) < LEASES {
            return;
        }
        self.looked = at;
        let changed = self.changes();
        // An unreadable file is read again: a server may have been writing it.
        if changed == self.changed && self.leases.are_all() {
            return;
        }
        self.changed = changed;
        let (at_s, leases) = (wall_ms() / 1000, &mut self.leases);
        let unread = match self.files.subscribers(&self.config, &self.path, at_s, leases) {
            Ok((subscribers, troubles)) => {
                self.daemon.on_subscribers(subscribers);
                troubles.iter().map(ToString::to_string).collect()
            }
            Err(mistake) => vec![format!("leases are not followed: {mistake}")],
        };
        if unread != self.unread {
            unread.iter().for_each(|trouble| told(trouble));
            self.unread = unread;
        }
    }

    fn status(&self) -> Status {
        let gateway = self.daemon.gateway();
        let classes = gateway.statuses().to_vec();
        let (is_paused, is_blind) = self.daemon.is_open();
        let at = now();
        Status {
            schema: SCHEMA,
            at_ms: wall_ms(),
            epochs: gateway.epochs().0,
            epoch_s: gateway.epochs().1.as_secs_f64(),
            mode: self.config.mode,
            is_paused,
            is_blind,
            confirm_by_ms: self.confirm_by.map(|by| wall_ms() + by.since(at).as_nanos() / 1_000_000),
            law: law(&self.config.law).into(),
            decision: gateway.decision(),
            total_bps: gateway.allocation().total.map(evenair_units::Rate::as_bps),
            fairness: fairness(&classes),
            strangers: gateway.strangers().len(),
            troubles: self.troubles.clone(),
            classes,
        }
    }

    /// Writes the record and saves the state; returns whether an event has happened.
    fn write(&mut self, told: &mut impl FnMut(&str)) -> bool {
        let happened = self.daemon.take_happened();
        if happened.is_empty() {
            return false;
        }
        for what in &happened {
            if let What::Event(event) = what {
                told(&words(event));
                if matches!(event, Event::Trouble(_) | Event::Diverted(_)) {
                    self.troubles.push(trouble(event));
                }
            }
        }
        if let Some(page) = &self.page {
            page.show(self.status());
        }
        let surplus = self.troubles.len().saturating_sub(TROUBLES);
        self.troubles.drain(..surplus);
        let gateway = self.daemon.gateway();
        let written = self.log.write(wall_ms(), happened, || gateway.beginning());
        let unwritten = written.err().map(|error| format!("{}: {error}", self.config.log_folder().display()));
        let unkept = self.state.keep(&self.daemon.kept()).err().map(|failure| failure.to_string());
        for trouble in unwritten.into_iter().chain(unkept) {
            told(&trouble);
            // A full disk fails in each epoch; the status lists it once.
            if !self.troubles.contains(&trouble) {
                self.troubles.push(trouble);
            }
        }
        true
    }

    fn end(mut self, why: &str, told: &mut impl FnMut(&str)) -> Result<(), Problem> {
        let ended = self.daemon.stop(why, self.confirm_by.is_some());
        self.write(told);
        let how = ended?;
        if self.config.mode == Mode::Enforce && how != OnStop::Remove {
            told("the classes stay; remove them: evenair gateway clear");
        }
        Ok(())
    }
}

/// Checks that no path leads around the limits.
fn nothing_past(kernel: &mut Linux, subscribers: &Subscribers) -> Result<(), Failure> {
    let mut words = kernel.unfit(subscribers)?;
    // If the devices are swapped, all other findings are wrong too.
    if words.is_empty() {
        words.extend(kernel.bypasses(subscribers)?.iter().map(ToString::to_string));
    }
    if words.is_empty() {
        return Ok(());
    }
    Err(Failure::new("the limits would not hold", words.join("\n")))
}

/// Returns an event's words for the list of troubles.
fn trouble(event: &Event) -> String {
    let words = words(event);
    words.strip_prefix("trouble: ").map_or_else(|| words.clone(), String::from)
}

/// Returns an event in words.
fn words(event: &Event) -> String {
    match event {
        Event::Started(_) => "begun".into(),
        Event::Stopped(why) => format!("ended: {why}"),
        Event::Trouble(why) => format!("trouble: {why}"),
        Event::Mended(count, lines) => {
            format!("{count} things were not as they were left, and are again: {}", lines.join("; "))
        }
        Event::Left(count, lines) => {
            format!(
                "another program set the rates of {count} classes; they stay until the file is read again: {}",
                lines.join("; ")
            )
        }
        Event::WouldChange(0, _) => "would change nothing more".into(),
        Event::WouldChange(count, lines) => format!("would change {count} things: {}", lines.join("; ")),
        Event::Diverted(names) => format!(
            "trouble: packets of {} do not come to their classes: another rule or filter gives them a priority behind the gateway's own, and they pass \
            without their limits, in e7a1:2 or past all classes. The law waits. To find the rule: evenair gateway check; nft list ruleset | grep priority; tc filter show dev DEVICE egress",
            names.join(", ")
        ),
        Event::NotDiverted => "all packets come to their classes again".into(),
        Event::Opened => "nothing is to be read: the limits are open".into(),
        Event::Closed => "there is something to be read again: the limits hold".into(),
        Event::Paused => "paused: the limits are open".into(),
        Event::Resumed => "resumed: the limits hold".into(),
        Event::Confirmed => "confirmed".into(),
        Event::Reloaded => "the file was read again".into(),
    }
}

/// Returns a law's name.
const fn law(law: &GatewayParams) -> &'static str {
    match law {
        GatewayParams::Fixed(_) => "fixed",
        GatewayParams::Arc(_) => "arc",
        GatewayParams::Pfrc(_) => "pfrc",
        GatewayParams::DelayCap(_) => "delay-cap",
        _ => "a law of the user's own",
    }
}

/// Returns the configuration, or, if the file has a mistake, the state folder and its devices, which
/// suffice to clear.
fn for_clearing(path: &Path) -> Result<Config, Problem> {
    let mistake = match Config::load(path) {
        Ok(config) => return Ok(config),
        Err(mistake) => mistake,
    };
    let folder = Config::state_of(path);
    // A gateway that never ran has left nothing.
    let kept = if folder.is_dir() { State::take(&folder)?.read()? } else { None };
    let Some(Kept { devices: [mesh, uplink], .. }) = kept else { return Err(mistake.into()) };
    Ok(Config { state: folder, ..Config::between(&mesh, &uplink)? })
}

/// Removes the state that an ended daemon left, exactly as the state folder records it. With `all`,
/// also removes a tree and a table with evenair's number and name that no state folder records.
///
/// # Errors
/// If a daemon runs, or the kernel refuses.
pub fn clear(path: &Path, all: bool) -> Result<String, Problem> {
    use crate::kernel::{Kernel as _, Offloads, Root};
    use crate::plan::{Before, restoration};
    let config = for_clearing(path)?;
    let state = State::take(&config.state)?;
    let kept = if all { state.read().unwrap_or_default() } else { state.read()? };
    let devices = [config.mesh.clone(), config.uplink.clone()];
    // A device may be gone for good; the rest is cleared.
    let mut kernel = Linux::without_devices(&config)?;
    let found = kernel.find()?;
    let before = kept.as_ref().filter(|kept| kept.devices == devices).and_then(|kept| kept.before.clone());
    let before = match before {
        Some(before) => before,
        None if all => [&found.down, &found.up]
            .map(|found| Before { root: Root::Usual, offloads: Offloads::clone(&found.offloads) }),
        None => return Ok("nothing of evenair's is kept for these devices".into()),
    };
    let [down, up] = &before;
    let plan = restoration([down, up], &found);
    kernel.apply(&plan)?;
    let memory = kept.map(|kept| kept.memory).unwrap_or_default();
    state.keep(&Kept { devices, memory, ..Kept::default() })?;
    Ok(format!("{} things are as they were before", plan.len()))
}
