//! Web clients and their server: requests over TCP, each answered.
//!
//! The replies are agreed here and not in the requests, which are as short as in the scenario.

use super::flow::Flow;
use super::sockets::{push, take};
use evenair_netsim::{WebConnection, WebRequest, WebSpec};
use evenair_units::{Duration, Instant};
use std::collections::{BTreeMap, VecDeque};
use std::net::{Shutdown, TcpStream};

/// A request and its reply.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    made: Instant,
    request_bytes: u64,
    reply_bytes: u64,
}

impl Exchange {
    const fn request(&self) -> u64 {
        self.request_bytes
    }

    const fn reply(&self) -> u64 {
        self.reply_bytes
    }
}

/// The outstanding requests of a flow's clients, by the ports of their connections.
#[derive(Debug, Default)]
pub(super) struct Web {
    /// Exchanges that the server has yet to answer.
    asked: BTreeMap<u16, VecDeque<Exchange>>,
    /// The place of the client's end of the persistent connection.
    pub(super) persistent: Option<usize>,
}

/// An end of a connection.
#[derive(Debug)]
pub(super) struct End {
    stream: TcpStream,
    /// The client's port.
    pub(super) port: u16,
    /// Whether it is the server's.
    pub(super) is_server: bool,
    /// Bytes that it has to send.
    left: u64,
    /// Bytes received of the first awaited message.
    received: u64,
    /// The client's requests with outstanding replies.
    awaits: VecDeque<Exchange>,
    /// Whether nothing follows its present data.
    is_last: bool,
    has_shut: bool,
}

impl Web {
    /// Draws the next request; returns it, and the time until the one after.
    pub(super) fn next(flow: &mut Flow, spec: &WebSpec, made: Instant) -> (Request, Duration) {
        let WebRequest { request, reply, next_in } = spec.draw(&mut flow.stream);
        flow.requests += u64::from(made >= flow.warm_at);
        let (request_bytes, reply_bytes) = (u64::from(request.count()), u64::from(reply.count()));
        (Request(Exchange { made, request_bytes, reply_bytes }), next_in)
    }
}

/// A request to be made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request(Exchange);

/// Removes and returns the exchanges with all bytes received.
fn whole(
    awaited: &mut VecDeque<Exchange>,
    received: &mut u64,
    bytes: fn(&Exchange) -> u64,
) -> impl Iterator<Item = Exchange> {
    std::iter::from_fn(move || {
        *received = received.checked_sub(bytes(awaited.front()?))?;
        awaited.pop_front()
    })
}

impl End {
    /// Returns an end of a connection, the client's or the server's; `port` is the client's.
    pub(super) const fn new(stream: TcpStream, port: u16, is_server: bool) -> Self {
        let awaits = VecDeque::new();
        Self { stream, port, is_server, left: 0, received: 0, awaits, is_last: false, has_shut: false }
    }

    pub(super) const fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Returns whether more may be sent over it.
    pub(super) const fn is_open(&self) -> bool {
        !self.has_shut
    }

    /// Makes the client's request; over a separate connection it is the last.
    pub(super) fn ask(&mut self, Request(exchange): Request, flow: &mut Flow, connection: WebConnection) {
        self.is_last = connection == WebConnection::PerRequest;
        self.left += exchange.request_bytes;
        self.awaits.push_back(exchange);
        flow.web.asked.entry(self.port).or_default().push_back(exchange);
        self.send();
    }

    /// Ends the client's requests.
    pub(super) fn finish(&mut self) {
        self.is_last = true;
        self.send();
    }

    /// Serves a readable or writable end; returns whether it is over.
    pub(super) fn serve(&mut self, now: Instant, flow: &mut Flow) -> bool {
        let (received, ended) = take(&self.stream);
        self.received += received;
        if self.is_server {
            if let Some(asked) = flow.web.asked.get_mut(&self.port) {
                self.left += whole(asked, &mut self.received, Exchange::request)
                    .map(|next| next.reply_bytes)
                    .sum::<u64>();
            }
            self.is_last |= ended;
        } else {
            flow.deliver(now, received);
            for exchange in whole(&mut self.awaits, &mut self.received, Exchange::reply) {
                flow.took.extend((exchange.made >= flow.warm_at).then(|| now.since(exchange.made)));
            }
        }
        // The server's end is over when the client's is, which has received everything by then.
        let alive = self.send();
        let over = !alive || ended && !self.is_server;
        if over {
            flow.web.asked.remove(&self.port);
        }
        over
    }

    /// Writes the present data; returns whether the connection is alive.
    fn send(&mut self) -> bool {
        let alive = push(&self.stream, &mut self.left, usize::MAX); // a reply is one write
        if alive && self.left == 0 && self.is_last && !self.has_shut {
            // A connection that is still opening cannot be shut; an event follows when it is open.
            self.has_shut = self.stream.shutdown(Shutdown::Write).is_ok();
        }
        alive
    }
}
