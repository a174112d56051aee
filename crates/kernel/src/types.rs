//! Descriptions of types (BTF): the kernel's own, in which offsets are looked up, and an object's.

use super::bytes::{Malformed, slice, text, u16_at, u32_at};

/// Kinds of type, by their numbers.
const INT: u32 = 1;
const ARRAY: u32 = 3;
pub(crate) const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
pub(crate) const FUNC: u32 = 12;
const FUNC_PROTO: u32 = 13;
const VAR: u32 = 14;
const DATASEC: u32 = 15;
const DECL_TAG: u32 = 17;
const ENUM64: u32 = 19;

/// Bytes of a type before the part that depends on its kind.
const HEAD: usize = 12;
const MAGIC: u16 = 0xeb9f;

/// A description of types.
#[derive(Debug)]
pub(crate) struct Types<'a> {
    records: &'a [u8],
    strings: &'a [u8],
    /// The start of each type; the first has the number 1.
    starts: Vec<usize>,
}

/// A member of a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member<'a> {
    pub(crate) name: &'a str,
    pub(crate) number: u32,
    /// [bytes]
    pub(crate) offset: usize,
}

impl<'a> Types<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        if u16_at(bytes, 0)? != MAGIC {
            return Err(Malformed("no description of types (BTF)"));
        }
        let body = u32_at(bytes, 4)? as usize;
        let part = |at: usize| -> Result<&'a [u8], Malformed> {
            slice(bytes, body + u32_at(bytes, at)? as usize, u32_at(bytes, at + 4)? as usize)
        };
        let (records, strings) = (part(8)?, part(16)?);
        let mut starts = Vec::new();
        let mut at = 0;
        while at < records.len() {
            starts.push(at);
            at += length(u32_at(records, at + 4)?);
        }
        Ok(Self { records, strings, starts })
    }

    /// Returns the number of the type of this kind and name.
    pub(crate) fn find(&self, kind: u32, name: &str) -> Option<u32> {
        let is_it = |at: &usize| {
            u32_at(self.records, at + 4).is_ok_and(|info| kind_of(info) == kind)
                && u32_at(self.records, *at).is_ok_and(|at| text(self.strings, at as usize) == Ok(name))
        };
        self.starts.iter().position(is_it).map(|place| place as u32 + 1)
    }

    fn start(&self, number: u32) -> Result<usize, Malformed> {
        let place = (number as usize).checked_sub(1);
        place.and_then(|place| self.starts.get(place)).copied().ok_or(Malformed("there is no such type"))
    }

    /// Returns the size of a structure \[bytes\].
    pub(crate) fn size(&self, number: u32) -> Result<u32, Malformed> {
        u32_at(self.records, self.start(number)? + 8)
    }

    /// Returns a structure's member of this name.
    pub(crate) fn member(&self, structure: u32, name: &str) -> Result<Option<Member<'a>>, Malformed> {
        let start = self.start(structure)?;
        let info = u32_at(self.records, start + 4)?;
        for number in 0..info & 0xffff {
            let at = start + HEAD + 12 * number as usize;
            let named = text(self.strings, u32_at(self.records, at)? as usize)?;
            if named == name {
                let bits = u32_at(self.records, at + 8)?;
                // If the structure has bit fields, their size is in the bits above the offset.
                let bits = if info >> 31 == 1 { bits & 0x00ff_ffff } else { bits };
                return Ok(Some(Member { name: named, number, offset: bits as usize / 8 }));
            }
        }
        Ok(None)
    }

    /// Returns the description in the kernel's form: without the addresses of data, which only a linker could
    /// add. Numbers of types stay.
    pub(crate) fn without_data(&self) -> Result<Vec<u8>, Malformed> {
        let mut records = Vec::with_capacity(self.records.len());
        for start in &self.starts {
            let (name, info) = (u32_at(self.records, *start)?, u32_at(self.records, start + 4)?);
            let rest = slice(self.records, start + 8, length(info) - 8)?;
            let words: &[u32] = match kind_of(info) {
                // A byte, in place of a variable.
                VAR => &[name, INT << 24, 1, 8],
                // A structure without members, in place of a section.
                DATASEC => &[0, STRUCT << 24, 0],
                _ => &[name, info],
            };
            records.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            if words.len() == 2 {
                records.extend(rest);
            }
        }
        let (types, strings) = (records.len() as u32, self.strings.len() as u32);
        let mut bytes = Vec::with_capacity(24 + records.len() + self.strings.len());
        bytes.extend(MAGIC.to_le_bytes());
        bytes.extend([1, 0]);
        bytes.extend([24, 0, types, types, strings].iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(records);
        bytes.extend(self.strings);
        Ok(bytes)
    }

    /// Returns the name at this offset among the strings.
    pub(crate) fn name(&self, at: u32) -> Result<&'a str, Malformed> {
        text(self.strings, at as usize)
    }
}

fn kind_of(info: u32) -> u32 {
    (info >> 24) & 0x1f
}

/// Returns the bytes of a type with this `info`.
fn length(info: u32) -> usize {
    let members = (info & 0xffff) as usize;
    HEAD + match kind_of(info) {
        INT | VAR | DECL_TAG => 4,
        ARRAY => 12,
        STRUCT | UNION | DATASEC | ENUM64 => 12 * members,
        ENUM | FUNC_PROTO => 8 * members,
        _ => 0,
    }
}
