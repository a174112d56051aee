//! 802.11 channel access for all nodes at once.
//!
//! Before touching this room read IEEE 802.11-2016 clauses 10.3.2 to 10.3.4 and 10.22.2, and [Jam10] section 2.3.2.
//! `rules` are those in which implementations differ. A `queue` is a contender, with its back-off and the plan of its exchange;
//! `access` holds the countdowns, `exchange` the frames of an exchange and the effects of failures. `hearers` has those of each
//! node, `reception` the decoding of frames, `interference` that by the signal-to-noise ratio, `energy` the sum of signals. `books`
//! has the ledger and the timeline; `batch` has contenders that send several packets in a frame, `modes` those under rate control.
//!
//! Each contender (a queue) has at most one head and at most one back-off. While its node senses an idle medium the
//! back-off has a deadline; when a frame reaches the node the slots that passed are taken off and the deadline goes.
//! The `agenda` has no deadline of its own for each: one access waits at the least of a neighbourhood's, or of a small network's. When it
//! is due every contender at its deadline transmits, in the order of numbers. Propagation to hearers near by is an offset that is
//! added where a frame's start and end are spread to them, never an event: a frame costs its neighbourhood, an exchange four
//! events. `flight` has the hearers further off, to which a frame travels longer than any of their intervals.
//!
//! Of each node its back-offs that run, and those that stand still, are known to be there or not: a frame's start looks at
//! the first and its end at the second. All of it is compiled three times more, for plain networks ([`Many`]) and among them for small ones
//! ([`UpTo64`], [`UpTo128`]). There `sets` has the nodes in each state, and receptions by all hearers at once; `relations` tells which
//! nodes hear which. Elsewhere `signals` has those that reach each node.
//!
//! A frame starting at `t` stops a hearer's countdown only if that expires after `t + propagation + sensing delay`;
//! otherwise both transmit.

mod access;
mod agenda;
mod ahead;
mod batch;
mod books;
mod energy;
mod exchange;
mod fades;
mod flight;
mod hearers;
mod interference;
mod modes;
mod motion;
mod node;
mod queue;
mod reception;
mod relations;
mod rules;
mod sets;
mod shape;
mod signals;
#[cfg(test)]
mod tests;

use super::draw;
use super::edca::Arbitration;
use crate::air::{Contender, Up};
use crate::ledger::Ledger;
use crate::loss::LossProcess;
use crate::phy::Mode;
use crate::receivers::Receivers;
use crate::timeline::{FrameKind, Timeline};
use crate::timing::MacTiming;
use agenda::{Agenda, Due};
use batch::Batch;
pub use batch::{AggregateCounters, Aggregation, FullAggregate, MissedBlockAck};
use evenair_des::Fingerprint;
use evenair_laws::backoff::Access;
use evenair_topology::Medium;
use evenair_units::{Bytes, Duration, Instant};
use fades::Fades;
use flight::Flight;
pub use hearers::Ear;
use hearers::{Hearers, milliwatts, neighbourhoods};
pub use modes::{ControlledLink, FULL_PACKET, ModeCounters};
use node::{Node, Station};
pub use queue::{Contention, Counters};
use queue::{Countdown, Plan, Queue};
pub use rules::{Capture, Rules};
use sets::Sets;
use shape::Table;
pub use shape::{General, Many, Shape, UpTo64, UpTo128};
use signals::Signals;
use std::collections::BTreeMap;

/// A frame that a node sends.
#[derive(Clone, Copy, Debug)]
struct Sending {
    kind: FrameKind,
    to: u32,
    by: Contender,
    since: Instant,
    /// Its size, header and checksum included.
    size: Bytes,
    /// Packets in it, of a DATA frame.
    parts: u16,
    /// It repeats a DATA frame.
    retry: bool,
    /// It has EDCA's longer header.
    qos: bool,
    /// Its addressee is not near.
    far: bool,
    /// Airtime of the frame that answers it.
    answer: Duration,
    /// Rates of one and the same hearers: that of its own.
    class: u8,
    /// For how long after its end it reserves the medium.
    reserves: Duration,
    /// How the exchange's DATA frame is modulated.
    mode: Mode,
    /// The receiver was itself transmitting when the frame arrived: why it was lost, if it was.
    receiver_busy: bool,
}

