use super::*;
use std::fs::{self, File};
use std::io::Read;

/// `BPF_MAP_TYPE_HASH`, `BPF_MAP_TYPE_PROG_ARRAY`, `BPF_MAP_TYPE_PERCPU_ARRAY`.
const OTHERS: [u32; 3] = [1, 3, 6];

fn create(map: MapAttributes) -> io::Result<OwnedFd> {
    // SAFETY: the attributes contain no address.
    unsafe { descriptor(Command::MapCreate, map) }
}

/// Returns a map, or none after a skip.
fn value(size: u32) -> Option<OwnedFd> {
    match create_value("one", size) {
        Ok(one) => Some(one),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            evenair_needs::skip("eBPF congestion control", error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn only_maps_of_one_value_are_read_and_written() {
    let Some(one) = value(8) else { return };
    write(&one, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    assert_eq!(read(&one).unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
    for kind in OTHERS {
        let value_size = if kind == 3 { 4 } else { 8 };
        let map = create(MapAttributes { kind, value_size, ..one_value("other", 0) }).unwrap();
        let refused = io::ErrorKind::InvalidInput;
        assert_eq!(read(&map).unwrap_err().kind(), refused, "{kind}");
        assert_eq!(write(&map, &vec![0; value_size as usize]).unwrap_err().kind(), refused, "{kind}");
    }
    let large = create_value("large", 2 << 20).unwrap();
    assert!(read(&large).is_err());
    assert!(read(File::open("/dev/null").unwrap()).is_err());
}

/// 1 MiB is the longest value that is read and written.
#[test]
fn longest_value_is_a_mebibyte() {
    let Some(longest) = value(1 << 20) else { return };
    let bytes: Vec<u8> = (0..1 << 20).map(|place: u32| (place % 251) as u8).collect();
    write(&longest, &bytes).unwrap();
    assert!(read(&longest).unwrap() == bytes);
    let longer = value((1 << 20) + 8).unwrap();
    assert_eq!(read(&longer).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    assert_eq!(write(&longest, &bytes[1..]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn records_are_counted_by_their_length() {
    for (length, bytes, count) in [(8, 24, 3), (8, 8, 1), (16, 48, 3), (8, 0, 0), (0, 0, 0)] {
        assert_eq!(Records { length, bytes: &vec![0; bytes] }.count(), count, "{bytes} of {length}");
    }
}

#[test]
fn number_is_of_four_bytes_from_its_place() {
    let bytes = std::array::from_fn(|place| place as u8);
    assert_eq!(u32_of(&bytes, 4), u32::from_ne_bytes([4, 5, 6, 7]));
    assert_eq!(u32_of(&bytes, 216), u32::from_ne_bytes([216, 217, 218, 219]));
}

/// Names have fifteen bytes and a zero (`BPF_OBJ_NAME_LEN` is 16).
#[test]
fn name_is_cut_to_its_room() {
    assert_eq!(&text("evenair"), b"evenair\0\0\0\0\0\0\0\0\0");
    assert_eq!(&text("evenair_guarded_x"), b"evenair_guarded\0");
}

#[test]
fn file_that_is_no_object_is_refused() {
    let null = || File::open("/dev/null").unwrap();
    let nowhere = Path::new("/proc/evenair/none");
    assert!(number(null()).is_err());
    assert!(program_info(null()).is_err());
    assert!(link_struct_ops(null()).is_err());
    assert!(link_iterator(null()).is_err());
    assert!(replace_struct_ops(null(), null()).is_err());
    assert!(iterate(null()).is_err());
    assert!(pin(null(), nowhere).is_err());
    assert!(open_pinned(nowhere).is_err());
    assert!(load_types(b"no types").is_err());
}

/// Types in the kernel's form (BTF): an `int`, a function's type without arguments that returns it, and that
/// function.
fn types() -> Vec<u8> {
    const NAMES: &[u8] = b"\0int\0main\0";
    const INT: [u32; 4] = [1, 1 << 24, 4, 1 << 24 | 32];
    const PROTOTYPE: [u32; 3] = [0, 13 << 24, 1];
    const MAIN: [u32; 3] = [5, FUNCTION << 24, 2];
    let types = [&INT[..], &PROTOTYPE, &MAIN].concat();
    let length = types.len() as u32 * 4;
    let words = [&[0x0001_eb9f, 24, 0, length, length, NAMES.len() as u32], &types[..]].concat();
    words.iter().flat_map(|word| word.to_ne_bytes()).chain(NAMES.iter().copied()).collect()
}

/// `BTF_KIND_STRUCT`, `BTF_KIND_FUNC`.
const STRUCTURE: u32 = 4;
const FUNCTION: u32 = 12;

/// Finds the number and the size of one of the kernel's types (`Documentation/bpf/btf.rst`, section 2).
fn type_of_kernel(of_kind: u32, name: &str) -> Option<(u32, u32)> {
    let btf = fs::read("/sys/kernel/btf/vmlinux").ok()?;
    let word = |place: usize| u32::from_ne_bytes(btf[place..place + 4].try_into().unwrap());
    let [header, types, length, names] = [4, 8, 12, 16].map(|place| word(place) as usize);
    let mut place = header + types;
    let mut number = 1;
    while place < header + types + length {
        let (at, info) = (header + names + word(place) as usize, word(place + 4));
        let kind = info >> 24 & 0x1f;
        if kind == of_kind && btf[at..].starts_with(name.as_bytes()) && btf[at + name.len()] == 0 {
            return Some((number, word(place + 8)));
        }
        let of_each = (info & 0xffff) as usize;
        place += 12
            + match kind {
                1 | 14 | 17 => 4,
                3 => 12,
                4 | 5 | 15 | 19 => 12 * of_each,
                6 | 13 => 8 * of_each,
                _ => 0,
            };
        number += 1;
    }
    None
}

/// `r0 = 0; exit`: two instructions, and as many verified. An iterator's program that writes nothing gives an
/// empty file.
#[test]
fn loaded_program_is_described_and_runs() {
    if value(8).is_none() {
        return;
    }
    let Some((target, _)) = type_of_kernel(FUNCTION, "bpf_iter_task") else {
        return evenair_needs::skip("eBPF congestion control", "the kernel describes no bpf_iter_task");
    };
    let types = load_types(&types()).unwrap();
    let program = Program {
        name: "nothing",
        purpose: Purpose::Iterator,
        target,
        license: "GPL",
        instructions: &[0xb7, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0],
        types: types.as_fd(),
        functions: Records { length: 8, bytes: &[0_u32.to_ne_bytes(), 3_u32.to_ne_bytes()].concat() },
        relocations: Records { length: 16, bytes: &[] },
    };
    let mut log = String::new();
    let loaded = load(&program, Some(&mut log)).unwrap();
    assert!(log.contains("processed 2 insns"), "{log}");
    assert!(load(&program, None).is_ok());
    let info = program_info(&loaded).unwrap();
    assert_eq!((info.instructions, info.verified), (2, 2));
    assert_eq!(number(&loaded).unwrap(), info.id);

    let link = link_iterator(&loaded).unwrap();
    let mut output = Vec::new();
    File::from(iterate(&link).unwrap()).read_to_end(&mut output).unwrap();
    assert!(output.is_empty());
    assert!(link_struct_ops(&loaded).is_err());
    assert!(replace_struct_ops(&link, value(8).unwrap()).is_err());

    // An instruction that does not exist, and one program without an end.
    let mut log = String::new();
    assert!(load(&Program { instructions: &[0xff; 16], ..program }, Some(&mut log)).is_err());
    assert!(!log.is_empty());
    assert!(load(&Program { instructions: &program.instructions[..8], ..program }, None).is_err());
}

/// Numbers of objects ascend, and an object's is there for as long as the object.
#[test]
fn objects_of_a_kind_are_numbered() {
    let Some(one) = value(8) else { return };
    let all = match numbers(Kind::Map) {
        Ok(all) => all,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return evenair_needs::skip("eBPF congestion control", error.to_string());
        }
        Err(error) => panic!("{error}"),
    };
    assert!(all.contains(&number(&one).unwrap()), "{all:?}");
    assert!(all.is_sorted_by(|one, next| one < next) && !all.contains(&0), "{all:?}");
    let refused = std::thread::spawn(|| {
        // SAFETY: the kernel reads no memory, and changes the user of this thread alone.
        assert_eq!(unsafe { libc::syscall(libc::SYS_setresuid, 65_534, 65_534, 65_534) }, 0);
        numbers(Kind::Map)
    });
    assert_eq!(refused.join().unwrap().unwrap_err().kind(), io::ErrorKind::PermissionDenied);
}

/// In `struct bpf_map_info` the flags are at byte 20, the kernel's type of the value at byte 44.
#[test]
fn maps_have_their_flags_and_types() {
    let Some(one) = value(8) else { return };
    let flags = |map: &OwnedFd| u32_of(&info(map).unwrap().0, 20);
    assert_eq!(flags(&one), 0x80, "BPF_F_RDONLY_PROG");

    let of_laws = type_of_kernel(STRUCTURE, "bpf_struct_ops_tcp_congestion_ops");
    let Some((structure, size)) = of_laws else {
        return evenair_needs::skip_part(
            "eBPF congestion control",
            "the kernel describes no structure of laws",
        );
    };
    let types = load_types(&types()).unwrap();
    let map = create_struct_ops("law", size, structure, types.as_fd()).unwrap();
    let (info, _) = info(&map).unwrap();
    assert_eq!([0, 12, 44].map(|place| u32_of(&info, place)), [26, size, structure]);
    assert_eq!(flags(&map), 0x2000, "BPF_F_LINK");
    assert!(link_struct_ops(&map).is_err(), "it has no value");
    assert!(create_struct_ops("law", size + 8, structure, types.as_fd()).is_err());
}
