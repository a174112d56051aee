//! Generic netlink: families with numbers of this boot (`linux/genetlink.h`).

use super::attributes::{Attributes, u16_at};
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

/// A connection to one family.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) socket: Socket,
    number: u16,
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
        let number = socket.get(request, |kind, payload| match kind {
            CONTROLLER => number(payload).map(Some),
            _ => Ok(None),
        })?;
        Ok(Self { socket, number })
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

    #[test]
    fn family_has_a_number_or_none() {
        // CTRL_CMD_NEWFAMILY: name, then number 0x1d.
        let answer = b"\x01\x02\0\0\x0c\0\x02\0nl80211\0\x06\0\x01\0\x1d\0\0\0";
        assert_eq!(number(answer).ok(), Some(0x1d));
        assert!(number(&answer[..16]).is_err());
        assert!(number(&answer[..3]).is_err());
    }
}
