//! The sessions of a listener, each of one key. A key has its own share of each resource, independent of the
//! others' use.

use super::greet::Incoming;
use super::{Accepted, Known, Shared};
use crate::authorised::{Authorised, Entry};
use crate::bucket::Bucket;
use crate::budget::Budget;
use crate::connect::LINGER;
use crate::core::{Limits, Side};
use crate::frame::Closed;
use crate::governor::Governor;
use crate::hello::{Answer, Exported, Refusal, SessionId, proves};
use crate::keys::PublicKey;
use crate::probe::live::{self, Seat};
use crate::probe::{End, Party};
use crate::session::Session;
use crate::status::{Direction, SessionStatus};
use evenair_laws::connections::ConnectionParams;
use evenair_units::Rate;
use ring::rand::{SecureRandom as _, SystemRandom};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// An unused session is ended after this time \[s\].
const IDLE_S: f64 = 3600.0;

/// All sessions.
#[derive(Debug)]
pub(super) struct Sessions {
    memory: Arc<Budget>,
    memory_most: u64,
    /// The rate bound of everything sent.
    bucket: Arc<Bucket>,
    all: Mutex<All>,
}

#[derive(Debug, Default)]
struct All {
    sessions: BTreeMap<SessionId, Held>,
    /// The memory of each key.
    budgets: BTreeMap<PublicKey, Arc<Budget>>,
    /// The rate bound of each key.
    buckets: BTreeMap<PublicKey, Arc<Bucket>>,
    /// The most memory of a key, so that there is as much for each \[bytes\].
    share: u64,
}

#[derive(Debug)]
struct Held {
    session: Session,
    key: PublicKey,
    name: String,
    secret: Exported,
    most: u32,
    governor: Governor,
    alone_since: Option<Instant>,
}

