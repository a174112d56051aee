//! A survey as a picture in the terminal: a row for each stretch, with its probes in order and the rate carried.

use crate::text::wrapped;
use evenair_multiconn::probe::diagnosis::Diagnosis;
use evenair_multiconn::probe::survey::{Sample, Stretch, rate};
use std::fmt::Write as _;

/// Levels of a round trip, the least first.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// A probe that did not come back.
const LOST: char = '×';
/// Columns beside the probes and the bar of a row.
const BESIDE: usize = 58;
/// The least and the most columns of the probes.
const PROBES: std::ops::RangeInclusive<usize> = 16..=64;
/// Columns of the bar of the carried rate.
const BAR: usize = 12;

/// The whole picture, so many columns wide.
pub(super) fn picture(stretches: &[Stretch], diagnosis: &Diagnosis, width: usize) -> String {
    let columns = width.saturating_sub(BESIDE).clamp(*PROBES.start(), *PROBES.end());
    let times = || stretches.iter().flat_map(Stretch::round_trips);
    let least = times().min_by(f64::total_cmp).unwrap_or(0.0);
    let most = times().max_by(f64::total_cmp).unwrap_or(0.0).max(2.0 * least);
    let carried = stretches.iter().map(|stretch| stretch.goodput_bps).max_by(f64::total_cmp).unwrap_or(0.0);
    let mut text = format!(
        "round trips of probes: {} {:.0} ms to {} {:.0} ms; {LOST} lost\n\n",
        LEVELS[0],
        1e3 * least,
        LEVELS[7],
        1e3 * most
    );
    for stretch in stretches {
        row(&mut text, stretch, columns, (least, most), carried);
    }
    let _ = writeln!(text, "\n{}", diagnosis.kind);
    for sentence in &diagnosis.says {
        text += &wrapped("  ", sentence, width);
    }
    if !diagnosis.cannot_tell.is_empty() {
        text += "\nnot measurable in half a minute:\n";
        for sentence in &diagnosis.cannot_tell {
            text += &wrapped("  ", sentence, width);
        }
    }
    text
}

fn row(text: &mut String, stretch: &Stretch, columns: usize, bounds: (f64, f64), carried: f64) {
    let middle = stretch.round_trips();
    let middle = middle.get(middle.len() / 2).map_or("-".into(), |s| format!("{:.0} ms", 1e3 * s));
    let strip = strip(&stretch.samples, columns, bounds);
    let _ = write!(text, "{:<9} {strip} {middle:>8}", stretch.load.to_string());
    if stretch.load.connections == 0 {
        let share = 100.0 * stretch.lost() as f64 / stretch.samples.len().max(1) as f64;
        let _ = writeln!(text, "  {share:.1} % of {} lost", stretch.samples.len());
        return;
    }
    let filled =
        if carried > 0.0 { (BAR as f64 * stretch.goodput_bps / carried).round() as usize } else { 0 };
    let bar: String = (0..BAR).map(|i| if i < filled { '█' } else { '·' }).collect();
    let again =
        stretch.again_share().map_or(String::new(), |share| format!("  {:.1} % again", 100.0 * share));
    let carried = megabits(stretch.goodput_bps);
    let _ = writeln!(text, "  {bar} {carried:>10}{again}");
}

/// "18.2 Mb/s".
fn megabits(bps: f64) -> String {
    let mbps = rate(bps).as_bps() as f64 / 1e6;
    if mbps < 10.0 { format!("{mbps:.2} Mb/s") } else { format!("{mbps:.1} Mb/s") }
}

/// The probes of a stretch in so many columns: each shows the longest round trip of its time, or a loss.
fn strip(samples: &[Sample], columns: usize, (least, most): (f64, f64)) -> String {
    let per_column = samples.len().div_ceil(columns).max(1);
    let column = |samples: &[Sample]| {
        if samples.iter().any(|sample| sample.round_trip_s.is_none()) {
            return LOST;
        }
        let longest = samples.iter().filter_map(|sample| sample.round_trip_s).fold(least, f64::max);
        let share = if most > least { (longest - least) / (most - least) } else { 0.0 };
        LEVELS[((share * 8.0) as usize).min(7)]
    };
    let drawn: String = samples.chunks(per_column).map(column).collect();
    format!("{drawn}{}", " ".repeat(columns.saturating_sub(samples.len().div_ceil(per_column))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_multiconn::probe::diagnosis::diagnose;
    use evenair_multiconn::probe::survey::Load;

    fn stretch(connections: u32, mbps: f64, lost_every: usize) -> Stretch {
        let sample = |i: usize| Sample {
            at_s: i as f64 / 25.0,
            round_trip_s: (i % lost_every != 1).then_some(0.05 + 0.0001 * (i % 7) as f64),
        };
        Stretch {
            load: Load { connections, congestion_control: (connections > 0).then(|| "cubic".into()) },
            samples: (0..150).map(sample).collect(),
            goodput_bps: 1e6 * mbps,
            sent: (1000.0 * mbps) as u64,
            again: (20.0 * mbps) as u64,
        }
    }

    #[test]
    fn stretch_rows_fit_terminal() {
        let stretches = [stretch(0, 0.0, 40), stretch(1, 2.0, 40), stretch(4, 8.0, 40)];
        for width in [80, 100, 200] {
            let text = picture(&stretches, &diagnose(&stretches), width);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
            for words in ["at rest", "1 cubic", "4 cubic", "8.00 Mb/s", "2.0 % again", "random loss", "BBR"] {
                assert!(text.contains(words), "{words}:\n{text}");
            }
            assert!(text.contains(LOST) && text.contains(LEVELS[0]));
        }
    }
}
