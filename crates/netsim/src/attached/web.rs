//! Web clients and their server: requests, each answered.
//!
//! A connection of TCP carries data both ways, an endpoint of `evenair-tcp` one way: one for the requests and one for the replies are its
//! halves, and the second opens without a handshake, because the first has made it. Acknowledgements are packets of their own: they do not ride
//! on the other half's data. A message is as many segments as it needs, the last of them shorter.

use super::{Attached, Due};
use crate::core::Core;
use crate::spec::{WebConnection, WebRequest};
use evenair_des::Stream;
use evenair_units::Instant;
use std::collections::VecDeque;

/// The counts of a web flow.
#[derive(Clone, Debug)]
pub(crate) struct Web {
    /// When requests are made, and how large they and their replies are.
    stream: Stream,
    /// The half that carries requests, where one connection carries all.
    persistent: Option<u32>,
    /// Requests made since the warm-up.
    requests: u64,
    /// Of the replies, delivered: in all, and before the warm-up ended.
    bytes: u64,
    bytes_before: u64,
}

/// A request and its reply.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    made: Instant,
    request_bytes: u32,
    reply_bytes: u32,
}

/// A request, or a reply, on its connection.
#[derive(Clone, Copy, Debug)]
struct Message {
    exchange: Exchange,
    bytes: u32,
    /// One more than its last segment.
    end: u32,
    /// When it was given to the connection.
    handed: Instant,
}

/// One half of a web connection.
#[derive(Clone, Debug)]
pub(crate) struct Half {
    /// It carries replies: its data go from the flow's destination to its source.
    pub(crate) replies: bool,
    /// The half with the replies to this half's requests, in a persistent connection; none once all are answered.
    partner: Option<u32>,
    /// Its requests or replies, from the oldest on that is not acknowledged.
    messages: VecDeque<Message>,
    /// How many of those have been delivered.
    delivered: usize,
    /// Segments of all messages so far.
    end: u32,
    /// No message follows the present ones.
    last: bool,
}

impl Web {
    pub(crate) const fn new(stream: Stream) -> Self {
        Self { stream, persistent: None, requests: 0, bytes: 0, bytes_before: 0 }
    }

    /// The warm-up is over.
    pub(crate) const fn start_measuring(&mut self) {
        self.bytes_before = self.bytes;
    }

    /// Of the replies, delivered since the warm-up.
    pub(crate) const fn measured_bytes(&self) -> u64 {
        self.bytes - self.bytes_before
    }

    /// Requests since the warm-up.
    pub(crate) const fn requests(&self) -> u64 {
        self.requests
    }
}

impl Half {
    pub(super) const fn new(replies: bool) -> Self {
        Self { replies, partner: None, messages: VecDeque::new(), delivered: 0, end: 0, last: false }
    }

    /// Whether no message follows the present ones.
    pub(super) const fn is_last(&self) -> bool {
        self.last
    }

    fn push(&mut self, handed: Instant, exchange: Exchange, payload: u32) {
        let bytes = if self.replies { exchange.reply_bytes } else { exchange.request_bytes };
        debug_assert!(bytes > 0 && !self.last, "a message after the last, or none");
        self.end += bytes.div_ceil(payload);
        self.messages.push_back(Message { exchange, bytes, end: self.end, handed });
    }

    /// A request or reply that is acknowledged is not sent again.
    fn forget(&mut self, acknowledged: u32) {
        while self.delivered > 0 && self.messages.front().is_some_and(|message| message.end <= acknowledged) {
            self.messages.pop_front();
            self.delivered -= 1;
        }
    }

    fn message_of(&self, number: u32) -> &Message {
        let message = self.messages.iter().find(|message| number < message.end);
        message.expect("a segment of a message that is not acknowledged")
    }

    /// When a segment was given to the connection.
    pub(super) fn handed_over(&self, number: u32) -> Instant {
        self.message_of(number).handed
    }

    /// Data in a segment \[bytes\].
    pub(super) fn payload_of(&self, number: u32, payload: u32) -> u32 {
        let message = self.message_of(number);
        if number + 1 == message.end { (message.bytes - 1) % payload + 1 } else { payload }
    }
}

impl Attached {
    /// A web client becomes active.
    pub(super) fn start_web(&mut self, core: &mut Core<Due>, flow: u32) {
        let event = Due::Request(flow, self.flows[flow as usize].run);
        core.call_at(core.now(), event);
    }

