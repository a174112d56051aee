//! Netlink (RFC 3549): requests to the kernel, each acknowledged; batches of them; transactions; dumps.
//!
//! The codec is in [`message`] and [`attributes`]; what messages mean is with whoever sends them: [`crate::link`], [`crate::tc`]
//! and [`crate::nft`].

pub(crate) mod attributes;
pub(crate) mod message;

use crate::socket_option;
use attributes::{Attributes, u16_at, u32_at};
use message::Message;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with, sockopt,
};
use std::os::fd::OwnedFd;
use std::time::Duration;
use std::{fmt, io};

/// Messages that are sent at once: their acknowledgements fit into the least buffer that a socket has.
const BATCH: usize = 64;
/// A dump that the kernel says was interrupted by a change is asked for again, so often.
const ATTEMPTS: usize = 8;
/// The kernel fills no answer further than this.
const INBOX: usize = 64 * 1024;
/// The kernel answers while it takes the request; this long only if an answer was lost.
const PATIENCE: Duration = Duration::from_secs(5);

/// `NLMSG_ERROR` and `NLMSG_DONE`, the messages that end an answer.
const ERROR: u16 = libc::NLMSG_ERROR as u16;
const DONE: u16 = libc::NLMSG_DONE as u16;
/// `NLMSGERR_ATTR_MSG`: the kernel's words.
const ERROR_TEXT: u16 = 1;
/// `NLM_F_ACK_TLVS`: attributes follow an error.
const HAS_TEXT: u16 = 0x200;
/// `NLM_F_CAPPED`: the request is not repeated behind an error, only its header.
const IS_CAPPED: u16 = 0x100;
/// `NLM_F_DUMP_INTR`: what is dumped changed meanwhile.
const IS_INTERRUPTED: u16 = 0x10;
/// Bytes of a message's header.
pub(crate) const HEADER: usize = 16;

/// A request that the kernel refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The position of the request among those that were made at once.
    pub index: usize,
    /// The number of the error (`ENOENT`, …).
    pub code: i32,
    /// The kernel's own words, if it has any.
    pub text: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", io::Error::from_raw_os_error(self.code))?;
        if self.text.is_empty() { Ok(()) } else { write!(f, ": {}", self.text) }
    }
}

impl std::error::Error for Refusal {}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        Self::new(Self::from_raw_os_error(refusal.code).kind(), refusal)
    }
}

/// A connection to one part of the kernel, of the network namespace in which it was made.
#[derive(Debug)]
pub(crate) struct Socket {
    descriptor: OwnedFd,
    sequence: u32,
    inbox: Vec<u8>,
}

/// One message of an answer.
struct Answer<'a> {
    kind: u16,
    flags: u16,
    sequence: u32,
    /// What follows the header.
    payload: &'a [u8],
}

