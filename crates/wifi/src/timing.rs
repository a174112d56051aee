//! Every microsecond of a frame exchange: slots, inter-frame spaces, airtimes, time-outs.

use crate::phy::{Band, Format, Mode, Phy, PhyStandard, Preamble};
use crate::timeline::FrameKind;
use evenair_units::{Bytes, Duration, Rate};

/// The rate of control frames (IEEE 802.11-2016 clause 10.7.6.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlRate {
    /// The only one in the set of basic rates; a DATA frame that is slower, or of another modulation, is answered as by
    /// [`Mandatory`](Self::Mandatory).
    Basic(Rate),
    /// One rate for all, as in ns-2.
    Fixed(Rate),
    /// The fastest mandatory rate that is not above that of the DATA frame.
    Mandatory,
}

/// The times that channel access runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacTiming {
    /// How frame durations are computed.
    pub phy: Phy,
    /// One slot.
    pub slot: Duration,
    /// Short inter-frame space.
    pub sifs: Duration,
    /// Distributed inter-frame space.
    pub difs: Duration,
    /// Extended inter-frame space, counted from the end of a frame that was not decoded.
    pub eifs: Duration,
    /// From the end of a frame to the moment at which a missing answer is a failure.
    pub answer_timeout: Duration,
    /// How long after a frame's first energy arrives a station can still begin to transmit: clear channel assessment
    /// and the turnaround of its own transmitter.
    pub sensing_delay: Duration,
    /// Bytes that the MAC adds to a packet: header, checksum and logical link control.
    pub overhead: Bytes,
    /// Rate of control frames.
    pub control_rate: ControlRate,
    /// Frames that older stations cannot decode are announced to these, by a CTS to the sender itself or by RTS and
    /// CTS. Stations of 802.11b hear of OFDM frames at the basic rate (clause 10.26.2), stations of 802.11a and g of
    /// 802.11n, ac and ax at the rate of the answer (clause 10.26.3).
    pub protects: bool,
}

/// Size of an ACK or CTS frame (IEEE 802.11-2016 clause 9.3.1).
pub(crate) const ACK_BYTES: Bytes = Bytes::new(14);
/// The delimiter before each MAC frame of an aggregate (clause 9.7.1).
pub(crate) const DELIMITER_BYTES: Bytes = Bytes::new(4);
/// Size of an RTS frame.
pub(crate) const RTS_BYTES: Bytes = Bytes::new(20);
/// MAC header 24, checksum 4, LLC and SNAP 8.
const OVERHEAD: Bytes = Bytes::new(24 + 4 + 8);
/// The QoS control field in the header of EDCA's frames (clause 9.2.4.1).
const QOS_BYTES: Bytes = Bytes::new(2);

impl MacTiming {
    /// 802.11b by the standard, control frames at one rate.
    ///
    /// The sensing delay is aCCATime, of which the standard says "less than 15 µs"; the 5 µs turnaround is taken to run
    /// out at the slot boundary, as the slot's own sum in clause 15.3.3 supposes. docs/notes/single-cell.md shows how results
    /// depend on it.
    pub const fn b(preamble: Preamble, basic_rate: Rate) -> Self {
        let slowest = slowest_dsss(preamble);
        Self::new(Phy::b(preamble), (20, 10, 15), slowest, ControlRate::Basic(basic_rate))
    }

    /// 802.11a by the standard: slots of 9 µs, SIFS 16 µs, clear channel assessment within 4 µs (clause 17.4.4).
    pub const fn a(control: ControlRate) -> Self {
        Self::new(Phy::a(), (9, 16, 4), Rate::from_kbps(6_000), control)
    }

    /// 802.11g by the standard, without stations of 802.11b: short slots, SIFS 10 µs (clause 18.4.5).
    pub const fn g(control: ControlRate) -> Self {
        Self::new(Phy::g(), (9, 10, 4), Rate::from_kbps(6_000), control)
    }

    /// 802.11g beside stations of 802.11b: long slots and their sensing delay (clause 18.4.5), broadcasts, RTS and CTS
    /// at a basic rate that 802.11b has.
    pub const fn mixed(preamble: Preamble, basic_rate: Rate, protects: bool) -> Self {
        let (slowest, control) = (slowest_dsss(preamble), ControlRate::Basic(basic_rate));
        Self { protects, ..Self::new(Phy::mixed(preamble), (20, 10, 15), slowest, control) }
    }

