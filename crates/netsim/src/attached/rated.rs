//! Sources with a law for their rate: they are paced exactly, and ask their law once per its interval.

use super::{Attached, Due};
use crate::core::Core;
use crate::spec::RatedSpec;
use evenair_laws::Parameters;
use evenair_laws::flow::{FlowRole, Signal};
use evenair_laws::rate::{AnyRate, RateLaw};
use evenair_units::{Duration, Instant, Rate};

/// Bits per second times nanoseconds in a bit.
const PER_BIT: u128 = 1_000_000_000;

/// Evenly spaced datagrams at a rate that changes. A datagram goes when the rate has earned it. Credit toward the next
/// stays where the rate changes, so the count equals the integral of the rate. Without a bound on the rate a law that
/// divides by a short queue would fill any buffer in no time, and the event queue with it.
#[derive(Clone, Debug)]
pub(crate) struct Paced {
    law: AnyRate,
    rate_max: Rate,
    rate: Rate,
    /// The price of a datagram \[bit/s·ns\].
    price: u128,
    /// The credit earned until `since`, and not spent \[bit/s·ns\].
    earned: u128,
    since: Instant,
}

impl Paced {
    pub(crate) fn new(spec: &RatedSpec) -> Self {
        Self {
            law: spec.law.begin(&FlowRole { payload: spec.size }),
            rate_max: spec.rate_max,
            rate: Rate::default(),
            price: u128::from(spec.size.bits()) * PER_BIT,
            earned: 0,
            since: Instant::ZERO,
        }
    }

    /// The signals that its law needs.
    pub(super) fn needs(&self) -> Vec<Signal> {
        self.law.needs()
    }

    /// A stretch of activity begins, with nothing earned.
    fn begin(&mut self, now: Instant) {
        (self.rate, self.earned, self.since) = (Rate::default(), 0, now);
    }

    fn earn(&mut self, now: Instant) {
        self.earned += u128::from(self.rate.as_bps()) * u128::from(now.since(self.since).as_nanos());
        self.since = now;
    }

    fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.earn(now);
        self.rate = rate.min(self.rate_max);
    }

    /// A datagram goes.
    pub(super) fn spend(&mut self, now: Instant) {
        self.earn(now);
        debug_assert!(self.earned >= self.price, "a datagram that is not earned yet");
        self.earned -= self.price;
    }

    /// When the next datagram is earned.
    fn due(&self) -> Instant {
        let missing = self.price.saturating_sub(self.earned);
        let wait_ns = match (missing, self.rate.as_bps()) {
            (0, _) => 0,
            (_, 0) => return Instant::NEVER,
            (_, rate) => missing.div_ceil(u128::from(rate)),
        };
        // A wait beyond all time is one for ever.
        self.since + Duration::from_nanos(u64::try_from(wait_ns).unwrap_or(u64::MAX))
    }
}

impl Attached {
    /// A source begins: its law is asked at once.
    pub(super) fn start_rate(&mut self, core: &mut Core<Due>, flow: u32) {
        let state = &mut self.flows[flow as usize];
        if let Some(paced) = &mut state.paced {
            paced.begin(core.now());
            let run = state.run;
            self.update_rate(core, flow, run);
        }
    }

    /// The law of a source's rate runs.
    pub(super) fn update_rate(&mut self, core: &mut Core<Due>, flow: u32, run: u32) {
        if !self.is_current(flow, run) {
            return;
        }
        let now = core.now();
        let view = self.look(core, flow);
        let Some(paced) = &mut self.flows[flow as usize].paced else { return };
        let rate = paced.law.on_interval(&view);
        paced.set_rate(now, rate);
        let interval = paced.law.interval();
        self.schedule_paced(core, flow);
        core.call_at(now + interval, Due::Rate(flow, run));
    }

    /// An entry of the event queue that the rate has overtaken finds nothing due.
    pub(super) fn schedule_paced(&mut self, core: &mut Core<Due>, flow: u32) {
        let state = &mut self.flows[flow as usize];
        let Some(paced) = &state.paced else { return };
        let due = paced.due();
        if due != state.datagram_due && !due.is_never() {
            core.call_at(due, Due::Datagram(flow));
        }
        state.datagram_due = due;
    }
}
