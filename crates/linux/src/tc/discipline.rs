//! Queueing disciplines, and their parameters.

use super::class::{bits_per_second, bytes_of, bytes_per_second, rate_specification, ticks_of};
use crate::netlink::attributes::{Attributes, u32_at, u32_of, u64_of};
use crate::netlink::message::Message;
use evenair_units::{Bytes, Duration, Rate};

/// A queueing discipline.
#[derive(Clone, Debug, PartialEq)]
pub enum Discipline {
    /// Classes with a rate and a ceiling each.
    Htb(Htb),
    /// A queue bounded in packets.
    Pfifo {
        /// The bound.
        packets: u32,
    },
    /// A queue bounded in bytes.
    Bfifo {
        /// The bound.
        limit: Bytes,
    },
    /// A token bucket before a queue of bytes.
    Tbf(Tbf),
    /// A queue for each flow, each kept short.
    FqCodel(FqCodel),
    /// A queue for each host and flow, kept short, with a rate of its own.
    Cake(Cake),
    /// A place for filters before and behind the queues.
    Clsact,
    /// Another one, with its options in the kernel's encoding (the value of `TCA_OPTIONS`).
    Other {
        /// Its name in tc(8).
        kind: String,
        /// Its options.
        options: Vec<u8>,
    },
}

/// Hierarchical token buckets (tc-htb(8)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Htb {
    /// The second number of the default class, for unclassified packets; if it is 0 or missing, they are sent
    /// **without a limit**.
    pub default: u16,
    /// The divisor of a class's rate \[s⁻¹\] if it has no quantum.
    pub rate_to_quantum: u32,
    /// The most waiting packets without a class; `None` is the device's.
    pub direct_queue: Option<u32>,
}

/// A token bucket (tc-tbf(8)).
///
/// Segments of many packets that are longer than `burst` are cut into their packets before they are queued,
/// which otherwise only CAKE does. With a rate far above the device's it is a queue of `limit` bytes that
/// does just that. Below a class of HTB it must never hold a packet back. So the rate is 100 Gb/s or more, at
/// which the burst takes less time than dequeueing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tbf {
    /// Its rate.
    pub rate: Rate,
    /// The longest piece, with the link layer's header.
    pub burst: Bytes,
    /// The most waiting bytes.
    pub limit: Bytes,
}

/// A queue for each flow (tc-fq_codel(8)); parameters not given keep the kernel's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FqCodel {
    /// The most waiting packets.
    pub packets: Option<u32>,
    /// The most memory of waiting packets.
    pub memory: Option<Bytes>,
    /// The accepted delay.
    pub target: Option<Duration>,
    /// The time for which a higher delay is tolerated.
    pub interval: Option<Duration>,
    /// The bytes that a flow sends before the next.
    pub quantum: Option<Bytes>,
    /// The number of queues; only when it is added.
    pub flows: Option<u32>,
    /// Whether it marks packets that support it rather than dropping them.
    pub marks: Option<bool>,
}

/// A queue for each host and flow (tc-cake(8)); parameters not given keep the kernel's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cake {
    /// Its own rate; zero is none, as it should be below a class.
    pub rate: Option<Rate>,
    /// The units among which it shares evenly.
    pub isolation: Option<Isolation>,
    /// Whether all packets are alike, of any class of service.
    pub is_best_effort: bool,
    /// The most memory of waiting packets.
    pub memory: Option<Bytes>,
    /// The round trip for which its queues are kept short.
    pub round_trip: Option<Duration>,
    /// Whether it cuts segments of many packets.
    pub splits: Option<bool>,
}

/// The units among which CAKE shares evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Flows.
    Flows,
    /// Sources, and the flows of each.
    Sources,
    /// Destinations, and the flows of each.
    Destinations,
    /// Both, and flows.
    Triple,
}

mod htb {
    pub(super) const GLOBAL: u16 = 2;
    pub(super) const DIRECT_QUEUE: u16 = 5;
    pub(super) const VERSION: u32 = 3;
}

mod tbf {
    pub(super) const PARAMETERS: u16 = 1;
    pub(super) const RATE64: u16 = 4;
    pub(super) const BURST: u16 = 6;
}

