//! The conclusions of a survey: whether loss is random or congestion, which remedy helps, and which questions
//! stay open.
//!
//! # Signs
//! - *Loss at rest*: none of our data was under way, so the cause is the channel, or other traffic.
//! - *Delay under load*: the median round trip above the least at rest: a queue that fills. Loss with it is
//!   congestion.
//! - *Losses wait*: a lost probe is flanked by probes that waited longer than most: it found a full queue. If
//!   its neighbours waited as little as all others, it was lost by chance.
//! - *Bursts*: a probe is lost far more often if the one before it was.
//! - *Gain*: the goodput of several connections over that of one. Loss by chance gives each connection the
//!   same; a full path gives nothing.
//!
//! # Open questions
//! A policer drops without delay as soon as there is too much; so does a queue of a few packets. Both look
//! like chance to probes, which are few. The gain separates them from chance. It does not separate them from
//! each other, nor from a path on which others take the remaining capacity. Half a minute does not show
//! changes from minute to minute, and probes may be treated otherwise than TCP's segments.

use super::survey::{Load, MANY, SEVERAL, Stretch};
use serde::Serialize;
use std::fmt;

/// Delay is caused by a queue if it is more than this share of the least round trip: [CZ06]'s γ.
const DELAYED: f64 = 0.2;
/// The delay must also exceed a host's own lateness \[s\].
const LATENESS_S: f64 = 0.002;
/// A smaller loss share does not justify a law.
const LOSS_LITTLE: f64 = 0.002;
/// Several connections gain if they bring this share of the gain that chance would give them.
const GAIN_OF_CHANCE: f64 = 0.5;
/// The goodput ratio below which there is no gain: one connection has nearly all of it.
const GAIN_NONE: f64 = 1.1;
/// The goodput ratio from which one choice does as well as another.
const AS_WELL: f64 = 0.9;
/// Loss is in bursts if a probe is lost this many times more often after a loss.
const BURSTY: f64 = 4.0;
/// Fewer losses show nothing about bursts, or about delay beside them.
const LOSSES_FEW: usize = 5;

/// The kind of loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// There is next to none.
    None,
    /// By chance: at any load, and without delay.
    Random,
    /// By chance, many at a time.
    RandomInBursts,
    /// With delay: a queue that is full.
    Congestion,
    /// Both: there is loss at rest, and more while packets wait.
    RandomAndCongestion,
    /// More under load than at rest, without delay, and more connections bring nothing: a policer or a short
    /// queue.
    WithoutDelay,
    /// The signs disagree, or there are too few.
    Unknown,
}

/// The remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Advice {
    /// One connection fills the path: nothing is needed.
    OneIsEnough,
    /// One connection of BBR does as well as many.
    OneOfBbr,
    /// Several connections, by the law `guarded`.
    Guarded,
    /// More connections take from others, or lose more, and bring nothing.
    NotMore,
    /// It cannot be determined.
    Unknown,
}

/// The conclusions of a survey.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// The kind of loss.
    pub kind: Kind,
    /// The remedy.
    pub advice: Advice,
    /// The least round trip at rest \[s\].
    pub least_s: Option<f64>,
    /// The median round trip above it under one connection \[s\].
    pub waits_s: Option<f64>,
    /// The share of probes lost at rest.
    pub lost_at_rest: Option<f64>,
    /// The share of segments sent again by one connection, and by the most that were tried.
    pub again: (Option<f64>, Option<f64>),
    /// Goodput of the best number of loss-based connections over that of one, and that number.
    pub gain: Option<(f64, u32)>,
    /// Goodput of one connection of BBR over that of the best.
    pub bbr: Option<f64>,
    /// Sentences for a reader, the most important first.
    pub says: Vec<String>,
    /// Questions that half a minute cannot answer.
    pub cannot_tell: Vec<String>,
}

