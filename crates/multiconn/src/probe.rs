//! Probes of a path: datagrams there and back, and the conclusions from their times.
//!
//! This is [CZ06]'s RTT measurement sub-system (section IV-A) between the two ends of a session. The
//! session's secret keys the probes: a third party can neither obtain a reply, nor forge one, nor link probes
//! to a session. There is neither a socket nor a clock here (they are [`live`]'s): a [`Prober`] schedules and
//! writes probes, a [`Responder`] answers, and a [`Party`] is both. All of them process received datagrams.
//!
//! | bytes | content |
//! |---|---|
//! | 0 | the version, [`FORM`] |
//! | 1 | 1 a probe, 2 its reply |
//! | 2..8 | zero |
//! | 8..16 | the session's tag, by which a socket of many sessions finds the key |
//! | 16..24 | the number of a probe and its reply |
//! | 24..32 | the time of sending \[ns by the sender's clock\] |
//! | 32..40 | in a reply: the probe's arrival \[ns by the responder's clock, with a secret zero\]; zero in a probe |
//! | 40..56 | the first half of HMAC-SHA-256 over all before it (RFC 2104, RFC 4868's length) |
//!
//! A reply is as long as its probe, so probes with a forged source gain nothing. A number is answered once
//! ([`Window`], as RFC 6479 counts), and a session's probes at most [`PER_SECOND`] times a second. Damaged,
//! foreign, late and surplus datagrams are dropped silently.

pub mod carrier;
pub mod diagnosis;
pub mod live;
mod party;
mod prober;
mod responder;
pub mod survey;
mod window;

pub use party::{Heard, Party};
pub use prober::{Prober, Returned};
pub use responder::Responder;
pub use window::Window;

use ring::hmac;
use std::fmt;

/// The version of the datagrams.
pub const FORM: u8 = 1;
/// The length of a probe, and of its reply \[bytes\].
pub const LENGTH: usize = 56;
/// A probe or a reply, as sent.
pub type Datagram = [u8; LENGTH];
/// The most probes that are sent, or answered, per second.
pub const PER_SECOND: u32 = 50;
/// Length of the secret that a session exports for its probes \[bytes\].
pub const SECRET: usize = 32;

/// The length of the signed part, and of the signature \[bytes\].
const SIGNED: usize = 40;
const SIGNATURE: usize = LENGTH - SIGNED;

/// The end of a session that sends a probe. Each end has keys of its own, so that its probe never returns to
/// it as the other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The calling end.
    Caller,
    /// The called end.
    Called,
}

/// The direction of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Probe,
    Reply,
}

impl Kind {
    const fn byte(self) -> u8 {
        match self {
            Self::Probe => 1,
            Self::Reply => 2,
        }
    }
}

/// The keys of the probes that one end of a session sends, and of their replies.
#[derive(Clone)]
pub struct Keys {
    tag: u64,
    signs: hmac::Key,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({:#018x})", self.tag) // the tag is no secret
    }
}

impl Keys {
    /// Derives the keys from a secret that the session exported for this alone (RFC 5705), for the probes of
    /// one end.
    pub fn new(secret: &[u8; SECRET], of: End) -> Self {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let derived = |label: &str| {
            let side: &[u8] = match of {
                End::Caller => b" caller",
                End::Called => b" called",
            };
            hmac::sign(&secret, &[b"evenair multiconn probe ", label.as_bytes(), side].concat())
        };
        let tag = derived("tag").as_ref()[..8].try_into().expect("eight bytes");
        Self {
            tag: u64::from_be_bytes(tag),
            signs: hmac::Key::new(hmac::HMAC_SHA256, derived("signature").as_ref()),
        }
    }

    /// Returns the tag by which a socket of many sessions finds these keys; it is no secret, and reveals
    /// nothing of the session.
    pub const fn tag(&self) -> u64 {
        self.tag
    }
}

/// Returns the tag of a datagram that may be a probe or a reply; it selects the keys to try.
pub fn tag(datagram: &[u8]) -> Option<u64> {
    let datagram = <&Datagram>::try_from(datagram).ok().filter(|bytes| bytes[0] == FORM)?;
    Some(word(datagram, 8))
}

/// The content of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) kind: Kind,
    pub(crate) number: u64,
    pub(crate) sent_ns: u64,
    pub(crate) came_ns: u64,
}

impl Message {
    /// Writes and signs the datagram.
    pub(crate) fn write(&self, keys: &Keys) -> Datagram {
        let mut datagram = [0; LENGTH];
        (datagram[0], datagram[1]) = (FORM, self.kind.byte());
        let words = [keys.tag, self.number, self.sent_ns, self.came_ns];
        for (place, word) in datagram[8..SIGNED].chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        let signature = hmac::sign(&keys.signs, &datagram[..SIGNED]);
        datagram[SIGNED..].copy_from_slice(&signature.as_ref()[..SIGNATURE]);
        datagram
    }

    /// Reads the datagram, if it is of this kind, complete, and signed with these keys.
    pub(crate) fn read(keys: &Keys, kind: Kind, datagram: &[u8]) -> Option<Self> {
        let datagram = <&Datagram>::try_from(datagram).ok()?;
        let begins_well =
            datagram[..2] == [FORM, kind.byte()] && datagram[2..8] == [0; 6] && word(datagram, 8) == keys.tag;
        // The signature is compared in constant time; the fields before it are no secret.
        if !begins_well || !is_signed(keys, datagram) {
            return None;
        }
        let [number, sent_ns, came_ns] = [16, 24, 32].map(|place| word(datagram, place));
        (kind == Kind::Reply || came_ns == 0).then_some(Self { kind, number, sent_ns, came_ns })
    }
}

fn is_signed(keys: &Keys, datagram: &Datagram) -> bool {
    let signature = hmac::sign(&keys.signs, &datagram[..SIGNED]);
    let differs =
        signature.as_ref()[..SIGNATURE].iter().zip(&datagram[SIGNED..]).fold(0, |sum, (a, b)| sum | (a ^ b));
    std::hint::black_box(differs) == 0
}

/// Returns the eight bytes at an offset.
fn word(datagram: &Datagram, place: usize) -> u64 {
    let bytes = datagram[place..place + 8].try_into().expect("eight bytes");
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests;
