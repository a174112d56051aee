//! Transmit queues, complete.

use crate::language::{DisciplineName, HostsName, Per, QueueTable, WireQueue};
use crate::quantity::{PacketCount, Size, Time};
use evenair_laws::marking::{CodelParams, DropTail, MarkingParams};
use evenair_netsim::{
    self as netsim, AirtimeParams, DisciplineParams, FairParams, Hosts, QueueSpec, WeightedParams,
};
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
    Fifo {
        /// What has a count of its own.
        #[serde(skip_serializing_if = "Per::is_flow")]
        per: Per,
    },
    /// One turn for each flow.
    Drr {
        /// What a flow may send in one turn.
        quantum: Size,
        /// Packets of one flow that wait at most.
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<PacketCount>,
        /// What has a turn of its own.
        #[serde(skip_serializing_if = "Per::is_flow")]
        per: Per,
    },
    /// That, with flows that send little first, and `CoDel` for each.
    FqCodel {
        /// What a flow may send in one turn.
        quantum: Size,
        /// The delay that each flow's line may keep.
        target: Time,
        /// How long it may be exceeded.
        interval: Time,
        /// What has a turn of its own.
        #[serde(skip_serializing_if = "Per::is_flow")]
        per: Per,
    },
    /// Shares by the flows' weights.
    Wfq {
        /// Packets of one flow that wait at most, if that has a bound of its own.
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<PacketCount>,
        /// What has a share of its own.
        #[serde(skip_serializing_if = "Per::is_flow")]
        per: Per,
    },
    /// Like CAKE: hosts share alike, and the flows of a host share what it has.
    Cake {
        /// What a flow may send in one turn, where it is its host's only one.
        quantum: Size,
        /// The delay that each flow's line may keep.
        target: Time,
        /// How long it may be exceeded.
        interval: Time,
        /// Which ends of flows are the hosts.
        hosts: HostsName,
    },
    /// Next hops share the time of the air; `fq-codel` for the flows of each.
    AirtimeFair {
        /// What a next hop may send in one turn.
        airtime: Time,
        /// What a flow may send in one turn.
        quantum: Size,
        /// The delay that each flow's line may keep.
        target: Time,
        /// How long it may be exceeded.
        interval: Time,
        /// What has a turn among those of a next hop of its own.
        #[serde(skip_serializing_if = "Per::is_flow")]
        per: Per,
    },
}

impl Default for ResolvedDiscipline {
    fn default() -> Self {
        Self::Fifo { per: Per::Flow }
    }
}

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

