//! How the body of a frame is modulated, and how many bits a symbol of it carries.

use evenair_units::{Duration, Rate};
use std::fmt;
use std::str::FromStr;

/// How a frame is modulated: all that its airtime depends on beside its size and the physical layer.
///
/// A DSSS or non-HT OFDM frame has one modulation and coding per rate (IEEE 802.11-2016 clauses 16.2.3.4 and 17.3.4.3), so
/// its rate names it ([`Mode::at`]). A frame of 802.11n, ac or ax is named by its [`Modulation`].
///
/// # Example
/// ```
/// use evenair_wifi::{Format, GuardInterval, Mode, Modulation, Width};
/// let fast = Modulation {
///     format: Format::Vht,
///     mcs: 9,
///     streams: 1,
///     width: Width::Mhz80,
///     guard_interval: GuardInterval::Ns800,
/// };
/// let mode = Mode::of(fast)?;
/// assert_eq!(mode.rate().as_bps(), 390_000_000); // 1560 bits in 4 µs
/// assert_eq!(mode.to_string(), "VHT MCS 9, 80 MHz, 1 stream, 800 ns");
/// assert!(Mode::of(Modulation { width: Width::Mhz20, ..fast }).is_err());
/// # Ok::<(), evenair_wifi::ForbiddenMode>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Mode(u64);

const _: () = assert!(size_of::<Mode>() <= 8);

/// Set in a mode that is a [`Modulation`], not a rate.
const MODULATED: u64 = 1 << 63;

/// The amendment that a frame's format comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// High throughput, 802.11n, in the mixed format that stations of 802.11a and g can detect (IEEE 802.11-2016 clause 19).
    Ht,
    /// Very high throughput, 802.11ac, to a single user (clause 21).
    Vht,
    /// High efficiency, 802.11ax, to a single user (IEEE 802.11ax-2021 clause 27).
    He,
}

/// The width of the channel that a frame fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// 20 MHz.
    Mhz20,
    /// 40 MHz.
    Mhz40,
    /// 80 MHz.
    Mhz80,
    /// 160 MHz.
    Mhz160,
}

/// The guard interval before each symbol of a frame's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GuardInterval {
    /// 400 ns, of HT and VHT.
    Ns400,
    /// 800 ns, of all.
    Ns800,
    /// 1600 ns, of HE.
    Ns1600,
    /// 3200 ns, of HE.
    Ns3200,
}

/// How a frame of 802.11n, ac or ax is modulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Modulation {
    /// The frame's format.
    pub format: Format,
    /// Index of modulation and coding of each stream, 0 to 7 (HT), 9 (VHT) or 11 (HE). HT's own index, 0 to 31, counts the
    /// streams too: [`Modulation::ht_index`].
    pub mcs: u8,
    /// Spatial streams, 1 to 4.
    pub streams: u8,
    /// Width of the channel.
    pub width: Width,
    /// Guard interval.
    pub guard_interval: GuardInterval,
}

/// A modulation that the standard does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForbiddenMode {
    /// The requested modulation.
    pub asked: Modulation,
}

/// A text that names no mode.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownMode {
    /// The text.
    pub text: String,
}

impl Mode {
    /// Returns the mode of DSSS or non-HT OFDM that has this rate, up to 2⁶³ − 1 bit/s.
    #[inline]
    pub const fn at(rate: Rate) -> Self {
        assert!(rate.as_bps() < MODULATED, "no rate of this world");
        Self(rate.as_bps())
    }

    /// Returns the mode of a modulation.
    ///
    /// # Errors
    /// The standard has no such combination of format, index, streams, width and guard interval.
    pub const fn of(modulation: Modulation) -> Result<Self, ForbiddenMode> {
        if !modulation.allowed() {
            return Err(ForbiddenMode { asked: modulation });
        }
        let Modulation { format, mcs, streams, width, guard_interval } = modulation;
        let packed = mcs as u64
            | (streams as u64 - 1) << 4
            | (width as u64) << 6
            | (guard_interval as u64) << 8
            | (format as u64) << 10;
        Ok(Self(MODULATED | packed))
    }