/// The frame that a node waits for after a frame of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expecting {
    /// The answer to its RTS or to its DATA frame.
    Answer,
    /// The same from afar: the air does not know before the time-out whether it comes.
    FarAnswer,
    /// The DATA frame that its CTS allowed, in ns-2.
    Data,
    /// The moment, a SIFS away, at which it goes on with a TXOP.
    Burst,
    /// The moment, a SIFS after a CTS to itself, at which it sends the DATA frame.
    Protected,
}

/// The answer that a node sends a SIFS from now.
#[derive(Clone, Copy, Debug)]
struct Reply {
    kind: FrameKind,
    to: u32,
    by: Contender,
    airtime: Duration,
    /// For how long after its end it reserves the medium.
    reserves: Duration,
    /// How the exchange's DATA frame is modulated.
    mode: Mode,
}

/// The deadline of a countdown that runs with nothing to send: it must be stopped like any other, and ends in nothing.
const IDLE_COUNTDOWN: Instant = Instant::from_nanos(u64::MAX - 1);

/// 802.11 for all nodes of a network.
#[derive(Clone, Debug)]
pub struct DcfAir<S: Shape = General> {
    /// The events that are due.
    agenda: S::Agenda,
    timing: MacTiming,
    rules: Rules,
    capture_ratio: f32,
    /// Zero, where every preamble is detected.
    detection_ratio: f32,
    noise_mw: f32,
    /// [`Rules::energy`]; infinite, if there is none.
    energy_mw: f32,
    ears: Box<[Ear]>,
    /// Each node's near hearers: a row for each class of rates, a place in it for each node.
    ear_range: S::Table<(u32, u32)>,
    /// Of a small network: its nodes by the state that they are in.
    sets: Sets<S>,
    /// Each node's hearers further off.
    far_range: Vec<(u32, u32)>,
    /// The class of each mode; nothing, where there is one for all.
    classes: Vec<(Mode, u8)>,
    /// Frames on their way to far hearers, at places that are used again.
    flights: Vec<Flight>,
    free_flights: Vec<u32>,
    /// There are far hearers at all.
    is_wide: bool,
    /// Some frames have EDCA's longer header and some have not.
    is_part_qos: bool,
    /// Stations of 802.11a or g among those of 802.11n, ac or ax, which do not know that header.
    of_ofdm: Vec<u32>,
    /// The contenders of each node and of all that hear it.
    around: Vec<Contender>,
    around_range: S::Table<(u32, u32)>,
    nodes: S::Table<Node>,
    /// Where receptions are not kept in sets: the signals that reach each node.
    signals: S::Table<Signals>,
    stations: S::Table<Station>,
    queues: S::Table<Queue>,
    countdowns: S::Table<Countdown>,
    /// When each contender's countdown ends with a frame; [`IDLE_COUNTDOWN`] where it runs with nothing to send, never
    /// while it does not run. Apart from the queues because every wake reads a neighbourhood of them.
    deadlines: S::Table<Instant>,
    /// The access at the least deadline of each node's neighbourhood, but in a small network. Apart from the stations because most of them
    /// are stale, and read nothing else.
    next_access: S::Table<Instant>,
    /// State is fetched into the cache before it is needed; then the contender of the frame that ends next but a few, and the events in
    /// the stages of fetching.
    looks_ahead: bool,
    upcoming: Option<Contender>,
    line: ahead::Line,
    /// A number for each node, from which draws of the error model by the signal-to-noise ratio come.
    draw_keys: Vec<u64>,
    /// How links fade, if they do.
    fades: Option<Box<Fades>>,
    /// Error models of links, by sender and receiver.
    losses: BTreeMap<(u32, u32), LossProcess>,
    fingerprint: Fingerprint,
    pub(crate) ledger: Option<Box<Ledger>>,
    pub(crate) timeline: Option<Box<Timeline>>,
}

impl DcfAir<General> {
    /// An idle medium with stations that decode all rates alike. The contenders come in ascending order of nodes, and at one node
    /// in descending order of urgency, which settles ties between them.
    pub fn new(medium: &Medium, contenders: Vec<Contention>, timing: MacTiming, rules: Rules) -> Self {
        Self::with_receivers(medium, contenders, timing, rules, &Receivers::default())
    }
}

