//! Window laws: how many segments a TCP sender may have under way, and, for laws that pace, how far apart
//! they leave.
//!
//! The endpoint owns sequence numbers, timers, loss detection and retransmission (Reno's, NewReno's or SACK's
//! recovery). A law owns the congestion window and its reaction to each event.

pub mod adaptive_pacing;
pub mod bbr;
pub mod cubic;
mod delivery;
pub mod fast;
pub mod quic_tcp;
pub mod reno;
pub mod scaled_reno;
pub mod vegas;

pub use adaptive_pacing::{AdaptivePacing, AdaptivePacingParams, ShortPaths};
pub use bbr::{Bbr, BbrParams};
pub use cubic::{Cubic, CubicParams};
pub use delivery::{Delivery, RateSample, Repair};
pub use fast::{Fast, FastParams};
pub use quic_tcp::{QuicTcp, QuicTcpParams};
pub use reno::{Reno, RenoParams};
pub use scaled_reno::{ScaledReno, ScaledRenoParams};
pub use vegas::{Vegas, VegasMeasure, VegasParams};

use crate::family::family;
use evenair_units::{Bytes, Duration, Instant, Rate};

/// The largest window of a law \[segments\]: 2³⁰ bytes are the most that TCP can announce (RFC 7323 section
/// 2.2), and a segment has one byte at least.
pub const WINDOW_MAX: f64 = (1u32 << 30) as f64;

/// A sender's start.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WindowStart {
    /// Congestion window at the start \[segments\].
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub initial_window: f64,
    /// Slow-start threshold at the start \[segments\].
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub initial_ssthresh: f64,
    /// Grow by the segments that an acknowledgement covers (RFC 3465, at most two in slow start), not by one
    /// per acknowledgement: ns-2 counts acknowledgements.
    pub byte_counting: bool,
    /// The known part of the path, where any of it is on the air.
    pub path: Option<AirPath>,
}

impl Default for WindowStart {
    /// Ten segments (RFC 6928), no threshold, counted by acknowledged segments; the path is unknown.
    fn default() -> Self {
        Self { initial_window: 10.0, initial_ssthresh: 1e6, byte_counting: true, path: None }
    }
}

/// A sender's knowledge of its path's part on the air: acknowledgements come back over the same hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AirPath {
    /// Hops on the air.
    pub hops: u32,
    /// A full data packet, network-layer size.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub data: Bytes,
    /// An acknowledgement, network-layer size.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub acknowledgement: Bytes,
    /// The rate of its links: their harmonic mean.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub rate: Rate,
    /// The path's wires there and back, unloaded.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub wired: Duration,
}

/// An acknowledgement; a law receives every one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Acked {
    /// When it came.
    pub now: Instant,
    /// Segments that it reports to have arrived and none did before; nothing, for a duplicate without SACK.
    pub segments: u32,
    /// It acknowledges new data cumulatively.
    pub advances: bool,
    /// A loss is being repaired (fast recovery; not after a time-out).
    pub in_recovery: bool,
    /// The congestion window limits the sender, not the application and not the receiver's window.
    pub window_limited: bool,
    /// Segments under way before it came.
    pub flight: u32,
    /// The round-trip time that it measures, if it measures one.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub sample: Option<Duration>,
    /// The smoothed round-trip time, once there is one.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub smoothed: Option<Duration>,
    /// The least round-trip time so far, once there is one.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub least: Option<Duration>,
}

impl Acked {
    /// Whether laws that react only to growth and loss grow: new data is acknowledged outside recovery, and
    /// the window was in use (RFC 5681 section 3.1; RFC 7661 section 1: an unused window proves nothing about
    /// the path).
    #[inline]
    pub const fn grows(&self) -> bool {
        self.advances && self.window_limited && !self.in_recovery
    }
}

/// A loss, announced by duplicate acknowledgements or a time-out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Loss {
    /// When it was found.
    pub now: Instant,
    /// The segments under way: the window that was in use, after every other limit.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub flight: f64,
    /// The loss is one more of a flight for which the window was cut already: the threshold is held (RFC 5681 section 3.1).
    pub repeated: bool,
}

