//! The gateway with its kernel, step by step: time is the input, events are the output. The owner of
//! the clock calls [`Daemon::step`].

use crate::backlogs::SAMPLE_INTERVAL;
use crate::config::{Config, Mode, OnStop};
use crate::gateway::{Counted, Gateway, Memory};
use crate::kernel::{Failure, Kernel, Readings};
use crate::plan::Before;
use crate::reconcile::Reconciler;
use crate::record::{Event, What};
use crate::{Side, Subscribers};
use evenair_units::{Duration, Instant, Volume};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Time between two readings of addresses from the packet filter and the neighbour table.
const SCAN: Duration = Duration::from_secs(1);

/// Largest number of subscribers that one log line names.
const NAMED: usize = 5;

/// The state that a daemon must find again after a restart, however the last one ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The devices, mesh and uplink.
    pub devices: [String; 2],
    /// The devices' earlier settings; `None` as long as nothing was changed.
    pub before: Option<[Before; 2]>,
    /// The gateway's memory.
    pub memory: Memory,
    /// Whether the operator opened the limits: a crash does not close them.
    #[serde(default)]
    pub is_paused: bool,
}

/// The gateway with its kernel.
#[derive(Debug)]
pub struct Daemon<K> {
    reconciler: Reconciler<K>,
    gateway: Gateway,
    config: Config,
    /// Whether the next epoch starts once the limits are in place: bytes counted before that do not
    /// measure them.
    starts_anew: bool,
    next_sample: Instant,
    next_scan: Instant,
    next_epoch: Instant,
    next_check: Instant,
    offered: BTreeMap<IpAddr, Volume>,
    sees: bool,
    lost: u64,
    is_open: bool,
    is_paused: bool,
    happened: Vec<What>,
}

impl<K: Kernel> Daemon<K> {
    /// Reads the present state of the devices and prepares; nothing changes yet. `kept` is the last
    /// daemon's persistent state. `takes_over` allows replacing foreign queues until this daemon ends.
    ///
    /// # Errors
    /// If a device is missing, or must not be changed; the message names the remedy.
    pub fn new(
        now: Instant,
        config: &Config,
        subscribers: Subscribers,
        kernel: K,
        (kept, takes_over): (Option<Kept>, bool),
    ) -> Result<Self, Failure> {
        let kept = kept.unwrap_or_default();
        let devices = [config.mesh.clone(), config.uplink.clone()];
        let known = kept.before.filter(|_| kept.devices == devices);
        let mut reconciler = match config.mode {
            Mode::Enforce => Reconciler::new(kernel, config, (known.as_ref(), takes_over))?,
            Mode::Observe | Mode::DryRun => Reconciler::loose(kernel, config),
        };
        let gateway = Gateway::new(now, config, subscribers, kept.memory);
        // Packets from before the start do not count.
        let sees = reconciler.kernel.passed(&mut |_| ()).is_some();
        let is_paused = kept.is_paused && config.mode == Mode::Enforce;
        let mut happened = vec![gateway.beginning(), What::Event(Event::Started(config.mode))];
        happened.extend(is_paused.then_some(What::Event(Event::Paused)));
        Ok(Self {
            reconciler,
            config: config.clone(),
            starts_anew: false,
            next_sample: now + SAMPLE_INTERVAL,
            next_scan: now + SCAN,
            next_epoch: now + gateway.epoch(),
            next_check: now,
            offered: BTreeMap::new(),
            sees,
            lost: 0,
            is_open: false,
            is_paused,
            happened,
            gateway,
        })
    }

    /// Returns the state that must be saved before anything changes.
    pub fn kept(&self) -> Kept {
        let devices = [self.config.mesh.clone(), self.config.uplink.clone()];
        let (before, memory) = (self.reconciler.before(), self.gateway.memory());
        Kept { devices, before, memory, is_paused: self.is_paused }
    }

    /// Installs the wanted state, on top of any of the gateway's own that exists.
    ///
    /// # Errors
    /// At the first change that fails. [`stop`](Self::stop) then removes the changes made so far.
    pub fn begin(&mut self, now: Instant) -> Result<(), Failure> {
        if self.config.mode == Mode::Enforce {
            self.reconciler.begin(self.gateway.wanted(self.is_paused))?;
        }
        self.start(now);
        Ok(())
    }

    /// Starts an epoch: earlier counts are no part of it.
    fn start(&mut self, now: Instant) {
        let counters = self.counted();
        self.gateway.on_start(now, &self.source(counters.as_ref()), self.sees);
    }

    /// Returns the time of the next step.
    pub fn due(&self) -> Instant {
        if self.reconciler.is_settled() { self.next_sample.min(self.next_epoch) } else { self.next_sample }
    }

