//! The greetings on a connection, both ways: a new session, or one more connection of a session.
//!
//! Each is a length of two bytes, and the body. A joining connection proves two facts at once: that it is the
//! TLS connection that it appears to be, and that its client began the session. It sends a MAC over a value
//! exported from its own TLS (RFC 5705), by a key exported from the session's first.

use crate::frame::{Malformed, Rest};
use ring::hmac;
use std::fmt;

/// The longest greeting, without its length.
pub const HELLO_MAX: usize = 4096;
/// A session's random number, which the relay chooses.
pub type SessionId = [u8; 16];
/// A value exported from TLS: a session's key, or that of a joining connection.
pub type Exported = [u8; 32];
/// The label of a session's key.
pub const SESSION_LABEL: &[u8] = b"EXPORTER-evenair-multiconn-session";
/// The label of a joining connection's value.
pub const JOIN_LABEL: &[u8] = b"EXPORTER-evenair-multiconn-join";

/// A client's greeting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hello {
    /// Begins a session.
    New {
        /// The most streams at once that the client accepts.
        streams: u32,
        /// The most connections at once that it opens.
        connections: u16,
        /// The law that it requests for the relay's sending direction, as JSON; the relay may use its own.
        law: String,
    },
    /// Adds the connection to a session.
    Join {
        /// The session.
        session: SessionId,
        /// The proof.
        proof: Exported,
    },
}

/// A relay's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The session has begun.
    Welcome {
        /// The session's number.
        session: SessionId,
        /// The most streams at once that the relay accepts.
        streams: u32,
        /// The most connections at once that it accepts.
        connections: u16,
        /// The relay's law, as text.
        law: String,
    },
    /// The connection was added to the session.
    Joined,
    /// The request is refused.
    Refused(Refusal),
}

/// The reason why a relay refuses a connection with an authorised key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such session, or it has another key, or the proof is wrong: the answer is the same for all
    /// three.
    NoSession,
    /// The limit of connections or sessions is reached.
    Full,
    /// The greeting is malformed.
    Malformed,
    /// The law is unknown, or cannot run here.
    Law,
    /// A reason that this version lacks.
    Other(u8),
}

impl Refusal {
    const fn code(self) -> u8 {
        match self {
            Self::NoSession => 1,
            Self::Full => 2,
            Self::Malformed => 3,
            Self::Law => 4,
            Self::Other(code) => code,
        }
    }

    const fn of(code: u8) -> Self {
        match code {
            1 => Self::NoSession,
            2 => Self::Full,
            3 => Self::Malformed,
            4 => Self::Law,
            code => Self::Other(code),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSession => f.write_str("the relay does not know the session"),
            Self::Full => f.write_str("the relay has as many connections or sessions of this key as it may"),
            Self::Malformed => f.write_str("the relay did not understand; is it of another version?"),
            Self::Law => f.write_str("the relay cannot have this law for its data"),
            Self::Other(code) => write!(f, "the relay refused the connection (code {code})"),
        }
    }
}

/// Returns a joining connection's proof.
pub fn proof(session_key: &Exported, session: &SessionId, exported: &Exported) -> Exported {
    let key = hmac::Key::new(hmac::HMAC_SHA256, session_key);
    let tag = hmac::sign(&key, &[session.as_slice(), exported].concat());
    let mut proof = [0; 32];
    proof.copy_from_slice(tag.as_ref());
    proof
}

/// Returns whether a proof is right, in a time that does not depend on its bytes.
pub fn proves(session_key: &Exported, session: &SessionId, exported: &Exported, shown: &Exported) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, session_key);
    hmac::verify(&key, &[session.as_slice(), exported].concat(), shown).is_ok()
}

const NEW: u8 = 1;
const JOIN: u8 = 2;
const WELCOME: u8 = 3;
const JOINED: u8 = 4;
const REFUSED: u8 = 5;

impl Hello {
    /// Decodes a body.
    ///
    /// # Errors
    /// If it is malformed.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut rest = Rest(bytes);
        let hello = match rest.byte() {
            Some(NEW) => new_hello(&mut rest),
            Some(JOIN) => join_hello(&mut rest),
            _ => None,
        };
        hello.filter(|_| rest.0.is_empty()).ok_or(Malformed("no hello"))
    }

    /// Encodes the greeting with its length.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        match self {
            Self::New { streams, connections, law } => {
                body.push(NEW);
                body.extend_from_slice(&streams.to_be_bytes());
                body.extend_from_slice(&connections.to_be_bytes());
                put_text(&mut body, law);
            }
            Self::Join { session, proof } => {
                body.push(JOIN);
                body.extend_from_slice(session);
                body.extend_from_slice(proof);
            }
        }
        with_length(body)
    }
}

