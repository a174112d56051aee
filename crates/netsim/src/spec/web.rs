//! Web traffic.

use super::TcpSpec;
use evenair_des::Stream;
use evenair_units::{Bytes, Duration};

/// Requests to a server, each answered ([Jam10] section 8.2.5, J15): the flow's source is the client, its destination the server.
#[derive(Clone, Debug, PartialEq)]
pub struct WebSpec {
    /// The endpoints of its connections; how much there is to send is the requests' and the replies'.
    pub tcp: TcpSpec,
    /// Mean time between requests.
    pub interval: Duration,
    /// How requests follow each other.
    pub arrivals: Arrivals,
    /// The least and the greatest size of a request; evenly between.
    pub request: (Bytes, Bytes),
    /// Mean size of a reply, and its standard deviation: normal, at least a byte.
    pub reply: Bytes,
    /// The standard deviation.
    pub reply_deviation: Bytes,
    /// Over which connections they go.
    pub connection: WebConnection,
}

/// A request by chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebRequest {
    /// Its size.
    pub request: Bytes,
    /// That of its reply.
    pub reply: Bytes,
    /// How long after it the next one is made.
    pub next_in: Duration,
}

impl WebSpec {
    /// The next request.
    pub fn draw(&self, stream: &mut Stream) -> WebRequest {
        let (least, most) = (self.request.0.count(), self.request.1.count());
        let request = Bytes::new(least + stream.up_to(most - least));
        let reply = f64::from(self.reply.count()) + f64::from(self.reply_deviation.count()) * stream.normal();
        let next_in = match self.arrivals {
            Arrivals::Even => self.interval,
            Arrivals::Poisson => stream.exponential(self.interval),
        };
        WebRequest { request, reply: Bytes::new(reply.round().max(1.0) as u32), next_in }
    }

    /// Bytes of requests over those of replies, on average, with the headers of a packet for each full segment begun.
    pub fn request_share(&self) -> f64 {
        let whole = |bytes: f64| {
            let payload = f64::from(self.tcp.payload.count());
            bytes + (bytes / payload).ceil() * f64::from(self.tcp.plain_headers().count())
        };
        let request = f64::midpoint(f64::from(self.request.0.count()), f64::from(self.request.1.count()));
        whole(request) / whole(f64::from(self.reply.count()))
    }
}

/// How requests follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// At even distances.
    #[default]
    Even,
    /// At exponential distances: independently of each other.
    Poisson,
}

/// Over which connections requests and replies go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WebConnection {
    /// All over one, the replies in the order of the requests.
    #[default]
    Persistent,
    /// Each request over one of its own, which the reply ends.
    PerRequest,
}
