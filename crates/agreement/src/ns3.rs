//! Recorded results of ns-3 3.44, made by the program and script in validation/ns3.

/// One TCP flow over so many hops, mean over seeds \[kb/s\].
pub fn hops() -> Vec<(u32, f64)> {
    means(include_str!("../../../validation/ns3/hops.txt"), 1)
}

/// Saturated cells at 11 Mb/s, 1000-byte packets: stations, and the total \[packets/s\].
pub fn cells() -> Vec<(u32, f64)> {
    // 972 bytes of each packet are UDP's payload.
    let rows = means(include_str!("../../../validation/ns3/cell.txt"), usize::MAX);
    rows.into_iter().map(|(n, kbps)| (n, kbps * 1e3 / 8.0 / 972.0)).collect()
}

/// The four-link topologies with TCP, 1000-byte segments at 11 Mb/s: topology, and each flow's mean over seeds \[packets/s\].
pub fn four_links() -> Vec<(String, Vec<f64>)> {
    let mut groups: Vec<(String, u32, Vec<f64>)> = Vec::new();
    for line in include_str!("../../../validation/ns3/four_link.txt").lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(_seed)) = (words.next(), words.next()) else { continue };
        let rates: Vec<f64> = words.map(|kbps| kbps.parse::<f64>().expect("a rate") / 8.0).collect();
        match groups.iter_mut().find(|(n, ..)| n == name) {
            Some((_, count, sums)) => {
                *count += 1;
                sums.iter_mut().zip(rates).for_each(|(sum, rate)| *sum += rate);
            }
            None => groups.push((name.into(), 1, rates)),
        }
    }
    let mean = |(name, count, sums): (String, u32, Vec<f64>)| {
        (name, sums.into_iter().map(|s| s / f64::from(count)).collect())
    };
    groups.into_iter().map(mean).collect()
}

/// Means over seeds of the sums of lines "key seed rate rate …", the first `columns` rates of each.
fn means(text: &str, columns: usize) -> Vec<(u32, f64)> {
    let mut groups: Vec<(u32, u32, f64)> = Vec::new();
    for line in text.lines() {
        let numbers: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [key, _seed, rates @ ..] = &numbers[..] else { continue };
        let (key, sum): (u32, f64) = (*key as u32, rates.iter().take(columns).sum());
        match groups.iter_mut().find(|(k, ..)| *k == key) {
            Some((_, count, total)) => {
                *count += 1;
                *total += sum;
            }
            None => groups.push((key, 1, sum)),
        }
    }
    groups.into_iter().map(|(key, count, total)| (key, total / f64::from(count))).collect()
}
