//! TCP NewReno: Reno that stays in recovery until all that was under way is acknowledged.
//!
//! # Law
//! As Reno; a partial acknowledgement during recovery retransmits the next missing segment and deflates the window by
//! what it acknowledged, plus one.
//!
//! # Source
//! RFC 6582; [Jam10] section 2.4 (J4).
//!
//! # Symbols
//! As Reno.
//!
//! # Signals
//! Acknowledgements, told apart as partial or full by the endpoint.
//!
//! # Deviations
//! None known.

use super::{Loss, Recovery, Reno, WindowLaw, WindowParams};

/// The state of one sender.
#[derive(Clone, Debug, PartialEq)]
pub struct NewReno(Reno);

impl NewReno {
    /// The state at the start of a connection.
    pub const fn new(params: WindowParams) -> Self {
        Self(Reno::new(params))
    }
}

impl WindowLaw for NewReno {
    fn on_ack(&mut self, segments: u32) {
        self.0.on_ack(segments);
    }

    fn on_fast_retransmit(&mut self, loss: Loss) {
        self.0.on_fast_retransmit(loss);
    }

    fn on_duplicate_in_recovery(&mut self) {
        self.0.on_duplicate_in_recovery();
    }

    fn on_ack_in_recovery(&mut self, segments: u32, partial: bool) -> Recovery {
        if partial {
            self.0.deflate(segments); // RFC 6582 section 3.2 step 3, partial acknowledgement
            Recovery::RetransmitNext
        } else {
            self.0.leave_recovery();
            Recovery::Leave
        }
    }

    fn on_timeout(&mut self, loss: Loss) {
        self.0.on_timeout(loss);
    }

    fn window(&self) -> f64 {
        self.0.window()
    }

    fn congestion_window(&self) -> f64 {
        self.0.congestion_window()
    }

    fn slow_start_threshold(&self) -> f64 {
        self.0.slow_start_threshold()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_acknowledgement_keeps_recovery_open() {
        let mut law = NewReno::new(WindowParams { initial_window: 20.0, initial_ssthresh: 64.0 });
        law.on_fast_retransmit(Loss { flight: 20.0 });
        for _ in 0..6 {
            law.on_duplicate_in_recovery();
        }
        assert!((law.window() - 19.0).abs() < 1e-12);
        // RFC 6582: deflate by the 4 acknowledged, add one back.
        assert_eq!(law.on_ack_in_recovery(4, true), Recovery::RetransmitNext);
        assert!((law.window() - 16.0).abs() < 1e-12);
        assert_eq!(law.on_ack_in_recovery(10, false), Recovery::Leave);
        assert!((law.window() - 10.0).abs() < 1e-12);
    }
}
