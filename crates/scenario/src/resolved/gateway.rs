//! The gateway's shaper, and limited sources.

use crate::error::Mistake;
use crate::language::{DisciplineName, GatewayTable, QueueTable, ShaperName, SourceLimitTable};
use crate::law;
use crate::quantity::{PacketCount, Size};
use evenair_laws::Parameters;
use evenair_laws::gateway::{ClassRole, GatewayLaw, GatewayParams, GatewayRole};
use evenair_netsim::QueueSpec;
use evenair_units::{Bytes, Rate};

/// Packets of each line, and of one that all share ([Jam10] Fig 6.4).
const LINE_PACKETS: u32 = 5;
const SHARED_PACKETS: u32 = 25;
/// Packets of a source's line.
const SOURCE_PACKETS: u32 = 50;
/// Full packets that a bucket holds. The thesis does not say; docs/notes/gateway-simulated.md shows how little it matters.
const BURST_PACKETS: u32 = 2;

impl GatewayTable {
    /// Its shaper, its lines and the depth of its buckets; `packet` is the largest that any flow sends.
    pub(crate) fn complete(&mut self, packet: Bytes) -> Result<(ShaperName, QueueSpec, Bytes), Mistake> {
        self.law = match (self.rate, self.law.take()) {
            (Some(_), None) => None,
            (None, Some(law)) => Some(law::complete("gateway.law", law, &())?),
            (Some(_), Some(_)) => {
                let why = "the law finds the rate: remove gateway.rate, or gateway.law";
                return Err(Mistake::at("gateway.rate", why));
            }
            (None, None) => {
                let why = "has no rate: give a law, such as law = \"pfrc\"; or a rate for all subscribers together, such as \"400 kbps\", or \"max-min\"";
                return Err(Mistake::at("gateway.rate", why));
            }
        };
        let one = self.law.as_ref().is_some_and(gives_one_rate);
        let by_default = if one { ShaperName::AggregateFair } else { ShaperName::default() };
        let shaper = *self.shaper.get_or_insert(by_default);
        let packets = if shaper == ShaperName::Aggregate { SHARED_PACKETS } else { LINE_PACKETS };
        Ok((shaper, line("gateway", &mut self.queue, packets)?, burst("gateway", &mut self.burst, packet)?))
    }
}

impl SourceLimitTable {
    /// Each source's line and the depth of its bucket; `packet` is the largest that any flow sends.
    pub(crate) fn complete(&mut self, packet: Bytes) -> Result<(QueueSpec, Bytes), Mistake> {
        let queue = line("source_limit", &mut self.queue, SOURCE_PACKETS)?;
        Ok((queue, burst("source_limit", &mut self.burst, packet)?))
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
fn line(table: &str, queue: &mut Option<QueueTable>, packets: u32) -> Result<QueueSpec, Mistake> {
    let queue = queue.get_or_insert_default();
    if queue.per.is_some() {
        let why = "must match gateway.per, by which each subscriber or each flow has a queue; it applies where all share one queue";
        return Err(Mistake::at(&format!("{table}.queue.per"), why));
    }
    if queue.discipline != DisciplineName::FqCodel {
        queue.limit.get_or_insert(PacketCount(packets));
    }
    let line = queue.complete(None);
    line.map_err(|(key, why)| Mistake::at(&format!("{table}.queue.{key}"), why))
}

fn burst(table: &str, burst: &mut Option<Size>, packet: Bytes) -> Result<Bytes, Mistake> {
    let by_default = Bytes::new(packet.count().saturating_mul(BURST_PACKETS));
    let depth = burst.get_or_insert(Size(by_default)).0;
    if depth < packet {
        let why =
            format!("{depth} is less than a packet of {packet}, which would never pass: give at least that");
        return Err(Mistake::at(&format!("{table}.burst"), why));
    }
    Ok(depth)
}
