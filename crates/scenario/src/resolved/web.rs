//! Web traffic.

use super::flow::Wrong;
use crate::language::{ArrivalsName, ConnectionName, WebTable};
use crate::quantity::{Size, Time};
use evenair_netsim::{Arrivals, TcpSpec, WebConnection, WebSpec};
use evenair_units::{Bytes, Duration};

/// The largest reply, on average \[bytes\]: segments of a connection are counted with 32 bits.
const REPLY_BYTES_MAX: u32 = 1_000_000_000;

impl WebTable {
    /// [Jam10] section 8.2.5, where nothing else is said.
    pub(crate) fn complete(&mut self, tcp: TcpSpec) -> Result<WebSpec, Wrong> {
        let deviation = if self.reply.is_some() { 0 } else { 10_000 };
        let size = |bytes: u32| Size(Bytes::new(bytes));
        let [least, most] = *self.request.get_or_insert([200, 1000].map(size));
        let web = WebSpec {
            tcp,
            interval: self.interval.get_or_insert(Time(Duration::from_millis(200))).0,
            arrivals: match self.arrivals {
                ArrivalsName::Even => Arrivals::Even,
                ArrivalsName::Poisson => Arrivals::Poisson,
            },
            request: (least.0, most.0),
            reply: self.reply.get_or_insert(size(50_000)).0,
            reply_deviation: self.reply_deviation.get_or_insert(size(deviation)).0,
            connection: match self.connection {
                ConnectionName::PerRequest => WebConnection::PerRequest,
                ConnectionName::Persistent => WebConnection::Persistent,
            },
        };
        if web.interval.is_zero() {
            return Err(("web.interval", "must be above 0 s".into()));
        }
        if least.0.count() == 0 || least > most {
            return Err(("web.request", "is the least and the greatest size, of a byte at least".into()));
        }
        if web.reply.count() == 0 {
            return Err(("web.reply", "must be at least 1 byte".into()));
        }
        for (key, size) in [("web.reply", web.reply), ("web.reply_deviation", web.reply_deviation)] {
            if size.count() > REPLY_BYTES_MAX {
                return Err((key, "must be at most 1 GB".into()));
            }
        }
        Ok(web)
    }
}
