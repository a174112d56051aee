//! Generic netlink: families with numbers of this boot (`linux/genetlink.h`).

use super::attributes::{Attributes, text, u16_at, u32_of};
use super::message::Message;
use super::{Socket, malformed};
use rustix::net::netlink;
use std::io;

/// Bytes of `struct genlmsghdr`: command, version, two reserved.
pub(crate) const HEADER: usize = 4;
/// `GENL_ID_CTRL`, `CTRL_CMD_GETFAMILY`, `CTRL_ATTR_FAMILY_ID` and `CTRL_ATTR_FAMILY_NAME`.
const CONTROLLER: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// `CTRL_ATTR_MCAST_GROUPS`, `CTRL_ATTR_MCAST_GRP_NAME` and `CTRL_ATTR_MCAST_GRP_ID`.
const GROUPS: u16 = 7;
const GROUP_NAME: u16 = 1;
const GROUP_ID: u16 = 2;

/// A connection to one family.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) socket: Socket,
    number: u16,
    groups: Vec<(String, u32)>,
}

impl Family {
    /// Connects to a family by its name.
    ///
    /// # Errors
    /// `NotFound` if the kernel has no such family, for example because its module is not loaded.
    pub(crate) fn new(name: &str) -> io::Result<Self> {
        let mut socket = Socket::new(Some(netlink::GENERIC))?;
        let mut request = request(CONTROLLER, GET_FAMILY);
        request.put_text(FAMILY_NAME, name);
        let (number, groups) = socket.get(request, |kind, payload| match kind {
            CONTROLLER => Ok(Some((number(payload)?, groups(payload)?))),
            _ => Ok(None),
        })?;
        Ok(Self { socket, number, groups })
    }

    /// Joins a multicast group by its name.
    ///
    /// # Errors
    /// `NotFound` if the family has no such group.
    pub(crate) fn join(&self, name: &str) -> io::Result<()> {
        let Some((_, group)) = self.groups.iter().find(|(own, _)| own == name) else {
            return Err(io::Error::new(io::ErrorKind::NotFound, format!("netlink: no group {name}")));
        };
        self.socket.join(*group)
    }

    /// Returns a request to the family.
    pub(crate) fn request(&self, command: u8) -> Message {
        request(self.number, command)
    }

    /// Returns the family's kind of messages.
    pub(crate) const fn number(&self) -> u16 {
        self.number
    }
}

/// Returns a request with a command; its version is 1.
pub(crate) fn request(family: u16, command: u8) -> Message {
    Message::new(family, 0, &[command, 1, 0, 0])
}

/// Returns the attributes behind a message's own header.
pub(crate) fn attributes(payload: &[u8]) -> io::Result<Attributes<'_>> {
    payload.get(HEADER..).map(Attributes::new).ok_or_else(|| malformed("a message without its command"))
}

/// Returns the number in the controller's answer.
fn number(payload: &[u8]) -> io::Result<u16> {
    let number = attributes(payload)?.find(FAMILY_ID).and_then(|value| u16_at(value, 0));
    number.ok_or_else(|| malformed("a family without a number"))
}

/// Returns the multicast groups in the controller's answer.
fn groups(payload: &[u8]) -> io::Result<Vec<(String, u32)>> {
    let group = |(_, value)| {
        let group = Attributes::new(value);
        Some((group.find(GROUP_NAME).map(text)?, group.find(GROUP_ID).and_then(u32_of)?))
    };
    Ok(attributes(payload)?.within(GROUPS).filter_map(group).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `CTRL_CMD_GETFAMILY` of "nl80211", as `iw` sends it by strace: 16 bytes behind netlink's header.
    #[test]
    fn family_is_asked_by_its_name() {
        let mut message = request(CONTROLLER, GET_FAMILY);
        let bytes = message.put_text(FAMILY_NAME, "nl80211").finish(1);
        assert_eq!(bytes[super::super::HEADER..], *b"\x03\x01\0\0\x0c\0\x02\0nl80211\0");
    }

    /// The groups of nl80211 on Linux 6.1, in the layout of `linux/genetlink.h`: "config" is group 5, "mlme" 8.
    #[test]
    fn groups_are_found_by_name() {
        let answer = b"\x01\x02\0\0\x06\0\x01\0\x1d\0\0\0\x34\0\x07\0\
            \x18\0\x01\0\x08\0\x02\0\x05\0\0\0\x0b\0\x01\0config\0\0\
            \x18\0\x02\0\x08\0\x02\0\x08\0\0\0\x09\0\x01\0mlme\0\0\0\0";
        let all = groups(answer).unwrap();
        assert_eq!(all, [("config".to_string(), 5), ("mlme".to_string(), 8)]);
        assert_eq!(groups(&answer[..12]).unwrap(), [], "a family without groups");
        for length in 4..answer.len() {
            assert!(groups(&answer[..length]).unwrap().len() <= 2);
        }
        assert!(groups(&answer[..3]).is_err());
    }

    #[test]
    fn family_has_a_number_or_none() {
        // CTRL_CMD_NEWFAMILY: name, then number 0x1d.
        let answer = b"\x01\x02\0\0\x0c\0\x02\0nl80211\0\x06\0\x01\0\x1d\0\0\0";
        assert_eq!(number(answer).ok(), Some(0x1d));
        assert!(number(&answer[..16]).is_err());
        assert!(number(&answer[..3]).is_err());
    }
}
