//! Web traffic, complete.

use super::flow::Wrong;
use crate::language::{ArrivalsName, ConnectionName, WebTable};
use crate::quantity::{Size, Time};
use evenair_netsim::{Arrivals, TcpSpec, WebConnection, WebSpec};
use evenair_units::{Bytes, Duration};
use serde::Serialize;

/// Requests and replies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ResolvedWeb {
    /// Mean time between requests.
    pub interval: Time,
    /// How requests follow each other.
    pub arrivals: ArrivalsName,
    /// The least and the greatest size of a request.
    pub request: [Size; 2],
    /// Mean size of a reply.
    pub reply: Size,
    /// Standard deviation of the replies' sizes.
    pub reply_deviation: Size,
    /// Over which connections they go.
    pub connection: ConnectionName,
}

/// The largest reply, on average \[bytes\]: segments of a connection are counted with 32 bits.
const REPLY_BYTES_MAX: u32 = 1_000_000_000;

impl WebTable {
    /// [Jam10] section 8.2.5, where nothing else is said.
    pub(super) fn resolve(self) -> Result<ResolvedWeb, Wrong> {
        let size = |given: Option<Size>, bytes: u32| given.unwrap_or(Size(Bytes::new(bytes)));
        let web = ResolvedWeb {
            interval: self.interval.unwrap_or(Time(Duration::from_millis(200))),
            arrivals: self.arrivals,
            request: self.request.unwrap_or([200, 1000].map(|bytes| Size(Bytes::new(bytes)))),
            reply: size(self.reply, 50_000),
            reply_deviation: size(self.reply_deviation, if self.reply.is_some() { 0 } else { 10_000 }),
            connection: self.connection,
        };
        let [least, most] = web.request.map(|size| size.0.count());
        if web.interval.0.is_zero() {
            return Err(("web.interval", "must be longer than no time".into()));
        }
        if least == 0 || least > most {
            return Err(("web.request", "is the least and the greatest size, of a byte at least".into()));
        }
        if web.reply.0.count() == 0 {
            return Err(("web.reply", "must be at least 1 byte".into()));
        }
        for (key, size) in [("web.reply", web.reply), ("web.reply_deviation", web.reply_deviation)] {
            if size.0.count() > REPLY_BYTES_MAX {
                return Err((key, "must be at most 1 GB".into()));
            }
        }
        Ok(web)
    }
}

impl ResolvedWeb {
    pub(crate) fn spec(self, tcp: TcpSpec) -> WebSpec {
        WebSpec {
            tcp,
            interval: self.interval.0,
            arrivals: match self.arrivals {
                ArrivalsName::Even => Arrivals::Even,
                ArrivalsName::Poisson => Arrivals::Poisson,
            },
            request: (self.request[0].0, self.request[1].0),
            reply: self.reply.0,
            reply_deviation: self.reply_deviation.0,
            connection: match self.connection {
                ConnectionName::PerRequest => WebConnection::PerRequest,
                ConnectionName::Persistent => WebConnection::Persistent,
            },
        }
    }
}
