//! Durations and rates, against the standard's arithmetic and ns-3's.

use super::*;
use evenair_units::{Bytes, Duration};

#[test]
fn a_1500_byte_packet_over_802_11a() {
    // 1536 MAC bytes are 12288 bits, 12310 with SERVICE and tail: 513 symbols of 24 bits at 6 Mb/s, 57 of 216 at 54.
    let size = Bytes::new(1536);
    assert_eq!(Phy::a().airtime(size, Rate::from_kbps(6_000)), Duration::from_micros(20 + 513 * 4));
    assert_eq!(Phy::a().airtime(size, Rate::from_kbps(54_000)), Duration::from_micros(20 + 57 * 4));
    assert_eq!(Phy::g().airtime(size, Rate::from_kbps(54_000)), Duration::from_micros(20 + 57 * 4 + 6));
    // 100 bytes: 822 bits are 34.25 symbols of 24.
    assert_eq!(Phy::a().airtime(Bytes::new(100), Rate::from_kbps(6_000)), Duration::from_micros(20 + 35 * 4));
    // An acknowledgement, 134 bits: 6 symbols at 6 Mb/s, 2 at 24.
    assert_eq!(Phy::a().airtime(Bytes::new(14), Rate::from_kbps(6_000)), Duration::from_micros(44));
    assert_eq!(Phy::a().airtime(Bytes::new(14), Rate::from_kbps(24_000)), Duration::from_micros(28));
}

#[test]
fn contention_depends_on_the_kind_of_layer() {
    let layers = [PhyStandard::B, PhyStandard::A, PhyStandard::G].map(PhyStandard::layer);
    assert_eq!(layers, [PhysicalLayer::Dsss, PhysicalLayer::Ofdm, PhysicalLayer::Ofdm]);
}

#[test]
fn unknown_rates_are_named() {
    let phy = Phy::b_long();
    assert!(phy.checked(Rate::from_kbps(11_000)).is_ok());
    let error = phy.checked(Rate::from_kbps(54_000)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "54 Mbps is not a rate of this physical layer; it has 1 Mbps, 2 Mbps, 5.5 Mbps, 11 Mbps"
    );
    assert!(Phy::b(Preamble::Short).checked(Rate::from_kbps(1_000)).is_err());
    assert!(Phy::a().checked(Rate::from_kbps(54_000)).is_ok());
}

#[test]
fn a_mixed_cell_has_the_frames_of_both() {
    let (mixed, size) = (Phy::mixed(Preamble::Long), Bytes::new(1536));
    for kbps in [1_000, 2_000, 5_500, 11_000] {
        let rate = Rate::from_kbps(kbps);
        assert_eq!(mixed.airtime(size, rate), Phy::b_long().airtime(size, rate), "{kbps} kb/s");
    }
    for kbps in [6_000, 12_000, 54_000] {
        let rate = Rate::from_kbps(kbps);
        assert_eq!(mixed.airtime(size, rate), Phy::g().airtime(size, rate), "{kbps} kb/s");
    }
    assert_eq!(mixed.start_delay(), Duration::from_micros(192));
    assert!(Phy::mixed(Preamble::Short).checked(Rate::from_kbps(1_000)).is_err());
}

/// ns-3 3.44's durations, made by validation/ns3/durations.py: each with its modulation and size.
fn durations_of_ns3() -> Vec<(Modulation, Bytes, Duration)> {
    let mut lines = include_str!("../../../../validation/ns3/durations.txt").lines();
    let sizes: Vec<u32> =
        lines.next().unwrap().split(' ').skip(1).map(|size| size.parse().unwrap()).collect();
    let mut all = Vec::new();
    for line in lines {
        let (letter, numbers) = line.split_once(' ').unwrap();
        let numbers: Vec<u64> = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
        let modulation = Modulation {
            format: match letter {
                "n" => Format::Ht,
                "ac" => Format::Vht,
                _ => Format::He,
            },
            mcs: numbers[0] as u8,
            streams: numbers[1] as u8,
            width: Width::ALL.into_iter().find(|width| width.as_mhz() == numbers[2]).unwrap(),
            guard_interval: GuardInterval::ALL.into_iter().find(|gi| gi.as_nanos() == numbers[3]).unwrap(),
        };
        let rows = sizes.iter().zip(&numbers[4..]);
        all.extend(rows.map(|(&size, &ns)| (modulation, Bytes::new(size), Duration::from_nanos(ns))));
    }
    all
}

fn phy_of(format: Format) -> Phy {
    match format {
        Format::Ht => Phy::n(Band::Ghz5),
        Format::Vht => Phy::ac(),
        Format::He => Phy::ax(Band::Ghz5),
    }
}