    /// 802.11n, ac or ax by the standard, without stations of 802.11b: slots of 9 µs; SIFS 16 µs at 5 and 6 GHz, 10 µs at
    /// 2.4 GHz. Answers are non-HT frames, so that time-outs and EIFS are those of 802.11a and g (IEEE 802.11-2016
    /// tables 19-25, 21-28; IEEE 802.11ax-2021 table 27-54). DATA frames have the QoS header of EDCA.
    pub const fn high_throughput(phy: Phy, control: ControlRate) -> Self {
        let sifs_us = if matches!(phy.band, Band::Ghz2) { 10 } else { 16 };
        Self {
            overhead: Bytes::new(OVERHEAD.count() + QOS_BYTES.count()),
            ..Self::new(phy, (9, sifs_us, 4), Rate::from_kbps(6_000), control)
        }
    }

    /// `micros` are slot, SIFS, and sensing delay; `slowest` is the lowest mandatory rate.
    const fn new(phy: Phy, micros: (u64, u64, u64), slowest: Rate, control_rate: ControlRate) -> Self {
        let (slot_us, sifs_us, sensing_us) = micros;
        let difs = Duration::from_micros(sifs_us + 2 * slot_us);
        // Clause 10.3.2.3.7: EIFS = SIFS + AckTxTime + DIFS, the ACK at the lowest mandatory rate.
        let slow_ack_ns = phy.airtime_at(ACK_BYTES, slowest).as_nanos();
        let eifs_ns = Duration::from_micros(sifs_us).as_nanos() + slow_ack_ns + difs.as_nanos();
        // Clause 10.3.2.9: SIFS + slot + aRxPHYStartDelay.
        let start_delay = phy.preamble_at(slowest);
        let timeout_ns = Duration::from_micros(sifs_us + slot_us).as_nanos() + start_delay.as_nanos();
        Self {
            phy,
            slot: Duration::from_micros(slot_us),
            sifs: Duration::from_micros(sifs_us),
            difs,
            eifs: Duration::from_nanos(eifs_ns),
            answer_timeout: Duration::from_nanos(timeout_ns),
            sensing_delay: Duration::from_micros(sensing_us),
            overhead: OVERHEAD,
            control_rate,
            protects: false,
        }
    }

    /// 802.11b as ns-2 2.35 has it: 34 bytes of MAC overhead, no rounding, a time-out that covers the whole answer
    /// and twice 2 µs of propagation, no sensing delay, and always the long preamble's EIFS.
    #[must_use]
    pub fn ns2(self) -> Self {
        let phy = Phy { whole_micros: false, ..self.phy };
        let control_rate = match self.control_rate {
            ControlRate::Basic(rate) => ControlRate::Fixed(rate),
            other => other,
        };
        let timing =
            Self { phy, sensing_delay: Duration::ZERO, overhead: Bytes::new(34), control_rate, ..self };
        let answer = timing.answer(Rate::from_kbps(11_000));
        let flight = Duration::from_micros(2);
        Self { answer_timeout: flight + self.sifs + answer + flight, ..timing }
    }

    /// For a cell in which signals take longer: aAirPropagationTime, and with it the slot, the spaces and the time-out, grow
    /// by 3 µs a class (IEEE 802.11-2016 clauses 9.4.2.9 and 10.21.5). It counts there and back: a class is 450 m,
    /// as in Linux.
    #[must_use]
    pub fn with_coverage_class(self, class: u8) -> Self {
        let longer = Duration::from_micros(3) * u64::from(class);
        Self {
            slot: self.slot + longer,
            difs: self.difs + longer * 2,
            eifs: self.eifs + longer * 2,
            answer_timeout: self.answer_timeout + longer,
            ..self
        }
    }

    /// With a time-out that leaves this much more time for propagation there and back, slots and spaces as they are.
    #[must_use]
    pub fn with_round_trip(self, round_trip: Duration) -> Self {
        Self { answer_timeout: self.answer_timeout + round_trip, ..self }
    }

    /// The longest propagation there and back after which an answer still begins before the time-out: its preamble must be
    /// over by then (clause 10.3.2.9).
    pub fn round_trip_max(&self) -> Duration {
        self.answer_timeout.saturating_sub(self.sifs + self.phy.start_delay())
    }

