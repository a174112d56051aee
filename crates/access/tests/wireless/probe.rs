//! The registers that reach drivers, by an event probe on mac80211's `drv_conf_tx`, behind the kernel's own limits.

use evenair_laws::backoff::Registers;
use rustix::fs::{Mode, OFlags, open};
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};

const TRACING: &str = "/sys/kernel/tracing";

/// The values of the event that a probe logs.
const VALUES: &str =
    "ac=$ac:u16 cw_min=$cw_min:u16 cw_max=$cw_max:u16 aifs=$aifs:u8 txop=$txop:u16 vif=$vif_name:string";

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conf {
    /// The interface.
    pub(crate) vif: String,
    /// The category's number.
    pub(crate) category: usize,
    /// Its registers.
    pub(crate) registers: Registers,
}

impl Conf {
    fn read(line: &str) -> Option<Self> {
        let word =
            |key: &str| line.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        let number = |key: &str| word(key)?.parse::<u32>().ok();
        Some(Self {
            vif: word("vif")?.trim_matches('"').into(),
            category: number("ac")? as usize,
            registers: Registers {
                window_min: number("cw_min")?,
                window_max: number("cw_max")?,
                aifsn: number("aifs")?,
                txop_units: number("txop")?,
            },
        })
    }
}

/// A log of one's own.
#[derive(Debug)]
pub(crate) struct Probe {
    folder: String,
    pipe: File,
    rest: String,
}

impl Probe {
    /// Begins a log, with a probe of its own: the kernel has each log to one place.
    pub(crate) fn new(name: &str) -> Self {
        let events = format!("{TRACING}/dynamic_events");
        let mut events = OpenOptions::new().append(true).open(events).expect("event probes");
        let probe = format!("e:evenair/{name} mac80211.drv_conf_tx {VALUES}\n");
        events.write_all(probe.as_bytes()).expect("an event probe");
        let folder = format!("{TRACING}/instances/{name}");
        fs::create_dir_all(&folder).expect("an instance of tracing");
        fs::write(format!("{folder}/events/evenair/{name}/enable"), "1").expect("it is enabled");
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let pipe = open(format!("{folder}/trace_pipe"), flags, Mode::empty()).expect("a pipe").into();
        Self { folder, pipe, rest: String::new() }
    }

    /// Returns the values since the last call; does not wait.
    pub(crate) fn take(&mut self) -> Vec<Conf> {
        let mut bytes = [0; 4096];
        while let Ok(length @ 1..) = self.pipe.read(&mut bytes) {
            self.rest.push_str(&String::from_utf8_lossy(&bytes[..length]));
        }
        let whole = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let lines: String = self.rest.drain(..whole).collect();
        lines.lines().filter_map(Conf::read).collect()
    }

    /// Clears the log.
    pub(crate) fn clear(&self) {
        fs::write(format!("{}/trace", self.folder), "").expect("a trace");
    }

    /// Returns the registers of best effort that reached an interface's driver since the log was cleared, in order.
    pub(crate) fn seen(&self, vif: &str) -> Vec<Registers> {
        let trace = fs::read_to_string(format!("{}/trace", self.folder)).expect("a trace");
        let all = trace.lines().filter_map(Conf::read);
        all.filter(|one| one.category == 2 && one.vif == vif).map(|one| one.registers).collect()
    }
}