impl DcfAir<Many> {
    /// The same in sets, if the network is [plain](Shape::PLAIN), and sets can have its receptions.
    pub fn of_many(
        medium: &Medium,
        contenders: &[Contention],
        timing: MacTiming,
        rules: Rules,
        receivers: &Receivers,
    ) -> Option<Self> {
        // Where sets can never have them, none are drawn up.
        let is_plain = rules.compares_pairs() && Self::fits(medium, contenders, &timing, &rules, receivers);
        let air = || Self::with_receivers(medium, contenders.to_vec(), timing, rules, receivers);
        is_plain.then(air).filter(Self::in_sets)
    }
}

impl<S: Shape> DcfAir<S> {
    /// Whether a network has this shape, if that is a [plain](Shape::PLAIN) one.
    pub fn fits(
        medium: &Medium,
        contenders: &[Contention],
        timing: &MacTiming,
        rules: &Rules,
        receivers: &Receivers,
    ) -> bool {
        let is_near = |node| medium.hearers(node).iter().all(|ear| ear.delay <= timing.near());
        rules.energy.is_none()
            && (1..=S::PLACES).contains(&medium.nodes())
            && !contenders.is_empty()
            && contenders.windows(2).all(|pair| pair[0].node != pair[1].node)
            && receivers.classes(timing.phy).1.len() == 1
            && (0..medium.nodes()).all(is_near)
    }

    /// The same with stations that decode some rates and not others.
    pub fn with_receivers(
        medium: &Medium,
        contenders: Vec<Contention>,
        timing: MacTiming,
        rules: Rules,
        receivers: &Receivers,
    ) -> Self {
        assert!(contenders.is_sorted_by_key(|c| c.node), "contenders are not sorted by node");
        let noise_mw = rules.noise_mw();
        let ratio = |db: f64| libm::pow(10.0, db / 10.0) as f32;
        let (capture_ratio, detection_ratio) = (ratio(rules.capture_db), rules.detection_ratio());
        let (classes, modes) = receivers.classes(timing.phy);
        let Hearers { ears, near: ear_range, far: far_range } =
            Hearers::of(medium, &modes, &timing, &rules, receivers);
        let nodes: Vec<Node> = (0..medium.nodes()).map(|node| contenders_of(node, &contenders)).collect();
        let (around, around_range) = neighbourhoods(medium, &nodes, rules.energy.is_some());
        let countdowns = contenders.iter().map(Countdown::none).collect();
        let of_edca = contenders.iter().filter(|c| c.arbitration.at_boundary).count();
        let (is_part_qos, is_qos) = match timing.phy.standard.format() {
            Some(_) => (!receivers.of_ofdm.is_empty(), true),
            None => ((1..contenders.len()).contains(&of_edca), of_edca > 0),
        };
        let timing = timing.with_qos(is_qos && !is_part_qos);
        let queues: Vec<Queue> = contenders.into_iter().map(Queue::empty).collect();
        let mut air = Self {
            agenda: S::Agenda::of(nodes.len()),
            sets: Sets::none(nodes.len()),
            timing,
            rules,
            capture_ratio,
            detection_ratio,
            noise_mw,
            energy_mw: rules.energy.map_or(f32::INFINITY, milliwatts),
            ears: ears.into(),
            ear_range: Table::new(ear_range),
            is_wide: far_range.iter().any(|(start, end)| start < end),
            far_range,
            classes: if modes.len() == 1 { Vec::new() } else { classes },
            is_part_qos,
            of_ofdm: receivers.of_ofdm.clone(),
            flights: Vec::new(),
            free_flights: Vec::new(),
            around,
            around_range: Table::new(around_range),
            stations: Table::new(vec![Station::idle(); nodes.len()]),
            signals: Table::new(vec![Signals::NONE; nodes.len()]),
            next_access: Table::new(vec![Instant::NEVER; nodes.len()]),
            nodes: Table::new(nodes),
            deadlines: Table::new(vec![Instant::NEVER; queues.len()]),
            queues: Table::new(queues),
            countdowns: Table::new(countdowns),
            looks_ahead: false,
            upcoming: None,
            line: ahead::Line::new(),
            draw_keys: Vec::new(),
            fades: None,
            losses: BTreeMap::new(),
            fingerprint: Fingerprint::default(),
            ledger: None,
            timeline: None,
        };
        air.draw_sets();
        air.look_ahead_if_large();
        air
    }

    /// Gives the link from one node to another an error model; without effect while they do not hear each other.
    pub fn set_loss(&mut self, from: u32, to: u32, process: &LossProcess) {
        self.mark_lossy(from, to);
        self.draw_hearers(from as usize);
        self.losses.insert((from, to), process.clone());
    }

