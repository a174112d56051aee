//! Netlink (RFC 3549): requests to the kernel, each acknowledged; batches of them; transactions; dumps.
//!
//! The codec is in `message` and `attributes`; the contents of messages are in [`crate::link`], [`crate::tc`]
//! and [`crate::nft`].

pub(crate) mod attributes;
pub(crate) mod generic;
pub(crate) mod message;

use crate::socket_option;
use attributes::{Attributes, u16_at, u32_at};
use message::Message;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with, sockopt,
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;
use std::{fmt, io};

/// The messages sent at once: their acknowledgements fit into a socket's smallest buffer.
const BATCH: usize = 64;
/// The attempts of a dump that a change interrupts.
const ATTEMPTS: usize = 8;
/// The kernel fills no answer beyond this size.
const INBOX: usize = 64 * 1024;
/// The longest transaction \[bytes\]; for an ordinary user twice `net.core.wmem_max`, mostly 416 kB.
const TRANSACTION: usize = 2 * 1024 * 1024;
/// The time limit of an answer. The kernel answers while it processes the request, so it passes only if an
/// answer was lost.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);

/// `NLMSG_ERROR` and `NLMSG_DONE`, the messages that end an answer.
const ERROR: u16 = libc::NLMSG_ERROR as u16;
const DONE: u16 = libc::NLMSG_DONE as u16;
/// `NLMSGERR_ATTR_MSG`: the kernel's error text.
const ERROR_TEXT: u16 = 1;
/// `NLM_F_ACK_TLVS`: attributes follow an error.
const HAS_TEXT: u16 = 0x200;
/// `NLM_F_CAPPED`: the request is not repeated behind an error, only its header.
const IS_CAPPED: u16 = 0x100;
/// `NLM_F_DUMP_INTR`: the objects changed during the dump.
const IS_INTERRUPTED: u16 = 0x10;
/// Bytes of a message's header.
pub(crate) const HEADER: usize = 16;

/// A request that the kernel refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The position of the request in its batch or transaction.
    pub index: usize,
    /// The number of the error (`ENOENT`, …).
    pub code: i32,
    /// The kernel's error text, if it has one.
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

/// A connection to one subsystem of the kernel, of the network namespace in which it was created.
#[derive(Debug)]
pub(crate) struct Socket {
    descriptor: OwnedFd,
    sequence: u32,
    inbox: Vec<u8>,
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// One message of an answer.
struct Answer<'a> {
    kind: u16,
    flags: u16,
    sequence: u32,
    /// The bytes behind the header.
    payload: &'a [u8],
}

