//! The sending endpoint: paces packets, and follows reports and their absence.

use super::{TfrcData, TfrcReport, micros};
use crate::SenderStats;
use evenair_laws::Parameters;
use evenair_laws::flow::FlowRole;
use evenair_laws::rate::tfrc::{Report, Tfrc, TfrcParams};
use evenair_units::{Bytes, Duration, Instant};
use std::collections::VecDeque;

/// The sending endpoint of one connection.
#[derive(Clone, Debug)]
pub struct TfrcSender {
    law: Tfrc,
    is_open: bool,
    next: u32,
    /// How many packets the application has produced.
    supplied: u32,
    /// When the last packet went, if one has.
    sent_at: Option<Instant>,
    /// When the absence of reports is taken for congestion (the no-feedback timer).
    silence_at: Instant,
    /// Whether nothing was sent since that time was set.
    is_idle: bool,
    unreported: Unreported,
    stats: SenderStats,
}

impl TfrcSender {
    /// At its start, with packets of so much data.
    pub fn new(now: Instant, params: &TfrcParams, payload: Bytes) -> Self {
        let law = params.begin(&FlowRole { payload });
        Self {
            silence_at: now + law.patience(),
            law,
            is_open: true,
            next: 0,
            supplied: u32::MAX,
            sent_at: None,
            is_idle: true,
            unreported: Unreported::default(),
            stats: SenderStats::default(),
        }
    }

    /// The application has produced this many packets in all; without this call, endless data.
    pub const fn supply(&mut self, packets: u32) {
        self.supplied = packets;
    }

    /// The connection stands for so many from here on.
    pub fn set_worth(&mut self, worth: f64) {
        self.law.set_worth(worth);
    }

    /// How many connections it stands for.
    pub fn worth(&self) -> f64 {
        self.law.worth()
    }

    /// When the next packet may go, if there is one.
    fn due(&self) -> Instant {
        if !self.is_open || self.next >= self.supplied {
            return Instant::NEVER;
        }
        // RFC 5348 section 4.6: a packet's time after the last one, at the rate that holds now.
        let gap = Duration::from_secs_f64(1.0 / self.law.rate_now()).max(Duration::from_nanos(1));
        self.sent_at.map_or(Instant::ZERO, |sent| sent + gap)
    }

    /// The packet to send now, if any.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<TfrcData> {
        if self.due() > now {
            return None;
        }
        // A packet that was due earlier and could go only now waited for the application.
        self.sent_at = Some(now);
        self.is_idle = false;
        let number = self.next;
        self.next += 1;
        self.stats.sent += 1;
        self.unreported.add(now, self.next < self.supplied);
        let round_trip = self.law.round_trip().unwrap_or_default();
        let event = Duration::from_secs_f64(round_trip.as_secs_f64() / self.law.worth());
        let known = u32::from(!round_trip.is_zero());
        Some(TfrcData {
            number,
            sent: now,
            round_trip_us: micros(round_trip).max(known),
            event_us: micros(event).max(known),
        })
    }

    /// When the next packet is due, or the feedback timer expires.
    pub fn poll_timeout(&self) -> Instant {
        if self.is_open { self.due().min(self.silence_at) } else { Instant::NEVER }
    }

    /// The timer expired; harmless when it is not due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.is_open && now >= self.silence_at {
            self.stats.timeouts += 1;
            self.law.on_silence(now, self.is_idle);
            self.watch(now);
        }
    }

    /// A report comes; gives its sample of the round-trip time.
    pub fn handle_report(&mut self, now: Instant, report: &TfrcReport) -> Duration {
        let since = now.since(report.echo);
        let round_trip = since.saturating_sub(Duration::from_micros(u64::from(report.delay_us)));
        let clean = |value: f32, most: f64| if value > 0.0 { f64::from(value).min(most) } else { 0.0 };
        self.law.on_report(&Report {
            now,
            round_trip,
            receive_rate: clean(report.receive_rate, 1e12),
            loss_event_rate: clean(report.loss_event_rate, 1.0),
            data_limited: self.unreported.is_data_limited(report.echo),
        });
        self.watch(now);
        round_trip
    }

    /// RFC 5348 section 4.3 step 6 and section 4.4 step 2.
    fn watch(&mut self, now: Instant) {
        self.silence_at = now + self.law.patience();
        self.is_idle = true;
    }

    /// No packet from here on: the connection is over.
    pub const fn close(&mut self) {
        self.is_open = false;
    }

    /// Whether the connection sends.
    pub const fn is_open(&self) -> bool {
        self.is_open
    }

    /// The allowed rate \[packets/s\].
    pub fn rate(&self) -> f64 {
        self.law.rate()
    }

    /// The loss-event rate that was reported last.
    pub fn loss_event_rate(&self) -> f64 {
        self.law.loss_event_rate()
    }

    /// The round-trip time as the law smooths it (RFC 5348 section 4.3), once there is one.
    pub fn smoothed_round_trip(&self) -> Option<Duration> {
        self.law.round_trip()
    }

    /// Packets of a round trip at the allowed rate, as TCP's congestion window counts them; packets of a second, before a
    /// round trip is known.
    pub fn window(&self) -> f64 {
        self.law.rate() * self.law.round_trip().map_or(1.0, Duration::as_secs_f64)
    }

    /// The counts so far; time-outs are those of the reports.
    pub const fn stats(&self) -> &SenderStats {
        &self.stats
    }
}

/// The spans of sending that are not reported yet: with more to send than was allowed, or with nothing left.
#[derive(Clone, Debug, Default)]
struct Unreported {
    runs: VecDeque<Run>,
}

/// Packets one after the other, sent from an instant to another.
#[derive(Clone, Copy, Debug)]
struct Run {
    from: Instant,
    to: Instant,
    /// More was left to send.
    is_full: bool,
}

impl Unreported {
    fn add(&mut self, now: Instant, is_full: bool) {
        match self.runs.back_mut() {
            Some(run) if run.is_full == is_full => run.to = now,
            _ => self.runs.push_back(Run { from: now, to: now, is_full }),
        }
    }

    /// Packets sent until then are reported: did the sender have nothing left to send all the time (RFC 5348 section 8.2.1)?
    fn is_data_limited(&mut self, until: Instant) -> bool {
        let (mut any, mut full) = (false, false);
        while let Some(run) = self.runs.front_mut()
            && run.from <= until
        {
            (any, full) = (true, full || run.is_full);
            if run.to > until {
                run.from = until + Duration::from_nanos(1);
                break;
            }
            self.runs.pop_front();
        }
        any && !full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// RFC 5348 section 8.2.1: only where nothing was left to send all the time. A report splits the sent
    /// packets at its echo.
    #[test]
    fn reports_count_segments_until_their_echo() {
        let mut unreported = Unreported::default();
        (0..=10).for_each(|n| unreported.add(at(10 * n), false));
        assert!(unreported.is_data_limited(at(50)), "of those until 50 ms");
        assert!(unreported.is_data_limited(at(100)), "of the others");
        assert!(!unreported.is_data_limited(at(100)), "nothing was sent since");
        unreported.add(at(110), true);
        assert!(!unreported.is_data_limited(at(110)));
        unreported.add(at(120), false);
        assert!(unreported.is_data_limited(at(120)), "earlier packets are reported");
    }
}