    /// Gives each node a number from which the draws of its receptions under [`Capture::Errors`] come, with the sender's number and the
    /// frame's beginning: a node more or less changes no draw of others.
    pub fn set_draw_keys(&mut self, keys: Vec<u64>) {
        self.draw_keys = keys;
    }

    /// Counts of this contender's frames so far, by their fate.
    pub fn counters(&self, contender: Contender) -> &Counters {
        &self.queues[contender as usize].counters
    }

    /// See [`Air::aggregate`](crate::Air::aggregate).
    pub fn aggregate(&mut self, by: Contender, limits: Aggregation) {
        assert!(!self.is_wide(), "aggregates are not sent where hearers are further than half a slot");
        let queue = &mut self.queues[by as usize];
        assert!(queue.head.is_none(), "contender {by} has a head already");
        queue.batch = Some(Box::new(Batch::new(by, limits)));
    }

    /// Counts of this contender's aggregates so far, if it sends any.
    pub fn aggregate_counters(&self, contender: Contender) -> Option<&AggregateCounters> {
        self.queues[contender as usize].batch.as_deref().map(Batch::counters)
    }

    /// Whether the head of this contender has reached its receiver while the acknowledgement is still to come.
    pub fn head_received(&self, contender: Contender) -> bool {
        let queue = &self.queues[contender as usize];
        if let Some(batch) = queue.batch.as_ref().filter(|batch| batch.is_waiting()) {
            return batch.head_received();
        }
        let is_broadcast = queue.plan.answer.is_zero();
        (queue.head.is_some() || queue.held.is_some()) && queue.received && !is_broadcast
    }

    /// A hash of all frames so far.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// See [`Air::set_access`](crate::Air::set_access).
    pub fn set_access(&mut self, by: Contender, access: Access) {
        self.countdowns[by as usize].slotted = draw::slotted(access.draw);
        let queue = &mut self.queues[by as usize];
        if queue.short_failures + queue.long_failures == 0 {
            queue.window = draw::first_window(access.draw);
        }
        queue.access = access;
        queue.arbitration.txop_limit = Arbitration::txop_limit(access.holding);
    }

    /// See [`Air::report_attempts`](crate::Air::report_attempts).
    pub fn report_attempts(&mut self, by: Contender, wanted: bool) {
        self.queues[by as usize].reports = wanted;
    }

    /// Tells the host and rate control of an attempt, if they asked.
    #[inline]
    fn report(&mut self, now: Instant, by: Contender, acknowledged: bool, out: &mut Vec<Up>) {
        let queue = &self.queues[by as usize];
        if queue.reports || queue.modes.is_some() {
            self.report_attempt(now, by, acknowledged, out);
        }
    }

    #[inline(never)]
    fn report_attempt(&mut self, now: Instant, by: Contender, acknowledged: bool, out: &mut Vec<Up>) {
        if self.queues[by as usize].modes.is_some() {
            self.note_exchange(now, by, acknowledged);
        }
        let queue = &self.queues[by as usize];
        if queue.reports {
            let data = queue.has_sent_data();
            debug_assert!(data || !acknowledged || queue.plan.parts == 0, "an RTS is not acknowledged");
            let (airtime, reserves) = self.extent_by(&queue.plan, queue.plan.first());
            let (packet, parts) = (queue.packet, queue.plan.parts);
            let airtime = airtime + reserves;
            out.push(Up::Attempt { by, packet, parts, airtime, acknowledged, data });
        }
    }

    /// See [`Air::next_at`](crate::Air::next_at).
    #[inline]
    pub fn next_at(&self) -> Instant {
        self.agenda.next_at()
    }

    /// See [`Air::advance`](crate::Air::advance).
    #[inline]
    pub fn advance(&mut self, until: Instant, out: &mut Vec<Up>) -> Option<Instant> {
        let mut last = None;
        while let Some((now, due)) = self.agenda.take_until(until) {
            last = Some(now);
            if !S::SMALL && self.looks_ahead {
                self.fetch_ahead();
            }
            match due {
                Due::Access(node) => self.on_access(now, node as usize, out),
                Due::FrameEnd(node) => self.on_frame_end(now, node as usize, out),
                Due::Respond(node) => self.on_respond(now, node as usize),
                Due::Timeout(node) => self.on_timeout(now, node as usize, out),
                Due::Unreserve(node) => self.on_unreserve(now, node as usize),
                Due::Arrival(flight) => self.on_arrival(now, flight),
                Due::Landing(flight) => self.on_landing(now, flight, out),
            }
            let is_upcoming = !S::SMALL && self.upcoming.is_some();
            if !out.is_empty() || self.timeline.is_some() || is_upcoming {
                break;
            }
        }
        last
    }

