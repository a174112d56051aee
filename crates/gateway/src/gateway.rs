//! The gateway without its kernel: observations with their times are the input, the wanted state is the
//! output.

use crate::backlogs::{BacklogSamples, Bottleneck, bottleneck};
use crate::class_table::ClassTable;
use crate::config::{Config, Mode};
use crate::discovered::Discovered;
use crate::diverted::Diverted;
use crate::handles::Handles;
use crate::kernel::{Counters, Neighbour, Passed, Readings};
use crate::record::{Heard, What};
use crate::sensor::Sensor;
use crate::share::{Waiting, Wish, split};
use crate::status::{ClassStatus, Standing};
use crate::tree::{Has, Limits, OPEN, Tree, Trees};
use crate::{Prefix, Side, Subscribers};
use evenair_laws::Parameters;
use evenair_laws::gateway as laws;
use evenair_laws::gateway::{
    Allocation, AnyGateway, ClassCounters, ClassView, Count, Decision, GatewayAnswer, GatewayLaw,
    GatewayParams, GatewayTold, GatewayView, Meter, NewClasses,
};
use evenair_laws::tape::Taped;
use evenair_units::{Duration, Instant, Rate, Volume};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Number of epochs without any reading after which the limits open.
const EPOCHS_UNREAD_MAX: u32 = 3;

/// The part of the gateway's state that outlives a restart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// The class numbers of the subscribers.
    pub handles: Handles,
    /// The subscribers that had classes, in the law's order.
    pub members: Vec<String>,
    /// The discovered subscribers that no file lists.
    #[serde(default, rename = "sighted")]
    pub discovered: BTreeMap<Prefix, String>,
    /// The mode, the law's parameters and its state. The mode matters because rates without limits do
    /// not measure those under limits.
    pub law: Option<(Mode, GatewayParams, AnyGateway)>,
}

/// The source of counts at the end of an epoch.
#[derive(Clone, Copy, Debug)]
pub enum Counted<'a> {
    /// The queues of both sides.
    Queues(&'a [Readings; 2]),
    /// The packet sensor alone; no queue counts.
    Packets,
    /// No source could be read.
    Nothing,
}

impl Counted<'_> {
    /// Returns the queues' counters, if they are the source.
    const fn queues(&self) -> Option<&[Readings; 2]> {
        match self {
            Self::Queues(all) => Some(all),
            Self::Packets | Self::Nothing => None,
        }
    }
}

/// The gateway.
#[derive(Clone, Debug)]
pub struct Gateway {
    config: Config,
    /// The subscribers of the operator's files.
    listed: Subscribers,
    discovered: Discovered,
    class_table: ClassTable,
    law: AnyGateway,
    allocation: Allocation,
    meter: Meter,
    sensor: Sensor,
    diverted: Diverted,
    backlogs: BacklogSamples,
    /// The number of packets of each class that had to wait, estimated from samples.
    held: BTreeMap<(Side, u16), u64>,
    /// The counters at the end of the last epoch.
    then: BTreeMap<(Side, u16), Counters>,
    last: Instant,
    /// The classes with a backlog at present.
    waiting: Waiting,
    /// Number of consecutive epochs without any reading.
    missed: u32,
    /// The number of epochs, and the length of the last one.
    epochs: (u64, Duration),
    newcomers: BTreeSet<String>,
    /// Delegated prefixes that were seen and have no subscriber yet.
    arrived: BTreeSet<Prefix>,
    strangers: BTreeMap<IpAddr, Volume>,
    statuses: Vec<ClassStatus>,
}

impl Gateway {
    /// Creates a gateway, or continues from a memory.
    pub fn new(now: Instant, config: &Config, subscribers: Subscribers, memory: Memory) -> Self {
        let Memory { handles, members, discovered, law } = memory;
        let discovered = Discovered::new(now, discovered);
        let class_table = ClassTable::new(config, all(&subscribers, &discovered), handles, &members);
        // A law's state is kept if mode, law and classes are the same.
        let is_same = (config.mode, &config.law, class_table.members());
        let kept = law.filter(|(mode, params, _)| (*mode, params, &members[..]) == is_same);
        let law = kept.map_or_else(|| config.law.begin(&class_table.role()), |(.., law)| law);
        let mut gateway = Self {
            config: config.clone(),
            listed: subscribers,
            discovered,
            allocation: law.at_start(),
            law,
            meter: Meter::new(now, Vec::new(), Duration::MAX),
            sensor: Sensor::default(),
            diverted: Diverted::default(),
            backlogs: BacklogSamples::default(),
            held: BTreeMap::new(),
            then: BTreeMap::new(),
            last: now,
            waiting: Waiting::default(),
            missed: 0,
            epochs: (0, Duration::ZERO),
            newcomers: BTreeSet::new(),
            arrived: BTreeSet::new(),
            strangers: BTreeMap::new(),
            statuses: Vec::new(),
            class_table,
        };
        gateway.restart_meter(now);
        gateway
    }

