//! The gateway with its kernel, step by step: time comes in, everything that happened comes out. Whoever has a clock calls [`Daemon::step`].

use crate::config::{Config, Mode, OnStop};
use crate::gateway::{Counted, Gateway, Memory};
use crate::grip::Grip;
use crate::kernel::{Failure, Kernel, Readings};
use crate::looks::EVERY;
use crate::plan::Before;
use crate::record::{Event, What};
use crate::{Side, Subscribers};
use evenair_units::{Duration, Instant, Volume};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// How often addresses are looked for that were not seen as packets.
const SCAN: Duration = Duration::from_secs(1);

/// So many subscribers are named in one line.
const NAMED: usize = 5;

/// What a daemon must find again when it is started anew, after whatever end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The devices, mesh and uplink.
    pub devices: [String; 2],
    /// What was on them before; none, as long as nothing was changed.
    pub before: Option<[Before; 2]>,
    /// What the gateway knows.
    pub memory: Memory,
    /// Whether the operator opened the limits: a crash does not close them.
    #[serde(default)]
    pub is_paused: bool,
}

/// The gateway with its kernel.
#[derive(Debug)]
pub struct Daemon<K> {
    grip: Grip<K>,
    gateway: Gateway,
    config: Config,
    /// What is counted until limits are where they should be is no measure of them.
    starts_anew: bool,
    next_look: Instant,
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
    /// Looks at what is there and gets ready; nothing changes yet. `kept` is what the last daemon left, `takes_over` whether queues
    /// of others may go until this one ends.
    ///
    /// # Errors
    /// If the devices are not there, or not to be touched; says what to do.
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
        let mut grip = match config.mode {
            Mode::Enforce => Grip::new(kernel, config, (known.as_ref(), takes_over))?,
            Mode::Observe | Mode::DryRun => Grip::loose(kernel, config),
        };
        let gateway = Gateway::new(now, config, subscribers, kept.memory);
        // What passed before is nothing to the gateway.
        let sees = grip.kernel.passed(&mut |_| ()).is_some();
        let is_paused = kept.is_paused && config.mode == Mode::Enforce;
        let mut happened = vec![gateway.beginning(), What::Event(Event::Started(config.mode))];
        happened.extend(is_paused.then_some(What::Event(Event::Paused)));
        Ok(Self {
            grip,
            config: config.clone(),
            starts_anew: false,
            next_look: now + EVERY,
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

    /// What is to be written down before anything changes.
    pub fn kept(&self) -> Kept {
        let devices = [self.config.mesh.clone(), self.config.uplink.clone()];
        let (before, memory) = (self.grip.before(), self.gateway.memory());
        Kept { devices, before, memory, is_paused: self.is_paused }
    }

    /// Puts up what is wanted, on top of whatever of ours is there.
    ///
    /// # Errors
    /// At the first change that fails. What stands by then is taken down again by [`stop`](Self::stop).
    pub fn begin(&mut self, now: Instant) -> Result<(), Failure> {
        if self.config.mode == Mode::Enforce {
            self.grip.begin(self.gateway.wanted(self.is_paused))?;
        }
        self.start(now);
        Ok(())
    }

    /// An epoch begins: whatever was counted before is no part of it.
    fn start(&mut self, now: Instant) {
        let counters = self.counted();
        self.gateway.on_start(now, &self.source(counters.as_ref()), self.sees);
    }

    /// When there is something to do next.
    pub fn due(&self) -> Instant {
        if self.grip.is_settled() { self.next_look.min(self.next_epoch) } else { self.next_look }
    }

    /// Does what is due.
    pub fn step(&mut self, now: Instant) {
        self.take_packets();
        if now >= self.next_look {
            self.look(now);
            // Looks that were missed are not made up for.
            self.next_look = later(self.next_look, EVERY, now);
        }
        // Rates that come down are no epoch's.
        if now >= self.next_epoch && self.grip.is_settled() {
            self.epoch(now);
            self.next_epoch = later(self.next_epoch, self.gateway.epoch(), now);
        }
    }

    fn take_packets(&mut self) {
        let gateway = &mut self.gateway;
        if let Some(lost) = self.grip.kernel.passed(&mut |packet| gateway.see(packet)) {
            // Who does not see all packets does not know how busy anyone was.
            self.sees &= lost == self.lost;
            self.lost = lost;
        } else {
            self.sees = false;
            gateway.see_nothing();
        }
    }

    fn look(&mut self, now: Instant) {
        if self.config.mode == Mode::Enforce {
            self.check(now);
            self.descend(now);
            for side in Side::ALL {
                let minors = self.gateway.active(side);
                if let Ok(lines) = self.grip.kernel.backlogs(side, &minors) {
                    self.gateway.look(side, &lines);
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

    /// One bucket for both directions is shared by who waits in them now.
    fn share(&mut self) {
        if let Some(totals) = self.gateway.totals().filter(|_| !self.is_paused) {
            let done = self.grip.share(totals);
            self.tell(done);
        }
    }

    /// Whether somebody led packets past the limits: that waits for no epoch's end.
    fn check(&mut self, now: Instant) {
        let is_other = self.grip.is_other();
        self.tell(Ok(()));
        if is_other && now >= self.next_check {
            // Others change the packet filter as often as they like, and what it takes to look is theirs to choose.
            self.next_check = now + SCAN;
            self.mend();
        }
    }

    /// Limits that come down come down by a step.
    fn descend(&mut self, now: Instant) {
        if !self.grip.is_settled() {
            let counted = self.counted();
            self.starts_anew |= self.grip.descend(now, counted.as_ref());
            self.advance();
        }
        if self.grip.is_settled() && std::mem::take(&mut self.starts_anew) {
            self.start(now);
            self.next_epoch = now + self.gateway.epoch();
        }
    }

    /// Who was counted by the packet filter alone, and who answers on the mesh's own link.
    fn scan(&mut self, now: Instant) {
        if self.config.neighbours
            && let Ok(neighbours) = self.grip.kernel.neighbours()
        {
            self.gateway.meet(now, &neighbours);
        }
        self.take_offered();
    }

    /// What the packet filter has counted since this was asked last.
    fn take_offered(&mut self) {
        if self.config.mode != Mode::Enforce {
            return;
        }
        let Ok(offered) = self.grip.kernel.offered() else { return };
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
        self.say_who_is_astray();
        let is_blind = self.gateway.is_blind();
        if is_blind != std::mem::replace(&mut self.is_open, is_blind) {
            self.happened.push(What::Event(if is_blind { Event::Opened } else { Event::Closed }));
        }
        match self.config.mode {
            Mode::Observe => (),
            Mode::DryRun => {
                let would = self.grip.would_change(&self.gateway.wanted(self.is_paused));
                self.note(would);
            }
            Mode::Enforce => self.mend(),
        }
    }

    fn say_who_is_astray(&mut self) {
        let Some(mut names) = self.gateway.take_astray() else { return };
        names.truncate(NAMED);
        let event = if names.is_empty() { Event::NotAstray } else { Event::Astray(names) };
        self.happened.push(What::Event(event));
    }

    /// What counts: no queue does where nothing is set.
    fn source<'a>(&self, counters: Option<&'a [Readings; 2]>) -> Counted<'a> {
        match counters {
            Some(counters) => Counted::Queues(counters),
            None if self.config.mode == Mode::Enforce => Counted::Nothing,
            None => Counted::Packets,
        }
    }

    /// Where the queues' counters stand, if they count, and are to be read.
    fn counted(&mut self) -> Option<[Readings; 2]> {
        if self.config.mode != Mode::Enforce {
            return None;
        }
        let mut read = |side| self.grip.kernel.counters(side);
        match (read(Side::Down), read(Side::Up)) {
            (Ok(down), Ok(up)) => Some([down, up]),
            (Err(failure), _) | (_, Err(failure)) => {
                self.tell(Err(failure));
                None
            }
        }
    }

    /// Looks at what is there, and makes it what is wanted.
    fn mend(&mut self) {
        let done = self.grip.mend(self.gateway.wanted(self.is_paused));
        self.tell(done);
    }

    /// Makes what is known to be there what is wanted.
    fn advance(&mut self) {
        if self.config.mode == Mode::Enforce {
            let done = self.grip.advance(self.gateway.wanted(self.is_paused));
            self.tell(done);
        }
    }

    fn tell(&mut self, done: Result<(), Failure>) {
        let trouble = done.err().map(|failure| Event::Trouble(failure.to_string()));
        self.happened.extend(self.grip.take_told().into_iter().chain(trouble).map(What::Event));
    }

    /// Opens the limits, or lets them hold again.
    pub fn pause(&mut self, is_paused: bool) {
        if self.is_paused != is_paused {
            self.is_paused = is_paused;
            self.happened.push(What::Event(if is_paused { Event::Paused } else { Event::Resumed }));
            self.starts_anew = !is_paused;
            self.advance();
        }
    }

    /// Others subscribe from now on, or have other addresses.
    pub fn on_subscribers(&mut self, subscribers: Subscribers) {
        let heard = self.gateway.on_subscribers(subscribers);
        self.happened.extend(heard.map(What::Heard));
        self.advance();
    }

    /// Another configuration, or other subscribers.
    ///
    /// # Errors
    /// If a key is another that wants a new start, such as a device.
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
        self.grip.on_config(config);
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

    /// Ends as the operator wants it to, or, if `always`, as it was before.
    ///
    /// # Errors
    /// If the kernel refuses; then what the last daemon kept is still needed.
    pub fn stop(&mut self, why: &str, always: bool) -> Result<OnStop, Failure> {
        self.happened.push(What::Event(Event::Stopped(why.into())));
        let how = if always { OnStop::Remove } else { self.config.on_stop };
        match how {
            OnStop::Remove => self.grip.restore()?,
            OnStop::Open if self.grip.before().is_some() => self.pause(true),
            OnStop::Open | OnStop::Freeze => (),
        }
        // Whoever begins again wants limits.
        self.is_paused = false;
        Ok(how)
    }

    /// Ends, and leaves all as it is: the next daemon adopts it, and no packet is lost meanwhile.
    pub fn hand_over(&mut self) {
        self.happened.push(What::Event(Event::Stopped("handed over to the next".into())));
    }

    /// What happened since this was asked last.
    pub fn take_happened(&mut self) -> Vec<What> {
        std::mem::take(&mut self.happened)
    }

    /// Something for the record that happened to the daemon itself.
    pub fn note(&mut self, event: Event) {
        self.happened.push(What::Event(event));
    }

    /// The gateway, to be looked at.
    pub const fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// Whether the limits are open, and why: the operator's wish, or that nothing is known.
    pub const fn is_open(&self) -> (bool, bool) {
        (self.is_paused, self.is_open)
    }

    /// The kernel.
    pub const fn kernel(&self) -> &K {
        &self.grip.kernel
    }

    /// The kernel, to be meddled with.
    #[cfg(test)]
    pub(crate) const fn kernel_mut(&mut self) -> &mut K {
        &mut self.grip.kernel
    }
}

/// The next time of something that is due every so often, after now.
fn later(due: Instant, every: Duration, now: Instant) -> Instant {
    let next = due + every;
    if next > now { next } else { now + every }
}

#[cfg(test)]
mod tests;
