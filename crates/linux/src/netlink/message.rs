//! Builds messages to the kernel.

use super::HEADER;

/// Set if an attribute's value consists of attributes (`NLA_F_NESTED`).
const NESTED: u16 = libc::NLA_F_NESTED as u16;

/// One message: a header, the family's own header, attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// Returns a request of a kind, with flags beside `NLM_F_REQUEST` and the family's own header.
    pub(crate) fn new(kind: u16, flags: i32, own: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&((flags | libc::NLM_F_REQUEST) as u16).to_ne_bytes());
        bytes.extend_from_slice(own);
        let mut message = Self { bytes };
        message.align();
        message
    }

    /// Requests an acknowledgement.
    pub(crate) fn acknowledged(&mut self) -> &mut Self {
        self.with_flags(libc::NLM_F_ACK)
    }

    /// Requests all objects.
    pub(crate) fn dumped(mut self) -> Self {
        self.with_flags(libc::NLM_F_DUMP);
        self
    }

    fn with_flags(&mut self, flags: i32) -> &mut Self {
        let before = u16::from_ne_bytes([self.bytes[6], self.bytes[7]]);
        self.bytes[6..8].copy_from_slice(&(before | flags as u16).to_ne_bytes());
        self
    }

    /// Adds an attribute.
    ///
    /// # Panics
    /// If the value has 64 KiB or more; callers cut their lists.
    pub(crate) fn put(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        let length = u16::try_from(4 + value.len()).expect("an attribute is shorter than 64 KiB");
        self.bytes.extend_from_slice(&length.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(value);
        self.align();
        self
    }

    /// Adds an attribute that is a number in this machine's byte order.
    pub(crate) fn put_u32(&mut self, kind: u16, value: u32) -> &mut Self {
        self.put(kind, &value.to_ne_bytes())
    }

    /// Adds an attribute that is a number in network byte order, as in netfilter.
    pub(crate) fn put_be32(&mut self, kind: u16, value: u32) -> &mut Self {
        self.put(kind, &value.to_be_bytes())
    }

    /// Adds an attribute that is a number in network byte order.
    pub(crate) fn put_be64(&mut self, kind: u16, value: u64) -> &mut Self {
        self.put(kind, &value.to_be_bytes())
    }

    /// Adds an attribute that is a text, with a final zero.
    pub(crate) fn put_text(&mut self, kind: u16, text: &str) -> &mut Self {
        let value = [text.as_bytes(), &[0]].concat();
        self.put(kind, &value)
    }

    /// Adds an attribute of attributes, with the flag.
    ///
    /// # Panics
    /// As [`put`](Self::put).
    pub(crate) fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.nest_unmarked(kind | NESTED, fill)
    }

    /// Adds an attribute of attributes, without the flag, which older families never have.
    ///
    /// # Panics
    /// As [`put`](Self::put).
    pub(crate) fn nest_unmarked(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0, 0]);
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        fill(self);
        let length = u16::try_from(self.bytes.len() - start).expect("an attribute is shorter than 64 KiB");
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self
    }

    /// Adds bytes unchanged, within an attribute: a family's header there.
    pub(crate) fn put_raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self.align();
        self
    }

    /// Returns the finished message with this number.
    pub(crate) fn finish(&mut self, sequence: u32) -> &[u8] {
        let length = self.bytes.len() as u32;
        self.bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        &self.bytes
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::attributes::{Attributes, text, u32_of};

    #[test]
    fn attribute_is_found() {
        let mut message = Message::new(36, libc::NLM_F_CREATE, &[1, 2, 3, 4]);
        message.put_text(1, "htb").nest(2, |options| {
            options.put_u32(5, 7).put(6, &[9]);
        });
        let bytes = message.acknowledged().finish(3).to_vec();
        assert_eq!(bytes.len() % 4, 0);
        assert_eq!(bytes[0..4], (bytes.len() as u32).to_ne_bytes());
        let attributes = Attributes::new(&bytes[HEADER + 4..]);
        assert_eq!(attributes.find(1).map(text).as_deref(), Some("htb"));
        let options = Attributes::new(attributes.find(2).expect("it is there, without its mark"));
        assert_eq!(options.find(5).and_then(u32_of), Some(7));
        assert_eq!(options.find(6), Some(&[9][..]));
        assert_eq!(options.find(7), None);
    }

    #[test]
    fn flags_are_requested_once() {
        let mut message = Message::new(36, libc::NLM_F_CREATE, &[]);
        let bytes = message.acknowledged().acknowledged().finish(3);
        // NLM_F_REQUEST is 1, NLM_F_ACK 4, NLM_F_CREATE 0x400.
        assert_eq!(bytes[6..8], 0x405_u16.to_ne_bytes());
    }
}