/// Signs of a survey.
#[derive(Clone, Copy, Debug, Default)]
struct Signs {
    least_s: Option<f64>,
    lost_at_rest: Option<f64>,
    probes_at_rest: usize,
    one_bps: f64,
    waits_s: Option<f64>,
    is_delayed: bool,
    again_one: Option<f64>,
    again_most: Option<f64>,
    /// The best goodput of several connections, and their number.
    best: Option<(f64, u32)>,
    bbr_bps: Option<f64>,
    in_bursts: bool,
    /// Whether lost probes waited, if there are enough of them.
    losses_wait: Option<bool>,
}

/// Draws the conclusions from a survey.
pub fn diagnose(stretches: &[Stretch]) -> Diagnosis {
    let signs = Signs::of(stretches);
    let kind = signs.kind();
    let advice = signs.advice(kind);
    let gain = signs.best.filter(|_| signs.one_bps > 0.0).map(|(bps, n)| (bps / signs.one_bps, n));
    Diagnosis {
        kind,
        advice,
        least_s: signs.least_s,
        waits_s: signs.waits_s,
        lost_at_rest: signs.lost_at_rest,
        again: (signs.again_one, signs.again_most),
        gain,
        bbr: signs.bbr_over_best(),
        says: says(&signs, kind, advice),
        cannot_tell: cannot_tell(&signs, kind),
    }
}

impl Signs {
    fn of(stretches: &[Stretch]) -> Self {
        // If none returns, datagrams do not pass: that shows nothing about loss.
        let passes = stretches.iter().any(|stretch| !stretch.round_trips().is_empty());
        let rest = stretches.iter().find(|stretch| stretch.load.connections == 0).filter(|_| passes);
        let is_bbr = |load: &Load| load.congestion_control.as_deref() == Some("bbr");
        let loss_based = || stretches.iter().filter(|s| s.load.connections > 0 && !is_bbr(&s.load));
        let one = loss_based().find(|stretch| stretch.load.connections == 1);
        let most = loss_based().max_by_key(|stretch| stretch.load.connections);
        let best = loss_based().filter(|s| s.load.connections > 1);
        let best = best.max_by(|a, b| a.goodput_bps.total_cmp(&b.goodput_bps));
        let least_s = stretches.iter().filter_map(|stretch| stretch.round_trips().first().copied());
        let least_s = least_s.min_by(f64::total_cmp);
        let waits = |stretch: &Stretch| Some(median(&stretch.round_trips())? - least_s?);
        let rests_s = rest.and_then(waits).unwrap_or(0.0);
        let waits_s = one.and_then(waits);
        let longer_s = waits_s.unwrap_or(0.0) - rests_s;
        let lost = |stretch: &Stretch| stretch.lost() as f64 / stretch.samples.len().max(1) as f64;
        Self {
            least_s,
            lost_at_rest: rest.filter(|rest| !rest.samples.is_empty()).map(lost),
            probes_at_rest: rest.map_or(0, |rest| rest.samples.len()),
            one_bps: one.map_or(0.0, |one| one.goodput_bps),
            waits_s,
            is_delayed: least_s.is_some_and(|least_s| longer_s > (DELAYED * least_s).max(LATENESS_S)),
            again_one: one.and_then(Stretch::again_share),
            again_most: most.and_then(Stretch::again_share),
            best: best.map(|best| (best.goodput_bps, best.load.connections)),
            bbr_bps: stretches.iter().find(|s| is_bbr(&s.load)).map(|stretch| stretch.goodput_bps),
            in_bursts: in_bursts(stretches),
            losses_wait: losses_wait(stretches),
        }
    }

    /// Returns whether there is loss without a load of ours. It is that of probes at rest or, if those were
    /// too few, of one connection's segments on a path without delay.
    fn is_lossy(&self) -> bool {
        self.lost_at_rest.is_some_and(|lost| lost * self.probes_at_rest as f64 >= 2.0 && lost > LOSS_LITTLE)
            || !self.is_delayed && self.again_one.is_some_and(|again| again > LOSS_LITTLE)
    }

