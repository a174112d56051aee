#![doc = include_str!("../README.md")]
//!
//! # How to read it
//! A host owns time. It hands heads of queues to the air ([`Air::offer`]), lets it do what is due ([`Air::next_at`],
//! [`Air::advance`]), and is told of packets that were received or finished ([`Up`]). Back-off laws
//! are data here ([`Access`](evenair_laws::backoff::Access)); the air draws the samples from one stream per contender.
//!
//! Read [`mac::dcf`] for channel access, its submodule `reception` for decoding, and [`mac::edca`] for the access
//! categories. Read [`mac::ideal`] for the papers' model, [`phy`] and [`timing`] for every microsecond, [`receivers`] for
//! rates and ranges, [`error`] for errors by the signal-to-noise ratio, and [`loss`] for errors of single links.
#![forbid(unsafe_code)]
#![warn(clippy::disallowed_methods, reason = "pure: no clock, no environment, no platform's exp and log")]

pub mod error;
pub mod ledger;
pub mod loss;
pub mod mac;
pub mod phy;
pub mod receivers;
pub mod timeline;
pub mod timing;

mod air;

pub use air::{Air, BROADCAST, Contender, Head, Outcome, PacketId, Up};
pub use error::{Coding, ErrorModel};
pub use ledger::{Airtime, Ledger};
pub use loss::{LossModel, LossProcess};
pub use mac::dcf::{
    AggregateCounters, Aggregation, Capture, Contention, ControlledLink, Counters, DcfAir, FULL_PACKET,
    FullAggregate, General, Many, MissedBlockAck, ModeCounters, Rules, Shape, UpTo64, UpTo128,
};
pub use mac::edca::Arbitration;
pub use mac::ideal::IdealAir;
pub use phy::{
    Band, ForbiddenMode, Format, GuardInterval, Mode, Modulation, Phy, PhyStandard, Preamble, UnknownMode,
    UnsupportedRate, Width,
};
pub use receivers::{Receivers, Sensitivity};
pub use timeline::{FrameKind, FrameRecord, Overheard, Part, Timeline, Window};
pub use timing::{ControlRate, MacTiming};
