//! The rules in which implementations of 802.11 differ.

use super::hearers::milliwatts;
use crate::error::ErrorModel;
use evenair_units::{Bytes, Dbm, Duration};

/// Which of overlapping frames survives at a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Capture {
    /// A frame survives if it is stronger by the threshold than every frame that overlaps it, whichever came first.
    Strongest,
    /// Only the frame that came first can survive; the receiver stays with it even if it cannot be decoded, as
    /// in ns-2.
    First,
    /// A frame survives if it is stronger by the threshold than noise and all frames that overlap it, added up, at any
    /// moment of its duration.
    Sinr {
        /// The receiver's noise.
        noise: Dbm,
    },
    /// A receiver detects a preamble, and turns to another that begins in its first 16 µs and is stronger by the threshold. An error
    /// model tells which packets of the frame survive noise and all interference over its time.
    Errors(ErrorModel),
}

/// Where implementations of 802.11 differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Which of overlapping frames survives.
    pub capture: Capture,
    /// By how much a frame must be stronger to survive \[dB\].
    pub capture_db: f64,
    /// The extended inter-frame space is a reservation: a DIFS follows it and no good frame cancels it, as in ns-2. By the
    /// standard it replaces the DIFS until a frame is received correctly (clause 10.3.2.3.7).
    pub eifs_reserves: bool,
    /// A signal that is sensed and too weak to be decoded is a frame received in error, and an extended inter-frame space
    /// follows it ([Jam10] section 2.2, ns-2). If not, it is energy and nothing more: the receiver never locks to it, as in
    /// ns-3.
    pub weak_is_error: bool,
    /// A receiver detects a frame only if in its first 4 µs it is stronger by this than all else, as in ns-3 \[dB\]: of frames that
    /// begin together it may notice none, and then owes no extended inter-frame space. If there is no threshold it locks to one
    /// of them. Under an error model the receiver's noise counts, too.
    pub detection_db: Option<f64>,
    /// The medium is also busy while all signals at a node add up to this, none of which need be sensed alone; a signal of this power is.
    pub energy: Option<Dbm>,
    /// A packet that arrives on an idle medium waits a whole DIFS of its own, however long the medium was idle, as
    /// in ns-2.
    pub own_difs: bool,
    /// A packet that arrives on an idle medium goes without a back-off even if the medium becomes busy before its DIFS has
    /// passed, as in ns-3. By the standard the medium must remain idle for that DIFS, else a back-off is drawn (clause
    /// 10.3.4.2): so it is for a station's answer to a frame at the instant of its end, since its ACK comes first.
    pub idle_once_is_enough: bool,
    /// A failed exchange counts as activity until its time-out: a DIFS follows, as in ns-2. By the standard
    /// slots go on being counted from the end of the medium's last activity.
    pub difs_after_timeout: bool,
    /// A CTS, and the DATA frame after it, are sent only if at that moment the medium is neither reserved nor sensed busy, and
    /// the sender of a CTS waits for its DATA frame before all else: ns-2. By the standard a reservation forbids the CTS, a
    /// carrier does not (clause 10.3.2.7), and the DATA frame depends on neither.
    pub idle_handshake: bool,
    /// A frame that begins to arrive before the time-out is heard to its end, which decides: it is the answer, or the answer
    /// is missing (clause 10.3.2.9). In ns-2 the time-out decides, during any reception.
    pub hears_out_answers: bool,
    /// A reservation that an RTS made is dropped when nothing follows it (clause 10.3.2.4, which allows it). ns-2 keeps
    /// it.
    pub drops_unused_reservation: bool,
    /// Packets with a DATA frame larger than this are preceded by RTS and CTS; none, if there is no threshold
    /// (dot11RTSThreshold) \[bytes of the MAC frame\].
    pub rts_threshold: Option<Bytes>,
    /// So are DATA frames that take longer than this, however large they are.
    pub rts_duration: Option<Duration>,
    /// How often an RTS, or a DATA frame without one, is sent before its packet is given up (dot11ShortRetryLimit).
    pub short_retry_limit: u32,
    /// How often a DATA frame that an RTS precedes is sent (dot11LongRetryLimit).
    pub long_retry_limit: u32,
}

impl Rules {
    /// IEEE 802.11-2016, with pairwise capture at 10 dB.
    pub const fn standard() -> Self {
        Self {
            capture: Capture::Strongest,
            capture_db: 10.0,
            eifs_reserves: false,
            weak_is_error: true,
            detection_db: None,
            energy: None,
            own_difs: false,
            idle_once_is_enough: false,
            difs_after_timeout: false,
            idle_handshake: false,
            hears_out_answers: true,
            drops_unused_reservation: true,
            rts_threshold: None,
            rts_duration: None,
            short_retry_limit: 7,
            long_retry_limit: 4,
        }
    }

    /// The noise that counts as interference.
    pub(super) fn noise_mw(&self) -> f32 {
        match self.capture {
            Capture::Sinr { noise } => milliwatts(noise),
            Capture::Errors(model) => milliwatts(model.noise(model.width)),
            Capture::Strongest | Capture::First => 0.0,
        }
    }

    /// Whether overlapping frames are compared pair by pair, which sets can tell.
    pub(super) const fn compares_pairs(&self) -> bool {
        matches!(self.capture, Capture::First | Capture::Strongest) && self.detection_db.is_none()
    }

    /// The least ratio of a preamble to all else with which it is detected; 0, where every preamble is.
    pub(super) fn detection_ratio(&self) -> f32 {
        self.detection_db.map_or(0.0, |db| libm::pow(10.0, db / 10.0) as f32)
    }

    /// ns-2 2.35.
    pub const fn ns2() -> Self {
        Self {
            capture: Capture::First,
            eifs_reserves: true,
            own_difs: true,
            idle_once_is_enough: true,
            difs_after_timeout: true,
            idle_handshake: true,
            hears_out_answers: false,
            drops_unused_reservation: false,
            ..Self::standard()
        }
    }
}