    /// Returns whether several connections bring a part of the gain that chance would give them.
    fn gains(&self) -> bool {
        let Some((best_bps, n)) = self.best else { return false };
        best_bps > self.one_bps * (1.0 + GAIN_OF_CHANCE * f64::from(n.min(SEVERAL) - 1)).min(1.5)
    }

    fn gains_nothing(&self) -> bool {
        self.best.is_some_and(|(best_bps, _)| best_bps < GAIN_NONE * self.one_bps)
    }

    fn bbr_over_best(&self) -> Option<f64> {
        let best = self.best.map_or(self.one_bps, |(bps, _)| bps.max(self.one_bps));
        self.bbr_bps.filter(|_| best > 0.0).map(|bbr| bbr / best)
    }

    fn kind(&self) -> Kind {
        let again = self.again_one.unwrap_or(0.0);
        if self.again_one.is_none() && self.lost_at_rest.is_none() {
            return Kind::Unknown;
        }
        let congested = self.is_delayed && again > LOSS_LITTLE && self.losses_wait != Some(false);
        match (self.is_lossy(), congested) {
            (true, true) if self.lost_at_rest.is_some_and(|lost| lost > 0.0) => Kind::RandomAndCongestion,
            (_, true) => Kind::Congestion,
            (true, false) if self.gains_nothing() && !self.is_delayed => Kind::WithoutDelay,
            (true, false) if self.in_bursts => Kind::RandomInBursts,
            (true, false) if self.gains() || self.lost_at_rest.is_some_and(|lost| lost > 0.0) => Kind::Random,
            (true, false) => Kind::Unknown,
            (false, false) => Kind::None,
        }
    }

    fn advice(&self, kind: Kind) -> Advice {
        let bbr_does = self.bbr_over_best().is_some_and(|share| share >= AS_WELL);
        match kind {
            Kind::WithoutDelay => Advice::NotMore,
            _ if self.gains_nothing() || kind == Kind::None && !self.gains() => Advice::OneIsEnough,
            Kind::Congestion => Advice::NotMore,
            _ if bbr_does && self.gains() => Advice::OneOfBbr,
            _ if self.gains() => Advice::Guarded,
            _ => Advice::Unknown,
        }
    }
}

/// Returns the median of sorted numbers.
fn median(sorted: &[f64]) -> Option<f64> {
    sorted.get(sorted.len() / 2).copied()
}

/// Returns whether probes are lost many at a time.
fn in_bursts(stretches: &[Stretch]) -> bool {
    let (mut lost, mut pairs, mut both, mut all) = (0, 0, 0, 0);
    for stretch in stretches {
        let is_lost: Vec<bool> = stretch.samples.iter().map(|sample| sample.round_trip_s.is_none()).collect();
        all += is_lost.len();
        lost += is_lost.iter().filter(|is_lost| **is_lost).count();
        pairs += is_lost.windows(2).filter(|pair| pair[0]).count();
        both += is_lost.windows(2).filter(|pair| pair[0] && pair[1]).count();
    }
    lost >= LOSSES_FEW
        && both >= 3
        && both as f64 / f64::from(pairs.max(1) as u32) > BURSTY * lost as f64 / all.max(1) as f64
}

/// Returns whether the neighbours of lost probes waited longer than most, under loads; none, if there are too
/// few.
fn losses_wait(stretches: &[Stretch]) -> Option<bool> {
    let (mut beside, mut above) = (0, 0);
    for stretch in stretches.iter().filter(|stretch| stretch.load.connections > 0) {
        let Some(middle) = median(&stretch.round_trips()) else { continue };
        for three in stretch.samples.windows(3).filter(|three| three[1].round_trip_s.is_none()) {
            for round_trip in [three[0].round_trip_s, three[2].round_trip_s].into_iter().flatten() {
                beside += 1;
                above += usize::from(round_trip > middle);
            }
        }
    }
    // By chance it is half of them: two standard deviations more are not chance.
    let (count, above) = (beside as f64, above as f64);
    (beside >= 2 * LOSSES_FEW).then(|| above > count / 2.0 + count.sqrt())
}

fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent > 0.0 && percent < 1.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

fn says(signs: &Signs, kind: Kind, advice: Advice) -> Vec<String> {
    let mut says = Vec::new();
    let gain = signs.best.filter(|_| signs.one_bps > 0.0).map(|(bps, n)| (bps / signs.one_bps, n));
    let several = gain.map_or_else(String::new, |(gain, n)| {
        format!("{n} connections carry {gain:.1} times as much as one")
    });
    if advice == Advice::OneOfBbr {
        let share = percent(signs.bbr_over_best().unwrap_or(0.0));
        says.push(format!(
            "One connection of BBR does as well: it carries {share} of the most that was seen. If the sender can be set to it, that is all it takes."
        ));
    }
    says.push(match kind {
        Kind::None => "Next to nothing is lost.".into(),
        Kind::Random => "Packets are lost by chance: without delay, and at any load.".into(),
        Kind::RandomInBursts => "Packets are lost by chance, many at a time.".into(),
        Kind::Congestion => "Packets are lost where they wait: a queue is full. That is congestion.".into(),
        Kind::RandomAndCongestion => "Packets are lost at rest, by chance, and more are lost under load, where they wait.".into(),
        Kind::WithoutDelay => {
            "Packets are lost without delay, and more connections bring nothing: a policer, or a queue of a few packets.".into()
        }
        Kind::Unknown => "The losses do not tell their cause.".into(),
    });
    says.push(match advice {
        Advice::OneIsEnough => "One connection fills the path: more would only take from others. guarded stays at one.".into(),
        Advice::OneOfBbr => format!("Where the sender cannot be set to BBR: {several}; the law is guarded."),
        Advice::Guarded => format!("{several}: the law guarded finds how many, and keeps none that brings nothing."),
        Advice::NotMore => "More connections would lose more and bring little: one is right, and guarded stays at one.".into(),
        Advice::Unknown => "It is not clear that more connections would help: guarded tries one after the other, and keeps those that help.".into(),
    });
    says
}

fn cannot_tell(signs: &Signs, kind: Kind) -> Vec<String> {
    let mut words = Vec::new();
    if signs.least_s.is_none() {
        words.push("No probe came back, so that nothing is known of delay: UDP does not pass.".into());
    }
    if matches!(kind, Kind::WithoutDelay | Kind::Unknown) {
        words.push(
            "A policer and a queue of a few packets look alike from the ends: both drop the excess at once."
                .into(),
        );
    }
    if matches!(kind, Kind::Random | Kind::RandomInBursts) && signs.probes_at_rest < 100 {
        words.push(format!("{} probes at rest tell a share of loss only roughly.", signs.probes_at_rest));
    }
    if signs.losses_wait.is_none() && !matches!(kind, Kind::None) {
        words.push("Too few probes were lost to see whether they had waited.".into());
    }
    if signs.bbr_bps.is_none() {
        words.push(
            "Whether one connection of BBR would do as well: this kernel has no BBR (modprobe tcp_bbr)."
                .into(),
        );
    }
    words.push(
        "Changes from minute to minute, and whether the path treats probes (UDP) as it treats TCP.".into(),
    );
    words.push(format!("More than {MANY} connections were not tried."));
    words
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "no loss to speak of",
            Self::Random => "random loss",
            Self::RandomInBursts => "random loss in bursts",
            Self::Congestion => "congestion",
            Self::RandomAndCongestion => "random loss, and congestion",
            Self::WithoutDelay => "loss without delay",
            Self::Unknown => "unclear",
        })
    }
}

#[cfg(test)]
mod tests;
