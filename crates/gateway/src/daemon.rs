//! The gateway with its kernel, step by step: time comes in, everything that happened comes out. Whoever has a clock calls [`Daemon::step`].

use crate::config::{ByHand, Config, Mode, OnStop};
use crate::descent::Descent;
use crate::gateway::{Counted, Gateway, Memory};
use crate::kernel::{AllFound, Failure, Kernel, Readings, Root, Stamp};
use crate::looks::EVERY;
use crate::plan::{Before, Change, Names, after, difference, restoration};
use crate::record::{Event, What};
use crate::tree::{Class, Trees};
use crate::{Side, Subscribers};
use evenair_units::{Duration, Instant, Volume};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The gateway's table of the packet filter.
pub const TABLE: &str = "evenair";
/// So many lines of a plan are written down.
const LINES: usize = 20;
/// How often addresses are looked for that were not seen as packets.
const SCAN: Duration = Duration::from_secs(1);

/// What a daemon must find again when it is started anew, after whatever end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The devices, mesh and uplink.
    pub devices: [String; 2],
    /// What was on them before; none, as long as nothing was changed.
    pub before: Option<[Before; 2]>,
    /// What the gateway knows.
    pub memory: Memory,
}

/// The gateway with its kernel.
#[derive(Debug)]
pub struct Daemon<K> {
    kernel: K,
    gateway: Gateway,
    config: Config,
    before: Option<[Before; 2]>,
    /// What is there, as far as is known.
    there: AllFound,
    /// What it was told by when it was looked at last.
    stamp: Option<Stamp>,
    /// Rates that somebody else gave, and that stay.
    left: BTreeMap<(Side, u16), Class>,
    descent: Descent,
    /// Nothing has held anybody yet.
    begins: bool,
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
        mut kernel: K,
        (kept, takes_over): (Option<Kept>, bool),
    ) -> Result<Self, Failure> {
        let kept = kept.unwrap_or_default();
        let (mut before, mut there) = (None, AllFound::default());
        if config.mode == Mode::Enforce {
            there = kernel.find()?;
            let devices = [config.mesh.clone(), config.uplink.clone()];
            let known = kept.before.filter(|_| kept.devices == devices);
            let known = known.as_ref();
            let mut own = Vec::new();
            for (side, device) in Side::ALL.into_iter().zip(&devices) {
                own.push(before_us(&there, side, device, (known, takes_over))?);
            }
            before = own.try_into().ok();
        }
        let gateway = Gateway::new(now, config, subscribers, kept.memory);
        // What passed before is nothing to the gateway.
        let sees = kernel.passed(&mut |_| ()).is_some();
        let next_epoch = now + gateway.epoch();
        let mut daemon = Self {
            kernel,
            config: config.clone(),
            before,
            there,
            stamp: None,
            left: BTreeMap::new(),
            descent: Descent::default(),
            begins: true,
            starts_anew: false,
            next_look: now + EVERY,
            next_scan: now + SCAN,
            next_epoch,
            next_check: now,
            offered: BTreeMap::new(),
            sees,
            lost: 0,
            is_open: false,
            is_paused: false,
            happened: Vec::new(),
            gateway,
        };
        daemon.happened.extend([daemon.gateway.beginning(), What::Event(Event::Started(config.mode))]);
        Ok(daemon)
    }

    /// What is to be written down before anything changes.
    pub fn kept(&self) -> Kept {
        let devices = [self.config.mesh.clone(), self.config.uplink.clone()];
        Kept { devices, before: self.before.clone(), memory: self.gateway.memory() }
    }

    /// Puts up what is wanted, on top of whatever of ours is there.
    ///
    /// # Errors
    /// At the first change that fails. What stands by then is taken down again by [`stop`](Self::stop).
    pub fn begin(&mut self, now: Instant) -> Result<(), Failure> {
        if self.config.mode == Mode::Enforce {
            self.mend(false)?;
        }
        self.begins = false;
        let counters = self.counted();
        self.gateway.on_start(now, &self.source(counters.as_ref()), self.sees);
        Ok(())
    }

    /// When there is something to do next.
    pub fn due(&self) -> Instant {
        if self.descent.is_over() { self.next_look.min(self.next_epoch) } else { self.next_look }
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
        if now >= self.next_epoch && self.descent.is_over() {
            self.epoch(now);
            self.next_epoch = later(self.next_epoch, self.gateway.epoch(), now);
        }
    }

    fn take_packets(&mut self) {
        let gateway = &mut self.gateway;
        match self.kernel.passed(&mut |packet| gateway.see(packet)) {
            Some(lost) => {
                // Who does not see all packets does not know how busy anyone was.
                self.sees &= lost == self.lost;
                self.lost = lost;
            }
            None => self.sees = false,
        }
    }

    fn look(&mut self, now: Instant) {
        let enforces = self.config.mode == Mode::Enforce;
        if enforces {
            self.check(now);
            self.descend(now);
            for side in Side::ALL {
                let minors = self.gateway.active(side);
                if let Ok(lines) = self.kernel.backlogs(side, &minors) {
                    self.gateway.look(side, &lines);
                }
            }
            if now >= self.next_scan {
                self.next_scan = later(self.next_scan, SCAN, now);
                self.scan();
            }
        }
        if let Some(heard) = self.gateway.welcome() {
            self.happened.push(What::Heard(heard));
            let done = self.advance();
            self.tell(done);
        }
    }

    /// Whether somebody led packets past the limits: that waits for no epoch's end.
    fn check(&mut self, now: Instant) {
        let stamp = Some(self.kernel.stamp());
        let notes = self.kernel.take_notes();
        self.happened.extend(notes.into_iter().map(|note| What::Event(Event::Trouble(note))));
        if stamp == self.stamp || now < self.next_check {
            return;
        }
        // Others change the packet filter as often as they like, and what it takes to look is theirs to choose.
        self.next_check = now + SCAN;
        let done = self.mend(true);
        self.tell(done);
    }

    /// Limits that come down come down by a step.
    fn descend(&mut self, now: Instant) {
        if !self.descent.is_over() {
            match self.counted() {
                Some(readings) => self.descent.step(now, &readings),
                None => self.descent.end(),
            }
            let done = self.advance();
            self.tell(done);
            self.starts_anew |= self.descent.has_carried();
        }
        if self.descent.is_over() && std::mem::take(&mut self.starts_anew) {
            let counters = self.counted();
            self.gateway.on_start(now, &self.source(counters.as_ref()), self.sees);
            self.next_epoch = now + self.gateway.epoch();
        }
    }

    /// Who was counted by the packet filter alone.
    fn scan(&mut self) {
        let Ok(offered) = self.kernel.offered() else { return };
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
        let counters = self.counted();
        let counted = self.source(counters.as_ref());
        let sees = std::mem::replace(&mut self.sees, true);
        let heard = self.gateway.on_epoch(now, &counted, sees);
        self.happened.extend(heard.into_iter().map(What::Heard));
        let is_blind = self.gateway.is_blind();
        if is_blind != std::mem::replace(&mut self.is_open, is_blind) {
            self.happened.push(What::Event(if is_blind { Event::Opened } else { Event::Closed }));
        }
        match self.config.mode {
            Mode::Observe => (),
            Mode::DryRun => self.say_what_would_change(),
            Mode::Enforce => {
                let done = self.mend(true);
                self.tell(done);
            }
        }
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
        let mut read = |side| self.kernel.counters(side);
        match (read(Side::Down), read(Side::Up)) {
            (Ok(down), Ok(up)) => Some([down, up]),
            (Err(failure), _) | (_, Err(failure)) => {
                self.tell(Err(failure));
                None
            }
        }
    }

    /// Looks at what is there, says what somebody changed, and makes it what is wanted.
    fn mend(&mut self, says: bool) -> Result<(), Failure> {
        self.stamp = Some(self.kernel.stamp());
        let found = self.kernel.find()?;
        if says && found != self.there {
            let mended = difference(&self.believed(), &found);
            let (left, mended): (Vec<_>, Vec<_>) =
                mended.into_iter().partition(|change| self.leaves(change, &found));
            for (changes, event) in [
                (left, Event::Left as fn(usize, Vec<String>) -> Event),
                (mended, Event::Mended as fn(usize, Vec<String>) -> Event),
            ] {
                if !changes.is_empty() {
                    let lines = self.lines(&changes);
                    self.happened.push(What::Event(event(changes.len(), lines)));
                }
            }
        }
        self.there = found;
        self.advance()
    }

    /// Whether what somebody else did to a class stays.
    fn leaves(&mut self, mending: &Change, found: &AllFound) -> bool {
        let Change::ChangeClass(side, minor, _) = *mending else { return false };
        let leaves = self.config.by_hand == ByHand::Leave;
        if let Some(&class) = found.of(side).tree.classes.get(&minor).filter(|_| leaves) {
            self.left.insert((side, minor), class);
        }
        leaves
    }

    /// What is known to be there, as what is wanted.
    fn believed(&self) -> Trees {
        Trees { down: self.there.down.tree.clone(), up: self.there.up.tree.clone() }
    }

    /// Makes what is known to be there what is wanted.
    fn advance(&mut self) -> Result<(), Failure> {
        if self.config.mode != Mode::Enforce {
            return Ok(());
        }
        let mut wanted = self.gateway.wanted(self.is_paused);
        self.descent.hold(&mut wanted, &self.there, self.begins);
        for (&(side, minor), class) in &self.left {
            wanted.of_mut(side).classes.entry(minor).and_modify(|wanted| *wanted = *class);
        }
        let plan = difference(&wanted, &self.there);
        if plan.is_empty() {
            return Ok(());
        }
        let done = self.kernel.apply(&plan);
        self.stamp = Some(self.kernel.stamp());
        // Of a plan that failed in its middle only the kernel knows what stands.
        self.there = match &done {
            Ok(()) => after(&wanted, &self.there),
            Err(_) => self.kernel.find().unwrap_or_default(),
        };
        done
    }

    fn say_what_would_change(&mut self) {
        let wanted = self.gateway.wanted(self.is_paused);
        let plan = difference(&wanted, &self.there);
        let lines = self.lines(&plan);
        self.happened.push(What::Event(Event::WouldChange(plan.len(), lines)));
        self.there = after(&wanted, &self.there);
    }

    fn tell(&mut self, done: Result<(), Failure>) {
        if let Err(failure) = done {
            self.happened.push(What::Event(Event::Trouble(failure.to_string())));
        }
    }

    /// The first lines of a plan.
    fn lines(&self, plan: &[Change]) -> Vec<String> {
        let names = Names::of(&self.config);
        plan.iter().flat_map(|change| change.lines(&names)).take(LINES).collect()
    }

    /// Opens the limits, or lets them hold again.
    pub fn pause(&mut self, is_paused: bool) {
        if self.is_paused != is_paused {
            self.is_paused = is_paused;
            self.happened.push(What::Event(if is_paused { Event::Paused } else { Event::Resumed }));
            self.starts_anew = !is_paused;
            let done = self.advance();
            self.tell(done);
        }
    }

    /// Others subscribe from now on, or have other addresses.
    pub fn on_subscribers(&mut self, subscribers: Subscribers) {
        let heard = self.gateway.on_subscribers(subscribers);
        self.happened.extend(heard.map(What::Heard));
        let done = self.advance();
        self.tell(done);
    }

    /// Another configuration of the same devices and mode, or other subscribers.
    ///
    /// # Errors
    /// If devices or mode are others: those want a new start.
    pub fn reload(&mut self, now: Instant, config: &Config, subscribers: Subscribers) -> Result<(), Failure> {
        let same = |of: &Config| {
            (of.mesh.clone(), of.uplink.clone(), of.mode, of.forwarding, of.leaf, of.exempt.clone())
        };
        if same(config) != same(&self.config) {
            return Err(Failure::new(
                "reload",
                "devices, mode, forwarding, leaf or exemptions are others: stop, and run again",
            ));
        }
        let is_other = config.law != self.config.law;
        let heard = self.gateway.on_config(now, config, subscribers);
        self.left.clear();
        self.config = config.clone();
        self.happened.push(What::Event(Event::Reloaded));
        self.happened.extend(heard.map(What::Heard));
        if is_other {
            self.happened.push(self.gateway.beginning());
            self.next_epoch = now + self.gateway.epoch();
        }
        let done = self.advance();
        self.tell(done);
        Ok(())
    }

    /// Ends as the operator wants it to, or, if `always`, as it was before.
    ///
    /// # Errors
    /// If the kernel refuses; then what the last daemon kept is still needed.
    pub fn stop(&mut self, why: &str, always: bool) -> Result<OnStop, Failure> {
        self.happened.push(What::Event(Event::Stopped(why.into())));
        let how = if always { OnStop::Remove } else { self.config.on_stop };
        match (&self.before, how) {
            (Some([down, up]), OnStop::Remove) => {
                let plan = restoration([down, up], &self.kernel.find()?);
                self.kernel.apply(&plan)?;
                self.before = None;
            }
            (Some(_), OnStop::Open) => self.pause(true),
            _ => (),
        }
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
        &self.kernel
    }

    /// The kernel, to be meddled with.
    #[cfg(test)]
    pub(crate) const fn kernel_mut(&mut self) -> &mut K {
        &mut self.kernel
    }
}

