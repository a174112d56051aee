//! How everyone fares, for people and programs.

use crate::Side;
use crate::config::Mode;
use evenair_laws::gateway::AWAY;
use evenair_units::printable;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Characters of a name or an id that are printed.
const NAME_MAX: usize = 200;

/// What bounds a class's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// There was nothing of it.
    Idle,
    /// Its share of the mesh.
    Share,
    /// Its plan.
    Plan,
    /// All together have what the mesh carries.
    All,
    /// Something behind the gateway: the mesh on its way, its own devices, or the server.
    Mesh,
    /// Data go to it, and nothing comes back: it is switched off or out of reach.
    Away,
    /// Its packets do not come to its classes: another rule or filter on this machine leads them elsewhere.
    Astray,
    /// It wants no more.
    Content,
    /// Nothing is known of it.
    Unknown,
}

/// One way of one subscriber.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassStatus {
    /// Whose.
    pub id: String,
    /// The same in words.
    pub name: String,
    /// Which way.
    pub side: Side,
    /// Its class's number.
    pub minor: u16,
    /// Its weight.
    pub weight: f64,
    /// What it got in the last epoch \[bit/s\].
    pub rate_bps: Option<f64>,
    /// Its limit then; none, if there is none \[bit/s\].
    pub limit_bps: Option<u64>,
    /// Its plan \[bit/s\].
    pub cap_bps: Option<u64>,
    /// Packets that the gateway gave up in the last epoch.
    pub dropped: u64,
    /// At which share of the looks it had a line.
    pub waits: f64,
    /// For which share of the time it had data outstanding, where that is known.
    pub busy: Option<f64>,
    /// What bounds it.
    pub standing: Standing,
    /// Whether whoever sends does not slow down at losses.
    #[serde(default)]
    pub ignores_losses: bool,
}

/// How the gateway fares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The form of this document: [`SCHEMA`](crate::record::SCHEMA).
    pub schema: u32,
    /// When \[ms since 1970\].
    pub at_ms: u64,
    /// Epochs that have passed since the daemon began.
    #[serde(default)]
    pub epochs: u64,
    /// How long the last one was \[s\].
    #[serde(default)]
    pub epoch_s: f64,
    /// What it may do.
    pub mode: Mode,
    /// Whether the operator opened the limits.
    pub is_paused: bool,
    /// Whether they are open because nothing is to be read.
    pub is_blind: bool,
    /// Until when a change must be confirmed \[ms since 1970\].
    pub confirm_by_ms: Option<u64>,
    /// The law.
    pub law: String,
    /// Its last decision, in words.
    pub decision: String,
    /// The rate for all together, where the law has one \[bit/s\].
    pub total_bps: Option<u64>,
    /// Jain's index of the rates over weights of those who want more than they get; none, where fewer than two do.
    pub fairness: Option<f64>,
    /// Addresses that are nobody's.
    pub strangers: usize,
    /// What went wrong last, the latest last.
    pub troubles: Vec<String>,
    /// Every subscriber's ways.
    pub classes: Vec<ClassStatus>,
}

