//! Loads an object's programs and parameters into the kernel, and fills the kernel's structure of functions
//! with them.

use super::bytes::u64_at;
use super::law::{Law, encode};
use super::object::{Code, FUNCTION, Object, RELOCATION};
use super::trouble::{Trouble, at};
use super::types::{FUNC, STRUCT, Types};
use evenair_laws::window::WindowParams;
use evenair_linux::bpf::{self, Program, ProgramInfo, Purpose, Records};
use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The kernel's structure of a congestion control's functions; a map's value has it in a member `data`.
const OPS: &str = "tcp_congestion_ops";
const OPS_VALUE: &str = "bpf_struct_ops_tcp_congestion_ops";
/// `TCP_CONG_NON_RESTRICTED`: users without `CAP_NET_ADMIN` may choose it.
const FOR_EVERYBODY: u32 = 1;
/// The most letters of a congestion control's name.
const NAME_MAX: usize = 15;
/// The oldest supported kernel: from it on, maps of structures of functions take effect by links, which can
/// be pinned.
const LEAST: (u32, u32) = (6, 4);

/// The options of loading a law.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Its parameters.
    pub params: WindowParams,
    /// Whether users without `CAP_NET_ADMIN` may choose it.
    pub for_everybody: bool,
    /// A mark after its name, so that several can be loaded at once; a pinned law has none.
    pub mark: String,
}

/// A law's functions in the kernel; not yet in force.
#[derive(Debug)]
pub struct Loaded {
    /// The law.
    pub law: Law,
    /// Its name in the kernel, with the mark.
    pub name: String,
    /// The structure of its functions.
    pub functions: OwnedFd,
    /// Its parameters, which can be rewritten.
    pub parameters: OwnedFd,
    /// The kernel's description of each function.
    pub programs: Vec<(String, ProgramInfo)>,
}

