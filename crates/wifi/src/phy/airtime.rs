//! How long a frame is on the air.

use super::{Band, Format, GuardInterval, Mode, Modulation, Phy};
use evenair_units::{Bytes, Duration, Rate};

/// One OFDM symbol of 802.11a and g, of the fields before an HT, VHT or HE body, and of a body with the long guard interval of
/// HT and VHT (IEEE 802.11-2016 tables 17-5, 19-6, 21-5).
const SYMBOL_NS: u64 = 4_000;
/// The SERVICE field before the payload (clause 17.3.5.2).
const SERVICE_BITS: u64 = 16;
/// Tail bits of an encoder after the payload (clause 17.3.5.3).
const TAIL_BITS: u64 = 6;
/// The non-HT part of an OFDM preamble: training symbols 16 µs, SIGNAL 4 µs (clause 17.4.3).
const LEGACY_PREAMBLE_NS: u64 = 16_000 + 4_000;
/// Silence after an OFDM frame at 2.4 GHz, in which its receiver decodes (clause 18.3.2.4).
const SIGNAL_EXTENSION_NS: u64 = 6_000;

impl Phy {
    /// Returns the airtime of a frame of `size` bytes of its MAC (PSDU): header and checksum, and of an aggregate all its parts.
    ///
    /// | frame | duration | source |
    /// |---|---|---|
    /// | DSSS | preamble + header + ⌈8·LENGTH / RATE⌉ | IEEE 802.11-2016 clause 16.3.4 |
    /// | OFDM | 20 µs + 4 µs·⌈(16 + 8·LENGTH + 6) / `N_DBPS`⌉ | clause 17.4.3 |
    /// | HT, VHT, HE | preamble + `T_SYM`·⌈(16 + 8·LENGTH + 6·`N_ES`) / `N_DBPS`⌉ | clauses 19.4.3, 21.4.3; 802.11ax-2021 clause 27.4.3 |
    ///
    /// The short guard interval's symbols of HT and VHT are rounded up to whole 4 µs; 6 µs of signal extension follow each
    /// OFDM frame at 2.4 GHz. HE has the tail of a convolutional code and no packet extension, as in ns-3.
    #[inline]
    pub fn airtime(&self, size: Bytes, mode: impl Into<Mode>) -> Duration {
        let mode = mode.into();
        match mode.modulation() {
            None => self.airtime_at(size, mode.rate()),
            Some(modulation) => self.airtime_of(size, modulation),
        }
    }

    /// The same of a frame that its rate names.
    pub(crate) const fn airtime_at(self, size: Bytes, rate: Rate) -> Duration {
        let payload_ns = if self.is_dsss(rate) {
            let payload = if self.whole_micros { rate.whole_micros_for(size) } else { rate.time_for(size) };
            payload.as_nanos()
        } else {
            let bits_per_symbol = rate.as_bps() * SYMBOL_NS / 1_000_000_000;
            let symbols = (size.bits() + SERVICE_BITS + TAIL_BITS).div_ceil(bits_per_symbol);
            symbols * SYMBOL_NS
        };
        let extension_ns = if self.is_dsss(rate) { 0 } else { self.extension_ns() };
        Duration::from_nanos(self.preamble_at(rate).as_nanos() + payload_ns + extension_ns)
    }

    /// The same of a frame of 802.11n, ac or ax.
    pub(super) const fn airtime_of(self, size: Bytes, modulation: Modulation) -> Duration {
        let bits = SERVICE_BITS + size.bits() + TAIL_BITS * modulation.encoders();
        let body_ns = bits.div_ceil(modulation.data_bits_per_symbol()) * modulation.symbol().as_nanos();
        let body_ns = match modulation.guard_interval {
            GuardInterval::Ns400 if !self.as_ns3 => body_ns.next_multiple_of(SYMBOL_NS),
            _ => body_ns,
        };
        Duration::from_nanos(self.preamble_of(modulation).as_nanos() + body_ns + self.extension_ns())
    }

    /// Returns the time from a frame's first energy to the first bit of its body, at which its receiver knows that it has begun
    /// (aRxPHYStartDelay, IEEE 802.11-2016 clauses 15.3.3, 16.3.4, 17.4.4).
    #[inline]
    pub fn preamble_time(&self, mode: impl Into<Mode>) -> Duration {
        let mode = mode.into();
        match mode.modulation() {
            None => self.preamble_at(mode.rate()),
            Some(modulation) => self.preamble_of(modulation),
        }
    }

    /// The same of a frame that its rate names.
    pub(crate) const fn preamble_at(self, rate: Rate) -> Duration {
        Duration::from_nanos(if self.is_dsss(rate) { self.preamble.as_nanos() } else { LEGACY_PREAMBLE_NS })
    }

    /// The same of a frame of 802.11n, ac or ax: the non-HT preamble, SIG fields, a short training field of 4 µs, and a long
    /// one for each stream, or four for three.
    const fn preamble_of(self, modulation: Modulation) -> Duration {
        let fields = modulation.training_fields();
        let own_ns = match modulation.format {
            // HT-SIG, HT-STF, HT-LTFs (clause 19.3.9.4).
            Format::Ht => 8_000 + 4_000 + 4_000 * fields,
            // VHT-SIG-A, VHT-STF, VHT-LTFs, VHT-SIG-B (clause 21.3.8.3), which ns-3 leaves out.
            Format::Vht => 8_000 + 4_000 + 4_000 * fields + if self.as_ns3 { 0 } else { 4_000 },
            // RL-SIG, HE-SIG-A, HE-STF, HE-LTFs (802.11ax-2021 clause 27.3.11).
            Format::He => 4_000 + 8_000 + 4_000 + self.he_training_ns(modulation.guard_interval) * fields,
        };
        Duration::from_nanos(LEGACY_PREAMBLE_NS + own_ns)
    }

    /// One HE-LTF: with a guard interval of 800 or 1600 ns 6.4 µs and the interval (2x HE-LTF), with 3200 ns 12.8 µs and the
    /// interval (4x HE-LTF), which every station supports (802.11ax-2021 clause 27.1.1). ns-3 has 8 µs throughout.
    const fn he_training_ns(self, guard_interval: GuardInterval) -> u64 {
        match guard_interval {
            _ if self.as_ns3 => 8_000,
            GuardInterval::Ns3200 => 12_800 + 3_200,
            shorter => 6_400 + shorter.as_nanos(),
        }
    }

    const fn extension_ns(self) -> u64 {
        match self.band {
            Band::Ghz2 => SIGNAL_EXTENSION_NS,
            Band::Ghz5 | Band::Ghz6 => 0,
        }
    }

    /// Returns the longest of the preambles of frames that a rate names.
    pub fn start_delay(&self) -> Duration {
        self.preamble_at(self.rates()[0])
    }
}

impl Format {
    /// Returns the longest time that a frame of this format may be on the air, aPPDUMaxTime: 5.484 ms (IEEE 802.11-2016 tables
    /// 19-25, 21-29; 802.11ax-2021 table 27-54), in the mixed format of HT.
    pub const fn longest_frame(self) -> Duration {
        Duration::from_micros(5_484)
    }

    /// Returns the longest aggregate of this format, aPSDUMaxLength \[bytes\]: 65 535 of HT, 1 048 575 of VHT, 6 500 631 of HE
    /// (the same tables; VHT's A-MPDU by clause 9.4.2.158.2).
    pub const fn longest_aggregate(self) -> Bytes {
        match self {
            Self::Ht => Bytes::new(65_535),
            Self::Vht => Bytes::new(1_048_575),
            Self::He => Bytes::new(6_500_631),
        }
    }
}