    /// Returns the interval between two calls of the law.
    pub fn epoch(&self) -> Duration {
        self.law.interval()
    }

    fn restart_meter(&mut self, now: Instant) {
        let nothing = vec![None; 2 * self.class_table.members().len()];
        self.meter = Meter::new(now, nothing, self.epoch() * u64::from(EPOCHS_UNREAD_MAX));
        self.last = now;
    }

    /// Returns the record's first entry, with which a replay starts.
    pub fn beginning(&self) -> What {
        What::Begin {
            law: self.config.law.clone(),
            state: self.law.clone(),
            role: self.class_table.role(),
            classes: self.class_table.names(),
        }
    }

    /// Returns the state to save.
    pub fn memory(&self) -> Memory {
        Memory {
            handles: self.class_table.handles.clone(),
            members: self.class_table.members().to_vec(),
            discovered: self.discovered.owners(),
            law: Some((self.config.mode, self.config.law.clone(), self.law.clone())),
        }
    }

    /// Counts a packet that passed.
    pub fn see(&mut self, packet: &Passed) {
        let class_table = &self.class_table;
        let mut newcomer = None;
        let counts = !(self.config.exempt.acknowledgements && packet.is_acknowledgement());
        let stranger = self.sensor.see(packet, counts, |address| {
            let (subscriber, takes_part) = class_table.owner(address)?;
            if !takes_part {
                newcomer = Some(subscriber.id.clone());
            }
            class_table.minor(&subscriber.id).or(Some(0))
        });
        self.newcomers.extend(newcomer);
        if let Some(address) = stranger.filter(is_somebody) {
            self.offer(address, Volume { packets: 1, bytes: packet.size.into() });
        }
    }

    /// Notes in the sensor that packets cannot be seen.
    pub(crate) fn see_nothing(&mut self) {
        self.sensor.see_nothing();
    }

    /// Adds the packet filter's count of an address.
    pub fn offer(&mut self, address: IpAddr, more: Volume) {
        match self.class_table.owner(address) {
            Some((subscriber, false)) => {
                self.newcomers.insert(subscriber.id.clone());
            }
            Some((subscriber, true)) => {
                if let Some(minor) = self.class_table.minor(&subscriber.id) {
                    self.diverted.lead(minor, more.bytes);
                }
            }
            None => {
                let prefix = self.config.delegated(address).filter(|_| self.arrived.len() < self.room());
                self.arrived.extend(prefix);
                if self.strangers.len() < self.room() || self.strangers.contains_key(&address) {
                    let volume = self.strangers.entry(address).or_default();
                    (volume.packets, volume.bytes) =
                        (volume.packets + more.packets, volume.bytes + more.bytes);
                }
            }
        }
    }

    /// Returns the largest number of unlisted addresses, prefixes or neighbours that are remembered.
    const fn room(&self) -> usize {
        self.config.unknown.addresses as usize
    }

    /// Adds hosts that answer on the mesh's own link.
    pub fn meet(&mut self, now: Instant, neighbours: &[Neighbour]) {
        let room = self.room();
        let own = neighbours.iter().filter(|neighbour| is_somebody(&neighbour.address)).cloned();
        self.discovered.add_neighbours(now, &own.collect::<Vec<_>>(), room);
    }

    /// Takes a sample of backlogs \[packets\], by class.
    pub fn add_backlogs(&mut self, side: Side, lines: &BTreeMap<u16, u64>) {
        self.backlogs.add(side, lines);
        self.waiting.look(side, lines);
    }