mod fq_codel {
    pub(super) const TARGET: u16 = 1;
    pub(super) const LIMIT: u16 = 2;
    pub(super) const INTERVAL: u16 = 3;
    pub(super) const ECN: u16 = 4;
    pub(super) const FLOWS: u16 = 5;
    pub(super) const QUANTUM: u16 = 6;
    pub(super) const MEMORY: u16 = 9;
}

mod cake {
    pub(super) const RATE64: u16 = 2;
    pub(super) const SERVICES: u16 = 3;
    pub(super) const FLOW_MODE: u16 = 5;
    pub(super) const ROUND_TRIP: u16 = 7;
    pub(super) const TARGET: u16 = 8;
    pub(super) const MEMORY: u16 = 10;
    pub(super) const SPLIT: u16 = 17;
    /// `CAKE_DIFFSERV_BESTEFFORT`.
    pub(super) const BEST_EFFORT: u32 = 3;
    /// `CAKE_FLOW_FLOWS` and others.
    pub(super) const MODES: [(super::Isolation, u32); 4] = [
        (super::Isolation::Flows, 4),
        (super::Isolation::Sources, 5),
        (super::Isolation::Destinations, 6),
        (super::Isolation::Triple, 7),
    ];
}

impl Discipline {
    /// Returns its name in tc(8).
    pub fn kind(&self) -> &str {
        match self {
            Self::Htb(_) => "htb",
            Self::Pfifo { .. } => "pfifo",
            Self::Bfifo { .. } => "bfifo",
            Self::Tbf(_) => "tbf",
            Self::FqCodel(_) => "fq_codel",
            Self::Cake(_) => "cake",
            Self::Clsact => "clsact",
            Self::Other { kind, .. } => kind,
        }
    }

    /// Adds its kind and options to a message.
    pub(super) fn put(&self, message: &mut Message) {
        message.put_text(libc::TCA_KIND, self.kind());
        let options = libc::TCA_OPTIONS;
        match self {
            Self::Htb(htb) => message.nest_unmarked(options, |nest| htb.put(nest)),
            Self::Pfifo { packets } => message.put_u32(options, *packets),
            Self::Bfifo { limit } => message.put_u32(options, limit.count()),
            Self::Tbf(tbf) => message.nest_unmarked(options, |nest| tbf.put(nest)),
            Self::FqCodel(codel) => message.nest_unmarked(options, |nest| codel.put(nest)),
            Self::Cake(cake) => message.nest_unmarked(options, |nest| cake.put(nest)),
            Self::Other { options: own, .. } if !own.is_empty() => message.put(options, own),
            Self::Clsact | Self::Other { .. } => message,
        };
    }

    /// Parses a discipline; unexpected options stay in the kernel's encoding.
    pub(super) fn parse(kind: &str, bytes: &[u8]) -> Self {
        let options = Attributes::new(bytes);
        let first = u32_of(bytes);
        let known = match kind {
            "htb" => Htb::parse(&options).map(Self::Htb),
            "pfifo" => first.map(|packets| Self::Pfifo { packets }),
            "bfifo" => first.map(|limit| Self::Bfifo { limit: Bytes::new(limit) }),
            "tbf" => Tbf::parse(&options).map(Self::Tbf),
            "fq_codel" => Some(Self::FqCodel(FqCodel::parse(&options))),
            "clsact" => Some(Self::Clsact),
            _ => None,
        };
        known.unwrap_or_else(|| Self::Other { kind: kind.to_owned(), options: bytes.to_vec() })
    }
}

impl Htb {
    fn put(self, options: &mut Message) {
        // `struct tc_htb_glob`.
        let numbers = [htb::VERSION, self.rate_to_quantum, self.default.into(), 0, 0];
        options.put(htb::GLOBAL, &numbers.map(u32::to_ne_bytes).concat());
        self.direct_queue.map(|packets| options.put_u32(htb::DIRECT_QUEUE, packets));
    }

