//! Programs and maps in the kernel (bpf(2)), as far as congestion control (`struct_ops`) and an iterator over
//! all sockets need them.
//!
//! A descriptor holds its object; the object ends with its last descriptor or pin.

mod call;

use call::{Command, Text, address, call, descriptor, text};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// `BPF_PROG_TYPE_STRUCT_OPS`, `BPF_PROG_TYPE_TRACING`.
const STRUCT_OPS_PROGRAM: u32 = 27;
const TRACING_PROGRAM: u32 = 26;
/// `BPF_TRACE_ITER`, `BPF_STRUCT_OPS`: the kinds of attachment.
const ITERATOR: u32 = 28;
const STRUCT_OPS: u32 = 44;
/// `BPF_MAP_TYPE_ARRAY`, `BPF_MAP_TYPE_STRUCT_OPS`.
const ARRAY_MAP: u32 = 2;
const STRUCT_OPS_MAP: u32 = 26;
/// `BPF_F_RDONLY_PROG`: programs only read it. `BPF_F_LINK`: it takes effect by a link, not by itself.
const READ_ONLY: u32 = 1 << 7;
const BY_LINK: u32 = 1 << 13;

/// The purpose of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A member, by its number, of one of the kernel's structures of functions.
    Member(u32),
    /// A function that is called for each object of an iterator.
    Iterator,
}

/// Records of one length, as the object's `.BTF.ext` has them.
#[derive(Clone, Copy, Debug)]
pub struct Records<'a> {
    /// A record's length \[bytes\].
    pub length: usize,
    /// The records, one after the other.
    pub bytes: &'a [u8],
}

impl Records<'_> {
    fn count(&self) -> u32 {
        (self.bytes.len() / self.length.max(1)) as u32
    }
}

/// A program to load.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// Its name, as tools show it.
    pub name: &'a str,
    /// Its purpose.
    pub purpose: Purpose,
    /// The kernel's type (BTF) that it implements: a structure of functions, or an iterator's function.
    pub target: u32,
    /// Its licence, which decides which functions it may call.
    pub license: &'a str,
    /// Instructions, of eight bytes each.
    pub instructions: &'a [u8],
    /// The types of the records.
    pub types: BorrowedFd<'a>,
    /// The starts of its functions, and their types.
    pub functions: Records<'a>,
    /// Accesses to fields of the kernel's structures, which the kernel fills in.
    pub relocations: Records<'a>,
}

/// The kernel's description of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramInfo {
    /// Its number.
    pub id: u32,
    /// Instructions, after the verifier's own changes.
    pub instructions: u32,
    /// Instructions that the verifier followed, counted on each path.
    pub verified: u32,
}

/// Loads a description of types (BTF) into the kernel.
///
/// # Errors
/// If the kernel rejects it, or the process lacks `CAP_BPF`.
pub fn load_types(types: &[u8]) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        types: u64,
        log: u64,
        size: u32,
        log_size: u32,
        log_level: u32,
    }
    let size = types.len() as u32;
    let attributes = Attributes { types: address(types), log: 0, size, log_size: 0, log_level: 0 };
    // SAFETY: the kernel reads `size` bytes of the types, and writes no log.
    unsafe { descriptor(Command::BtfLoad, attributes) }
}

#[repr(C)]
struct MapAttributes {
    kind: u32,
    key_size: u32,
    value_size: u32,
    entries: u32,
    flags: u32,
    inner: u32,
    node: u32,
    name: Text,
    interface: u32,
    types: u32,
    key_type: u32,
    value_type: u32,
    kernel_value_type: u32,
    _end: u32,
}

/// Creates a map of one value, which programs read and processes write.
///
/// # Errors
/// If the process lacks `CAP_BPF`.
pub fn create_value(name: &str, size: u32) -> io::Result<OwnedFd> {
    let map = MapAttributes { kind: ARRAY_MAP, flags: READ_ONLY, ..one_value(name, size) };
    // SAFETY: the attributes contain no address.
    unsafe { descriptor(Command::MapCreate, map) }
}

