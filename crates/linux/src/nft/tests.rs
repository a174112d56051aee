//! Requests and answers, built by hand from `linux/netfilter/nf_tables.h` and `linux/netfilter/nfnetlink.h`,
//! with their numbers repeated here. Lengths and kinds are in this machine's byte order, values in the
//! network's.

mod steering;

use super::*;
use crate::netlink::{HEADER, answered, framed};
use crate::tc::Handle;
use std::os::unix::net::UnixDatagram;

/// `NLA_F_NESTED`.
const NESTED: u16 = 0x8000;

/// Returns an attribute: its length with these four bytes, its kind, and its value padded to a multiple of
/// four bytes.
fn one(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = [(4 + value.len() as u16), kind].map(u16::to_ne_bytes).concat();
    bytes.extend_from_slice(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn nest(kind: u16, parts: &[Vec<u8>]) -> Vec<u8> {
    one(kind | NESTED, &parts.concat())
}

fn number(kind: u16, value: u32) -> Vec<u8> {
    one(kind, &value.to_be_bytes())
}

/// Returns a counter, `NFTA_COUNTER_BYTES` 1 and `…_PACKETS` 2, both at zero.
fn counter(kind: u16) -> Vec<u8> {
    nest(kind, &[one(1, b"counter\0"), nest(2, &[one(1, &[0; 8]), one(2, &[0; 8])])])
}

fn table() -> Table {
    Table { family: Family::Inet, name: "t".to_owned() }
}

/// Returns a message without its header, of the subsystem `NFNL_SUBSYS_NFTABLES` (10) and one kind.
fn said(mut message: Message, kind: u16) -> Vec<u8> {
    let bytes = message.finish(1).to_vec();
    assert_eq!(bytes[4..6], (0x0a00 | kind).to_ne_bytes());
    bytes[HEADER..].to_vec()
}

/// `nft add set inet t s { type ipv4_addr; size 100; timeout 90s; flags dynamic, timeout; counter; }`
#[test]
fn set_of_addresses_seen_is_made_as_nft_does() {
    let kind = SetKind::Seen { size: 100, timeout: Duration::from_secs(90) };
    let seen = Set { name: "s".to_owned(), version: Version::V4, kind };
    // NFPROTO_INET 1; NFT_MSG_NEWSET 9.
    let golden = [
        vec![1, 0, 0, 0],
        one(1, b"t\0"),
        one(2, b"s\0"),
        number(10, 7),                      // NFTA_SET_ID
        number(4, 7),                       // NFTA_SET_KEY_TYPE: nft's ipv4_addr
        number(5, 4),                       // NFTA_SET_KEY_LEN
        nest(9, &[number(1, 100)]),         // NFTA_SET_DESC: NFTA_SET_DESC_SIZE
        one(11, &90_000_u64.to_be_bytes()), // NFTA_SET_TIMEOUT, in milliseconds
        counter(17),                        // NFTA_SET_EXPR
        number(3, 0x10 | 0x20 | 0x100),     // NFT_SET_TIMEOUT, NFT_SET_EVAL, NFT_SET_EXPR
    ];
    assert_eq!(said(seen.message(&table(), 7), 9), golden.concat());
}

/// `nft add map inet t m { type ipv6_addr : classid; flags interval; }`, with a counter and without.
#[test]
fn map_of_classes_is_made_as_nft_does() {
    let map = |counts| Set { name: "m".to_owned(), version: Version::V6, kind: SetKind::Classes { counts } };
    let golden = |rest: &[Vec<u8>]| {
        let all = [
            vec![1, 0, 0, 0],
            one(1, b"t\0"),
            one(2, b"m\0"),
            number(10, 7),
            number(4, 8),  // ipv6_addr
            number(5, 16), // of 16 bytes
            number(6, 23), // NFTA_SET_DATA_TYPE: classid
            number(7, 4),  // NFTA_SET_DATA_LEN
            // NFTA_SET_USERDATA: NFTNL_UDATA_SET_DATABYTEORDER, 4 bytes, BYTEORDER_HOST_ENDIAN.
            one(13, &[&[1, 4][..], &1_u32.to_ne_bytes()].concat()),
        ];
        [&all[..], rest].concat().concat()
    };
    // NFT_SET_INTERVAL 4 and NFT_SET_MAP 8.
    assert_eq!(said(map(false).message(&table(), 7), 9), golden(&[number(3, 0xc)]));
    assert_eq!(said(map(true).message(&table(), 7), 9), golden(&[counter(17), number(3, 0x10c)]));
}

/// `nft add element inet t m { 10.0.0.0/24 : 1:2a, 255.0.0.0/8 : 1:2b }`
#[test]
fn range_is_where_it_begins_and_has_ended() {
    let kind = SetKind::Classes { counts: false };
    let set = Set { name: "m".to_owned(), version: Version::V4, kind };
    let range = |first: [u8; 4], bits| Range::prefix(first.into(), bits).expect("a prefix");
    let ranges = [(range([10, 0, 0, 0], 24), 0x2a), (range([255, 0, 0, 0], 8), 0x2b)];
    let entries = ranges.map(|(range, class)| Entry { range, class: Handle::new(1, class) });
    // NFTA_SET_ELEM_KEY 1 and …_DATA 2, of NFTA_DATA_VALUE 1; …_FLAGS 3, of NFT_SET_ELEM_INTERVAL_END 1.
    let key = |address: [u8; 4]| nest(1, &[one(1, &address)]);
    let begins = |address, class: Option<u32>| {
        let class = class.map(|class| nest(2, &[one(1, &class.to_ne_bytes())]));
        nest(1, &[key(address), class.unwrap_or_default()])
    };
    let ends = |address| nest(1, &[key(address), number(3, 1)]);
    let golden = |classes: [Option<u32>; 2]| {
        let list = [
            begins([10, 0, 0, 0], classes[0]),
            ends([10, 0, 1, 0]),
            begins([255, 0, 0, 0], classes[1]), // to the last address: without an end
        ];
        [vec![1, 0, 0, 0], one(1, b"t\0"), one(2, b"m\0"), nest(3, &list)].concat()
    };
    // NFT_MSG_NEWSETELEM 12 and NFT_MSG_DELSETELEM 14.
    let added = said(elements::addition(&table(), &set, &entries), 12);
    assert_eq!(added, golden([Some(0x1_002a), Some(0x1_002b)]));
    let removed = said(elements::removal(&table(), &set, &entries.map(|entry| entry.range)), 14);
    assert_eq!(removed, golden([None, None]));
}

/// `nft list set`: the counters of an address, and its remaining time.
#[test]
fn element_that_the_kernel_lists_is_read() {
    // NFTA_SET_ELEM_EXPIRATION 5, in milliseconds, NFTA_SET_ELEM_EXPR 7.
    let counted = [one(1, &3_000_u64.to_be_bytes()), one(2, &2_u64.to_be_bytes())];
    let counted = |name: &[u8]| nest(7, &[one(1, name), nest(2, &counted)]);
    let parts = |name| [nest(1, &[one(1, &[10, 0, 0, 9])]), one(5, &1_500_u64.to_be_bytes()), counted(name)];
    let list = |name| [vec![1, 0, 0, 0], nest(3, &[nest(1, &parts(name))])].concat();
    let all = elements::joined(elements::parse(&list(b"counter\0"), Version::V4));
    let [element] = all[..] else { panic!("{all:?}") };
    assert_eq!(element.range, Range::from(std::net::IpAddr::from([10, 0, 0, 9])));
    assert_eq!((element.class, element.expires), (None, Some(Duration::from_millis(1_500))));
    assert_eq!((element.volume.packets, element.volume.bytes), (2, 3_000));
    let other = elements::joined(elements::parse(&list(b"quota\0"), Version::V4));
    assert_eq!(other[0].volume, evenair_units::Volume::default(), "another expression counts otherwise");
}

/// Returns the expressions of a rule, each a name and its attributes (`NFTA_LIST_ELEM` 1, `NFTA_EXPR_NAME` 1,
/// `NFTA_EXPR_DATA` 2).
fn rule(family: Family, matches: &[Match], action: &Action) -> Vec<u8> {
    let mut message = Message::new(0, 0, &[]);
    let rule = Rule { matches: matches.to_vec(), action: action.clone() };
    rule.put(family, &mut message).expect("a rule");
    message.finish(1)[HEADER..].to_vec()
}

fn list(expressions: &[(&str, &[Vec<u8>])]) -> Vec<u8> {
    let each = |&(name, parts): &(&str, &[Vec<u8>])| {
        nest(1, &[one(1, &[name.as_bytes(), &[0]].concat()), nest(2, parts)])
    };
    nest(4, &expressions.iter().map(each).collect::<Vec<_>>())
}

/// Loads a key of `meta` into register 1: PROTOCOL 1, PRIORITY 2, IIF 4, OIF 5, NFPROTO 15, L4PROTO 16.
fn meta(key: u32) -> [Vec<u8>; 2] {
    [number(1, 1), number(2, key)]
}

/// Loads bytes of the network's (1) or transport's (2) header into register 1.
fn payload(base: u32, offset: u32, length: u32) -> [Vec<u8>; 4] {
    [number(1, 1), number(2, base), number(3, offset), number(4, length)]
}

/// Compares register 1: EQ 0, NEQ 1, LTE 3.
fn compared(how: u32, with: &[u8]) -> [Vec<u8>; 3] {
    [number(1, 1), number(2, how), nest(3, &[one(1, with)])]
}

fn masked(mask: &[u8]) -> [Vec<u8>; 5] {
    let none = vec![0; mask.len()];
    let length = number(3, mask.len() as u32);
    [number(1, 1), number(2, 1), length, nest(4, &[one(1, mask)]), nest(5, &[one(1, &none)])]
}

/// Returns `immediate` into the register of verdicts (0): `NF_ACCEPT` 1.
fn accepted() -> [Vec<u8>; 2] {
    [number(1, 0), nest(2, &[nest(2, &[number(1, 1)])])]
}

/// `iif 3 oif 4 meta l4proto tcp tcp sport 80 tcp dport 1000-2000 tcp flags & (syn|ack) == syn meta priority
/// != 1:2a accept`
#[test]
fn matches_are_printed_as_nft_does() {
    let all = [
        Match::In(3),
        Match::Out(4),
        Match::Protocol(6),
        Match::Ports { side: Side::Source, first: 80, last: 80 },
        Match::Ports { side: Side::Destination, first: 1_000, last: 2_000 },
        Match::Flags { mask: 0x12, set: 0x02 },
        Match::NotClass(Handle::new(1, 0x2a)),
    ];
    let from = nest(3, &[one(1, &[0x03, 0xe8])]);
    let to = nest(4, &[one(1, &[0x07, 0xd0])]);
    let golden = list(&[
        ("meta", &meta(4)),
        ("cmp", &compared(0, &3_u32.to_ne_bytes())),
        ("meta", &meta(5)),
        ("cmp", &compared(0, &4_u32.to_ne_bytes())),
        ("meta", &meta(16)),
        ("cmp", &compared(0, &[6])),
        ("payload", &payload(2, 0, 2)),
        ("cmp", &compared(0, &[0, 80])),
        ("payload", &payload(2, 2, 2)),
        ("range", &[number(1, 1), number(2, 0), from, to]),
        ("payload", &payload(2, 13, 1)),
        ("bitwise", &masked(&[0x12])),
        ("cmp", &compared(0, &[0x02])),
        ("meta", &meta(2)),
        ("cmp", &compared(1, &0x1_002a_u32.to_ne_bytes())),
        ("immediate", &accepted()),
    ]);
    assert_eq!(rule(Family::Inet, &all, &Action::Accept), golden);
}

/// IPv4's total length is at 2 (RFC 791 §3.1), IPv6's, without its 40 bytes, at 4 (RFC 8200 §3); source
/// addresses at 12 and 8, destinations at 16 and 24.
#[test]
fn version_is_requested_once_per_family() {
    let length = |version| Match::Length { version, most: 128 };
    let address = |text: &str, prefix, side| Match::Address { side, address: text.parse().unwrap(), prefix };
    let four = [length(Version::V4), address("10.1.2.3", 20, Side::Source)];
    // NFPROTO_IPV4 2, NFPROTO_IPV6 10; a bridge has ETH_P_IP 0x0800, ETH_P_IPV6 0x86dd.
    let four_of = |key, protocol: &[u8]| {
        list(&[
            ("meta", &meta(key)),
            ("cmp", &compared(0, protocol)),
            ("payload", &payload(1, 2, 2)),
            ("cmp", &compared(3, &[0, 128])),
            ("payload", &payload(1, 12, 4)),
            ("bitwise", &masked(&[255, 255, 0xf0, 0])),
            ("cmp", &compared(0, &[10, 1, 0, 0])),
            ("immediate", &accepted()),
        ])
    };
    assert_eq!(rule(Family::Inet, &four, &Action::Accept), four_of(15, &[2]));
    assert_eq!(rule(Family::Bridge, &four, &Action::Accept), four_of(1, &[8, 0]));
    let six =
        [Match::Version(Version::V6), length(Version::V6), address("2001:db8::1", 128, Side::Destination)];
    let mut whole = [0; 16];
    (whole[..4]).copy_from_slice(&[0x20, 1, 0x0d, 0xb8]);
    whole[15] = 1;
    let six_of = |key, protocol: &[u8]| {
        list(&[
            ("meta", &meta(key)),
            ("cmp", &compared(0, protocol)),
            ("payload", &payload(1, 4, 2)),
            ("cmp", &compared(3, &[0, 88])),
            ("payload", &payload(1, 24, 16)),
            ("cmp", &compared(0, &whole)),
            ("immediate", &accepted()),
        ])
    };
    assert_eq!(rule(Family::Inet, &six, &Action::Accept), six_of(15, &[10]));
    assert_eq!(rule(Family::Bridge, &six, &Action::Accept), six_of(1, &[0x86, 0xdd]));
    let long = Rule { matches: vec![address("10.0.0.0", 33, Side::Source)], action: Action::Accept };
    assert!(long.put(Family::Inet, &mut Message::new(0, 0, &[])).is_err());
}

/// `meta priority set 1:2a`, `… set ip daddr map @m`, `update @s { ip6 saddr & ffff:ffff:: counter }`
#[test]
fn actions_are_printed_as_nft_does() {
    // Register 1 into meta's PRIORITY: NFTA_META_KEY 2 and …_SREG 3.
    let priority = [number(2, 2), number(3, 1)];
    let class = [number(1, 1), nest(2, &[one(1, &0x1_002a_u32.to_ne_bytes())])];
    let golden = list(&[("immediate", &class), ("meta", &priority)]);
    assert_eq!(rule(Family::Inet, &[], &Action::Class(Handle::new(1, 0x2a))), golden);
    let from = Action::ClassFrom { set: "m".to_owned(), version: Version::V4, side: Side::Destination };
    let golden = list(&[
        ("meta", &meta(15)),
        ("cmp", &compared(0, &[2])),
        ("payload", &payload(1, 16, 4)),
        ("lookup", &[one(1, b"m\0"), number(2, 1), number(3, 1)]),
        ("meta", &priority),
    ]);
    assert_eq!(rule(Family::Inet, &[], &from), golden);
    let count =
        |prefix| Action::Count { set: "s".to_owned(), version: Version::V6, side: Side::Source, prefix };
    let mut mask = [0; 16];
    mask[..4].fill(0xff);
    // NFTA_DYNSET_SET_NAME 1, …_OP 3 of NFT_DYNSET_OP_UPDATE 1, …_SREG_KEY 4, …_EXPR 7.
    let update = [one(1, b"s\0"), number(3, 1), number(4, 1), counter(7)];
    let (is_six, six) = (meta(15), compared(0, &[10]));
    let begins: [(&str, &[Vec<u8>]); 2] = [("meta", &is_six), ("cmp", &six)];
    let (load, bits) = (payload(1, 8, 16), masked(&mask));
    let golden = list(&[begins[0], begins[1], ("payload", &load), ("bitwise", &bits), ("dynset", &update)]);
    assert_eq!(rule(Family::Inet, &[], &count(32)), golden);
    let golden = list(&[begins[0], begins[1], ("payload", &load), ("dynset", &update)]);
    assert_eq!(rule(Family::Inet, &[], &count(128)), golden);
}

/// `nft add chain inet t c { type filter hook postrouting priority -150; }`
#[test]
fn chain_is_made_as_nft_does() {
    let chain = |hook| Chain { name: "c".to_owned(), hook, priority: -150 };
    // NFT_MSG_NEWCHAIN 3; NFTA_CHAIN_TABLE 1, …_NAME 3, …_HOOK 4 of NFTA_HOOK_HOOKNUM 1 and …_PRIORITY 2,
    // …_TYPE 7. NF_INET_FORWARD 2, NF_INET_POST_ROUTING 4.
    for (hook, place) in [(Hook::Forward, 2), (Hook::Postrouting, 4)] {
        let golden = [
            vec![1, 0, 0, 0],
            one(1, b"t\0"),
            one(3, b"c\0"),
            nest(4, &[number(1, place), one(2, &(-150_i32).to_be_bytes())]),
            one(7, b"filter\0"),
        ];
        assert_eq!(said(chain(hook).message(&table()), 3), golden.concat());
    }
}

/// Returns a dump's parts about tables, rules or flowtables (`NFT_MSG_…`), and its end (`NLMSG_DONE`).
fn listed(kinds: &[(u16, Vec<u8>)]) -> (Nftables, UnixDatagram) {
    let part = |(kind, payload): &(u16, Vec<u8>)| framed(0x0a00 | kind, 2, 1, payload);
    let parts: Vec<_> = kinds.iter().map(part).collect();
    let (socket, kernel) = answered(&[&parts, &[framed(3, 2, 1, &[0; 4])]]);
    (Nftables { socket }, kernel)
}

/// Returns the kind of the request.
fn asked(kernel: &UnixDatagram) -> u16 {
    let mut bytes = [0; 1024];
    kernel.recv(&mut bytes).expect("it was called");
    u16::from_ne_bytes([bytes[4], bytes[5]])
}

/// `NFNL_SUBSYS_NFTABLES` (10) in the high byte, and `enum nf_tables_msg_types` counted from
/// `NFT_MSG_NEWTABLE` (0).
#[test]
fn kinds_are_numbered_as_in_linux() {
    let tables = [kind::NEW_TABLE, kind::GET_TABLE, kind::DELETE_TABLE];
    assert_eq!(tables, [0x0a00, 0x0a01, 0x0a02]);
    let rules = [kind::NEW_CHAIN, kind::GET_CHAIN, kind::NEW_RULE, kind::GET_RULE, kind::DELETE_RULE];
    assert_eq!(rules, [0x0a03, 0x0a04, 0x0a06, 0x0a07, 0x0a08]);
    let sets = [kind::NEW_SET, kind::NEW_ELEMENT, kind::GET_ELEMENT, kind::DELETE_ELEMENT];
    assert_eq!(sets, [0x0a09, 0x0a0c, 0x0a0d, 0x0a0e]);
    let others = [kind::NEW_GENERATION, kind::GET_GENERATION, kind::NEW_FLOWTABLE, kind::GET_FLOWTABLE];
    assert_eq!(others, [0x0a0f, 0x0a10, 0x0a16, 0x0a17]);
}

#[test]
fn tables_and_flowtables_are_listed() {
    // NFPROTO_IPV4 2, NFPROTO_BRIDGE 7; the table's name is the first attribute. NFT_MSG_NEWTABLE 0,
    // NFT_MSG_NEWFLOWTABLE 22.
    let of = |family, name: &[u8]| [vec![family, 0, 0, 0], one(1, name)].concat();
    let all = [(0, of(7, b"b\0")), (22, of(1, b"f\0")), (0, of(2, b"nat\0")), (0, of(1, b"i\0"))];
    let table = |family, name: &str| Table { family, name: name.to_owned() };
    let tables = [table(Family::Bridge, "b"), table(Family::Other(2), "nat"), table(Family::Inet, "i")];
    let (mut nftables, kernel) = listed(&all);
    assert_eq!(nftables.tables().expect("a list"), tables);
    assert_eq!(asked(&kernel), 0x0a01, "NFT_MSG_GETTABLE");
    let (mut nftables, kernel) = listed(&all);
    assert_eq!(nftables.flowtables().expect("a list"), [table(Family::Inet, "f")]);
    assert_eq!(asked(&kernel), 0x0a17, "NFT_MSG_GETFLOWTABLE");
    assert_eq!([Family::Bridge, Family::Other(2), Family::Inet].map(Family::number), [7, 2, 1]);
}

#[test]
fn rules_of_a_chain_are_numbers() {
    // NFT_MSG_NEWRULE 6: NFTA_RULE_TABLE 1, …_CHAIN 2, …_HANDLE 3 of 8 bytes.
    let rule =
        |handle: u64| [vec![1, 0, 0, 0], one(1, b"t\0"), one(2, b"c\0"), one(3, &handle.to_be_bytes())];
    let all = [(6, rule(1 << 40).concat()), (3, rule(8).concat()), (6, rule(9).concat())];
    let (mut nftables, kernel) = listed(&all);
    assert_eq!(nftables.rules(&table(), "c").expect("a list"), [1 << 40, 9]);
    assert_eq!(asked(&kernel), 0x0a07, "NFT_MSG_GETRULE");
    // A missing chain: NLMSG_ERROR (2) of ENOENT.
    let error = framed(2, 0x100, 1, &[&(-libc::ENOENT).to_ne_bytes()[..], &[0; 16]].concat());
    let (socket, _kernel) = answered(&[&[error]]);
    assert!(Nftables { socket }.rules(&table(), "c").expect("none").is_empty());
}

#[test]
fn generation_is_the_networks_number() {
    // NFT_MSG_NEWGEN 15: NFTA_GEN_ID 1; the acknowledgement follows.
    let told = [vec![0, 0, 0, 0], one(1, &0x0102_0304_u32.to_be_bytes())].concat();
    let done = framed(2, 0x100, 1, &[0; 20]);
    let (socket, kernel) = answered(&[&[framed(0x0a0f, 0, 1, &told)], &[done]]);
    assert_eq!(Nftables { socket }.generation().expect("a number"), 0x0102_0304);
    assert_eq!(asked(&kernel), 0x0a10, "NFT_MSG_GETGEN");
}

#[test]
fn other_refusal_is_not_an_empty_chain() {
    let error = framed(2, 0x100, 1, &[&(-libc::EPERM).to_ne_bytes()[..], &[0; 16]].concat());
    let (socket, _kernel) = answered(&[&[error]]);
    let error = Nftables { socket }.rules(&table(), "c").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
}

/// Connects to a kernel that acknowledges the last request of each transaction, given the number of requests
/// between begin and end.
fn acknowledging(transactions: &[u32]) -> (Nftables, UnixDatagram) {
    let mut last = 0;
    let acknowledgements = transactions.iter().map(|requests| {
        last += requests + 2;
        [framed(2, 0x100, last - 1, &[0; 20])]
    });
    let acknowledgements: Vec<_> = acknowledgements.collect();
    let (socket, kernel) = answered(&acknowledgements.iter().map(|one| &one[..]).collect::<Vec<_>>());
    (Nftables { socket }, kernel)
}

/// Returns kind, flags and payload of each message between `NFNL_MSG_BATCH_BEGIN` (16) and `…_END` (17),
/// which were sent at once.
fn transaction(kernel: &UnixDatagram) -> Vec<(u16, u16, Vec<u8>)> {
    let mut asked = vec![0; 1 << 17];
    let length = kernel.recv(&mut asked).expect("it was called");
    let (mut rest, mut told) = (&asked[..length], Vec::new());
    while let Some(size) = rest.first_chunk().map(|size| u32::from_ne_bytes(*size) as usize) {
        let [kind, flags] = [4, 6].map(|at| u16::from_ne_bytes([rest[at], rest[at + 1]]));
        told.push((kind, flags, rest[HEADER..size].to_vec()));
        rest = &rest[size..];
    }
    let bounds = [told.remove(0), told.pop().expect("an end")].map(|(kind, flags, _)| (kind, flags));
    assert_eq!(bounds, [(16, 1), (17, 1)]);
    told
}

/// Returns kinds and flags: `NLM_F_REQUEST` 1, `NLM_F_ACK` 4, `NLM_F_CREATE` 0x400, `NLM_F_APPEND` 0x800.
fn kinds(kernel: &UnixDatagram) -> Vec<(u16, u16)> {
    transaction(kernel).into_iter().map(|(kind, flags, _)| (kind, flags)).collect()
}

/// `nft flush chain inet t c; add rule inet t c accept`
#[test]
fn rules_of_a_chain_are_set_at_once() {
    let (mut nftables, kernel) = acknowledging(&[3]);
    let chain = Chain { name: "c".to_owned(), hook: Hook::Forward, priority: 0 };
    let accept = Rule { matches: Vec::new(), action: Action::Accept };
    nftables.set_rules(&table(), &chain, &[accept]).expect("it is acknowledged");
    // NFT_MSG_NEWCHAIN 3, …_DELRULE 8, …_NEWRULE 6.
    assert_eq!(kinds(&kernel), [(0x0a03, 0x401), (0x0a08, 1), (0x0a06, 0xc05)]);
}

/// `nft add table inet t; delete table inet t; add table inet t; add map inet t m …`, and `nft delete table
/// inet t`
#[test]
fn table_takes_the_place_of_another() {
    let (mut nftables, kernel) = acknowledging(&[4, 1]);
    nftables.create(&table(), &[classes()]).expect("it is acknowledged");
    // NFT_MSG_NEWTABLE 0, …_DELTABLE 2, …_NEWSET 9.
    assert_eq!(kinds(&kernel), [(0x0a00, 0x401), (0x0a02, 1), (0x0a00, 0x401), (0x0a09, 0x405)]);
    nftables.delete(&table()).expect("it is acknowledged");
    assert_eq!(kinds(&kernel), [(0x0a02, 5)]);
}

/// Returns `map m { type ipv4_addr : classid; flags interval; }`.
fn classes() -> Set {
    Set { name: "m".to_owned(), version: Version::V4, kind: SetKind::Classes { counts: false } }
}

/// Returns `10.0.a.b : 1:class`.
fn entry(number: u16, class: u16) -> Entry {
    let [high, low] = number.to_be_bytes();
    let address = std::net::IpAddr::from([10, 0, high, low]);
    Entry { range: Range::from(address), class: Handle::new(1, class) }
}

/// 10.0.0.1 is removed, 10.0.0.2 changes its class and 10.0.0.3 is added. `NFT_MSG_NEWSETELEM` 12 and
/// `NFT_MSG_DELSETELEM` 14.
#[test]
fn address_changes_its_class_at_one_instant() {
    let (mut nftables, kernel) = acknowledging(&[1, 2]);
    let [one, two, three] = [1, 2, 3].map(|number| entry(number, 7));
    nftables
        .change(&table(), &classes(), &[two.range, one.range], &[three, two])
        .expect("it is acknowledged");
    let body = |mut message: Message| message.finish(1)[HEADER..].to_vec();
    let removal = |range| body(elements::removal(&table(), &classes(), &[range]));
    let addition = body(elements::addition(&table(), &classes(), &[two, three]));
    assert_eq!(transaction(&kernel), [(0x0a0e, 0x405, removal(one.range))]);
    let both = [(0x0a0e, 0x401, removal(two.range)), (0x0a0c, 0x405, addition)];
    assert_eq!(transaction(&kernel), both);
}

/// 501 entries are added: 500 at once, and one.
#[test]
fn long_lists_are_changed_in_pieces() {
    let (mut nftables, kernel) = acknowledging(&[1, 1]);
    let entries: Vec<_> = (0..501).map(|number| entry(number, 7)).collect();
    nftables.change(&table(), &classes(), &[], &entries).expect("it is acknowledged");
    for piece in [&entries[..500], &entries[500..]] {
        let addition = elements::addition(&table(), &classes(), piece).finish(1)[HEADER..].to_vec();
        assert_eq!(transaction(&kernel), [(0x0a0c, 0x405, addition)]);
    }
}

#[test]
fn entries_that_do_not_fit_a_set_are_refused() {
    let refused = |remove: &[Range], add: &[Entry]| {
        let (mut nftables, _kernel) = acknowledging(&[]);
        nftables.change(&table(), &classes(), remove, add).unwrap_err().kind()
    };
    let six = Entry { range: Range::from(std::net::IpAddr::from([1_u16; 8])), ..entry(1, 7) };
    let [one, two] = [1, 2].map(|number| entry(number, 7));
    for wrong in [&[one, two, one][..], &[one, six]] {
        let ranges: Vec<_> = wrong.iter().map(|entry| entry.range).collect();
        assert_eq!([refused(&ranges, &[]), refused(&[], wrong)], [io::ErrorKind::InvalidInput; 2]);
    }
}

/// `nft list map inet t m`: only `NFT_MSG_NEWSETELEM` (12) has elements.
#[test]
fn elements_of_a_set_are_listed() {
    let list = |entries: &[Entry]| {
        let mut message = elements::addition(&table(), &classes(), entries);
        message.finish(1)[HEADER..].to_vec()
    };
    let [one, two, three] = [1, 3, 5].map(|number| entry(number, 7));
    let (mut nftables, kernel) = listed(&[(12, list(&[two])), (9, list(&[three])), (12, list(&[one]))]);
    let all = nftables.elements(&table(), &classes()).expect("a list");
    assert_eq!(asked(&kernel), 0x0a0d, "NFT_MSG_GETSETELEM");
    let told: Vec<_> = all.iter().map(|element| (element.range, element.class)).collect();
    assert_eq!(told, [one, two].map(|entry| (entry.range, Some(entry.class))));
}