fn new_hello(rest: &mut Rest<'_>) -> Option<Hello> {
    Some(Hello::New { streams: rest.u32()?, connections: rest.u16()?, law: text(rest)? })
}

fn join_hello(rest: &mut Rest<'_>) -> Option<Hello> {
    Some(Hello::Join { session: rest.array()?, proof: rest.array()? })
}

impl Answer {
    /// Decodes a body.
    ///
    /// # Errors
    /// If it is malformed.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut rest = Rest(bytes);
        let answer = match rest.byte() {
            Some(WELCOME) => welcome(&mut rest),
            Some(JOINED) => Some(Self::Joined),
            Some(REFUSED) => rest.byte().map(|code| Self::Refused(Refusal::of(code))),
            _ => None,
        };
        answer.filter(|_| rest.0.is_empty()).ok_or(Malformed("no answer to a hello"))
    }

    /// Encodes the answer with its length.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        match self {
            Self::Welcome { session, streams, connections, law } => {
                body.push(WELCOME);
                body.extend_from_slice(session);
                body.extend_from_slice(&streams.to_be_bytes());
                body.extend_from_slice(&connections.to_be_bytes());
                put_text(&mut body, law);
            }
            Self::Joined => body.push(JOINED),
            Self::Refused(why) => body.extend_from_slice(&[REFUSED, why.code()]),
        }
        with_length(body)
    }
}

fn welcome(rest: &mut Rest<'_>) -> Option<Answer> {
    Some(Answer::Welcome {
        session: rest.array()?,
        streams: rest.u32()?,
        connections: rest.u16()?,
        law: text(rest)?,
    })
}

fn text(rest: &mut Rest<'_>) -> Option<String> {
    let length = rest.u16()?;
    String::from_utf8(rest.take(length.into())?.to_vec()).ok()
}

/// Appends a text, or an empty one for a text that is too long: it is only a request, or for people to read.
fn put_text(body: &mut Vec<u8>, text: &str) {
    let text = if text.len() > HELLO_MAX / 2 { "" } else { text };
    body.extend_from_slice(&(text.len() as u16).to_be_bytes());
    body.extend_from_slice(text.as_bytes());
}

fn with_length(body: Vec<u8>) -> Vec<u8> {
    let mut all = (body.len() as u16).to_be_bytes().to_vec();
    all.extend(body);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn message_reads_back() {
        let hellos = [
            Hello::New { streams: 7, connections: 16, law: "{\"law\":\"guarded\"}".into() },
            Hello::Join { session: [3; 16], proof: [4; 32] },
        ];
        for hello in hellos {
            assert_eq!(Hello::decode(&hello.encode()[2..]), Ok(hello));
        }
        let answers = [
            Answer::Welcome { session: [1; 16], streams: 2, connections: 3, law: "guarded".into() },
            Answer::Joined,
            Answer::Refused(Refusal::Full),
            Answer::Refused(Refusal::Other(200)),
        ];
        for answer in answers {
            assert_eq!(Answer::decode(&answer.encode()[2..]), Ok(answer));
        }
    }

    #[test]
    fn a_proof_is_of_one_connection_and_one_session() {
        let (key, session, exported) = ([1; 32], [2; 16], [3; 32]);
        let shown = proof(&key, &session, &exported);
        assert!(proves(&key, &session, &exported, &shown));
        assert!(!proves(&[0; 32], &session, &exported, &shown));
        assert!(!proves(&key, &[0; 16], &exported, &shown));
        assert!(!proves(&key, &session, &[0; 32], &shown));
    }

    proptest! {
        #[test]
        fn nonsense_is_refused_or_writes_back_to_itself(mut bytes in prop::collection::vec(any::<u8>(), 0..80), kind in 0..7_u8) {
            if let Some(first) = bytes.first_mut() {
                *first = kind;
            }
            if let Ok(hello) = Hello::decode(&bytes) {
                prop_assert_eq!(&hello.encode()[2..], &bytes[..]);
            }
            if let Ok(answer) = Answer::decode(&bytes) {
                prop_assert_eq!(&answer.encode()[2..], &bytes[..]);
            }
        }
    }
}
