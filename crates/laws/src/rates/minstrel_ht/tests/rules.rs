//! Linux's rules at their edges, which its record meets seldom. Line by line they are those of `rc80211_minstrel_ht.c`: where it has `>`,
//! an equal value does not do.

use super::*;
use alloc::vec;

const HT: &[RateFormat] = &[RateFormat::Ht];

/// A law in which these modes, by group and index, have these averages, and no other mode has one. Frames have one packet.
fn law(link: Link, params: MinstrelHtParams, averages: &[(usize, usize, u32)]) -> (MinstrelHt, Vec<u16>) {
    let (modes, numbers) = modes(link);
    let role = RateRole { own: modes.len() as u16 - 1, modes, seed: 1 };
    let mut law = params.begin(&role);
    for stats in law.groups.iter_mut().flat_map(|group| &mut group.stats) {
        (stats.is_known, stats.average) = (true, 0);
    }
    for &(group, index, average) in averages {
        law.groups[group].stats[index].average = average as u16;
    }
    law.sort(Instant::ZERO);
    (law, numbers)
}

/// The modes as they are sorted, in Linux's numbers: 16 for each group, and the index.
fn sorted(link: Link, averages: &[(usize, usize, u32)]) -> [u16; 5] {
    let (law, numbers) = law(link, MinstrelHtParams::default(), averages);
    law.sorted().map(|mode| numbers[usize::from(mode)])
}

/// One stream: MCS 7 to 4 have less than three quarters, so that MCS 0 with all of it is the most robust.
const FIVE: [(usize, usize, u32); 5] = [(0, 7, 3000), (0, 6, 2600), (0, 5, 2200), (0, 4, 1800), (0, 0, 4096)];

/// `minstrel_ht_update_rates`: the best modes in order, and the most robust in the last place, if it is not the only one.
#[test]
fn chain_ends_with_the_most_robust_mode() {
    for (steps, modes) in [(1, vec![7]), (2, vec![7, 0]), (3, vec![7, 6, 0]), (4, vec![7, 6, 5, 0])] {
        for rts in [true, false] {
            let params = MinstrelHtParams { steps, rts, ..MinstrelHtParams::default() };
            let (law, _) = law(LINKS[0], params, &FIVE);
            let chain = law.chain_now();
            assert_eq!(chain.steps().iter().map(|step| step.mode).collect::<Vec<_>>(), modes);
            for (at, step) in chain.steps().iter().enumerate() {
                assert_eq!(step.announced, at > 0 && rts, "step {at} of {steps}, {rts}");
            }
        }
    }
}

/// `minstrel_calc_retransmit`: a frame at MCS 0 takes 108 + 1476 us and its contention 67, 139 and 283 us: three tries 5241 us. RTS and
/// CTS are 120 us more for each, 5601 us.
#[test]
fn tries_count_rts_only_where_it_is_sent() {
    for (rts, tries) in [(true, 2), (false, 3)] {
        let segment = Duration::from_micros(5_400);
        let params = MinstrelHtParams { steps: 2, rts, segment, ..MinstrelHtParams::default() };
        let (law, _) = law(LINKS[0], params, &FIVE);
        assert_eq!(law.chain_now().steps()[1].tries, tries, "{rts}");
    }
}

/// `minstrel_filter_avg_add`: 1173 + 5273 - 2 * 2350 is less than 4096, a zero that stays one; with one more 2350 it is negative, and one.
#[test]
fn a_filtered_zero_stays_zero() {
    for (before, after) in [(1, 1), (2, 0), (3, 1)] {
        let mut stats =
            groups::Stats { attempts: 9, average: 1, average_before: before, ..Default::default() };
        stats.close();
        assert_eq!((stats.average, stats.average_before), (after, 1), "{before}");
    }
}

/// A tenth is 409 of 4096, rounded down; a mode with less has no throughput, and no place among the best.
#[test]
fn modes_below_a_tenth_are_not_sorted() {
    assert_eq!(sorted(LINKS[0], &[(0, 7, 409)])[0], 7);
    assert_eq!(sorted(LINKS[0], &[(0, 7, 408)])[0], 0);
}

/// `minstrel_ht_set_best_prob_rate`: three quarters are 3072. Throughput counts above them, else probability; equals change nothing.
#[test]
fn robust_modes_have_more_than_three_quarters() {
    assert_eq!(sorted(LINKS[0], &[(0, 0, 3500), (0, 1, 3072)])[4], 0);
    assert_eq!(sorted(LINKS[0], &[(0, 0, 3500), (0, 1, 3073)])[4], 1);
    assert_eq!(sorted(LINKS[0], &[(0, 0, 2000), (0, 1, 2000)])[4], 0);
    // 13 Mb/s of one stream and of two; nine tenths, 3686, count at most.
    let pair: Link = (HT, &[800], 2, 20);
    assert_eq!(sorted(pair, &[(0, 1, 4000), (1, 0, 3900)])[4], 1);
}

/// A mode as fast as the best is not skipped, though it is less probable; a faster one, if it is as probable.
#[test]
fn vain_modes_are_faster_and_less_probable() {
    // 13 Mb/s of two streams are best; those of one stream take the place of the most robust.
    assert_eq!(sorted((HT, &[800], 2, 20), &[(1, 0, 3600), (0, 1, 3200)]), [16, 1, 0, 0, 1]);
    // Two streams of 20 MHz, 26 Mb/s, and one of 40 MHz, 27 Mb/s, deliver 22 packets in ten seconds each with a probability of 415.
    assert_eq!(sorted((HT, &[800], 2, 40), &[(1, 1, 415), (2, 1, 415)]), [17, 8 * 16 + 1, 0, 0, 8 * 16 + 1]);
}

/// `minstrel_ht_prob_rate_reduce_streams`: of groups with fewer streams than the best the first of equals.
#[test]
fn fewer_streams_take_the_first_of_equals() {
    let three: Link = (HT, &[800], 3, 20);
    assert_eq!(sorted(three, &[(2, 7, 4000), (0, 1, 4000), (1, 0, 4000)])[4], 1);
    assert_eq!(sorted(three, &[(2, 7, 4000), (2, 0, 4096)])[4], 2 * 16 + 7, "no other delivers");
}

/// Hardware with one rate keeps its mode until the next interval; with more, the best mode leaves its streams after 31 packets of which
/// fewer than 31 / 4 = 7 arrived.
#[test]
fn sudden_death_needs_a_second_step() {
    let link: Link = (HT, &[800], 2, 20);
    for (steps, packets, acknowledged, best) in
        [(1, 31, 0, 23), (2, 30, 0, 23), (2, 31, 7, 23), (2, 31, 6, 7), (2, 31, 0, 7)]
    {
        let params = MinstrelHtParams { steps, probes: false, ..MinstrelHtParams::default() };
        let (mut law, numbers) = law(link, params, &[(1, 7, 4000), (0, 7, 3000)]);
        law.chain = law.chain_now();
        let now = Instant::ZERO + Duration::from_millis(1);
        let mut tried = [Tried::default(); CHAIN_MAX];
        tried[0] = Tried { mode: law.chain.steps()[0].mode, tries: 1, packets };
        law.on_status(&FrameStatus { now, tried, packets: packets as u16, acknowledged });
        let mode = law.on_frame(&FrameView { now: Instant::ZERO, best: None }).steps()[0].mode;
        assert_eq!(numbers[usize::from(mode)], best, "{steps} steps, {acknowledged} of {packets}");
    }
}
