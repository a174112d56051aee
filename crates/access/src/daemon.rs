//! One update after the other: look, decide, set.

use crate::config::{Config, Mode};
use crate::radio::{Found, Radio};
use crate::role::role;
use crate::sensor::Sensor;
use crate::status::Status;
use crate::tape::{Decider, Entry};
use evenair_laws::backoff::{BackoffLaw, PhysicalLayer, RegisterLimits, Registers};
use evenair_units::{Duration, Instant, Rate};
use std::io;

/// The time between two looks at the interface. Registers are set again as often: hostapd's start, and a link that goes
/// down and up, overwrite them, and nothing tells of it.
const AGAIN: Duration = Duration::from_secs(1);
/// The time after a message about the interface in which registers are set at each update: hostapd sends the message when it
/// starts, and sets its own registers a moment later, without one.
const UNREST: Duration = Duration::from_secs(2);

/// A daemon of one access point.
#[derive(Debug)]
pub struct Daemon<R> {
    config: Config,
    radio: R,
    sensor: Sensor,
    decider: Option<Decider>,
    found: Option<Found>,
    /// The time of the last look at the interface.
    found_at: Option<Instant>,
    waits: Option<String>,
    last: Option<Entry>,
    accepted: Option<(Registers, Instant)>,
    /// The end of the time in which registers are set at each update.
    unrest_until: Instant,
    /// Whether the log has the registers that limits cut.
    told_cut: bool,
    rate: Rate,
    backlog_packets: u64,
    updates: u64,
    looks: u64,
    sets: u64,
    cuts: u64,
}

/// The result of an update.
#[derive(Debug, Default)]
pub struct Step {
    /// Records for a tape.
    pub entries: Vec<Entry>,
    /// Lines for the log.
    pub said: Vec<String>,
}

impl<R: Radio> Daemon<R> {
    /// Returns a daemon that has not looked yet.
    pub const fn new(config: Config, radio: R) -> Self {
        let sensor = Sensor::new(config.category);
        Self {
            config,
            radio,
            sensor,
            decider: None,
            found: None,
            found_at: None,
            waits: None,
            last: None,
            accepted: None,
            unrest_until: Instant::ZERO,
            told_cut: false,
            rate: Rate::from_bps(0),
            backlog_packets: 0,
            updates: 0,
            looks: 0,
            sets: 0,
            cuts: 0,
        }
    }

    /// The time between two updates.
    pub fn interval(&self) -> Duration {
        self.config.interval()
    }

    /// Makes one update.
    ///
    /// # Errors
    /// If it can never go on: without the privilege to set registers, or with a driver that takes none. An interface
    /// that is gone, down or no access point is waited for.
    pub fn step(&mut self, now: Instant) -> io::Result<Step> {
        self.act(now, Self::update)
    }

