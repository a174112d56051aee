//! Combines the kernel's counters of one flow's connections, which come and go, into one view per interval
//! for a law.
//!
//! The emulator and the transport both use it, so a law gets the same view of either.

use evenair_laws::flow::{FlowView, Signal};
use evenair_linux::tcp::Info;
use evenair_units::{Bytes, Duration, Instant, Volume};

/// Counters of senders since their start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Segments with data that were sent, retransmissions included.
    pub segments: u64,
    /// Retransmissions among them.
    pub repeated: u64,
    /// Retransmission time-outs, if the kernel counts them.
    pub timeouts: u64,
    /// Bytes that were acknowledged.
    pub acknowledged: u64,
}

impl Counts {
    /// Adds the counters of one more connection.
    #[must_use]
    pub fn plus(self, info: &Info) -> Self {
        Self {
            segments: self.segments + info.sent_segments,
            repeated: self.repeated + info.retransmitted,
            timeouts: self.timeouts + info.timeouts.unwrap_or(0),
            acknowledged: self.acknowledged + info.acknowledged_bytes,
        }
    }
}

/// The senders of one flow.
#[derive(Clone, Debug, Default)]
pub struct Senders {
    /// Counters of closed connections.
    finished: Counts,
    /// The last observation's time and counters.
    looked: (Instant, Counts),
    /// The least round trip observed: the kernel's own minimum expires after minutes.
    least: Option<Duration>,
}

impl Senders {
    /// Returns senders without traffic; an interval begins now.
    pub fn from(now: Instant) -> Self {
        Self { looked: (now, Counts::default()), ..Self::default() }
    }

    /// Begins an interval and forgets the path. `there` are all open connections.
    pub fn begin<'a>(&mut self, now: Instant, there: impl IntoIterator<Item = &'a Info>) {
        self.looked = (now, self.total(there));
        self.least = None;
    }

    /// Keeps the last counters of a closed connection.
    pub fn part(&mut self, last: &Info) {
        self.finished = self.finished.plus(last);
    }

    /// Returns all counters so far. `there` are all open connections.
    pub fn total<'a>(&self, there: impl IntoIterator<Item = &'a Info>) -> Counts {
        there.into_iter().fold(self.finished, Counts::plus)
    }

    /// Ends the interval and begins the next. `open` connections get new data; the others only send their
    /// remaining data. `probes` is the mean round trip of the probes that returned in the interval.
    pub fn look(
        &mut self,
        now: Instant,
        payload: Bytes,
        (open, draining): (&[Info], &[Info]),
        probes: Option<Duration>,
    ) -> FlowView {
        let counts = self.total(open.iter().chain(draining));
        let (began, before) = std::mem::replace(&mut self.looked, (now, counts));
        let bytes = counts.acknowledged.saturating_sub(before.acknowledged);
        self.least = open.iter().filter_map(|info| info.least_round_trip).chain(self.least).min();
        FlowView {
            now,
            interval: now.since(began),
            smoothed_round_trip: smoothed(open).filter(|_| bytes > 0),
            least_round_trip: self.least,
            round_trip_of_probes: probes,
            delivered: Volume { packets: bytes / u64::from(payload.count().max(1)), bytes },
            sent: counts.segments.saturating_sub(before.segments),
            retransmitted: counts.repeated.saturating_sub(before.repeated),
            outstanding: Some(open.iter().map(|info| info.unacknowledged).sum()),
            ..FlowView::default()
        }
    }
}

/// Returns the mean smoothed round trip of the connections that have one.
fn smoothed(open: &[Info]) -> Option<Duration> {
    let each_s = open.iter().filter_map(|info| Some(info.smoothed_round_trip?.as_secs_f64()));
    let (sum_s, count) = each_s.fold((0.0, 0_u32), |(sum_s, count), each_s| (sum_s + each_s, count + 1));
    (count > 0).then(|| Duration::from_secs_f64(sum_s / f64::from(count)))
}

