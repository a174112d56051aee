//! The gateway's status, for people and programs.

use crate::Side;
use crate::config::Mode;
use evenair_laws::gateway::AWAY;
use evenair_units::printable;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of printed characters of a name or an id.
const NAME_MAX: usize = 200;

/// The bound of a class's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It had no packets.
    Idle,
    /// Its fair share of the mesh.
    Share,
    /// Its cap.
    Plan,
    /// The sum of all rates: all together use as much as the mesh carries.
    All,
    /// A bottleneck behind the gateway: the mesh, its own devices, or the server.
    Mesh,
    /// Its host does not answer data: it is switched off or out of reach.
    Away,
    /// Its packets do not reach its classes: another rule or filter on this machine diverts them.
    #[serde(rename = "astray")]
    Diverted,
    /// Its own demand.
    Content,
    /// Unknown, because nothing could be read.
    Unknown,
}

/// One direction of one subscriber.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassStatus {
    /// The subscriber's id.
    pub id: String,
    /// The subscriber's name.
    pub name: String,
    /// The direction.
    pub side: Side,
    /// The number of its class.
    pub minor: u16,
    /// Its weight.
    pub weight: f64,
    /// Its rate in the last epoch \[bit/s\].
    pub rate_bps: Option<f64>,
    /// Its limit in that epoch, if there is one \[bit/s\].
    pub limit_bps: Option<u64>,
    /// Its cap \[bit/s\].
    pub cap_bps: Option<u64>,
    /// Packets that the gateway dropped in the last epoch.
    pub dropped: u64,
    /// The share of samples with a backlog.
    pub waits: f64,
    /// The share of time with data outstanding, where known.
    pub busy: Option<f64>,
    /// The bound of its rate.
    pub standing: Standing,
    /// Whether its sender does not slow down at losses.
    #[serde(default)]
    pub ignores_losses: bool,
}

/// The status of the gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The version of this document: [`SCHEMA`](crate::record::SCHEMA).
    pub schema: u32,
    /// The time \[ms since 1970\].
    pub at_ms: u64,
    /// The number of epochs since the start of the daemon.
    #[serde(default)]
    pub epochs: u64,
    /// The length of the last epoch \[s\].
    #[serde(default)]
    pub epoch_s: f64,
    /// The daemon's permission to change the kernel.
    pub mode: Mode,
    /// Whether the operator opened the limits.
    pub is_paused: bool,
    /// Whether the limits are open because nothing could be read.
    pub is_blind: bool,
    /// The time by which a trial must be confirmed \[ms since 1970\].
    pub confirm_by_ms: Option<u64>,
    /// The law.
    pub law: String,
    /// Its last decision, in words.
    pub decision: String,
    /// The total rate of all classes, if the law has one \[bit/s\].
    pub total_bps: Option<u64>,
    /// Jain's index of the rates over weights of classes that want more than they get; `None` if there
    /// are fewer than two.
    pub fairness: Option<f64>,
    /// The number of addresses that belong to no subscriber.
    pub strangers: usize,
    /// The latest troubles, oldest first.
    pub troubles: Vec<String>,
    /// The classes of all subscribers.
    pub classes: Vec<ClassStatus>,
}

