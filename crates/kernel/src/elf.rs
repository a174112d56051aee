//! The parts of clang's objects: sections, and relocations to their symbols.

use super::bytes::{Malformed, slice, text, u16_at, u32_at, u64_at};

/// A section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section<'a> {
    pub(crate) name: &'a str,
    pub(crate) bytes: &'a [u8],
    kind: u32,
    /// The section to which relocations apply.
    info: u32,
}

/// A place that is to hold the address of an object in another section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Relocation<'a> {
    /// The place [bytes from the section's start].
    pub(crate) place: usize,
    /// The section of the object, and its offset there.
    pub(crate) section: &'a str,
    pub(crate) offset: u32,
}

/// An object.
#[derive(Debug)]
pub(crate) struct Elf<'a> {
    pub(crate) sections: Vec<Section<'a>>,
    symbols: &'a [u8],
}

/// `SHT_SYMTAB`, `SHT_NOBITS`, `SHT_REL`.
const SYMBOLS: u32 = 2;
const NO_BITS: u32 = 8;
const RELOCATIONS: u32 = 9;
/// Bytes of a symbol, of a relocation, of a section's header.
const SYMBOL: usize = 24;
const RELOCATION: usize = 16;
const HEADER: usize = 64;

impl<'a> Elf<'a> {
    pub(crate) fn parse(file: &'a [u8]) -> Result<Self, Malformed> {
        // 64 bits, little-endian; a relocatable file for the machine BPF.
        if slice(file, 0, 6)? != b"\x7fELF\x02\x01" || u16_at(file, 16)? != 1 || u16_at(file, 18)? != 247 {
            return Err(Malformed("no object of BPF"));
        }
        let start = u64_at(file, 40)? as usize;
        let count = usize::from(u16_at(file, 60)?);
        let header = |number: usize| slice(file, start + number * HEADER, HEADER);
        let content = |header: &[u8]| match u32_at(header, 4)? {
            NO_BITS => Ok(&[][..]),
            _ => slice(file, u64_at(header, 24)? as usize, u64_at(header, 32)? as usize),
        };
        let names = content(header(usize::from(u16_at(file, 62)?))?)?;
        let mut sections = Vec::with_capacity(count);
        for number in 0..count {
            let header = header(number)?;
            sections.push(Section {
                name: text(names, u32_at(header, 0)? as usize)?,
                bytes: content(header)?,
                kind: u32_at(header, 4)?,
                info: u32_at(header, 44)?,
            });
        }
        let symbols =
            sections.iter().find(|section| section.kind == SYMBOLS).map_or(&[][..], |table| table.bytes);
        Ok(Self { sections, symbols })
    }

    pub(crate) fn section(&self, name: &str) -> Option<&'a [u8]> {
        self.sections.iter().find(|section| section.name == name).map(|section| section.bytes)
    }

    /// Returns the relocations of a section.
    pub(crate) fn relocations(&self, name: &str) -> Result<Vec<Relocation<'a>>, Malformed> {
        let number = self.sections.iter().position(|section| section.name == name);
        let of = self.sections.iter().filter(|s| s.kind == RELOCATIONS && Some(s.info as usize) == number);
        let mut relocations = Vec::new();
        for record in of.flat_map(|section| section.bytes.chunks_exact(RELOCATION)) {
            let symbol = slice(self.symbols, u32_at(record, 12)? as usize * SYMBOL, SYMBOL)?;
            let section = self.sections.get(usize::from(u16_at(symbol, 6)?));
            relocations.push(Relocation {
                place: u64_at(record, 0)? as usize,
                section: section.ok_or(Malformed("a symbol is in no section"))?.name,
                offset: u64_at(symbol, 8)? as u32,
            });
        }
        Ok(relocations)
    }
}
