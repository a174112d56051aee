//! The operator's file, and the same by options.
//!
//! ```
//! let text = "interface = 'wlan0'\nmode = 'enforce'\n[law]\nlaw = 'virtual-queue'\naifsn = 3\n";
//! let config = evenair_access::Config::parse("evenair-backoff.toml", text).unwrap();
//! assert_eq!(config.interval().as_nanos(), 100_000_000);
//! ```

use crate::restore::{self, Origin};
use evenair_laws::backoff::{
    BackoffLaw as _, BackoffParams, Category, LinkRole, QueueMeasure, Registers, Surroundings,
};
use evenair_laws::{Parameters as _, backoff};
use evenair_service::{Mistake, document, file, law as laws};
use evenair_units::Duration;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The laws that have registers.
pub const LAWS: [&str; 4] = ["virtual-queue", "optimal", "queueing-delay", "adaptive"];

/// The default folder of state and socket.
pub const STATE: &str = "/run/evenair-backoff";

/// The time between two updates, where the law's table has none.
const INTERVAL: &str = "100 ms";
/// The shortest and the longest: stations are dumped at each, and at one a second the flow in the middle starves
/// (studies/lee12/access-points.toml).
const INTERVALS_MS: (u64, u64) = (20, 300);
/// [Lee12] section IV: V = 500 per frame, which is 10 ms here.
const UTILITY_PER_10_MS: f64 = 500.0;

/// Whether registers are set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Look and decide, set nothing.
    #[default]
    Observe,
    /// Set registers.
    Enforce,
}

/// Registers to put back, as they are written.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Restore {
    Hostapd(FromHostapd),
    Registers(Registers),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FromHostapd {
    hostapd: PathBuf,
}

/// The file as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    interface: String,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    category: Category,
    #[serde(default)]
    law: Table,
    restore: Option<Restore>,
    #[serde(default)]
    below_standard: bool,
    #[serde(default)]
    whole_radio: bool,
    #[serde(default = "mtu")]
    mtu: u32,
    #[serde(default = "state")]
    state: PathBuf,
}

const fn mtu() -> u32 {
    1500
}

fn state() -> PathBuf {
    STATE.into()
}

/// A daemon's configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The access point's interface.
    pub interface: String,
    /// Whether registers are set.
    pub mode: Mode,
    /// The access category that the law has.
    pub category: Category,
    /// The law.
    pub law: BackoffParams,
    /// The registers that are put back, and where they come from.
    pub restore: (Registers, Origin),
    /// `CWmin` may be below the standard's for the category; neighbours pay for it.
    pub below_standard: bool,
    /// Other access points of the radio may get the registers, too.
    pub whole_radio: bool,
    /// The largest packet \[bytes\].
    pub mtu: u32,
    /// The folder of state and socket.
    pub state: PathBuf,
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// Names file, line, key and value of the first mistake.
    pub fn load(path: &Path) -> Result<Self, Mistake> {
        Self::parse(&path.display().to_string(), &file::text(path)?)
    }

    /// Parses a file's text.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn parse(name: &str, text: &str) -> Result<Self, Mistake> {
        let written: Written = document::parse(name, text)?;
        let at = |key: &str, message: String| {
            let path = evenair_service::KeyPath::from(key);
            let place = document::place_of(text, &path);
            Mistake { key: Some(path), ..Mistake::of(name, message).placed(place) }
        };
        let category = written.category;
        if written.interface.is_empty() || written.interface.contains('/') || written.interface.len() > 15 {
            return Err(at(
                "interface",
                format!("{}: is no name of an interface", evenair_service::quoted(&written.interface)),
            ));
        }
        if !(100..=9000).contains(&written.mtu) {
            return Err(at("mtu", format!("{} is outside of 100 to 9000 bytes", written.mtu)));
        }
        let restore = match written.restore {
            None => (restore::default(category), Origin::Default),
            Some(Restore::Registers(given)) => {
                check_restore(given).map_err(|why| at("restore", why))?;
                (given, Origin::Given)
            }
            Some(Restore::Hostapd(FromHostapd { hostapd })) => {
                let shown = hostapd.display().to_string();
                let of = hostapds(&hostapd).map_err(|why| at("restore", format!("{shown}: {why}")))?;
                let registers = restore::of_hostapd(&of, category)
                    .map_err(|why| at("restore", format!("{shown}: {why}")))?;
                (registers, Origin::Hostapd(shown))
            }
        };
        let law = law(&written.law).map_err(|why| at("law", why))?;
        let Written { interface, mode, below_standard, whole_radio, mtu, state, .. } = written;
        Ok(Self { interface, mode, category, law, restore, below_standard, whole_radio, mtu, state })
    }

    /// Returns the configuration of options: a file with an interface, a folder and a law, and defaults otherwise.
    ///
    /// # Errors
    /// Names the key and value of the first mistake.
    pub fn of_options(interface: &str, state: &Path, law: Table) -> Result<Self, Mistake> {
        let mut table = Table::new();
        table.insert("interface".into(), interface.into());
        table.insert("state".into(), state.display().to_string().into());
        table.insert("law".into(), law.into());
        // The text is not the user's, so places in it mean nothing.
        Self::parse("the command line", &table.to_string()).map_err(|mistake| mistake.placed(None))
    }

    /// The time between two updates.
    pub fn interval(&self) -> Duration {
        interval(&self.law)
    }

    /// The law's name.
    pub fn law_name(&self) -> String {
        name(&self.law)
    }

    /// Returns whether the law reads signals that only drivers with queues in mac80211 give: backlogs, and bytes.
    pub const fn needs_queues(&self) -> bool {
        match &self.law {
            BackoffParams::VirtualQueue(params) => matches!(params.measure, QueueMeasure::Bytes),
            _ => true,
        }
    }
}