    /// Up to this delay a hearer is near: a frame may be handled when it sets out. Half a slot of coverage class 0 (802.11b
    /// 3.0 km, OFDM 1.35 km), so that an answer from there precedes every countdown that begins with the frame before it, and
    /// begins before the standard's time-out.
    pub fn near(&self) -> Duration {
        match self.phy.standard {
            PhyStandard::B | PhyStandard::Mixed => Duration::from_nanos(10_000),
            PhyStandard::A | PhyStandard::G | PhyStandard::N | PhyStandard::Ac | PhyStandard::Ax => {
                Duration::from_nanos(4_500)
            }
        }
    }

    /// With the longer header of EDCA's frames.
    #[must_use]
    pub fn qos(self) -> Self {
        self.with_qos(true)
    }

    /// With the longer header of EDCA's frames, or without: a frame has it where both its ends know EDCA.
    #[must_use]
    pub fn with_qos(self, qos: bool) -> Self {
        Self { overhead: self.header(qos), ..self }
    }

    /// The bytes that the MAC adds to a packet, with EDCA's longer header or without.
    #[inline]
    pub(crate) fn header(&self, qos: bool) -> Bytes {
        match (self.is_qos(), qos) {
            (false, true) => self.overhead + QOS_BYTES,
            (true, false) => OVERHEAD,
            _ => self.overhead,
        }
    }

    /// Whether DATA frames have EDCA's longer header.
    pub fn is_qos(&self) -> bool {
        self.overhead == OVERHEAD + QOS_BYTES
    }

    /// The rate of the acknowledgement of a DATA frame of this mode. It answers by the non-HT reference rate of 802.11n, ac and
    /// ax, as a non-HT frame.
    pub fn control(&self, data: impl Into<Mode>) -> Rate {
        let (phy, data_rate) = (&self.phy, data.into().reference_rate());
        match self.control_rate {
            ControlRate::Fixed(rate) => rate,
            ControlRate::Basic(rate) if rate <= data_rate && phy.is_dsss(rate) == phy.is_dsss(data_rate) => {
                rate
            }
            ControlRate::Basic(_) | ControlRate::Mandatory => {
                let mandatory = phy.mandatory(data_rate);
                mandatory.iter().copied().rfind(|&rate| rate <= data_rate).unwrap_or(mandatory[0])
            }
        }
    }

    /// The rate of the frames that announce a DATA frame of this mode: RTS, CTS, and a CTS to the sender itself.
    pub fn announcement(&self, data: impl Into<Mode>) -> Rate {
        let data = data.into();
        let is_dsss = self.phy.standard == PhyStandard::Mixed && self.is_protected(data);
        if is_dsss { self.group_rate() } else { self.control(data) }
    }

    /// The mode of a frame of this kind in the exchange of a DATA frame of this mode.
    pub fn mode_of(&self, kind: FrameKind, data: Mode) -> Mode {
        match kind {
            FrameKind::Data => data,
            FrameKind::Ack | FrameKind::BlockAck | FrameKind::BlockAckRequest => Mode::at(self.control(data)),
            FrameKind::Rts | FrameKind::Cts | FrameKind::CtsToSelf => Mode::at(self.announcement(data)),
        }
    }

    /// Whether a DATA frame of this mode is announced to stations that cannot decode it.
    fn is_protected(&self, data: Mode) -> bool {
        let is_strange = || match self.phy.standard.format() {
            Some(_) => data.modulation().is_some(),
            None => !self.phy.is_dsss(data.rate()),
        };
        self.protects && is_strange()
    }

    /// The rate of broadcast DATA frames: the lowest of the basic set, which every station decodes. IEEE 802.11-2016
    /// clause 10.7.5.3 leaves the choice in that set open; Linux and ns-3 choose the lowest, and ns-2 has only one.
    pub fn group_rate(&self) -> Rate {
        match self.control_rate {
            ControlRate::Basic(rate) | ControlRate::Fixed(rate) => rate,
            ControlRate::Mandatory => self.phy.mandatory(self.phy.rates()[0])[0],
        }
    }

    /// From the end of an RTS or a DATA frame to the moment at which a missing answer is a failure.
    #[inline]
    pub(crate) fn answer_timeout_to(&self, kind: FrameKind, data: Mode) -> Duration {
        let is_mixed = self.phy.standard == PhyStandard::Mixed;
        if is_mixed { self.mixed_timeout_to(kind, data) } else { self.answer_timeout }
    }

    /// The same where the answer's preamble is DSSS's or OFDM's.
    #[inline(never)]
    fn mixed_timeout_to(&self, kind: FrameKind, data: Mode) -> Duration {
        let answer = if kind == FrameKind::Rts { FrameKind::Cts } else { FrameKind::Ack };
        let preamble = self.phy.preamble_time(self.mode_of(answer, data));
        self.answer_timeout - (self.phy.start_delay() - preamble)
    }

