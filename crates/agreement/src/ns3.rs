//! Recorded results of ns-3 3.44, made by the program and script in validation/ns3.

use crate::recorded::{count, means, means_and_errors};

/// One TCP flow over so many hops, mean over seeds \[kb/s\].
pub fn hops() -> Vec<(u32, f64)> {
    totals(include_str!("../../../validation/ns3/hops.txt"))
}

/// Saturated cells at 11 Mb/s, 1000-byte packets: stations, and the total \[packets/s\].
pub fn cells() -> Vec<(u32, f64)> {
    // 972 bytes of each packet are UDP's payload.
    let rows = totals(include_str!("../../../validation/ns3/cell.txt"));
    rows.into_iter().map(|(n, kbps)| (n, kbps * 1e3 / 8.0 / 972.0)).collect()
}

/// The four-link topologies with TCP, 1000-byte segments at 11 Mb/s: topology, and each flow's mean over seeds \[packets/s\].
pub fn four_links() -> Vec<(String, Vec<f64>)> {
    let mut groups = means(include_str!("../../../validation/ns3/four_link.txt"));
    for kbps in groups.iter_mut().flat_map(|(_, rates)| rates) {
        *kbps /= 8.0;
    }
    groups
}

/// Cells of stations of 802.11g and of 802.11b without protection: how many of each, and each flow's mean over seeds \[packets/s\], those of
/// 802.11g first.
pub fn mixed_cells() -> Vec<(String, Vec<f64>)> {
    means(include_str!("../../../validation/ns3/mixed.txt"))
}

/// A saturated cell of stations that aggregate.
#[derive(Clone, Debug)]
pub struct AggregateRow {
    /// "HT", "VHT" or "HE".
    pub format: String,
    /// Width of the channel.
    pub width_mhz: u32,
    /// Index of modulation and coding.
    pub mcs: u8,
    /// How many stations send.
    pub stations: u32,
    /// Bytes of an aggregate, at most; without aggregates, if zero.
    pub bytes: u32,
    /// "bar" or "data" follows a missing block acknowledgement; "rts" is "bar" with RTS and CTS before each frame, "txop-2528"
    /// is "bar" with a TXOP of 2 528 µs.
    pub rule: String,
    /// Payload that all received together \[Mb/s\].
    pub mbps: f64,
}

/// Saturated cells of stations that aggregate.
///
/// # Panics
/// If the recorded file is damaged.
pub fn aggregates() -> Vec<AggregateRow> {
    let text = include_str!("../../../validation/ns3/aggregates.txt");
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [format, width, mcs, stations, bytes, rule, mbps] = words[..] else {
            panic!("not a row: {line}")
        };
        AggregateRow {
            format: format.into(),
            width_mhz: count(width),
            mcs: count(mcs) as u8,
            stations: count(stations),
            bytes: count(bytes),
            rule: rule.into(),
            mbps: mbps.parse().expect("a throughput"),
        }
    };
    text.lines().filter(|line| !line.starts_with('#')).map(row).collect()
}

/// The cell of 20 stations of 802.11ac at 80 MHz, MCS 9, with aggregates: the rule after a missing block acknowledgement ("bar" or
/// "data"), and the mean of five runs of 10 s with its standard error \[Mb/s\].
pub fn twenty_that_aggregate() -> Vec<(String, (f64, f64))> {
    let groups = means_and_errors(include_str!("../../../validation/ns3/aggregates-20.txt"));
    groups.into_iter().map(|(rule, columns)| (rule, columns[0])).collect()
}

/// Three access points of 802.11ax in a row: the distance between neighbours \[m\], and the payload of the links on the left, in the
/// middle and on the right, means over seeds \[Mb/s\].
pub fn row() -> Vec<(String, Vec<f64>)> {
    means(include_str!("../../../validation/ns3/row.txt"))
}

/// A saturated station received at one strength.
#[derive(Clone, Debug)]
pub struct Strength {
    /// The standard's letters.
    pub letters: String,
    /// The width \[MHz\].
    pub mhz: u32,
    /// The fixed MCS; none, under ns-3's Ideal.
    pub mcs: Option<u8>,
    /// The strength \[dBm\].
    pub dbm: f64,
    /// Payload that arrives \[Mb/s\].
    pub mbps: f64,
}

/// One saturated station of 802.11n or ac, by the strength of its signal.
pub fn strengths() -> Vec<Strength> {
    let row = |line: &str| {
        let [letters, mhz, control, dbm, mbps] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            panic!("five columns: {line}")
        };
        Strength {
            letters: letters.into(),
            mhz: mhz.parse().expect("MHz"),
            mcs: control.parse().ok(),
            dbm: dbm.parse().expect("dBm"),
            mbps: mbps.parse().expect("Mb/s"),
        }
    };
    include_str!("../../../validation/ns3/strengths.txt").lines().map(row).collect()
}

/// A saturated cell of 802.11n, ac or ax without aggregation, 1472 bytes of payload a packet.
#[derive(Clone, Debug)]
pub struct Modulated {
    /// The overrides that make a scenario use it.
    pub changes: Vec<String>,
    /// How many stations send.
    pub stations: u32,
    /// The rate of arrivals, mean over seeds \[Mb/s\].
    pub mbps: f64,
}

/// Saturated cells of 802.11n, ac and ax without aggregation.
pub fn modulated() -> Vec<Modulated> {
    let lines: Vec<Vec<&str>> = include_str!("../../../validation/ns3/modulated.txt")
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let cases = lines.chunk_by(|one, other| one[..4] == other[..4]);
    let case = |rows: &[Vec<&str>]| {
        let [letters, width, mcs, stations, ..] = rows[0][..] else { panic!("six columns: {:?}", rows[0]) };
        let total: f64 = rows.iter().map(|row| row[5].parse::<f64>().expect("a rate")).sum();
        Modulated {
            changes: vec![
                format!("mac.kind=\"802.11{letters}\""),
                format!("mac.width=\"{width} MHz\""),
                format!("mac.mcs={mcs}"),
                "aggregation.packets=1".into(),
            ],
            stations: count(stations),
            mbps: total / rows.len() as f64,
        }
    };
    cases.map(case).collect()
}

/// Means over seeds of all that is sent together.
fn totals(text: &str) -> Vec<(u32, f64)> {
    means(text).into_iter().map(|(n, rates)| (count(&n), rates.iter().sum())).collect()
}
