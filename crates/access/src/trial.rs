//! A trial of a driver: the only proof that it obeys.

use crate::config::Config;
use crate::radio::{Linux, Radio};
use crate::run::{must_be_there, put_back, wait};
use crate::state::{Hold, Kept, State};
use evenair_laws::backoff::Registers;
use evenair_linux::signals::Signals;
use evenair_linux::wireless::Station;
use evenair_units::Duration;
use rustix::event::{PollFd, PollFlags};
use std::io;

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

/// Sets the largest windows of an interface of this machine for five seconds, and measures packets before and during. A
/// signal ends it. Registers are put back; after `kill -9` by the next run, or by [`restore`](crate::run::restore).
///
/// # Errors
/// If a run goes on there, the kernel refuses, or a signal came.
pub fn trial(config: &Config) -> io::Result<Trial> {
    let mut radio = Linux::new(&config.interface, config.category)?;
    let found = must_be_there(&mut radio, &config.interface)?;
    let mut signals = Signals::new()?;
    let state = State::take(&config.state, &config.interface)?;
    let before = state.read()?;
    let _hold = Hold::take(&config.interface, found.interface.index)?;
    if let Some(kept) = before {
        put_back(&kept, config)?;
    }
    state.keep(&Kept::new(config.category, config.restore.0))?;
    let measured = measure(&mut radio, config, |time| {
        wait(&mut [PollFd::new(&signals, PollFlags::IN)], time)?;
        match signals.take() {
            None => Ok(()),
            Some(_) => {
                Err(io::Error::new(io::ErrorKind::Interrupted, "stopped; the registers are as before"))
            }
        }
    });
    // Registers that could not be put back are still to be.
    if measured.is_ok() {
        state.forget()?;
    }
    measured?
}

/// Measures packets. The outer error has registers that were not put back.
fn measure(
    radio: &mut impl Radio,
    config: &Config,
    mut sleep: impl FnMut(Duration) -> io::Result<()>,
) -> io::Result<io::Result<Trial>> {
    let number = crate::sensor::number(config.category);
    let sent = |stations: &[Station]| stations.iter().map(|one| one.queues[number].sent).sum::<u64>();
    let mut second = || sleep(Duration::from_secs(1));
    let mut first_half = || {
        let start = sent(&radio.stations()?);
        (0..TRIAL_S).try_for_each(|_| second())?;
        Ok((start, sent(&radio.stations()?)))
    };
    let (start, middle) = match first_half() {
        Ok(counts) => counts,
        Err(error) => return Ok(Err(error)),
    };
    let slowest = Registers { window_min: 1023, window_max: 1023, aifsn: 15, txop_units: 0 };
    // Once a second, since another program may overwrite it.
    let set = (0..TRIAL_S).try_for_each(|_| radio.set(slowest).and_then(|()| second()));
    let end = set.and_then(|()| radio.stations()).map(|stations| sent(&stations));
    radio.set(config.restore.0)?;
    let rate = |from: u64, to: u64| to.saturating_sub(from) as f64 / TRIAL_S as f64;
    Ok(end.map(|end| Trial { before: rate(start, middle), during: rate(middle, end) }))
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
            let measured = measure(&mut radio, &config, |_| {
                sent.set(sent.get() + if is_slow.get() { 200 } else { 500 });
                Ok(())
            });
            assert_eq!(measured.unwrap().unwrap(), Trial { before: 500.0, during });
            assert_eq!((radio.set.len(), radio.set.last()), (6, Some(&config.restore.0)));
        }
    }

    /// A signal in the first half sets nothing; one in the second half has the registers put back.
    #[test]
    fn stopped_trial_is_put_back() {
        let config = Config::parse("b.toml", "interface = 'wlan0'").unwrap();
        for (second, sets) in [(0, 0), (4, 0), (5, 2), (9, 6)] {
            let (sent, is_slow) = (Rc::new(Cell::new(7)), Rc::new(Cell::new(false)));
            let mut radio = Busy { sent, is_slow, obeys: true, set: Vec::new() };
            let mut passed = 0;
            let stopped = measure(&mut radio, &config, |_| {
                passed += 1;
                if passed <= second { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
            });
            assert_eq!(stopped.unwrap().unwrap_err().kind(), io::ErrorKind::Interrupted, "{second}");
            assert_eq!(radio.set.len(), sets, "{second}");
            assert!(radio.set.last().is_none_or(|last| *last == config.restore.0), "{second}");
        }
    }
}
