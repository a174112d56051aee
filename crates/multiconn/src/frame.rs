//! The frames on a connection of a session, each whole within one record of TLS.
//!
//! Numbers are big-endian. A stream's bytes are counted from 0 in each direction. Its end takes one number of
//! its own, so one count covers everything received, the end included.

use std::fmt;

/// The length of a chunk's header \[bytes\].
pub const DATA_HEADER: usize = 1 + 4 + 8 + 2;
/// The most bytes of a chunk: with its header, a full record of TLS.
pub const CHUNK_MAX: usize = (16 << 10) - DATA_HEADER;
/// The longest frame.
pub const FRAME_MAX: usize = DATA_HEADER + CHUNK_MAX;

/// The number of a stream; odd if the client opened it.
pub type StreamId = u32;

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Bytes of a stream; the first of them open it.
    Data {
        /// The stream.
        stream: StreamId,
        /// The number of the first byte.
        offset: u64,
        /// Whether the stream ends after it, in this direction.
        end: bool,
        /// The bytes; none only at the stream's end.
        bytes: &'a [u8],
    },
    /// The part of a stream received without a gap, and the limit for sending more.
    Credit {
        /// The stream.
        stream: StreamId,
        /// Numbers received, the end's included.
        received: u64,
        /// No byte from this number on may be sent.
        limit: u64,
    },
    /// The stream is broken off, both ways.
    Reset {
        /// The stream.
        stream: StreamId,
        /// The reason.
        why: Broken,
    },
    /// The stream is over here, both ways: all of it was received, or it was broken off.
    Over {
        /// The stream.
        stream: StreamId,
    },
    /// Requests a credit of a stream: an earlier one may have been lost with a connection.
    Ask {
        /// The stream.
        stream: StreamId,
    },
    /// Requests a `Pong` on the same connection.
    Ping(u64),
    /// The answer to a `Ping`.
    Pong(u64),
    /// Its sender wants this many connections to send on.
    Want(u16),
    /// Its sender sends no more stream data on this connection.
    Retire,
    /// Its sender has received [`Retire`](Self::Retire), and everything before it.
    Retired,
    /// The session is over.
    Close(Closed),
}

/// The reason why a stream was broken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The program at the other end broke it off.
    Aborted,
    /// There are too many streams, or too little memory.
    Overloaded,
    /// The session ended.
    SessionOver(Closed),
    /// A reason that this version lacks.
    Other(u8),
}

/// The reason why a session was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// It ended normally.
    Done,
    /// The other side broke the protocol.
    Protocol,
    /// Its key is not authorised any more.
    Revoked,
    /// It was not used for the time limit.
    Idle,
    /// No connection came back in time.
    Lost,
    /// The relay has no such session: it restarted.
    Unknown,
    /// A reason that this version lacks.
    Other(u8),
}

impl Broken {
    const fn code(self) -> u8 {
        match self {
            Self::Aborted => 1,
            Self::Overloaded => 2,
            Self::SessionOver(why) => 0x80 | why.code(),
            Self::Other(code) => code,
        }
    }

    const fn of(code: u8) -> Self {
        match code {
            1 => Self::Aborted,
            2 => Self::Overloaded,
            code if code & 0x80 != 0 => Self::SessionOver(Closed::of(code & 0x7f)),
            code => Self::Other(code),
        }
    }
}

impl Closed {
    const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Protocol => 1,
            Self::Revoked => 2,
            Self::Idle => 3,
            Self::Lost => 4,
            Self::Unknown => 5,
            Self::Other(code) => code & 0x7f,
        }
    }

    const fn of(code: u8) -> Self {
        match code {
            0 => Self::Done,
            1 => Self::Protocol,
            2 => Self::Revoked,
            3 => Self::Idle,
            4 => Self::Lost,
            5 => Self::Unknown,
            code => Self::Other(code & 0x7f),
        }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Aborted => f.write_str("the other end broke the stream off"),
            Self::Overloaded => f.write_str("the other end accepts no further stream"),
            Self::SessionOver(why) => why.fmt(f),
            Self::Other(code) => write!(f, "the stream was broken off (code {code})"),
        }
    }
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("the session was closed"),
            Self::Protocol => f.write_str("the session was closed: the other side broke the protocol"),
            Self::Revoked => f.write_str("the session was closed: its key is not authorised any more"),
            Self::Idle => f.write_str("the session was closed: it was idle"),
            Self::Lost => f.write_str("the session was closed: no connection came back in time"),
            Self::Unknown => f.write_str("the relay does not know the session: it began again"),
            Self::Other(code) => write!(f, "the session was closed (code {code})"),
        }
    }
}

impl std::error::Error for Broken {}
impl std::error::Error for Closed {}

/// The error of bytes that are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a frame: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

const DATA: u8 = 1;
const LAST: u8 = 2;
const CREDIT: u8 = 3;
const RESET: u8 = 4;
const OVER: u8 = 5;
const ASK: u8 = 6;
const PING: u8 = 7;
const PONG: u8 = 8;
const WANT: u8 = 9;
const RETIRE: u8 = 10;
const RETIRED: u8 = 11;
const CLOSE: u8 = 12;

