//! The operator's file: one TOML, or OpenWrt's way of writing the same (`uci.rs`), which says what the gateway is, what it may do, and where it keeps what it knows.

use crate::mistake::{quoted, read, read_foreign};
use crate::subscribers::{LeaseFormat, Leased, Place, from_csv, from_leases};
use crate::tree::OPEN;
use crate::uci::as_toml;
use crate::{Mistake, Prefix, Subscriber, Subscribers};
use evenair_laws::Parameters;
use evenair_laws::gateway::{GatewayLaw, GatewayParams, GatewayRole, PfrcParams};
use evenair_units::{Duration, Rate, plain_message};
use serde::{Deserialize, Serialize};
use serde_path_to_error::Segment;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What the operator says of a gateway.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// What it may do to the kernel.
    #[serde(default)]
    pub mode: Mode,
    /// The device towards the mesh.
    pub mesh: String,
    /// The device towards the Internet.
    pub uplink: String,
    /// How packets go from one to the other.
    #[serde(default)]
    pub forwarding: Forwarding,
    /// What each subscriber's packets wait in.
    #[serde(default)]
    pub leaf: Leaf,
    /// What leads packets past the limits, and is as it should be.
    #[serde(default)]
    pub despite: Vec<Bypass>,
    /// The law with its parameters, its epoch and bounds among them.
    #[serde(default = "usual_law")]
    pub law: GatewayParams,
    /// The capacity of the gateway's own links into the mesh, net of the MAC's overhead at full packets; of a subscriber its own, if
    /// that is given.
    #[serde(default)]
    pub link_rate: Option<Rate>,
    /// A table of subscribers, beside this file or by its whole path.
    #[serde(default)]
    pub subscribers: Option<PathBuf>,
    /// Subscribers that stand here.
    #[serde(default)]
    pub subscriber: Vec<Subscriber>,
    /// Files in which DHCP servers keep their leases.
    #[serde(default)]
    pub leases: Vec<LeaseFile>,
    /// Whether everyone who answers on the mesh's own link is a subscriber, known by the hardware's address.
    #[serde(default)]
    pub neighbours: bool,
    /// Ranges whose prefixes are a subscriber each, once one of their addresses is seen.
    #[serde(default)]
    pub delegated: Vec<Delegated>,
    /// Who is nobody's.
    #[serde(default)]
    pub unknown: Unknown,
    /// What passes beside all limits.
    #[serde(default)]
    pub exempt: Exempt,
    /// No subscriber's limit is below this, whatever the law says.
    #[serde(default = "usual_least")]
    pub least_rate: Rate,
    /// Where there are more subscribers than this, one has a class once it is seen.
    #[serde(default = "usual_eager")]
    pub eager: usize,
    /// What becomes of rates that somebody changed by hand.
    #[serde(default)]
    pub by_hand: ByHand,
    /// What becomes of the limits when the daemon stops.
    #[serde(default)]
    pub on_stop: OnStop,
    /// The folder for what the daemon must know again: handles, what was there before, what the law has found.
    #[serde(default = "usual_state")]
    pub state: PathBuf,
    /// The record of decisions.
    #[serde(default)]
    pub log: Log,
    /// The socket by which the daemon is asked and told; `control.sock` in `state` where it is not given.
    #[serde(default)]
    pub socket: Option<PathBuf>,
    /// The group that may change what runs, beside root and the daemon's own user; a number. Its members have it as their primary or
    /// as a supplementary group. The socket belongs to it, or else to the daemon's own group.
    #[serde(default)]
    pub group: Option<u32>,
    /// Users that may ask for the status: those of the socket's group, or everyone.
    #[serde(default)]
    pub asked_by: AskedBy,
    /// Where the page and the metrics are, on loopback; nowhere, if it is not given.
    #[serde(default)]
    pub page: Option<SocketAddr>,
}

/// What the daemon may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Measure and decide; nothing in the kernel changes.
    #[default]
    Observe,
    /// The same, and say what would be changed.
    DryRun,
    /// Hold everyone to what the law gives.
    Enforce,
}

impl Mode {
    /// As the file says it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::DryRun => "dry-run",
            Self::Enforce => "enforce",
        }
    }
}

