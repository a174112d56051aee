//! Stores the number of connections that a session's law kept on a path, for the next session.

use super::Current;
use crate::paths::{Known, Paths, Seen, network};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The time between two observations.
const LOOK: Duration = Duration::from_secs(5);
/// An observation counts if at least this many bytes passed since the last \[bytes\]: an idle direction shows
/// nothing.
const CARRIED: u64 = 256 << 10;
/// A number present in this many successive observations was kept by the law: a trial is shorter.
const LOOKS: usize = 3;
/// An unchanged number is stored again after this time, so that it does not expire.
const RENEW: Duration = Duration::from_secs(600);

/// A direction, with the numbers of connections in the last observations.
#[derive(Debug, Default)]
struct Direction {
    looks: VecDeque<u32>,
    carried: u64,
}

impl Direction {
    fn look(&mut self, connections: u32, carried: u64) {
        if carried.saturating_sub(self.carried) >= CARRIED {
            self.looks.push_front(connections);
            self.looks.truncate(LOOKS);
        }
        self.carried = carried;
    }

    /// Returns the number of connections that were present all the time.
    fn kept(&self) -> Option<u32> {
        self.looks.iter().min().copied().filter(|_| self.looks.len() == LOOKS)
    }
}

/// Observes a session and stores its numbers.
#[derive(Debug)]
pub(super) struct Learner {
    paths: Paths,
    seen: Seen,
    known: Known,
    /// Up and down.
    directions: [Direction; 2],
    look_at: Instant,
    renew_at: Instant,
}

impl Learner {
    /// Returns a learner if one of the laws searches for its number.
    pub(super) fn new(current: &Current, paths: Option<&Paths>) -> Option<Self> {
        let laws = [&current.governor.status().law, &current.relay_law];
        let paths = paths.filter(|_| laws.into_iter().any(|law| crate::control::remembers(law)))?;
        let now = Instant::now();
        Some(Self {
            paths: paths.clone(),
            seen: current.seen.clone()?,
            known: current.known,
            directions: Default::default(),
            look_at: now + LOOK,
            renew_at: now,
        })
    }

    /// Observes, if it is time to, and stores a changed number.
    pub(super) fn look(&mut self, current: &Current) {
        let now = Instant::now();
        if now < self.look_at {
            return;
        }
        self.look_at = now + LOOK;
        let session = &current.session;
        if session.own_addresses().iter().any(|own| network(*own) != self.seen.from) {
            // After a change of address the observations no longer describe the old path, and the new path is
            // unknown.
            self.directions = Default::default();
            return;
        }
        let counts = session.counts();
        let law = current.governor.status().law;
        let [up, down] = &mut self.directions;
        up.look(current.governor.wanted(), counts.sent);
        down.look(session.they_want(), counts.received);
        let learnt = |law: &str, direction: &Direction, before| {
            direction.kept().filter(|_| crate::control::remembers(law)).unwrap_or(before)
        };
        let known = Known {
            up: learnt(&law, up, self.known.up),
            down: learnt(&current.relay_law, down, self.known.down),
        };
        let is_told = up.kept().or(down.kept()).is_some();
        if is_told && (known != self.known || now >= self.renew_at) {
            self.known = known;
            self.renew_at = now + RENEW;
            // If this fails, the next session begins with one connection; nothing else is lost.
            let _ = self.paths.note(&self.seen, known);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_kept_for_three_samples_is_learnt() {
        let mut direction = Direction::default();
        let mut carried = 0;
        let mut see = |direction: &mut Direction, connections, bytes| {
            carried += bytes;
            direction.look(connections, carried);
            direction.kept()
        };
        assert_eq!(see(&mut direction, 4, 1 << 20), None);
        assert_eq!(see(&mut direction, 4, 1 << 20), None);
        assert_eq!(see(&mut direction, 6, 1 << 20), Some(4), "two of them are on trial");
        assert_eq!(see(&mut direction, 1, 100), Some(4), "it rests");
        assert_eq!(see(&mut direction, 6, 1 << 20), Some(4));
        assert_eq!(see(&mut direction, 6, 1 << 20), Some(6));
        assert_eq!(see(&mut direction, 2, 1 << 20), Some(2), "what is gone is gone at once");
    }
}