    /// Looks at the interface after a message about it, and sets the registers again, within the limits of its channel. The
    /// law is not updated.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn refresh(&mut self, now: Instant) -> io::Result<Step> {
        (self.found_at, self.unrest_until) = (None, now + UNREST);
        self.looks += 1;
        self.act(now, Self::set_last)
    }

    fn act(
        &mut self,
        now: Instant,
        how: impl FnOnce(&mut Self, Instant, &mut Step) -> io::Result<Option<String>>,
    ) -> io::Result<Step> {
        let mut step = Step::default();
        let waits = match how(self, now, &mut step) {
            Ok(waits) => waits,
            Err(error) if is_final(&error) => return Err(error),
            Err(error) => Some(error.to_string()),
        };
        if waits != self.waits {
            step.said
                .push(waits.as_ref().map_or_else(|| "the law acts".into(), |why| format!("waiting: {why}")));
            self.waits = waits;
        }
        if self.waits.is_some() {
            self.accepted = None;
        }
        Ok(step)
    }

    /// Returns the reason to wait, or none.
    fn update(&mut self, now: Instant, step: &mut Step) -> io::Result<Option<String>> {
        self.find(now, step)?;
        if let Some(why) = self.against() {
            return Ok(Some(why));
        }
        let stations = self.radio.stations()?;
        let view = self.sensor.look(now, &stations);
        (self.rate, self.backlog_packets) = (view.data_rate, view.backlog.packets);
        let limits = self.limits();
        let broken = |why: String| io::Error::new(io::ErrorKind::Unsupported, why);
        let entry = match &mut self.decider {
            Some(decider) => decider.decide(view, &limits).map_err(broken)?,
            None if view.data_rate == Rate::from_bps(0) => {
                return Ok(Some("no station has been sent anything yet".into()));
            }
            None => {
                if self.config.needs_queues() && !self.has_queues(&stations) {
                    let why = "this driver has no queues in mac80211, so only law = \"virtual-queue\" by packets can run";
                    return Err(broken(why.into()));
                }
                let role = self.role(view.data_rate);
                let decider = self.decider.insert(Decider::begin(&self.config.law, &role));
                decider.beginning(&role, &limits).map_err(broken)?
            }
        };
        self.updates += 1;
        self.note_cut(&entry, step);
        let registers = entry.registers;
        self.last = Some(entry.clone());
        step.entries.push(entry);
        self.set(now, registers)?;
        Ok(None)
    }

    /// Sets the law's last registers within the present limits. Returns the reason to wait, or none.
    fn set_last(&mut self, now: Instant, step: &mut Step) -> io::Result<Option<String>> {
        self.find(now, step)?;
        let against = self.against();
        if against.is_some() {
            return Ok(against);
        }
        let Some(last) = &self.last else { return Ok(self.waits.clone()) };
        self.set(now, last.wanted.within(&self.limits()))?;
        Ok(None)
    }

    fn has_queues(&self, stations: &[evenair_linux::wireless::Station]) -> bool {
        let number = crate::sensor::number(self.config.category);
        stations.iter().any(|station| station.queues[number].has_queue)
    }

    fn role(&self, rate: Rate) -> evenair_laws::backoff::LinkRole {
        role(self.frequency(), rate, self.config.mtu, self.config.category)
    }

    fn frequency(&self) -> u32 {
        self.found.as_ref().and_then(|found| found.interface.frequency_mhz).unwrap_or_default()
    }

    /// Looks at the interface once a second.
    fn find(&mut self, now: Instant, step: &mut Step) -> io::Result<()> {
        if self.found_at.is_some_and(|at| now.since(at) < AGAIN) {
            return Ok(());
        }
        let found = self.radio.find()?;
        let channel = |found: &Option<Found>| {
            found.as_ref().and_then(|found| Some((found.interface.frequency_mhz?, found.limits)))
        };
        let name = |found: &Option<Found>| found.as_ref().map(|found| found.interface.name.clone());
        if let (Some(before), Some(name)) = (name(&self.found), name(&found))
            && before != name
        {
            step.said.push(format!("{before} is called {name}"));
        }
        if let Some((frequency, limits)) = channel(&found)
            && channel(&self.found) != channel(&found)
        {
            self.told_cut = false;
            step.said.push(format!("channel of {frequency} MHz: {}", shown(limits)));
        }
        (self.found, self.found_at) = (found, Some(now));
        Ok(())
    }

    /// Returns the reason for which the law cannot act, or none.
    fn against(&self) -> Option<String> {
        let Some(found) = &self.found else {
            return Some(format!("{}: no such interface", self.config.interface));
        };
        let others = || {
            let others = found.others.join(", ");
            format!(
                "{others}: other access points of this radio, which many drivers would set, too; write whole_radio = true \
                 if they may be"
            )
        };
        let is_alone = found.others.is_empty() || self.config.whole_radio;
        found.against().or_else(|| (!is_alone).then(others))
    }

    /// Returns the limits in force: of all hardware, of the country, and the standard's `CWmin`.
    pub fn limits(&self) -> RegisterLimits {
        let country = self.found.as_ref().and_then(|found| found.limits).unwrap_or(RegisterLimits::VALID);
        let limits = RegisterLimits::VALID.and(country);
        if self.config.below_standard {
            return limits;
        }
        let standard = Registers::standard(self.config.category, PhysicalLayer::Ofdm);
        limits.and(RegisterLimits { window_min: standard.window_min, ..RegisterLimits::VALID })
    }

    fn note_cut(&mut self, entry: &Entry, step: &mut Step) {
        if entry.wanted == entry.registers {
            return;
        }
        self.cuts += 1;
        if !std::mem::replace(&mut self.told_cut, true) {
            let Entry { wanted, registers, .. } = entry;
            step.said.push(format!(
                "limits cut the law's {wanted} to {registers}; told once, counted in the status"
            ));
        }
    }

    /// Returns the interface's number, as it was last found.
    pub fn index(&self) -> Option<u32> {
        self.found.as_ref().map(|found| found.interface.index)
    }

    /// Sets registers that are others than before, and once a second in any case.
    fn set(&mut self, now: Instant, registers: Registers) -> io::Result<()> {
        let stands = self.accepted.is_some_and(|(last, at)| last == registers && now.since(at) < AGAIN);
        if self.config.mode == Mode::Observe || (stands && now >= self.unrest_until) {
            return Ok(());
        }
        self.radio.set(registers)?;
        self.accepted = Some((registers, now));
        self.sets += 1;
        Ok(())
    }

    /// Puts back the registers of before. Returns a line for the log.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn restore(&mut self) -> io::Result<String> {
        let (registers, _) = self.config.restore;
        match self.radio.find()? {
            Some(found) if found.against().is_none() => match self.radio.set(registers) {
                Ok(()) => Ok(format!("put back: {registers}")),
                // The kernel sets its own as the link goes up.
                Err(error) if error.kind() == io::ErrorKind::NetworkDown => {
                    Ok("nothing to put back: the interface is down, and its next start sets all registers"
                        .into())
                }
                Err(error) => Err(error),
            },
            // Its next start sets all registers.
            _ => Ok("nothing to put back: it is no access point now".into()),
        }
    }

    /// Returns the status.
    pub fn status(&self) -> Status {
        let law = self.decider.as_ref().map(Decider::law);
        Status {
            interface: self.config.interface.clone(),
            mode: self.config.mode,
            category: self.config.category,
            law: self.config.law_name(),
            waits: self.waits.clone(),
            aggressiveness: law.and_then(BackoffLaw::aggressiveness),
            backlog_packets: self.backlog_packets,
            rate_bps: self.rate.as_bps(),
            wanted: self.last.as_ref().map(|entry| entry.wanted),
            limits: self.limits(),
            accepted: self.accepted.map(|(registers, _)| registers),
            restore: self.config.restore.0,
            updates: self.updates,
            looks: self.looks,
            sets: self.sets,
            cuts: self.cuts,
            aggregates: self.found.as_ref().is_some_and(|found| found.interface.aggregates),
        }
    }
}

/// A country's limits in words.
pub(crate) fn shown(limits: Option<RegisterLimits>) -> String {
    limits.map_or_else(
        || "its country sets no limits".into(),
        |RegisterLimits { window_min, window_max, aifsn, txop_units }| {
            format!(
                "its country has CWmin {window_min} or more, CWmax {window_max} or more, AIFSN {aifsn} or more, TXOP {} us \
                 or less",
                txop_units * 32
            )
        },
    )
}

/// Whether an error stays for ever.
fn is_final(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported)
}

#[cfg(test)]
mod tests;
