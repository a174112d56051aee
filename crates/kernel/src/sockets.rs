//! The sockets of a network namespace that use a law of evenair's, with the law's state at each.

use super::bytes::{Malformed, slice, u16_at, u32_at, u64_at};
use super::law::Law;
use super::load::{create_parameters, load_iterator};
use super::object::Object;
use super::trouble::{Trouble, at};
use evenair_linux::bpf;
use evenair_units::Duration;
use serde::Serialize;
use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

const OBJECT: &[u8] = include_bytes!("../objects/sockets.o");
/// Bytes of a name, and of a record.
const NAME: usize = 16;
const RECORD: usize = 176;

/// A socket that uses a law.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Seen {
    /// The law's name in scenarios.
    pub law: &'static str,
    /// Its own address and port.
    pub from: SocketAddr,
    /// The other end's.
    pub to: SocketAddr,
    /// Whether it listens for connections.
    pub listens: bool,
    /// Whether a loss is being repaired.
    pub repairs: bool,
    /// The window in force \[segments\].
    pub window: u32,
    /// The slow-start threshold \[segments\]; none before the first.
    pub threshold: Option<u32>,
    /// The kernel's smoothed round trip \[us\].
    pub smoothed_us: f64,
    /// The law's window, with its fraction \[segments\].
    pub law_window: f64,
    /// The law's least round trip \[us\]; none before a sample.
    pub base_us: Option<u32>,
    /// The round trip that it compares with that: an average, or for Vegas the least of this round \[us\].
    pub round_trip_us: Option<f64>,
    /// The number of times that the law has set the window.
    pub steps: u32,
    /// The number of the error that kept it from being moved to another law, if requested.
    #[serde(skip)]
    pub moved: u32,
}

/// An iterator over all sockets of the network namespace in which it runs.
#[derive(Debug)]
pub struct Look {
    link: OwnedFd,
}

impl Look {
    /// Returns an iterator over the sockets of all laws.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn new() -> Result<Self, Trouble> {
        Self::with("", "")
    }

    /// Returns an iterator that moves the sockets of one congestion control to another.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn moving(from: &str, to: &str) -> Result<Self, Trouble> {
        Self::with(from, to)
    }

    fn with(from: &str, to: &str) -> Result<Self, Trouble> {
        let object = Object::parse(OBJECT).map_err(|why| Trouble::Malformed("sockets", why))?;
        let mut names = [0; 2 * NAME];
        for (place, name) in [(0, from), (NAME, to)] {
            let bytes = &name.as_bytes()[..name.len().min(NAME - 1)];
            names[place..][..bytes.len()].copy_from_slice(bytes);
        }
        let parameters = create_parameters(&object, &names)?;
        let program = load_iterator(&object, &parameters)?;
        Ok(Self { link: bpf::link_iterator(&program).map_err(at("a look at sockets"))? })
    }

    /// Returns the sockets at present.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn take(&self) -> Result<Vec<Seen>, Trouble> {
        let step = "a look at sockets";
        let mut bytes = Vec::new();
        let pass = bpf::iterate(&self.link).map_err(at(step))?;
        File::from(pass).read_to_end(&mut bytes).map_err(at(step))?;
        let seen = bytes.chunks_exact(RECORD).filter_map(|record| read(record).transpose());
        seen.collect::<Result<_, _>>().map_err(|why| Trouble::Malformed(step, why))
    }
}

/// Reads a record of `bpf/sockets.c`; returns none for a law that this version lacks.
fn read(record: &[u8]) -> Result<Option<Seen>, Malformed> {
    let Some(law) = Law::of_control(super::bytes::text(record, 0)?) else { return Ok(None) };
    let is_v6 = u16_at(record, 48)? == 10;
    let address = |at: usize, port: usize| -> Result<SocketAddr, Malformed> {
        let octets: [u8; 16] = slice(record, at, 16)?.try_into().map_err(|_| Malformed("no address"))?;
        let ip = if is_v6 {
            IpAddr::from(Ipv6Addr::from(octets)).to_canonical()
        } else {
            Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]).into()
        };
        Ok(SocketAddr::new(ip, u16_at(record, port)?))
    };
    let threshold = u32_at(record, 60)?;
    let state = slice(record, 72, 104)?;
    let micros = |number: u64| (number != 0).then_some(number as f64 / 65_536.0);
    let (base, round_trip, steps) = match law {
        Law::QuicTcp => (u32_at(state, 48)?, micros(u64_at(state, 24)?), u32_at(state, 56)?),
        Law::Fast => (u32_at(state, 32)?, micros(u64_at(state, 24)?), u32_at(state, 44)?),
        Law::Vegas => (u32_at(state, 24)?, micros(u64::from(u32_at(state, 28)?) << 16), u32_at(state, 40)?),
    };
    Ok(Some(Seen {
        law: law.name(),
        from: address(16, 50)?,
        to: address(32, 52)?,
        listens: record[54] == 10,
        repairs: record[55] >= 2,
        window: u32_at(record, 56)?,
        threshold: (threshold < i32::MAX.cast_unsigned()).then_some(threshold),
        smoothed_us: f64::from(u32_at(record, 64)?) / 8.0,
        law_window: u64_at(state, 0)? as f64 / 65_536.0,
        base_us: (base != 0).then_some(base),
        round_trip_us: round_trip,
        steps,
        moved: u32_at(record, 68)?,
    }))
}

impl Seen {
    /// Returns the packets that wait by the law's estimate, `w·(1 − d/D)`.
    pub fn waiting(&self) -> Option<f64> {
        let share = f64::from(self.base_us?) / self.round_trip_us?;
        Some(self.law_window * (1.0 - share.min(1.0)))
    }

    /// Returns the kernel's smoothed round trip.
    pub fn smoothed(&self) -> Duration {
        Duration::from_nanos((self.smoothed_us * 1e3) as u64)
    }
}
