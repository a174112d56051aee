//! The gateway's shaper and limited sources, complete.

use super::ResolvedQueue;
use crate::error::Mistake;
use crate::language::{
    Directions, DisciplineName, GatewayTable, LimitRate, Per, QueueTable, ShaperName, SourceLimitTable,
};
use crate::law;
use crate::quantity::{PacketCount, Size};
use evenair_laws::Parameters;
use evenair_laws::gateway::{ClassRole, GatewayLaw, GatewayParams, GatewayRole};
use evenair_units::{Bytes, Rate};
use serde::Serialize;

/// Packets of each line, and of one that all share ([Jam10] Fig 6.4).
const LINE_PACKETS: u32 = 5;
const SHARED_PACKETS: u32 = 25;
/// Full packets that a bucket holds. The thesis does not say; docs/validation.md, section 8, shows how little it matters.
const BURST_PACKETS: u32 = 2;

/// A gateway's shaper.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResolvedGateway {
    /// The node.
    pub node: String,
    /// Its lines and buckets.
    pub shaper: ShaperName,
    /// A rate for all, or what is fair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<LimitRate>,
    /// Or the law that finds it.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "law::write_any")]
    pub law: Option<GatewayParams>,
    /// Which way data go that are shaped.
    pub directions: Directions,
    /// What has a share of its own.
    pub per: Per,
    /// Each line.
    pub queue: ResolvedQueue,
    /// The depth of the buckets.
    pub burst: Size,
    /// The acknowledgements of uploads take tokens as well.
    pub acknowledgements: bool,
}

/// Sources that hold their data back.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResolvedSourceLimit {
    /// The rate of each flow, or what is fair.
    pub rate: LimitRate,
    /// Each line.
    pub queue: ResolvedQueue,
    /// The depth of the buckets.
    pub burst: Size,
}

impl GatewayTable {
    /// `packet` is the largest that any flow sends.
    pub(crate) fn resolve(self, packet: Bytes) -> Result<ResolvedGateway, Mistake> {
        let (rate, law) = match (self.rate, self.law) {
            (Some(rate), None) => (Some(rate), None),
            (None, Some(law)) => (None, Some(law::complete("gateway.law", law, &())?)),
            (Some(_), Some(_)) => {
                let why = "the law finds the rate: remove gateway.rate, or gateway.law";
                return Err(Mistake::at("gateway.rate", why));
            }
            (None, None) => {
                let why = "what does it let through? Give a law, such as law = \"pfrc\"; or a rate for all subscribers together, such as \"400 kbps\", or \"max-min\"";
                return Err(Mistake::at("gateway.rate", why));
            }
        };
        let by_default = || {
            let one = law.as_ref().is_some_and(gives_one_rate);
            if one { ShaperName::AggregateFair } else { ShaperName::default() }
        };
        let shaper = self.shaper.unwrap_or_else(by_default);
        let packets = if shaper == ShaperName::Aggregate { SHARED_PACKETS } else { LINE_PACKETS };
        Ok(ResolvedGateway {
            node: self.node,
            shaper,
            rate,
            law,
            directions: self.directions,
            per: self.per,
            queue: line("gateway", self.queue, packets)?,
            burst: burst("gateway", self.burst, packet)?,
            acknowledgements: self.acknowledgements,
        })
    }
}

impl SourceLimitTable {
    /// `packet` is the largest that any flow sends.
    pub(crate) fn resolve(self, packet: Bytes) -> Result<ResolvedSourceLimit, Mistake> {
        Ok(ResolvedSourceLimit {
            rate: self.rate,
            queue: line("source_limit", self.queue, 50)?,
            burst: burst("source_limit", self.burst, packet)?,
        })
    }
}

/// Whether a law gives one rate for all, and not each class its own.
fn gives_one_rate(law: &GatewayParams) -> bool {
    // Where nothing is known of links a law may have to begin without any rate.
    let link_rate = Some(Rate::from_kbps(1000));
    let anybody = GatewayRole { classes: vec![ClassRole { link_rate, ..ClassRole::default() }] };
    law.begin(&anybody).at_start().each.is_empty()
}

/// A line with room for so many packets, if nothing else is said.
fn line(table: &str, queue: Option<QueueTable>, packets: u32) -> Result<ResolvedQueue, Mistake> {
    let mut queue = queue.unwrap_or_default();
    if queue.per.is_some() {
        let why = "a line is one subscriber's, or one flow's, as gateway.per says; where all share one, it tells those apart";
        return Err(Mistake::at(&format!("{table}.queue.per"), why));
    }
    if queue.discipline != DisciplineName::FqCodel {
        queue.limit.get_or_insert(PacketCount(packets));
    }
    queue.resolve().map_err(|(key, why)| Mistake::at(&format!("{table}.queue.{key}"), why))
}

fn burst(table: &str, burst: Option<Size>, packet: Bytes) -> Result<Size, Mistake> {
    let depth = burst.map_or_else(|| Bytes::new(packet.count().saturating_mul(BURST_PACKETS)), |size| size.0);
    if depth < packet {
        let why =
            format!("{depth} is less than a packet of {packet}, which would never pass: give at least that");
        return Err(Mistake::at(&format!("{table}.burst"), why));
    }
    Ok(Size(depth))
}
