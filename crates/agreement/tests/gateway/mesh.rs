//! A small mesh behind a gateway, epoch by epoch: the first test of a gateway's laws, before any packet
//! moves.
//!
//! Airtime is one resource. A bit of a flow costs `hops/W` of it. While the admitted load fits, every flow
//! has it; when it does not, the nearer flows have theirs and the farther the rest, as with TCP over 802.11.
//! A TCP flow follows its possible rate downwards at once and upwards most of the way in an epoch.

use evenair_laws::Parameters;
use evenair_laws::gateway::{
    Allocation, AnyGateway, ClassRole, ClassView, GatewayLaw, GatewayParams, GatewayRole, GatewayView,
};
use evenair_units::{Duration, Instant, Rate, Volume};

/// Each link's capacity \[bit/s\].
pub(crate) const LINK: f64 = 900e3;
pub(crate) const EPOCH: Duration = Duration::from_secs(10);
const PACKET: f64 = 1500.0;
/// How much of the way up a TCP flow makes in an epoch.
const AGILITY: f64 = 0.7;
/// The share of packets that wait for tokens although the flow's bottleneck is in the mesh: TCP comes in
/// bursts.
const BURSTS: f64 = 0.2;

/// A flow's demand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wants {
    /// As much as it can have.
    All,
    /// A rate, evenly.
    Rate(f64),
    /// A mean rate, in pages that take any available rate.
    Pages(f64),
    /// A rate that nothing lowers; the gateway passes it down and sees no loss.
    Blind(f64),
    Nothing,
}

#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) hops: f64,
    pub(crate) weight: f64,
    pub(crate) wants: Wants,
    rate: f64,
}

impl Flow {
    pub(crate) fn new(hops: f64, wants: Wants) -> Self {
        Self { hops, weight: 1.0, wants, rate: 0.0 }
    }
}

/// The mesh and its gateway.
pub(crate) struct Mesh {
    pub(crate) flows: Vec<Flow>,
    /// The rest of the airtime, one where no other load takes any.
    pub(crate) airtime: f64,
    pub(crate) law: AnyGateway,
    pub(crate) allocation: Allocation,
    /// The order of starvation: the farthest first, or (`false`) the nearest.
    pub(crate) far_starves: bool,
    /// Whether the gateway reports how long data were outstanding.
    pub(crate) tells_busy: bool,
    pub(crate) views: Vec<ClassView>,
    now: Instant,
    noise: u64,
}

impl Mesh {
    pub(crate) fn new(params: &GatewayParams, flows: &[Flow]) -> Self {
        let link_rate = Some(Rate::from_bps(LINK as u64));
        let class = |flow: &Flow| ClassRole { weight: flow.weight, link_rate, ..ClassRole::default() };
        let law = params.begin(&GatewayRole { classes: flows.iter().map(class).collect() });
        let allocation = law.at_start();
        Self {
            flows: flows.to_vec(),
            airtime: 1.0,
            law,
            allocation,
            far_starves: true,
            tells_busy: false,
            views: Vec::new(),
            now: Instant::ZERO,
            noise: 1,
        }
    }