/// Users that may ask for the status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AskedBy {
    /// The members of the socket's group.
    #[default]
    Group,
    /// Every user of this machine.
    Everyone,
}

/// How packets go from one device to the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forwarding {
    /// By their addresses: each device has its own.
    #[default]
    Routed,
    /// Both devices are ports of one bridge.
    Bridged,
}

/// What packets of a class wait in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leaf {
    /// One line, in their order.
    #[default]
    Fifo,
    /// A line for each flow, each kept short.
    FqCodel,
    /// The same, where hosts share evenly, too; takes a megabyte for each class.
    Cake,
    /// Lines for flows where the kernel has them, else one line.
    Auto,
}

impl Leaf {
    /// As the file and the kernel say it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::FqCodel => "fq_codel",
            Self::Cake => "cake",
            Self::Auto => "auto",
        }
    }
}

/// What leads packets past the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bypass {
    /// Connections that the packet filter was told to pass on by itself.
    Flowtables,
    /// Flows and frames that a device passes on by itself.
    Offload,
    /// Programs that take a device's packets before the kernel does.
    Programs,
    /// Subscribers who are reached by other devices, such as lines of ppp.
    Tunnels,
    /// Ways to the Internet beside the uplink.
    Routes,
    /// Rules of the packet filter that give packets another class behind the gateway's.
    Priorities,
    /// Rules of the packet filter that lead subscribers' connections to a program on this machine.
    Proxies,
}

impl Bypass {
    /// As the file says it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Flowtables => "flowtables",
            Self::Offload => "offload",
            Self::Programs => "programs",
            Self::Tunnels => "tunnels",
            Self::Routes => "routes",
            Self::Priorities => "priorities",
            Self::Proxies => "proxies",
        }
    }
}

/// What becomes of rates that somebody else gave to classes. What is missing is made again in any case: nobody would be limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ByHand {
    /// It is told, and they are changed back.
    #[default]
    Mend,
    /// It is told, and they stay until the file is read again.
    Leave,
}

/// What is left behind by a daemon that stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnStop {
    /// The devices are as they were before it began.
    #[default]
    Remove,
    /// The limits stay as they are.
    Freeze,
    /// The classes stay, without limits.
    Open,
}

/// A file of leases.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseFile {
    /// Who wrote it.
    pub format: LeaseFormat,
    /// Where.
    pub file: PathBuf,
}

/// What each file of leases said when it last could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastLeases {
    said: BTreeMap<PathBuf, Vec<Leased>>,
    /// Those that could not be read the last time.
    unread: usize,
}

impl LastLeases {
    /// Whether all could be read the last time.
    pub const fn are_all(&self) -> bool {
        self.unread == 0
    }
}

/// A range that is given away in prefixes, one to each subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delegated {
    /// The range.
    pub within: Prefix,
    /// How many bits of a subscriber's prefix are fixed, such as 56.
    pub length: u8,
}

/// Addresses that are nobody's: one class for all of them, counted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Unknown {
    /// What they share, each way.
    pub rate: Rate,
    /// How many of them are remembered; and how many neighbours and delegated prefixes together.
    pub addresses: u32,
}

/// What passes without a limit of its own: what a network needs to work at all.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Exempt {
    /// What it shares, each way, so that nothing is without bound; a quarter of the most that the mesh may carry, where it is not given
    /// (`Config::exempt_rate`).
    pub rate: Option<Rate>,
    /// UDP and TCP ports at either end: DNS, DHCP, Babel, OLSR, batman-adv's Alfred.
    pub ports: Vec<u16>,
    /// Whole prefixes, such as the mesh routers' own management.
    pub prefixes: Vec<Prefix>,
    /// Acknowledgements of TCP that carry no data: packets of subscribers with the flag ACK, none of SYN, FIN and RST, and no more bytes than
    /// the headers may have.
    pub acknowledgements: bool,
}

/// What is exempt has such a part of the most that the mesh may carry, if nobody says otherwise: it goes first, and three quarters stay.
const EXEMPT_PART: u64 = 4;
/// And no less than this: names, leases and a shell.
const EXEMPT_LEAST: Rate = Rate::from_kbps(256);