/// Checks whether this machine's kernel supports such congestion controls.
///
/// # Errors
/// If it is too old, or does not describe its types.
pub fn check() -> Result<(), Trouble> {
    let release = evenair_linux::kernel();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    if (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < LEAST {
        return Err(Trouble::OldKernel(release));
    }
    fs::metadata(TYPES).map(|_| ()).map_err(Trouble::NoTypes)
}

/// The kernel's description of its types.
const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Returns the kernel's types.
pub(crate) fn kernel_types() -> Result<Vec<u8>, Trouble> {
    check()?;
    fs::read(TYPES).map_err(Trouble::NoTypes)
}

/// Loads a law; the verifier's messages go to `log`, if given.
///
/// # Errors
/// If a parameter is out of range, or the kernel refuses.
pub fn load(wanted: &Wanted, mut log: Option<&mut String>) -> Result<Loaded, Trouble> {
    let law = Law::of(&wanted.params)
        .ok_or_else(|| encode(&wanted.params).map_or_else(Trouble::from, |_| lacks(OPS)))?;
    let numbers = encode(&wanted.params)?;
    let description = kernel_types()?;
    let kernel = Types::parse(&description).map_err(|why| Trouble::Malformed(TYPES, why))?;
    let object = Object::parse(law.object()).map_err(|why| Trouble::Malformed(law.name(), why))?;
    let types = bpf::load_types(&object.types).map_err(at("the law's types"))?;
    let parameters =
        create_parameters(&object, &numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>())?;
    let ops = kernel.find(STRUCT, OPS).ok_or_else(|| lacks(OPS))?;
    let member = |name: &str| {
        let found = kernel.member(ops, name).map_err(|why| Trouble::Malformed(TYPES, why))?;
        found.ok_or_else(|| lacks(&format!("{OPS}.{name}")))
    };
    let (mut functions, mut programs) = (Vec::new(), Vec::new());
    for code in &object.programs {
        let place = member(&code.place)?;
        let name = format!("{}_{}", law.control().trim_start_matches("evenair_"), code.place);
        let program = Part { object: &object, code, types: &types, parameters: &parameters };
        let program = program.load(&name, Purpose::Member(place.number), ops, log.as_deref_mut())?;
        programs.push((code.place.clone(), bpf::program_info(&program).map_err(at("the loaded program"))?));
        functions.push((place.offset, program));
    }
    let value = kernel.find(STRUCT, OPS_VALUE).ok_or_else(|| lacks(OPS_VALUE))?;
    let size = kernel.size(value).map_err(|why| Trouble::Malformed(TYPES, why))?;
    let data = kernel.member(value, "data").ok().flatten().ok_or_else(|| lacks(OPS_VALUE))?.offset;
    let mut bytes = vec![0; size as usize];
    let mut put = |place: usize, what: &[u8]| bytes[data + place..][..what.len()].copy_from_slice(what);
    let name = format!("{}{}", law.control(), wanted.mark);
    put(member("name")?.offset, &name.as_bytes()[..name.len().min(NAME_MAX)]);
    put(member("flags")?.offset, &if wanted.for_everybody { FOR_EVERYBODY } else { 0 }.to_le_bytes());
    for (place, program) in &functions {
        put(*place, &u64::from(program.as_raw_fd().cast_unsigned()).to_le_bytes());
    }
    let map = bpf::create_struct_ops(law.control(), size, value, types.as_fd())
        .map_err(at("a place for the law"))?;
    bpf::write(&map, &bytes).map_err(at("the law's functions"))?;
    Ok(Loaded { law, name, functions: map, parameters, programs })
}

/// Creates a map of an object's parameters, with these values.
pub(crate) fn create_parameters(object: &Object, bytes: &[u8]) -> Result<OwnedFd, Trouble> {
    let map = bpf::create_value("evenair_params", object.parameters).map_err(at("a place for parameters"))?;
    bpf::write(&map, bytes).map_err(at("parameters"))?;
    Ok(map)
}

/// Loads an iterator's program, for the kernel's function that calls it.
pub(crate) fn load_iterator(object: &Object, parameters: &OwnedFd) -> Result<OwnedFd, Trouble> {
    let description = kernel_types()?;
    let kernel = Types::parse(&description).map_err(|why| Trouble::Malformed(TYPES, why))?;
    let types = bpf::load_types(&object.types).map_err(at("the look's types"))?;
    let code = object.programs.iter().find(|code| code.iterates).ok_or_else(|| lacks("iterator"))?;
    let function = format!("bpf_iter_{}", code.place);
    let target = kernel.find(FUNC, &function).ok_or_else(|| lacks(&function))?;
    Part { object, code, types: &types, parameters }.load("evenair_sockets", Purpose::Iterator, target, None)
}

fn lacks(what: &str) -> Trouble {
    Trouble::Lacks(what.to_owned())
}

/// A program of an object, and the data to load it with.
struct Part<'a> {
    object: &'a Object,
    code: &'a Code,
    types: &'a OwnedFd,
    parameters: &'a OwnedFd,
}

impl Part<'_> {
    fn load(
        &self,
        name: &str,
        purpose: Purpose,
        target: u32,
        log: Option<&mut String>,
    ) -> Result<OwnedFd, Trouble> {
        let program = Program {
            name,
            purpose,
            target,
            license: &self.object.license,
            instructions: &self.code.linked(self.parameters.as_raw_fd()),
            types: self.types.as_fd(),
            functions: Records { length: FUNCTION, bytes: &self.code.functions },
            relocations: Records { length: RELOCATION, bytes: &self.code.relocations },
        };
        if let Some(log) = log {
            log.push_str(&format!("--- {name}\n"));
            return bpf::load(&program, Some(log)).map_err(at("a program"));
        }
        bpf::load(&program, None).map_err(|error| match at("a program")(error) {
            Trouble::Step(_, error) => {
                // A second attempt, for the reason.
                let mut log = String::new();
                let _ = bpf::load(&program, Some(&mut log));
                let why = log.lines().rev().find(|line| !line.contains("processed ")).unwrap_or_default();
                Trouble::Refused { program: name.to_owned(), error, why: why.to_owned() }
            }
            trouble => trouble,
        })
    }
}

/// Returns the numbers in a map of parameters.
///
/// # Errors
/// If it is no map.
pub(crate) fn numbers(map: impl AsFd) -> Result<Vec<u64>, Trouble> {
    let bytes = bpf::read(map).map_err(at("parameters"))?;
    Ok((0..bytes.len() / 8).filter_map(|place| u64_at(&bytes, 8 * place).ok()).collect())
}
