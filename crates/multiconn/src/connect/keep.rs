//! Keeps the wanted number of connections: opens one more at a time, retires one, and begins a new session
//! after the old one ends.

use super::dial::ConnectError;
use super::learn::Learner;
use super::{Current, Shared};
use crate::frame::Closed;
use crate::hello::Refusal;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// At most one connection is opened or retired in this time, once the session has its starting number.
const INTERVAL: Duration = Duration::from_secs(1);
/// A connection that neither side wants stays for this time, since a law that tries fewer may want it back.
const UNWANTED: Duration = Duration::from_secs(10);
/// A session without connections is given up after this time.
pub(crate) const LINGER: Duration = Duration::from_secs(30);
/// The wait after a failure: doubled each time, up to the maximum.
const BACKOFF: Duration = Duration::from_millis(200);
const BACKOFF_MOST: Duration = Duration::from_secs(5);

/// Keeps a session for as long as the client lives.
pub(super) async fn keep(shared: Arc<Shared>) {
    let mut backoff = BACKOFF;
    loop {
        if let Some(current) = shared.current() {
            let why = keep_one(&shared, &current).await;
            shared.set(None, None);
            if why == Closed::Idle {
                shared.wanted.notified().await;
            }
        }
        match shared.dialler.begin().await {
            Ok(current) => {
                backoff = BACKOFF;
                shared.set(Some(current), None);
            }
            Err(why) => {
                shared.set(None, Some(why));
                tokio::time::sleep(backoff).await;
                backoff = (2 * backoff).min(BACKOFF_MOST);
            }
        }
    }
}

/// Keeps the connections of a session until it is over.
async fn keep_one(shared: &Arc<Shared>, current: &Current) -> Closed {
    let session = &current.session;
    let begun = current.governor.wanted().max(current.known.down).min(current.most);
    let mut learner = Learner::new(current, shared.dialler.options.paths.as_ref());
    let mut opened = 1;
    let mut next_at = Instant::now();
    let mut backoff = BACKOFF;
    let (mut alone_since, mut too_many_since) = (None, None);
    loop {
        let changed = session.0.changed.notified();
        if let Some(why) = session.closed() {
            return why;
        }
        learner.iter_mut().for_each(|learner| learner.look(current));
        let (there, target) = (usable(current), target(current));
        if there > 0 {
            alone_since = None;
        } else if alone_since.get_or_insert_with(Instant::now).elapsed() > LINGER {
            session.close(Closed::Lost);
            continue;
        }
        let at_once = opened < begun || there == 0;
        if there < target && (at_once || Instant::now() >= next_at) {
            match shared.dialler.join(current).await {
                Ok(()) => {
                    opened += 1;
                    backoff = BACKOFF;
                    next_at = Instant::now() + INTERVAL;
                }
                Err(ConnectError::Refused(Refusal::NoSession)) => session.close(Closed::Unknown),
                Err(_) => {
                    opened = begun;
                    next_at = Instant::now() + backoff;
                    tokio::time::sleep(backoff.min(Duration::from_millis(500))).await;
                    backoff = (2 * backoff).min(BACKOFF_MOST);
                }
            }
            continue;
        }
        if there <= target {
            too_many_since = None;
        } else if too_many_since.get_or_insert_with(Instant::now).elapsed() > UNWANTED
            && Instant::now() >= next_at
        {
            let subflows = session.subflows();
            if let Some(last) =
                subflows.iter().rev().find(|subflow| !subflow.state.retires && !subflow.state.is_active)
            {
                session.retire(last.state.id);
                next_at = Instant::now() + INTERVAL;
            }
        }
        let _ = tokio::time::timeout(INTERVAL / 4, changed).await;
    }
}

/// Returns the number of connections that make progress and do not retire.
fn usable(current: &Current) -> u32 {
    let subflows = current.session.subflows();
    subflows.iter().filter(|subflow| subflow.state.is_usable()).count() as u32
}

/// Returns the number of connections to keep: the larger of the numbers that the two sides want, and a spare
/// one if the number may change.
fn target(current: &Current) -> u32 {
    let wanted = current.governor.wanted().max(current.session.they_want());
    let both_fixed = current.governor.status().law == "fixed" && current.relay_law == "fixed";
    (wanted + u32::from(!both_fixed)).clamp(1, current.most)
}