    /// Returns the classes that are worth sampling. These are all if there are few, else those that
    /// were not idle in the last epoch.
    pub fn active(&self, side: Side) -> Vec<u16> {
        let is_active = |class: &ClassStatus| class.standing != Standing::Idle;
        if self.class_table.members().len() <= self.config.eager || self.statuses.is_empty() {
            return self.class_table.taking_part().map(|(_, minor)| minor).collect();
        }
        let of = |class: &&ClassStatus| class.side == side && is_active(class);
        self.statuses.iter().filter(of).map(|class| class.minor).collect()
    }

    /// Gives classes to subscribers that were seen and have none. Returns whether the wanted state
    /// changed, and the law's calls.
    pub fn welcome(&mut self, now: Instant) -> (bool, Vec<Heard>) {
        let room = self.room();
        self.discovered.see_prefixes(now, std::mem::take(&mut self.arrived), room);
        let is_other = self.discovered.take_other();
        let seen = if is_other { self.renew() } else { None };
        let newcomers = std::mem::take(&mut self.newcomers);
        let come = self.class_table.on_seen(&newcomers).map(|change| self.on_classes(&change));
        let heard: Vec<Heard> = seen.into_iter().chain(come).collect();
        (is_other || !heard.is_empty(), heard)
    }

    /// Returns the subscribers of the operator's files.
    pub(crate) const fn listed(&self) -> &Subscribers {
        &self.listed
    }

    /// Replaces the listed subscribers. Returns the law's call, or `None` if nothing changes for the
    /// law.
    pub fn on_subscribers(&mut self, subscribers: Subscribers) -> Option<Heard> {
        self.listed = subscribers;
        self.renew()
    }

    /// Rebuilds the subscriber table from files and discovered hosts.
    fn renew(&mut self) -> Option<Heard> {
        let all = all(&self.listed, &self.discovered);
        let change = self.class_table.on_subscribers(all, self.config.link_rate)?;
        Some(self.on_classes(&change))
    }

    /// Replaces the configuration. A different law starts from its initial state; otherwise the law's
    /// call about new classes is returned, if any.
    pub fn on_config(&mut self, now: Instant, config: &Config, subscribers: Subscribers) -> Option<Heard> {
        let is_other = config.law != self.config.law;
        self.config = config.clone();
        let heard = self.on_subscribers(subscribers);
        if is_other {
            self.law = config.law.begin(&self.class_table.role());
            self.allocation = self.law.at_start();
            self.restart_meter(now);
            return None;
        }
        heard
    }

    fn on_classes(&mut self, change: &NewClasses) -> Heard {
        self.meter.on_classes(change);
        self.statuses =
            change.was.iter().filter_map(|was| self.statuses.get((*was)? as usize).cloned()).collect();
        let names = self.class_table.names();
        Heard { classes: Some(names), ..self.tell(GatewayTold::OnClasses { classes: change.clone() }) }
    }

    fn tell(&mut self, told: GatewayTold) -> Heard {
        let answer: GatewayAnswer = GatewayParams::tell(&mut self.law, &told);
        if let Some(allocation) = answer.on_epoch.as_ref().or(answer.on_classes.as_ref()) {
            self.allocation = allocation.clone();
        }
        Heard { told, answer, classes: None }
    }

    /// Ends an epoch. `sees` is whether all packets were seen.
    pub fn on_epoch(&mut self, now: Instant, counted: &Counted<'_>, sees: bool) -> Vec<Heard> {
        self.sensor.expire(now);
        let classes: Vec<_> = self.class_table.classes().map(|(_, minor, side)| (side, minor)).collect();
        let limits: Vec<Rate> = classes.iter().map(|class| self.limit(*class)).collect();
        let (mut readings, waits) = self.readings(now, counted, sees, &limits);
        self.missed =
            if readings.iter().all(Option::is_none) && !readings.is_empty() { self.missed + 1 } else { 0 };
        // The counters of a class without its packets are meaningless: the law waits.
        self.diverted.end(counted.queues());
        for (_, reading) in
            classes.iter().zip(&mut readings).filter(|((_, minor), _)| self.diverted.of().contains(minor))
        {
            *reading = None;
        }
        let view = self.meter.look(now, &readings);
        self.last = now;
        self.epochs = (self.epochs.0 + 1, view.interval);
        self.statuses = self.judge(&view, &limits, &waits);
        let handles = self.class_table.handles.clone();
        let active: BTreeSet<u16> =
            self.statuses.iter().filter(|s| s.standing != Standing::Idle).map(|s| s.minor).collect();
        let is_active = |id: &str| handles.find(id).is_some_and(|minor| active.contains(&minor));
        let mut heard = vec![self.tell(GatewayTold::OnEpoch { view })];
        self.discovered.on_epoch(now, is_active);
        let gone = self.class_table.on_epoch(is_active);
        heard.extend(gone.map(|change| self.on_classes(&change)));
        self.backlogs.clear();
        heard
    }

