//! Wi-Fi interfaces by nl80211 (`linux/nl80211.h`): kind and channel, the stations and their queues, the limits
//! of its channel, and the registers of its access categories.
//!
//! An access category has its number in Linux: 0 voice, 1 video, 2 best effort, 3 background.

mod limits;
mod news;
mod stations;

pub use limits::Limit;
pub use news::News;
pub use stations::{Queue, Station};

use crate::netlink::attributes::{Attributes, text, u32_of};
use crate::netlink::generic::{Family, attributes};
use crate::netlink::message::Message;
use std::io;

/// Number of access categories.
pub const CATEGORIES: usize = 4;

/// `NL80211_CMD_GET_WIPHY`, `SET_WIPHY`, `NEW_WIPHY`, `GET_INTERFACE`, `NEW_INTERFACE`, `GET_STATION` and `NEW_STATION`.
const GET_WIPHY: u8 = 1;
const SET_WIPHY: u8 = 2;
const GET_INTERFACE: u8 = 5;
const GET_STATION: u8 = 17;
/// `NL80211_ATTR_WIPHY`, `IFINDEX`, `IFNAME`, `IFTYPE`, `WIPHY_FREQ`, `CHANNEL_WIDTH`, `WIPHY_TXQ_PARAMS` and
/// `SPLIT_WIPHY_DUMP`.
const WIPHY: u16 = 1;
const INDEX: u16 = 3;
const NAME: u16 = 4;
const KIND: u16 = 5;
const FREQUENCY: u16 = 38;
const WIDTH: u16 = 159;
const QUEUE_PARAMETERS: u16 = 37;
const SPLIT: u16 = 174;
/// `NL80211_TXQ_ATTR_AC`, `TXOP`, `CWMIN`, `CWMAX` and `AIFS`.
const CATEGORY: u16 = 1;
const TXOP: u16 = 2;
const WINDOW_MIN: u16 = 3;
const WINDOW_MAX: u16 = 4;
const AIFSN: u16 = 5;

/// The kind of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A member of an ad hoc network (IBSS).
    AdHoc,
    /// A client of an access point.
    Station,
    /// An access point, or the owner of a Wi-Fi Direct group.
    AccessPoint,
    /// A member of an 802.11s mesh.
    Mesh,
    /// A monitor.
    Monitor,
    /// Another kind, by its number in `enum nl80211_iftype`.
    Other(u32),
}

impl From<u32> for Kind {
    fn from(number: u32) -> Self {
        match number {
            1 => Self::AdHoc,
            2 | 8 => Self::Station,
            3 | 9 => Self::AccessPoint,
            6 => Self::Monitor,
            7 => Self::Mesh,
            other => Self::Other(other),
        }
    }
}

/// A Wi-Fi interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// The number of its radio.
    pub radio: u32,
    /// The centre of its channel \[MHz\]; none before it has one.
    pub frequency_mhz: Option<u32>,
    /// Whether its channel is one of 802.11n or later, which send aggregates.
    pub aggregates: bool,
}

impl Interface {
    /// Reads a message about an interface.
    pub(crate) fn read(payload: &[u8]) -> io::Result<Option<Self>> {
        let attributes = attributes(payload)?;
        let number = |kind| attributes.find(kind).and_then(u32_of);
        let (Some(index), Some(radio), Some(kind)) = (number(INDEX), number(WIPHY), number(KIND)) else {
            return Ok(None);
        };
        Ok(Some(Self {
            index,
            name: attributes.find(NAME).map(text).unwrap_or_default(),
            kind: kind.into(),
            radio,
            frequency_mhz: number(FREQUENCY),
            // NL80211_CHAN_WIDTH_20_NOHT is 0; 5 and 10 MHz, 6 and 7, have no aggregates either.
            aggregates: !matches!(number(WIDTH), None | Some(0 | 6 | 7)),
        }))
    }
}

