//! A memory budget: a session's within its key's, which is within the relay's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The part of a budget that a request may use. Requests that only improve speed may use less of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Half: growth of windows.
    Half,
    /// Three quarters: send buffers beyond the minimum.
    Most,
    /// All: the minimum that a stream needs.
    All,
}

/// A budget of bytes, with the bytes in use.
#[derive(Debug)]
pub struct Budget {
    most: AtomicU64,
    taken: AtomicU64,
    within: Option<Arc<Self>>,
}

impl Budget {
    /// Returns a budget of this many bytes.
    pub fn new(most: u64) -> Arc<Self> {
        Arc::new(Self { most: most.into(), taken: 0.into(), within: None })
    }

    /// Returns a budget of this many bytes within another.
    pub fn within(most: u64, whole: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self { most: most.into(), taken: 0.into(), within: Some(Arc::clone(whole)) })
    }

    /// Replaces the size. Bytes in use stay in use.
    pub fn set_most(&self, most: u64) {
        self.most.store(most, Ordering::Relaxed);
    }

    /// Returns the bytes in use.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Takes bytes from this budget and all enclosing ones, or none.
    pub fn take(&self, bytes: u64, share: Share) -> bool {
        let most = self.most.load(Ordering::Relaxed);
        let most = match share {
            Share::Half => most / 2,
            Share::Most => most / 4 * 3,
            Share::All => most,
        };
        let sum = |taken: u64| taken.checked_add(bytes).filter(|sum| *sum <= most);
        if self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum).is_err() {
            return false;
        }
        // The share limits only this budget; within the enclosing one all may be used.
        let whole = self.within.as_ref().is_none_or(|whole| whole.take(bytes, Share::All));
        if !whole {
            self.taken.fetch_sub(bytes, Ordering::Relaxed);
        }
        whole
    }

    /// Gives bytes back.
    pub fn give(&self, bytes: u64) {
        let before = self.taken.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes, "more is given back than was taken");
        if let Some(whole) = &self.within {
            whole.give(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_share_exceeds_budget() {
        let whole = Budget::new(100);
        let (one, other) = (Budget::within(80, &whole), Budget::within(80, &whole));
        assert!(one.take(80, Share::All) && !one.take(1, Share::All));
        assert!(!other.take(21, Share::All) && other.taken() == 0);
        assert!(
            other.take(20, Share::Half) && whole.taken() == 100,
            "what another has is no matter of its share"
        );
        one.give(80);
        assert!(other.take(20, Share::Half) && !other.take(1, Share::Half), "half of 80");
        assert_eq!((whole.taken(), other.taken()), (40, 40));
    }
}
