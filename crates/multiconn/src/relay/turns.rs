//! Turns at a resource with a limited number of parallel uses, fair among keys.
//!
//! A key with k turns gets one more while at least k + 1 are free: dynamic thresholds (A. Choudhury, E.
//! Hahne, IEEE/ACM Trans. Netw. 6(2), 1998). So m backlogged keys have 1/(m + 1) of the turns each, and as
//! many stay free for a key without any.

use crate::keys::PublicKey;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// The turns.
#[derive(Debug)]
pub(super) struct Turns {
    most: u32,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The number of turns of each key that has one.
    busy: BTreeMap<PublicKey, u32>,
    /// Waiters by their tickets; no key without a waiter.
    waiting: BTreeMap<PublicKey, BTreeMap<u64, oneshot::Sender<Turn>>>,
    /// Waiters so far.
    tickets: u64,
}

/// A waiter, which is removed when this is dropped.
struct Waits<'a> {
    turns: &'a Turns,
    key: PublicKey,
    ticket: u64,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.turns.state().forget(self.key, self.ticket);
    }
}

/// A turn of a key, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    turns: Arc<Turns>,
    key: PublicKey,
}

impl State {
    fn may(&self, key: PublicKey, most: u32) -> bool {
        let free = most.saturating_sub(self.busy.values().sum());
        self.busy.get(&key).copied().unwrap_or(0) < free
    }

    /// Returns the next waiter that may have a turn: of the key with fewest turns, the one that arrived
    /// first.
    fn next(&mut self, most: u32) -> Option<(PublicKey, oneshot::Sender<Turn>)> {
        let rank = |(key, waiters): &(&PublicKey, &BTreeMap<u64, _>)| {
            (self.busy.get(key).copied().unwrap_or(0), waiters.first_key_value().map(|(ticket, _)| *ticket))
        };
        let (key, waiters) = self.waiting.iter().min_by_key(rank)?;
        let (key, ticket) = (*key, *waiters.first_key_value()?.0);
        if !self.may(key, most) {
            return None; // and no other: this key has fewest
        }
        let turn = self.forget(key, ticket)?;
        *self.busy.entry(key).or_default() += 1;
        Some((key, turn))
    }

    fn forget(&mut self, key: PublicKey, ticket: u64) -> Option<oneshot::Sender<Turn>> {
        let own = self.waiting.get_mut(&key)?;
        let turn = own.remove(&ticket);
        if own.is_empty() {
            self.waiting.remove(&key);
        }
        turn
    }
}

impl Turns {
    pub(super) fn new(most: u32) -> Arc<Self> {
        Arc::new(Self { most, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn.
    pub(super) async fn take(self: &Arc<Self>, key: PublicKey) -> Turn {
        let (turn, receives) = oneshot::channel();
        let ticket = {
            let mut state = self.state();
            state.tickets += 1;
            let ticket = state.tickets;
            state.waiting.entry(key).or_default().insert(ticket, turn);
            ticket
        };
        let _waits = Waits { turns: self, key, ticket };
        self.give();
        match receives.await {
            Ok(turn) => turn,
            // The sender is dropped only with the waiter.
            Err(_) => std::future::pending().await,
        }
    }

    /// Gives turns to the waiters that may have one.
    fn give(self: &Arc<Self>) {
        loop {
            let next = self.state().next(self.most);
            let Some((key, turn)) = next else { return };
            // If the waiter has left in this moment, the turn returns by its drop.
            let _ = turn.send(Turn { turns: Arc::clone(self), key });
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        {
            let mut state = self.turns.state();
            match state.busy.get_mut(&self.key) {
                Some(own) if *own > 1 => *own -= 1,
                _ => {
                    state.busy.remove(&self.key);
                }
            }
        }
        self.turns.give();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::SecretKey;
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    type Asks<'a> = Pin<Box<dyn Future<Output = Turn> + 'a>>;

    /// Returns the turn, if it was given.
    fn poll(asks: &mut Asks<'_>) -> Option<Turn> {
        match asks.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(turn) => Some(turn),
            Poll::Pending => None,
        }
    }

    /// Starts `count` waiters; returns those still waiting, and the turns given at once.
    fn ask(turns: &Arc<Turns>, key: PublicKey, count: usize) -> (Vec<Asks<'_>>, Vec<Turn>) {
        let mut asks: Vec<Asks<'_>> = (0..count).map(|_| Box::pin(turns.take(key)) as Asks<'_>).collect();
        let mut had = Vec::new();
        asks.retain_mut(|asks| poll(asks).map(|turn| had.push(turn)).is_none());
        (asks, had)
    }

    #[test]
    fn greedy_keys_leave_as_much_as_each_has() {
        let keys: Vec<PublicKey> = (0..5).map(|_| SecretKey::generate().public()).collect();
        let turns = Turns::new(32);
        let (mut first, had) = ask(&turns, keys[0], 1600);
        assert_eq!(had.len(), 16, "one key has half");
        let (_second, second_had) = ask(&turns, keys[1], 1600);
        assert_eq!(second_had.len(), 8, "half of what is free");
        drop(had);
        let first_had = first.iter_mut().filter_map(poll).collect::<Vec<_>>();
        // 32 = 11 + 11 + 10 free: a key that has 11 gets no twelfth.
        assert_eq!(first_had.len(), 11);
        let (_, last) = ask(&turns, keys[4], 1);
        assert_eq!(last.len(), 1, "a key that has none gets one at once");
    }

    #[test]
    fn turn_goes_to_the_key_with_fewest_in_order() {
        let [one, other, third] = [(); 3].map(|()| SecretKey::generate().public());
        let turns = Turns::new(2);
        let (mut ones, had) = ask(&turns, one, 3);
        assert_eq!(had.len(), 1);
        let (_, others) = ask(&turns, other, 1);
        assert_eq!(others.len(), 1, "all are taken now");
        let (mut thirds, none) = ask(&turns, third, 1);
        assert!(none.is_empty());
        drop(others);
        assert!(poll(&mut ones[0]).is_none());
        let turn = poll(&mut thirds[0]).expect("it has none yet, the first has one");
        drop((had, turn));
        assert!(poll(&mut ones[0]).is_some() && poll(&mut ones[1]).is_some(), "dropped at once, each");
    }

    #[test]
    fn gone_client_holds_nothing() {
        let [one, other] = [(); 2].map(|()| SecretKey::generate().public());
        let turns = Turns::new(1);
        let (_, had) = ask(&turns, one, 1);
        let (patient, _) = ask(&turns, other, 1);
        drop(ask(&turns, other, 1000));
        assert_eq!(turns.state().waiting[&other].len(), 1, "of those behind one that waits nothing is kept");
        drop(patient);
        drop(had);
        let (_, had) = ask(&turns, one, 1);
        assert_eq!(had.len(), 1);
        drop(had);
        let state = turns.state();
        assert!(state.busy.is_empty() && state.waiting.is_empty(), "{state:?}");
    }
}