    /// A client makes no more requests; those that it has made are answered all the same.
    pub(super) fn stop_web(&mut self, core: &mut Core<Due>, flow: u32) {
        let Some(requests) = self.flows[flow as usize].web.as_mut().and_then(|web| web.persistent.take())
        else {
            return;
        };
        self.half(requests).last = true;
        self.end_replies(core, requests);
        self.pump(core, requests);
    }

    /// The replies of a connection that persists end with that to its last request: once, because a request that is repeated after
    /// that finds another connection in the place of the half for replies.
    fn end_replies(&mut self, core: &mut Core<Due>, requests: u32) {
        let half = self.half(requests);
        if !half.last || half.delivered < half.messages.len() {
            return;
        }
        if let Some(replies) = half.partner.take() {
            debug_assert!(self.half(replies).replies, "its place has been given away");
            self.half(replies).last = true;
            self.pump(core, replies);
        }
    }

    /// A client makes a request.
    pub(super) fn on_request(&mut self, core: &mut Core<Due>, flow: u32, run: u32) {
        if !self.is_current(flow, run) {
            return;
        }
        let now = core.now();
        let warm = now >= self.warm_at;
        let state = &mut self.flows[flow as usize];
        let (Some(spec), Some(web)) = (state.traffic.web(), &mut state.web) else { return };
        let WebRequest { request, reply, next_in } = spec.draw(&mut web.stream);
        let exchange = Exchange { made: now, request_bytes: request.count(), reply_bytes: reply.count() };
        web.requests += u64::from(warm);
        let (connection, persistent) = (spec.connection, web.persistent);
        core.call_at(now + next_in, Due::Request(flow, run));
        let requests = match (connection, persistent) {
            (WebConnection::Persistent, Some(requests)) => requests,
            (WebConnection::Persistent, None) => self.open_pair(now, flow),
            (WebConnection::PerRequest, _) => self.open_half(now, flow, false),
        };
        self.send_message(core, requests, exchange, connection == WebConnection::PerRequest);
    }

    /// Opens a connection that persists; gives the half for requests.
    fn open_pair(&mut self, now: Instant, flow: u32) -> u32 {
        let (requests, replies) = (self.open_half(now, flow, false), self.open_half(now, flow, true));
        self.half(requests).partner = Some(replies);
        self.flows[flow as usize].web.as_mut().expect("a web flow").persistent = Some(requests);
        requests
    }

    fn half(&mut self, connection: u32) -> &mut Half {
        self.connections[connection as usize].half.as_mut().expect("half of a web connection")
    }

    fn send_message(&mut self, core: &mut Core<Due>, connection: u32, exchange: Exchange, last: bool) {
        let place = &mut self.connections[connection as usize];
        let payload = self.flows[place.flow as usize].unit_bytes();
        let half = place.half.as_mut().expect("half of a web connection");
        half.forget(place.sender.acknowledged());
        half.push(core.now(), exchange, payload);
        half.last = last;
        place.sender.supply(half.end);
        self.pump(core, connection);
    }

    /// A connection has delivered segments in order, from this one on, of requests or of replies.
    pub(super) fn deliver_web(&mut self, core: &mut Core<Due>, connection: u32, before: u32) {
        let now = core.now();
        let place = &mut self.connections[connection as usize];
        let (flow, in_order) = (place.flow, place.receiver.in_order());
        let half = place.half.as_mut().expect("half of a web connection");
        let state = &mut self.flows[flow as usize];
        let (payload, warm_at) = (state.unit_bytes(), self.warm_at);
        let web = state.web.as_mut().expect("a web flow");
        if half.replies {
            let bytes: u32 = (before..in_order).map(|number| half.payload_of(number, payload)).sum();
            web.bytes += u64::from(bytes);
        }
        let from = half.delivered;
        let come = half.messages.iter().skip(from).take_while(|message| message.end <= in_order);
        let exchanges: Vec<Exchange> = come.map(|message| message.exchange).collect();
        half.delivered += exchanges.len();
        if half.replies {
            let measured = exchanges.iter().filter(|exchange| exchange.made >= warm_at);
            measured.for_each(|exchange| state.complete(now.since(exchange.made)));
            return self.hand_over(now, connection, in_order - before);
        }
        place.handed.drain(..place.handed.len().min((in_order - before) as usize)); // the flow's data are the replies
        let partner = half.partner;
        for exchange in exchanges {
            let replies = partner.unwrap_or_else(|| self.open_half(now, flow, true));
            self.send_message(core, replies, exchange, partner.is_none());
        }
        self.end_replies(core, connection);
    }
}