/// With its preambles, all durations of ns-3 are ours but for nine: it does not round the 6533⅓ data bits of HE MCS 9 at 80 MHz
/// (13066⅔ at 160) down, and so has a symbol less in nine of the longest frames.
#[test]
fn durations_equal_ns3_in_its_form() {
    let all = durations_of_ns3();
    assert_eq!(all.len(), 6_984);
    let mut shorter = 0;
    for (modulation, size, theirs) in all {
        let ours = phy_of(modulation.format).ns3().airtime_of(size, modulation);
        if ours != theirs {
            assert_eq!((modulation.format, modulation.mcs), (Format::He, 9), "{modulation}, {size}");
            assert_eq!(ours - theirs, modulation.symbol(), "{modulation}, {size}");
            assert!(modulation.width >= Width::Mhz80 && size.count() == 1_048_575, "{modulation}, {size}");
            shorter += 1;
        }
    }
    assert_eq!(shorter, 9);
}

/// By the standard VHT-SIG-B takes 4 µs more (IEEE 802.11-2016 clause 21.3.8.3.6), each HE-LTF 6.4 µs and 800 ns or 12.8 and
/// 3.2 instead of 8 µs, and the short guard interval's symbols end at a multiple of 4 µs.
#[test]
fn durations_differ_from_ns3_as_stated() {
    for (modulation, size, _) in durations_of_ns3() {
        let phy = phy_of(modulation.format);
        let [standard, ns3] =
            [phy, phy.ns3()].map(|phy| phy.airtime_of(size, modulation).as_nanos().cast_signed());
        let fields = modulation.training_fields().cast_signed();
        let in_short_symbols =
            ns3 - if modulation.format == Format::Ht { 32_000 } else { 36_000 } - 4_000 * fields;
        let expected = match (modulation.format, modulation.guard_interval) {
            (Format::He, GuardInterval::Ns800) => -800 * fields,
            (Format::He, GuardInterval::Ns3200) => 8_000 * fields,
            (Format::He, _) | (Format::Ht, GuardInterval::Ns800) => 0,
            (Format::Vht, GuardInterval::Ns800) => 4_000,
            (format, _) => {
                let rest = (4_000 - (in_short_symbols + 4_000) % 4_000) % 4_000;
                rest + if format == Format::Vht { 4_000 } else { 0 }
            }
        };
        assert_eq!(standard - ns3, expected, "{modulation}, {size}");
    }
}

fn modulation(format: Format, mcs: u8, streams: u8, width: Width) -> Modulation {
    Modulation { format, mcs, streams, width, guard_interval: GuardInterval::Ns800 }
}

/// VHT at 80 MHz, MCS 9: 234 tones of 8 bits by ⅚ are 1560 bits in 4 µs. 42 subframes of 1538 bytes, padded to 1540 and with 4 of
/// delimiter, the last not padded: 64 846 bytes, (16 + 518 768 + 6)/1560 in 333 symbols after 44 µs.
#[test]
fn aggregate_of_42_packets_takes_1376_us() {
    let mode = Mode::of(modulation(Format::Vht, 9, 1, Width::Mhz80)).unwrap();
    let size = Bytes::new(42 * 1_544 - 2);
    assert_eq!(Phy::ac().preamble_time(mode), Duration::from_micros(20 + 8 + 4 + 4 + 4));
    assert_eq!(Phy::ac().airtime(size, mode), Duration::from_micros(40 + 333 * 4));
    assert_eq!(Phy::ac().ns3().airtime(size, mode), Duration::from_micros(36 + 333 * 4));
}

#[test]
fn signal_extension_follows_frames_at_2_4_ghz() {
    let mode = Mode::of(modulation(Format::Ht, 7, 1, Width::Mhz20)).unwrap();
    let [near, far] = [Band::Ghz2, Band::Ghz5].map(Phy::n);
    for mode in [mode, Mode::at(Rate::from_kbps(24_000))] {
        let longer = near.airtime(Bytes::new(1_000), mode) - far.airtime(Bytes::new(1_000), mode);
        assert_eq!(longer, Duration::from_micros(6), "{mode}");
    }
}