/// The record of decisions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// Its folder; `log` in `state` where it is not given.
    pub folder: Option<PathBuf>,
    /// A file is followed by the next at this size \[MB\].
    pub megabytes: u64,
    /// How many files are kept.
    pub files: u32,
    /// Files older than this are deleted: what people use is nobody's business for ever \[days\].
    pub days: u32,
}

impl Default for Unknown {
    fn default() -> Self {
        Self { rate: Rate::from_kbps(256), addresses: 4096 }
    }
}

impl Default for Exempt {
    fn default() -> Self {
        let ports = vec![53, 67, 68, 546, 547, 698, 6696];
        Self { rate: None, ports, prefixes: Vec::new(), acknowledgements: true }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self { folder: None, megabytes: 50, files: 20, days: 14 }
    }
}

fn usual_law() -> GatewayParams {
    PfrcParams::corrected().into()
}

fn usual_least() -> Rate {
    Rate::from_kbps(32)
}

const fn usual_eager() -> usize {
    256
}

/// The socket's name in the folder of the state.
const SOCKET: &str = "control.sock";

fn usual_state() -> PathBuf {
    "/var/lib/evenair".into()
}

/// The most subscribers: the minor numbers of a queue's classes, less those that are the gateway's.
pub const SUBSCRIBERS_MAX: usize = (crate::tree::LAST - crate::tree::FIRST) as usize + 1;

impl Config {
    /// Reads a file. Paths in it are beside it.
    ///
    /// # Errors
    /// Names file, line and key of the first mistake, with the value and what would be right.
    pub fn load(path: &Path) -> Result<Self, Mistake> {
        Self::written(path, &read(path)?)
    }