/// The registers of an access category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The category's number.
    pub category: u8,
    /// `CWmin` \[slots\].
    pub window_min: u16,
    /// `CWmax` \[slots\].
    pub window_max: u16,
    /// AIFSN \[slots\].
    pub aifsn: u8,
    /// The TXOP limit \[32 µs\].
    pub txop_units: u16,
}

impl Parameters {
    /// Whether the kernel keeps them without a warning: 1 ≤ `CWmin` ≤ `CWmax`. It refuses others, but stores them first.
    const fn is_safe(self) -> bool {
        self.window_min >= 1 && self.window_min <= self.window_max && (self.category as usize) < CATEGORIES
    }
}

/// A connection to nl80211.
#[derive(Debug)]
pub struct Wireless {
    family: Family,
}

impl Wireless {
    /// Connects to nl80211.
    ///
    /// # Errors
    /// `NotFound` if the kernel has no Wi-Fi, or its module is not loaded.
    pub fn new() -> io::Result<Self> {
        Ok(Self { family: Family::new("nl80211")? })
    }

    /// Returns all Wi-Fi interfaces.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn interfaces(&mut self) -> io::Result<Vec<Interface>> {
        self.dump(&self.family.request(GET_INTERFACE), Interface::read)
    }

    /// Returns the stations of an interface, each with its counters.
    ///
    /// # Errors
    /// If the interface does not exist.
    pub fn stations(&mut self, index: u32) -> io::Result<Vec<Station>> {
        let mut request = self.family.request(GET_STATION);
        request.put_u32(INDEX, index);
        self.dump(&request, Station::read)
    }

    /// Returns the limits of each category that the country sets to clients on a channel; none if it sets none.
    /// For access points they are the same or looser.
    ///
    /// # Errors
    /// If the radio does not exist.
    pub fn limits(&mut self, radio: u32, frequency_mhz: u32) -> io::Result<Option<[Limit; CATEGORIES]>> {
        let mut request = self.family.request(GET_WIPHY);
        // Limits are only in the answer of many messages.
        request.put_u32(WIPHY, radio).put(SPLIT, &[]);
        let all = self.dump(&request, |payload| limits::read(payload, frequency_mhz))?;
        Ok(all.into_iter().next())
    }

    /// Sets the registers of a category of an access point that is up.
    ///
    /// The kernel's "ok" is no proof: a driver may round or ignore them, and the kernel cuts them to the country's
    /// limits. Nothing tells the values in force.
    ///
    /// # Errors
    /// `EINVAL` if the interface is not an access point, `ENETDOWN` if it is down, `EPERM` without `CAP_NET_ADMIN`,
    /// `EOPNOTSUPP` if the driver takes no registers. `InvalidInput`, without asking the kernel, if `CWmin` is 0 or above
    /// `CWmax`: the kernel stores these before it refuses them.
    pub fn set(&mut self, index: u32, parameters: Parameters) -> io::Result<()> {
        if !parameters.is_safe() {
            let why = format!("{parameters:?}: CWmin is 0, or above CWmax, or there is no such category");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let request = setting(self.family.request(SET_WIPHY), index, parameters);
        self.family.socket.ask(request)
    }

    fn dump<T>(
        &mut self,
        request: &Message,
        read: impl Fn(&[u8]) -> io::Result<Option<T>>,
    ) -> io::Result<Vec<T>> {
        let (number, mut all) = (self.family.number(), Vec::new());
        self.family.socket.dump(
            request,
            &mut all,
            |kind, payload| {
                if kind == number { read(payload) } else { Ok(None) }
            },
        )?;
        Ok(all)
    }
}

/// Returns the request to set a category's registers.
fn setting(mut request: Message, index: u32, parameters: Parameters) -> Message {
    let Parameters { category, window_min, window_max, aifsn, txop_units } = parameters;
    request.put_u32(INDEX, index).nest(QUEUE_PARAMETERS, |all| {
        all.nest(1, |one| {
            one.put(CATEGORY, &[category])
                .put(TXOP, &txop_units.to_ne_bytes())
                .put(WINDOW_MIN, &window_min.to_ne_bytes())
                .put(WINDOW_MAX, &window_max.to_ne_bytes())
                .put(AIFSN, &[aifsn]);
        });
    });
    request
}

