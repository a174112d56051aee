//! Runs one direction's law at its sender, once an interval, and applies its decision to the session.

use crate::control::{Caps, Controller, Decision, Refused, Status, Subflow};
use crate::probe::Returned;
use crate::probe::live::Host;
use crate::session::{Session, SubflowStatus, now};
use evenair_laws::connections::ConnectionParams;
use evenair_units::{Bytes, Duration, Instant};
use std::sync::{Arc, Mutex, PoisonError};

/// A segment's payload, before the path is known: Ethernet's, less the headers of IP and TCP with time
/// stamps.
const PAYLOAD: Bytes = Bytes::new(1448);
/// A direction was busy if there was nothing to send for less than this share of the interval.
const IDLE_MOST: f64 = 0.1;

/// The law of a direction, and its state.
#[derive(Clone, Debug)]
pub(crate) struct Governor {
    controller: Arc<Mutex<Controller>>,
    /// Round trips of the probes that returned since the last interval.
    probes: Arc<Mutex<Vec<Duration>>>,
}

impl Governor {
    /// Begins the law of a direction.
    pub(crate) fn new(law: ConnectionParams, most: u32, can_probe: bool) -> Result<Self, Refused> {
        let controller = Controller::new(law, Caps { most }, can_probe, PAYLOAD, now())?;
        Ok(Self { controller: Arc::new(Mutex::new(controller)), probes: Arc::default() })
    }

    fn with<T>(&self, what: impl FnOnce(&mut Controller) -> T) -> T {
        what(&mut self.controller.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the wanted number of connections.
    pub(crate) fn wanted(&self) -> u32 {
        self.with(|controller| controller.decision().wanted)
    }

    /// Returns the law's status.
    pub(crate) fn status(&self) -> Status {
        self.with(|controller| controller.status())
    }

    /// Returns the congestion control that the law requires of each connection.
    pub(crate) fn congestion_control(&self) -> Option<&'static str> {
        self.with(|controller| controller.congestion_control())
    }

    /// Runs the law until the session is over. With `tells`, the other side, which dials, receives the wanted
    /// number.
    pub(crate) async fn run(self, session: Session, tells: bool) {
        let mut since = now();
        apply(&session, tells, self.wanted());
        while session.closed().is_none() {
            let due = self.with(|controller| controller.next_at());
            let wait = std::time::Duration::from_nanos(due.since(now()).as_nanos());
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                _ = session.ended() => return,
            }
            let at = now();
            if at < due {
                continue;
            }
            if let Some(Decision { wanted, .. }) = self.ask(&session, since, at) {
                apply(&session, tells, wanted);
            }
            since = at;
        }
    }

    fn ask(&self, session: &Session, since: Instant, at: Instant) -> Option<Decision> {
        let (idle, dry) = session.0.with(|inner| inner.core.take_idle(at));
        let busy = idle.as_secs_f64() < IDLE_MOST * at.since(since).as_secs_f64();
        let subflows = session.subflows();
        let told = |of: &dyn Fn(&SubflowStatus) -> bool| -> Vec<Subflow> {
            let subflows = subflows.iter().filter(|subflow| of(subflow));
            subflows
                .filter_map(|subflow| Some(Subflow { id: subflow.state.id.into(), info: subflow.info? }))
                .collect()
        };
        let (open, others) =
            (told(&|subflow| subflow.state.is_active), told(&|subflow| !subflow.state.is_active));
        let spare =
            subflows.iter().filter(|subflow| subflow.state.is_usable() && !subflow.state.is_active).count()
                as u32;
        let probes = std::mem::take(&mut *self.probes.lock().unwrap_or_else(PoisonError::into_inner));
        let held_up = !busy && 2.0 * dry.as_secs_f64() > idle.as_secs_f64();
        self.with(|controller| {
            let decision = controller.observe_with_others(at, &open, (&others, spare), &probes, busy);
            if held_up {
                controller.was_bounded();
            }
            decision
        })
    }
}

fn apply(session: &Session, tells: bool, wanted: u32) {
    session.0.with(|inner| {
        inner.core.set_wanted(wanted, now());
        if tells {
            inner.core.tell_wanted(wanted);
        }
    });
}

impl Host for Governor {
    fn spacing(&self) -> Option<Duration> {
        self.with(|controller| controller.wants_probes())
    }

    fn back(&self, returned: Returned) {
        self.probes.lock().unwrap_or_else(PoisonError::into_inner).push(returned.round_trip);
    }
}