    /// The same of a text that is, or was, the file's.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub(crate) fn written(path: &Path, text: &str) -> Result<Self, Mistake> {
        let mut config = Self::parse(&path.display().to_string(), text)?;
        let folder = folder(path);
        let own = [config.subscribers.as_mut(), config.socket.as_mut(), config.log.folder.as_mut()];
        let leases = config.leases.iter_mut().map(|lease| &mut lease.file);
        for path in own.into_iter().flatten().chain(leases).chain([&mut config.state]) {
            *path = folder.join(&*path);
        }
        Ok(config)
    }

    /// The folder of the state that a file names, whatever else it says.
    pub(crate) fn state_of(path: &Path) -> PathBuf {
        Self::named_in(path, "state").unwrap_or_else(|| folder(path).join(usual_state()))
    }

    /// The socket that a file names, whatever else it says: a gateway that runs can be asked and told while somebody edits its file.
    pub fn socket_of(path: &Path) -> PathBuf {
        Self::named_in(path, "socket").unwrap_or_else(|| Self::state_of(path).join(SOCKET))
    }

    /// A path that a file names, of what of it can be read.
    fn named_in(path: &Path, key: &str) -> Option<PathBuf> {
        let text = read(path).ok()?;
        let text = as_toml("", &text).ok()?;
        let (table, _) = toml::de::DeTable::parse_recoverable(&text);
        let named = table.get_ref().get(key)?.get_ref().as_str()?;
        Some(folder(path).join(named))
    }

    /// A gateway between two devices, of which nothing else is said.
    ///
    /// # Errors
    /// If they are no devices' names.
    pub(crate) fn between(mesh: &str, uplink: &str) -> Result<Self, Mistake> {
        let word = |text: &str| toml::Value::String(text.into());
        Self::parse("state.json", &format!("mesh = {}\nuplink = {}\n", word(mesh), word(uplink)))
    }

    /// Reads a text.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn parse(file: &str, text: &str) -> Result<Self, Mistake> {
        let text = &*as_toml(file, text)?;
        let broken = |error: &toml::de::Error| {
            let line = error.span().map(|span| line(text, span.start));
            Mistake { line, ..Mistake::of(file, plain(error, text)) }
        };
        let deserializer = toml::Deserializer::parse(text).map_err(|error| broken(&error))?;
        let config: Self = serde_path_to_error::deserialize(deserializer).map_err(|error| {
            let path = key_path(error.path());
            let known = broken(error.inner());
            // An unknown key is named by the message itself; of one in a table of several kinds, the reader knows the table's line only.
            if let Some(unknown) = unknown_field(&known.message) {
                let way = path.iter().map(String::as_str).filter(|key| *key != unknown).chain([unknown]);
                let way: Vec<String> = way.map(String::from).collect();
                return Mistake { line: place(text, &way).or(known.line), ..known };
            }
            let line = known.line.or_else(|| place(text, &path));
            Mistake { line, key: (!path.is_empty()).then(|| path.join(".")), ..known }
        })?;
        match config.wrong() {
            None => Ok(config),
            Some((key, why)) => {
                let path: Vec<String> = key.split('.').map(String::from).collect();
                Err(Mistake { line: place(text, &path), ..Mistake::of(file, why).of_key(key) })
            }
        }
    }

    /// What is wrong with it: the key, and why.
    fn wrong(&self) -> Option<(String, String)> {
        if let Err(bad) = self.law.clone().validated() {
            return Some((
                format!("law.{}", bad.name),
                format!("{} is not allowed: {}", bad.value, bad.allowed),
            ));
        }
        self.wrong_beside_the_law().map(|(key, why)| (key.into(), why))
    }

    fn wrong_beside_the_law(&self) -> Option<(&'static str, String)> {
        for (key, name) in [("mesh", &self.mesh), ("uplink", &self.uplink)] {
            let is_name = (1..16).contains(&name.len()) && name != "." && name != "..";
            if !is_name || name.chars().any(|c| c == '/' || c == ':' || c.is_whitespace() || c.is_control()) {
                return Some((key, format!("{} is no device's name; see: ip link", quoted(name))));
            }
            if name == "lo" {
                return Some((key, "\"lo\" leads nowhere but to this machine; see: ip link".into()));
            }
        }
        if self.mesh == self.uplink {
            return Some((
                "uplink",
                format!("\"{}\" is the mesh's device, too; a gateway stands between two", self.uplink),
            ));
        }
        if self.law.begin(&GatewayRole::default()).interval() < Duration::from_secs(1) {
            return Some((
                "law.epoch",
                "at least 1 s, TCP needs some round trips to show what a limit does".into(),
            ));
        }
        let least = |rate: Rate| rate.as_bps() >= 8_000;
        let rates = [
            ("least_rate", self.least_rate),
            ("unknown.rate", self.unknown.rate),
            ("exempt.rate", self.exempt.rate.unwrap_or(EXEMPT_LEAST)),
        ];
        if let Some((key, rate)) = rates.into_iter().find(|(_, rate)| !least(*rate)) {
            return Some((
                key,
                format!("{rate} is less than 8 kbps, below which a full packet takes seconds"),
            ));
        }
        if self.link_rate.is_some_and(|rate| !least(rate)) {
            return Some((
                "link_rate",
                "a link below 8 kbps carries nothing; leave the key out where it is not known".into(),
            ));
        }
        let is_part = |of: &Delegated| {
            of.length > of.within.length() && Prefix::new(of.within.address(), of.length).is_some()
        };
        if !self.delegated.iter().all(is_part) {
            return Some((
                "delegated",
                "length: more bits than `within` has, and no more than an address: within = \"2001:db8::/40\", length = 56".into(),
            ));
        }
        if !(1..=1 << 20).contains(&self.unknown.addresses) {
            return Some(("unknown.addresses", "from 1 to 1048576".into()));
        }
        if self.log.files == 0 || self.log.megabytes == 0 || self.log.megabytes > 100_000 {
            return Some(("log", "at least one file of at least one megabyte".into()));
        }
        if self.page.is_some_and(|page| !page.ip().is_loopback()) {
            return Some((
                "page",
                "only loopback: 127.0.0.1:9180 or [::1]:9180; reach it by ssh -L from elsewhere".into(),
            ));
        }
        None
    }

    /// The subscribers: of the file itself, of its table, and of the leases as they stand at a time \[s since 1970\]. The file is its name and
    /// text, the table its text. Leases that cannot be read are as they were when they last could: servers write into the file that is read.
    ///
    /// # Errors
    /// Names file, line and column. What keeps nobody from beginning is told second: leases that never could be read, since a server may
    /// not have begun, are left out.
    pub fn subscribers_of(
        &self,
        (file, text): (&str, &str),
        table: Option<&str>,
        now_s: u64,
        last: &mut LastLeases,
    ) -> Result<(Subscribers, Vec<Mistake>), Mistake> {
        let text = as_toml(file, text)?;
        let own = self.subscriber.iter().enumerate().map(|(i, subscriber)| {
            let line = place(&text, &["subscriber".into(), i.to_string()]);
            (Place { file: file.into(), line }, subscriber.clone())
        });
        let mut all: Vec<_> = own.collect();
        if let (Some(path), Some(table)) = (&self.subscribers, table) {
            all.extend(from_csv(&path.display().to_string(), table)?);
        }
        let mut subscribers = Subscribers::new(all)?;
        if subscribers.len() > SUBSCRIBERS_MAX {
            let why =
                format!("{} subscribers, one gateway has room for {SUBSCRIBERS_MAX}", subscribers.len());
            return Err(Mistake::of(file, why));
        }
        let mut troubles = self.doubts(file, &subscribers);
        let mut left_out = 0;
        last.unread = 0;
        for LeaseFile { format, file } in &self.leases {
            let leased = read_foreign(file)
                .and_then(|text| from_leases(*format, &file.display().to_string(), &text, now_s));
            match leased {
                Ok(leases) => {
                    troubles.extend(leases.trouble());
                    left_out += subscribers.lease(&leases.leased);
                    last.said.insert(file.clone(), leases.leased);
                }
                Err(trouble) => {
                    troubles.push(trouble);
                    last.unread += 1;
                    left_out += subscribers.lease(last.said.get(file).map_or(&[], Vec::as_slice));
                }
            }
        }
        // Clients may take leases without end: the others are followed all the same.
        if left_out > 0 {
            let why = format!(
                "{left_out} leases are left out: one gateway has room for {SUBSCRIBERS_MAX} subscribers"
            );
            troubles.push(Mistake::of(file, why).of_key("leases"));
        }
        Ok((subscribers, troubles))
    }

    /// Whether nobody subscribes, and nobody will unless the file is another.
    pub fn is_nobodys(&self, subscribers: &Subscribers) -> bool {
        subscribers.is_empty() && self.leases.is_empty() && !self.neighbours && self.delegated.is_empty()
    }

    /// What may be meant, and hardly is: subscribers without an address, or past their limits.
    fn doubts(&self, file: &str, subscribers: &Subscribers) -> Vec<Mistake> {
        let mut doubts = Vec::new();
        let mut doubt = |key: &str, who: Vec<&Subscriber>, why: &str| {
            if let Some(first) = who.first() {
                let others = match who.len() - 1 {
                    0 => String::new(),
                    others => format!(" and {others} more"),
                };
                doubts.push(Mistake::of(file, format!("\"{}\"{others} {why}", first.id)).of_key(key));
            }
        };
        if self.is_nobodys(subscribers) {
            let why = "nobody subscribes: name a table, or set leases, neighbours or delegated";
            return vec![Mistake::of(file, why).of_key("subscribers")];
        }
        if self.leases.is_empty() && !self.neighbours {
            let homeless = subscribers.iter().filter(|subscriber| subscriber.prefixes.is_empty());
            doubt("prefixes", homeless.collect(), "with no address: no packet is theirs");
        }
        let is_exempt = |prefix: &Prefix| self.exempt.prefixes.iter().any(|exempt| exempt.overlaps(*prefix));
        let exempt = subscribers.iter().filter(|subscriber| subscriber.prefixes.iter().any(is_exempt));
        doubt(
            "exempt.prefixes",
            exempt.collect(),
            "with addresses that are exempt, and pass without a limit",
        );
        doubts
    }

    /// What is exempt shares so much, each way: what the operator says, else a quarter of the most that the mesh may carry, 256 kb/s at least. That most
    /// is the law's `capacity_high` or fixed rate, else the fastest of the gateway's own links. Where nothing of all that is known the law limits
    /// nobody either.
    pub(crate) fn exempt_rate(&self, subscribers: &Subscribers) -> Rate {
        let configured = match &self.law {
            GatewayParams::Fixed(law) => law.rate,
            GatewayParams::Arc(law) => law.capacity_high,
            GatewayParams::Pfrc(law) => law.capacity_high,
            GatewayParams::DelayCap(law) => law.capacity_high,
            _ => None,
        };
        let links =
            || subscribers.iter().filter_map(|subscriber| subscriber.link_rate.or(self.link_rate)).max();
        let most = configured.or_else(links).or(self.link_rate);
        let part = most.map_or(OPEN, |most| Rate::from_bps(most.as_bps() / EXEMPT_PART));
        self.exempt.rate.unwrap_or(part.max(EXEMPT_LEAST))
    }

    /// The delegated prefix that an address is in.
    pub(crate) fn delegated(&self, address: IpAddr) -> Option<Prefix> {
        let range = self.delegated.iter().find(|range| range.within.contains(address))?;
        Prefix::new(address, range.length)
    }

    /// The keys that another configuration has others of, and that cannot change while a daemon runs.
    pub(crate) fn others_for_a_start(&self, other: &Self) -> Vec<&'static str> {
        let others = [
            ("mesh", self.mesh != other.mesh),
            ("uplink", self.uplink != other.uplink),
            ("mode", self.mode != other.mode),
            ("forwarding", self.forwarding != other.forwarding),
            ("leaf", self.leaf != other.leaf),
            ("exempt", self.exempt != other.exempt),
            ("state", self.state != other.state),
            ("socket", self.socket() != other.socket()),
            ("group", self.group != other.group),
            ("asked_by", self.asked_by != other.asked_by),
            ("page", self.page != other.page),
            ("log.folder", self.log_folder() != other.log_folder()),
        ];
        others.into_iter().filter_map(|(key, is_other)| is_other.then_some(key)).collect()
    }

    /// The daemon's socket.
    pub fn socket(&self) -> PathBuf {
        self.socket.clone().unwrap_or_else(|| self.state.join(SOCKET))
    }

    /// The folder of the record of decisions.
    pub fn log_folder(&self) -> PathBuf {
        self.log.folder.clone().unwrap_or_else(|| self.state.join("log"))
    }
}