/// Returns Jain's index of rates over weights, of classes that the gateway or the mesh holds back.
pub fn fairness(classes: &[ClassStatus]) -> Option<f64> {
    let wants =
        |class: &&ClassStatus| matches!(class.standing, Standing::Share | Standing::All | Standing::Mesh);
    let shares: Vec<f64> =
        classes.iter().filter(wants).filter_map(|class| Some(class.rate_bps? / class.weight)).collect();
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    (shares.len() > 1 && squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// Formats a rate \[bit/s\] for people.
pub fn rate(bps: f64) -> String {
    match bps {
        bps if bps >= 10e6 => format!("{:.0} Mb/s", bps / 1e6),
        bps if bps >= 1e6 => format!("{:.1} Mb/s", bps / 1e6),
        bps => format!("{:.0} kb/s", bps / 1e3),
    }
}

impl ClassStatus {
    /// Returns its subscriber's printable name, with the id if `with_id` is set and the two differ.
    pub fn called(&self, with_id: bool) -> String {
        let name = printable(&self.name, NAME_MAX);
        if with_id && self.name != self.id {
            format!("{name} ({})", printable(&self.id, NAME_MAX))
        } else {
            name
        }
    }

    /// Returns the bound of its rate in a word or two.
    pub const fn bound(&self) -> &'static str {
        match self.standing {
            _ if self.ignores_losses => "ignores losses",
            Standing::Idle => "idle",
            Standing::Share => "fair share",
            Standing::Plan => "plan",
            Standing::All => "all together",
            Standing::Mesh => "mesh or beyond",
            Standing::Away => "away",
            Standing::Diverted => "led past",
            Standing::Content => "own demand",
            Standing::Unknown => "not known",
        }
    }

    /// Returns a sentence for customers about one direction.
    fn words(&self) -> String {
        let way = if self.side == Side::Down { "Downloads" } else { "Uploads" };
        let got = rate(self.rate_bps.unwrap_or_default());
        let limit = self.limit_bps.map_or("no limit".into(), |limit| rate(limit as f64));
        match self.standing {
            Standing::Idle => {
                format!("{way}: no data was requested in the last epoch. Up to {limit} is available at once.")
            }
            Standing::Share => format!(
                "{way}: {got} now, the fair share of the mesh's capacity ({limit}). It grows as others want less."
            ),
            Standing::Plan => {
                format!("{way}: {got} now, which is all of the plan ({limit}). The mesh would carry more.")
            }
            Standing::All => format!(
                "{way}: {got} now. All subscribers together use the mesh's capacity; they take turns."
            ),
            Standing::Mesh => format!(
                "{way}: {got} now, though {limit} are allowed. The gateway delays nothing: the path through the mesh, the own \
                network, or the other end is slower."
            ),
            Standing::Away => format!(
                "{way}: data are sent, but no answer has come for {} seconds or longer: the device is switched off or out of reach, or its path \
                through the mesh is broken. Other limits are not lowered for it. Up to {limit} is available once it answers.",
                AWAY.as_nanos() / 1_000_000_000
            ),
            Standing::Diverted => format!(
                "{way}: their bound is unknown. Other rules on the gateway move the packets past the limits; its log has a warning."
            ),
            Standing::Content => {
                format!("{way}: {got} now, as much as was requested. Up to {limit} is available.")
            }
            Standing::Unknown => format!("{way}: no measurement of the last epoch."),
        }
    }

    /// Returns a warning for customers about a sender that ignores losses.
    const fn warning(&self) -> &'static str {
        match self.side {
            Side::Down => {
                " More than a third of the packets was dropped, and the sender does not slow down: a program that ignores losses, or an attack."
            }
            Side::Up => {
                " More than a third of the packets was dropped, and a device here does not slow down: it takes air from all others in vain."
            }
        }
    }
}