/// A congestion-window law.
pub trait WindowLaw {
    /// The connection starts, or starts again because its SYN was lost: nothing of the past counts.
    fn begin(&mut self, start: &WindowStart);
    /// Whether the law receives deliveries; the endpoint then keeps account of each segment.
    fn sees_deliveries(&self) -> bool {
        false
    }
    /// An acknowledgement's delivery, given before [`on_ack`](Self::on_ack) to a law that needs it.
    fn on_delivery(&mut self, _delivery: &Delivery) {}
    /// An acknowledgement of any kind came.
    fn on_ack(&mut self, acked: &Acked);
    /// Acknowledgements announce a loss: recovery begins.
    fn on_loss(&mut self, loss: &Loss);
    /// The retransmission timer expired.
    fn on_timeout(&mut self, loss: &Loss);
    /// Recovery without SACK takes so many segments off the window itself (ns-2's NewReno); a law need not follow.
    fn deflate(&mut self, _segments: f64) {}
    /// Whether one connection of it can be worth several, or less than one ([`be_worth`](Self::be_worth)); a
    /// flow then keeps one under any law of connections.
    fn can_be_worth_several(&self) -> bool {
        false
    }
    /// From now on it takes the share of this many connections, a real number.
    fn be_worth(&mut self, _connections: f64) {}
    /// The congestion window is in force during recovery, too; else the endpoint spreads the cut over the acknowledgements.
    fn steers_recovery(&self) -> bool {
        false
    }
    /// The congestion window \[segments\].
    fn congestion_window(&self) -> f64;
    /// The slow-start threshold \[segments\].
    fn slow_start_threshold(&self) -> f64;
    /// The least time between two segments; none if the law does not pace.
    fn pacing_gap(&self) -> Option<Duration> {
        None
    }
}

family! {
    /// Which window law, with its parameters.
    parameters WindowParams,
    /// A window law's state at one sender.
    state AnyWindow: WindowLaw,
    /// A window law of a user's own.
    own OwnWindow: OwnWindowLaw,
    place () => WindowStart,
    tape WindowTold => WindowAnswer,
    default None,
    told {
        OnDelivery: on_delivery(delivery: &Delivery);
        OnAck: on_ack(acked: &Acked);
        OnLoss: on_loss(loss: &Loss);
        OnTimeout: on_timeout(loss: &Loss);
        Deflate: deflate(segments: f64);
        BeWorth: be_worth(connections: f64);
    }
    asked {
        can_be_worth_several() -> bool;
        sees_deliveries() -> bool;
        steers_recovery() -> bool;
        congestion_window() -> f64;
        slow_start_threshold() -> f64;
        pacing_gap() -> Option<Duration>;
    }
    laws {
        /// TCP Reno.
        Reno(RenoParams => Reno),
        /// So many Renos in one connection, a real number: scaled AIMD.
        ScaledReno(ScaledRenoParams => ScaledReno),
        /// TCP CUBIC.
        Cubic(CubicParams => Cubic),
        /// QUIC-TCP ([QCSMA]): so many packets of each flow wait.
        QuicTcp(QuicTcpParams => QuicTcp),
        /// TCP Vegas: between two bounds of packets that wait.
        Vegas(VegasParams => Vegas),
        /// FAST TCP: so many packets of each flow wait.
        Fast(FastParams => Fast),
        /// BBR: a model of the path, paced.
        Bbr(BbrParams => Bbr),
        /// TCP-AP: Reno's window, paced by the time that the path's hops take.
        AdaptivePacing(AdaptivePacingParams => AdaptivePacing),
    }
}

/// The segments for which an acknowledgement counts: those that it covers (RFC 3465), or one, if it covers any (RFC 5681).
fn counted(segments: u32, byte_counting: bool) -> f64 {
    f64::from(if byte_counting { segments } else { segments.min(1) })
}

/// Growth in slow start: the segments for which an acknowledgement counts, up to two (RFC 3465 section 2.2).
fn slow_start_growth(segments: u32, byte_counting: bool) -> f64 {
    counted(segments, byte_counting).min(2.0)
}

