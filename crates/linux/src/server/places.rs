//! The places of a socket's clients: bounded for each user and in total, and in time. Time is an
//! argument.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bounds of a socket's clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections of users that are trusted.
    pub trusted: usize,
    /// Connections of all other users.
    pub others: usize,
    /// Connections of one user among the others.
    pub per_user: usize,
    /// Requests per second of one user among the others.
    pub requests: u32,
    /// The longest request \[bytes\].
    pub request_bytes: usize,
    /// Time for sending the request, and time for reading the answer.
    pub time: Duration,
}

/// Time for an answer of the program's own loop: reading a large file of subscribers takes seconds.
const LOOP_TIME: Duration = Duration::from_secs(30);
/// Number of users with counted requests in one second.
const USERS_MAX: usize = 1024;

/// The user at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The user's number.
    pub user: u32,
    /// Whether the user may change the program's state.
    pub is_trusted: bool,
}

/// The stage of a connection.
#[derive(Debug)]
pub(super) enum Stage {
    /// The request is being read.
    Reads(Vec<u8>),
    /// The program's loop has the request.
    Waits,
    /// The answer is being sent; the number is the bytes sent so far.
    Writes(Arc<[u8]>, usize),
}

/// One connection.
#[derive(Debug)]
pub(super) struct Place<S> {
    pub(super) id: u64,
    pub(super) stream: S,
    pub(super) owner: Owner,
    pub(super) stage: Stage,
    ends: Instant,
}

/// All connections, the oldest first.
#[derive(Debug)]
pub(super) struct Places<S> {
    pub(super) limits: Limits,
    pub(super) all: Vec<Place<S>>,
    next: u64,
    /// The requests of each user, and the start of the second in which they are counted.
    requests: BTreeMap<u32, (Instant, u32)>,
}

