//! Recorded results of ns-2 2.35, made by the scripts in validation/ns2.

use crate::recorded::{count, means, means_and_errors, seeds};

/// ns-2's results for the four-link topologies: topology, and each flow's mean packets per second over five
/// seeds.
pub fn four_links() -> Vec<(String, Vec<f64>)> {
    rates(include_str!("../../../validation/ns2/four_link.txt"))
}

/// ns-2's results for saturated cells, without or with RTS/CTS: number of stations, and the total of each.
pub fn cells(protected: bool) -> Vec<(u32, f64)> {
    let text = if protected {
        include_str!("../../../validation/ns2/cell-rts.txt")
    } else {
        include_str!("../../../validation/ns2/cell.txt")
    };
    rates(text).into_iter().map(|(n, rates)| (count(&n), rates.iter().sum())).collect()
}

/// ns-2's results for one TCP flow over 1 to 10 hops \[kb/s\], and for three upstream flows on the three-hop
/// chain with their standard errors; both with static routes, five seeds.
pub const HOPS_KBPS: [f64; 10] = [774.0, 398.0, 261.0, 206.0, 177.0, 160.0, 152.0, 148.0, 146.0, 144.0];
/// See [`HOPS_KBPS`].
pub const CHAIN_KBPS: [(f64, f64); 3] = [(284.0, 10.0), (170.0, 8.0), (52.0, 8.0)];

/// ns-2's results for flows over one hop each: scenario, and each flow's kb/s of 1500-byte datagrams. The
/// number in a name is the distance from S1 to R1 \[m\].
pub fn single_hops() -> Vec<(String, Vec<f64>)> {
    means(include_str!("../../../validation/ns2/mesh.txt"))
}

/// ns-2's results for NewReno with a receiver's window of 1000 segments \[kb/s\], by seed and flow: `place`
/// is `hops-2`, `hops-3` or `chain`, `first` the first threshold \[segments\], 20 or 1000.
pub fn wide_window(place: &str, first: u32) -> Vec<Vec<f64>> {
    seeds(include_str!("../../../validation/ns2/window.txt"), &format!("{place}-{first}"))
}

/// ns-2's results for three downstream NewReno flows on the three-hop chain over a shared FIFO \[kb/s\], by
/// seed and flow: the case of [Jam10] Fig 6.2 and Table 6.1, by validation/ns2/downstream.sh.
pub fn downstream() -> Vec<Vec<f64>> {
    seeds(include_str!("../../../validation/ns2/downstream.txt"), "chain-down")
}

/// ns-2's results with RTS/CTS for hidden terminals and three hops, and without it over one hop of 1500 m, by
/// validation/ns2/rts.sh: scenario, and each flow's mean kb/s of payload with its standard error.
pub fn handshakes() -> Vec<(String, Vec<(f64, f64)>)> {
    means_and_errors(include_str!("../../../validation/ns2/rts.txt"))
}

/// ns-2's result for the chain of docs/how-to/ns.md \[kb/s\], by validation/ns2/how-to.sh: the mean over
/// seeds.
pub fn how_to_chain() -> f64 {
    let rows = seeds(include_str!("../../../validation/ns2/how-to.txt"), "chain");
    rows.iter().map(|row| row[0]).sum::<f64>() / rows.len() as f64
}

/// ns-2's results for saturated broadcasts, by validation/ns2/how-to.sh: data rate and basic rate \[Mb/s\]
/// and size \[bytes\], and datagrams per second.
pub fn broadcasts() -> Vec<([u32; 3], f64)> {
    let lines = include_str!("../../../validation/ns2/how-to.txt").lines();
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let case = [1, 2, 3].map(|column: usize| count(words[column]));
        (case, words[4].parse().expect("a number"))
    };
    lines.filter(|line| line.starts_with("broadcast ")).map(row).collect()
}

/// ns-2's results for TFRC over a wire with random loss, by validation/ns2/tfrc.sh: loss, round trip \[ms\],
/// packets sent per second and loss events per packet, means over three seeds.
pub fn tfrc() -> Vec<(f64, u32, f64, f64)> {
    let number = |text: &str| text.parse::<f64>().expect("a number");
    let lines: Vec<Vec<f64>> = include_str!("../../../validation/ns2/tfrc.txt")
        .lines()
        .map(|line| line.split_whitespace().map(number).collect())
        .collect();
    let mean = |runs: &[Vec<f64>], column: usize| {
        runs.iter().map(|run| run[column]).sum::<f64>() / runs.len() as f64
    };
    lines.chunks(3).map(|runs| (runs[0][0], runs[0][1] as u32, mean(runs, 3), mean(runs, 4))).collect()
}

/// Means over seeds of lines "name seed rate rate … total", without the total.
fn rates(text: &str) -> Vec<(String, Vec<f64>)> {
    let mut groups = means(text);
    for (_, numbers) in &mut groups {
        numbers.pop();
    }
    groups
}