    fn parse(options: &Attributes<'_>) -> Option<Self> {
        let global = options.find(htb::GLOBAL)?;
        Some(Self {
            default: u32_at(global, 8)? as u16,
            rate_to_quantum: u32_at(global, 4)?,
            direct_queue: options.find(htb::DIRECT_QUEUE).and_then(u32_of),
        })
    }
}

impl Tbf {
    fn put(self, options: &mut Message) {
        let rate = bytes_per_second(self.rate);
        let mut own = [rate_specification(rate), [0; 12]].concat();
        own.extend([self.limit.count(), ticks_of(self.burst, rate), 0].map(u32::to_ne_bytes).as_flattened());
        options.put(tbf::PARAMETERS, &own).put_u32(tbf::BURST, self.burst.count());
        if rate > u32::MAX.into() {
            options.put(tbf::RATE64, &rate.to_ne_bytes());
        }
    }

    /// Parses a token bucket; returns none with a peak rate, which this type lacks.
    fn parse(options: &Attributes<'_>) -> Option<Self> {
        let own = options.find(tbf::PARAMETERS)?;
        if u32_at(own, 20)? != 0 {
            return None;
        }
        let rate = match options.find(tbf::RATE64) {
            Some(wide) => u64_of(wide)?,
            None => u32_at(own, 8)?.into(),
        };
        let burst = options.find(tbf::BURST).and_then(u32_of).map(Bytes::new);
        Some(Self {
            rate: bits_per_second(rate),
            burst: burst.or_else(|| Some(bytes_of(u32_at(own, 28)?, rate)))?,
            limit: Bytes::new(u32_at(own, 24)?),
        })
    }
}

fn microseconds(time: Duration) -> u32 {
    u32::try_from(time.as_nanos() / 1_000).unwrap_or(u32::MAX)
}

impl FqCodel {
    fn put(self, options: &mut Message) {
        for (kind, value) in [
            (fq_codel::LIMIT, self.packets),
            (fq_codel::FLOWS, self.flows),
            (fq_codel::QUANTUM, self.quantum.map(Bytes::count)),
            (fq_codel::INTERVAL, self.interval.map(microseconds)),
            (fq_codel::TARGET, self.target.map(microseconds)),
            (fq_codel::ECN, self.marks.map(u32::from)),
            (fq_codel::MEMORY, self.memory.map(Bytes::count)),
        ] {
            value.map(|value| options.put_u32(kind, value));
        }
    }

    fn parse(options: &Attributes<'_>) -> Self {
        let number = |kind| options.find(kind).and_then(u32_of);
        let time = |kind| number(kind).map(|micros: u32| Duration::from_micros(micros.into()));
        Self {
            packets: number(fq_codel::LIMIT),
            memory: number(fq_codel::MEMORY).map(Bytes::new),
            target: time(fq_codel::TARGET),
            interval: time(fq_codel::INTERVAL),
            quantum: number(fq_codel::QUANTUM).map(Bytes::new),
            flows: number(fq_codel::FLOWS),
            marks: number(fq_codel::ECN).map(|value| value != 0),
        }
    }
}

impl Cake {
    /// Returns the most memory of waiting packets, from its options in the kernel's encoding.
    pub fn memory(options: &[u8]) -> Option<Bytes> {
        Attributes::new(options).find(cake::MEMORY).and_then(u32_of).map(Bytes::new)
    }

    fn put(self, options: &mut Message) {
        self.rate.map(|rate| options.put(cake::RATE64, &(rate.as_bps() / 8).to_ne_bytes()));
        let mode = |own| cake::MODES.iter().find(|(isolation, _)| *isolation == own).map(|(_, mode)| *mode);
        for (kind, value) in [
            (cake::SERVICES, self.is_best_effort.then_some(cake::BEST_EFFORT)),
            (cake::FLOW_MODE, self.isolation.and_then(mode)),
            (cake::ROUND_TRIP, self.round_trip.map(microseconds)),
            // The accepted delay follows the round trip, as in tc(8).
            (cake::TARGET, self.round_trip.map(|time| microseconds(time) / 20)),
            (cake::MEMORY, self.memory.map(Bytes::count)),
            (cake::SPLIT, self.splits.map(u32::from)),
        ] {
            value.map(|value| options.put_u32(kind, value));
        }
    }
}