    /// Returns the modulation of a frame of 802.11n, ac or ax; none, of a mode that its rate names.
    pub const fn modulation(self) -> Option<Modulation> {
        if self.0 & MODULATED == 0 {
            return None;
        }
        Some(Modulation {
            format: Format::ALL[(self.0 >> 10 & 3) as usize],
            mcs: (self.0 & 15) as u8,
            streams: (self.0 >> 4 & 3) as u8 + 1,
            width: Width::ALL[(self.0 >> 6 & 3) as usize],
            guard_interval: GuardInterval::ALL[(self.0 >> 8 & 3) as usize],
        })
    }

    /// Returns the rate of the frame's body \[bit/s\], to the nearest: data bits of a symbol by its duration.
    #[inline]
    pub const fn rate(self) -> Rate {
        match self.modulation() {
            None => Rate::from_bps(self.0),
            Some(modulation) => modulation.rate(),
        }
    }

    /// Returns the rate that the answer's rate is chosen by, which may not be above it: the rate itself, or the non-HT
    /// reference rate of a modulation (IEEE 802.11-2016 clause 10.7.6.5.3 and table 10-7).
    #[inline]
    pub const fn reference_rate(self) -> Rate {
        match self.modulation() {
            None => Rate::from_bps(self.0),
            Some(modulation) => modulation.reference_rate(),
        }
    }
}

impl From<Rate> for Mode {
    #[inline]
    fn from(rate: Rate) -> Self {
        Self::at(rate)
    }
}

impl Modulation {
    /// Returns whether the standard has this combination.
    ///
    /// VHT leaves out combinations with bits that do not divide evenly among its encoders (IEEE 802.11-2016 clause 21.5). HT's unequal
    /// modulations and its 6 Mb/s in 40 MHz (MCS 32 to 76) are not built.
    pub const fn allowed(self) -> bool {
        let Self { format, mcs, streams, width, guard_interval } = self;
        let is_wide = matches!(width, Width::Mhz80 | Width::Mhz160);
        if streams == 0 || streams > 4 || mcs > format.mcs_max() || (matches!(format, Format::Ht) && is_wide)
        {
            return false;
        }
        let fits = match format {
            Format::Ht | Format::Vht => matches!(guard_interval, GuardInterval::Ns400 | GuardInterval::Ns800),
            Format::He => !matches!(guard_interval, GuardInterval::Ns400),
        };
        fits && !(matches!(format, Format::Vht) && is_uneven(mcs, streams, width))
    }

    /// Returns a mode with this index and width, of the fewest streams that the standard has it with, at the guard interval that all
    /// formats have; none, if it has none.
    pub fn any(format: Format, mcs: u8, width: Width) -> Option<Mode> {
        let of = |streams| Self { format, mcs, streams, width, guard_interval: GuardInterval::Ns800 };
        (1..=4).find_map(|streams| Mode::of(of(streams)).ok())
    }

    /// Returns whether receivers that tell modes by their index and width take both for one.
    pub(crate) fn is_received_as(self, other: Self) -> bool {
        (self.mcs, self.width) == (other.mcs, other.width)
    }

    /// Returns the data bits of one symbol, `N_DBPS` (clauses 19.5, 21.5; IEEE 802.11ax-2021 clause 27.5): coded bits by the
    /// code's rate, rounded down, as HE at 80 MHz and MCS 9 has 6533⅓.
    pub const fn data_bits_per_symbol(self) -> u64 {
        let (coded_bits, numerator, denominator) = CODING[self.mcs as usize];
        let coded = self.data_tones() * coded_bits * self.streams as u64;
        coded * numerator / denominator
    }

    /// Returns the duration of one symbol with its guard interval: 3.2 µs and the interval of HT and VHT, 12.8 µs and the
    /// interval of HE.
    pub const fn symbol(self) -> Duration {
        let body_ns = match self.format {
            Format::Ht | Format::Vht => 3_200,
            Format::He => 12_800,
        };
        Duration::from_nanos(body_ns + self.guard_interval.as_nanos())
    }