impl Sessions {
    pub(super) fn new(memory: Arc<Budget>, memory_most: u64, rate_most: Option<Rate>) -> Self {
        Self { memory, memory_most, bucket: Bucket::new(rate_most), all: Mutex::default() }
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shares the memory among keys, and sets each key's rate bound from the file.
    pub(super) fn share(&self, authorised: &Authorised) {
        let mut all = self.all();
        all.share = self.memory_most / (authorised.len() as u64).max(1);
        for entry in authorised.iter() {
            let most = (entry.memory_mb << 20).min(all.share);
            let budget = all.budgets.entry(entry.key).or_insert_with(|| Budget::within(most, &self.memory));
            budget.set_most(most);
            let bucket = all.buckets.entry(entry.key);
            bucket.or_insert_with(|| Bucket::within(None, &self.bucket)).set_rate(entry.rate_most);
        }
    }

    /// Begins a session of an authorised key.
    pub(super) fn begin(
        &self,
        shared: &Arc<Shared>,
        incoming: &Incoming,
        entry: &Entry,
        (streams, connections, wish): (u32, u16, &str),
        secret: Exported,
    ) -> Result<(Session, Answer), Refusal> {
        let most = u32::from(entry.connections.min(connections).max(1));
        let governor = governor(shared, wish, most)?;
        incoming.carry(&governor, &shared.congestion)?;
        let mut id = [0; 16];
        SystemRandom::new().fill(&mut id).map_err(|_| Refusal::Full)?;
        let limits = Limits { own_streams: streams, their_streams: entry.streams, ..Limits::default() };
        let law = governor.status().law;
        let session = {
            let mut all = self.all();
            all.make_room(entry.key, entry.sessions.into())?;
            let share = (entry.memory_mb << 20).min(all.share);
            let of_key = all.budgets.entry(entry.key).or_insert_with(|| Budget::within(share, &self.memory));
            let session = Session::new(Side::Relay, limits, Arc::clone(of_key));
            let bucket = all.buckets.entry(entry.key);
            let bucket = bucket.or_insert_with(|| Bucket::within(entry.rate_most, &self.bucket));
            session.bound(Arc::clone(bucket));
            let (key, name, governor) = (entry.key, entry.name.clone(), governor.clone());
            let held =
                Held { session: session.clone(), key, name, secret, most, governor, alone_since: None };
            all.sessions.insert(id, held);
            session
        };
        let party = Party::new(&secret, End::Called, live::now());
        let seat = shared.desk.seat(party, Arc::new(governor.clone()));
        tokio::spawn(probe(session.clone(), seat));
        tokio::spawn(governor.run(session.clone(), true));
        tokio::spawn(pass_on(Arc::clone(shared), session.clone(), entry.key));
        let answer = Answer::Welcome { session: id, streams: entry.streams, connections: most as u16, law };
        Ok((session, answer))
    }

    /// Returns the session that a connection may join. A client with another key, or without proof, does not
    /// learn whether the session exists.
    pub(super) fn join(
        &self,
        shared: &Shared,
        incoming: &Incoming,
        id: &SessionId,
        exported: &Exported,
        proof: &Exported,
    ) -> Result<Session, Refusal> {
        let all = self.all();
        let held = all.sessions.get(id).filter(|held| held.key == incoming.key);
        let held = held.filter(|held| proves(&held.secret, id, exported, proof));
        let held = held.filter(|held| held.session.closed().is_none()).ok_or(Refusal::NoSession)?;
        // Connections without progress may be replaced.
        let subflows = held.session.subflows();
        let there = subflows.iter().filter(|subflow| subflow.state.is_usable()).count() as u32;
        if there >= held.most || subflows.len() as u32 >= 2 * held.most + 2 {
            return Err(Refusal::Full);
        }
        incoming.carry(&held.governor, &shared.congestion)?;
        Ok(held.session.clone())
    }

    /// Ends sessions of removed or expired keys, and sessions that stayed without connections or without use.
    pub(super) fn reap(&self, known: &Known) {
        let mut all = self.all();
        all.sessions.retain(|_, held| {
            if known.find(held.key).is_none() {
                held.session.close(Closed::Revoked);
            } else if held.session.subflows().is_empty() {
                let since = *held.alone_since.get_or_insert_with(Instant::now);
                if since.elapsed() > LINGER {
                    held.session.close(Closed::Lost);
                }
            } else {
                held.alone_since = None;
            }
            if held.session.open_streams() == 0 && held.session.unused_for().as_secs_f64() > IDLE_S {
                held.session.close(Closed::Idle);
            }
            held.session.closed().is_none()
        });
    }

    pub(super) fn close_all(&self, why: Closed) {
        self.all().sessions.values().for_each(|held| held.session.close(why));
    }

    pub(super) fn memory(&self) -> u64 {
        self.memory.taken()
    }

    pub(super) fn status(&self) -> Vec<SessionStatus> {
        let all = self.all();
        let of = |held: &Held| {
            let sending = Direction::sent(&held.session, held.governor.wanted(), held.governor.status());
            let receiving = Direction::received(&held.session);
            SessionStatus::of(&held.name, &held.session, sending, receiving)
        };
        all.sessions.values().map(of).collect()
    }
}

impl All {
    /// Makes room for one more session of a key: one that has lost all its connections is ended.
    fn make_room(&mut self, key: PublicKey, most: usize) -> Result<(), Refusal> {
        let own: Vec<SessionId> =
            self.sessions.iter().filter(|(_, held)| held.key == key).map(|(id, _)| *id).collect();
        if own.len() < most {
            return Ok(());
        }
        let alone = own.into_iter().find(|id| self.sessions[id].session.subflows().is_empty());
        let gone = alone.and_then(|id| self.sessions.remove(&id)).ok_or(Refusal::Full)?;
        gone.session.close(Closed::Lost);
        Ok(())
    }
}

/// Returns the law of this side's sending direction: its own, or the client's request.
fn governor(shared: &Shared, wish: &str, most: u32) -> Result<Governor, Refusal> {
    let law = match &shared.options.law {
        Some(own) => own.clone(),
        None if wish.is_empty() => crate::control::law("guarded").map_err(|_| Refusal::Law)?,
        None => serde_json::from_str::<ConnectionParams>(wish).map_err(|_| Refusal::Law)?,
    };
    Governor::new(law, most, true).map_err(|_| Refusal::Law)
}

/// Sends this side's probes until the session is over.
async fn probe(session: Session, seat: Seat) {
    tokio::select! {
        () = seat.probe() => {}
        _ = session.ended() => {}
    }
}

/// Passes a session's streams on, each with its key's permissions at that time.
async fn pass_on(shared: Arc<Shared>, session: Session, key: PublicKey) {
    while let Some(stream) = session.accept().await {
        let Some(entry) = shared.known.find(key) else { return session.close(Closed::Revoked) };
        if shared.accepted.send(Accepted { stream, entry }).await.is_err() {
            return;
        }
    }
}
