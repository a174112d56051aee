//! One cell of saturated stations in the packet world.

use evenair_netsim::{MacSpec, Network};
use evenair_scenario::Resolved;
use evenair_units::{Bytes, Duration, Rate};
use evenair_wifi::{ControlRate, MacTiming, Preamble};
use std::fmt::Write;

/// One frame exchange of a saturated cell: the subject of the models.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// Slots, spaces, airtimes.
    pub timing: MacTiming,
    /// Network-layer size of each packet.
    pub size: Bytes,
    /// Rate of DATA frames.
    pub rate: Rate,
    /// RTS and CTS before each.
    pub protected: bool,
    /// The contention window before the first attempt.
    pub window_min: u32,
}

impl Exchange {
    /// 802.11b with long preambles, control frames at 1 Mb/s.
    pub fn b(size: Bytes, rate: Rate, protected: bool) -> Self {
        let timing = MacTiming::b(Preamble::Long, Rate::from_kbps(1_000));
        Self { timing, size, rate, protected, window_min: 31 }
    }

    /// 802.11a.
    pub fn a(size: Bytes, rate: Rate, protected: bool) -> Self {
        Self { timing: MacTiming::a(ControlRate::Mandatory), size, rate, protected, window_min: 15 }
    }

    /// The frame that collides.
    pub fn first_frame(&self) -> Duration {
        if self.protected { self.timing.request(self.rate) } else { self.timing.data(self.size, self.rate) }
    }

    /// A whole exchange, the DIFS after it included.
    pub fn success(&self) -> Duration {
        if self.protected {
            self.timing.protected_exchange(self.size, self.rate)
        } else {
            self.timing.exchange(self.size, self.rate)
        }
    }

    /// The overrides that make a scenario use it.
    pub fn changes(&self) -> Vec<String> {
        let kind = if self.timing.is_ofdm() { "802.11a" } else { "802.11b" };
        let mut changes = vec![format!("mac.kind=\"{kind}\""), format!("mac.data_rate=\"{}\"", self.rate)];
        // The models know no capture: a station beside one of two senders would decode it, and over 802.11a at 54 Mb/s
        // wait 16 µs less than the EIFS that the models give it (2 % at 50 stations).
        changes.push("radio.capture=\"100 dB\"".into());
        if self.protected {
            changes.push("mac.rts_threshold=\"0 bytes\"".into());
        }
        changes
    }
}

/// The throughput of a cell \[packets/s\] that uses this exchange, over `seconds` after 2 s of warm-up.
pub fn exchange_throughput_pps(
    exchange: &Exchange,
    stations: u32,
    more: &[&str],
    seconds: u32,
    seed: u64,
) -> f64 {
    let own = exchange.changes();
    let sizes: Vec<String> = (0..stations).map(|i| format!("flows.{i}.size=\"{}\"", exchange.size)).collect();
    let mut changes: Vec<&str> = own.iter().chain(&sizes).map(String::as_str).collect();
    changes.extend(more);
    throughput_pps(stations, &changes, seconds, seed)
}

/// The scenario of `stations` stations evenly on a circle of 50 m around their receiver.
pub fn scenario(stations: u32, changes: &[&str]) -> Resolved {
    let mut text = String::from(
        "[radio]\ntransmission_range = \"250 m\"\ncarrier_sense_range = \"550 m\"\n[[nodes]]\nid = \"ap\"\nat = [0, 0]\n",
    );
    for i in 0..stations {
        let angle = std::f64::consts::TAU * f64::from(i) / f64::from(stations);
        let (x, y) = (50.0 * angle.cos(), 50.0 * angle.sin());
        let _ = write!(
            text,
            "[[nodes]]\nid = \"s{i}\"\nat = [{x}, {y}]\n[[flows]]\nid = \"{i}\"\nfrom = \"s{i}\"\nto = \"ap\"\ntraffic = \"saturated\"\nstart = \"0 s\"\n"
        );
    }
    let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
    Resolved::parse("cell", &text, &changes).expect("the scenario is right")
}

/// Its throughput \[packets/s\] over `seconds` after 2 s of warm-up.
pub fn throughput_pps(stations: u32, changes: &[&str], seconds: u32, seed: u64) -> f64 {
    let duration = format!("duration=\"{seconds} s\"");
    let mut all = vec!["warmup=\"2 s\"", &duration];
    all.extend(changes);
    let scenario = scenario(stations, &all);
    let result = Network::run(scenario.network(), scenario.run_spec(seed));
    result.flows.iter().map(|f| f.goodput_pps).sum()
}

/// The throughput of each station \[packets/s\] in a cell of stations of 802.11g and, after them, 802.11b
/// without protection, at 54 and 11 Mb/s with 1500-byte packets. With `without_eifs`, a DIFS replaces the
/// EIFS after frames received in error.
pub fn mixed_pps(of_g: usize, of_b: usize, without_eifs: bool, seed: u64) -> Vec<f64> {
    let mut changes = vec!["mac.kind=802.11g".to_string(), "mac.basic_rate=2 Mbps".into()];
    changes.extend((of_g..of_g + of_b).map(|i| format!("nodes.s{i}.mac=802.11b")));
    changes.extend((0..of_g + of_b).map(|i| format!("flows.{i}.size=1500 bytes")));
    changes.extend(["mac.protection=none", "warmup=2 s", "duration=40 s"].map(Into::into));
    let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
    let scenario = scenario((of_g + of_b) as u32, &changes);
    let mut network = scenario.network().clone();
    if let MacSpec::Dcf { timing, .. } = &mut network.mac
        && without_eifs
    {
        timing.eifs = timing.difs;
    }
    let result = Network::run(&network, scenario.run_spec(seed));
    result.flows.iter().map(|flow| flow.goodput_pps).collect()
}
