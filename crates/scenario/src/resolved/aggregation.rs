//! How packets share frames.

use super::Mac;
use crate::error::Mistake;
use crate::language::{
    AfterMissedBlockAck, AggregationTable, Never, Preset, Retries, Scenario, StagedAirtime,
};
use crate::quantity::{Amount, Time};
use evenair_netsim::Staging;
use evenair_wifi::{Aggregation, Format, MissedBlockAck};

impl Scenario {
    /// How packets share frames; none, where each has a frame of its own.
    pub(crate) fn aggregation(&mut self, mac: &Mac) -> Result<Option<Staging>, Mistake> {
        let Some(modulation) = mac.modulation() else {
            let why =
                "is for 802.11n, ac and ax: 802.11a, b and g and the ideal MAC send each packet by itself";
            return self.aggregation.map_or(Ok(None), |_| Err(Mistake::at("aggregation", why)));
        };
        let mut table = self.aggregation.unwrap_or_default();
        let staging = table.complete(self.preset, modulation.format)?;
        self.aggregation = Some(table);
        Ok((staging.limits.packets > 1).then_some(staging))
    }
}

impl AggregationTable {
    fn complete(&mut self, preset: Preset, format: Format) -> Result<Staging, Mistake> {
        let at = |key: &str, why: String| Mistake::at(&format!("aggregation.{key}"), why);
        let (standard, is_ns3) = (Aggregation::standard(), preset == Preset::Ns3);
        let window: u16 = if format == Format::He { 256 } else { 64 };
        let packets = *self.packets.get_or_insert(window.into());
        let packets = u16::try_from(packets).ok().filter(|packets| (1..=window).contains(packets));
        let packets = packets.ok_or_else(|| at("packets", format!("must be from 1 to {window}")))?;
        let longest = format.longest_aggregate();
        let Amount::Bytes(bytes) = *self.bytes.get_or_insert(Amount::Bytes(standard.bytes.into())) else {
            return Err(at("bytes", "must be a size, such as \"65535 bytes\"".into()));
        };
        if bytes > u64::from(longest.count()) {
            return Err(at(
                "bytes",
                format!("must be at most {longest}, the longest aggregate of this kind"),
            ));
        }
        let airtime = self.airtime.get_or_insert(Time(format.longest_frame())).0;
        if airtime.is_zero() || airtime > format.longest_frame() {
            return Err(at("airtime", format!("must be above 0 and at most {}", format.longest_frame())));
        }
        let usual = if is_ns3 { Retries::Word(Never::Never) } else { Retries::Number(10) };
        let tries = match *self.retries.get_or_insert(usual) {
            Retries::Word(Never::Never) => None,
            Retries::Number(number) => {
                let tries = u8::try_from(number).ok().filter(|&tries| tries > 0);
                Some(tries.ok_or_else(|| at("retries", "must be from 1 to 255, or \"never\"".into()))?)
            }
        };
        let usual = if is_ns3 { AfterMissedBlockAck::Bar } else { AfterMissedBlockAck::Data };
        let after_missed = match *self.after_missed_block_ack.get_or_insert(usual) {
            AfterMissedBlockAck::Data => MissedBlockAck::Data,
            AfterMissedBlockAck::Bar => MissedBlockAck::Request,
        };
        let lifetime = self.lifetime.map(|time| time.0);
        let staged = match *self.staged_airtime.get_or_insert(StagedAirtime::Time(Time(Staging::AIRTIME))) {
            StagedAirtime::One => None,
            StagedAirtime::Time(Time(time)) if time.is_zero() => {
                return Err(at("staged_airtime", "must be above 0, or \"one\" aggregate".into()));
            }
            StagedAirtime::Time(Time(time)) => Some(time),
        };
        let bytes = bytes as u32;
        let limits = Aggregation { packets, bytes, airtime, window, tries, lifetime, after_missed };
        Ok(Staging { limits, airtime: staged })
    }
}