impl Status {
    /// Returns the reason for which no limit holds, if so.
    const fn reservation(&self) -> &'static str {
        match self.mode {
            _ if self.is_paused || self.is_blind => "\nAll limits are open at present.\n",
            Mode::Enforce => "\n",
            _ => "\nThe gateway only observes at present, without limits.\n",
        }
    }

    /// Returns the names that several subscribers share, or that are another's id: clients choose their
    /// host names.
    pub fn ambiguous(&self) -> BTreeSet<&str> {
        let mut owners = BTreeMap::new();
        let ids = self.classes.iter().map(|class| (class.id.as_str(), class.id.as_str()));
        let names = self.classes.iter().map(|class| (class.name.as_str(), class.id.as_str()));
        let taken = |(name, id)| (owners.insert(name, id).is_some_and(|before| before != id)).then_some(name);
        ids.chain(names).filter_map(taken).collect()
    }

    /// Explains a subscriber's rates in words for customers; `None` if no subscriber has this id or
    /// name.
    pub fn why(&self, asked: &str) -> Option<String> {
        // Clients choose their host names, so an id takes precedence over an equal name.
        let of = |is_meant: &dyn Fn(&ClassStatus) -> bool| -> Vec<&ClassStatus> {
            self.classes.iter().filter(|class| is_meant(class)).collect()
        };
        let mut own = of(&|class| class.id == asked);
        if own.is_empty() {
            own = of(&|class| class.name == asked);
        }
        own.first()?;
        let mut text = String::new();
        let mut last = None;
        for class in &own {
            if last.replace(&class.id) != Some(&class.id) {
                text += &class.called(true);
                text += self.reservation();
            }
            let warning = if class.ignores_losses { class.warning() } else { "" };
            text += &format!("{}{warning}\n", class.words());
        }
        let dropped: u64 = own.iter().map(|class| class.dropped).sum();
        if dropped > 0 {
            text += &format!(
                "{dropped} packets found the queue full in the last epoch, which tells their senders to slow down.\n"
            );
        }
        Some(text)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn class(side: Side, standing: Standing) -> ClassStatus {
        ClassStatus {
            id: "s1".into(),
            name: "Anna".into(),
            side,
            minor: 0x10,
            weight: 1.0,
            rate_bps: Some(400e3),
            limit_bps: Some(410_000),
            cap_bps: None,
            dropped: 3,
            waits: 1.0,
            busy: Some(1.0),
            standing,
            ignores_losses: false,
        }
    }

    #[test]
    fn why_is_told_in_words() {
        let status = Status {
            schema: 1,
            at_ms: 0,
            epochs: 1,
            epoch_s: 10.0,
            mode: Mode::Enforce,
            is_paused: false,
            is_blind: false,
            confirm_by_ms: None,
            law: "pfrc".into(),
            decision: String::new(),
            total_bps: None,
            fairness: None,
            strangers: 0,
            troubles: Vec::new(),
            classes: vec![class(Side::Down, Standing::Share), class(Side::Up, Standing::Idle)],
        };
        let text = status.why("Anna").unwrap();
        assert!(text.starts_with("Anna (s1)\nDownloads: 400 kb/s now, the fair share"), "{text}");
        assert!(
            text.contains("Uploads: no data was requested")
                && text.contains("6 packets found the queue full"),
            "{text}"
        );
        assert_eq!(status.why("Ben"), None);
        let deaf = ClassStatus { ignores_losses: true, ..class(Side::Up, Standing::Share) };
        assert_eq!(deaf.bound(), "ignores losses");
        let text = Status { classes: vec![deaf], ..status }.why("s1").unwrap();
        assert!(text.contains("It grows as others want less. More than a third of the packets"), "{text}");
    }

    /// A client that uses another subscriber's name or id as its host name.
    #[test]
    fn names_that_clients_choose_hide_no_others() {
        let of = |id: &str, name: &str, standing| ClassStatus {
            id: id.into(),
            name: name.into(),
            ..class(Side::Down, standing)
        };
        let classes = vec![
            of("mac-1", "anna", Standing::Idle),
            of("anna", "Anna", Standing::Share),
            of("mac-2", "Anna", Standing::Idle),
            of("ben", "Ben", Standing::Share),
        ];
        let status = Status { classes, ..crate::page::tests::status() };
        assert_eq!(status.ambiguous().into_iter().collect::<Vec<_>>(), ["Anna", "anna"]);
        let told = status.why("anna").unwrap();
        assert!(told.starts_with("Anna (anna)\n") && !told.contains("mac-1"), "{told}");
        let told = status.why("Anna").unwrap();
        assert!(
            told.contains("Anna (anna)\nDownloads: 400") && told.contains("Anna (mac-2)\nDownloads: no data"),
            "{told}"
        );
    }

    #[test]
    fn fairness_counts_backlogged_classes() {
        let of =
            |kbps: f64, standing| ClassStatus { rate_bps: Some(kbps * 1e3), ..class(Side::Down, standing) };
        let classes = [of(400.0, Standing::Share), of(400.0, Standing::Mesh), of(1.0, Standing::Content)];
        assert_eq!(fairness(&classes), Some(1.0));
        assert_eq!(fairness(&classes[1..]), None);
        let two = [of(300.0, Standing::Share), of(100.0, Standing::Mesh)];
        assert_eq!(fairness(&two), Some(0.8));
    }
}