/// The next time of something that is due every so often, after now.
fn later(due: Instant, every: Duration, now: Instant) -> Instant {
    let next = due + every;
    if next > now { next } else { now + every }
}

/// What was on a device before the gateway came; an error, if it may not be touched.
fn before_us(
    there: &AllFound,
    side: Side,
    device: &str,
    (known, takes_over): (Option<&[Before; 2]>, bool),
) -> Result<Before, Failure> {
    let found = there.of(side);
    // A daemon that was killed may have been at any step of its plan.
    let known = known.map(|known| &known[side as usize]);
    let is_other = |known: &&Before| matches!(found.root, Root::Foreign { .. }) && found.root != known.root;
    if let Some(known) = known.filter(|known| !is_other(known)) {
        return Ok(known.clone());
    }
    match &found.root {
        Root::Ours => Err(Failure::new(
            device,
            "a tree with evenair's number is there, and nothing is kept of who made it; if it is a daemon's that lost its state folder: \
            evenair gateway clear --all",
        )),
        Root::Foreign { kind, major, .. } if !takes_over => Err(Failure::new(
            device,
            format!(
                "somebody's {kind} {major:x}: is its root; --take-over replaces it until the daemon stops, and puts it back then"
            ),
        )),
        Root::Foreign { kind, kept: None, .. } => Err(Failure::new(
            device,
            format!(
                "its root {kind} has classes or filters of its own, which could not be put back as they were: remove it first"
            ),
        )),
        root => Ok(Before { root: root.clone(), offloads: found.offloads.clone() }),
    }
}
#[cfg(test)]
mod tests;