    /// Returns the rate \[bit/s\], to the nearest.
    pub const fn rate(self) -> Rate {
        let symbol_ns = self.symbol().as_nanos();
        Rate::from_bps((self.data_bits_per_symbol() * 1_000_000_000 + symbol_ns / 2) / symbol_ns)
    }

    /// Returns the non-HT reference rate: of OFDM's rates with this constellation, that of this coding or the fastest (IEEE
    /// 802.11-2016 table 10-7).
    pub const fn reference_rate(self) -> Rate {
        const MBPS: [u64; 12] = [6, 12, 18, 24, 36, 48, 54, 54, 54, 54, 54, 54];
        Rate::from_kbps(MBPS[self.mcs as usize] * 1_000)
    }

    /// Returns the number of binary convolutional encoders, `N_ES`, each of which adds six tail bits: one for every 320 Mb/s of
    /// HT, 540 Mb/s of VHT, at the long guard interval (clauses 19.5, 21.5); one of HE.
    pub const fn encoders(self) -> u64 {
        let bits = self.data_bits_per_symbol();
        match self.format {
            Format::Ht => bits.div_ceil(320 * 4),
            Format::Vht => bits.div_ceil(540 * 4),
            Format::He => 1,
        }
    }

    /// Returns the number of long training fields, `N_LTF`: one a stream, and four for three streams (tables 19-13, 21-13).
    pub const fn training_fields(self) -> u64 {
        match self.streams {
            1 => 1,
            2 => 2,
            _ => 4,
        }
    }

    /// Returns the index that HT's header has, which counts the streams too: 8 for each beyond the first.
    pub const fn ht_index(self) -> u8 {
        self.mcs + 8 * (self.streams - 1)
    }

    /// `N_SD`: the tones that carry data (tables 19-6, 21-5; HE's resource units of 242, 484, 996 and 2 × 996 tones less their
    /// pilots).
    const fn data_tones(self) -> u64 {
        match (self.format, self.width) {
            (Format::Ht | Format::Vht, Width::Mhz20) => 52,
            (Format::Ht | Format::Vht, Width::Mhz40) => 108,
            (Format::Ht | Format::Vht, Width::Mhz80) | (Format::He, Width::Mhz20) => 234,
            (Format::Ht | Format::Vht, Width::Mhz160) | (Format::He, Width::Mhz40) => 468,
            (Format::He, Width::Mhz80) => 980,
            (Format::He, Width::Mhz160) => 1_960,
        }
    }
}

/// Coded bits of a tone and stream, and the code's rate as a fraction, of MCS 0 to 11.
const CODING: [(u64, u64, u64); 12] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
    (10, 3, 4),
    (10, 5, 6),
];

/// The combinations of up to four streams that VHT leaves out.
const fn is_uneven(mcs: u8, streams: u8, width: Width) -> bool {
    match (width, mcs) {
        (Width::Mhz20, 9) => streams != 3,
        (Width::Mhz80, 6) | (Width::Mhz160, 9) => streams == 3,
        _ => false,
    }
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ht, Self::Vht, Self::He];

    /// Returns its short name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ht => "HT",
            Self::Vht => "VHT",
            Self::He => "HE",
        }
    }

    /// Returns the highest index of modulation and coding of a stream.
    pub const fn mcs_max(self) -> u8 {
        match self {
            Self::Ht => 7,
            Self::Vht => 9,
            Self::He => 11,
        }
    }
}

impl Width {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Mhz20, Self::Mhz40, Self::Mhz80, Self::Mhz160];

    /// Returns the width \[MHz\].
    pub const fn as_mhz(self) -> u64 {
        20 << self as u64
    }
}

impl GuardInterval {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Ns400, Self::Ns800, Self::Ns1600, Self::Ns3200];

    /// Returns the interval \[ns\].
    pub const fn as_nanos(self) -> u64 {
        400 << self as u64
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MHz", self.as_mhz())
    }
}