impl Socket {
    /// Connects to `NETLINK_ROUTE` (none) or another subsystem.
    pub(crate) fn new(part: Option<Protocol>) -> io::Result<Self> {
        let descriptor = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, part)?;
        // Both are older than the oldest supported kernel; without them an error would be a number alone.
        socket_option::set(&descriptor, libc::SOL_NETLINK, libc::NETLINK_EXT_ACK, 1)?;
        socket_option::set(&descriptor, libc::SOL_NETLINK, libc::NETLINK_CAP_ACK, 1)?;
        // The largest permitted buffer: a transaction is one message, and no longer than this.
        sockopt::set_socket_send_buffer_size_force(&descriptor, TRANSACTION)
            .or_else(|_| sockopt::set_socket_send_buffer_size(&descriptor, TRANSACTION))?;
        sockopt::set_socket_timeout(&descriptor, sockopt::Timeout::Recv, Some(ANSWER_TIME_MAX))?;
        Ok(Self { descriptor, sequence: 0, inbox: vec![0; INBOX] })
    }

    /// Returns the number of a device.
    pub(crate) fn index(&self, device: &str) -> io::Result<u32> {
        Ok(rustix::net::netdevice::name_to_index(&self.descriptor, device)?)
    }

    /// Makes one request.
    pub(crate) fn ask(&mut self, request: Message) -> io::Result<()> {
        match self.ask_all([request])?.pop() {
            None => Ok(()),
            Some(refusal) => Err(refusal.into()),
        }
    }

    /// Makes independent requests, in batches; returns those that were refused.
    pub(crate) fn ask_all(
        &mut self,
        requests: impl IntoIterator<Item = Message>,
    ) -> io::Result<Vec<Refusal>> {
        let (mut requests, mut refusals, mut before) = (requests.into_iter().peekable(), Vec::new(), 0);
        while requests.peek().is_some() {
            let (mut bytes, mut count, first) = (Vec::new(), 0, self.sequence.wrapping_add(1));
            for mut request in requests.by_ref().take(BATCH) {
                bytes.extend_from_slice(request.acknowledged().finish(self.next_sequence()));
                count += 1;
            }
            send(&self.descriptor, &bytes, SendFlags::empty())?;
            self.acknowledgements(first, count, |index, refusal| {
                refusals.push(Refusal { index: before + index, ..refusal });
            })?;
            before += count;
        }
        Ok(refusals)
    }

    /// Makes requests that are executed together or not at all, between a message that begins the transaction
    /// and one that ends it.
    pub(crate) fn transaction(
        &mut self,
        mut begin: Message,
        requests: Vec<Message>,
        mut end: Message,
    ) -> io::Result<()> {
        let own = self.next_sequence();
        let mut bytes = begin.finish(own).to_vec();
        let count = requests.len();
        for (index, mut request) in requests.into_iter().enumerate() {
            // Refusals are always sent; a socket has no room for thousands of acknowledgements.
            if index + 1 == count {
                request.acknowledged();
            }
            bytes.extend_from_slice(request.finish(self.next_sequence()));
        }
        bytes.extend_from_slice(end.finish(self.next_sequence()));
        send(&self.descriptor, &bytes, SendFlags::empty())?;
        let mut first = None;
        // An answer to the beginning refuses the whole transaction, and is the only one; the answer to the
        // last request is the last.
        loop {
            let length = self.receive()?;
            for answer in answers(&self.inbox[..length]).filter(|answer| answer.kind == ERROR) {
                let index = answer.sequence.wrapping_sub(own) as usize;
                if index > count {
                    continue; // of an earlier request, which was given up
                }
                if let Err(refusal) = refusal(&answer) {
                    first.get_or_insert(Refusal { index: index.saturating_sub(1), ..refusal });
                }
                if index == 0 || index == count {
                    return first.map_or(Ok(()), |refusal| Err(refusal.into()));
                }
            }
        }
    }

    /// Waits for the acknowledgements of a batch; reports each refused request.
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
                let index = answer.sequence.wrapping_sub(first) as usize;
                if index >= count {
                    continue; // of an earlier request, which was given up
                }
                waiting -= 1;
                if let Err(refusal) = refusal(&answer) {
                    refused(index, refusal);
                }
            }
        }
        Ok(())
    }

    /// Dumps the kernel's objects of a kind: `read` converts each message of the answer, or returns none for
    /// messages to skip. The dump is repeated if the kernel reports a change during it.
    pub(crate) fn dump<T>(
        &mut self,
        request: &Message,
        into: &mut Vec<T>,
        mut read: impl FnMut(u16, &[u8]) -> io::Result<Option<T>>,
    ) -> io::Result<()> {
        for _ in 0..ATTEMPTS {
            into.clear();
            let sequence = self.next_sequence();
            send(&self.descriptor, request.clone().dumped().finish(sequence), SendFlags::empty())?;
            if self.answers_of(sequence, |kind, payload| {
                into.extend(read(kind, payload)?);
                Ok(())
            })? {
                return Ok(());
            }
        }
        Err(io::Error::new(
            io::ErrorKind::Interrupted,
            "the kernel's list changed during every attempt to read it",
        ))
    }

    /// Returns the kernel's answer to a request about one object.
    pub(crate) fn get<T>(
        &mut self,
        mut request: Message,
        mut read: impl FnMut(u16, &[u8]) -> io::Result<Option<T>>,
    ) -> io::Result<T> {
        let sequence = self.next_sequence();
        send(&self.descriptor, request.acknowledged().finish(sequence), SendFlags::empty())?;
        let mut found = None;
        self.answers_of(sequence, |kind, payload| {
            found = found.take().or(read(kind, payload)?);
            Ok(())
        })?;
        found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the kernel's answer is empty"))
    }

    /// Reads all messages of one answer; returns whether it is consistent. All are read even if one cannot be
    /// parsed, so that the next answer is the next request's.
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

    /// Returns the next message's number, which its answer repeats; the numbers wrap.
    const fn next_sequence(&mut self) -> u32 {
        self.sequence = self.sequence.wrapping_add(1);
        self.sequence
    }

    /// Joins a multicast group; its messages come without a request.
    pub(crate) fn join(&self, group: u32) -> io::Result<()> {
        socket_option::set(&self.descriptor, libc::SOL_NETLINK, libc::NETLINK_ADD_MEMBERSHIP, group)
    }

    /// Enlarges the buffer of messages that wait.
    pub(crate) fn buffer(&self, bytes: usize) -> io::Result<()> {
        Ok(sockopt::set_socket_recv_buffer_size_force(&self.descriptor, bytes)?)
    }

    /// Sends a request without waiting for an answer.
    pub(crate) fn tell(&mut self, mut request: Message) -> io::Result<()> {
        let sequence = self.next_sequence();
        send(&self.descriptor, request.finish(sequence), SendFlags::empty())?;
        Ok(())
    }

    /// Takes the messages of joined groups that have come; does not wait. Returns whether some were lost.
    pub(crate) fn take(&mut self, mut each: impl FnMut(u16, &[u8])) -> io::Result<bool> {
        let mut are_lost = false;
        loop {
            match recv(&self.descriptor, &mut self.inbox[..], RecvFlags::TRUNC | RecvFlags::DONTWAIT) {
                Ok((_, length)) if length <= INBOX => {
                    answers(&self.inbox[..length]).for_each(|one| each(one.kind, one.payload));
                }
                Ok(_) | Err(Errno::NOBUFS) => are_lost = true,
                Err(Errno::INTR) => (),
                Err(Errno::AGAIN) => return Ok(are_lost),
                Err(error) => return Err(error.into()),
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

/// Returns the error of a malformed answer.
pub(crate) fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("netlink: {what}"))
}

/// Iterates over the messages in received bytes, up to one that does not fit.
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

/// Returns the result in an answer's last message: `struct nlmsgerr`, or the number at the end of a dump.
fn refusal(answer: &Answer<'_>) -> Result<(), Refusal> {
    let code = u32_at(answer.payload, 0).unwrap_or_default().cast_signed();
    if code >= 0 {
        return Ok(());
    }
    // The request follows the error: its header alone if the answer is capped. A dump's end has none.
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

/// Returns the number of messages in received bytes, and the number of refusals among them.
pub(crate) fn count(bytes: &[u8]) -> (usize, usize) {
    (answers(bytes).count(), answers(bytes).filter(|answer| refusal(answer).is_err()).count())
}

/// Returns a socket with these answers queued before any request, and the end that receives the requests;
/// their numbers begin at 1.
#[cfg(test)]
pub(crate) fn answered(answers: &[&[Vec<u8>]]) -> (Socket, std::os::unix::net::UnixDatagram) {
    let (own, kernel) = std::os::unix::net::UnixDatagram::pair().expect("a pair of sockets");
    own.set_read_timeout(Some(Duration::from_millis(50))).expect("a time-out");
    kernel.set_read_timeout(Some(Duration::from_millis(50))).expect("a time-out");
    answers.iter().for_each(|at_once| {
        kernel.send(&at_once.concat()).expect("an answer");
    });
    (Socket { descriptor: own.into(), sequence: 0, inbox: vec![0; INBOX] }, kernel)
}

/// Returns `struct nlmsghdr` and its payload (`linux/netlink.h`): length, kind, flags, number, port.
#[cfg(test)]
pub(crate) fn framed(kind: u16, flags: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (HEADER as u32 + payload.len() as u32).to_ne_bytes().to_vec();
    bytes.extend([kind, flags].map(u16::to_ne_bytes).as_flattened());
    bytes.extend([sequence, 99].map(u32::to_ne_bytes).as_flattened());
    bytes.extend_from_slice(payload);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `NLMSG_ERROR` (2) with `struct nlmsgerr`: the negative number of the error, 0 for an
    /// acknowledgement, and the header of the request, capped (`NLM_F_CAPPED`, 0x100).
    fn told(sequence: u32, code: i32) -> Vec<u8> {
        let request = framed(0x0a0c, 0x1, sequence, &[]);
        framed(2, 0x100, sequence, &[&(-code).to_ne_bytes()[..], &request].concat())
    }

    fn requests(count: usize) -> Vec<Message> {
        (0..count).map(|_| Message::new(0x0a0c, 0, &[0; 4])).collect()
    }

    /// Groups are listed as bits, the first one lowest (`NETLINK_LIST_MEMBERSHIPS`, netlink(7)): 1 is `RTNLGRP_LINK`.
    #[test]
    fn joined_group_is_listed_by_the_kernel() {
        let socket = Socket::new(None).expect("a socket");
        let groups = || {
            let list = libc::NETLINK_LIST_MEMBERSHIPS;
            socket_option::value::<1>(&socket.descriptor, libc::SOL_NETLINK, list).expect("groups")
        };
        assert_eq!(groups(), [0]);
        for (group, expected) in [(1, 0b01), (3, 0b101)] {
            socket.join(group).expect("a group that exists");
            assert_eq!(groups(), [expected]);
        }
    }

    /// The kernel doubles the size (`SO_RCVBUF`, socket(7)).
    #[test]
    fn buffer_has_twice_the_given_size() {
        let socket = Socket::new(None).expect("a socket");
        let before = sockopt::socket_recv_buffer_size(&socket.descriptor).expect("a size");
        match socket.buffer(before) {
            Ok(()) => {
                let after = sockopt::socket_recv_buffer_size(&socket.descriptor).expect("a size");
                assert_eq!(after, 2 * before);
            }
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}"),
        }
    }

    /// Makes three requests, 2 to 4, between a begin, 1, and an end, 5 (`NFNL_MSG_BATCH_BEGIN` and `…_END`).
    fn transact(answers: &[&[Vec<u8>]]) -> (io::Result<()>, Vec<u8>) {
        let (mut socket, kernel) = answered(answers);
        let done = socket.transaction(
            Message::new(0x10, 0, &[0, 0, 0, 10]),
            requests(3),
            Message::new(0x11, 0, &[0, 0, 0, 10]),
        );
        let mut asked = vec![0; 1024];
        let length = kernel.recv(&mut asked).expect("it was called");
        asked.truncate(length);
        (done, asked)
    }

    /// Returns the index of the refused request, and the number of the error.
    fn refused(answers: &[&[Vec<u8>]]) -> Option<(usize, i32)> {
        let error = transact(answers).0.err()?;
        let refusal = error.get_ref().and_then(|inner| inner.downcast_ref::<Refusal>());
        Some(refusal.map(|refusal| (refusal.index, refusal.code)).expect("a refusal"))
    }

    #[test]
    fn transaction_requests_a_last_acknowledgement() {
        let (done, asked) = transact(&[&[told(4, 0)]]);
        assert!(done.is_ok(), "{done:?}");
        // Kind, flags and number of each: NLM_F_REQUEST is 1, NLM_F_ACK 4.
        let told: Vec<_> = answers(&asked).map(|one| (one.kind, one.flags, one.sequence)).collect();
        assert_eq!(told, [(0x10, 1, 1), (0x0a0c, 1, 2), (0x0a0c, 1, 3), (0x0a0c, 5, 4), (0x11, 1, 5)]);
    }

    #[test]
    fn refusal_in_a_transaction_names_its_request() {
        // The kernel refuses requests one by one, and acknowledges the last: the first refusal is returned.
        assert_eq!(refused(&[&[told(3, libc::ENOENT)], &[told(4, 0)]]), Some((1, libc::ENOENT)));
        let two = [told(2, libc::EEXIST), told(3, libc::ENOENT), told(4, 0)];
        assert_eq!(refused(&[&two]), Some((0, libc::EEXIST)));
        assert_eq!(refused(&[&[told(4, libc::EINVAL)]]), Some((2, libc::EINVAL)));
        // A refused beginning refuses the whole, and nothing follows.
        assert_eq!(refused(&[&[told(1, libc::EPERM)]]), Some((0, libc::EPERM)));
    }

    #[test]
    fn answers_to_others_end_no_transaction() {
        // One to an earlier request, which was given up; one beyond the end; and a notification that is no
        // answer (NFT_MSG_NEWGEN).
        let news = framed(0x0a0f, 0, 4, &[0; 4]);
        assert_eq!(refused(&[&[told(0, libc::EPERM), told(5, libc::EPERM), news], &[told(4, 0)]]), None);
        // Without an answer the request times out.
        let error = transact(&[&[told(2, libc::ENOENT)]]).0.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn refusals_of_many_batches_are_numbered_through() {
        // 70 requests go out as 64, numbers 1 to 64, and 6, to 70: the 3rd, the 64th and the 66th are
        // refused.
        let answer =
            |sequence| told(sequence, if [3, 64, 66].contains(&sequence) { libc::ENOENT } else { 0 });
        // An answer to an earlier request, one beyond the batch, and a notification do not count.
        let others = [told(u32::MAX, libc::EPERM), told(65, libc::EPERM), framed(0x0a0f, 0, 1, &[0; 4])];
        let first: Vec<_> = others.into_iter().chain((1..=64).map(answer)).collect();
        let second: Vec<_> = (65..=70).map(answer).collect();
        let (mut socket, kernel) = answered(&[&first, &second]);
        let refused = socket.ask_all(requests(70)).expect("all is answered");
        assert_eq!(refused.iter().map(|one| one.index).collect::<Vec<_>>(), [2, 63, 65]);
        let mut asked = vec![0; 4096];
        for count in [64, 6] {
            let length = kernel.recv(&mut asked).expect("it was called");
            assert_eq!(answers(&asked[..length]).filter(|one| one.flags == 5).count(), count);
        }
    }

    #[test]
    fn dump_that_was_interrupted_is_repeated() {
        // NLM_F_MULTI (2) on each part, NLM_F_DUMP_INTR (0x10) after a change; NLMSG_DONE (3) ends it with a
        // number.
        let part = |flags, sequence, value: u8| framed(20, flags, sequence, &[value, 0, 0, 0]);
        let done = |flags, sequence| framed(3, flags, sequence, &0_i32.to_ne_bytes());
        let (mut socket, kernel) = answered(&[
            &[part(2, 1, 7), part(0x12, 1, 8)],
            &[done(2, 1)],
            &[part(2, 1, 5), part(2, 2, 9)],
            &[part(2, 2, 6), done(2, 2)],
        ]);
        let mut into = vec![1];
        let read = |kind, payload: &[u8]| Ok((kind == 20).then(|| payload[0]));
        socket.dump(&Message::new(22, 0, &[0; 4]), &mut into, read).expect("it is answered");
        assert_eq!(into, [9, 6], "nothing of the first, nor of another's");
        let mut asked = vec![0; 1024];
        for sequence in [1, 2] {
            let length = kernel.recv(&mut asked).expect("it was called");
            // NLM_F_DUMP is 0x300.
            let told: Vec<_> = answers(&asked[..length]).map(|one| (one.flags, one.sequence)).collect();
            assert_eq!(told, [(0x301, sequence)]);
        }
    }

    #[test]
    fn part_that_cannot_be_read_fails_the_dump() {
        // The parts behind it are read, so that the next answer is the next request's.
        let part = |sequence, value: u8| framed(20, 2, sequence, &[value, 0, 0, 0]);
        let done = |sequence| framed(3, 2, sequence, &[0; 4]);
        let (mut socket, _kernel) =
            answered(&[&[part(1, 0), part(1, 7)], &[done(1)], &[part(2, 8), done(2)]]);
        let mut dump = || {
            let (mut into, request) = (Vec::new(), Message::new(22, 0, &[0; 4]));
            let read = |_, payload: &[u8]| match payload[0] {
                0 => Err(malformed("a zero")),
                value => Ok(Some(value)),
            };
            socket.dump(&request, &mut into, read).map(|()| into).map_err(|error| error.kind())
        };
        assert_eq!(dump(), Err(io::ErrorKind::InvalidData));
        assert_eq!(dump(), Ok(vec![8]));
    }

    #[test]
    fn request_for_one_thing_gives_the_first() {
        let part = |value: u8| framed(20, 0, 1, &[value, 0, 0, 0]);
        let read = |kind, payload: &[u8]| Ok((kind == 20).then(|| payload[0]));
        let (mut socket, _kernel) = answered(&[&[part(7), part(8)], &[told(1, 0)]]);
        assert_eq!(socket.get(Message::new(22, 0, &[0; 4]), read).ok(), Some(7));
        let (mut socket, _kernel) = answered(&[&[told(1, 0)]]);
        let error = socket.get(Message::new(22, 0, &[0; 4]), read).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let (mut socket, _kernel) = answered(&[&[told(1, libc::EPERM)]]);
        let error = socket.get(Message::new(22, 0, &[0; 4]), read).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn refused_request_alone_is_an_error() {
        let ask = |code| {
            let (mut socket, _kernel) = answered(&[&[told(1, code)]]);
            socket.ask(Message::new(0x0a0c, 0, &[0; 4])).map_err(|error| error.kind())
        };
        assert_eq!(ask(0), Ok(()));
        assert_eq!(ask(libc::ENOENT), Err(io::ErrorKind::NotFound));
    }

    #[test]
    fn device_is_known_by_its_number() {
        // The kernel's `LOOPBACK_IFINDEX` is 1 in each network namespace.
        let (socket, _kernel) = answered(&[]);
        assert_eq!(socket.index("lo").ok(), Some(1));
        let error = socket.index("no-such-device").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }

    /// socket(7): the kernel doubles the requested size; an ordinary user has `net.core.wmem_max` at most.
    #[test]
    fn transaction_of_2_mib_has_room() {
        let socket = Socket::new(None).expect("a socket of the kernel's");
        let room = sockopt::socket_send_buffer_size(&socket.descriptor).expect("an option");
        let bound = std::fs::read_to_string("/proc/sys/net/core/wmem_max").unwrap_or_default();
        let bound = bound.trim().parse().unwrap_or(2_097_152).min(2_097_152);
        assert!([2 * 2_097_152, 2 * bound].contains(&room), "{room} bytes, {bound} for an ordinary user");
    }

    #[test]
    fn answer_beyond_the_inbox_is_refused() {
        let ask = |length: usize| {
            let (mut socket, _kernel) = answered(&[&[told(1, 0), vec![0; length - told(1, 0).len()]]]);
            socket.ask(Message::new(0x0a0c, 0, &[0; 4])).map_err(|error| error.kind())
        };
        assert_eq!(ask(65_536), Ok(()));
        assert_eq!(ask(65_537), Err(io::ErrorKind::InvalidData));
    }

    #[test]
    fn kernels_words_stand_behind_the_request() {
        // NLM_F_ACK_TLVS (0x200) without NLM_F_CAPPED: the whole request is repeated, here its header and 5
        // bytes, aligned to 8.
        let request = framed(0x0a0c, 0x1, 7, &[1, 2, 3, 4, 5]);
        let words = [&[9, 0, 1, 0][..], b"why?\0", &[0; 3]].concat();
        let payload = [&(-libc::EINVAL).to_ne_bytes()[..], &request, &[0; 3], &words].concat();
        let text = |kind, flags, payload: &[u8]| {
            let bytes = framed(kind, flags, 7, payload);
            let answer = answers(&bytes).next().expect("one answer");
            refusal(&answer).map_err(|refused| (refused.code, refused.text))
        };
        assert_eq!(text(2, 0x200, &payload), Err((libc::EINVAL, "why?".to_owned())));
        assert_eq!(text(2, 0, &payload), Err((libc::EINVAL, String::new())), "no attributes are announced");
        // At the end of a dump (NLMSG_DONE) the text follows the number at once.
        let done = [&(-libc::ENODEV).to_ne_bytes()[..], &words].concat();
        assert_eq!(text(3, 0x202, &done), Err((libc::ENODEV, "why?".to_owned())));
        assert_eq!(text(2, 0x100, &0_i32.to_ne_bytes()), Ok(()));
    }

    #[test]
    fn messages_are_counted_with_refusals() {
        let bytes = [told(1, 0), told(2, libc::ENOENT), told(3, libc::EPERM)].concat();
        assert_eq!(count(&bytes), (3, 2));
    }

    /// The kernel's answer to a class without a device, by strace: `EINVAL`, capped, with text.
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

    /// A daemon makes thousands of requests an epoch for months. The request deletes a missing object, so it
    /// changes nothing.
    #[test]
    fn numbers_of_messages_begin_again() {
        let mut socket = Socket::new(None).expect("a socket of the kernel's");
        socket.sequence = u32::MAX - 2;
        let nothing = || Message::new(libc::RTM_DELTCLASS, 0, &[0; 20]);
        let refused = socket.ask_all((0..70).map(|_| nothing())).expect("the kernel answers");
        assert_eq!(refused.iter().map(|one| one.index).collect::<Vec<_>>(), (0..70).collect::<Vec<_>>());
        socket.sequence = u32::MAX - 1;
        let mut links = Vec::new();
        let request = Message::new(libc::RTM_GETLINK, 0, &[0; 16]);
        for _ in 0..3 {
            socket.dump(&request, &mut links, |kind, _| Ok(Some(kind))).expect("the kernel answers");
            assert!(!links.is_empty() && links.iter().all(|kind| *kind == libc::RTM_NEWLINK));
        }
    }

    #[test]
    fn truncated_message_ends() {
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