impl Socket {
    /// Connects to `NETLINK_ROUTE` (none) or another part.
    pub(crate) fn new(part: Option<Protocol>) -> io::Result<Self> {
        let descriptor = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, part)?;
        // Both are older than the least kernel; without them an error would be a number alone.
        socket_option::set(&descriptor, libc::SOL_NETLINK, libc::NETLINK_EXT_ACK, 1)?;
        socket_option::set(&descriptor, libc::SOL_NETLINK, libc::NETLINK_CAP_ACK, 1)?;
        sockopt::set_socket_timeout(&descriptor, sockopt::Timeout::Recv, Some(PATIENCE))?;
        Ok(Self { descriptor, sequence: 0, inbox: vec![0; INBOX] })
    }

    /// The number of a device.
    pub(crate) fn index(&self, device: &str) -> io::Result<u32> {
        Ok(rustix::net::netdevice::name_to_index(&self.descriptor, device)?)
    }

    /// One request.
    pub(crate) fn ask(&mut self, request: Message) -> io::Result<()> {
        match self.ask_all([request])?.pop() {
            None => Ok(()),
            Some(refusal) => Err(refusal.into()),
        }
    }

    /// Requests that do not depend on each other, in batches; gives those that were refused.
    pub(crate) fn ask_all(
        &mut self,
        requests: impl IntoIterator<Item = Message>,
    ) -> io::Result<Vec<Refusal>> {
        let (mut requests, mut refusals, mut before) = (requests.into_iter(), Vec::new(), 0);
        loop {
            let mut bytes = Vec::new();
            let first = self.sequence + 1;
            for mut request in requests.by_ref().take(BATCH) {
                self.sequence += 1;
                bytes.extend_from_slice(request.acknowledged().finish(self.sequence));
            }
            let count = (self.sequence + 1 - first) as usize;
            if count == 0 {
                return Ok(refusals);
            }
            send(&self.descriptor, &bytes, SendFlags::empty())?;
            self.acknowledgements(first, count, |index, refusal| {
                refusals.push(Refusal { index: before + index, ..refusal });
            })?;
            before += count;
        }
    }

    /// Requests that are done together or not at all, between a message that begins them and one that ends them.
    pub(crate) fn transaction(
        &mut self,
        mut begin: Message,
        requests: Vec<Message>,
        mut end: Message,
    ) -> io::Result<()> {
        self.sequence += 1;
        let first = self.sequence;
        let mut bytes = begin.finish(first).to_vec();
        let count = requests.len();
        for mut request in requests {
            self.sequence += 1;
            bytes.extend_from_slice(request.acknowledged().finish(self.sequence));
        }
        self.sequence += 1;
        bytes.extend_from_slice(end.finish(self.sequence));
        send(&self.descriptor, &bytes, SendFlags::empty())?;
        let mut worst = None;
        let mut keep = |index, refusal| {
            worst.get_or_insert(Refusal { index, ..refusal });
        };
        self.acknowledgements(first + 1, count, &mut keep)?;
        worst.map_or(Ok(()), |refusal| Err(refusal.into()))
    }

    /// Waits for the acknowledgements of so many requests; tells of each that was refused. A refusal of what begins a transaction is
    /// told as that of its first request, and is the only answer.
    fn acknowledgements(
        &mut self,
        first: u32,
        count: usize,
        mut refused: impl FnMut(usize, Refusal),
    ) -> io::Result<()> {
        let mut waiting = count;
        while waiting > 0 {
            let length = self.receive()?;
            for answer in answers(&self.inbox[..length]) {
                if answer.kind != ERROR {
                    continue;
                }
                let refusal = refusal(&answer);
                if answer.sequence == first.wrapping_sub(1)
                    && let Err(refusal) = refusal
                {
                    refused(0, refusal);
                    return Ok(());
                }
                let index = answer.sequence.wrapping_sub(first) as usize;
                if index >= count {
                    continue; // of an earlier request, which was given up
                }
                waiting -= 1;
                if let Err(refusal) = refusal {
                    refused(index, refusal);
                }
            }
        }
        Ok(())
    }

    /// What the kernel has of a kind: each message of the answer is told with its kind, and `read` makes one of it, or none if it
    /// is not meant. It is asked for anew while the kernel says that it changed meanwhile.
    pub(crate) fn dump<T>(
        &mut self,
        request: &Message,
        into: &mut Vec<T>,
        mut read: impl FnMut(u16, &[u8]) -> io::Result<Option<T>>,
    ) -> io::Result<()> {
        for _ in 0..ATTEMPTS {
            into.clear();
            self.sequence += 1;
            let sequence = self.sequence;
            send(&self.descriptor, request.clone().dumped().finish(sequence), SendFlags::empty())?;
            if self.answers_of(sequence, |kind, payload| {
                into.extend(read(kind, payload)?);
                Ok(())
            })? {
                return Ok(());
            }
        }
        Err(io::Error::new(io::ErrorKind::Interrupted, "what the kernel lists keeps changing"))
    }

    /// What the kernel answers to one request that names one thing.
    pub(crate) fn get<T>(
        &mut self,
        mut request: Message,
        mut read: impl FnMut(u16, &[u8]) -> io::Result<Option<T>>,
    ) -> io::Result<T> {
        self.sequence += 1;
        let sequence = self.sequence;
        send(&self.descriptor, request.acknowledged().finish(sequence), SendFlags::empty())?;
        let mut found = None;
        self.answers_of(sequence, |kind, payload| {
            found = found.take().or(read(kind, payload)?);
            Ok(())
        })?;
        found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the kernel's answer is empty"))
    }

    /// Takes all messages of one answer; tells whether it is of one piece. All are taken even if reading one fails, so that the
    /// next answer is the next request's.
    fn answers_of(
        &mut self,
        sequence: u32,
        mut take: impl FnMut(u16, &[u8]) -> io::Result<()>,
    ) -> io::Result<bool> {
        let (mut is_whole, mut taken) = (true, Ok(()));
        loop {
            let length = self.receive()?;
            for answer in answers(&self.inbox[..length]).filter(|answer| answer.sequence == sequence) {
                is_whole &= answer.flags & IS_INTERRUPTED == 0;
                match answer.kind {
                    ERROR | DONE => {
                        refusal(&answer)?;
                        return taken.map(|()| is_whole);
                    }
                    kind if taken.is_ok() => taken = take(kind, answer.payload),
                    _ => (),
                }
            }
        }
    }

    fn receive(&mut self) -> io::Result<usize> {
        loop {
            match recv(&self.descriptor, &mut self.inbox[..], RecvFlags::TRUNC) {
                Ok((_, length)) if length <= INBOX => return Ok(length),
                Ok(_) => return Err(malformed("an answer longer than it may be")),
                Err(Errno::INTR) => (),
                Err(Errno::AGAIN) => {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "the kernel does not answer"));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// An answer that is not as the kernel's are.
pub(crate) fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("netlink: {what}"))
}