impl fmt::Display for GuardInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.as_nanos())
    }
}

impl fmt::Display for Modulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format, mcs, streams, width, guard_interval } = self;
        let name = format.name();
        write!(f, "{name} MCS {mcs}, {width}, {}, {guard_interval}", Streams(*streams))
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.modulation() {
            None => self.rate().fmt(f),
            Some(modulation) => modulation.fmt(f),
        }
    }
}

impl fmt::Debug for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mode({self})")
    }
}

/// A count of streams, in words.
struct Streams(u8);

impl fmt::Display for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} stream{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

impl FromStr for Mode {
    type Err = UnknownMode;

    /// Reads the text that a mode is printed as.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = modulation(text).map_or_else(|| rate(text).map(Self::at), |found| Self::of(found).ok());
        parsed.ok_or_else(|| UnknownMode { text: text.into() })
    }
}

/// `VHT MCS 9, 80 MHz, 1 stream, 800 ns`.
fn modulation(text: &str) -> Option<Modulation> {
    let mut parts = text.split(", ");
    let (format, mcs) = parts.next()?.split_once(" MCS ")?;
    let (width, streams, guard_interval) = (parts.next()?, parts.next()?, parts.next()?);
    let found = Modulation {
        format: Format::ALL.into_iter().find(|known| known.name() == format)?,
        mcs: mcs.parse().ok()?,
        streams: streams.split_once(' ')?.0.parse().ok()?,
        width: Width::ALL.into_iter().find(|known| known.to_string() == width)?,
        guard_interval: GuardInterval::ALL.into_iter().find(|known| known.to_string() == guard_interval)?,
    };
    (parts.next().is_none() && found.to_string() == text).then_some(found)
}

/// `5.5 Mbps`.
fn rate(text: &str) -> Option<Rate> {
    let (number, unit) = text.split_once(' ')?;
    let factor = [("Mbps", 1e6), ("kbps", 1e3), ("bps", 1.0)].into_iter().find(|(name, _)| *name == unit)?.1;
    let bps = number.parse::<f64>().ok()? * factor;
    // Above 2⁵³ a number with a point does not name each.
    (0.0..=9_007_199_254_740_992.0).contains(&bps).then(|| Rate::from_bps(libm::round(bps) as u64))
}

impl fmt::Display for ForbiddenMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Modulation { format, mcs, streams, width, guard_interval } = self.asked;
        let (name, last) = (format.name(), format.mcs_max());
        if !(1..=4).contains(&streams) {
            return write!(f, "there are no {}: use 1 to 4", Streams(streams));
        }
        if mcs > last {
            return write!(f, "MCS {mcs} does not exist: {name} has MCS 0 to {last} in each stream");
        }
        if format == Format::Ht && width > Width::Mhz40 {
            return write!(f, "{name} has no channels of {width}: use 20 MHz or 40 MHz");
        }
        let with = |other| Modulation { guard_interval: other, ..self.asked };
        let intervals: Vec<GuardInterval> =
            GuardInterval::ALL.into_iter().filter(|&other| with(other).allowed()).collect();
        if intervals.is_empty() {
            let others = (0..=last).filter(|&mcs| Modulation { mcs, ..self.asked }.allowed());
            let others: Vec<String> = others.map(|mcs| mcs.to_string()).collect();
            let streams = Streams(streams);
            return write!(
                f,
                "MCS {mcs} does not exist at {width} with {streams}: {name} has MCS {} there",
                others.join(", ")
            );
        }
        let list: Vec<String> = intervals.iter().map(GuardInterval::to_string).collect();
        write!(f, "{name} has no guard interval of {guard_interval}: use {}", list.join(" or "))
    }
}

impl std::error::Error for ForbiddenMode {}

impl fmt::Display for UnknownMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "'{}' is no mode: write one like '54 Mbps' or 'VHT MCS 9, 80 MHz, 1 stream, 800 ns'",
            self.text
        )
    }
}

impl std::error::Error for UnknownMode {}