/// A key and what is wrong with it.
type Wrong = (&'static str, String);

impl QueueTable {
    pub(crate) fn resolve(self) -> Result<ResolvedQueue, Wrong> {
        self.check()?;
        let standard = CodelParams::rfc8289();
        let target = self.target.unwrap_or(Time(standard.target));
        let interval = self.interval.unwrap_or(Time(standard.interval));
        let quantum = self.quantum.unwrap_or(Size(FairParams::round_robin().quantum));
        let per = self.per.unwrap_or(Per::Flow);
        let discipline = match self.discipline {
            DisciplineName::Fifo => ResolvedDiscipline::Fifo { per },
            DisciplineName::Drr => ResolvedDiscipline::Drr { quantum, line: self.line, per },
            DisciplineName::FqCodel => ResolvedDiscipline::FqCodel { quantum, target, interval, per },
            DisciplineName::Wfq => ResolvedDiscipline::Wfq { line: self.line, per },
            DisciplineName::Cake => {
                let hosts = self.hosts.unwrap_or_default();
                ResolvedDiscipline::Cake { quantum, target, interval, hosts }
            }
            DisciplineName::AirtimeFair => {
                let AirtimeParams { airtime, flows } = AirtimeParams::mac80211();
                let Some(MarkingParams::Codel(codel)) = flows.marking else {
                    unreachable!("its flows have CoDel")
                };
                ResolvedDiscipline::AirtimeFair {
                    airtime: self.airtime.unwrap_or(Time(airtime)),
                    quantum: self.quantum.unwrap_or(Size(flows.quantum)),
                    target: self.target.unwrap_or(Time(codel.target)),
                    interval: self.interval.unwrap_or(Time(codel.interval)),
                    per,
                }
            }
        };
        Ok(ResolvedQueue { discipline, limit: self.limit.unwrap_or(PacketCount(limit(self.discipline))) })
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
                "drr, fq-codel, wfq and airtime-fair, and where fred drops; of cake say hosts",
            ),
        ];
        if let Some((key, .., whose)) = given.iter().find(|(_, given, fits, _)| *given && !fits) {
            return Err((key, format!("is for {whose}")));
        }
        for (key, time) in [("target", self.target), ("interval", self.interval), ("airtime", self.airtime)] {
            if time.is_some_and(|time| time.0.is_zero()) {
                return Err((key, "must be longer than no time".into()));
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

impl From<ResolvedQueue> for QueueTable {
    fn from(ResolvedQueue { discipline, limit }: ResolvedQueue) -> Self {
        let per = Some(discipline.per()).filter(|per| !per.is_flow());
        let table = Self { limit: Some(limit), per, ..Self::default() };
        match discipline {
            ResolvedDiscipline::Fifo { .. } => table,
            ResolvedDiscipline::Drr { quantum, line, .. } => {
                Self { discipline: DisciplineName::Drr, quantum: Some(quantum), line, ..table }
            }
            ResolvedDiscipline::FqCodel { quantum, target, interval, .. } => Self {
                discipline: DisciplineName::FqCodel,
                quantum: Some(quantum),
                target: Some(target),
                interval: Some(interval),
                ..table
            },
            ResolvedDiscipline::Wfq { line, .. } => Self { discipline: DisciplineName::Wfq, line, ..table },
            ResolvedDiscipline::Cake { quantum, target, interval, hosts } => Self {
                discipline: DisciplineName::Cake,
                quantum: Some(quantum),
                target: Some(target),
                interval: Some(interval),
                hosts: Some(hosts),
                ..table
            },
            ResolvedDiscipline::AirtimeFair { airtime, quantum, target, interval, .. } => Self {
                discipline: DisciplineName::AirtimeFair,
                quantum: Some(quantum),
                target: Some(target),
                interval: Some(interval),
                airtime: Some(airtime),
                ..table
            },
        }
    }
}

impl WireQueue {
    /// The queue in full.
    pub(crate) fn resolve(self) -> Result<ResolvedQueue, Wrong> {
        match self {
            Self::Count(limit) => Ok(ResolvedQueue { discipline: ResolvedDiscipline::default(), limit }),
            Self::Table(table) => table.resolve(),
        }
    }
}

impl ResolvedDiscipline {
    /// What has something of its own.
    const fn per(self) -> Per {
        match self {
            Self::Fifo { per }
            | Self::Drr { per, .. }
            | Self::FqCodel { per, .. }
            | Self::Wfq { per, .. }
            | Self::AirtimeFair { per, .. } => per,
            Self::Cake { .. } => Per::Flow,
        }
    }

    /// A queue of this discipline with room for so many packets, and a law that gives some up; or a key and what is wrong with it.
    pub(crate) fn spec(self, limit: PacketCount, marking: Option<MarkingParams>) -> Result<QueueSpec, Wrong> {
        let per = match self.per() {
            Per::Flow => netsim::Per::Flow,
            Per::Subscriber => netsim::Per::Subscriber,
        };
        let tells_apart =
            !matches!(self, Self::Fifo { .. }) || matches!(marking, Some(MarkingParams::Fred(_)));
        if per == netsim::Per::Subscriber && !tells_apart {
            let why = "whoever's packets they are, fifo has them in one line: choose discipline = \"drr\", \"fq-codel\", \"wfq\" or \"airtime-fair\", or drop by fred";
            return Err(("per", why.into()));
        }
        let fq_codel = |quantum: Size, target: Time, interval: Time| FairParams {
            quantum: quantum.0,
            marking: Some(CodelParams { target: target.0, interval: interval.0 }.into()),
            ..FairParams::fq_codel()
        };
        let discipline = match self {
            Self::Fifo { .. } => DisciplineParams::Fifo,
            Self::Drr { quantum, line, .. } => {
                let bound = |line: PacketCount| DropTail { limit_packets: line.0 }.into();
                let marking = line.map(bound);
                DisciplineParams::Fair(FairParams {
                    quantum: quantum.0,
                    marking,
                    ..FairParams::round_robin()
                })
            }
            Self::FqCodel { quantum, target, interval, .. } => {
                DisciplineParams::Fair(fq_codel(quantum, target, interval))
            }
            Self::Wfq { line, .. } => {
                DisciplineParams::Weighted(WeightedParams { line_limit: line.map(|line| line.0) })
            }
            Self::Cake { quantum, target, interval, hosts } => {
                let hosts = match hosts {
                    HostsName::Source => Hosts::Source,
                    HostsName::Destination => Hosts::Destination,
                    HostsName::Both => Hosts::Both,
                };
                let flows = fq_codel(quantum, target, interval);
                DisciplineParams::Fair(FairParams { hosts: Some(hosts), ..flows })
            }
            Self::AirtimeFair { airtime, quantum, target, interval, .. } => {
                let flows = fq_codel(quantum, target, interval);
                DisciplineParams::Airtime(AirtimeParams { airtime: airtime.0, flows })
            }
        };
        Ok(QueueSpec { limit_packets: limit.0, discipline, marking, per })
    }
}
