//! Two endpoints and the wire between them, in virtual time.

use quinn_proto::{Connection, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, ServerConfig};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The wire's rate [bytes/s], and its delay each way.
pub const RATE: f64 = 10e6 / 8.0;
pub const DELAY: Duration = Duration::from_millis(20);

/// One end, and the packets under way to it.
pub struct End {
    pub endpoint: Endpoint,
    pub connection: Option<(ConnectionHandle, Connection)>,
    peer: SocketAddr,
    coming: VecDeque<(Instant, Vec<u8>)>,
    /// When the wire to it is free again, and for how long datagrams may wait for it.
    free: Instant,
    room: Duration,
    /// How long the wire to it takes.
    pub delay: Duration,
}

impl End {
    pub fn new(server: Option<ServerConfig>, peer: SocketAddr, now: Instant, room: Duration) -> Self {
        let endpoint =
            Endpoint::new(Arc::new(EndpointConfig::default()), server.map(Arc::new), false, Some([7; 32]));
        Self { endpoint, connection: None, peer, coming: VecDeque::new(), free: now, room, delay: DELAY }
    }

    /// The next instant at which something happens here.
    pub fn next(&mut self) -> Option<Instant> {
        let timer = self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        self.coming.front().map(|(at, _)| *at).into_iter().chain(timer).min()
    }

    /// Takes a datagram onto the wire to this end: one after the other, and then the delay. Where there is no room it is lost.
    fn carry(&mut self, now: Instant, datagram: Vec<u8>) {
        if self.free > now + self.room {
            return;
        }
        self.free = self.free.max(now) + Duration::from_secs_f64(datagram.len() as f64 / RATE);
        // In order, though the wire may have become shorter.
        let before = self.coming.back().map_or(now, |(at, _)| *at);
        self.coming.push_back((before.max(self.free + self.delay), datagram));
    }

    /// Receives due packets, lets timers expire, and sends.
    pub fn turn(&mut self, now: Instant, peer: &mut Self) {
        while self.coming.front().is_some_and(|(at, _)| *at <= now) {
            let (_, datagram) = self.coming.pop_front().expect("there is one");
            self.hear(now, &datagram, peer);
        }
        let Some((handle, connection)) = &mut self.connection else { return };
        if connection.poll_timeout().is_some_and(|at| at <= now) {
            connection.handle_timeout(now);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        let mut out = Vec::new();
        while let Some(transmit) = connection.poll_transmit(now, 1, &mut out) {
            peer.carry(now, out[..transmit.size].to_vec());
            out.clear();
        }
    }

    fn hear(&mut self, now: Instant, datagram: &[u8], peer: &mut Self) {
        let mut out = Vec::new();
        match self.endpoint.handle(now, self.peer, None, None, datagram.into(), &mut out) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                self.connection.as_mut().expect("it is accepted").1.handle_event(event);
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.connection =
                    Some(self.endpoint.accept(incoming, now, &mut out, None).expect("it is accepted"));
            }
            Some(DatagramEvent::Response(transmit)) => peer.carry(now, out[..transmit.size].to_vec()),
            None => (),
        }
    }
}
