//! Linux's decisions, replayed: `validation/linux/minstrel-ht.csv` has the decisions of the kernel's own code.
//!
//! The code of Linux 6.1.192 (Debian's source package) was compiled with stubs in the place of the rest of mac80211, and driven
//! through sixteen links of 500 frames. Their channels are good, walk away and come back, jump, lose 45 % of all frames to
//! collisions, or are dead for half a second. A jiffy was a millisecond, the hardware had four rates, and the random bytes of the
//! probes' order came from `SplitMix64`, from 1000 and the link's number. Modes are numbered as there: 16 for each group, and the index.

mod rules;

use super::*;
use crate::rates::{RateFormat, RateMode, Tried};
use alloc::format;
use evenair_units::Rate;

/// A link of the record: format, guard intervals, streams, greatest width.
type Link = (&'static [RateFormat], &'static [u16], u8, u16);

const LINKS: [Link; 16] = {
    use RateFormat::{Dsss, Ht, Ofdm, Vht};
    [
        (&[Ht], &[800], 1, 20),
        (&[Ht], &[800, 400], 2, 20),
        (&[Ht], &[800, 400], 2, 40),
        (&[Ht], &[800, 400], 4, 40),
        (&[Vht], &[800], 1, 80),
        (&[Vht], &[800, 400], 1, 80),
        (&[Vht], &[800, 400], 2, 80),
        (&[Vht], &[800], 3, 40),
        (&[Vht], &[800, 400], 4, 80),
        (&[Ofdm], &[800], 1, 20),
        (&[Dsss], &[800], 1, 20),
        (&[Dsss, Ofdm], &[800], 1, 20),
        (&[Vht], &[800], 1, 20),
        (&[Vht], &[800, 400], 3, 80),
        (&[Vht], &[800], 1, 80),
        (&[Ofdm], &[800], 1, 20),
    ]
};

/// Rates without aggregates [kb/s].
const DSSS: [u64; 4] = [1_000, 2_000, 5_500, 11_000];
const OFDM: [u64; 8] = [6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000];

/// The link's modes, and Linux's number of each.
fn modes((formats, guards, streams_max, width_max): Link) -> (Vec<RateMode>, Vec<u16>) {
    let (mut modes, mut numbers) = (Vec::new(), Vec::new());
    for &format in formats {
        let (rates, first): (&[u64], u16) = match format {
            RateFormat::Dsss => (&DSSS, 16),
            RateFormat::Ofdm => (&OFDM, 17),
            RateFormat::Ht => (&[0; 8], 0),
            _ => (&[0; 10], 18),
        };
        for (wide, width_mhz) in [20, 40, 80].into_iter().enumerate().filter(|(_, width)| *width <= width_max)
        {
            for &guard_ns in guards {
                for streams in 1..=streams_max {
                    for (index, kbps) in (0..).zip(rates) {
                        // VHT has no MCS 9 in 20 MHz but of three streams, and no MCS 6 of three in 80 MHz.
                        let is_uneven = matches!((width_mhz, index), (20, 9)) && streams != 3
                            || (width_mhz, index, streams) == (80, 6, 3);
                        if is_uneven {
                            continue;
                        }
                        let group = first
                            + if *kbps > 0 {
                                0
                            } else {
                                8 * wide as u16 + 4 * u16::from(guard_ns == 400) + u16::from(streams) - 1
                            };
                        let rate = Rate::from_kbps(*kbps);
                        numbers.push(group * 16 + u16::from(index));
                        modes.push(RateMode { format, index, streams, width_mhz, guard_ns, rate });
                    }
                }
            }
        }
    }
    (modes, numbers)
}

fn numbers_in(text: &str) -> Vec<u32> {
    text.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

#[test]
fn decisions_are_those_of_linux() {
    let record = include_str!("../../../../../validation/linux/minstrel-ht.csv");
    let mut lines = record.lines().skip(1).peekable();
    let (mut frames, mut probes) = (0, 0);
    for (number, link) in (1u64..).zip(LINKS) {
        let (modes, numbers) = modes(link);
        let role = RateRole { own: modes.len() as u16 - 1, modes, seed: 1000 + number };
        let mut law = MinstrelHtParams::default().begin(&role);
        let of_link = format!("{number},");
        let mut decision = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with(&of_link)) {
            let cells: Vec<&str> = line.split(',').collect();
            let now = Instant::ZERO + Duration::from_millis(cells[1].parse().unwrap());
            if !cells[6].is_empty() {
                decision = numbers_in(cells[6]);
            }
            let sorted = law.sorted().map(|mode| u32::from(numbers[usize::from(mode)]));
            assert_eq!(sorted, decision[..5], "sorted before {line}: {law:?}");
            let chain = law.on_frame(&FrameView { now, best: None });
            let probe = if chain.probe { i32::from(numbers[usize::from(chain.steps()[0].mode)]) } else { -1 };
            assert_eq!(probe, cells[2].parse::<i32>().unwrap(), "probe of {line}: {law:?}");
            for (at, step) in chain.steps().iter().enumerate().skip(usize::from(chain.probe)) {
                let place = if at == 3 { 4 } else { at };
                let is = (u32::from(numbers[usize::from(step.mode)]), u32::from(step.tries), step.announced);
                assert_eq!(is, (decision[place], decision[5 + at], at > 0), "step {at} of {line}");
            }
            let packets: u16 = cells[3].parse().unwrap();
            let mut tried = [Tried::default(); CHAIN_MAX];
            for ((tried, step), tries) in tried.iter_mut().zip(chain.steps()).zip(numbers_in(cells[4])) {
                *tried = Tried { mode: step.mode, tries: tries as u8, packets: tries * u32::from(packets) };
            }
            law.on_status(&FrameStatus { now, tried, packets, acknowledged: cells[5].parse().unwrap() });
            frames += 1;
            probes += i32::from(chain.probe);
        }
    }
    assert_eq!((frames, lines.next()), (8_000, None));
    assert!(probes > 600, "{probes}");
}

/// A mode that less than a fifth arrives in is tried twice; any other as often as the segment has room for, up to the maximum.
#[test]
fn modes_that_arrive_are_tried_up_to_the_maximum() {
    let (modes, _) = modes(LINKS[0]);
    let role = RateRole { own: modes.len() as u16 - 1, modes, seed: 1 };
    let params =
        MinstrelHtParams { tries_max: 5, segment: Duration::from_secs(1), ..MinstrelHtParams::default() };
    let mut law = params.begin(&role);
    let place = Place::new(0, 7);
    // ONE is 4096: a fifth is 819, rounded down.
    for (average, tries) in [(818, 2), (819, 5), (4096, 5)] {
        law.groups[0].stats[7].average = average;
        assert_eq!(law.tries(place, false), tries, "{average}");
    }
}
