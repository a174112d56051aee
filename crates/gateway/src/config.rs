//! The operator's file, in TOML or in OpenWrt's UCI form (`uci.rs`): devices, law, limits, subscribers
//! and folders.

use crate::subscribers::{LeaseFormat, Leased, Place, from_csv, from_leases, read_leases};
use crate::tree::OPEN;
use crate::uci::{as_toml, is_uci};
use crate::{Mistake, Prefix, Subscriber, Subscribers};
use evenair_laws::Parameters;
use evenair_laws::gateway::{GatewayLaw, GatewayParams, GatewayRole, PfrcParams};
use evenair_service::document::{parse, place_of};
use evenair_service::{KeyPath, file::text, quoted};
use evenair_units::{Duration, Rate};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

/// The configuration of a gateway.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Whether the gateway may change the kernel.
    #[serde(default)]
    pub mode: Mode,
    /// The device towards the mesh.
    pub mesh: String,
    /// The device towards the Internet.
    pub uplink: String,
    /// How packets go from one device to the other.
    #[serde(default)]
    pub forwarding: Forwarding,
    /// The queueing discipline of each subscriber's classes.
    #[serde(default)]
    pub leaf: Leaf,
    /// Paths around the limits that the operator accepts.
    #[serde(default)]
    pub despite: Vec<Bypass>,
    /// The law with its parameters, including its epoch and bounds.
    #[serde(default = "usual_law")]
    pub law: GatewayParams,
    /// The capacity of the gateway's own links into the mesh, net of the MAC's overhead at full
    /// packets. A subscriber's own `link_rate` overrides it.
    #[serde(default)]
    pub link_rate: Option<Rate>,
    /// A table of subscribers: a path, relative to this file's folder.
    #[serde(default)]
    pub subscribers: Option<PathBuf>,
    /// Subscribers that are listed in this file.
    #[serde(default)]
    pub subscriber: Vec<Subscriber>,
    /// Lease files of DHCP servers.
    #[serde(default)]
    pub leases: Vec<LeaseFile>,
    /// Whether every host that answers on the mesh's own link is a subscriber, identified by its
    /// hardware address.
    #[serde(default)]
    pub neighbours: bool,
    /// Ranges in which each prefix becomes a subscriber, once one of its addresses is seen.
    #[serde(default)]
    pub delegated: Vec<Delegated>,
    /// The class of addresses that belong to no subscriber.
    #[serde(default)]
    pub unknown: Unknown,
    /// Packets that pass beside all limits.
    #[serde(default)]
    pub exempt: Exempt,
    /// The lowest limit of a subscriber; it overrides the law.
    #[serde(default = "usual_least")]
    pub least_rate: Rate,
    /// With more subscribers than this, a subscriber gets its class only once it is seen.
    #[serde(default = "usual_eager")]
    pub eager: usize,
    /// The reaction to rates that another program changed.
    #[serde(default)]
    pub by_hand: ByHand,
    /// The limits after the daemon stops.
    #[serde(default)]
    pub on_stop: OnStop,
    /// The folder of the daemon's persistent state: handles, the earlier queues, the law's state.
    #[serde(default = "usual_state")]
    pub state: PathBuf,
    /// The record of decisions.
    #[serde(default)]
    pub log: Log,
    /// The control socket; `control.sock` in `state` by default.
    #[serde(default)]
    pub socket: Option<PathBuf>,
    /// The number of the group that may change the running gateway, beside root and the daemon's own
    /// user. It may be a member's primary or supplementary group. The socket belongs to it, or else to
    /// the daemon's own group.
    #[serde(default)]
    pub group: Option<u32>,
    /// Users that may read the status: members of the socket's group, or everyone.
    #[serde(default)]
    pub asked_by: AskedBy,
    /// The loopback address of the page and the metrics; without it there is no page.
    #[serde(default)]
    pub page: Option<SocketAddr>,
}

/// The daemon's permission to change the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Measures and decides; nothing in the kernel changes.
    #[default]
    Observe,
    /// Measures and decides, and reports the changes that it would make.
    DryRun,
    /// Limits every subscriber to the law's rate.
    Enforce,
}

