//! Rules as the kernel lists them: the expressions that `nft --debug=netlink` prints for each line.

use super::*;
use crate::nft::steering::{Asked, Steering, Steers, When, rule};

/// Returns a rule of a table and chain with these expressions, as the kernel lists it (`NFTA_RULE_TABLE` 1,
/// …_CHAIN 2, …_HANDLE 3).
fn listed_rule(family: u8, chain: &[u8], expressions: &[(&str, &[Vec<u8>])]) -> Vec<u8> {
    let head = [vec![family, 0, 0, 0], one(1, b"t\0"), one(2, chain), one(3, &7_u64.to_be_bytes())];
    [head.concat(), list(expressions)].concat()
}

fn read(expressions: &[(&str, &[Vec<u8>])]) -> Option<Steering> {
    rule(&listed_rule(1, b"c\0", expressions))
}

/// Returns `meta priority set`: `NFTA_META_KEY` 2 of `NFT_META_PRIORITY` 2, `NFTA_META_SREG` 3.
fn set_priority() -> [Vec<u8>; 2] {
    [number(2, 2), number(3, 1)]
}

/// `meta priority set ip dscp map @priomap`: load 1 byte of the network's header at 1, mask, look up, set.
#[test]
fn priority_that_a_map_gives_is_seen() {
    let (load, mask) = (payload(1, 1, 1), masked(&[0xfc]));
    let lookup = [one(1, b"priomap\0"), number(2, 1), number(3, 1)];
    let steering = read(&[
        ("meta", &meta(15)),
        ("cmp", &compared(0, &[2])),
        ("payload", &load),
        ("bitwise", &mask),
        ("lookup", &lookup),
        ("meta", &set_priority()),
    ])
    .expect("it sets the priority");
    assert_eq!((steering.what, steering.out, steering.port), (Steers::Priority, None, None));
    assert_eq!(
        (steering.table, steering.chain.as_str()),
        (Table { family: Family::Inet, name: "t".into() }, "c")
    );
    // `meta priority 1:13 accept` compares it, and sets nothing; `meta mark set 5` sets another field
    // (NFT_META_MARK 3).
    assert_eq!(read(&[("meta", &meta(2)), ("cmp", &compared(0, &0x1_0013_u32.to_ne_bytes()))]), None);
    assert_eq!(read(&[("meta", &[number(2, 3), number(3, 1)])]), None);
}

/// `oifname "eth1"` (`NFT_META_OIFNAME` 7) has all 16 bytes of a name, `oifname "eth*"` those of the prefix;
/// `oif 4` is a number.
#[test]
fn devices_of_a_rule_are_read() {
    let out = |key: u32, value: &[u8]| {
        read(&[("meta", &meta(key)), ("cmp", &compared(0, value)), ("meta", &set_priority())])
            .expect("it sets")
            .out
    };
    let name: Vec<u8> = b"eth1".iter().copied().chain([0; 12]).collect();
    assert_eq!(out(7, &name), Some(Asked::Name("eth1".into())));
    assert_eq!(out(7, b"eth"), Some(Asked::Prefix("eth".into())));
    assert_eq!(out(5, &4_u32.to_ne_bytes()), Some(Asked::Number(4)));
    assert!(Asked::Number(4).is(4, "eth1") && !Asked::Number(4).is(5, "eth1"));
    // `iif 4` (`NFT_META_IIF` 4) is the device on which packets arrive.
    let number = compared(0, &4_u32.to_ne_bytes());
    let from = read(&[("meta", &meta(4)), ("cmp", &number), ("meta", &set_priority())]).expect("it sets");
    assert_eq!((from.from, from.out), (Some(Asked::Number(4)), None));
    assert!(Asked::Prefix("eth".into()).is(9, "eth1") && !Asked::Name("eth".into()).is(9, "eth1"));
    // `oifname != "eth1"` (NEQ 1) matches all others.
    let other = read(&[("meta", &meta(7)), ("cmp", &compared(1, &name)), ("meta", &set_priority())])
        .expect("it sets");
    assert_eq!(other.out, None);
}

