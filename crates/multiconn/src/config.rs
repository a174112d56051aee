//! The file of a client or of a relay: one TOML with a table `[connect]`, or `[relay]`, or both.

use crate::Mistake;
use crate::authorised::Authorised;
use crate::bucket::RATES;
use crate::connect::ConnectOptions;
use crate::control;
use crate::forward::Forward;
use crate::keys::{PublicKey, SecretKey};
use crate::listen::{ListenOptions, Source, TimeOfDay};
use crate::paths::Paths;
use evenair_laws::connections::ConnectionParams;
use evenair_service::document::parse;
use evenair_service::file;
use evenair_units::Rate;
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The default port.
pub const PORT: u16 = 7443;

/// A configuration file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The side that is dialled.
    pub relay: Option<RelayConfig>,
    /// The side that dials.
    pub connect: Option<ConnectConfig>,
}

/// The relay's table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RelayConfig {
    /// Addresses to listen on; all addresses of both families by default.
    pub listen: Vec<SocketAddr>,
    /// Files of its secret keys; two while keys are rotated.
    pub keys: Vec<PathBuf>,
    /// The file of authorised keys.
    pub authorised: Option<PathBuf>,
    /// The law of the relay's sending direction, for all clients; by default each client's choice.
    pub law: Option<String>,
    /// The law's parameters, as in `evenair list laws`.
    pub set: toml::Table,
    /// The congestion control of each connection.
    pub congestion: Option<String>,
    /// The highest rate of stream bytes to all clients together, as "100 Mbps"; no bound by default.
    pub rate_most: Option<Rate>,
    /// Memory for bytes of all streams \[MB\].
    pub memory_mb: u64,
    /// The most connections in all. Half of them is shared among keys; the other half is first come, first
    /// served.
    pub connections: u32,
    /// The most unauthenticated connections at once.
    pub handshakes: u32,
    /// The most unauthenticated connections from one address.
    pub handshakes_per_source: u32,
    /// The status socket.
    pub status: Option<PathBuf>,
}

impl Default for RelayConfig {
    fn default() -> Self {
        Self {
            listen: vec![SocketAddr::new(std::net::Ipv6Addr::UNSPECIFIED.into(), PORT)],
            keys: Vec::new(),
            authorised: None,
            law: None,
            set: toml::Table::new(),
            congestion: None,
            rate_most: None,
            memory_mb: 1024,
            connections: 4096,
            handshakes: 256,
            handshakes_per_source: 32,
            status: None,
        }
    }
}

/// The client's table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConnectConfig {
    /// The relay's host, and its port, if it is not the usual one.
    pub relay: String,
    /// The relay's public keys; two while keys are rotated.
    pub relay_keys: Vec<PublicKey>,
    /// The file of the client's secret key.
    pub key: Option<PathBuf>,
    /// Local ports to forward.
    pub forward: Vec<Forward>,
    /// The law of both directions; the relay may override it for its own.
    pub law: String,
    /// Its parameters, as in `evenair list laws`.
    pub set: toml::Table,
    /// The most connections.
    pub most: u32,
    /// The congestion control of each connection.
    pub congestion: Option<String>,
    /// Whether probes may be sent.
    pub probes: bool,
    /// Whether the number of connections that proved useful is remembered, so that the next session begins
    /// with it.
    pub remember: bool,
    /// The highest rate of stream bytes over all connections, as "5 Mbps"; no bound by default.
    pub rate_most: Option<Rate>,
    /// Memory for bytes of streams \[MB\].
    pub memory_mb: u64,
    /// The status socket.
    pub status: Option<PathBuf>,
}

impl Default for ConnectConfig {
    fn default() -> Self {
        Self {
            relay: String::new(),
            relay_keys: Vec::new(),
            key: None,
            forward: Vec::new(),
            law: "guarded".into(),
            set: toml::Table::new(),
            most: 16,
            congestion: None,
            probes: true,
            remember: true,
            rate_most: None,
            memory_mb: 256,
            status: None,
        }
    }
}