    /// See [`Air::take_upcoming`](crate::Air::take_upcoming).
    #[inline]
    pub fn take_upcoming(&mut self) -> Option<Contender> {
        self.upcoming.take()
    }

    /// See [`Air::steps`](crate::Air::steps).
    pub fn steps(&self) -> u64 {
        self.agenda.taken()
    }

    /// Whether a node sends or awaits something has changed.
    #[inline]
    fn note_engagement(&mut self, node: usize) {
        self.engage(node, self.stations[node].is_engaged());
    }

    fn contenders(&self, node: usize) -> std::ops::Range<Contender> {
        let this = &self.nodes[node];
        // The compiler knows the loops over them to be none, where they are one at most.
        if S::PLAIN { this.first..this.first + u32::from(this.count > 0) } else { this.contenders() }
    }

    /// The contenders of a node with a back-off.
    #[inline]
    fn backing_off(&self, node: usize) -> impl Iterator<Item = Contender> + use<S> {
        let &Node { first, count, .. } = &self.nodes[node];
        debug_assert!(count > 0, "a back-off of no contender");
        let count = if S::PLAIN { 1 } else { u32::from(count) };
        (0..count).map(move |i| first + i)
    }

    /// The other contenders of a contender's node.
    #[inline]
    fn rivals(&self, node: usize, c: Contender) -> impl Iterator<Item = Contender> + use<S> {
        let all = if S::PLAIN { 0..0 } else { self.contenders(node) };
        all.filter(move |&other| other != c)
    }

    /// Gives a contender a back-off, which stands still.
    #[inline]
    fn back_off(&mut self, c: Contender, left: Duration) {
        self.countdowns[c as usize].begin(left);
        let node = self.queues[c as usize].node as usize;
        self.note_standing(node);
        self.note_length(node, left);
    }

    /// The class of a frame's mode.
    #[inline]
    fn class_of(&self, kind: FrameKind, data: Mode) -> u8 {
        if S::PLAIN || self.classes.is_empty() {
            0
        } else {
            self.class_among(self.timing.mode_of(kind, data))
        }
    }

    fn class_among(&self, mode: Mode) -> u8 {
        let of = |mode: Mode| {
            let is_alike = |other: Mode| match (other.modulation(), mode.modulation()) {
                (Some(other), Some(this)) => other.is_received_as(this),
                _ => other == mode,
            };
            self.classes.iter().find(|(other, _)| is_alike(*other)).map(|&(_, class)| class)
        };
        let own = || self.timing.phy.own_mode().and_then(of); // where modes are not told apart
        of(mode).or_else(own).expect("a mode of the physical layer")
    }

    /// The near hearers of a node's frames of some class.
    #[inline]
    fn ears_of(&self, node: usize, class: u8) -> std::ops::Range<usize> {
        let row = if S::PLAIN { 0 } else { usize::from(class) * self.nodes.all().len() };
        let (start, end) = self.ear_range[row + node];
        start as usize..end as usize
    }

    #[inline]
    fn far_ears_of(&self, node: usize, class: u8) -> std::ops::Range<usize> {
        let (start, end) = self.far_range[node + usize::from(class) * self.nodes.all().len()];
        start as usize..end as usize
    }

    /// Whether there are far hearers at all.
    #[inline]
    const fn is_wide(&self) -> bool {
        !S::PLAIN && self.is_wide
    }

    /// Whether a node is near or far, to another that hears it.
    fn is_far(&self, node: usize, to: u32) -> bool {
        self.is_wide() && self.far_ears_of(node, 0).any(|i| self.ears[i].node == to)
    }
}

/// A node that hears nothing, with its contenders.
fn contenders_of(node: usize, all: &[Contention]) -> Node {
    let first = all.partition_point(|c| (c.node as usize) < node) as u32;
    let end = all.partition_point(|c| c.node as usize <= node) as u32;
    Node::idle(first, u16::try_from(end - first).expect("a node has fewer than 65 536 queues"))
}
