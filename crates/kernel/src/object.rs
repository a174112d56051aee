//! A law's object, parsed for the kernel: programs, their types, and the offsets of the parameters.
//!
//! The kernel itself resolves the fields of its structures that a program uses (CO-RE, since Linux 5.17),
//! from the compiler's records. So libbpf is not needed beyond this file and `load.rs`.

use super::bytes::{Malformed, slice, u16_at, u32_at};
use super::elf::Elf;
use super::types::Types;

/// The section of a law's parameters.
const PARAMETERS: &str = ".params";

/// A program of an object.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    /// Its purpose: a member of the structure of functions, or the kind of an iterator.
    pub(crate) place: String,
    /// Whether it is an iterator's.
    pub(crate) iterates: bool,
    instructions: Vec<u8>,
    pub(crate) functions: Vec<u8>,
    pub(crate) relocations: Vec<u8>,
    /// Instructions that load the parameters' address \[bytes\], and the offset in them.
    parameters: Vec<(usize, u32)>,
}

/// An object.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) license: String,
    /// The description of its types, in the kernel's form.
    pub(crate) types: Vec<u8>,
    /// The size of its parameters \[bytes\].
    pub(crate) parameters: u32,
    pub(crate) programs: Vec<Code>,
}

/// Bytes of the records of a function's start, and of an instruction's access to a field of the kernel's.
pub(crate) const FUNCTION: usize = 8;
pub(crate) const RELOCATION: usize = 16;

/// The place in `.BTF.ext` of the position and length of those records.
const FUNCTIONS_AT: usize = 8;
const RELOCATIONS_AT: usize = 24;

impl Object {
    pub(crate) fn parse(file: &[u8]) -> Result<Self, Malformed> {
        let elf = Elf::parse(file)?;
        let types = Types::parse(elf.section(".BTF").ok_or(Malformed("it has no types"))?)?;
        let extra = elf.section(".BTF.ext").ok_or(Malformed("it has no records of its functions"))?;
        let license = elf.section("license").ok_or(Malformed("it has no licence"))?;
        let license = super::bytes::text(license, 0)?.to_owned();
        let parameters = elf.section(PARAMETERS).unwrap_or_default().len() as u32;
        let mut programs = Vec::new();
        for section in &elf.sections {
            let iterates = section.name.starts_with("iter/");
            let Some(place) =
                section.name.strip_prefix("struct_ops/").or_else(|| section.name.strip_prefix("iter/"))
            else {
                continue;
            };
            let mut addresses = Vec::new();
            for relocation in elf.relocations(section.name)? {
                if relocation.section != PARAMETERS {
                    return Err(Malformed("a program needs more than its parameters"));
                }
                slice(section.bytes, relocation.place, 16)?; // an address takes two instructions
                addresses.push((relocation.place, relocation.offset));
            }
            programs.push(Code {
                place: place.to_owned(),
                iterates,
                instructions: section.bytes.to_owned(),
                functions: records(extra, FUNCTIONS_AT, FUNCTION, &types, section.name)?,
                relocations: records(extra, RELOCATIONS_AT, RELOCATION, &types, section.name)?,
                parameters: addresses,
            });
        }
        Ok(Self { license, types: types.without_data()?, parameters, programs })
    }
}

impl Code {
    /// Returns its instructions with the parameters in the map of this descriptor.
    pub(crate) fn linked(&self, parameters: i32) -> Vec<u8> {
        /// `BPF_PSEUDO_MAP_VALUE`, as the source of a 64-bit load.
        const MAP_VALUE: u8 = 2;
        let mut code = self.instructions.clone();
        for (place, offset) in &self.parameters {
            let load = &mut code[*place..place + 16];
            // The amount to add to the symbol's address is in the place of the map's descriptor.
            let added = [load[4], load[5], load[6], load[7]];
            load[1] = (load[1] & 0x0f) | MAP_VALUE << 4;
            load[4..8].copy_from_slice(&parameters.to_le_bytes());
            load[12..16].copy_from_slice(&(offset + u32::from_le_bytes(added)).to_le_bytes());
        }
        code
    }
}

/// Returns the records of a section, of those that `.BTF.ext` lists from an offset.
fn records(
    extra: &[u8],
    from: usize,
    length: usize,
    types: &Types<'_>,
    of: &str,
) -> Result<Vec<u8>, Malformed> {
    if u16_at(extra, 0)? != 0xeb9f {
        return Err(Malformed("its records of functions are none"));
    }
    let body = u32_at(extra, 4)? as usize;
    let list = slice(extra, body + u32_at(extra, from)? as usize, u32_at(extra, from + 4)? as usize)?;
    if list.is_empty() {
        return Ok(Vec::new());
    }
    if u32_at(list, 0)? as usize != length {
        return Err(Malformed("records of another length"));
    }
    let mut at = 4;
    while at < list.len() {
        let section = types.name(u32_at(list, at)?)?;
        let bytes = slice(list, at + 8, u32_at(list, at + 4)? as usize * length)?;
        if section == of {
            return Ok(bytes.to_owned());
        }
        at += 8 + bytes.len();
    }
    Ok(Vec::new())
}
