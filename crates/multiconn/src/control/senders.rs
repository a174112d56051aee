//! What the kernel's senders of one flow have counted, as its connections come and go: one view per interval for a law.
//!
//! The emulator's flows and the transport's sessions are seen through this alone, so that a law is told the same of both.

use evenair_laws::flow::{FlowView, Signal};
use evenair_linux::tcp::Info;
use evenair_units::{Bytes, Duration, Instant, Volume};

/// Counts of senders, since they began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Segments with data that were sent, repetitions included.
    pub segments: u64,
    /// Repetitions among them.
    pub repeated: u64,
    /// Retransmission time-outs, as far as the kernel counts them.
    pub timeouts: u64,
    /// Bytes that were acknowledged.
    pub acknowledged: u64,
}

impl Counts {
    /// With those of one more connection.
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
    /// Of connections that are over.
    finished: Counts,
    /// When it was looked last, and the counts then.
    looked: (Instant, Counts),
    /// The least round trip that was read: the kernel's own forgets what is older than minutes.
    least: Option<Duration>,
}

impl Senders {
    /// Nobody has sent anything; an interval begins now.
    pub fn from(now: Instant) -> Self {
        Self { looked: (now, Counts::default()), ..Self::default() }
    }

    /// An interval begins now, and with it all that is known of the path. `there` are all connections that are not over.
    pub fn begin<'a>(&mut self, now: Instant, there: impl IntoIterator<Item = &'a Info>) {
        self.looked = (now, self.total(there));
        self.least = None;
    }

    /// A connection is over; its last counts are kept.
    pub fn part(&mut self, last: &Info) {
        self.finished = self.finished.plus(last);
    }

    /// All that was counted so far. `there` are all connections that are not over.
    pub fn total<'a>(&self, there: impl IntoIterator<Item = &'a Info>) -> Counts {
        there.into_iter().fold(self.finished, Counts::plus)
    }

    /// The interval that ends now, and the next begins: of connections that are `open`, and others that only send what they still have.
    /// `probes` is the mean round trip of the probes that came back in it.
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

/// The mean of connections' smoothed round trips, of those that have one.
fn smoothed(open: &[Info]) -> Option<Duration> {
    let each_s = open.iter().filter_map(|info| Some(info.smoothed_round_trip?.as_secs_f64()));
    let (sum_s, count) = each_s.fold((0.0, 0_u32), |(sum_s, count), each_s| (sum_s + each_s, count + 1));
    (count > 0).then(|| Duration::from_secs_f64(sum_s / f64::from(count)))
}

/// Why a host with Linux' own TCP, which may send probes beside it, cannot tell a law of connections something.
pub const fn why_not(signal: Signal) -> Option<&'static str> {
    match signal {
        Signal::SmoothedRoundTrip | Signal::LeastRoundTrip | Signal::RoundTripOfProbes => None,
        Signal::RoundTrip | Signal::RoundTripOfWindows => {
            Some("Linux tells a smoothed round trip alone: set samples = \"smoothed\" or \"probes\"")
        }
        Signal::LeastInInterval => Some(
            "Linux tells the least round trip of minutes, and lets nobody hold its connections back: leave round_trip_holds out",
        ),
        Signal::Marked => Some(
            "with the ECN of RFC 3168 a sender sees echoes, not how many marks: set price = \"learnt\" or \"told\"",
        ),
        Signal::RouteChanged => Some("Linux does not tell of routes"),
        Signal::Lost => Some("a sender sees no losses, only what it repeats"),
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
    fn an_interval_has_what_was_counted_in_it_though_connections_come_and_go() {
        let mut senders = Senders::default();
        let first = info(100, 1, 90_000, 40);
        senders.begin(at(0), [&first]);
        // The first goes on; a second comes, and only sends what it has.
        let (first, second) = (info(150, 2, 140_000, 60), info(20, 0, 10_000, 0));
        let (first, second) = (Info { unacknowledged: 3, ..first }, Info { unacknowledged: 9, ..second });
        let view = senders.look(at(5), PAYLOAD, (&[first], &[second]), None);
        assert_eq!((view.interval, view.sent, view.retransmitted), (Duration::from_secs(5), 70, 1));
        assert_eq!(view.delivered, Volume { packets: 60, bytes: 60_000 });
        assert_eq!(view.smoothed_round_trip, Some(Duration::from_millis(60)));
        assert_eq!(view.least_round_trip, Some(Duration::from_millis(30)));
        assert_eq!(view.outstanding, Some(3), "of those that are open");
        // The second is over with a little more; a third is open.
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
    fn an_interval_without_an_acknowledgement_has_no_round_trip() {
        let mut senders = Senders::default();
        let same = info(10, 0, 8_000, 100);
        senders.begin(at(0), [&same]);
        let view = senders.look(at(5), PAYLOAD, (&[same], &[]), None);
        assert_eq!((view.delivered.packets, view.smoothed_round_trip), (0, None));
    }
}