/// `iifname "mesh0" tcp dport 80 redirect to :3128`, `tproxy to :3129`, `dnat to 10.0.0.1:3128`, and
/// iptables' listing of CLASSIFY.
#[test]
fn rules_that_keep_packets_here_are_seen() {
    let mesh: Vec<u8> = b"mesh0".iter().copied().chain([0; 11]).collect();
    // NFT_META_IIFNAME 6, L4PROTO 16; the transport's header is base 2, its port at 2.
    let (of_mesh, is_mesh, of_tcp, is_tcp) = (meta(6), compared(0, &mesh), meta(16), compared(0, &[6]));
    let (of_port, is_80) = (payload(2, 2, 2), compared(0, &80_u16.to_be_bytes()));
    let begins: [(&str, &[Vec<u8>]); 6] = [
        ("meta", &of_mesh),
        ("cmp", &is_mesh),
        ("meta", &of_tcp),
        ("cmp", &is_tcp),
        ("payload", &of_port),
        ("cmp", &is_80),
    ];
    let port = [number(1, 1), nest(2, &[one(1, &3128_u16.to_be_bytes())])];
    let to_port = [number(1, 1)];
    let ends: [(&str, &[Vec<u8>]); 2] = [("immediate", &port), ("redir", &to_port)];
    let redirect = read(&[&begins[..], &ends].concat()).expect("here");
    assert_eq!((redirect.what, redirect.port), (Steers::Here, Some(80)));
    assert_eq!(redirect.from, Some(Asked::Name("mesh0".into())));
    assert_eq!(read(&[("tproxy", &[number(1, 2)])]).expect("here").what, Steers::Here);
    // NFTA_NAT_TYPE 1 of DNAT 1 and SNAT 0, …_FAMILY 2, …_REG_ADDR_MIN 3; register 1 again by the number of
    // its first 4 bytes, 8.
    let address = [number(1, 1), nest(2, &[one(1, &[10, 0, 0, 1])])];
    let nat = |kind| [number(1, kind), number(2, 2), number(3, 8)];
    let to = read(&[("immediate", &address), ("nat", &nat(1))]).expect("elsewhere");
    assert_eq!(to.what, Steers::To([10, 0, 0, 1].into()));
    assert_eq!(read(&[("immediate", &address), ("nat", &nat(0))]), None, "a source is masqueraded");
    // `dnat to [2001:db8::1]:3128`: NFPROTO_IPV6 is 10.
    let host = std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
    let address = [number(1, 1), nest(2, &[one(1, &host.octets())])];
    let to = read(&[("immediate", &address), ("nat", &[number(1, 1), number(2, 10), number(3, 1)])]);
    assert_eq!(to.expect("elsewhere").what, Steers::To(host.into()));
    let target = |name: &[u8]| read(&[("target", &[one(1, name)])]).map(|steering| steering.what);
    assert_eq!(target(b"CLASSIFY\0"), Some(Steers::Priority));
    assert_eq!((target(b"REDIRECT\0"), target(b"LOG\0")), (Some(Steers::Here), None));
}

/// `tcp dport set 80` (`NFTA_PAYLOAD_SREG` 5) loads nothing, and a verdict (`accept`, register 0) no value.
#[test]
fn rule_that_writes_and_accepts_is_read_on() {
    let written = [number(5, 1), number(2, 2), number(3, 2), number(4, 2)];
    let verdict = [number(1, 0), nest(2, &[nest(2, &[number(1, 1)])])];
    let steering =
        read(&[("payload", &written), ("meta", &set_priority()), ("immediate", &verdict)]).expect("it sets");
    assert_eq!((steering.what, steering.port), (Steers::Priority, None));
}

/// A base chain has its own hook; a chain that others jump to has all hooks of its table.
#[test]
fn chains_have_their_hooks_and_priorities() {
    // NFT_MSG_NEWCHAIN 3: NFTA_CHAIN_TABLE 1, …_NAME 3, …_HOOK 4 of HOOKNUM 1 and PRIORITY 2.
    let chain = |name: &[u8], hook: &[Vec<u8>]| {
        let hook = if hook.is_empty() { Vec::new() } else { nest(4, hook) };
        (3, [vec![1, 0, 0, 0], one(1, b"t\0"), one(3, name), hook].concat())
    };
    let base = |place: u32, priority: i32| [number(1, place), one(2, &priority.to_be_bytes())];
    let sets = |name: &[u8]| (6, listed_rule(1, name, &[("meta", &set_priority())]));
    let chains = [chain(b"a\0", &base(4, -150)), chain(b"b\0", &base(2, 0)), chain(b"jumped\0", &[])];
    let rules = [sets(b"a\0"), sets(b"jumped\0")];
    let part =
        |number: u32| move |(kind, payload): &(u16, Vec<u8>)| framed(0x0a00 | kind, 2, number, payload);
    let (chains, rules): (Vec<_>, Vec<_>) =
        (chains.iter().map(part(1)).collect(), rules.iter().map(part(2)).collect());
    let ends = [1, 2].map(|number| [framed(3, 2, number, &[0; 4])]);
    let (socket, _kernel) = answered(&[&chains, &ends[0], &rules, &ends[1]]);
    let found = Nftables { socket }.steering().expect("a list");
    let when = |hook, priority| When { hook, priority };
    assert_eq!(found[0].when, [when(4, -150)]);
    assert_eq!(found[1].when, [when(4, -150), when(2, 0)]);
}