impl Mode {
    /// Returns the word of the configuration file.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::DryRun => "dry-run",
            Self::Enforce => "enforce",
        }
    }
}

/// Users that may read the status.
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
    /// Packets are routed by address: each device has its own.
    #[default]
    Routed,
    /// Both devices are ports of one bridge.
    Bridged,
}

/// The queueing discipline of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leaf {
    /// One queue, first in, first out.
    #[default]
    Fifo,
    /// One queue for each flow, each kept short.
    FqCodel,
    /// As `FqCodel`, and hosts also share evenly; takes a megabyte for each class.
    Cake,
    /// `FqCodel` where the kernel has it, else `Fifo`.
    Auto,
}

impl Leaf {
    /// Returns the word of the configuration file and of the kernel.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::FqCodel => "fq_codel",
            Self::Cake => "cake",
            Self::Auto => "auto",
        }
    }
}

/// A path around the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bypass {
    /// Connections that the packet filter forwards on its fast path.
    Flowtables,
    /// Flows and frames that a device forwards in hardware.
    Offload,
    /// Programs that take a device's packets before the kernel's stack.
    Programs,
    /// Subscribers that are reached through other devices, such as ppp links.
    Tunnels,
    /// Routes to the Internet beside the uplink.
    Routes,
    /// Rules of the packet filter that change a packet's class after the gateway's rules.
    Priorities,
    /// Rules of the packet filter that redirect subscribers' connections to a program on this machine.
    Proxies,
}

impl Bypass {
    /// Returns the word of the configuration file.
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

/// The reaction to rates of classes that another program changed. Missing classes are always restored,
/// because without them nothing is limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ByHand {
    /// Reports the change and undoes it.
    #[default]
    Mend,
    /// Reports the change and keeps it until the file is reloaded.
    Leave,
}

/// The installed state after the daemon stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnStop {
    /// The devices are as they were before the start.
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
    /// The format of the file.
    pub format: LeaseFormat,
    /// The path of the file.
    pub file: PathBuf,
}

/// The last readable content of each lease file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastLeases {
    said: BTreeMap<PathBuf, Vec<Leased>>,
    /// The number of files that could not be read in the last pass.
    unread: usize,
}

impl LastLeases {
    /// Returns whether all files could be read in the last pass.
    pub const fn are_all(&self) -> bool {
        self.unread == 0
    }
}

/// A range that is delegated in prefixes, one to each subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delegated {
    /// The range.
    pub within: Prefix,
    /// The length of a subscriber's prefix \[bits\], such as 56.
    pub length: u8,
}

/// Addresses that belong to no subscriber: one counted class for all of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Unknown {
    /// The rate that they share, each direction.
    pub rate: Rate,
    /// The number of such addresses that are remembered; also the limit of neighbours and delegated
    /// prefixes together.
    pub addresses: u32,
}

/// Packets without a limit of their own, which a network needs to work at all.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Exempt {
    /// The rate that they share, each direction. By default a quarter of the most that the mesh may
    /// carry (`Config::exempt_rate`).
    pub rate: Option<Rate>,
    /// UDP and TCP ports at either end: DNS, DHCP, Babel, OLSR, batman-adv's Alfred.
    pub ports: Vec<u16>,
    /// Whole prefixes, such as those for managing the mesh routers.
    pub prefixes: Vec<Prefix>,
    /// TCP acknowledgements without data: subscribers' packets with the flag ACK and none of SYN, FIN
    /// and RST. Their length is that of the headers at most.
    pub acknowledgements: bool,
}

/// Divisor for the default exempt rate: a quarter of the most that the mesh may carry. Exempt packets
/// go first, and three quarters remain for the rest.
const EXEMPT_PART: u64 = 4;
/// Lowest default exempt rate: enough for DNS, DHCP and a shell.
const EXEMPT_LEAST: Rate = Rate::from_kbps(256);

