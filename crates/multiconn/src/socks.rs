//! SOCKS5 (RFC 1928), as far as a stream needs it: no authentication, CONNECT. Other requests are refused
//! with the protocol's code. Bytes that are not SOCKS5 are refused at once: a web page can make a browser
//! send HTTP anywhere.

use crate::target::{Outcome, Target};

const VERSION: u8 = 5;
// BIND is between the two.
const CONNECT: u8 = 1;
const UDP_ASSOCIATE: u8 = 3;
/// "Command not supported".
const NO_COMMAND: u8 = 7;
/// "Address type not supported".
const NO_ADDRESS: u8 = 8;
/// The longest greeting, and the longest request \[bytes\].
pub const MESSAGE_MAX: usize = 3 + crate::target::TARGET_MAX;

/// The bytes are not SOCKS5: the connection is closed without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotSocks;

/// Returns whether a greeting offers no authentication, and its length; none if it is incomplete.
///
/// # Errors
/// If it is no greeting.
pub fn greeting(bytes: &[u8]) -> Result<Option<(bool, usize)>, NotSocks> {
    match bytes {
        [] | [VERSION] => Ok(None),
        [VERSION, 0, ..] => Err(NotSocks),
        [VERSION, count, methods @ ..] => {
            let count = usize::from(*count);
            Ok(methods.get(..count).map(|methods| (methods.contains(&0), 2 + count)))
        }
        _ => Err(NotSocks),
    }
}

/// Returns the answer to a greeting.
pub const fn method(is_offered: bool) -> [u8; 2] {
    [VERSION, if is_offered { 0 } else { 0xff }]
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A connection to a target.
    Connect(Target),
    /// A request that is not supported here: the answer's code.
    Unsupported(u8),
}

/// Returns the request and its length; none if it is incomplete.
///
/// # Errors
/// If it is no request.
pub fn request(bytes: &[u8]) -> Result<Option<(Request, usize)>, NotSocks> {
    match bytes {
        [] | [VERSION] | [VERSION, CONNECT..=UDP_ASSOCIATE] | [VERSION, CONNECT..=UDP_ASSOCIATE, 0] => {
            Ok(None)
        }
        [VERSION, CONNECT, 0, 1 | 3 | 4, ..] => {
            let target = Target::decode(&bytes[3..]).map_err(|_| NotSocks)?;
            Ok(target.map(|(target, used)| (Request::Connect(target), 3 + used)))
        }
        [VERSION, CONNECT, 0, _, ..] => Ok(Some((Request::Unsupported(NO_ADDRESS), bytes.len()))),
        // Unknown commands too.
        [VERSION, _, ..] => Ok(Some((Request::Unsupported(NO_COMMAND), bytes.len()))),
        _ => Err(NotSocks),
    }
}

/// Returns the answer to a request. It does not reveal the relay's address, but names 0.0.0.0:0, which RFC
/// 1928 permits.
pub const fn reply(code: u8) -> [u8; 10] {
    [VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

/// Returns the answer to a request with an outcome.
pub const fn reply_of(outcome: Outcome) -> [u8; 10] {
    reply(outcome.code())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_client_that_knows_how_is_served() {
        assert_eq!(greeting(&[5, 2, 2, 0]), Ok(Some((true, 4))));
        assert_eq!(greeting(&[5, 1, 2]), Ok(Some((false, 3))));
        assert_eq!((method(true), method(false)), ([5, 0], [5, 0xff]));
        assert_eq!(greeting(&[5, 2, 2]), Ok(None));
        let asks = [5, 1, 0, 3, 3, b'a', b'.', b'b', 0, 80, 7];
        let target = Target { host: crate::target::Host::Name("a.b".into()), port: 80 };
        assert_eq!(request(&asks), Ok(Some((Request::Connect(target), 10))));
        assert!((0..10).all(|cut| request(&asks[..cut]) == Ok(None)));
    }

    #[test]
    fn unsupported_command_is_refused_by_code() {
        for command in [2, 3, 9] {
            let refused = request(&[5, command, 0, 1, 0, 0, 0, 0, 0, 0]);
            assert_eq!(refused, Ok(Some((Request::Unsupported(7), 10))), "command {command}");
        }
        assert_eq!(request(&[5, 1, 0, 2, 0]), Ok(Some((Request::Unsupported(8), 5))));
        assert_eq!(reply(7)[..2], [5, 7]);
        for other in [b"GET / HTTP/1.1".as_slice(), &[4, 1, 0, 80], &[5, 0]] {
            assert_eq!(greeting(other), Err(NotSocks));
        }
        assert_eq!(request(&[5, 1, 0, 3, 2, b'a', b' ', 0, 80]), Err(NotSocks), "no host has this name");
    }

    proptest! {
        #[test]
        fn nonsense_never_asks_for_more_than_a_message(mut bytes in prop::collection::vec(any::<u8>(), 0..300), command in 0..5_u8, kind in 0..6_u8) {
            let head = [5, command, 0, kind];
            let count = bytes.len().min(4);
            bytes[..count].copy_from_slice(&head[..count]);
            for answer in [greeting(&bytes).map(|a| a.map(|a| a.1)), request(&bytes).map(|a| a.map(|a| a.1))] {
                match answer {
                    Ok(None) => prop_assert!(bytes.len() < MESSAGE_MAX),
                    Ok(Some(used)) => prop_assert!(used <= bytes.len()),
                    Err(NotSocks) => {}
                }
            }
        }
    }
}