    /// Does all steps that are due.
    pub fn step(&mut self, now: Instant) {
        self.take_packets();
        if now >= self.next_sample {
            self.sample(now);
            // Missed samples are not caught up.
            self.next_sample = later(self.next_sample, SAMPLE_INTERVAL, now);
        }
        // No epoch ends while limits still come down.
        if now >= self.next_epoch && self.reconciler.is_settled() {
            self.epoch(now);
            self.next_epoch = later(self.next_epoch, self.gateway.epoch(), now);
        }
    }

    fn take_packets(&mut self) {
        let gateway = &mut self.gateway;
        if let Some(lost) = self.reconciler.kernel.passed(&mut |packet| gateway.see(packet)) {
            // If some packets were not seen, it is unknown how busy each subscriber was.
            self.sees &= lost == self.lost;
            self.lost = lost;
        } else {
            self.sees = false;
            gateway.see_nothing();
        }
    }

    fn sample(&mut self, now: Instant) {
        if self.config.mode == Mode::Enforce {
            self.check(now);
            self.lower(now);
            for side in Side::ALL {
                let minors = self.gateway.active(side);
                if let Ok(lines) = self.reconciler.kernel.backlogs(side, &minors) {
                    self.gateway.add_backlogs(side, &lines);
                }
            }
            self.share();
        }
        if now >= self.next_scan {
            self.next_scan = later(self.next_scan, SCAN, now);
            self.scan(now);
        }
        let (is_other, heard) = self.gateway.welcome(now);
        self.happened.extend(heard.into_iter().map(What::Heard));
        if is_other {
            self.advance();
        }
    }

    /// Divides one bucket for both directions by the present backlogs.
    fn share(&mut self) {
        if let Some(totals) = self.gateway.totals().filter(|_| !self.is_paused) {
            let done = self.reconciler.share(totals);
            self.tell(done);
        }
    }

    /// Repairs the installed state at once, not at the epoch's end, if another program diverted
    /// packets.
    fn check(&mut self, now: Instant) {
        let is_other = self.reconciler.is_other();
        self.tell(Ok(()));
        if is_other && now >= self.next_check {
            // Other programs may change the packet filter at any rate: this bounds the cost of checking
            // it.
            self.next_check = now + SCAN;
            self.mend();
        }
    }

    /// Lowers limits by one step.
    fn lower(&mut self, now: Instant) {
        if !self.reconciler.is_settled() {
            let counted = self.counted();
            self.starts_anew |= self.reconciler.lower(now, counted.as_ref());
            self.advance();
        }
        if self.reconciler.is_settled() && std::mem::take(&mut self.starts_anew) {
            self.start(now);
            self.next_epoch = now + self.gateway.epoch();
        }
    }

    /// Reads the addresses that only the packet filter counted, and the hosts that answer on the mesh's
    /// own link.
    fn scan(&mut self, now: Instant) {
        if self.config.neighbours
            && let Ok(neighbours) = self.reconciler.kernel.neighbours()
        {
            self.gateway.meet(now, &neighbours);
        }
        self.take_offered();
    }

    /// Reads the packet filter's counts since the last call.
    fn take_offered(&mut self) {
        if self.config.mode != Mode::Enforce {
            return;
        }
        let Ok(offered) = self.reconciler.kernel.offered() else { return };
        let before = std::mem::take(&mut self.offered);
        for one in offered {
            let then = before.get(&one.address).copied().filter(|then| then.bytes <= one.volume.bytes);
            let then = then.unwrap_or_default();
            self.offered.insert(one.address, one.volume);
            let more = Volume {
                packets: one.volume.packets.saturating_sub(then.packets),
                bytes: one.volume.bytes - then.bytes,
            };
            if more.packets > 0 {
                self.gateway.offer(one.address, more);
            }
        }
    }

    fn epoch(&mut self, now: Instant) {
        if self.is_paused {
            return;
        }
        self.take_offered();
        let counters = self.counted();
        let counted = self.source(counters.as_ref());
        let sees = std::mem::replace(&mut self.sees, true);
        let heard = self.gateway.on_epoch(now, &counted, sees);
        self.happened.extend(heard.into_iter().map(What::Heard));
        self.report_diverted();
        let is_blind = self.gateway.is_blind();
        if is_blind != std::mem::replace(&mut self.is_open, is_blind) {
            self.happened.push(What::Event(if is_blind { Event::Opened } else { Event::Closed }));
        }
        match self.config.mode {
            Mode::Observe => (),
            Mode::DryRun => {
                let would = self.reconciler.would_change(&self.gateway.wanted(self.is_paused));
                self.note(would);
            }
            Mode::Enforce => self.mend(),
        }
    }

    fn report_diverted(&mut self) {
        let Some(mut names) = self.gateway.take_diverted() else { return };
        names.truncate(NAMED);
        let event = if names.is_empty() { Event::NotDiverted } else { Event::Diverted(names) };
        self.happened.push(What::Event(event));
    }

