//! Proportional rate reduction (RFC 6937): recovery spreads its segments over the acknowledgements that come.
//!
//! Without it holes found at once are repaired in one burst, which a full queue drops again.

/// The state during one recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProportionalRateReduction {
    /// The window before the loss \[segments\].
    prior: u32,
    delivered: u32,
    out: u32,
    /// How many segments may be under way until the next acknowledgement.
    window: u32,
}

impl ProportionalRateReduction {
    /// Recovery begins with this window in force.
    pub(super) const fn begin(prior: u32) -> Self {
        Self { prior, delivered: 0, out: 0, window: 0 }
    }

    /// An acknowledgement reports so many segments more; so many are thought to be in the network.
    pub(super) fn on_ack(&mut self, delivered: u32, pipe: u32, ssthresh: f64, progress: bool) {
        self.delivered += delivered;
        // Truncated to whole segments; thresholds are at least two.
        let target = ssthresh as u32;
        let count = if pipe > target {
            let due = u64::from(self.delivered) * u64::from(target);
            (due.div_ceil(u64::from(self.prior.max(1))) as u32).saturating_sub(self.out)
        } else {
            // As Linux: one more per round trip only where the acknowledgement shows progress and no new loss.
            let conserved = self.delivered.saturating_sub(self.out).max(delivered);
            (target - pipe).min(conserved + u32::from(progress))
        };
        // The first repetition waits for nothing.
        self.window = pipe + count.max(u32::from(self.out == 0));
    }

    /// A segment goes out.
    pub(super) const fn sent(&mut self) {
        self.out += 1;
    }

    /// How many segments may be under way.
    pub(super) const fn window(&self) -> u32 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_halves_over_one_round_trip() {
        // Ten under way, threshold 5: one segment goes out for every two that arrive.
        let mut reduction = ProportionalRateReduction::begin(10);
        let (mut pipe, mut sent) = (9, 0);
        for _ in 0..8 {
            pipe -= 1;
            reduction.on_ack(1, pipe, 5.0, false);
            while pipe < reduction.window() {
                reduction.sent();
                (pipe, sent) = (pipe + 1, sent + 1);
            }
        }
        assert_eq!((pipe, sent), (5, 4));
    }

    /// RFC 6937 section 3, slow-start reduction bound: below the threshold at most the delivered segments and
    /// one more, which only an acknowledgement with progress brings (Linux).
    #[test]
    fn reduction_grows_back_by_one_a_round_trip() {
        for (progress, window) in [(false, 5), (true, 6)] {
            let mut reduction = ProportionalRateReduction::begin(20);
            reduction.on_ack(2, 3, 10.0, progress);
            assert_eq!(reduction.window(), window);
        }
    }

    /// RFC 6937 section 3: `sndcnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out` while the pipe is above the
    /// threshold: 1·2/1 after a window of one, 2·2/1 − 2 − …, and 3·7/10 rounded up after one of ten.
    #[test]
    fn reduction_keeps_ratio_of_threshold_to_window() {
        for (prior, delivered, ssthresh, count) in [(1, 1, 2.0, 2), (10, 3, 7.0, 3), (10, 1, 5.0, 1)] {
            let mut reduction = ProportionalRateReduction::begin(prior);
            reduction.on_ack(delivered, 20, ssthresh, false);
            assert_eq!(reduction.window(), 20 + count, "{prior} {delivered} {ssthresh}");
            (0..count).for_each(|_| reduction.sent());
            reduction.on_ack(0, 20, ssthresh, false);
            assert_eq!(reduction.window(), 20, "due segments are out");
        }
    }
}
