//! The radiotap header of a frame: how it was modulated, and whether it was decoded (radiotap.org).

use evenair_wifi::{Band, Format, FrameRecord, GuardInterval, MacTiming, Modulation, Width};

pub(super) const FLAG_BAD_FCS: u8 = 0x40;
const TSFT: u32 = 1 << 0;
const FLAG_FCS_AT_END: u8 = 0x10;
const CHANNEL_2_4_GHZ: u16 = 0x0080;
/// Linux has it at 6 GHz too.
const CHANNEL_5_GHZ: u16 = 0x0100;
const CHANNEL_CCK: u16 = 0x0020;
const CHANNEL_OFDM: u16 = 0x0040;
const FLAGS: u32 = 1 << 1;
const RATE: u32 = 1 << 2;
const CHANNEL: u32 = 1 << 3;
const ANTENNA: u32 = 1 << 11;
const MCS: u32 = 1 << 19;
const A_MPDU_STATUS: u32 = 1 << 20;
const VHT: u32 = 1 << 21;
const HE: u32 = 1 << 23;

/// Where the flags are in a header: after version, length and presence, and after the time if it has that.
pub(super) const fn flags_at(header: &[u8]) -> usize {
    8 + if header[4] as u32 & TSFT > 0 { 8 } else { 0 }
}

/// Flags, rate and channel, and the antenna. A frame of 802.11n, ac or ax has its own field instead of the rate. An aggregate's
/// packet has the aggregate's number and beginning, by which Wireshark adds up its duration. The time is aligned to eight bytes,
/// channel and fields of VHT and HE to two, the aggregate's to four.
pub(super) fn header(timing: &MacTiming, frame: &FrameRecord) -> Vec<u8> {
    let (mode, decoded) = (frame.mode, frame.decoded);
    let aggregate = frame.part.filter(|part| part.of > 1);
    let own = mode.modulation().map(field);
    let (bit, own) = own.unwrap_or((RATE, Vec::new()));
    let mut out = vec![0, 0, 0, 0];
    let of_aggregate = if aggregate.is_some() { A_MPDU_STATUS | TSFT } else { 0 };
    out.extend((FLAGS | CHANNEL | ANTENNA | bit | of_aggregate).to_le_bytes());
    if aggregate.is_some() {
        out.extend((frame.start.as_nanos() / 1_000).to_le_bytes());
    }
    out.push(if decoded { FLAG_FCS_AT_END } else { FLAG_FCS_AT_END | FLAG_BAD_FCS });
    let is_rate = bit == RATE;
    out.push(if is_rate { (mode.rate().as_bps() / 500_000) as u8 } else { 0 });
    let (frequency, band): (u16, u16) = match timing.phy.band {
        Band::Ghz2 => (2412, CHANNEL_2_4_GHZ),
        Band::Ghz5 => (5180, CHANNEL_5_GHZ),
        Band::Ghz6 => (5955, CHANNEL_5_GHZ),
    };
    let band = band | if is_rate && timing.phy.is_dsss(mode.rate()) { CHANNEL_CCK } else { CHANNEL_OFDM };
    out.extend(frequency.to_le_bytes());
    out.extend(band.to_le_bytes());
    out.push(0);
    if bit == MCS {
        out.extend(&own);
    }
    if let Some(part) = aggregate {
        align(&mut out, 4);
        out.extend(a_mpdu_status(part.frame, part.index + 1 == part.of));
    }
    if bit & (VHT | HE) != 0 {
        align(&mut out, 2);
        out.extend(own);
    }
    let length = out.len() as u16;
    out[2..4].copy_from_slice(&length.to_le_bytes());
    out
}

fn align(out: &mut Vec<u8>, bytes: usize) {
    out.resize(out.len().next_multiple_of(bytes), 0);
}

/// The number of an aggregate, and that it is known which packet of it is the last; no checksum of the delimiter.
fn a_mpdu_status(number: u32, is_last: bool) -> Vec<u8> {
    const LAST_KNOWN: u16 = 0x0004;
    const IS_LAST: u16 = 0x0008;
    let flags = LAST_KNOWN | if is_last { IS_LAST } else { 0 };
    let mut field = number.to_le_bytes().to_vec();
    field.extend(flags.to_le_bytes());
    field.extend([0, 0]);
    field
}

/// The field of a modulation, and its bit.
fn field(modulation: Modulation) -> (u32, Vec<u8>) {
    match modulation.format {
        Format::Ht => (MCS, ht(modulation)),
        Format::Vht => (VHT, vht(modulation)),
        Format::He => (HE, he(modulation)),
    }
}

/// Known are width, index, guard interval, format (mixed), coding (convolutional) and STBC (none).
fn ht(modulation: Modulation) -> Vec<u8> {
    let width = u8::from(modulation.width == Width::Mhz40);
    let short = if modulation.guard_interval == GuardInterval::Ns400 { 0x04 } else { 0 };
    vec![0x3f, width | short, modulation.ht_index()]
}

/// Known are STBC (none), guard interval and width; one user, convolutional coding.
fn vht(modulation: Modulation) -> Vec<u8> {
    let known: u16 = 0x0001 | 0x0004 | 0x0040;
    let short = if modulation.guard_interval == GuardInterval::Ns400 { 0x04 } else { 0 };
    let width = match modulation.width {
        Width::Mhz20 => 0,
        Width::Mhz40 => 1,
        Width::Mhz80 => 4,
        Width::Mhz160 => 11,
    };
    let [low, high] = known.to_le_bytes();
    vec![low, high, short, width, modulation.mcs << 4 | modulation.streams, 0, 0, 0, 0, 0, 0, 0]
}

/// Known are format (to a single user), index, DCM (none), coding (convolutional), STBC (none), width, guard interval and the
/// number of long training fields, of two or four times 3.2 µs.
fn he(modulation: Modulation) -> Vec<u8> {
    let known: u16 = 0x0020 | 0x0040 | 0x0080 | 0x0200 | 0x4000;
    let known_too: u16 = 0x0002 | 0x0004;
    let index = u16::from(modulation.mcs) << 8;
    let width = modulation.width as u16;
    let (interval, size): (u16, u16) = match modulation.guard_interval {
        GuardInterval::Ns400 | GuardInterval::Ns800 => (0, 2),
        GuardInterval::Ns1600 => (1, 2),
        GuardInterval::Ns3200 => (2, 3),
    };
    let count = (modulation.training_fields() / 2) as u16;
    let of_symbols = width | interval << 4 | size << 6 | count << 8;
    let words = [known, known_too, index, 0, of_symbols, u16::from(modulation.streams)];
    words.into_iter().flat_map(u16::to_le_bytes).collect()
}