impl Config {
    /// Reads a file. Relative paths in it start from its folder.
    ///
    /// # Errors
    /// Names file, line and key of the first mistake, and a valid value.
    pub fn load(path: &Path) -> Result<Self, Mistake> {
        let mut config = Self::parse(&path.display().to_string(), &file::text(path)?)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let relay = config.relay.iter_mut().flat_map(|relay| {
            relay.keys.iter_mut().chain(relay.authorised.as_mut()).chain(relay.status.as_mut())
        });
        let connect = config.connect.iter_mut();
        let connect = connect.flat_map(|connect| connect.key.iter_mut().chain(connect.status.as_mut()));
        for path in relay.chain(connect) {
            *path = folder.join(&*path);
        }
        Ok(config)
    }

    /// Parses a text.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn parse(file: &str, text: &str) -> Result<Self, Mistake> {
        parse(file, text)
    }
}

/// Returns the law of a name, with parameters.
fn law(place: &str, word: &str, set: &toml::Table) -> Result<ConnectionParams, Mistake> {
    control::law_with(word, set).map_err(|why| Mistake::of(place, why))
}

fn bounded(place: &str, key: &str, value: u64, bounds: std::ops::RangeInclusive<u64>) -> Result<(), Mistake> {
    if bounds.contains(&value) {
        return Ok(());
    }
    let why = format!("{value} is not from {} to {}", bounds.start(), bounds.end());
    Err(Mistake::of(place, why).of_key(key))
}

/// Returns the mistake in a rate bound, if there is one.
pub(crate) fn wrong_rate(rate: Option<Rate>) -> Option<String> {
    let rate = rate.filter(|rate| !RATES.contains(rate))?;
    Some(format!("{rate} is not from {} to {}", RATES.start(), RATES.end()))
}

fn rate(place: &str, rate: Option<Rate>) -> Result<Option<Rate>, Mistake> {
    let wrong = |why| Err(Mistake::of(place, why).of_key("rate_most"));
    wrong_rate(rate).map_or(Ok(rate), wrong)
}

impl RelayConfig {
    /// Builds the listener's options. `place` is the origin that mistakes name: the file, or the command
    /// line.
    ///
    /// # Errors
    /// If a value is missing or out of its bounds, or a file of keys cannot be read.
    pub fn options(&self, place: &str) -> Result<ListenOptions, Mistake> {
        bounded(place, "memory_mb", self.memory_mb, 16..=1 << 20)?;
        bounded(place, "connections", self.connections.into(), 1..=1 << 20)?;
        bounded(place, "handshakes", self.handshakes.into(), 1..=1 << 16)?;
        bounded(place, "handshakes_per_source", self.handshakes_per_source.into(), 1..=1 << 16)?;
        if self.keys.is_empty() {
            let why = "name the file of the relay's own key; make one: evenair multiconn keygen";
            return Err(Mistake::of(place, why).of_key("keys"));
        }
        let Some(authorised) = &self.authorised else {
            let why = "name the file of authorised keys: without one no client may connect, and the relay does not start";
            return Err(Mistake::of(place, why).of_key("authorised"));
        };
        Authorised::load(authorised)?;
        if self.law.is_none() && !self.set.is_empty() {
            return Err(Mistake::of(place, "name the law of these parameters, too").of_key("set"));
        }
        Ok(ListenOptions {
            listen: self.listen.clone(),
            keys: self.keys.iter().map(|path| SecretKey::load(path)).collect::<Result<_, _>>()?,
            authorised: Source::File(authorised.clone()),
            law: self.law.as_ref().map(|word| law(place, word, &self.set)).transpose()?,
            congestion: self.congestion.clone(),
            rate_most: rate(place, self.rate_most)?,
            memory: self.memory_mb << 20,
            connections: self.connections,
            handshakes: self.handshakes,
            handshakes_per_source: self.handshakes_per_source,
            time_of_day: TimeOfDay::default(),
        })
    }
}

