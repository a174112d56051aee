//! Reads the kernel's messages, never beyond their end, with any lengths in them.

/// The bits of an attribute's kind that are flags (`NLA_F_NESTED`, `NLA_F_NET_BYTEORDER`).
const MARKS: u16 = 0xc000;

/// The attributes in some bytes, one after the other, up to one that does not fit.
#[derive(Clone, Debug)]
pub(crate) struct Attributes<'a> {
    rest: &'a [u8],
}

impl<'a> Attributes<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the value of the first attribute of a kind.
    pub(crate) fn find(&self, kind: u16) -> Option<&'a [u8]> {
        self.clone().find_map(|(own, value)| (own == kind).then_some(value))
    }

    /// Returns the attributes in the first attribute of a kind.
    pub(crate) fn within(&self, kind: u16) -> Self {
        Self::new(self.find(kind).unwrap_or_default())
    }
}

impl<'a> Iterator for Attributes<'a> {
    /// Kind, without flags, and value.
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let length = usize::from(u16_at(self.rest, 0)?);
        let kind = u16_at(self.rest, 2)? & !MARKS;
        let value = self.rest.get(4..length)?;
        self.rest = self.rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    }
}

/// Returns `N` bytes at an offset, if there are as many.
pub(crate) fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// Returns a number in this machine's byte order.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes_at(bytes, at).map(u16::from_ne_bytes)
}

/// Returns a number in this machine's byte order.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes_at(bytes, at).map(u32::from_ne_bytes)
}

/// Returns a number in this machine's byte order.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes_at(bytes, at).map(u64::from_ne_bytes)
}

/// Returns a value that is a number.
pub(crate) fn u32_of(value: &[u8]) -> Option<u32> {
    u32_at(value, 0)
}

/// Returns a value that is a number.
pub(crate) fn u64_of(value: &[u8]) -> Option<u64> {
    u64_at(value, 0)
}

/// Returns a value that is a number in network byte order.
pub(crate) fn be64_of(value: &[u8]) -> Option<u64> {
    bytes_at(value, 0).map(u64::from_be_bytes)
}

/// Returns a value that is a text, up to its first zero.
pub(crate) fn text(value: &[u8]) -> String {
    let end = value.iter().position(|&byte| byte == 0).unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oversized_attribute_ends() {
        // A length smaller than its own header, one beyond the end, and half a header.
        for bytes in [&[0, 0, 1, 0][..], &[3, 0, 1, 0], &[9, 0, 1, 0, 1, 2, 3, 4], &[4, 0, 1]] {
            assert_eq!(Attributes::new(bytes).count(), 0, "{bytes:?}");
        }
        // The last one may lack its padding.
        let mut one = Attributes::new(&[5, 0, 1, 0x80, 7]);
        assert_eq!((one.next(), one.next()), (Some((1, &[7][..])), None));
    }
}