/// The folder that a file's paths are beside.
fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// What a reader of TOML says, as one who writes it would want to hear it.
fn plain(error: &toml::de::Error, text: &str) -> String {
    let message = plain_message(error.message());
    let at_fault = error.span().and_then(|span| text.get(span)).unwrap_or_default();
    match message.as_str() {
        "duplicate key" => format!("{message} `{}`", at_fault.trim()),
        "missing field `mesh`" => format!("{message}: the device towards the mesh, such as mesh = \"mesh0\""),
        "missing field `uplink`" => {
            format!("{message}: the device towards the Internet, such as uplink = \"wan0\"")
        }
        "invalid socket address syntax" => {
            format!("{at_fault} is no address with a port; write \"127.0.0.1:9180\"")
        }
        _ => message,
    }
}

/// The name in a message that begins with "unknown field".
fn unknown_field(message: &str) -> Option<&str> {
    message.strip_prefix("unknown field `")?.split('`').next()
}

/// The line of a place in a text, from one.
fn line(text: &str, offset: usize) -> usize {
    text.get(..offset).unwrap_or(text).matches('\n').count() + 1
}

fn key_path(path: &serde_path_to_error::Path) -> Vec<String> {
    let words = path.iter().filter_map(|segment| match segment {
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Map { key } => Some(key.clone()),
        _ => None,
    });
    words.collect()
}

/// The line of the value at a way of keys, or of the last table on the way that is there.
fn place(text: &str, path: &[String]) -> Option<usize> {
    use toml::de::{DeTable, DeValue};
    fn step<'a>(table: &'a DeValue<'_>, key: &str) -> Option<(Range<usize>, &'a DeValue<'a>)> {
        match table {
            DeValue::Table(table) => table.get(key).map(|value| (value.span(), value.get_ref())),
            DeValue::Array(values) => {
                values.get(key.parse::<usize>().ok()?).map(|value| (value.span(), value.get_ref()))
            }
            _ => None,
        }
    }
    let table = DeTable::parse(text).ok()?;
    let (mut at, mut value) = (None, &DeValue::Table(table.into_inner()));
    for key in path {
        let Some((span, next)) = step(value, key) else { break };
        (at, value) = (Some(span.start), next);
    }
    at.map(|offset| line(text, offset))
}

#[cfg(test)]
mod tests;