/// Creates a map for one of the kernel's structures of functions; the value has this type of the kernel's,
/// and this size.
///
/// # Errors
/// If the kernel has no such structure, or the process lacks `CAP_BPF` or `CAP_NET_ADMIN`.
pub fn create_struct_ops(name: &str, size: u32, value: u32, types: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let types = types.as_raw_fd().cast_unsigned();
    let map = one_value(name, size);
    let map = MapAttributes { kind: STRUCT_OPS_MAP, flags: BY_LINK, types, kernel_value_type: value, ..map };
    // SAFETY: the attributes contain no address.
    unsafe { descriptor(Command::MapCreate, map) }
}

fn one_value(name: &str, value_size: u32) -> MapAttributes {
    MapAttributes {
        kind: 0,
        key_size: 4,
        value_size,
        entries: 1,
        flags: 0,
        inner: 0,
        node: 0,
        name: text(name),
        interface: 0,
        types: 0,
        key_type: 0,
        value_type: 0,
        kernel_value_type: 0,
        _end: 0,
    }
}

#[repr(C)]
struct ElementAttributes {
    map: u32,
    _pad: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// Writes a map's one value, which must have the map's size.
///
/// # Errors
/// If it has another size, or [`read`] refuses maps of this kind. Also if the kernel refuses it: a structure
/// of functions that is incomplete, or one with a name that is taken.
pub fn write(map: impl AsFd, value: &[u8]) -> io::Result<()> {
    if value.len() != value_size(&map)? {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let key = [0_u8; 4];
    let (map, key) = (raw(map), address(&key));
    let mut element = ElementAttributes { map, _pad: 0, key, value: address(value), flags: 0 };
    // SAFETY: the kernel reads a key of four bytes and a value of the map's size, which `value_size`
    // returned.
    unsafe { call(Command::MapUpdate, &mut element) }.map(|_| ())
}

/// Reads a map's one value.
///
/// # Errors
/// If it is no map of one value: maps with a value for each processor, or with other keys, are refused.
pub fn read(map: impl AsFd) -> io::Result<Vec<u8>> {
    let mut value = vec![0; value_size(&map)?];
    let key = [0_u8; 4];
    let (map, key) = (raw(map), address(&key));
    let value_at = value.as_mut_ptr() as u64;
    let mut element = ElementAttributes { map, _pad: 0, key, value: value_at, flags: 0 };
    // SAFETY: the kernel reads a key of four bytes and writes a value of the map's size, which `value_size`
    // returned.
    unsafe { call(Command::MapLookup, &mut element) }?;
    Ok(value)
}

/// Returns the size of a map's values, which the kernel reads and writes whole, without regard to the buffer.
/// It accepts only the kinds of maps that this module creates. For a map per processor the kernel copies a
/// value for each processor. For maps of programs, maps and sockets it copies a number instead of a value
/// (`bpf_map_value_size` in the kernel's `syscall.c`).
fn value_size(map: impl AsFd) -> io::Result<usize> {
    /// Offsets in `struct bpf_map_info`: type, size of a key and of a value. Other objects, with descriptions
    /// that may begin alike, fail in the kernel without any copy.
    const KIND: usize = 0;
    const KEY_SIZE: usize = 8;
    const VALUE_SIZE: usize = 12;
    const LENGTH_MIN: u32 = 16;
    /// The longest value accepted: none of ours is longer; an array's may have 4 GB.
    const SIZE_MAX: u32 = 1 << 20;
    let (info, length) = info(map)?;
    let at = |place| u32_of(&info, place);
    let is_one_value = length >= LENGTH_MIN
        && [ARRAY_MAP, STRUCT_OPS_MAP].contains(&at(KIND))
        && at(KEY_SIZE) == 4
        && at(VALUE_SIZE) <= SIZE_MAX;
    if !is_one_value {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no map of one value"));
    }
    Ok(at(VALUE_SIZE) as usize)
}

#[repr(C)]
struct ProgramAttributes {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    version: u32,
    flags: u32,
    name: Text,
    interface: u32,
    attached: u32,
    types: u32,
    function_length: u32,
    functions: u64,
    function_count: u32,
    line_length: u32,
    lines: u64,
    line_count: u32,
    target: u32,
    target_object: u32,
    relocation_count: u32,
    descriptors: u64,
    relocations: u64,
    relocation_length: u32,
    _end: u32,
}

/// Loads a program, which the kernel verifies first. The verifier's messages go to `log`, if given, also on
/// failure.
///
/// # Errors
/// If the verifier rejects it, or the process lacks `CAP_BPF`, `CAP_PERFMON` or `CAP_NET_ADMIN`.
pub fn load(program: &Program<'_>, log: Option<&mut String>) -> io::Result<OwnedFd> {
    let license = CString::new(program.license)?;
    let (kind, attached) = match program.purpose {
        Purpose::Member(number) => (STRUCT_OPS_PROGRAM, number),
        Purpose::Iterator => (TRACING_PROGRAM, ITERATOR),
    };
    let mut words = vec![0_u8; if log.is_some() { 1 << 24 } else { 0 }];
    let attributes = ProgramAttributes {
        kind,
        count: (program.instructions.len() / 8) as u32,
        instructions: address(program.instructions),
        license: address(license.as_bytes_with_nul()),
        log_level: if words.is_empty() { 0 } else { 1 | 4 },
        log_size: words.len() as u32,
        log: if words.is_empty() { 0 } else { words.as_mut_ptr() as u64 },
        version: 0,
        flags: 0,
        name: text(program.name),
        interface: 0,
        attached,
        types: raw(program.types),
        function_length: program.functions.length as u32,
        functions: address(program.functions.bytes),
        function_count: program.functions.count(),
        line_length: 0,
        lines: 0,
        line_count: 0,
        target: program.target,
        target_object: 0,
        relocation_count: program.relocations.count(),
        descriptors: 0,
        relocations: address(program.relocations.bytes),
        relocation_length: program.relocations.length as u32,
        _end: 0,
    };
    // SAFETY: the kernel reads whole instructions, records and a text with its zero, by the counts and
    // lengths beside them. It writes no more of the log than its size.
    let loaded = unsafe { descriptor(Command::ProgramLoad, attributes) };
    if let Some(log) = log {
        let length = words.iter().position(|byte| *byte == 0).unwrap_or(words.len());
        log.push_str(&String::from_utf8_lossy(&words[..length]));
    }
    loaded
}

/// Returns the kernel's description of a program.
///
/// # Errors
/// If the descriptor is not a program's.
pub fn program_info(program: impl AsFd) -> io::Result<ProgramInfo> {
    /// Offsets in `struct bpf_prog_info`.
    const ID: usize = 4;
    const TRANSLATED: usize = 20;
    const VERIFIED: usize = 216;
    let (info, _) = info(program)?;
    let at = |place| u32_of(&info, place);
    Ok(ProgramInfo { id: at(ID), instructions: at(TRANSLATED) / 8, verified: at(VERIFIED) })
}

/// Returns the kernel's number of a map, or of a link.
///
/// # Errors
/// If it is neither.
pub fn number(thing: impl AsFd) -> io::Result<u32> {
    Ok(u32_of(&info(thing)?.0, 4))
}

fn u32_of(bytes: &[u8; 256], place: usize) -> u32 {
    u32::from_ne_bytes([bytes[place], bytes[place + 1], bytes[place + 2], bytes[place + 3]])
}

/// Objects that the kernel numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Programs.
    Program,
    /// Maps.
    Map,
    /// Links.
    Link,
}

/// Returns the numbers of all objects of a kind, of all processes.
///
/// # Errors
/// If the process lacks `CAP_SYS_ADMIN`.
pub fn numbers(kind: Kind) -> io::Result<Vec<u32>> {
    let command = match kind {
        Kind::Program => Command::NextProgram,
        Kind::Map => Command::NextMap,
        Kind::Link => Command::NextLink,
    };
    let mut numbers = Vec::new();
    // The number to start from, the next number, flags.
    let mut place = [0_u32; 3];
    loop {
        // SAFETY: the attributes contain no address.
        match unsafe { call(command, &mut place) } {
            Ok(_) => numbers.push(place[1]),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(numbers),
            Err(error) => return Err(error),
        }
        place = [place[1], 0, 0];
    }
}

/// Returns the start of the kernel's description of an object, without the parts that need further buffers,
/// and its length.
fn info(thing: impl AsFd) -> io::Result<([u8; 256], u32)> {
    #[repr(C)]
    struct Attributes {
        thing: u32,
        length: u32,
        info: u64,
    }
    let mut info = [0; 256];
    let length = info.len() as u32;
    let mut attributes = Attributes { thing: raw(thing), length, info: info.as_mut_ptr() as u64 };
    // SAFETY: the kernel writes at most `length` bytes, and all addresses in the part that it reads first are
    // 0.
    unsafe { call(Command::ObjectInfo, &mut attributes) }?;
    Ok((info, attributes.length))
}

#[repr(C)]
struct LinkAttributes {
    linked: u32,
    target: u32,
    place: u32,
    flags: u32,
}

/// Puts a structure of functions into force, for as long as the link is held.
///
/// # Errors
/// If the map has no value, or the name is taken.
pub fn link_struct_ops(map: impl AsFd) -> io::Result<OwnedFd> {
    let link = LinkAttributes { linked: raw(map), target: 0, place: STRUCT_OPS, flags: 0 };
    // SAFETY: the attributes contain no address.
    unsafe { descriptor(Command::LinkCreate, link) }
}

/// Attaches an iterator's program.
///
/// # Errors
/// If the program is not an iterator's.
pub fn link_iterator(program: impl AsFd) -> io::Result<OwnedFd> {
    let link = LinkAttributes { linked: raw(program), target: 0, place: ITERATOR, flags: 0 };
    // SAFETY: the attributes contain no address.
    unsafe { descriptor(Command::LinkCreate, link) }
}

/// Replaces a link's structure of functions atomically; sockets that use the old one keep it.
///
/// # Errors
/// If the new one has another name.
pub fn replace_struct_ops(link: impl AsFd, map: impl AsFd) -> io::Result<()> {
    let mut update = LinkAttributes { linked: raw(link), target: raw(map), place: 0, flags: 0 };
    // SAFETY: the attributes contain no address.
    unsafe { call(Command::LinkUpdate, &mut update) }.map(|_| ())
}

/// Takes a link's structure of functions out of force at once, while the link is still held or pinned.
///
/// # Errors
/// `EOPNOTSUPP` before Linux 6.11.
pub fn detach(link: impl AsFd) -> io::Result<()> {
    // SAFETY: the attributes contain no address.
    unsafe { call(Command::LinkDetach, &mut [raw(link)]) }.map(|_| ())
}

/// Begins a pass over all objects of an iterator; the program's output is read from the descriptor.
///
/// # Errors
/// If the link is not an iterator's.
pub fn iterate(link: impl AsFd) -> io::Result<OwnedFd> {
    // SAFETY: the attributes contain no address.
    unsafe { descriptor(Command::IteratorCreate, [raw(link), 0]) }
}

#[repr(C)]
struct PinAttributes {
    path: u64,
    thing: u32,
    flags: u32,
}

/// Pins an object in a BPF file system, which then holds it.
///
/// # Errors
/// If the folder is in no BPF file system, or the name is taken.
pub fn pin(thing: impl AsFd, path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut pin = PinAttributes { path: address(path.as_bytes_with_nul()), thing: raw(thing), flags: 0 };
    // SAFETY: the kernel reads the path up to its zero.
    unsafe { call(Command::ObjectPin, &mut pin) }.map(|_| ())
}

/// Opens the pinned object of this name.
///
/// # Errors
/// If there is none, or it belongs to another user.
pub fn open_pinned(path: &Path) -> io::Result<OwnedFd> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let pin = PinAttributes { path: address(path.as_bytes_with_nul()), thing: 0, flags: 0 };
    // SAFETY: the kernel reads the path up to its zero.
    unsafe { descriptor(Command::ObjectGet, pin) }
}

fn raw(thing: impl AsFd) -> u32 {
    thing.as_fd().as_raw_fd().cast_unsigned()
}

#[cfg(test)]
mod tests;