/// Reads hostapd's file. A network's name in it may be any bytes.
fn hostapds(path: &Path) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Refuses registers that no driver has.
pub(crate) fn check_restore(given: Registers) -> Result<(), String> {
    let is_window = |window: u32| window <= 32_767 && restore::is_window(window);
    let is_good =
        is_window(given.window_min) && is_window(given.window_max) && given.window_min <= given.window_max;
    if is_good && given.aifsn <= 255 && given.txop_units <= 65_535 {
        return Ok(());
    }
    Err(format!("{given}: windows are 2^k - 1 up to 32767, CWmin at most CWmax, AIFSN at most 255"))
}

fn name(law: &BackoffParams) -> String {
    let table = Table::try_from(law).unwrap_or_default();
    table.get("law").and_then(Value::as_str).unwrap_or_default().to_string()
}

fn interval(law: &BackoffParams) -> Duration {
    law.begin(&LinkRole::data(Surroundings::default())).update_interval().unwrap_or_default()
}

/// Returns the law of a table as scenarios have it. Without other words it runs on registers, ten times a second.
///
/// # Errors
/// If no law has the name or key, the value is out of range, or the law is not one of registers.
pub fn law(table: &Table) -> Result<BackoffParams, String> {
    let name = match table.get("law") {
        None => LAWS[0],
        Some(Value::String(name)) => name,
        Some(other) => return Err(format!("law = {other}: give a name, such as \"virtual-queue\"")),
    };
    if !LAWS.contains(&name) {
        return Err(laws::unknown(name, &LAWS));
    }
    let mut keys = table.clone();
    keys.remove("law");
    keys.entry("execution").or_insert_with(|| "hardware".into());
    keys.entry("interval").or_insert_with(|| INTERVAL.into());
    if name == "adaptive" {
        keys.entry("drop").or_insert(Value::Boolean(false));
    }
    let mut law = laws::with_keys::<BackoffParams>(laws::named(name)?, &keys)?;
    let given = interval(&law);
    let (least, most) = (Duration::from_millis(INTERVALS_MS.0), Duration::from_millis(INTERVALS_MS.1));
    if !(least..=most).contains(&given) {
        return Err(format!("law {name}: interval: {given} is outside of {least} to {most}"));
    }
    if let BackoffParams::VirtualQueue(params) = &mut law
        && !keys.contains_key("v")
    {
        params.queue.utility = UTILITY_PER_10_MS * given.as_secs_f64() / 0.01;
    }
    let begun = law.begin(&LinkRole::data(Surroundings::default()));
    Registers::of(&begun.access(), begun.space()).map_err(|error| format!("law {name}: {error}"))?;
    check_hooks(&law, name)?;
    Ok(law)
}