    /// Returns the counts to use: without enforcement no queue counts.
    fn source<'a>(&self, counters: Option<&'a [Readings; 2]>) -> Counted<'a> {
        match counters {
            Some(counters) => Counted::Queues(counters),
            None if self.config.mode == Mode::Enforce => Counted::Nothing,
            None => Counted::Packets,
        }
    }

    /// Returns the queues' counters, if the gateway enforces and they can be read.
    fn counted(&mut self) -> Option<[Readings; 2]> {
        if self.config.mode != Mode::Enforce {
            return None;
        }
        let mut read = |side| self.reconciler.kernel.counters(side);
        match (read(Side::Down), read(Side::Up)) {
            (Ok(down), Ok(up)) => Some([down, up]),
            (Err(failure), _) | (_, Err(failure)) => {
                self.tell(Err(failure));
                None
            }
        }
    }

    /// Reads the installed state and changes it to the wanted state.
    fn mend(&mut self) {
        let done = self.reconciler.mend(self.gateway.wanted(self.is_paused));
        self.tell(done);
    }

    /// Changes the last known installed state to the wanted state, without reading it.
    fn advance(&mut self) {
        if self.config.mode == Mode::Enforce {
            let done = self.reconciler.advance(self.gateway.wanted(self.is_paused));
            self.tell(done);
        }
    }

    fn tell(&mut self, done: Result<(), Failure>) {
        let trouble = done.err().map(|failure| Event::Trouble(failure.to_string()));
        self.happened.extend(self.reconciler.take_told().into_iter().chain(trouble).map(What::Event));
    }

    /// Opens the limits, or sets them again.
    pub fn pause(&mut self, is_paused: bool) {
        if self.is_paused != is_paused {
            self.is_paused = is_paused;
            self.happened.push(What::Event(if is_paused { Event::Paused } else { Event::Resumed }));
            self.starts_anew = !is_paused;
            self.advance();
        }
    }

    /// Replaces the subscribers and their addresses.
    pub fn on_subscribers(&mut self, subscribers: Subscribers) {
        let heard = self.gateway.on_subscribers(subscribers);
        self.happened.extend(heard.map(What::Heard));
        self.advance();
    }

    /// Replaces the configuration and the subscribers.
    ///
    /// # Errors
    /// If a changed key, such as a device, needs a restart.
    pub fn reload(&mut self, now: Instant, config: &Config, subscribers: Subscribers) -> Result<(), Failure> {
        let others = self.config.others_for_a_start(config);
        if !others.is_empty() {
            return Err(Failure::new(
                "reload",
                format!("of another {}: stop, and run again", others.join(", ")),
            ));
        }
        let is_other = config.law != self.config.law;
        let heard = self.gateway.on_config(now, config, subscribers);
        self.reconciler.on_config(config);
        self.config = config.clone();
        self.happened.push(What::Event(Event::Reloaded));
        self.happened.extend(heard.map(What::Heard));
        if is_other {
            self.happened.push(self.gateway.beginning());
            self.next_epoch = now + self.gateway.epoch();
        }
        self.advance();
        Ok(())
    }

    /// Ends as the configuration demands, or, if `always`, restores the earlier state.
    ///
    /// # Errors
    /// If the kernel refuses a change; then the last daemon's saved state is still needed.
    pub fn stop(&mut self, why: &str, always: bool) -> Result<OnStop, Failure> {
        self.happened.push(What::Event(Event::Stopped(why.into())));
        let how = if always { OnStop::Remove } else { self.config.on_stop };
        match how {
            OnStop::Remove => self.reconciler.restore()?,
            OnStop::Open if self.reconciler.before().is_some() => self.pause(true),
            OnStop::Open | OnStop::Freeze => (),
        }
        // The next start sets limits.
        self.is_paused = false;
        Ok(how)
    }

    /// Ends and leaves the installed state: the next daemon adopts it without losing a packet.
    pub fn hand_over(&mut self) {
        self.happened.push(What::Event(Event::Stopped("handed over to the next".into())));
    }

    /// Takes the events since the last call.
    pub fn take_happened(&mut self) -> Vec<What> {
        std::mem::take(&mut self.happened)
    }

    /// Adds an event of the daemon itself to the record.
    pub fn note(&mut self, event: Event) {
        self.happened.push(What::Event(event));
    }

    /// Returns the gateway, read-only.
    pub const fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// Returns whether the limits are open by the operator's request, and whether they are open for
    /// lack of counts.
    pub const fn is_open(&self) -> (bool, bool) {
        (self.is_paused, self.is_open)
    }

    /// Returns the kernel.
    pub const fn kernel(&self) -> &K {
        &self.reconciler.kernel
    }

    /// Returns the kernel, for tests that change it.
    #[cfg(test)]
    pub(crate) const fn kernel_mut(&mut self) -> &mut K {
        &mut self.reconciler.kernel
    }
}

/// Returns the next time after now of a periodic task.
fn later(due: Instant, every: Duration, now: Instant) -> Instant {
    let next = due + every;
    if next > now { next } else { now + every }
}

#[cfg(test)]
mod tests;
