//! Transmit queues, complete.

use crate::language::{DisciplineName, QueueTable, WireQueue};
use crate::quantity::{PacketCount, Size, Time};
use evenair_laws::marking::{CodelParams, DropTail, MarkingParams};
use evenair_netsim::{DisciplineParams, FairParams, QueueSpec};
use serde::Serialize;

/// A transmit queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ResolvedQueue {
    /// In which order packets leave.
    #[serde(flatten)]
    pub discipline: ResolvedDiscipline,
    /// Packets that wait at most, the one in service not counted.
    pub limit: PacketCount,
}

/// In which order packets leave, with what the discipline wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "discipline", rename_all = "kebab-case")]
pub enum ResolvedDiscipline {
    /// First in, first out.
    Fifo,
    /// One turn for each flow.
    Drr {
        /// What a flow may send in one turn.
        quantum: Size,
        /// Packets of one flow that wait at most.
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<PacketCount>,
    },
    /// That, with flows that send little first, and `CoDel` for each.
    FqCodel {
        /// What a flow may send in one turn.
        quantum: Size,
        /// The delay that each flow's line may keep.
        target: Time,
        /// How long it may be exceeded.
        interval: Time,
    },
}

/// RFC 8290 section 5.2.3: packets that an `fq_codel` queue holds.
const FQ_CODEL_LIMIT: u32 = 10_240;

/// A key and what is wrong with it.
type Wrong = (&'static str, String);

impl QueueTable {
    pub(crate) fn resolve(self) -> Result<ResolvedQueue, Wrong> {
        let fair = self.discipline != DisciplineName::Fifo;
        let codel = self.discipline == DisciplineName::FqCodel;
        let drr = self.discipline == DisciplineName::Drr;
        let given = [
            ("line", self.line.is_some(), drr, "is for drr"),
            ("quantum", self.quantum.is_some(), fair, "is for drr and fq-codel"),
            ("target", self.target.is_some(), codel, "is for fq-codel"),
            ("interval", self.interval.is_some(), codel, "is for fq-codel"),
        ];
        if let Some((key, .., why)) = given.iter().find(|(_, given, fits, _)| *given && !fits) {
            return Err((key, (*why).into()));
        }
        let zero = |time: Option<Time>| time.is_some_and(|t| t.0.is_zero());
        if zero(self.target) || zero(self.interval) {
            return Err(("target", "target and interval must be longer than no time".into()));
        }
        let quantum = self.quantum.unwrap_or(Size(FairParams::round_robin().quantum));
        if quantum.0.count() == 0 {
            return Err(("quantum", "must be at least 1 byte".into()));
        }
        let limit = self.limit.unwrap_or(PacketCount(if codel { FQ_CODEL_LIMIT } else { 50 }));
        if limit.0 == 0 {
            return Err(("limit", "must hold at least 1 packet".into()));
        }
        if self.line == Some(PacketCount(0)) {
            return Err(("line", "must hold at least 1 packet".into()));
        }
        let standard = CodelParams::rfc8289();
        let discipline = match self.discipline {
            DisciplineName::Fifo => ResolvedDiscipline::Fifo,
            DisciplineName::Drr => ResolvedDiscipline::Drr { quantum, line: self.line },
            DisciplineName::FqCodel => ResolvedDiscipline::FqCodel {
                quantum,
                target: self.target.unwrap_or(Time(standard.target)),
                interval: self.interval.unwrap_or(Time(standard.interval)),
            },
        };
        Ok(ResolvedQueue { discipline, limit })
    }
}

impl From<ResolvedQueue> for QueueTable {
    fn from(ResolvedQueue { discipline, limit }: ResolvedQueue) -> Self {
        let table = Self { limit: Some(limit), ..Self::default() };
        match discipline {
            ResolvedDiscipline::Fifo => table,
            ResolvedDiscipline::Drr { quantum, line } => {
                Self { discipline: DisciplineName::Drr, quantum: Some(quantum), line, ..table }
            }
            ResolvedDiscipline::FqCodel { quantum, target, interval } => Self {
                discipline: DisciplineName::FqCodel,
                quantum: Some(quantum),
                target: Some(target),
                interval: Some(interval),
                ..table
            },
        }
    }
}

impl WireQueue {
    /// The queue in full.
    pub(crate) fn resolve(self) -> Result<ResolvedQueue, Wrong> {
        match self {
            Self::Count(limit) => Ok(ResolvedQueue { discipline: ResolvedDiscipline::Fifo, limit }),
            Self::Table(table) => table.resolve(),
        }
    }
}

impl ResolvedDiscipline {
    /// A queue of this discipline with room for so many packets, and a law that gives some up.
    pub(crate) fn spec(self, limit: PacketCount, marking: Option<MarkingParams>) -> QueueSpec {
        let discipline = match self {
            Self::Fifo => DisciplineParams::Fifo,
            Self::Drr { quantum, line } => {
                let bound = |line: PacketCount| DropTail { limit_packets: line.0 }.into();
                let marking = line.map(bound);
                DisciplineParams::Fair(FairParams {
                    quantum: quantum.0,
                    marking,
                    ..FairParams::round_robin()
                })
            }
            Self::FqCodel { quantum, target, interval } => {
                let codel = CodelParams { target: target.0, interval: interval.0 };
                DisciplineParams::Fair(FairParams {
                    quantum: quantum.0,
                    marking: Some(codel.into()),
                    ..FairParams::fq_codel()
                })
            }
        };
        QueueSpec { limit_packets: limit.0, discipline, marking }
    }
}