    /// Returns the classes' readings, and the cause of each class's backlog under these limits.
    fn readings(
        &mut self,
        now: Instant,
        counted: &Counted<'_>,
        sees: bool,
        limits: &[Rate],
    ) -> (Vec<Option<ClassCounters>>, Vec<Wait>) {
        let interval = now.since(self.last);
        let classes: Vec<_> = self.class_table.classes().map(|(_, minor, side)| (side, minor)).collect();
        let of = |(&class, &limit): (&(Side, u16), &Rate)| {
            let knows = sees && self.sensor.is_known(class);
            let busy = knows.then(|| self.sensor.busy(class, now)).map(|busy| Count::Wide(busy.as_nanos()));
            let (reading, wait) = match counted {
                Counted::Queues(all) => {
                    self.reading(class, all[class.0 as usize].get(&class.1), limit, interval)
                }
                Counted::Packets if sees => (Some(passing(self.sensor.passed(class))), Wait::default()),
                Counted::Packets | Counted::Nothing => (None, Wait::default()),
            };
            let round_trips = sees.then(|| self.sensor.round_trips(class));
            // A few unseen packets do not cause a silence of seconds.
            let unanswered = self.sensor.unanswered(class);
            (reading.map(|reading| ClassCounters { busy, round_trips, unanswered, ..reading }), wait)
        };
        classes.iter().zip(limits).map(of).unzip()
    }

    /// Reads the counters at the start of the first epoch.
    pub fn on_start(&mut self, now: Instant, counted: &Counted<'_>, sees: bool) {
        let limits = vec![OPEN; 2 * self.class_table.members().len()];
        let (readings, _) = self.readings(now, counted, sees, &limits);
        self.meter = Meter::new(now, readings, self.epoch() * u64::from(EPOCHS_UNREAD_MAX));
        self.diverted.begin(counted.queues());
        self.last = now;
    }

    /// Returns a class's reading with the number of packets that had to wait, and the cause of its
    /// backlog.
    fn reading(
        &mut self,
        class: (Side, u16),
        counters: Option<&Counters>,
        limit: Rate,
        interval: Duration,
    ) -> (Option<ClassCounters>, Wait) {
        let Some(&now) = counters else { return (None, Wait::default()) };
        let then = self.then.insert(class, now);
        let share = self.backlogs.share(class);
        let then = then.filter(|then| then.bytes <= now.bytes).unwrap_or(now);
        let arrived = u64::from(now.packets.wrapping_sub(then.packets))
            + u64::from(now.dropped.wrapping_sub(then.dropped))
            + now.backlog.packets;
        let arrived = arrived.saturating_sub(then.backlog.packets);
        let before = bottleneck(share.unwrap_or(0.0), now.bytes - then.bytes, limit, interval);
        // Packets that wait for the device wait for no tokens.
        let counts =
            before == Bottleneck::Own || (before == Bottleneck::Other && self.allocation.total.is_some());
        let held = self.held.entry(class).or_default();
        if counts {
            *held += (share.unwrap_or(0.0) * arrived as f64).round() as u64;
        }
        let reading = ClassCounters {
            served: laws::Counted { packets: Count::Narrow(now.packets), bytes: Count::Wide(now.bytes) },
            dropped: Count::Narrow(now.dropped),
            backlog: now.backlog,
            held: share.map(|_| Count::Wide(*held)),
            ..ClassCounters::default()
        };
        (Some(reading), Wait { before, share: share.unwrap_or(0.0) })
    }