impl<S> Places<S> {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, all: Vec::new(), next: 0, requests: BTreeMap::new() }
    }

    /// Adds a connection. If no place is left, the oldest connection of the user with the most is
    /// closed. A client that sends its request at once gets its answer before it can be the oldest.
    pub(super) fn admit(&mut self, now: Instant, stream: S, owner: Owner) {
        let Limits { trusted, others, per_user, time, .. } = self.limits;
        let users = self.users(owner.is_trusted);
        let all: usize = users.values().sum();
        let own = users.get(&owner.user).copied().unwrap_or_default();
        let gives_way = match owner.is_trusted {
            true if all >= trusted => Some(None),
            false if own >= per_user => Some(Some(owner.user)),
            false if all >= others => {
                Some(users.iter().max_by_key(|(_, count)| **count).map(|(user, _)| *user))
            }
            _ => None,
        };
        if let Some(user) = gives_way {
            let is_meant = |place: &Place<S>| {
                place.owner.is_trusted == owner.is_trusted && user.is_none_or(|user| place.owner.user == user)
            };
            let oldest = self.all.iter().position(is_meant).expect("it was counted");
            self.all.remove(oldest);
        }
        let id = self.next;
        self.next += 1;
        self.all.push(Place { id, stream, owner, stage: Stage::Reads(Vec::new()), ends: now + time });
    }

    /// Returns the number of connections by user.
    fn users(&self, is_trusted: bool) -> BTreeMap<u32, usize> {
        let mut users = BTreeMap::new();
        for place in self.all.iter().filter(|place| place.owner.is_trusted == is_trusted) {
            *users.entry(place.owner.user).or_default() += 1;
        }
        users
    }

    /// Counts a request; returns whether it is within the limit.
    pub(super) fn may_ask(&mut self, now: Instant, owner: Owner) -> bool {
        if owner.is_trusted {
            return true;
        }
        let is_over = |begun: Instant| now.saturating_duration_since(begun) >= Duration::from_secs(1);
        if self.requests.len() >= USERS_MAX {
            self.requests.retain(|_, (begun, _)| !is_over(*begun));
        }
        if self.requests.len() >= USERS_MAX && !self.requests.contains_key(&owner.user) {
            return false;
        }
        let (begun, count) = self.requests.entry(owner.user).or_insert((now, 0));
        if is_over(*begun) {
            (*begun, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        *count <= self.limits.requests
    }

    /// Moves a connection to another stage.
    pub(super) fn set(&mut self, now: Instant, index: usize, stage: Stage) {
        let time = if matches!(stage, Stage::Waits) { LOOP_TIME } else { self.limits.time };
        self.all[index].ends = now + time;
        self.all[index].stage = stage;
    }

    /// Returns the index of a connection that still exists.
    pub(super) fn of(&self, id: u64) -> Option<usize> {
        self.all.iter().position(|place| place.id == id)
    }

    /// Closes the expired connections.
    pub(super) fn expire(&mut self, now: Instant) {
        self.all.retain(|place| place.ends > now);
    }

    /// Returns the time at which the next connection expires.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.all.iter().map(|place| place.ends).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        trusted: 2,
        others: 4,
        per_user: 2,
        requests: 3,
        request_bytes: 100,
        time: Duration::from_secs(5),
    };

    fn of(user: u32) -> Owner {
        Owner { user, is_trusted: user == 0 }
    }

    fn held(places: &Places<&'static str>) -> Vec<&'static str> {
        places.all.iter().map(|place| place.stream).collect()
    }

    #[test]
    fn places_are_shared_by_users() {
        let (mut places, now) = (Places::new(LIMITS), Instant::now());
        for (name, user) in [("a1", 1), ("a2", 1), ("b1", 2), ("a3", 1)] {
            places.admit(now, name, of(user));
        }
        assert_eq!(held(&places), ["a2", "b1", "a3"], "a user's third connection closes the user's first");
        for (name, user) in [("r1", 0), ("c1", 3), ("d1", 4)] {
            places.admit(now, name, of(user));
        }
        assert_eq!(held(&places), ["b1", "a3", "r1", "c1", "d1"], "the user with the most gives way");
        for (name, user) in [("r2", 0), ("e1", 5), ("r3", 0)] {
            places.admit(now, name, of(user));
        }
        assert_eq!(
            places.users(true).values().sum::<usize>(),
            2,
            "root's connections have places of their own"
        );
        assert_eq!(places.users(false).values().sum::<usize>(), 4);
        assert!(held(&places).contains(&"r3") && held(&places).contains(&"e1"));
    }

    #[test]
    fn silence_ends_after_the_time() {
        let (mut places, now) = (Places::new(LIMITS), Instant::now());
        places.admit(now, "silent", of(1));
        places.admit(now + Duration::from_secs(1), "asks", of(0));
        places.set(now + Duration::from_secs(1), 1, Stage::Waits);
        assert_eq!(places.next_end(), Some(now + LIMITS.time));
        places.expire(now + Duration::from_millis(4999));
        assert_eq!(places.all.len(), 2);
        places.expire(now + LIMITS.time);
        assert_eq!(held(&places), ["asks"]);
        places.expire(now + Duration::from_secs(31));
        assert_eq!(places.next_end(), None);
    }

    #[test]
    fn requests_are_counted_by_user() {
        let (mut places, now) = (Places::<()>::new(LIMITS), Instant::now());
        let answered =
            |places: &mut Places<()>, at, user| (0..10).filter(|_| places.may_ask(at, of(user))).count();
        assert_eq!(answered(&mut places, now, 1), 3);
        assert_eq!(answered(&mut places, now, 2), 3, "another user has requests of its own");
        assert_eq!(answered(&mut places, now, 0), 10, "root is not counted");
        assert_eq!(answered(&mut places, now + Duration::from_secs(1), 1), 3);
        // A user with many numbers (subuid(5)) does not fill the memory.
        let answered = (10..100_000).filter(|user| places.may_ask(now + Duration::from_secs(1), of(*user)));
        assert!(answered.count() < USERS_MAX);
        assert_eq!(places.requests.len(), USERS_MAX);
        assert!(places.may_ask(now + Duration::from_secs(2), of(9)));
    }
}