    /// Everyone's rate, if all were as near each other as they are far from it: the level of max-min fairness per weight.
    pub(crate) fn fair(&self) -> f64 {
        let level = |level: f64| -> f64 {
            self.flows.iter().map(|flow| flow.wanted().min(flow.weight * level) * flow.hops / LINK).sum()
        };
        let (mut low, mut high) = (0.0, LINK);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if level(middle) > self.airtime { high = middle } else { low = middle }
        }
        low
    }

    pub(crate) fn rate(&self, flow: usize) -> f64 {
        self.flows[flow].rate
    }

    pub(crate) fn rates(&self) -> Vec<f64> {
        self.flows.iter().map(|flow| flow.rate).collect()
    }

    /// The mean rates of so many epochs.
    pub(crate) fn mean(&mut self, epochs: usize) -> Vec<f64> {
        let mut sums = vec![0.0; self.flows.len()];
        for _ in 0..epochs {
            self.epoch();
            sums.iter_mut().zip(self.rates()).for_each(|(sum, rate)| *sum += rate / epochs as f64);
        }
        sums
    }

    pub(crate) fn run(&mut self, epochs: usize) {
        (0..epochs).for_each(|_| self.epoch());
    }

    /// One epoch, and the law's reaction to it.
    pub(crate) fn epoch(&mut self) {
        let admitted = self.admitted();
        let granted = self.granted(&admitted);
        self.now += EPOCH;
        self.views.clear();
        for (i, can) in granted.into_iter().enumerate() {
            let noise = 0.95 + 0.1 * self.draw();
            // A page comes as fast as it is admitted, where the mesh carries the demand.
            let carried = if can < self.flows[i].wanted() { can } else { admitted[i] };
            let flow = &mut self.flows[i];
            let blind = matches!(flow.wants, Wants::Blind(_));
            let can = if blind { can } else { can * noise };
            flow.rate = if can < flow.rate || blind { can } else { flow.rate + AGILITY * (can - flow.rate) };
            let busy = self.tells_busy.then(|| flow.busy(carried));
            self.views.push(ClassView { busy, ..flow.view(admitted[i]) });
        }
        let view = GatewayView {
            now: self.now,
            interval: EPOCH,
            classes: self.views.iter().copied().map(Some).collect(),
        };
        self.allocation = self.law.on_epoch(&view);
    }

    /// The rate that the gateway lets each have \[bit/s\]: its bucket's, or its fair share of the one bucket.
    fn admitted(&self) -> Vec<f64> {
        if let Some(total) = self.allocation.total {
            let mut level = 0.0;
            let mut step = LINK;
            for _ in 0..60 {
                step /= 2.0;
                let sum: f64 = self.flows.iter().map(|flow| flow.wanted().min(level + step)).sum();
                if sum <= total.as_bps() as f64 {
                    level += step;
                }
            }
            return vec![level; self.flows.len()];
        }
        (0..self.flows.len())
            .map(|i| self.allocation.each.get(i).map_or(LINK, |rate| rate.as_bps() as f64))
            .collect()
    }

    /// The mesh's rate for each of those that are admitted \[bit/s\].
    fn granted(&self, admitted: &[f64]) -> Vec<f64> {
        let offered: Vec<f64> =
            self.flows.iter().zip(admitted).map(|(flow, &most)| flow.wanted().min(most)).collect();
        let mut order: Vec<usize> = (0..offered.len()).collect();
        order.sort_by(|&one, &other| self.flows[one].hops.total_cmp(&self.flows[other].hops));
        if !self.far_starves {
            order.reverse();
        }
        let mut left = self.airtime;
        let mut granted = offered.clone();
        for i in order {
            let cost = self.flows[i].hops / LINK;
            // No flow is shut out altogether.
            granted[i] = offered[i].min((left / cost).max(0.1 * offered[i]));
            left = (left - granted[i] * cost).max(0.0);
        }
        for (i, flow) in self.flows.iter().enumerate() {
            if matches!(flow.wants, Wants::Blind(_)) {
                granted[i] = offered[i];
            }
        }
        granted
    }

    fn draw(&mut self) -> f64 {
        self.noise =
            self.noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.noise >> 33) as f64 / (1u64 << 31) as f64
    }
}

impl Flow {
    fn wanted(&self) -> f64 {
        match self.wants {
            Wants::All => f64::INFINITY,
            Wants::Rate(rate) | Wants::Pages(rate) | Wants::Blind(rate) => rate,
            Wants::Nothing => 0.0,
        }
    }

    /// For how long it has data outstanding, of which so much is carried while there are any \[bit/s\].
    fn busy(&self, carried: f64) -> Duration {
        let share = match self.wants {
            Wants::All => 1.0,
            Wants::Pages(rate) => (rate / carried).min(1.0),
            // Small packets, all alike.
            Wants::Rate(_) | Wants::Blind(_) | Wants::Nothing => 0.0,
        };
        Duration::from_millis((EPOCH.as_secs_f64() * 1e3 * share) as u64)
    }

    /// The gateway queue's counts of it in an epoch.
    fn view(&self, admitted: f64) -> ClassView {
        let volume = |bps: f64| {
            let packets = (bps * EPOCH.as_secs_f64() / 8.0 / PACKET).round();
            Volume { packets: packets as u64, bytes: (packets * PACKET) as u64 }
        };
        let served = volume(self.rate);
        let limited = self.rate >= 0.85 * admitted;
        let (held, dropped) = match self.wants {
            Wants::Nothing | Wants::Rate(_) if !limited => (0.0, 0.0),
            Wants::Blind(rate) => (1.0, (rate / admitted - 1.0).max(0.0)),
            Wants::Pages(_) => (0.9, 0.02),
            _ if limited => (0.95, 0.03),
            _ => (BURSTS, 0.0),
        };
        let of = |share: f64| (served.packets as f64 * share) as u64;
        let dropped = Volume { packets: of(dropped), bytes: of(dropped) * PACKET as u64 };
        let backlog =
            if limited && self.rate > 0.0 { Volume { packets: 3, bytes: 4500 } } else { Volume::default() };
        let arrived =
            Volume { packets: served.packets + dropped.packets, bytes: served.bytes + dropped.bytes };
        ClassView { arrived, served, dropped, backlog, held: Some(of(held)), ..ClassView::default() }
    }
}