/// The greatest offset: no stream of a session reaches it.
pub const OFFSET_MAX: u64 = 1 << 62;

impl<'a> Frame<'a> {
    /// Decodes the frame at the start of some bytes; returns it and its length, or none if it is incomplete.
    ///
    /// # Errors
    /// If they cannot begin a frame.
    pub fn decode(bytes: &'a [u8]) -> Result<Option<(Self, usize)>, Malformed> {
        let mut rest = Rest(bytes);
        let Some(kind) = rest.byte() else { return Ok(None) };
        if !(DATA..=CLOSE).contains(&kind) {
            return Err(Malformed("unknown kind"));
        }
        let Some(frame) = Self::body(kind, &mut rest)? else { return Ok(None) };
        Ok(Some((frame, bytes.len() - rest.0.len())))
    }

    fn body(kind: u8, rest: &mut Rest<'a>) -> Result<Option<Self>, Malformed> {
        let read = |rest: &mut Rest<'a>| -> Option<Result<Self, Malformed>> {
            Some(Ok(match kind {
                DATA | LAST => {
                    let (stream, offset, length) = (rest.u32()?, rest.u64()?, usize::from(rest.u16()?));
                    if length > CHUNK_MAX || offset > OFFSET_MAX {
                        return Some(Err(Malformed("a chunk that is too long, or too far")));
                    }
                    if length == 0 && kind == DATA {
                        return Some(Err(Malformed("a chunk without bytes")));
                    }
                    Self::Data { stream, offset, end: kind == LAST, bytes: rest.take(length)? }
                }
                CREDIT => {
                    let (stream, received, limit) = (rest.u32()?, rest.u64()?, rest.u64()?);
                    if limit > OFFSET_MAX || received > OFFSET_MAX {
                        return Some(Err(Malformed("a credit that goes too far")));
                    }
                    Self::Credit { stream, received, limit }
                }
                RESET => Self::Reset { stream: rest.u32()?, why: Broken::of(rest.byte()?) },
                OVER => Self::Over { stream: rest.u32()? },
                ASK => Self::Ask { stream: rest.u32()? },
                PING => Self::Ping(rest.u64()?),
                PONG => Self::Pong(rest.u64()?),
                WANT => Self::Want(rest.u16()?),
                RETIRE => Self::Retire,
                RETIRED => Self::Retired,
                _ => match rest.byte()? {
                    code if code & 0x80 != 0 => return Some(Err(Malformed("a reason that is none"))),
                    code => Self::Close(Closed::of(code)),
                },
            }))
        };
        read(rest).transpose()
    }

    /// Appends the frame's encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let with_stream = |out: &mut Vec<u8>, kind: u8, stream: StreamId| {
            out.push(kind);
            out.extend_from_slice(&stream.to_be_bytes());
        };
        match *self {
            Self::Data { stream, offset, end, bytes } => {
                with_stream(out, if end { LAST } else { DATA }, stream);
                out.extend_from_slice(&offset.to_be_bytes());
                out.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
                out.extend_from_slice(bytes);
            }
            Self::Credit { stream, received, limit } => {
                with_stream(out, CREDIT, stream);
                out.extend_from_slice(&received.to_be_bytes());
                out.extend_from_slice(&limit.to_be_bytes());
            }
            Self::Reset { stream, why } => {
                with_stream(out, RESET, stream);
                out.push(why.code());
            }
            Self::Over { stream } => with_stream(out, OVER, stream),
            Self::Ask { stream } => with_stream(out, ASK, stream),
            Self::Ping(number) | Self::Pong(number) => {
                out.push(if matches!(self, Self::Ping(_)) { PING } else { PONG });
                out.extend_from_slice(&number.to_be_bytes());
            }
            Self::Want(connections) => {
                out.push(WANT);
                out.extend_from_slice(&connections.to_be_bytes());
            }
            Self::Retire => out.push(RETIRE),
            Self::Retired => out.push(RETIRED),
            Self::Close(why) => out.extend_from_slice(&[CLOSE, why.code()]),
        }
    }
}

/// The bytes left to read.
pub(crate) struct Rest<'a>(pub(crate) &'a [u8]);