/// Refuses keys for which mac80211 has no hook.
fn check_hooks(law: &BackoffParams, name: &str) -> Result<(), String> {
    let (dummies, drop) = match law {
        BackoffParams::Adaptive(backoff::AdaptiveParams { dummies, drop, .. }) => (*dummies, *drop),
        BackoffParams::QueueingDelay(backoff::QueueingDelayParams { dummies, .. })
        | BackoffParams::Optimal(backoff::OptimalParams { dummies, .. })
        | BackoffParams::VirtualQueue(backoff::VirtualQueueParams { dummies, .. }) => (*dummies, false),
        _ => (false, false),
    };
    if dummies {
        return Err(format!("law {name}: dummies: an access point of Linux sends no dummy packets"));
    }
    if drop {
        return Err(format!("law {name}: drop: an access point of Linux drops no packets by a law"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_laws::backoff::VirtualQueueParams;

    fn refused(text: &str) -> String {
        Config::parse("b.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn little_is_needed() {
        let config = Config::parse("b.toml", "interface = 'wlan0'").unwrap();
        assert_eq!((config.mode, config.category), (Mode::Observe, Category::BestEffort));
        assert_eq!(config.restore, (restore::default(Category::BestEffort), Origin::Default));
        assert_eq!(
            (config.interval(), config.law_name()),
            (Duration::from_millis(100), "virtual-queue".into())
        );
        // [Lee12]: V = 500 per 10 ms, so 5000 per 100 ms.
        let BackoffParams::VirtualQueue(VirtualQueueParams { queue, .. }) = config.law else { panic!() };
        assert!((queue.utility - 5000.0).abs() < 1e-9);
        assert!(!config.needs_queues());
    }

    #[test]
    fn each_law_of_registers_begins() {
        for name in LAWS {
            let table: Table = format!("law = '{name}'\naifsn = 3\ninterval = '50 ms'").parse().unwrap();
            let law = law(&table).unwrap();
            assert_eq!(super::name(&law), name);
            let begun = law.begin(&LinkRole::data(Surroundings::default()));
            assert_eq!(Registers::of(&begun.access(), begun.space()).unwrap().aifsn, 3, "{name}");
        }
        let given = law(&"law = 'virtual-queue'\nv = 700".parse().unwrap()).unwrap();
        let BackoffParams::VirtualQueue(VirtualQueueParams { queue, .. }) = given else { panic!() };
        assert!((queue.utility - 700.0).abs() < 1e-9);
    }

    #[test]
    fn mistakes_name_key_and_remedy() {
        let law = |law: &str| refused(&format!("interface = 'wlan0'\n[law]\n{law}"));
        assert!(
            law("law = 'dcf'").contains("there is no law `dcf`; there are virtual-queue"),
            "{}",
            law("law = 'dcf'")
        );
        assert!(law("bb = 1").contains("unknown field `bb`"), "{}", law("bb = 1"));
        assert!(law("interval = '1 s'").contains("outside of"), "{}", law("interval = '1 s'"));
        assert!(law("execution = 'continuous'").contains("execution = \"hardware\""));
        assert!(law("dummies = true").contains("sends no dummy packets"));
        assert!(law("b = 0").contains('b'));
        assert!(refused("mode = 'observe'").contains("interface"));
        assert!(refused("interface = 'wlan0'\nmoed = 'x'").contains("did you mean mode?"));
        assert!(
            refused("interface = '../x'").starts_with("b.toml:1:13: interface: "),
            "{}",
            refused("interface = '../x'")
        );
        let restore =
            "interface = 'wlan0'\nrestore = { window_min = 15, window_max = 7, aifsn = 3, txop_units = 0 }";
        assert!(refused(restore).contains("CWmin at most CWmax"), "{}", refused(restore));
        let missing = "interface = 'wlan0'\nrestore = { hostapd = '/no/such' }";
        assert!(refused(missing).contains("/no/such: cannot be read"), "{}", refused(missing));
    }

    /// Each mistake of a law's table names file and key, whichever the law.
    #[test]
    fn mistakes_in_any_laws_table_are_refused() {
        for name in LAWS {
            let own = match name {
                "virtual-queue" => [("b = 0", "b = 0"), ("v = -1", "v = -1"), ("vq_start = nan", "vq_start")],
                "optimal" => {
                    [("b = inf", "b = inf"), ("v = 5", "unknown field `v`"), ("b = 'x'", "invalid type")]
                }
                "queueing-delay" => {
                    [("memory = 1.0", "memory"), ("scale = -1", "scale"), ("b = 1", "unknown field `b`")]
                }
                _ => [
                    ("alpha = -1", "alpha"),
                    ("drop = true", "drops no packets by a law"),
                    ("r_max = 0", "r_max"),
                ],
            };
            let all = [
                ("intervall = '50 ms'", "unknown field `intervall`"),
                ("interval = '10 ms'", "outside of 20 ms to 300 ms"),
                ("interval = '1 s'", "outside of 20 ms to 300 ms"),
                ("interval = 'soon'", "interval"),
                ("window_min = 16", "window_min"),
                ("window_min = 63\nwindow_max = 31", "window_m"),
                ("aifsn = 0", "aifsn"),
                ("aifsn = 16", "aifsn"),
                ("aifsn = 2.5", "invalid type"),
                ("dummies = true", "sends no dummy packets"),
                ("execution = 'continuous'", "execution = \"hardware\""),
            ];
            for (line, expected) in own.into_iter().chain(all) {
                let refused = refused(&format!("interface = 'wlan0'\n[law]\nlaw = '{name}'\n{line}"));
                assert!(refused.starts_with("b.toml:2:"), "{name}: {line}: {refused}");
                assert!(refused.contains(expected), "{name}: {line}: {refused}");
            }
        }
    }

    /// A folder, a missing file, no text, half a table: the file is named.
    #[test]
    fn files_that_are_no_configuration_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.toml");
        let refused = |path: &Path| {
            let refused = Config::load(path).unwrap_err().to_string();
            assert!(refused.starts_with(&path.display().to_string()), "{refused}");
        };
        refused(folder.path());
        refused(&path);
        for bytes in [
            &b""[..],
            b"\x7fELF\0\0",
            b"interface = 'wlan0'\n[law",
            b"interface = ['wlan0']",
            b"{\"interface\": 1}",
        ] {
            std::fs::write(&path, bytes).unwrap();
            refused(&path);
        }
    }

    #[test]
    fn options_are_a_file_too() {
        let of = |law: &str| Config::of_options("wlan0", Path::new("/run/x"), law.parse().unwrap());
        let config = of("law = 'optimal'").unwrap();
        assert_eq!((config.law_name(), config.state), ("optimal".into(), "/run/x".into()));
        let refused = of("bb = 1").unwrap_err().to_string();
        assert!(refused.starts_with("the command line: law: "), "{refused}");
    }

    #[test]
    fn hostapd_file_gives_restored_values() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hostapd.conf");
        std::fs::write(&path, b"ssid=caf\xe9\ntx_queue_data2_cwmax=255\n").unwrap();
        let text = format!("interface = 'wlan0'\nrestore = {{ hostapd = '{}' }}", path.display());
        let config = Config::parse("b.toml", &text).unwrap();
        assert_eq!(config.restore.0.window_max, 255);
        assert_eq!(config.restore.1, Origin::Hostapd(path.display().to_string()));
    }
}
