//! Data of the page and the metrics beyond the last epoch: sums since the start of the daemon, and the
//! last epochs' rates.

use crate::Side;
use crate::status::Status;
use std::collections::{BTreeMap, VecDeque};

/// Number of epochs that are drawn: ten minutes of the usual ones.
pub(super) const EPOCHS: usize = 60;

/// The history of one direction of one subscriber.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Past {
    /// Bytes sent.
    pub(super) bytes: f64,
    /// Packets dropped.
    pub(super) dropped: u64,
    /// The rates in the last epochs, oldest first; `None` where unknown \[bit/s\].
    pub(super) rates: VecDeque<Option<f32>>,
}

/// The data that are shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    /// The last status; `None` before the first epoch.
    pub(super) status: Option<Status>,
    /// The histories of all present subscribers, by id and direction.
    pub(super) past: BTreeMap<(String, Side), Past>,
    /// Number of troubles since the start of the daemon.
    pub(super) troubles: u64,
}

impl Account {
    /// Replaces the status. It adds to the sums if an epoch has passed since the last one.
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
    fn epoch_counts_once_and_gone_are_forgotten() {
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