impl<'a> Rest<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames() -> Vec<Frame<'static>> {
        vec![
            Frame::Data { stream: 1, offset: 7, end: false, bytes: b"abc" },
            Frame::Data { stream: 3, offset: 1 << 40, end: true, bytes: b"" },
            Frame::Credit { stream: 2, received: 5, limit: 65_541 },
            Frame::Reset { stream: 9, why: Broken::Aborted },
            Frame::Reset { stream: 9, why: Broken::SessionOver(Closed::Revoked) },
            Frame::Over { stream: u32::MAX },
            Frame::Ask { stream: 4 },
            Frame::Ping(1),
            Frame::Pong(u64::MAX),
            Frame::Want(16),
            Frame::Retire,
            Frame::Retired,
            Frame::Close(Closed::Unknown),
        ]
    }

    #[test]
    fn credit_beyond_the_last_offset_is_malformed() {
        let decoded = |received, limit| {
            let mut bytes = Vec::new();
            Frame::Credit { stream: 1, received, limit }.encode(&mut bytes);
            Frame::decode(&bytes).is_ok()
        };
        assert!(decoded(OFFSET_MAX, OFFSET_MAX));
        assert!(!decoded(OFFSET_MAX + 1, 0) && !decoded(0, OFFSET_MAX + 1));
    }

    #[test]
    fn chunk_beyond_the_last_offset_is_malformed() {
        let decoded = |offset, bytes, end| {
            let mut out = Vec::new();
            Frame::Data { stream: 1, offset, end, bytes }.encode(&mut out);
            Frame::decode(&out).map(|_| ())
        };
        assert_eq!(decoded(OFFSET_MAX, b"x", false), Ok(()));
        let error = decoded(OFFSET_MAX + 1, b"x", false).unwrap_err();
        assert_eq!(error.to_string(), "not a frame: a chunk that is too long, or too far");
        // A frame without bytes is valid only at the stream's end.
        assert_eq!(decoded(7, b"", true), Ok(()));
        assert!(decoded(7, b"", false).is_err());
    }

    /// Each reason with its code on the wire, and words that only its message has.
    const REASONS: [(Closed, u8, &str); 7] = [
        (Closed::Done, 0, "the session was closed"),
        (Closed::Protocol, 1, "broke the protocol"),
        (Closed::Revoked, 2, "key is not authorised"),
        (Closed::Idle, 3, "it was idle"),
        (Closed::Lost, 4, "no connection came back"),
        (Closed::Unknown, 5, "the relay does not know"),
        (Closed::Other(77), 77, "code 77"),
    ];

    #[test]
    fn reasons_have_their_codes_on_the_wire() {
        let both = |frame: Frame<'_>, bytes: &[u8]| {
            let mut out = Vec::new();
            frame.encode(&mut out);
            assert_eq!(out, bytes);
            assert_eq!(Frame::decode(bytes), Ok(Some((frame, bytes.len()))));
        };
        for (why, code, _) in REASONS {
            both(Frame::Close(why), &[12, code]);
            // The end of a session breaks a stream by the same code, with the highest bit.
            both(Frame::Reset { stream: 9, why: Broken::SessionOver(why) }, &[4, 0, 0, 0, 9, 0x80 + code]);
        }
        for (why, code) in [(Broken::Aborted, 1), (Broken::Overloaded, 2), (Broken::Other(3), 3)] {
            both(Frame::Reset { stream: 9, why }, &[4, 0, 0, 0, 9, code]);
        }
        assert!(Frame::decode(&[12, 0x85]).is_err(), "a session has no highest bit");
    }

    #[test]
    fn each_reason_has_words_of_its_own() {
        let all = REASONS.map(|(why, ..)| why.to_string());
        for (number, (why, _, words)) in REASONS.into_iter().enumerate() {
            let told: Vec<_> = (0..7).filter(|one| all[*one].contains(words)).collect();
            assert!(if number == 0 { all[0] == words } else { told == [number] }, "{words}: {told:?}");
            assert_eq!(Broken::SessionOver(why).to_string(), all[number]);
        }
        let broken = [Broken::Aborted, Broken::Overloaded, Broken::Other(3)].map(|why| why.to_string());
        for (told, words) in broken.iter().zip(["broke the stream off", "no further stream", "code 3"]) {
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn frame_reads_back_and_half_waits() {
        for frame in frames() {
            let mut bytes = Vec::new();
            frame.encode(&mut bytes);
            for cut in 0..bytes.len() {
                assert_eq!(Frame::decode(&bytes[..cut]), Ok(None), "{frame:?} cut at {cut}");
            }
            bytes.push(0xff);
            assert_eq!(Frame::decode(&bytes), Ok(Some((frame, bytes.len() - 1))));
        }
    }

    #[test]
    fn a_chunk_fills_a_record_and_no_more() {
        let mut bytes = Vec::new();
        Frame::Data { stream: 1, offset: 0, end: false, bytes: &[0; CHUNK_MAX] }.encode(&mut bytes);
        assert_eq!(bytes.len(), FRAME_MAX);
        assert_eq!(FRAME_MAX, 16_384);
        bytes[13..15].copy_from_slice(&(CHUNK_MAX as u16 + 1).to_be_bytes());
        assert!(Frame::decode(&bytes).is_err());
    }

    proptest! {
        #[test]
        fn damaged_bytes_round_trip_or_are_no_frame(
            number in 0..13_usize, place in 0..64_usize, with: u8, cut in 0..64_usize,
        ) {
            let mut bytes = Vec::new();
            frames()[number].encode(&mut bytes);
            let length = bytes.len();
            bytes[place % length] = with;
            bytes.truncate(length - cut % length);
            if let Ok(Some((frame, used))) = Frame::decode(&bytes) {
                let mut again = Vec::new();
                frame.encode(&mut again);
                prop_assert_eq!(again, &bytes[..used]);
            }
        }
    }
}
