//! Transmit queues.

use crate::error::Mistake;
use crate::language::{DisciplineName, HostsName, Per, QueueTable, WireQueue};
use crate::law;
use crate::quantity::{PacketCount, Size, Time};
use evenair_laws::marking::{CodelParams, DropTail, MarkingParams};
use evenair_netsim::{
    self as netsim, AirtimeParams, DisciplineParams, FairParams, Hosts, QueueSpec, WeightedParams,
};

/// Packets that wait at most, if it is not said.
const fn limit(discipline: DisciplineName) -> u32 {
    match discipline {
        DisciplineName::Fifo | DisciplineName::Drr | DisciplineName::Wfq => 50,
        // RFC 8290 section 5.2.3.
        DisciplineName::FqCodel | DisciplineName::Cake => 10_240,
        // mac80211's.
        DisciplineName::AirtimeFair => 8_192,
    }
}

/// A key and its mistake.
type Wrong = (&'static str, String);

impl QueueTable {
    /// The queue, with a law that drops some packets; or a key and its mistake.
    pub(crate) fn complete(&mut self, marking: Option<MarkingParams>) -> Result<QueueSpec, Wrong> {
        self.check()?;
        self.per = self.per.filter(|per| !per.is_flow());
        let tells_apart =
            self.discipline != DisciplineName::Fifo || matches!(marking, Some(MarkingParams::Fred(_)));
        if self.per.is_some() && !tells_apart {
            let why = "has no effect on fifo, which keeps all packets in one queue: choose discipline = \"drr\", \"fq-codel\", \"wfq\" or \"airtime-fair\", or drop by fred";
            return Err(("per", why.into()));
        }
        let discipline = match self.discipline {
            DisciplineName::Fifo => DisciplineParams::Fifo,
            DisciplineName::Drr => {
                let standard = FairParams::round_robin();
                let quantum = self.quantum.get_or_insert(Size(standard.quantum)).0;
                let marking = self.line.map(|line| DropTail::packets(line.0).into());
                DisciplineParams::Fair(FairParams { quantum, marking, ..standard })
            }
            DisciplineName::FqCodel => DisciplineParams::Fair(self.flows(&FairParams::fq_codel())),
            DisciplineName::Wfq => {
                DisciplineParams::Weighted(WeightedParams { line_limit: self.line.map(|line| line.0) })
            }
            DisciplineName::Cake => {
                let hosts = match self.hosts.get_or_insert_default() {
                    HostsName::Source => Hosts::Source,
                    HostsName::Destination => Hosts::Destination,
                    HostsName::Both => Hosts::Both,
                };
                DisciplineParams::Fair(self.flows(&FairParams::cake(hosts)))
            }
            DisciplineName::AirtimeFair => {
                let AirtimeParams { airtime, flows } = AirtimeParams::mac80211();
                let airtime = self.airtime.get_or_insert(Time(airtime)).0;
                DisciplineParams::Airtime(AirtimeParams { airtime, flows: self.flows(&flows) })
            }
        };
        Ok(QueueSpec {
            limit_packets: self.limit.get_or_insert(PacketCount(limit(self.discipline))).0,
            discipline,
            marking,
            per: match self.per {
                Some(Per::Subscriber) => netsim::Per::Subscriber,
                Some(Per::Flow) | None => netsim::Per::Flow,
            },
        })
    }

    /// Flows with `CoDel` for each: these, with the given changes.
    fn flows(&mut self, standard: &FairParams) -> FairParams {
        let codel = match standard.marking {
            Some(MarkingParams::Codel(codel)) => codel,
            _ => CodelParams::rfc8289(),
        };
        let quantum = self.quantum.get_or_insert(Size(standard.quantum)).0;
        let target = self.target.get_or_insert(Time(codel.target)).0;
        let interval = self.interval.get_or_insert(Time(codel.interval)).0;
        FairParams { quantum, marking: Some(CodelParams { target, interval }.into()), ..*standard }
    }

    /// Whether each key is one of the discipline's, and has a sense.
    fn check(&self) -> Result<(), Wrong> {
        use DisciplineName::{AirtimeFair, Cake, Drr, FqCodel, Wfq};
        let is_one_of = |names: &[DisciplineName]| names.contains(&self.discipline);
        let codel = is_one_of(&[FqCodel, Cake, AirtimeFair]);
        let given = [
            ("line", self.line.is_some(), is_one_of(&[Drr, Wfq]), "drr and wfq"),
            (
                "quantum",
                self.quantum.is_some(),
                codel || is_one_of(&[Drr]),
                "drr, fq-codel, cake and airtime-fair",
            ),
            ("target", self.target.is_some(), codel, "fq-codel, cake and airtime-fair"),
            ("interval", self.interval.is_some(), codel, "fq-codel, cake and airtime-fair"),
            ("hosts", self.hosts.is_some(), is_one_of(&[Cake]), "cake"),
            ("airtime", self.airtime.is_some(), is_one_of(&[AirtimeFair]), "airtime-fair"),
            (
                "per",
                self.per.is_some(),
                !is_one_of(&[Cake]),
                "drr, fq-codel, wfq and airtime-fair, and for fred; cake has hosts instead",
            ),
        ];
        if let Some((key, .., whose)) = given.iter().find(|(_, given, fits, _)| *given && !fits) {
            return Err((key, format!("is for {whose}")));
        }
        for (key, time) in [("target", self.target), ("interval", self.interval), ("airtime", self.airtime)] {
            if time.is_some_and(|time| time.0.is_zero()) {
                return Err((key, "must be above 0 s".into()));
            }
        }
        if self.quantum.is_some_and(|quantum| quantum.0.count() == 0) {
            return Err(("quantum", "must be at least 1 byte".into()));
        }
        for (key, count) in [("limit", self.limit), ("line", self.line)] {
            if count == Some(PacketCount(0)) {
                return Err((key, "must hold at least 1 packet".into()));
            }
        }
        Ok(())
    }
}

impl WireQueue {
    /// The queue, and its drops: by default those of all queues.
    pub(crate) fn complete(
        &mut self,
        drop: &mut Option<MarkingParams>,
        of_all: Option<&MarkingParams>,
    ) -> Result<QueueSpec, Mistake> {
        law::complete_any("drop", drop)?;
        let marking = drop.as_ref().or(of_all).cloned();
        let queue = match self {
            Self::Count(limit) => QueueTable::default()
                .complete(marking)
                .map(|queue| QueueSpec { limit_packets: limit.0, ..queue }),
            Self::Table(table) => table.complete(marking),
        };
        queue.map_err(|(key, why)| Mistake::at(key, why))
    }
}
