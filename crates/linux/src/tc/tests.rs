//! Golden bytes: requests of iproute2's tc 6.1 to a kernel 6.18, and the answers. The bytes are
//! little-endian, as in all tests of the kernel's messages.
#![cfg(target_endian = "little")]

use super::*;
use crate::netlink::HEADER;
use evenair_units::{Bytes, Duration, Rate};
use proptest::prelude::*;

/// Parses two hexadecimal digits a byte.
fn bytes(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.bytes().filter_map(|digit| (digit as char).to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Options by their kinds; their order has no meaning.
type Options = Vec<(u16, Vec<u8>)>;

/// Returns a change's own header, kind, and options.
fn said(change: &Change) -> (Vec<u8>, String, Options) {
    let message = change.message().finish(1).to_vec();
    let attributes = Attributes::new(&message[HEADER + OWN_HEADER..]);
    let own = attributes.within(libc::TCA_OPTIONS).map(|(kind, value)| (kind, value.to_vec()));
    let kind = attributes.find(libc::TCA_KIND).map(text).unwrap_or_default();
    (message[HEADER..HEADER + OWN_HEADER].to_vec(), kind, sorted(own))
}

fn sorted(options: impl Iterator<Item = (u16, Vec<u8>)>) -> Options {
    let mut options: Vec<_> = options.collect();
    options.sort_unstable();
    options
}

/// Returns the options that tc sends, without the tables of times by size in `struct tc_ratespec`. Only
/// kernels before 3.8 read those.
fn tcs_options(text: &str) -> Options {
    let bytes = bytes(text);
    sorted(Attributes::new(&bytes).map(|(kind, value)| {
        let mut value = value.to_vec();
        let rates: &[usize] = if kind == 1 && value.len() >= 36 { &[0, 12] } else { &[] };
        for &rate in rates {
            assert_eq!(value[rate + 1] | 1, 1, "the link layer is Ethernet, or the rate is none");
            value[rate] = 0;
            value[rate + 4..rate + 6].fill(0);
        }
        (kind, value)
    }))
}

const DEVICE: u32 = 7;

fn change(parent: Handle, handle: Handle, what: What) -> Change {
    Change { device: DEVICE, parent, handle, what }
}

/// `tc qdisc add dev v0 root handle 1: htb default 2a r2q 10 direct_qlen 50`
#[test]
fn htb_is_added_as_tc_does() {
    let htb = Discipline::Htb(Htb { default: 0x2a, rate_to_quantum: 10, direct_queue: Some(50) });
    let add = change(Handle::ROOT, Handle::new(1, 0), What::Qdisc(Mode::Add, htb));
    let message = add.message().acknowledged().finish(9).to_vec();
    let golden = "50000000 2400 0506 09000000 00000000  00000000 07000000 00000100 ffffffff 00000000
        0800 0100 68746200  2400 0200 1800 0200 03000000 0a000000 2a000000 00000000 00000000 0800 0500 32000000";
    assert_eq!(message, bytes(golden));
}

/// `tc class add dev v0 parent 1:1 classid 1:2a htb rate 64kbit ceil 2mbit burst 3200 cburst 3200 quantum
/// 1514 prio 3`
#[test]
fn a_class_is_added_as_tc_does() {
    let burst = Bytes::new(3_200); // whole ticks of 64 ns at both rates
    let class = HtbClass {
        priority: 3,
        burst,
        ceiling_burst: burst,
        ..HtbClass::new(Rate::from_kbps(64), Rate::from_kbps(2_000))
    };
    let add = change(Handle::new(1, 1), Handle::new(1, 0x2a), What::Class(Mode::Add, class));
    let (own, kind, options) = said(&add);
    assert_eq!(own, bytes("00000000 07000000 2a000100 01000100 00000000"));
    assert_eq!(kind, "htb");
    let golden = "3000 0100 0301 0000 ffff 0000 401f0000  0301 0000 ffff 0000 90d00300
        105e5f00 400d0300 ea050000 00000000 03000000";
    assert_eq!(options, tcs_options(golden));
}

/// `… rate 40gbit ceil 80gbit …`, except for bursts, which tc rounds to whole microseconds.
#[test]
fn wide_rates_stand_apart() {
    let (rate, ceiling) = (Rate::from_kbps(40_000_000), Rate::from_kbps(80_000_000));
    let (.., options) = said(&change(
        Handle::ROOT,
        Handle::new(1, 2),
        What::Class(Mode::Change, HtbClass::new(rate, ceiling)),
    ));
    assert_eq!(options[1..], tcs_options("0c00 0600 00f2052a01000000 0c00 0700 00e40b5402000000"));
    assert_eq!((&options[0].1[8..12], &options[0].1[20..24]), (&[0xff; 4][..], &[0xff; 4][..]));
}

/// As in tc: 2^32 − 1 bytes a second still fit.
#[test]
fn rate_of_32_bits_stands_alone() {
    let widest = Rate::from_bps(u64::from(u32::MAX) * 8);
    let class = What::Class(Mode::Add, HtbClass::new(widest, widest));
    let tbf = Tbf { rate: widest, burst: Bytes::new(2_000), limit: Bytes::new(6_000) };
    let tbf = What::Qdisc(Mode::Add, Discipline::Tbf(tbf));
    for (what, kinds) in [(class, &[1][..]), (tbf, &[1, 6])] {
        let (.., options) = said(&change(Handle::ROOT, Handle::new(1, 2), what));
        assert_eq!(options.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), kinds);
        assert_eq!(options[0].1[8..12], [0xff; 4]);
    }
}

/// `NLM_F_REQUEST` 1, `NLM_F_REPLACE` 0x100, `NLM_F_EXCL` 0x200, `NLM_F_CREATE` 0x400, as `tc qdisc` and `tc
/// class` with `add`, `change`, `replace`.
#[test]
fn modes_are_flags() {
    let flags = |what| {
        let message = change(Handle::ROOT, Handle::new(1, 2), what).message().finish(1).to_vec();
        u16::from_ne_bytes([message[6], message[7]])
    };
    let class = HtbClass::new(Rate::from_kbps(64), Rate::from_kbps(64));
    let modes = [Mode::Add, Mode::Change, Mode::Replace];
    assert_eq!(modes.map(|mode| flags(What::Qdisc(mode, Discipline::Clsact))), [0x601, 1, 0x501]);
    assert_eq!(modes.map(|mode| flags(What::Class(mode, class))), [0x601, 1, 0x401]);
}

/// Commands of tc, and the options that it sends.
#[test]
fn leaves_are_added_as_tc_does() {
    let ms = Duration::from_millis;
    let leaves = [
        // fq_codel limit 100 flows 16 quantum 300 target 20ms interval 200ms memory_limit 32768 noecn
        (
            Discipline::FqCodel(FqCodel {
                packets: Some(100),
                flows: Some(16),
                quantum: Some(Bytes::new(300)),
                target: Some(ms(20)),
                interval: Some(ms(200)),
                memory: Some(Bytes::new(32_768)),
                marks: Some(false),
            }),
            "08000200 64000000 08000500 10000000 08000600 2c010000 08000300 400d0300 08000100 204e0000 08000400 00000000
             08000900 00800000",
        ),
        // cake unlimited besteffort dual-dsthost rtt 150ms memlimit 65536 split-gso; tc also sends "no
        // autorate" (9)
        (
            Discipline::Cake(Cake {
                rate: Some(Rate::from_bps(0)),
                isolation: Some(Isolation::Destinations),
                is_best_effort: true,
                memory: Some(Bytes::new(65_536)),
                round_trip: Some(ms(150)),
                splits: Some(true),
            }),
            "0c000200 0000000000000000 08000300 03000000 08000500 06000000 08000700 f0490200 08000800 4c1d0000
             08000a00 00000100 08001100 01000000",
        ),
        // tbf rate 1000gbit burst 2000 limit 6000
        (
            Discipline::Tbf(Tbf { rate: Rate::from_kbps(1_000_000_000), burst: Bytes::new(2_000), limit: Bytes::new(6_000) }),
            "28000100 0301 0000 ffff 0000 ffffffff 000000000000000000000000 70170000 00000000 00000000
             08000600 d0070000 0c000400 00a2941a1d000000",
        ),
    ];
    for (leaf, golden) in leaves {
        let kind = leaf.kind().to_owned();
        // The kernel lists the same options. A cake stays encoded, except for its memory.
        let listed = Discipline::parse(&kind, &bytes(golden));
        if let Discipline::Other { options, .. } = &listed {
            assert_eq!((&kind[..], options), ("cake", &bytes(golden)));
            assert_eq!(Cake::memory(options), Some(Bytes::new(65_536)));
        } else {
            assert_eq!(listed, leaf);
        }
        let (_, named, mut options) =
            said(&change(Handle::new(1, 2), Handle::new(2, 0), What::Qdisc(Mode::Add, leaf)));
        if kind == "tbf" {
            options[0].1[28..32].fill(0); // tc puts the burst into its own attribute, which the kernel prefers
        }
        assert_eq!((named, options), (kind.clone(), tcs_options(golden)), "{kind}");
    }
    // cake bandwidth 8mbit: `TCA_CAKE_BASE_RATE64` (2) is in bytes a second, 1,000,000.
    let cake = Discipline::Cake(Cake { rate: Some(Rate::from_kbps(8_000)), ..Cake::default() });
    let (.., options) = said(&change(Handle::new(1, 2), Handle::new(2, 0), What::Qdisc(Mode::Add, cake)));
    assert_eq!(options, tcs_options("0c000200 40420f0000000000"));
    let bfifo = What::Qdisc(Mode::Add, Discipline::Bfifo { limit: Bytes::new(6_000) });
    let message = change(Handle::new(1, 0x2a), Handle::new(0x2a, 0), bfifo).message().finish(1).to_vec();
    assert_eq!(message[HEADER + OWN_HEADER..], bytes("0a00 0100 626669666f00 0000 0800 0200 70170000"));
}

/// The kernel lists the options of pfifo and bfifo as one number (`struct tc_fifo_qopt`), and none of clsact.
#[test]
fn disciplines_without_attributes_are_read() {
    let listed = |kind, options| Discipline::parse(kind, &bytes(options));
    assert_eq!(listed("pfifo", "e8030000"), Discipline::Pfifo { packets: 1_000 });
    assert_eq!(listed("bfifo", "70170000"), Discipline::Bfifo { limit: Bytes::new(6_000) });
    assert_eq!(listed("clsact", ""), Discipline::Clsact);
    assert_eq!(
        listed("pfifo", "e80300"),
        Discipline::Other { kind: "pfifo".into(), options: vec![0xe8, 3, 0] }
    );
}

/// Another program's discipline is restored with the options that the kernel listed, and without any if it
/// listed none.
#[test]
fn other_discipline_is_added_as_it_was() {
    let added = |options: Vec<u8>| {
        let other = Discipline::Other { kind: "sfq".into(), options };
        let message = change(Handle::ROOT, Handle::new(1, 0), What::Qdisc(Mode::Add, other));
        message.message().finish(1)[HEADER + OWN_HEADER..].to_vec()
    };
    assert_eq!(added(bytes("0800 0300 01020304")), bytes("0800 0100 73667100  0c00 0200 0800 0300 01020304"));
    assert_eq!(added(Vec::new()), bytes("0800 0100 73667100"));
}

/// The kernel's answers to `tc -s -d qdisc show` and `tc -s -d class show`, without their headers.
#[test]
fn listing_of_the_kernel_is_read() {
    let qdisc = bytes(
        "00000000 03000000 00000100 ffffffff 03000000 0800010068746200 24000200 18000200 110003000a0000002a0000000700000000000000
         08000500 32000000 05000c0000000000 3000 0700 1400 0100 00100000000000002c00000000000000 1800 0300 0100000002000000030000000400000005000000",
    );
    let qdisc = Qdisc::parse(&qdisc).expect("a discipline");
    assert_eq!((qdisc.device, qdisc.parent, qdisc.handle), (3, Handle::ROOT, Handle::new(1, 0)));
    assert_eq!(
        qdisc.discipline,
        Discipline::Htb(Htb { default: 0x2a, rate_to_quantum: 10, direct_queue: Some(50) })
    );
    let counted = Statistics {
        bytes: 4_096,
        packets: 44,
        waiting: 1,
        backlog: 2,
        drops: 3,
        requeues: 4,
        overlimits: 5,
    };
    assert_eq!(qdisc.statistics, counted);
    let class = bytes(CLASS);
    let class = Class::parse(&class).expect("a class");
    assert_eq!(
        (class.parent, class.handle, class.leaf),
        (Handle::new(1, 1), Handle::new(1, 0x2a), Some(Handle::new(0x2b, 0)))
    );
    let own = class.htb.expect("HTB");
    assert_eq!((own.rate, own.ceiling), (Rate::from_kbps(64), Rate::from_kbps(2_000)));
    assert_eq!(
        (own.burst, own.ceiling_burst, own.quantum, own.priority),
        (Bytes::new(3_200), Bytes::new(3_200), Some(Bytes::new(1_514)), 3)
    );
    // A quantum of zero is none; the kernel keeps one of a byte on request.
    for (quantum, read) in [("00", None), ("01", Some(Bytes::new(1)))] {
        let other = CLASS.replace("ea05000000000000030000", &format!("{quantum}00000000000000030000"));
        let other = Class::parse(&bytes(&other)).expect("a class");
        assert_eq!(other.htb.expect("HTB").quantum, read);
    }
    let own = class.htb_statistics.expect("HTB");
    assert_eq!((own.lends, own.borrows, own.tokens, own.ceiling_tokens), (0, 0, 0x5f_5e10, 0x3_0d40));
    assert_eq!(class.statistics, Statistics::default());
}

/// `linux/gen_stats.h`: `TCA_STATS_BASIC` (1) has a count of packets of 32 bits, `TCA_STATS_PKT64` (8) one of
/// 64. A kernel adds the latter if the former is too small.
#[test]
fn packets_are_counted_in_64_bits_if_given() {
    let narrow = "1400 0100 0010000000000000 02000000 00000000";
    let wide = "0c00 0800 0200000001000000";
    let counted = |stats: &str, length: u8| {
        let message = format!("{} {length:02x}00 0700 {stats}", "00".repeat(OWN_HEADER));
        Qdisc::parse(&bytes(&message)).expect("a discipline").statistics
    };
    let expected = Statistics { bytes: 0x1000, packets: 2, ..Statistics::default() };
    assert_eq!(counted(narrow, 4 + 20), expected);
    let both = counted(&format!("{narrow} {wide}"), 4 + 20 + 12);
    assert_eq!(both, Statistics { packets: (1 << 32) + 2, ..expected });
}

/// Returns the parts of a dump (`RTM_NEWQDISC` 36, `RTM_NEWTCLASS` 40), and its end (`NLMSG_DONE` 3).
fn listing(parts: &[(u16, &str)]) -> (Rtnetlink, std::os::unix::net::UnixDatagram) {
    use crate::netlink::{answered, framed};
    let parts: Vec<_> = parts.iter().map(|(kind, text)| framed(*kind, 2, 1, &bytes(text))).collect();
    let (socket, kernel) = answered(&[&parts, &[framed(3, 2, 1, &[0; 4])]]);
    (Rtnetlink { socket }, kernel)
}

/// Returns the request: its kind and payload.
fn asked(kernel: &std::os::unix::net::UnixDatagram) -> (u16, Vec<u8>) {
    let mut asked = vec![0; 1024];
    let length = kernel.recv(&mut asked).expect("it was called");
    (u16::from_ne_bytes([asked[4], asked[5]]), asked[HEADER..length].to_vec())
}

/// A pfifo of 1,000 packets on devices 7, 8 and 7 again; the kernel lists those of all devices.
#[test]
fn disciplines_of_a_device_are_listed() {
    let on = |device: u8, minor: u8| {
        format!(
            "00000000 0{device}000000 00000{minor}00 ffffffff 00000000 0a000100 706669666f000000 08000200 e8030000"
        )
    };
    let (one, other, two) = (on(7, 1), on(8, 2), on(7, 3));
    let (mut rtnetlink, kernel) = listing(&[(36, &one), (36, &other), (40, &one), (36, &two)]);
    let found = rtnetlink.qdiscs(7).expect("a list");
    let told: Vec<_> = found.iter().map(|qdisc| (qdisc.device, qdisc.handle.major)).collect();
    assert_eq!(told, [(7, 1), (7, 3)]);
    assert!(found.iter().all(|qdisc| qdisc.discipline == Discipline::Pfifo { packets: 1_000 }));
    // RTM_GETQDISC 38.
    assert_eq!(asked(&kernel), (38, bytes("00000000 07000000 00000000 00000000 00000000")));
}

#[test]
fn classes_of_a_device_are_listed() {
    let other = CLASS.replacen("2a000100", "2b000100", 1);
    let (mut rtnetlink, kernel) = listing(&[(40, CLASS), (36, &other)]);
    let mut classes = vec![Class::parse(&bytes(CLASS)).expect("a class"); 3];
    rtnetlink.classes(3, &mut classes).expect("a list");
    assert_eq!(classes.iter().map(|class| class.handle).collect::<Vec<_>>(), [Handle::new(1, 0x2a)]);
    // RTM_GETTCLASS 42.
    assert_eq!(asked(&kernel), (42, bytes("00000000 03000000 00000000 00000000 00000000")));
}

/// `RTM_DELTCLASS` is 41, `RTM_DELQDISC` 37; `NLMSG_ERROR` (2) of ENOENT to the second.
#[test]
fn refused_change_is_an_error() {
    use crate::netlink::{answered, framed};
    let told =
        |code: i32, sequence| framed(2, 0x100, sequence, &[&(-code).to_ne_bytes()[..], &[0; 16]].concat());
    let (socket, kernel) = answered(&[&[told(0, 1), told(libc::ENOENT, 2)]]);
    let class = change(Handle::NONE, Handle::new(1, 0x2a), What::RemoveClass);
    let changes = [class, change(Handle::ROOT, Handle::new(1, 0), What::RemoveQdisc)];
    let refused = Rtnetlink { socket }.apply(&changes).expect("it is answered");
    assert_eq!(refused.iter().map(|one| (one.index, one.code)).collect::<Vec<_>>(), [(1, libc::ENOENT)]);
    let class = "24000000 2900 0500 01000000 00000000  00000000 07000000 2a000100 00000000 00000000";
    let qdisc = "24000000 2500 0500 02000000 00000000  00000000 07000000 00000100 ffffffff 00000000";
    let mut both = vec![0; 1024];
    let length = kernel.recv(&mut both).expect("it was called");
    assert_eq!(both[..length], bytes(&format!("{class} {qdisc}")));
}

/// The test request for a kind: on `lo`, number 1, with eight options of one byte each, which all kinds
/// reject.
#[test]
fn kind_is_known_by_how_its_options_are_refused() {
    use crate::netlink::{answered, framed};
    // NLMSG_ERROR (2): the kind is unknown (ENOENT), the options are rejected (EINVAL, ERANGE), or the
    // request is refused.
    let told =
        |code: i32, sequence| framed(2, 0x100, sequence, &[&(-code).to_ne_bytes()[..], &[0; 16]].concat());
    let asked = |codes: &[i32]| {
        let told: Vec<_> = codes.iter().zip(1..).map(|(code, sequence)| [told(*code, sequence)]).collect();
        let told: Vec<&[Vec<u8>]> = told.iter().map(|one| &one[..]).collect();
        let (socket, kernel) = answered(&told);
        let mut rtnetlink = Rtnetlink { socket };
        let known = rtnetlink.has_discipline("cake").map_err(|error| error.kind());
        let mut bytes = vec![0; 1024];
        let length = kernel.recv(&mut bytes).expect("it was called");
        // NLM_F_REQUEST 1, NLM_F_ACK 4, NLM_F_EXCL 0x200, NLM_F_CREATE 0x400: an existing one stays.
        assert_eq!(bytes[6..8], 0x605_u16.to_ne_bytes());
        (known, bytes[HEADER + OWN_HEADER..length].to_vec())
    };
    let mut golden = bytes("0900 0100 63616b6500 000000 4400 0200");
    (1..=8).for_each(|option| golden.extend([5, 0, option, 0, 0, 0, 0, 0]));
    for (code, known) in [(libc::ENOENT, false), (libc::EINVAL, true), (libc::ERANGE, true)] {
        assert_eq!(asked(&[code]), (Ok(known), golden.clone()));
    }
    assert_eq!(asked(&[libc::EPERM]).0, Err(io::ErrorKind::PermissionDenied));
    // A discipline that accepts the options all the same is removed.
    assert_eq!(asked(&[0, 0]).0, Ok(true));
}

const CLASS: &str = "00000000030000002a0001000100010000002b0008000100687462003400020030000100000100000000000040
    1f0000000100000000000090d00300105e5f00400d0300ea050000000000000300000048000700140001000000000000000000000000000000000018000300
    0000000000000000000000000000000000000000180004000000000000000000
    00000000105e5f00400d0300";

#[test]
fn handles_are_written_as_tc_does() {
    assert_eq!(Handle::new(1, 0x2a).to_string(), "1:2a");
    assert_eq!(Handle::new(0x10, 0).to_string(), "10:");
    assert_eq!(Handle::ROOT.to_string(), "root");
    assert_eq!(Handle::from_number(Handle::new(7, 9).number()), Handle::new(7, 9));
}

proptest! {
    /// Any message is read or refused.
    #[test]
    fn nothing_panics(mut message in prop::collection::vec(any::<u8>(), 0..200), at in 0..180_usize, cut in 0..200_usize) {
        let _ = (Qdisc::parse(&message), Class::parse(&message));
        // Damaged in one stretch, and cut.
        let mut class = bytes(CLASS);
        message.truncate(4);
        let end = (at + message.len()).min(class.len());
        if at < end {
            class[at..end].copy_from_slice(&message[..end - at]);
        }
        class.truncate(cut);
        let _ = (Qdisc::parse(&class), Class::parse(&class));
    }

    /// A class is read back as it was written, its bursts to a tick.
    #[test]
    fn a_class_survives(rate in 8..200_000_000_000_u64, ceiling in 8..200_000_000_000_u64, burst in 1..10_000_000_u32, priority in 0..8_u32) {
        let (rate, ceiling) = (Rate::from_bps(rate & !7), Rate::from_bps(ceiling & !7));
        let class = HtbClass { rate, ceiling, burst: Bytes::new(burst), ceiling_burst: Bytes::new(1_514), quantum: None, priority };
        let message = change(Handle::ROOT, Handle::new(1, 2), What::Class(Mode::Add, class)).message().finish(1).to_vec();
        let read = Class::parse(&message[HEADER..]).expect("a class").htb.expect("HTB");
        prop_assert_eq!((read.rate, read.ceiling, read.priority, read.quantum), (rate, ceiling, priority, None));
        let tick = |rate: Rate| (rate.as_bps() * 8 / 1_000_000_000 + 1) as u32;
        prop_assert!(read.ceiling_burst.count() + tick(ceiling) >= 1_514);
        if class::ticks_of(class.burst, rate.as_bps() / 8) < u32::MAX {
            prop_assert!(read.burst.count().abs_diff(burst) <= tick(rate), "{:?} {}", read, burst);
        }
    }
}