    /// Returns the status of each class in this epoch.
    fn judge(&self, view: &GatewayView, limits: &[Rate], waits: &[Wait]) -> Vec<ClassStatus> {
        let seconds = view.interval.as_secs_f64();
        let of = |(i, (subscriber, minor, side)): (usize, (&crate::Subscriber, u16, Side))| {
            let seen = view.class(i);
            let busy = seen.and_then(|seen| seen.busy).filter(|_| seconds > 0.0);
            let busy = busy.map(|busy| (busy.as_secs_f64() / seconds).min(1.0));
            let rate_bps = view.rate(i);
            let holds = self.config.mode == Mode::Enforce;
            let limit = if holds { limits[i] } else { OPEN };
            let standing = if self.diverted.of().contains(&minor) {
                Standing::Diverted
            } else {
                standing(seen, waits[i].before, (rate_bps, limit), busy, subscriber.cap)
            };
            ClassStatus {
                id: subscriber.id.clone(),
                name: subscriber.called().into(),
                side,
                minor,
                weight: subscriber.weight,
                rate_bps: seen.map(|_| rate_bps),
                limit_bps: (limits[i] < OPEN).then(|| limits[i].as_bps()),
                cap_bps: subscriber.cap.map(Rate::as_bps),
                dropped: seen.map_or(0, |seen| seen.dropped.packets),
                waits: waits[i].share,
                busy,
                standing,
                ignores_losses: holds && seen.is_some_and(ClassView::ignores_losses),
            }
        };
        self.class_table.classes().enumerate().map(of).collect()
    }

    /// Returns whether the limits are open because nothing could be read.
    pub fn is_blind(&self) -> bool {
        self.missed >= EPOCHS_UNREAD_MAX
    }

    /// Returns the total rate of each side, if both share one bucket.
    pub(crate) fn totals(&self) -> Option<[Rate; 2]> {
        let total = self.allocation.total.filter(|_| !self.is_blind())?.as_bps() as f64;
        let mut wishes = [Vec::new(), Vec::new()];
        let mut weights = 0.0;
        for ((side, minor), part) in self.waiting.parts() {
            let Some(subscriber) = self.subscriber(minor) else { continue };
            let up_to = subscriber.cap.map_or(f64::INFINITY, |cap| cap.as_bps() as f64);
            weights += subscriber.weight;
            wishes[side as usize].push(Wish { weight: subscriber.weight * part, up_to });
        }
        for class in self.statuses.iter().filter(|class| !self.waiting.has((class.side, class.minor))) {
            let up_to = class.rate_bps.unwrap_or(0.0);
            wishes[class.side as usize].push(Wish { weight: class.weight, up_to });
        }
        // The reserved minimum: the rate of one more class of weight 1.
        let door = (total / (weights + 1.0)).max(self.config.least_rate.as_bps() as f64);
        let [down, up] = &wishes;
        Some(split(total, door, [down, up]).map(|bps| Rate::from_bps(bps as u64)))
    }

    fn subscriber(&self, minor: u16) -> Option<&crate::Subscriber> {
        let place = self.class_table.place(minor)?;
        self.class_table.subscribers().get(&self.class_table.members()[place])
    }

    /// Returns a class's present limit.
    fn limit(&self, (side, minor): (Side, u16)) -> Rate {
        if self.is_blind() {
            return OPEN;
        }
        self.wanted_class(side, minor).unwrap_or(OPEN)
    }

    fn wanted_class(&self, side: Side, minor: u16) -> Option<Rate> {
        let (place, subscriber) = (self.class_table.place(minor)?, self.subscriber(minor)?);
        let own =
            self.allocation.each.get(2 * place + side as usize).map(|own| (*own).max(self.config.least_rate));
        let all = self.allocation.total.unwrap_or(OPEN);
        Some(own.unwrap_or(all).min(subscriber.cap.unwrap_or(OPEN)))
    }

    /// Returns the state that the kernel should hold. If `open`, classes exist, but only the
    /// subscribers' caps limit them.
    pub fn wanted(&self, open: bool) -> Trees {
        let open = open || self.is_blind();
        let mut trees = Trees::default();
        let totals = self.totals().filter(|_| !open);
        let all = self.allocation.total.unwrap_or(OPEN);
        let exempt = self.config.exempt_rate(self.class_table.subscribers());
        for side in Side::ALL {
            let total = totals.map(|totals| totals[side as usize]);
            let unknown = self.config.unknown.rate;
            let acknowledgements = self.config.exempt.acknowledgements;
            let mut tree = Tree::new(&Limits { total, unknown, exempt, acknowledgements });
            let busy = self.busy(side);
            let weights: f64 = busy.values().sum();
            for (place, (subscriber, minor)) in self.class_table.taking_part().enumerate() {
                let own = self.allocation.each.get(2 * place + side as usize).copied();
                let own = if open { Some(OPEN) } else { own };
                let beside = weights - busy.get(&minor).unwrap_or(&0.0);
                let part = subscriber.weight / (beside + subscriber.weight);
                let has = own.map_or(Has::Part(all, part), Has::Bucket);
                tree.subscriber(minor, (has, subscriber.cap), subscriber.weight, self.config.least_rate);
                tree.entries.extend(subscriber.prefixes.iter().map(|&prefix| (prefix, minor)));
            }
            *trees.of_mut(side) = tree;
        }
        trees
    }