/// The record of decisions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// The folder of the log; `log` in `state` by default.
    pub folder: Option<PathBuf>,
    /// The size of one file \[MB\]; a larger file is closed and the next is opened.
    pub megabytes: u64,
    /// The number of files that are kept.
    pub files: u32,
    /// The age at which files are deleted, for the subscribers' privacy \[days\].
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

/// The socket's file name in the state folder.
const SOCKET: &str = "control.sock";

fn usual_state() -> PathBuf {
    "/var/lib/evenair".into()
}

/// The largest number of subscribers: the minor numbers of a queue's classes, less those of the gateway
/// itself.
pub const SUBSCRIBERS_MAX: usize = (crate::tree::LAST - crate::tree::FIRST) as usize + 1;

impl Config {
    /// Reads a file. Its paths are relative to its folder.
    ///
    /// # Errors
    /// Names file, line and key of the first mistake, with the value and the remedy.
    pub fn load(path: &Path) -> Result<Self, Mistake> {
        Self::from_text(path, &text(path)?)
    }

    /// Parses the present or an earlier text of a file.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub(crate) fn from_text(path: &Path, text: &str) -> Result<Self, Mistake> {
        let mut config = Self::parse(&path.display().to_string(), text)?;
        let folder = folder(path);
        let own = [config.subscribers.as_mut(), config.socket.as_mut(), config.log.folder.as_mut()];
        let leases = config.leases.iter_mut().map(|lease| &mut lease.file);
        for path in own.into_iter().flatten().chain(leases).chain([&mut config.state]) {
            *path = folder.join(&*path);
        }
        Ok(config)
    }

    /// Returns the state folder that a file names, even if the rest of the file is invalid.
    pub(crate) fn state_of(path: &Path) -> PathBuf {
        Self::named_in(path, "state").unwrap_or_else(|| folder(path).join(usual_state()))
    }

    /// Returns the socket that a file names, even if the rest is invalid: a running gateway stays
    /// reachable while its file is edited.
    pub fn socket_of(path: &Path) -> PathBuf {
        Self::named_in(path, "socket").unwrap_or_else(|| Self::state_of(path).join(SOCKET))
    }

    /// Returns a path that a file names, from the part of it that can be parsed.
    fn named_in(path: &Path, key: &str) -> Option<PathBuf> {
        let text = text(path).ok()?;
        let text = as_toml("", &text).ok()?;
        let (table, _) = toml::de::DeTable::parse_recoverable(&text);
        let named = table.get_ref().get(key)?.get_ref().as_str()?;
        Some(folder(path).join(named))
    }

    /// Returns a configuration with two devices and defaults for all other keys.
    ///
    /// # Errors
    /// If they are no device names.
    pub(crate) fn between(mesh: &str, uplink: &str) -> Result<Self, Mistake> {
        let word = |text: &str| toml::Value::String(text.into());
        Self::parse("state.json", &format!("mesh = {}\nuplink = {}\n", word(mesh), word(uplink)))
    }

    /// Parses a text.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn parse(file: &str, text: &str) -> Result<Self, Mistake> {
        let toml = as_toml(file, text)?;
        let mistake = |mistake: Mistake| {
            // The columns of UCI are not those of the TOML that it becomes.
            Mistake { column: mistake.column.filter(|_| !is_uci(text)), ..with_example(mistake) }
        };
        let config: Self = parse(file, &toml).map_err(mistake)?;
        match config.wrong() {
            None => Ok(config),
            Some((key, why)) => {
                let key = KeyPath::from(key);
                Err(mistake(Mistake::of(file, why).placed(place_of(&toml, &key)).of_key(key)))
            }
        }
    }

    /// Returns the key of the first mistake and its reason.
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
                format!("\"{}\" is the mesh's device, too: name another device", self.uplink),
            ));
        }
        if self.law.begin(&GatewayRole::default()).interval() < Duration::from_secs(1) {
            return Some((
                "law.epoch",
                "at least 1 s, TCP needs some round trips to show the effect of a limit".into(),
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

    /// Returns the subscribers of the file, of its table and of the leases at a time \[s since 1970\].
    /// `file` is the file's name and text, `table` the table's text. An unreadable lease file counts
    /// with its last readable content, because servers write into the file that is read.
    ///
    /// # Errors
    /// Names file, line and column. The second value holds mistakes that do not prevent a start. Leases
    /// that never could be read are left out, since their server may not have started.
    pub fn subscribers_of(
        &self,
        (file, text): (&str, &str),
        table: Option<&str>,
        now_s: u64,
        last: &mut LastLeases,
    ) -> Result<(Subscribers, Vec<Mistake>), Mistake> {
        let text = as_toml(file, text)?;
        let own = self.subscriber.iter().enumerate().map(|(i, subscriber)| {
            let place = place_of(&text, &KeyPath::key("subscriber").at(i));
            (Place { file: file.into(), line: place.map(|(line, _)| line) }, subscriber.clone())
        });
        let mut all: Vec<_> = own.collect();
        if let (Some(path), Some(table)) = (&self.subscribers, table) {
            all.extend(from_csv(&path.display().to_string(), table)?);
        }
        let mut subscribers = Subscribers::new(all)?;
        if subscribers.len() > SUBSCRIBERS_MAX {
            let why = format!("{} subscribers; one gateway has at most {SUBSCRIBERS_MAX}", subscribers.len());
            return Err(Mistake::of(file, why));
        }
        let mut troubles = self.doubts(file, &subscribers);
        let mut left_out = 0;
        last.unread = 0;
        for LeaseFile { format, file } in &self.leases {
            let leased = read_leases(file)
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
        // Clients may take leases without end: all other subscribers still count.
        if left_out > 0 {
            let why = format!(
                "{left_out} leases are left out: one gateway has at most {SUBSCRIBERS_MAX} subscribers"
            );
            troubles.push(Mistake::of(file, why).of_key("leases"));
        }
        Ok((subscribers, troubles))
    }

    /// Returns whether there is no subscriber, and the file allows none to appear.
    pub fn is_nobodys(&self, subscribers: &Subscribers) -> bool {
        subscribers.is_empty() && self.leases.is_empty() && !self.neighbours && self.delegated.is_empty()
    }

    /// Returns warnings about valid but unlikely settings: subscribers without an address, or exempt
    /// ones.
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
            let why = "no subscribers: name a table, or set leases, neighbours or delegated";
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

    /// Returns the rate that exempt packets share, each direction. It is the operator's, else a quarter
    /// of the most that the mesh may carry, 256 kb/s at least. That most is the law's `capacity_high`
    /// or fixed rate, else the fastest of the gateway's own links. If none of these is known, the law
    /// sets no limits either, and this rate is unlimited.
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

    /// Returns the delegated prefix that contains an address.
    pub(crate) fn delegated(&self, address: IpAddr) -> Option<Prefix> {
        let range = self.delegated.iter().find(|range| range.within.contains(address))?;
        Prefix::new(address, range.length)
    }

    /// Returns the keys that differ from another configuration and cannot change while a daemon runs.
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

    /// Returns the path of the daemon's socket.
    pub fn socket(&self) -> PathBuf {
        self.socket.clone().unwrap_or_else(|| self.state.join(SOCKET))
    }

    /// Returns the folder of the log of decisions.
    pub fn log_folder(&self) -> PathBuf {
        self.log.folder.clone().unwrap_or_else(|| self.state.join("log"))
    }
}

/// Returns the folder of a file, to which the file's paths are relative.
fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Adds an example to a message about a missing key.
fn with_example(mistake: Mistake) -> Mistake {
    let example = match mistake.message.as_str() {
        "missing field `mesh`" => "the device towards the mesh, such as mesh = \"mesh0\"",
        "missing field `uplink`" => "the device towards the Internet, such as uplink = \"wan0\"",
        _ => return mistake,
    };
    Mistake { message: format!("{}: {example}", mistake.message), ..mistake }
}

#[cfg(test)]
mod tests;
