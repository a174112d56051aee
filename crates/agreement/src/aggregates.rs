//! A saturated cell of stations that aggregate, over the bare air; beside it ns-3 3.44's, and a model like Bianchi's.

use evenair_des::Stream;
use evenair_laws::backoff::{Access, Draw, Holding, OnFailure, Space, When};
use evenair_topology::{Medium, Position, Propagation, ThresholdRadio};
use evenair_units::{Bytes, Duration, Instant};
use evenair_wifi::{
    Aggregation, Air, Arbitration, Contention, ControlRate, Head, MacTiming, MissedBlockAck, Mode, PacketId,
    Phy, Receivers, Rules, Up,
};

/// Network-layer size of each packet; 28 bytes of it are headers of IP and UDP.
pub(crate) const PACKET: Bytes = Bytes::new(1_500);
pub(crate) const PAYLOAD_BITS: f64 = 1_472.0 * 8.0;

/// A cell of stations that always have packets for their access point.
#[derive(Clone, Debug)]
pub struct Cell {
    /// How DATA frames are modulated.
    pub mode: Mode,
    /// Durations of this physical layer.
    pub phy: Phy,
    /// How many stations send.
    pub stations: u32,
    /// The limits of their aggregates; each packet has a frame of its own, if there are none.
    pub aggregation: Option<Aggregation>,
    /// An RTS before frames of more bytes than this.
    pub rts_threshold: Option<Bytes>,
    /// How long a station may keep the medium.
    pub txop: Duration,
}

/// The sums of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// Payload of UDP that was received \[Mb/s\].
    pub mbps: f64,
    /// Packets sent, repetitions too, over DATA frames sent.
    pub mean_aggregate: f64,
    /// Block ack requests \[1/s\].
    pub requests_per_s: f64,
    /// DATA frames \[1/s\].
    pub frames_per_s: f64,
}

impl Cell {
    /// Its sums over so many seconds after one second of warm-up.
    pub fn run(&self, seconds: u64, seed: u64) -> Sums {
        let mut air = self.air(seed);
        let mut out = Vec::new();
        let (warm, end) =
            (Instant::ZERO + Duration::from_secs(1), Instant::ZERO + Duration::from_secs(1 + seconds));
        let head = Head { to: self.stations, size: PACKET, mode: self.mode, packet: PacketId(0) };
        let mut next = 0;
        let mut packet = || {
            next += 1;
            Head { packet: PacketId(next), ..head }
        };
        for by in 0..self.stations {
            air.offer(Instant::ZERO, by, packet());
            while air.room(by) > 0 {
                air.stage(Instant::ZERO, by, packet());
            }
        }
        let (mut received, mut ups) = (0u64, Vec::new());
        while let Some(now) = air.advance(end, &mut out) {
            std::mem::swap(&mut ups, &mut out);
            for up in ups.drain(..) {
                match up {
                    Up::Received { .. } => received += u64::from(now >= warm),
                    Up::Done { by, .. } if self.aggregation.is_some() => {
                        air.stage(now, by, packet());
                    }
                    Up::Done { by, .. } => air.offer(now, by, packet()),
                    Up::Attempt { .. } => (),
                }
            }
        }
        let all = 0..self.stations;
        let frames: u64 = all.clone().map(|c| air.counters(c).expect("of 802.11").attempts).sum();
        let of = |c| air.aggregate_counters(c).copied().unwrap_or_default();
        let (mpdus, requests) = all.fold((0, 0), |(m, r), c| (m + of(c).mpdus, r + of(c).requests));
        let total_s = (1 + seconds) as f64;
        Sums {
            mbps: received as f64 * PAYLOAD_BITS / seconds as f64 / 1e6,
            mean_aggregate: mpdus as f64 / frames as f64,
            requests_per_s: requests as f64 / total_s,
            frames_per_s: frames as f64 / total_s,
        }
    }

    /// The times that its channel access runs on.
    pub(crate) fn timing(&self) -> MacTiming {
        MacTiming { phy: self.phy, ..MacTiming::a(ControlRate::Mandatory) }.qos()
    }

    fn air(&self, seed: u64) -> Air {
        let at = vec![Position::new(0.0, 0.0); self.stations as usize + 1];
        let radio = ThresholdRadio {
            transmission_range_m: 250.0,
            carrier_sense_range_m: 550.0,
            interference_range_m: 550.0,
            propagation: Propagation::default(),
        };
        let timing = self.timing();
        // EDCA's best effort (IEEE 802.11-2016 table 9-137).
        let access = Access {
            draw: Draw::Slots { window: 15, end_included: true },
            on_failure: OnFailure::Double { window_max: 1_023 },
            when: When::AfterTransmission,
            holding: Holding::Burst(self.txop),
        };
        let contention = |node: u32| Contention {
            node,
            access,
            arbitration: Arbitration::of(Space::Aifs { slots: 3 }, access.holding, &timing),
            stream: Stream::named(seed, &format!("station {node}"), "backoff"),
        };
        let contenders = (0..self.stations).map(contention).collect();
        let rules = Rules { rts_threshold: self.rts_threshold, detection_db: Some(4.0), ..Rules::standard() };
        let medium = Medium::from_positions(&at, &radio);
        let mut air = Air::dcf(&medium, contenders, timing, rules, &Receivers::default());
        if let Some(limits) = self.aggregation {
            (0..self.stations).for_each(|by| air.aggregate(by, limits));
        }
        air
    }
}

/// The limits of ns-3 3.44: 65 535 bytes, packets are never given up, and a missing block acknowledgement is asked for.
pub const fn ns3_limits() -> Aggregation {
    Aggregation { tries: None, after_missed: MissedBlockAck::Request, ..Aggregation::standard() }
}