    /// Airtime of a DATA frame that carries a packet of `size` network-layer bytes.
    pub fn data(&self, size: Bytes, mode: impl Into<Mode>) -> Duration {
        self.mpdu(size + self.overhead, mode.into())
    }

    /// Airtime of a frame that carries one MAC frame of this size: of VHT and HE always as an aggregate of it alone, with a
    /// delimiter before it (S-MPDU, IEEE 802.11-2016 clause 10.13.7).
    pub(crate) fn mpdu(&self, size: Bytes, mode: Mode) -> Duration {
        let delimited = match mode.modulation().map(|modulation| modulation.format) {
            Some(Format::Vht | Format::He) => size + DELIMITER_BYTES,
            Some(Format::Ht) | None => size,
        };
        self.phy.airtime(delimited, mode)
    }

    /// Airtime of the ACK of a DATA frame of this mode.
    pub fn answer(&self, data: impl Into<Mode>) -> Duration {
        self.phy.airtime(ACK_BYTES, self.control(data))
    }

    /// Airtime of a control frame of this size in the exchange of a DATA frame of this mode.
    pub(crate) fn control_frame(&self, size: Bytes, data: Mode) -> Duration {
        self.phy.airtime(size, self.control(data))
    }

    /// Airtime of the RTS before a DATA frame of this mode.
    pub fn request(&self, data: impl Into<Mode>) -> Duration {
        self.phy.airtime(RTS_BYTES, self.announcement(data))
    }

    /// Airtime of the CTS before a DATA frame of this mode.
    pub fn clearance(&self, data: impl Into<Mode>) -> Duration {
        self.phy.airtime(ACK_BYTES, self.announcement(data))
    }

    /// Airtime of the CTS that a sender sends to itself before a DATA frame of this mode; none, where it does not.
    pub fn protection(&self, data: impl Into<Mode>) -> Option<Duration> {
        let data = data.into();
        self.is_protected(data).then(|| self.clearance(data))
    }

    /// One whole exchange without interference, back-off left out: DIFS, DATA, SIFS, ACK; where OFDM is protected, a CTS to the
    /// sender itself and a SIFS before the DATA.
    pub fn exchange(&self, size: Bytes, mode: impl Into<Mode>) -> Duration {
        let mode = mode.into();
        self.exchange_of(self.data(size, mode), self.answer(mode), mode)
    }

    /// The same of a DATA frame and an answer of these airtimes.
    pub(crate) fn exchange_of(&self, data: Duration, answer: Duration, mode: Mode) -> Duration {
        let protection = self.protection(mode).map_or(Duration::ZERO, |cts| cts + self.sifs);
        protection + self.difs + data + self.sifs + answer
    }

    fn bare_exchange(&self, size: Bytes, mode: Mode) -> Duration {
        self.difs + self.data(size, mode) + self.sifs + self.answer(mode)
    }

    /// One broadcast DATA frame without interference, back-off left out: DIFS, DATA.
    pub fn group_exchange(&self, size: Bytes) -> Duration {
        self.difs + self.data(size, self.group_rate())
    }

    /// An exchange with RTS and CTS before it.
    pub fn protected_exchange(&self, size: Bytes, mode: impl Into<Mode>) -> Duration {
        let mode = mode.into();
        let announced = self.request(mode) + self.sifs + self.clearance(mode) + self.sifs;
        announced + self.bare_exchange(size, mode)
    }

    /// Whether slots, spaces and windows are OFDM's.
    pub fn is_ofdm(&self) -> bool {
        self.phy.standard != PhyStandard::B
    }
}