    /// Returns the classes of a side that were not idle in the last epoch, with their weights.
    fn busy(&self, side: Side) -> BTreeMap<u16, f64> {
        let of = |class: &&ClassStatus| class.side == side && class.standing != Standing::Idle;
        self.statuses.iter().filter(of).map(|class| (class.minor, class.weight)).collect()
    }

    /// Returns the status of each class in the last epoch.
    pub fn statuses(&self) -> &[ClassStatus] {
        &self.statuses
    }

    /// Returns the number of epochs, and the length of the last one.
    pub const fn epochs(&self) -> (u64, Duration) {
        self.epochs
    }

    /// Returns the law's last allocation.
    pub const fn allocation(&self) -> &Allocation {
        &self.allocation
    }

    /// Returns the law's last decision in words, with the subscriber that caused it.
    pub fn decision(&self) -> String {
        let decision = self.allocation.decision;
        let cause = decision.class.and_then(|class| self.class_table.classes().nth(class as usize));
        let plain = Decision { class: None, ..decision };
        cause.map_or_else(
            || plain.to_string(),
            |(subscriber, _, side)| format!("{plain} ({} {side})", subscriber.called()),
        )
    }

    /// Takes the names of subscribers with diverted packets, if there are new ones, or an empty list
    /// once none is left.
    pub(crate) fn take_diverted(&mut self) -> Option<Vec<String>> {
        let minors = self.diverted.take_news()?;
        let name = |minor: &u16| self.subscriber(*minor).map(|subscriber| subscriber.called().to_owned());
        Some(minors.iter().filter_map(name).collect())
    }

    /// Returns the addresses that belong to no subscriber, with the volume that they offered.
    pub const fn strangers(&self) -> &BTreeMap<IpAddr, Volume> {
        &self.strangers
    }
}

/// Returns the listed subscribers, and the discovered ones as far as there is room.
fn all(listed: &Subscribers, discovered: &Discovered) -> Subscribers {
    let mut all = listed.clone();
    all.lease(&discovered.leased());
    all
}

/// The cause of a class's backlog, and the share of samples with a backlog.
#[derive(Clone, Copy, Debug, Default)]
struct Wait {
    before: Bottleneck,
    share: f64,
}

/// Returns the counters of a class without a queue.
fn passing(volume: Volume) -> ClassCounters {
    ClassCounters { served: laws::Counted::wide(volume), ..ClassCounters::default() }
}

/// Returns whether one subscriber may have an address: it is neither multicast nor link-local nor
/// special.
fn is_somebody(address: &IpAddr) -> bool {
    let own = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !(own || address.is_multicast() || address.is_unspecified() || address.is_loopback())
}

/// A class with data outstanding for a smaller part of the time is idle.
const IDLE: f64 = 0.1;
/// A class with this part of its limit uses its limit.
const HAD: f64 = 0.85;

fn standing(
    seen: Option<&ClassView>,
    waits: Bottleneck,
    (rate_bps, limit): (f64, Rate),
    busy: Option<f64>,
    cap: Option<Rate>,
) -> Standing {
    let Some(seen) = seen else { return Standing::Unknown };
    let has_enough = rate_bps >= HAD * limit.as_bps() as f64;
    if seen.is_away() && !has_enough {
        return Standing::Away;
    }
    let silent = !seen.is_seen() && busy.is_none_or(|busy| busy < IDLE);
    match waits {
        _ if silent => Standing::Idle,
        Bottleneck::Own if cap == Some(limit) => Standing::Plan,
        Bottleneck::Own => Standing::Share,
        Bottleneck::Other => Standing::All,
        Bottleneck::Nothing if has_enough => Standing::Share,
        Bottleneck::Nothing if busy.is_some_and(|busy| busy > 0.5) => Standing::Mesh,
        Bottleneck::Nothing => Standing::Content,
    }
}