/// Jain's index of rates over weights, of those on one way that the gateway or the mesh holds back.
pub fn fairness(classes: &[ClassStatus]) -> Option<f64> {
    let wants =
        |class: &&ClassStatus| matches!(class.standing, Standing::Share | Standing::All | Standing::Mesh);
    let shares: Vec<f64> =
        classes.iter().filter(wants).filter_map(|class| Some(class.rate_bps? / class.weight)).collect();
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    (shares.len() > 1 && squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// A rate as people say it \[bit/s\].
pub fn rate(bps: f64) -> String {
    match bps {
        bps if bps >= 10e6 => format!("{:.0} Mb/s", bps / 1e6),
        bps if bps >= 1e6 => format!("{:.1} Mb/s", bps / 1e6),
        bps => format!("{:.0} kb/s", bps / 1e3),
    }
}

impl ClassStatus {
    /// Its subscriber's name, fit to print; with the id, where that is wanted and another.
    pub fn called(&self, with_id: bool) -> String {
        let name = printable(&self.name, NAME_MAX);
        if with_id && self.name != self.id {
            format!("{name} ({})", printable(&self.id, NAME_MAX))
        } else {
            name
        }
    }

    /// What bounds it, in a word or two.
    pub const fn bound(&self) -> &'static str {
        match self.standing {
            _ if self.ignores_losses => "deaf to losses",
            Standing::Idle => "idle",
            Standing::Share => "fair share",
            Standing::Plan => "plan",
            Standing::All => "all together",
            Standing::Mesh => "mesh or beyond",
            Standing::Away => "away",
            Standing::Astray => "led past",
            Standing::Content => "own wish",
            Standing::Unknown => "not known",
        }
    }

    /// What a customer would want to hear of one way.
    fn words(&self) -> String {
        let way = if self.side == Side::Down { "Downloads" } else { "Uploads" };
        let got = rate(self.rate_bps.unwrap_or_default());
        let limit = self.limit_bps.map_or("no limit".into(), |limit| rate(limit as f64));
        match self.standing {
            Standing::Idle => format!(
                "{way}: nothing was asked for in the last epoch. Up to {limit} would be there at once."
            ),
            Standing::Share => format!(
                "{way}: {got} now, which is the fair share of what the mesh carries ({limit}). It grows as others want less."
            ),
            Standing::Plan => {
                format!("{way}: {got} now, which is all of the plan ({limit}). The mesh would carry more.")
            }
            Standing::All => format!(
                "{way}: {got} now. All subscribers together use what the mesh carries; each waits for its turn."
            ),
            Standing::Mesh => format!(
                "{way}: {got} now, though {limit} are allowed. The gateway holds nothing back: the way through the mesh, the own \
                network, or the other end is slower."
            ),
            Standing::Away => format!(
                "{way}: data are sent, and for {} seconds or longer nothing has come back: the device is switched off or out of reach, or its way \
                through the mesh is broken. No limit of others is lowered for it. Up to {limit} is there as soon as it answers.",
                AWAY.as_nanos() / 1_000_000_000
            ),
            Standing::Astray => format!(
                "{way}: what is bounding them is not known. Something else on the gateway leads the packets past the limits; whoever runs it is told."
            ),
            Standing::Content => {
                format!("{way}: {got} now, as much as was asked for. Up to {limit} would be there.")
            }
            Standing::Unknown => format!("{way}: nothing is known of the last epoch."),
        }
    }

    /// What a customer should know of a sender that does not listen.
    const fn warning(&self) -> &'static str {
        match self.side {
            Side::Down => {
                " More than a third of what came was given up, and the sender does not slow down: a program that does not listen to losses, or an attack."
            }
            Side::Up => {
                " More than a third of what came was given up, and a device here does not slow down: it takes air from all others in vain."
            }
        }
    }
}

impl Status {
    /// Why no limit holds, if none does.
    const fn reservation(&self) -> &'static str {
        match self.mode {
            _ if self.is_paused || self.is_blind => "\nAll limits are open at present.\n",
            Mode::Enforce => "\n",
            _ => "\nThe gateway only watches at present: it limits nobody.\n",
        }
    }

    /// The names that several subscribers have, or that are another one's id: clients choose their host names.
    pub fn ambiguous(&self) -> BTreeSet<&str> {
        let mut owners = BTreeMap::new();
        let ids = self.classes.iter().map(|class| (class.id.as_str(), class.id.as_str()));
        let names = self.classes.iter().map(|class| (class.name.as_str(), class.id.as_str()));
        let taken = |(name, id)| (owners.insert(name, id).is_some_and(|before| before != id)).then_some(name);
        ids.chain(names).filter_map(taken).collect()
    }

    /// Why a subscriber has the rates that it has, in words for customers; none, if nobody has this id or name.
    pub fn why(&self, asked: &str) -> Option<String> {
        // Clients choose their host names, so an id goes before a name that is the same.
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
                "{dropped} packets found the line full in the last epoch, which tells their senders to slow down.\n"
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
        assert!(text.starts_with("Anna (s1)\nDownloads: 400 kb/s now, which is the fair share"), "{text}");
        assert!(
            text.contains("Uploads: nothing was asked for") && text.contains("6 packets found the line full"),
            "{text}"
        );
        assert_eq!(status.why("Ben"), None);
        let deaf = ClassStatus { ignores_losses: true, ..class(Side::Up, Standing::Share) };
        assert_eq!(deaf.bound(), "deaf to losses");
        let text = Status { classes: vec![deaf], ..status }.why("s1").unwrap();
        assert!(text.contains("It grows as others want less. More than a third of what came"), "{text}");
    }

    /// A client that calls itself as another subscriber is called, or as its id.
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
            told.contains("Anna (anna)\nDownloads: 400") && told.contains("Anna (mac-2)\nDownloads: nothing"),
            "{told}"
        );
    }

    #[test]
    fn fairness_is_of_those_who_want_more() {
        let of =
            |kbps: f64, standing| ClassStatus { rate_bps: Some(kbps * 1e3), ..class(Side::Down, standing) };
        let classes = [of(400.0, Standing::Share), of(400.0, Standing::Mesh), of(1.0, Standing::Content)];
        assert_eq!(fairness(&classes), Some(1.0));
        assert_eq!(fairness(&classes[1..]), None);
        let two = [of(300.0, Standing::Share), of(100.0, Standing::Mesh)];
        assert_eq!(fairness(&two), Some(0.8));
    }
}
