//! `cargo +nightly fuzz run packet`: any packet that a program writes to a device is read or refused, and stays readable when it
//! is changed.
#![no_main]

use evenair_emulator::Addresses;
use evenair_emulator::packet::{Trouble, head, identity, is_redirect, mark, take_hops, tell};

libfuzzer_sys::fuzz_target!(|packet: &[u8]| {
    let (identity_before, _) = (identity(packet), is_redirect(packet));
    let Some(before) = head(packet) else { return };
    let mut changed = packet.to_vec();
    mark(&mut changed);
    take_hops(&mut changed, 1);
    let after = head(&changed).expect("it was readable");
    assert_eq!((after.from, after.to, after.ports), (before.from, before.to, before.ports));
    assert_eq!(after.hops, before.hops.saturating_sub(1));
    assert_eq!(identity(&changed), identity_before);
    let nodes = Addresses::of(3);
    for trouble in [Trouble::HopsUsedUp, Trouble::NoRoute] {
        if let Some(answer) = tell(trouble, packet, (nodes.ipv4(2), nodes.ipv6(2))) {
            let told = head(&answer).expect("an answer is a packet");
            assert_eq!(told.to, before.from);
            assert_eq!(
                tell(trouble, &answer, (nodes.ipv4(1), nodes.ipv6(1))),
                None,
                "no error about an error"
            );
        }
    }
});