/// Parses bytes as every message of nl80211, for the fuzzer.
pub(crate) fn parse(bytes: &[u8]) {
    let _ = (Interface::read(bytes), Station::read(bytes), limits::read(bytes, 5180));
    let _ = Attributes::new(bytes).count();
    news::parse(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::HEADER;
    use crate::netlink::generic::request;
    use proptest::prelude::*;

    /// The bytes of an independent program in C, built on the kernel's headers, for interface 3 (`ifindex`), best effort, `CWmin` 7,
    /// `CWmax` 15, AIFSN 2 and a TXOP of 47 units: 60 bytes.
    #[test]
    fn set_has_the_bytes_of_the_headers() {
        let parameters = Parameters { category: 2, window_min: 7, window_max: 15, aifsn: 2, txop_units: 47 };
        let mut message = setting(request(0x1d, SET_WIPHY), 3, parameters);
        let bytes = &message.finish(1)[HEADER..];
        let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        assert_eq!(bytes.len(), 60);
        assert_eq!(hex, GOLDEN);
    }

    const GOLDEN: &str = "020100000800030003000000300025802c0001800500010002000000060002002f0000000600030007000000060004000f0000000500050002000000";

    #[test]
    fn windows_that_kernel_warns_of_are_never_sent() {
        let good = Parameters { category: 3, window_min: 1, window_max: 1, aifsn: 0, txop_units: 0 };
        assert!(good.is_safe());
        assert!(!Parameters { window_min: 0, ..good }.is_safe());
        assert!(!Parameters { window_min: 3, ..good }.is_safe());
        assert!(!Parameters { category: 4, ..good }.is_safe());
    }

    /// Returns a message about an interface (`NL80211_CMD_NEW_INTERFACE`).
    fn interface(kind: u32, width: Option<u32>) -> Vec<u8> {
        let mut message = request(0x1d, 7);
        message.put_u32(INDEX, 3).put_text(NAME, "wlan0").put_u32(WIPHY, 1).put_u32(KIND, kind);
        if let Some(width) = width {
            message.put_u32(FREQUENCY, 5180).put_u32(WIDTH, width);
        }
        message.finish(1)[HEADER..].to_vec()
    }

    #[test]
    fn an_interface_is_read() {
        let bytes = interface(3, Some(0));
        let read = Interface::read(&bytes).unwrap().unwrap();
        let expected = Interface {
            index: 3,
            name: "wlan0".into(),
            kind: Kind::AccessPoint,
            radio: 1,
            frequency_mhz: Some(5180),
            aggregates: false,
        };
        assert_eq!(read, expected);
        // NL80211_CHAN_WIDTH_80 is 3.
        assert!(Interface::read(&interface(9, Some(3))).unwrap().unwrap().aggregates);
        let idle = Interface::read(&interface(2, None)).unwrap().unwrap();
        assert_eq!((idle.kind, idle.frequency_mhz, idle.aggregates), (Kind::Station, None, false));
        assert_eq!(Interface::read(&bytes[..8]).unwrap(), None);
        assert!(Interface::read(&bytes[..2]).is_err());
    }

    #[test]
    fn kinds_have_their_numbers() {
        use Kind::{AccessPoint, AdHoc, Mesh, Monitor, Other, Station};
        let kinds = [1, 2, 3, 4, 6, 7, 8, 9].map(Kind::from);
        assert_eq!(kinds, [AdHoc, Station, AccessPoint, Other(4), Monitor, Mesh, Station, AccessPoint]);
    }

    proptest! {
        /// No message makes the parsers panic: neither any bytes, nor a message that is cut or damaged.
        #[test]
        fn no_message_is_fatal(bytes in prop::collection::vec(any::<u8>(), 0..400), at: usize, value: u8) {
            parse(&bytes);
            let mut damaged = interface(3, Some(0));
            let at = at % damaged.len();
            damaged[at] = value;
            parse(&damaged);
            parse(&damaged[..at]);
        }
    }
}
