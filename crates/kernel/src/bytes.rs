//! Numbers and texts in bytes, little-endian, as in objects and descriptions of types.

use std::fmt;

/// The error of malformed bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub(crate) &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Malformed {}

pub(crate) fn slice(bytes: &[u8], from: usize, length: usize) -> Result<&[u8], Malformed> {
    let end = from.checked_add(length).ok_or(Malformed("a length beyond all bounds"))?;
    bytes.get(from..end).ok_or(Malformed("it ends too early"))
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Malformed> {
    slice(bytes, at, N)?.try_into().map_err(|_| Malformed("it ends too early"))
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Result<u16, Malformed> {
    array(bytes, at).map(u16::from_le_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Result<u32, Malformed> {
    array(bytes, at).map(u32::from_le_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Result<u64, Malformed> {
    array(bytes, at).map(u64::from_le_bytes)
}

/// Returns the text at an offset, up to its zero.
pub(crate) fn text(bytes: &[u8], at: usize) -> Result<&str, Malformed> {
    let rest = bytes.get(at..).ok_or(Malformed("a name is nowhere"))?;
    let end = rest.iter().position(|byte| *byte == 0).ok_or(Malformed("a name has no end"))?;
    std::str::from_utf8(&rest[..end]).map_err(|_| Malformed("a name is no text"))
}
