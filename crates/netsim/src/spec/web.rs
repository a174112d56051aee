//! Web traffic.

use super::TcpSpec;
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

impl WebSpec {
    /// Bytes of requests over those of replies, on average, with the headers of a packet for each full segment begun.
    pub fn request_share(&self) -> f64 {
        let whole = |bytes: f64| {
            let payload = f64::from(self.tcp.payload.count());
            bytes + (bytes / payload).ceil() * f64::from(self.tcp.headers.count())
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