/// The slowest DSSS rate with this preamble.
const fn slowest_dsss(preamble: Preamble) -> Rate {
    match preamble {
        Preamble::Long => Rate::from_kbps(1_000),
        Preamble::Short => Rate::from_kbps(2_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MBPS: [u64; 4] = [1_000, 2_000, 5_500, 11_000];

    #[test]
    fn durations_of_1000_bytes_at_each_rate() {
        // (1000 + 36)·8 = 8288 bits: 8288, 4144, 1506.9 → 1507, 753.45 → 754 µs after the preamble.
        let expected_us = [8288, 4144, 1507, 754];
        for (kbps, payload_us) in MBPS.into_iter().zip(expected_us) {
            for (preamble, head_us) in [(Preamble::Long, 192), (Preamble::Short, 96)] {
                let timing = MacTiming::b(preamble, Rate::from_kbps(2_000));
                let data = timing.data(Bytes::new(1000), Rate::from_kbps(kbps));
                assert_eq!(data, Duration::from_micros(head_us + payload_us), "{kbps} kb/s, {preamble:?}");
            }
        }
    }

    #[test]
    fn acknowledgement_time_out_and_eifs_of_standard() {
        let rate = Rate::from_kbps(11_000);
        let long = MacTiming::b(Preamble::Long, Rate::from_kbps(1_000));
        assert_eq!(long.answer(rate), Duration::from_micros(192 + 112));
        assert_eq!(long.request(rate), Duration::from_micros(192 + 160));
        assert_eq!(long.difs, Duration::from_micros(50));
        assert_eq!(long.eifs, Duration::from_micros(10 + 304 + 50));
        assert_eq!(long.answer_timeout, Duration::from_micros(10 + 20 + 192));
        let short = MacTiming::b(Preamble::Short, Rate::from_kbps(11_000));
        // 112 bits / 11 Mb/s = 10.2 → 11 µs
        assert_eq!(short.answer(rate), Duration::from_micros(96 + 11));
    }

    #[test]
    fn exchanges_are_the_sums_of_their_frames() {
        // 1000 bytes at 11 Mb/s, control frames at 1 Mb/s: DIFS 50, DATA 192 + 754, SIFS 10, ACK 304; before it RTS 352, SIFS,
        // CTS 304, SIFS.
        let long = MacTiming::b(Preamble::Long, Rate::from_kbps(1_000));
        let (size, rate) = (Bytes::new(1000), Rate::from_kbps(11_000));
        let plain = 50 + 946 + 10 + 304;
        assert_eq!(long.exchange(size, rate), Duration::from_micros(plain));
        assert_eq!(long.protected_exchange(size, rate), Duration::from_micros(352 + 10 + 304 + 10 + plain));
    }

    #[test]
    fn qos_control_lengthens_the_header_by_two_bytes() {
        // Clause 9.2.4.5: (1000 + 36 + 2)·8 bits at 1 Mb/s.
        let plain = MacTiming::b(Preamble::Long, Rate::from_kbps(1_000));
        let qos = plain.qos();
        assert_eq!(qos.data(Bytes::new(1000), Rate::from_kbps(1_000)), Duration::from_micros(192 + 8304));
        assert!(qos.is_qos() && !plain.is_qos());
    }

    #[test]
    fn spaces_of_the_ofdm_physical_layers() {
        let a = MacTiming::a(ControlRate::Mandatory);
        assert_eq!((a.difs, a.slot), (Duration::from_micros(34), Duration::from_micros(9)));
        assert_eq!(a.eifs, Duration::from_micros(16 + 44 + 34));
        assert_eq!(a.answer_timeout, Duration::from_micros(16 + 9 + 20));
        let g = MacTiming::g(ControlRate::Mandatory);
        assert_eq!(g.difs, Duration::from_micros(28));
        let b = MacTiming::b(Preamble::Long, Rate::from_kbps(1_000));
        assert_eq!([a, g, b].map(|timing| timing.is_ofdm()), [true, true, false]);
    }

    #[test]
    fn coverage_classes_lengthen_waits() {
        // Class 31, 93 µs: slot 9 + 93, DIFS 16 + 2·102, EIFS 94 + 2·93, time-out 45 + 93.
        let wide = MacTiming::a(ControlRate::Mandatory).with_coverage_class(31);
        let us = Duration::from_micros;
        assert_eq!((wide.slot, wide.sifs, wide.difs), (us(102), us(16), us(220)));
        assert_eq!((wide.eifs, wide.answer_timeout), (us(280), us(138)));
        assert_eq!(wide.round_trip_max(), us(102));
        assert_eq!(MacTiming::a(ControlRate::Mandatory).with_coverage_class(0).slot, us(9));
        assert_eq!(wide.with_round_trip(us(30)).round_trip_max(), us(132));
    }

    #[test]
    fn control_frames_use_fastest_mandatory_rate() {
        let a = MacTiming::a(ControlRate::Mandatory);
        for (data, control) in [(6, 6), (9, 6), (12, 12), (18, 12), (24, 24), (36, 24), (54, 24)] {
            assert_eq!(
                a.control(Rate::from_kbps(data * 1000)),
                Rate::from_kbps(control * 1000),
                "{data} Mb/s"
            );
        }
    }

    #[test]
    fn broadcasts_use_lowest_basic_rate() {
        // Clause 10.7.5.3: a rate of the basic set, which is the mandatory one (clauses 16.2.3.4, 17.2.3.4) unless it is given.
        let mbps = |n: u64| Rate::from_kbps(n * 1000);
        assert_eq!(MacTiming::a(ControlRate::Mandatory).group_rate(), mbps(6));
        assert_eq!(MacTiming::g(ControlRate::Mandatory).group_rate(), mbps(6));
        assert_eq!(MacTiming::g(ControlRate::Basic(mbps(24))).group_rate(), mbps(24));
        assert_eq!(MacTiming::b(Preamble::Short, mbps(2)).group_rate(), mbps(2));
        // ns-2's basicRate_, 1 Mb/s: 500 bytes and 34 of overhead in 4272 us after the preamble's 192; DIFS 50.
        let ns2 = MacTiming::b(Preamble::Long, mbps(1)).ns2();
        assert_eq!(ns2.group_exchange(Bytes::new(500)), Duration::from_micros(50 + 192 + 4272));
    }

    #[test]
    fn a_mixed_cell_announces_ofdm_by_dsss() {
        // Long slots: DIFS 10 + 40. CTS to self of 14 bytes at 1 Mb/s, 192 + 112; 1536 bytes at 54 Mb/s, 20 + 57·4 + 6; ACK at 24.
        let us = Duration::from_micros;
        let (mbps, size) = (|n: u64| Rate::from_kbps(n * 1000), Bytes::new(1500));
        let mixed = MacTiming::mixed(Preamble::Long, mbps(1), true);
        assert_eq!((mixed.slot, mixed.difs), (us(20), us(50)));
        assert_eq!(mixed.exchange(size, mbps(54)), us(304 + 10) + us(50 + 254 + 10 + 34));
        assert_eq!(mixed.protection(mbps(11)), None);
        assert_eq!((mixed.control(mbps(54)), mixed.control(mbps(11))), (mbps(24), mbps(1)));
        assert_eq!(mixed.group_rate(), mbps(1));
        // RTS and CTS replace it: 192 + 160, 192 + 112.
        assert_eq!(
            mixed.protected_exchange(size, mbps(54)),
            us(352 + 10 + 304 + 10) + us(50 + 254 + 10 + 34)
        );
        // An ACK's preamble is OFDM's, a CTS's is DSSS's: SIFS, slot and either of them.
        assert_eq!(mixed.answer_timeout_to(FrameKind::Data, mbps(54).into()), us(10 + 20 + 20));
        assert_eq!(mixed.answer_timeout_to(FrameKind::Rts, mbps(54).into()), us(10 + 20 + 192));
        assert_eq!(mixed.answer_timeout_to(FrameKind::Data, mbps(11).into()), us(10 + 20 + 192));
        let open = MacTiming::mixed(Preamble::Long, mbps(1), false);
        assert_eq!(open.exchange(size, mbps(54)), us(50 + 254 + 10 + 34));
    }

    #[test]
    fn answers_are_never_faster_than_data() {
        // Clause 10.7.6.5.2: no basic rate is at or below the frame's, so the fastest mandatory one that is.
        let mbps = |n: u64| Rate::from_kbps(n * 1000);
        let g = MacTiming::g(ControlRate::Basic(mbps(24)));
        assert_eq!(
            (g.control(mbps(54)), g.control(mbps(18)), g.control(mbps(9))),
            (mbps(24), mbps(12), mbps(6))
        );
        let b = MacTiming::b(Preamble::Long, mbps(11));
        assert_eq!(
            (b.control(mbps(11)), b.control(mbps(2)), b.control(mbps(1))),
            (mbps(11), mbps(2), mbps(1))
        );
        assert_eq!(b.ns2().control(mbps(2)), mbps(11));
    }

    #[test]
    fn ns2_rounds_nothing_and_waits_longer() {
        let timing = MacTiming::b(Preamble::Long, Rate::from_kbps(1_000)).ns2();
        // 1074·8/11 = 781.0909 µs
        assert_eq!(timing.data(Bytes::new(1040), Rate::from_kbps(11_000)).as_nanos(), 192_000 + 781_091);
        assert_eq!(timing.answer_timeout, Duration::from_micros(318));
        assert_eq!(timing.sensing_delay, Duration::ZERO, "a carrier is sensed when its first bit arrives");
        assert_eq!(timing.eifs, Duration::from_micros(364));
    }
}
