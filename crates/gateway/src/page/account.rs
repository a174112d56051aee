//! What the page and the metrics say beyond the last epoch: sums since the daemon began, and the last epochs' rates.

use crate::Side;
use crate::status::Status;
use std::collections::{BTreeMap, VecDeque};

/// So many epochs are drawn: ten minutes of the usual ones.
pub(super) const EPOCHS: usize = 60;

/// One way of one subscriber.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Past {
    /// What it got \[bytes\].
    pub(super) bytes: f64,
    /// What was given up of it \[packets\].
    pub(super) dropped: u64,
    /// Its rate in the last epochs, the oldest first; none, where it is not known \[bit/s\].
    pub(super) rates: VecDeque<Option<f32>>,
}

/// All that is shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    /// The last status; none before the first epoch.
    pub(super) status: Option<Status>,
    /// Everyone's past, by id and way; of those who are there.
    pub(super) past: BTreeMap<(String, Side), Past>,
    /// Troubles since the daemon began.
    pub(super) troubles: u64,
}

impl Account {
    /// A status is the last one from now on. It counts if an epoch has passed since the one before.
    pub(super) fn hear(&mut self, status: Status) {
        let before = self.status.as_ref();
        let is_new = before.is_none_or(|before| before.epochs != status.epochs);
        let known = before.map_or(&[][..], |before| &before.troubles);
        self.troubles += status.troubles.iter().filter(|trouble| !known.contains(trouble)).count() as u64;
        if is_new {
            let mut past = std::mem::take(&mut self.past);
            for class in &status.classes {
                let key = (class.id.clone(), class.side);
                let mut own = past.remove(&key).unwrap_or_default();
                own.bytes += class.rate_bps.unwrap_or_default() / 8.0 * status.epoch_s;
                own.dropped += class.dropped;
                own.rates.push_back(class.rate_bps.map(|rate| rate as f32));
                if own.rates.len() > EPOCHS {
                    own.rates.pop_front();
                }
                self.past.insert(key, own);
            }
        }
        self.status = Some(status);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::status;
    use super::*;

    #[test]
    fn an_epoch_counts_once_and_who_goes_is_forgotten() {
        let mut account = Account::default();
        let of = |epochs| Status { epochs, ..status() };
        for epochs in [1, 1, 2, 2, 2, 3] {
            account.hear(of(epochs));
        }
        let past = account.past.values().next().unwrap();
        // 400 kb/s for three epochs of 10 s.
        assert!((past.bytes - 1.5e6).abs() < 1.0, "{past:?}");
        assert_eq!((past.dropped, past.rates.len(), account.troubles), (9, 3, 1));
        (4..100).for_each(|epochs| account.hear(of(epochs)));
        assert_eq!(account.past.values().next().unwrap().rates.len(), EPOCHS);
        account.hear(Status { classes: Vec::new(), ..of(100) });
        assert!(account.past.is_empty());
    }
}
