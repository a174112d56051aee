//! Recorded results of ns-2 2.35, made by the scripts in validation/ns2.

/// What ns-2 gave for the four-link topologies: topology, and each flow's mean packets per second over five seeds.
pub fn four_links() -> Vec<(String, Vec<f64>)> {
    means(include_str!("../../../validation/ns2/four_link.txt"))
}

/// What ns-2 gave for saturated cells: number of stations, and the total of each.
pub fn cells() -> Vec<(u32, f64)> {
    let rows = means(include_str!("../../../validation/ns2/cell.txt"));
    rows.into_iter()
        .map(|(n, rates)| (n.parse().expect("a number of stations"), rates.iter().sum()))
        .collect()
}

/// Means over seeds of lines "name seed rate rate … total".
fn means(text: &str) -> Vec<(String, Vec<f64>)> {
    let mut groups: Vec<(String, u32, Vec<f64>)> = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(_seed)) = (words.next(), words.next()) else { continue };
        let mut rates: Vec<f64> = words.map(|w| w.parse().expect("a rate")).collect();
        rates.pop(); // the total
        match groups.iter_mut().find(|(n, ..)| n == name) {
            Some((_, count, sums)) => {
                *count += 1;
                for (sum, rate) in sums.iter_mut().zip(rates) {
                    *sum += rate;
                }
            }
            None => groups.push((name.into(), 1, rates)),
        }
    }
    let mean = |(name, count, sums): (String, u32, Vec<f64>)| {
        (name, sums.into_iter().map(|s| s / f64::from(count)).collect())
    };
    groups.into_iter().map(mean).collect()
}
