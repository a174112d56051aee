//! Faults of a listener, for `status` and the log: a fault's text stays the same while it repeats.

use crate::hello::Refusal;
use crate::notice::{self, Lasting};
use std::time::Instant;

/// The present faults, the first of each kind.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    /// The mistake in the file of authorised keys since it was read.
    pub(super) file: Option<String>,
    /// There are no descriptors for new connections: the error's number.
    pub(super) scarce: Lasting<i32>,
    /// Handshakes are closed for newer ones: the network of the first.
    pub(super) flood: Lasting<String>,
    /// A connection with an authorised key was refused: the key's name.
    pub(super) refused: Lasting<(String, Refusal)>,
}

impl Troubles {
    /// Returns all present faults; `handshakes` is the limit of open ones.
    pub(super) fn now(&self, now: Instant, handshakes: u32) -> Option<String> {
        let flood = self.flood.now(now).map(|network| {
            format!(
                "unfinished handshakes take all of their places ({handshakes} in all, fewer of one source), and the oldest are closed, \
                some of {network}; sessions go on: let a firewall drop that network, or raise handshakes"
            )
        });
        let refused = self.refused.now(now).map(|(name, why)| match why {
            Refusal::Full => format!(
                "a connection of \"{name}\" was refused: it has as many connections or sessions as it may, or all have; see connections and sessions in the files"
            ),
            Refusal::NoSession => format!("a connection of \"{name}\" was refused: it named a session that is over, or is not its own"),
            why => format!("a connection of \"{name}\" was refused with this reason: {why}"),
        });
        let scarce = self.scarce.now(now).map(notice::scarce);
        let all: Vec<String> = [self.file.clone(), scarce, flood, refused].into_iter().flatten().collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}
