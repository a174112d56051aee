//! Physical layers: which rates there are (`mode` has those of 802.11n, ac and ax), and how long a frame is on the air
//! (`airtime`).

mod airtime;
mod mode;
#[cfg(test)]
mod tests;

use evenair_laws::backoff::PhysicalLayer;
use evenair_units::Rate;
pub use mode::{ForbiddenMode, Format, GuardInterval, Mode, Modulation, UnknownMode, Width};
use std::fmt;

/// Which physical layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PhyStandard {
    /// 802.11b, DSSS and HR/DSSS: 1, 2, 5.5 and 11 Mb/s (IEEE 802.11-2016 clauses 15 and 16).
    B,
    /// 802.11a, OFDM at 5 GHz, 20 MHz wide: 6 to 54 Mb/s (clause 17).
    A,
    /// 802.11g without stations of 802.11b: OFDM at 2.4 GHz, short slots (clause 18).
    G,
    /// 802.11g beside stations of 802.11b: OFDM and DSSS at 2.4 GHz, long slots (clause 18).
    Mixed,
    /// 802.11n, high throughput (clause 19).
    N,
    /// 802.11ac, very high throughput (clause 21).
    Ac,
    /// 802.11ax, high efficiency (IEEE 802.11ax-2021 clause 27).
    Ax,
}

/// The band of frequencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Band {
    /// 2.4 GHz.
    Ghz2,
    /// 5 GHz.
    Ghz5,
    /// 6 GHz.
    Ghz6,
}

impl PhyStandard {
    /// The kind of layer that contention depends on.
    pub const fn layer(self) -> PhysicalLayer {
        match self {
            Self::B => PhysicalLayer::Dsss,
            Self::A | Self::G | Self::Mixed => PhysicalLayer::Ofdm,
            Self::N | Self::Ac | Self::Ax => PhysicalLayer::HighThroughput,
        }
    }

    /// Returns the format of this layer's own frames; none, where their rate names them.
    pub const fn format(self) -> Option<Format> {
        match self {
            Self::B | Self::A | Self::G | Self::Mixed => None,
            Self::N => Some(Format::Ht),
            Self::Ac => Some(Format::Vht),
            Self::Ax => Some(Format::He),
        }
    }
}

/// The preamble of 802.11b.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preamble {
    /// 144 µs of preamble and 48 µs of header.
    Long,
    /// 72 µs and 24 µs; not for 1 Mb/s.
    Short,
}

impl Preamble {
    /// Returns the duration of preamble and header \[ns\].
    const fn as_nanos(self) -> u64 {
        match self {
            Self::Long => 144_000 + 48_000,
            Self::Short => 72_000 + 24_000,
        }
    }
}

/// How a frame's duration is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Phy {
    /// Which physical layer.
    pub standard: PhyStandard,
    /// In which band.
    pub band: Band,
    /// Which preamble, of DSSS only.
    pub preamble: Preamble,
    /// Round the payload up to whole microseconds, as the standard does for 802.11b and ns-2 does not.
    pub whole_micros: bool,
    /// Durations of HT, VHT and HE frames as ns-3 3.44 has them: no VHT-SIG-B, each HE-LTF 8 µs, and symbols with the short guard
    /// interval not rounded up to whole 4 µs.
    pub as_ns3: bool,
}

/// A rate that the physical layer does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnsupportedRate {
    /// The rate that was asked for.
    pub rate: Rate,
    /// The rates that there are.
    pub allowed: &'static [Rate],
}

