//! Places of handshakes, and floods of them in virtual time.

use super::*;
use crate::keys::SecretKey;
use std::collections::VecDeque;
use std::time::Duration;

/// An unfinished handshake is always closed after this time.
const DEADLINE: Duration = super::super::greet::DEADLINE;

#[test]
fn place_is_returned_and_source_displaces_itself() {
    let (admission, now) = (Admission::new(3, 2, 1), Instant::now());
    let from = |text: &str| admission.handshake(text.parse().unwrap(), now);
    let (first, second) = (from("2001:db8::1"), from("2001:db8::2"));
    let third = from("2001:db8::3");
    assert_eq!((&first.1, &second.1), (&None, &None));
    assert_eq!(third.1.as_deref(), Some("2001:db8::/56"), "the /64 has two places");
    let other = from("192.0.2.1");
    assert_eq!((&other.1, admission.handshakes()), (&None, 3), "three in all");
    let mapped = from("::ffff:192.0.2.1");
    assert_eq!(mapped.1.as_deref(), Some("2001:db8::/56"), "the network that has most gives way");
    drop((first, second, third));
    assert_eq!(admission.handshakes(), 2, "a displaced one does not give its place back twice");
    drop((other, mapped));
    assert!(admission.waiting().groups.is_empty());
    let key = SecretKey::generate().public();
    let one = admission.connection(key, 1);
    assert!(one.is_some() && admission.connection(key, 1).is_none());
    drop(one);
    assert!(admission.connection(key, 1).is_some());
}

#[test]
fn networks_are_sites_homes_and_links() {
    let of = |text: &str| networks(text.parse().unwrap()).map(|network| network.to_string());
    assert_eq!(of("192.0.2.77"), ["192.0.0.0", "192.0.2.0", "192.0.2.77"]);
    assert_eq!(of("::ffff:192.0.2.77"), of("192.0.2.77"));
    assert_eq!(of("2001:db8:1:2345:6:7:8:9"), ["2001:db8:1::", "2001:db8:1:2300::", "2001:db8:1:2345::"]);
}

/// A flood of silent handshakes, and the share that a legitimate client keeps.
struct Flood {
    /// The sources of the flood's handshakes, in turn.
    sources: Vec<IpAddr>,
    /// Handshakes of the flood [1/s].
    rate: u32,
}

impl Flood {
    /// Returns the share of a client's handshakes that finish; each takes 300 ms: two round trips of a slow
    /// path.
    fn victim_keeps(&self, victim: IpAddr, is_known: bool) -> f64 {
        const TAKES: Duration = Duration::from_millis(300);
        let (admission, begun) = (Admission::new(256, 32, 1), Instant::now());
        if is_known {
            let (handshake, _) = admission.handshake(victim, begun);
            handshake.shows(SecretKey::generate().public(), begun);
        }
        let mut held: VecDeque<(Instant, Handshake)> = VecDeque::new();
        let (mut tried, mut finished) = (0_u32, 0_u32);
        let mut own: Option<(Instant, Handshake)> = None;
        for number in 0..6 * self.rate {
            let now = begun + Duration::from_secs(1) * number / self.rate;
            while held.front().is_some_and(|(since, _)| now.duration_since(*since) >= DEADLINE) {
                held.pop_front();
            }
            let source = self.sources[number as usize % self.sources.len()];
            held.push_back((now, admission.handshake(source, now).0));
            if let Some((_, handshake)) = own.take_if(|(since, _)| now.duration_since(*since) >= TAKES) {
                finished += u32::from(admission.waiting().all.contains_key(&handshake.number));
            }
            if own.is_none() {
                tried += 1;
                own = Some((now, admission.handshake(victim, now).0));
            }
        }
        f64::from(finished) / f64::from(tried - 1)
    }
}

/// Returns `count` addresses, each `apart` after the one before.
fn spread(first: &str, count: u128, apart: u128) -> Vec<IpAddr> {
    match first.parse().unwrap() {
        IpAddr::V4(four) => {
            (0..count).map(|i| IpAddr::V4((four.to_bits() + (i * apart) as u32).into())).collect()
        }
        IpAddr::V6(six) => (0..count).map(|i| IpAddr::V6((six.to_bits() + i * apart).into())).collect(),
    }
}

#[test]
fn client_keeps_its_handshakes_beside_a_flood() {
    let victim: IpAddr = "203.0.113.9".parse().unwrap();
    let six: IpAddr = "2001:db8:ffff::9".parse().unwrap();
    let cases = [
        ("eight addresses, as loris.py", spread("127.0.1.1", 8, 1), 60, victim),
        ("eight addresses, fast", spread("127.0.1.1", 8, 1), 2000, victim),
        ("a /24", spread("198.51.100.0", 256, 1), 2000, victim),
        ("a /61", spread("2001:db8::", 8, 1 << 64), 2000, six),
        ("a /48", spread("2001:db8::", 4096, 1 << 64), 2000, six),
        ("the client's own /24", spread("203.0.113.10", 200, 1), 2000, victim),
    ];
    for (what, sources, rate, victim) in cases {
        let keeps = Flood { sources, rate }.victim_keeps(victim, false);
        assert!(keeps > 0.99, "{what}: {keeps}");
    }
}

#[test]
fn flood_must_be_fast_and_spares_known_sources() {
    let victim: IpAddr = "203.0.113.9".parse().unwrap();
    // An address in each of 4096 /16 or /12: no network has more than another, and the oldest is closed.
    let sources = || spread("16.0.0.1", 3000, 1 << 16);
    // 256 places over 300 ms are 853 a second.
    assert!(Flood { sources: sources(), rate: 800 }.victim_keeps(victim, false) > 0.99);
    assert!(Flood { sources: sources(), rate: 1000 }.victim_keeps(victim, false) < 0.01);
    assert!(Flood { sources: sources(), rate: 2000 }.victim_keeps(victim, true) > 0.99);
    // From the client's own address: 32 places over 300 ms are 107 a second.
    let own = || vec![victim];
    assert!(Flood { sources: own(), rate: 100 }.victim_keeps(victim, true) > 0.99);
    assert!(Flood { sources: own(), rate: 130 }.victim_keeps(victim, true) < 0.01);
}

#[test]
fn known_sources_have_half_of_the_places() {
    let (admission, now) = (Admission::new(8, 8, 1), Instant::now());
    let key = SecretKey::generate().public();
    let known: Vec<_> = (0..8).map(|last| IpAddr::from([192, 0, 2, last])).collect();
    for source in &known {
        admission.handshake(*source, now).0.shows(key, now);
    }
    let count = |is_known: bool| {
        admission.waiting().all.values().filter(|pending| pending.is_known == is_known).count()
    };
    let _known: Vec<_> = known.iter().map(|source| admission.handshake(*source, now)).collect();
    assert_eq!(count(true), 8, "where none else comes they have all");
    let strangers = spread("10.0.0.1", 20, 1 << 16);
    let _strangers: Vec<_> = strangers.iter().map(|source| admission.handshake(*source, now)).collect();
    assert_eq!((count(true), count(false)), (4, 4));
}