/// Returns the reason why Linux' own TCP, with probes beside it, cannot supply a signal to a law of
/// connections.
pub const fn why_not(signal: Signal) -> Option<&'static str> {
    match signal {
        Signal::SmoothedRoundTrip | Signal::LeastRoundTrip | Signal::RoundTripOfProbes => None,
        Signal::RoundTrip | Signal::RoundTripOfWindows => {
            Some("Linux tells a smoothed round trip alone: set samples = \"smoothed\" or \"probes\"")
        }
        Signal::LeastInInterval => Some(
            "Linux tells the least round trip of minutes, and no program can hold its connections back: leave round_trip_holds out",
        ),
        Signal::Marked => Some(
            "with the ECN of RFC 3168 a sender sees echoes, not how many marks: set price = \"learnt\" or \"told\"",
        ),
        Signal::RouteChanged => Some("Linux does not tell of routes"),
        Signal::Lost => Some("a sender sees no losses, only its repetitions"),
        Signal::FirstBacklog | Signal::PathBacklog => Some("a sender does not see queues on the way"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(segments: u64, repeated: u64, acknowledged: u64, smoothed_ms: u64) -> Info {
        Info {
            smoothed_round_trip: (smoothed_ms > 0).then(|| Duration::from_millis(smoothed_ms)),
            least_round_trip: (smoothed_ms > 0).then(|| Duration::from_millis(smoothed_ms / 2)),
            retransmitted: repeated,
            congestion_window: 10,
            segment: Bytes::new(1448),
            acknowledged_bytes: acknowledged,
            sent_segments: segments,
            unacknowledged: 0,
            delivery_rate: None,
            timeouts: None,
        }
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    const PAYLOAD: Bytes = Bytes::new(1000);

    #[test]
    fn interval_counts_survive_churn() {
        let mut senders = Senders::default();
        let first = info(100, 1, 90_000, 40);
        senders.begin(at(0), [&first]);
        // The first continues; a second starts and only sends its remaining data.
        let (first, second) = (info(150, 2, 140_000, 60), info(20, 0, 10_000, 0));
        let (first, second) = (Info { unacknowledged: 3, ..first }, Info { unacknowledged: 9, ..second });
        let view = senders.look(at(5), PAYLOAD, (&[first], &[second]), None);
        assert_eq!((view.interval, view.sent, view.retransmitted), (Duration::from_secs(5), 70, 1));
        assert_eq!(view.delivered, Volume { packets: 60, bytes: 60_000 });
        assert_eq!(view.smoothed_round_trip, Some(Duration::from_millis(60)));
        assert_eq!(view.least_round_trip, Some(Duration::from_millis(30)));
        assert_eq!(view.outstanding, Some(3), "of those that are open");
        // The second closes after a few more segments; a third is open.
        senders.part(&info(25, 0, 15_000, 0));
        let third = Info { unacknowledged: 4, ..info(10, 0, 8_000, 100) };
        let view = senders.look(at(10), PAYLOAD, (&[first, third], &[]), Some(Duration::from_millis(33)));
        assert_eq!((view.sent, view.retransmitted, view.delivered.bytes), (15, 0, 13_000));
        assert_eq!(view.smoothed_round_trip, Some(Duration::from_millis(80)));
        assert_eq!(view.least_round_trip, Some(Duration::from_millis(30)), "what was read is kept");
        assert_eq!(view.round_trip_of_probes, Some(Duration::from_millis(33)));
        assert_eq!(view.outstanding, Some(7));
    }

    #[test]
    fn interval_without_ack_has_no_round_trip() {
        let mut senders = Senders::default();
        let same = info(10, 0, 8_000, 100);
        senders.begin(at(0), [&same]);
        let view = senders.look(at(5), PAYLOAD, (&[same], &[]), None);
        assert_eq!((view.delivered.packets, view.smoothed_round_trip), (0, None));
    }
}