impl fmt::Display for UnsupportedRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not a rate of this physical layer; it has ", self.rate)?;
        for (i, rate) in self.allowed.iter().enumerate() {
            write!(f, "{}{rate}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl std::error::Error for UnsupportedRate {}

const fn rates<const N: usize>(kbps: [u64; N]) -> [Rate; N] {
    let mut rates = [Rate::from_bps(0); N];
    let mut i = 0;
    while i < N {
        rates[i] = Rate::from_kbps(kbps[i]);
        i += 1;
    }
    rates
}

const B_RATES: [Rate; 4] = rates([1_000, 2_000, 5_500, 11_000]);
/// Those of [`PhyStandard::Mixed`], DSSS first: no rate is both.
const MIXED_RATES: [Rate; 12] =
    rates([1_000, 2_000, 5_500, 11_000, 6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000]);
const OFDM_RATES: [Rate; 8] = rates([6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000]);
/// The rates that every OFDM station must have (clause 17.2.3.4), and answers with.
const OFDM_MANDATORY: [Rate; 3] = rates([6_000, 12_000, 24_000]);

impl Phy {
    const fn new(standard: PhyStandard, band: Band, preamble: Preamble) -> Self {
        Self { standard, band, preamble, whole_micros: true, as_ns3: false }
    }

    /// 802.11b, by the standard.
    pub const fn b(preamble: Preamble) -> Self {
        Self::new(PhyStandard::B, Band::Ghz2, preamble)
    }

    /// 802.11b with long preambles.
    pub const fn b_long() -> Self {
        Self::b(Preamble::Long)
    }

    /// 802.11a.
    pub const fn a() -> Self {
        Self::new(PhyStandard::A, Band::Ghz5, Preamble::Long)
    }

    /// 802.11g without stations of 802.11b.
    pub const fn g() -> Self {
        Self::new(PhyStandard::G, Band::Ghz2, Preamble::Long)
    }

    /// 802.11g beside stations of 802.11b.
    pub const fn mixed(preamble: Preamble) -> Self {
        Self::new(PhyStandard::Mixed, Band::Ghz2, preamble)
    }

    /// 802.11n, at 2.4 or 5 GHz, without stations of 802.11b.
    pub const fn n(band: Band) -> Self {
        Self::new(PhyStandard::N, band, Preamble::Long)
    }

    /// 802.11ac, at 5 GHz.
    pub const fn ac() -> Self {
        Self::new(PhyStandard::Ac, Band::Ghz5, Preamble::Long)
    }

    /// 802.11ax, without stations of 802.11b.
    pub const fn ax(band: Band) -> Self {
        Self::new(PhyStandard::Ax, band, Preamble::Long)
    }

    /// With the durations of HT, VHT and HE frames that ns-3 3.44 has.
    #[must_use]
    pub const fn ns3(self) -> Self {
        Self { as_ns3: true, ..self }
    }

    /// The physical layer of the stations of 802.11b in this one.
    pub const fn of_b(self) -> Self {
        Self { standard: PhyStandard::B, ..self }
    }

    /// Returns the mode that stands for all of the layer's own format, which are received alike; none, where rates name modes.
    pub(crate) fn own_mode(self) -> Option<Mode> {
        let format = self.standard.format()?;
        let (width, guard_interval) = (Width::Mhz20, GuardInterval::Ns800);
        Mode::of(Modulation { format, mcs: 0, streams: 1, width, guard_interval }).ok()
    }

    /// The rates of this physical layer with this preamble; of 802.11n, ac and ax those of their non-HT frames.
    pub fn rates(&self) -> &'static [Rate] {
        match (self.standard, self.preamble) {
            (PhyStandard::B, Preamble::Long) => &B_RATES,
            (PhyStandard::B, Preamble::Short) => &B_RATES[1..],
            (PhyStandard::A | PhyStandard::G | PhyStandard::N | PhyStandard::Ac | PhyStandard::Ax, _) => {
                &OFDM_RATES
            }
            (PhyStandard::Mixed, Preamble::Long) => &MIXED_RATES,
            (PhyStandard::Mixed, Preamble::Short) => &MIXED_RATES[1..],
        }
    }

    /// Whether a frame of this rate is DSSS, which every station of 802.11b and 802.11g decodes; OFDM, if it is not.
    pub const fn is_dsss(&self, rate: Rate) -> bool {
        match self.standard {
            PhyStandard::B => true,
            PhyStandard::A | PhyStandard::G | PhyStandard::N | PhyStandard::Ac | PhyStandard::Ax => false,
            PhyStandard::Mixed => matches!(rate.as_bps(), 1_000_000 | 2_000_000 | 5_500_000 | 11_000_000),
        }
    }

    /// The mandatory rates of the modulation that a frame of this rate has: control frames may use them unless the scenario
    /// says otherwise.
    pub fn mandatory(&self, rate: Rate) -> &'static [Rate] {
        match (self.is_dsss(rate), self.preamble) {
            (true, Preamble::Long) => &B_RATES[..2],
            (true, Preamble::Short) => &B_RATES[1..2],
            (false, _) => &OFDM_MANDATORY,
        }
    }

    /// Accepts a rate of this physical layer.
    ///
    /// # Errors
    /// Lists the rates that there are. Short preambles exclude 1 Mb/s (IEEE 802.11-2016 clause 16.2.2.3).
    pub fn checked(&self, rate: Rate) -> Result<Rate, UnsupportedRate> {
        let allowed = self.rates();
        if allowed.contains(&rate) { Ok(rate) } else { Err(UnsupportedRate { rate, allowed }) }
    }
}