impl ConnectConfig {
    /// Builds the client's options.
    ///
    /// # Errors
    /// As [`RelayConfig::options`].
    pub fn options(&self, place: &str) -> Result<ConnectOptions, Mistake> {
        bounded(place, "most", self.most.into(), 1..=control::MOST.into())?;
        bounded(place, "memory_mb", self.memory_mb, 16..=1 << 20)?;
        let missing = |key: &str, why: &str| Mistake::of(place, why).of_key(key);
        if self.relay.is_empty() {
            return Err(missing(
                "relay",
                "name the relay: its host, as relay.example.org or [2001:db8::1]:7443",
            ));
        }
        let Some((first, others)) = self.relay_keys.split_first() else {
            return Err(missing("relay_keys", "give the relay's public key, which its keygen printed"));
        };
        let Some(key) = &self.key else {
            return Err(missing("key", "name the file of the own key; make one: evenair multiconn keygen"));
        };
        let law = law(place, &self.law, &self.set)?;
        let mut options = ConnectOptions::new(with_port(&self.relay), *first, SecretKey::load(key)?);
        options.relay_keys.extend(others);
        options.down = Some(law.clone());
        options.law = law;
        options.most = self.most;
        options.congestion.clone_from(&self.congestion);
        options.probes = self.probes;
        options.paths = Paths::usual().filter(|_| self.remember);
        options.rate_most = rate(place, self.rate_most)?;
        options.memory = self.memory_mb << 20;
        Ok(options)
    }
}

/// Returns a host with its port, the default one if it has none.
pub fn with_port(host: &str) -> String {
    let has_port = match host.rsplit_once(':') {
        Some((before, port)) => {
            port.parse::<u16>().is_ok() && (!before.contains(':') || before.ends_with(']'))
        }
        None => false,
    };
    if has_port {
        host.into()
    } else if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]:{PORT}")
    } else {
        format!("{host}:{PORT}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "[relay]\nlisten = ['[::]:7443']\nkeys = ['relay.key']\nauthorised = 'who.toml'\nlaw = 'guarded'\n\
        set = { gamma = 0.3 }\n[connect]\nrelay = 'relay.example.org'\nforward = ['socks5://1080', 'tcp://8080:a.example:80']\n";

    #[test]
    fn file_equals_command_line() {
        let config = Config::parse("m.toml", TEXT).unwrap();
        let connect = config.connect.unwrap();
        assert_eq!(connect.forward.len(), 2);
        assert_eq!((connect.law.as_str(), connect.most), ("guarded", 16));
        assert_eq!(config.relay.unwrap().keys, [PathBuf::from("relay.key")]);
        for (host, expected) in [
            ("a.example", "a.example:7443"),
            ("a.example:1", "a.example:1"),
            ("::1", "[::1]:7443"),
            ("[::1]", "[::1]:7443"),
            ("[::1]:2", "[::1]:2"),
            ("2001:db8::7443", "[2001:db8::7443]:7443"),
        ] {
            assert_eq!(with_port(host), expected);
        }
    }

    #[test]
    fn missing_key_is_named_with_remedy() {
        let connect = ConnectConfig { relay: "a".into(), ..ConnectConfig::default() };
        let error = connect.options("m.toml").unwrap_err().to_string();
        assert!(error.starts_with("m.toml: relay_keys: give the relay's public key"), "{error}");
        let error = RelayConfig::default().options("m.toml").unwrap_err().to_string();
        assert!(error.contains("keygen"), "{error}");
        let error = Config::parse("m.toml", "[relay]\nlisten = '[::]:7443'\n").unwrap_err().to_string();
        assert!(error.starts_with("m.toml:2:10: relay.listen"), "{error}");
        let error = Config::parse("m.toml", "[connect]\nforwards = []\n").unwrap_err().to_string();
        assert!(error == "m.toml:2:1: unknown field `forwards`; did you mean forward?", "{error}");
        for (text, expected) in [
            ("[connect]\nrate_most = 5\n", "m.toml:2:13: connect.rate_most: "),
            ("[relay]\nrate_most = '5 mbps'\n", "did you mean \"Mbps\"?"),
        ] {
            let error = Config::parse("m.toml", text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let slow = rate("m.toml", Some(Rate::from_bps(1))).unwrap_err().to_string();
        assert_eq!(slow, "m.toml: rate_most: 1 bps is not from 8 kbps to 100000 Mbps");
        let most = ConnectConfig { most: 65, ..connect };
        assert!(most.options("m.toml").unwrap_err().to_string().contains("most: 65 is not from 1 to 64"));
    }

    proptest! {
        #[test]
        fn damaged_files_are_refused_or_read(place in 0..300_usize, with: char) {
            let mut chars: Vec<char> = TEXT.chars().collect();
            let length = chars.len();
            chars[place % length] = with;
            let _ = Config::parse("m.toml", &chars.into_iter().collect::<String>());
        }
    }
}
