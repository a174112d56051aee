//! Messages of the kernel about changes on which an access point's registers depend: its kind and channel, the
//! country, its link.

use super::INDEX;
use crate::netlink::Socket;
use crate::netlink::attributes::{u32_at, u32_of};
use crate::netlink::generic::{Family, attributes};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// The groups of nl80211 that are joined.
const GROUPS: [&str; 3] = ["config", "mlme", "regulatory"];
/// `NL80211_CMD_NEW_WIPHY`, `DEL_WIPHY`, `SET_INTERFACE`, `NEW_INTERFACE`, `DEL_INTERFACE`, `START_AP`, `STOP_AP`,
/// `REG_CHANGE`, `CH_SWITCH_NOTIFY` and `WIPHY_REG_CHANGE`.
const CHANGES: [u8; 10] = [3, 4, 6, 7, 8, 15, 16, 36, 88, 113];
/// `RTNLGRP_LINK`, and the offset of `ifi_index` in `struct ifinfomsg`.
const LINKS: u32 = 1;
const LINK_INDEX: usize = 4;

/// Sockets at which the kernel tells of changes. A change of an interface that is none of Wi-Fi is read, and left out.
#[derive(Debug)]
pub struct News {
    family: Family,
    links: Socket,
}

impl News {
    /// Joins the groups.
    ///
    /// # Errors
    /// `NotFound` if the kernel has no Wi-Fi.
    pub fn new() -> io::Result<Self> {
        let family = Family::new("nl80211")?;
        GROUPS.iter().try_for_each(|group| family.join(group))?;
        let links = Socket::new(None)?;
        links.join(LINKS)?;
        Ok(Self { family, links })
    }

    /// The descriptors at which to wait for messages.
    pub fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.family.socket.as_fd(), self.links.as_fd()]
    }

    /// Takes the messages that have come, and returns whether one may be about this interface. Does not wait.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn take(&mut self, index: Option<u32>) -> io::Result<bool> {
        let number = self.family.number();
        let mut is_new = false;
        is_new |= self.family.socket.take(|kind, payload| {
            is_new |= kind == number && is_change(payload, index);
        })?;
        let mut has_changed = false;
        has_changed |=
            self.links.take(|_, payload| has_changed |= is_of(u32_at(payload, LINK_INDEX), index))?;
        Ok(is_new || has_changed)
    }
}

/// Returns whether a message of nl80211 is about a change of this interface, or of no interface alone.
fn is_change(payload: &[u8], index: Option<u32>) -> bool {
    let own = attributes(payload).ok().and_then(|all| all.find(INDEX).and_then(u32_of));
    payload.first().is_some_and(|command| CHANGES.contains(command)) && is_of(own, index)
}

/// An unknown interface may be any.
fn is_of(own: Option<u32>, index: Option<u32>) -> bool {
    own.is_none() || index.is_none() || own == index
}

/// Parses bytes as a message, for the fuzzer.
pub(super) fn parse(bytes: &[u8]) {
    let _ = (is_change(bytes, Some(1)), is_of(u32_at(bytes, LINK_INDEX), Some(1)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::HEADER;
    use crate::netlink::generic::request;

    /// A message of a command, about interface 3 if it has one.
    fn message(command: u8, has_interface: bool) -> Vec<u8> {
        let mut message = request(0x1d, command);
        if has_interface {
            message.put_u32(3, 3);
        }
        message.finish(1)[HEADER..].to_vec()
    }

    #[test]
    fn changes_of_the_own_interface_are_news() {
        // NL80211_CMD_CH_SWITCH_NOTIFY is 88, NEW_STATION 19, REG_CHANGE 36.
        assert!(is_change(&message(88, true), Some(3)));
        assert!(!is_change(&message(88, true), Some(4)), "of another");
        assert!(is_change(&message(88, true), None), "an interface that is not known yet");
        assert!(!is_change(&message(19, true), Some(3)), "a station");
        assert!(is_change(&message(36, false), Some(3)), "of the country");
        assert!(!is_change(&[], Some(3)));
    }
}
