//! The first words on a connection, both ways: a new session, or one more connection of a session.
//!
//! Each is a length of two bytes and so many bytes. A joining connection proves two things at once: that it is the TLS connection that it seems to be, and that
//! its client was there when the session began. It shows a MAC over a value exported from its own TLS (RFC 5705), by a key exported from the session's first.

use crate::frame::{Malformed, Rest};
use ring::hmac;
use std::fmt;

/// The longest hello, its length not counted.
pub const HELLO_MAX: usize = 4096;
/// A session's number: random, the relay's.
pub type SessionId = [u8; 16];
/// What TLS exports for a session's key, and for a joining connection.
pub type Exported = [u8; 32];
/// The label of a session's key.
pub const SESSION_LABEL: &[u8] = b"EXPORTER-evenair-multiconn-session";
/// The label of what a joining connection shows.
pub const JOIN_LABEL: &[u8] = b"EXPORTER-evenair-multiconn-join";

/// What a client says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hello {
    /// A session is to begin.
    New {
        /// Streams at once that the client takes.
        streams: u32,
        /// Connections at once that it opens.
        connections: u16,
        /// The law that it would have for what the relay sends, as JSON; the relay may have its own.
        law: String,
    },
    /// The connection is to belong to a session.
    Join {
        /// Which.
        session: SessionId,
        /// The proof.
        proof: Exported,
    },
}

/// What a relay says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The session has begun.
    Welcome {
        /// Its number.
        session: SessionId,
        /// Streams at once that the relay takes.
        streams: u32,
        /// Connections at once that it takes.
        connections: u16,
        /// The law of what it sends, in words.
        law: String,
    },
    /// The connection belongs to the session.
    Joined,
    /// Neither.
    Refused(Refusal),
}

/// Why a relay refuses a connection of somebody whom it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such session, or not of this key, or the proof is wrong: it is not told which.
    NoSession,
    /// There are as many connections or sessions as there may be.
    Full,
    /// It was no hello.
    Malformed,
    /// The law is unknown, or cannot be hosted here.
    Law,
    /// Something that this program does not know.
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
            Self::Law => f.write_str("the relay cannot have this law for what it sends"),
            Self::Other(code) => write!(f, "the relay refused the connection (code {code})"),
        }
    }
}

/// What a joining connection shows.
pub fn proof(session_key: &Exported, session: &SessionId, exported: &Exported) -> Exported {
    let key = hmac::Key::new(hmac::HMAC_SHA256, session_key);
    let tag = hmac::sign(&key, &[session.as_slice(), exported].concat());
    let mut proof = [0; 32];
    proof.copy_from_slice(tag.as_ref());
    proof
}

/// Whether what it shows is right; takes as long whatever it is.
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
    /// Reads what follows the length.
    ///
    /// # Errors
    /// If it is none.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut rest = Rest(bytes);
        let hello = match rest.byte() {
            Some(NEW) => new_hello(&mut rest),
            Some(JOIN) => join_hello(&mut rest),
            _ => None,
        };
        hello.filter(|_| rest.0.is_empty()).ok_or(Malformed("no hello"))
    }

    /// With its length.
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
    /// Reads what follows the length.
    ///
    /// # Errors
    /// If it is none.
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

    /// With its length.
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

/// A text that is too long is left out: it is a wish, or words for people.
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
    fn what_is_written_reads_back() {
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
