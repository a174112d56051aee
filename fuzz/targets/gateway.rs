//! `cargo +nightly fuzz run gateway`: any file of an operator or a DHCP server is read, or refused with a message.
#![no_main]

use evenair_gateway::subscribers::{LeaseFormat, from_csv, from_leases};
use evenair_gateway::{Config, Subscribers};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = Config::parse("gateway.toml", text);
    let mut all = from_csv("subscribers.csv", text).and_then(Subscribers::new).unwrap_or_default();
    for format in [LeaseFormat::Dnsmasq, LeaseFormat::Odhcpd, LeaseFormat::Kea] {
        if let Ok(leases) = from_leases(format, "leases", text, 1) {
            all.lease(&leases.leased);
        }
    }
    // An address belongs to one subscriber at most, even if several claim it.
    for subscriber in all.iter() {
        for prefix in &subscriber.prefixes {
            assert_eq!(all.owner(prefix.address()).map(|owner| &owner.id), Some(&subscriber.id));
        }
    }
});