/// The messages in what was received; they end where one does not fit.
fn answers(mut bytes: &[u8]) -> impl Iterator<Item = Answer<'_>> {
    std::iter::from_fn(move || {
        let length = u32_at(bytes, 0)? as usize;
        let payload = bytes.get(HEADER..length)?;
        let answer = Answer {
            kind: u16_at(bytes, 4)?,
            flags: u16_at(bytes, 6)?,
            sequence: u32_at(bytes, 8)?,
            payload,
        };
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(answer)
    })
}

/// What an answer that ends says: `struct nlmsgerr`, or the number at the end of a dump.
fn refusal(answer: &Answer<'_>) -> Result<(), Refusal> {
    let code = u32_at(answer.payload, 0).unwrap_or_default().cast_signed();
    if code >= 0 {
        return Ok(());
    }
    // Behind the error stands the request: its header alone where the answer is capped. A dump's end has nothing of it.
    let request = match answer.kind {
        DONE => 0,
        _ if answer.flags & IS_CAPPED != 0 => HEADER,
        _ => u32_at(answer.payload, 4).unwrap_or_default() as usize,
    };
    let told = answer.payload.get(4_usize.saturating_add(request.next_multiple_of(4))..);
    let told = told.filter(|_| answer.flags & HAS_TEXT != 0).unwrap_or_default();
    let text = Attributes::new(told).find(ERROR_TEXT).map(attributes::text).unwrap_or_default();
    Err(Refusal { index: 0, code: code.saturating_neg(), text })
}

/// How many messages are in what was received, and how many of them are refusals.
pub(crate) fn count(bytes: &[u8]) -> (usize, usize) {
    (answers(bytes).count(), answers(bytes).filter(|answer| refusal(answer).is_err()).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's answer to a class without a device, by strace: `EINVAL`, capped, with words.
    #[test]
    fn an_error_has_the_kernels_words() {
        let mut bytes = Vec::new();
        for word in [52_u32, 0x0300_0002, 7, 99, (-22_i32).cast_unsigned(), 40, 0x0005_0028, 7, 99] {
            bytes.extend_from_slice(&word.to_ne_bytes());
        }
        bytes.extend_from_slice(&[13, 0, 1, 0]);
        bytes.extend_from_slice(b"no class\0\0\0\0");
        let answer = answers(&bytes).next().expect("one answer");
        let refused = refusal(&answer).unwrap_err();
        assert_eq!((refused.code, refused.text.as_str()), (libc::EINVAL, "no class"));
        assert!(refused.to_string().ends_with(": no class"), "{refused}");
        let error = io::Error::from(Refusal { code: libc::EEXIST, ..refused });
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn what_is_cut_ends() {
        let message = [20_u32, 2, 1, 0, 0].map(u32::to_ne_bytes).concat();
        let two = [message.clone(), message].concat();
        assert_eq!(answers(&two).count(), 2);
        for length in 0..two.len() {
            assert_eq!(answers(&two[..length]).count(), length / 20);
        }
        // A length of zero, or one that leaves the header out, is no endless loop.
        assert_eq!(answers(&[0; 64]).count(), 0);
    }
}
