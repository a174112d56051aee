//! Parsers of the kernel's answers and of packets, for the fuzzer (`fuzz/targets/kernel.rs`): none panics on
//! any input.

use crate::nft::{Version, elements, steering};
use crate::packets::{Headers, ring};
use crate::{neighbours, netlink, tc, wireless};

/// Parses bytes that a netlink socket received.
///
/// # Panics
/// If a result is impossible.
pub fn answers(bytes: &[u8]) {
    let (all, refused) = netlink::count(bytes);
    assert!(refused <= all && all * netlink::HEADER <= bytes.len());
    let _ = (tc::Qdisc::parse(bytes), tc::Class::parse(bytes), neighbours::Neighbour::read(1, bytes));
    let _ = steering::rule(bytes);
    wireless::parse(bytes);
    for version in [Version::V4, Version::V6] {
        let pieces = elements::parse(bytes, version);
        let (count, joined) = (pieces.len(), elements::joined(pieces));
        assert!(joined.len() <= count);
        assert!(joined.iter().all(|element| element.range.first() <= element.range.last()));
    }
}

/// Parses a block of the packet socket's ring, and a packet.
///
/// # Panics
/// If a result is impossible.
pub fn packets(bytes: &[u8]) {
    for frame in ring::frames(bytes) {
        assert!(frame.bytes.len() <= bytes.len());
        let told = Headers::parse(frame.ethertype, frame.bytes, frame.length);
        assert!(told.is_none_or(|told| told.size <= frame.length));
    }
    for ethertype in [libc::ETH_P_IP, libc::ETH_P_IPV6, libc::ETH_P_8021Q] {
        if let Some(told) = Headers::parse(ethertype as u16, bytes, bytes.len() as u32) {
            assert!(told.size as usize <= bytes.len());
            assert_eq!(told.source.is_ipv4(), told.destination.is_ipv4());
        }
    }
}