/// RFC 5681 eq. (4): half of the flight in whole segments, at least two.
fn half(flight: f64) -> f64 {
    libm::floor(flight / 2.0).max(2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Family, Parameters};
    use std::vec::Vec;

    const START: WindowStart =
        WindowStart { initial_window: 10.0, initial_ssthresh: 40.0, byte_counting: false, path: None };

    /// An acknowledgement of one segment in use.
    const ONE: Acked = Acked {
        now: Instant::ZERO,
        segments: 1,
        advances: true,
        in_recovery: false,
        window_limited: true,
        flight: 10,
        sample: Some(Duration::from_millis(100)),
        smoothed: None,
        least: None,
    };

    fn loss(repeated: bool) -> Loss {
        Loss { flight: 11.0, repeated, ..Loss::default() }
    }

    /// The laws that react to losses as Reno does.
    fn renos() -> [AnyWindow; 6] {
        let laws: [WindowParams; 6] = [
            RenoParams {}.into(),
            ScaledRenoParams {}.into(),
            QuicTcpParams::default().into(),
            VegasParams::default().into(),
            FastParams::default().into(),
            AdaptivePacingParams::default().into(),
        ];
        laws.map(|law| law.begin(&START))
    }

    /// RFC 5681 section 3.1: half of the flight, in whole segments; one segment after a time-out, and the threshold is held if
    /// the segment was sent again already.
    #[test]
    fn losses_cut_as_in_the_rfc() {
        let state = |law: &AnyWindow| (law.congestion_window(), law.slow_start_threshold());
        for law in renos() {
            assert_eq!(state(&law), (10.0, 40.0), "{law:?}");
            let mut found = law.clone();
            found.on_loss(&loss(false));
            assert_eq!(state(&found), (5.0, 5.0), "{law:?}");
            let mut silent = law.clone();
            silent.on_timeout(&loss(false));
            assert_eq!(state(&silent), (1.0, 5.0), "{law:?}");
            let mut again = law;
            again.on_timeout(&loss(true));
            assert_eq!(state(&again), (1.0, 40.0), "{again:?}");
        }
    }

    #[test]
    fn recovery_without_sack_keeps_one_segment() {
        for mut law in renos() {
            law.deflate(3.0);
            assert!((law.congestion_window() - 7.0).abs() < 1e-12, "{law:?}");
            law.deflate(30.0);
            assert!((law.congestion_window() - 1.0).abs() < 1e-12, "{law:?}");
        }
    }

    /// RFC 5681 section 3.1: slow start opens by a segment for each that is acknowledged.
    #[test]
    fn slow_start_is_renos() {
        let laws: [WindowParams; 5] = [
            RenoParams {}.into(),
            ScaledRenoParams {}.into(),
            CubicParams::default().into(),
            QuicTcpParams::default().into(),
            AdaptivePacingParams::default().into(),
        ];
        for params in laws {
            let mut law = params.begin(&START);
            law.on_ack(&ONE);
            assert!((law.congestion_window() - 11.0).abs() < 1e-12, "{law:?}");
        }
    }

    #[test]
    fn a_connection_that_begins_again_is_new() {
        for params in WindowParams::laws() {
            let mut law = params.begin(&START);
            law.on_timeout(&loss(false));
            law.on_ack(&ONE);
            assert_ne!(law, params.begin(&START));
            law.begin(&START);
            assert_eq!(law, params.begin(&START));
        }
    }

    #[test]
    fn laws_of_delay_and_rate_see_deliveries() {
        let laws = WindowParams::laws();
        let with = |has: fn(&AnyWindow) -> bool| -> Vec<bool> {
            laws.iter().map(|params| has(&params.begin(&START))).collect()
        };
        // Reno, scaled Reno, CUBIC, QUIC-TCP, Vegas, FAST, BBR, TCP-AP
        let (no, yes) = (false, true);
        assert_eq!(with(AnyWindow::sees_deliveries), [no, yes, no, no, yes, yes, yes, yes]);
        assert_eq!(with(AnyWindow::can_be_worth_several), [no, yes, no, no, no, no, no, no]);
        assert_eq!(with(AnyWindow::steers_recovery), [no, no, no, no, no, no, yes, no]);
    }

    /// RFC 5681 paces nothing.
    #[test]
    fn reno_leaves_the_pace_to_the_window() {
        assert_eq!(WindowParams::from(RenoParams {}).begin(&START).pacing_gap(), None);
    }
}