/// The rates of IEEE 802.11-2016 tables 19-27 to 19-41 and 21-30 to 21-61, and of 802.11ax-2021 clause 27.5, as they print them.
#[test]
fn rates_are_the_standards() {
    let rate = |format, mcs, streams, width| modulation(format, mcs, streams, width).rate().as_bps();
    let ht20_kbps = [6_500, 13_000, 19_500, 26_000, 39_000, 52_000, 58_500, 65_000];
    for (mcs, kbps) in ht20_kbps.into_iter().enumerate() {
        assert_eq!(rate(Format::Ht, mcs as u8, 1, Width::Mhz20), kbps * 1_000, "MCS {mcs}");
    }
    assert_eq!(rate(Format::Ht, 7, 4, Width::Mhz40), 540_000_000);
    let vht80_kbps = [29_250, 58_500, 87_750, 117_000, 175_500, 234_000, 263_250, 292_500, 351_000, 390_000];
    for (mcs, kbps) in vht80_kbps.into_iter().enumerate() {
        assert_eq!(rate(Format::Vht, mcs as u8, 1, Width::Mhz80), kbps * 1_000, "MCS {mcs}");
    }
    // 980 tones of 10 bits by ⅚ are 8166⅔ bits, of which 8166 count: 600.4 Mb/s in 13.6 µs, where some tables print 600.5.
    let he80_tenths = [360, 721, 1_081, 1_441, 2_162, 2_882, 3_243, 3_603, 4_324, 4_804, 5_404, 6_004];
    for (mcs, tenths) in he80_tenths.into_iter().enumerate() {
        let printed = (rate(Format::He, mcs as u8, 1, Width::Mhz80) + 50_000) / 100_000;
        assert_eq!(printed, tenths, "MCS {mcs}");
    }
}

#[test]
fn modulations_that_the_standard_lacks_are_named() {
    let refused = |format, mcs, streams, width| {
        Mode::of(modulation(format, mcs, streams, width)).unwrap_err().to_string()
    };
    assert_eq!(
        refused(Format::Vht, 9, 1, Width::Mhz20),
        "MCS 9 does not exist at 20 MHz with 1 stream: VHT has MCS 0, 1, 2, 3, 4, 5, 6, 7, 8 there"
    );
    assert_eq!(
        refused(Format::Vht, 6, 3, Width::Mhz80),
        "MCS 6 does not exist at 80 MHz with 3 streams: VHT has MCS 0, 1, 2, 3, 4, 5, 7, 8, 9 there"
    );
    assert!(refused(Format::Vht, 9, 3, Width::Mhz160).starts_with("MCS 9 does not exist at 160 MHz"));
    assert_eq!(
        refused(Format::Ht, 8, 1, Width::Mhz20),
        "MCS 8 does not exist: HT has MCS 0 to 7 in each stream"
    );
    assert_eq!(refused(Format::Ht, 0, 1, Width::Mhz80), "HT has no channels of 80 MHz: use 20 MHz or 40 MHz");
    assert_eq!(refused(Format::He, 0, 5, Width::Mhz80), "there are no 5 streams: use 1 to 4");
    let long =
        Modulation { guard_interval: GuardInterval::Ns1600, ..modulation(Format::Ht, 0, 1, Width::Mhz40) };
    assert_eq!(
        Mode::of(long).unwrap_err().to_string(),
        "HT has no guard interval of 1600 ns: use 400 ns or 800 ns",
        "40 MHz is a channel of 802.11n (clause 19.3.2)"
    );
    let short =
        Modulation { guard_interval: GuardInterval::Ns400, ..modulation(Format::He, 0, 1, Width::Mhz20) };
    assert_eq!(
        Mode::of(short).unwrap_err().to_string(),
        "HE has no guard interval of 400 ns: use 800 ns or 1600 ns or 3200 ns"
    );
}

/// All modulations, those that do not exist too.
fn every_modulation() -> impl Iterator<Item = Modulation> {
    Format::ALL.into_iter().flat_map(|format| {
        (0..16).flat_map(move |mcs| {
            (0..6).flat_map(move |streams| {
                Width::ALL.into_iter().flat_map(move |width| {
                    GuardInterval::ALL.map(|guard_interval| Modulation {
                        format,
                        mcs,
                        streams,
                        width,
                        guard_interval,
                    })
                })
            })
        })
    })
}

#[test]
fn modes_keep_their_modulation_and_text() {
    let mut count = 0;
    for modulation in every_modulation() {
        let Ok(mode) = Mode::of(modulation) else {
            assert!(modulation.to_string().parse::<Mode>().is_err(), "{modulation}");
            continue;
        };
        assert_eq!(mode.modulation(), Some(modulation));
        assert_eq!(mode.to_string().parse(), Ok(mode));
        count += 1;
    }
    // HT 8 MCS, 2 widths, 2 intervals; VHT 10, 4, 2 without 3 + 1 + 1 combinations; HE 12, 4, 3; four counts of streams.
    assert_eq!(count, 4 * 8 * 2 * 2 + (4 * 10 * 4 - 5) * 2 + 4 * 12 * 4 * 3);
    for text in
        ["", "54", "54 mps", "-1 Mbps", "VHT MCS 9, 80 MHz, 1 stream", "VHT MCS 9, 80 MHz, 1 streams, 800 ns"]
    {
        assert!(text.parse::<Mode>().is_err(), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn modes_of_a_rate_keep_their_text(bps in 0u64..1 << 50) {
        let mode = Mode::at(Rate::from_bps(bps));
        proptest::prop_assert_eq!(mode.rate().as_bps(), bps);
        proptest::prop_assert_eq!(mode.to_string().parse(), Ok(mode));
    }
}
