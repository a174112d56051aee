//! The link as a law is begun with: its physical layer, its slot, and the airtime of its largest packet.

use evenair_laws::backoff::{
    Category, FullPacket, Holding, LinkRole, PhysicalLayer, Rendering, Surroundings,
};
use evenair_units::{Bytes, Duration, Rate};

/// Bytes of LLC and SNAP, of a QoS data frame's header, and of its check sum (IEEE 802.11-2016 clause 9.2.4).
const FRAMING: u32 = 8 + 26 + 4;
/// Bytes of an acknowledgement (IEEE 802.11-2016 clause 9.3.1.4).
const ACKNOWLEDGEMENT: u32 = 14;
/// Bytes of the headers of IP and TCP.
const HEADERS: u32 = 40;
/// The rates of DSSS and CCK \[100 kbit/s\].
const DSSS: [u64; 4] = [10, 20, 55, 110];

/// Returns the link of an access point with packets of up to `mtu` bytes, sent at `rate`.
///
/// Rates of 802.11n and later take the timing of 802.11a: they send aggregates, which no register of
/// one packet describes.
pub fn role(frequency_mhz: u32, rate: Rate, mtu: u32, category: Category) -> LinkRole {
    let is_dsss = frequency_mhz < 3000 && DSSS.contains(&(rate.as_bps() / 100_000));
    let physical_layer = if is_dsss { PhysicalLayer::Dsss } else { PhysicalLayer::Ofdm };
    // IEEE 802.11-2016 tables 15-5, 17-21 and 18-5, with the short slot.
    let sifs_us = if frequency_mhz < 3000 { 10 } else { 16 };
    let slot_us = if is_dsss { 20 } else { 9 };
    let airtime = |bytes: u32, rate: Rate| {
        if is_dsss {
            Duration::from_micros(192) + rate.time_for(Bytes::new(bytes))
        } else {
            ofdm(bytes, rate, frequency_mhz)
        }
    };
    let basic = rate.min(Rate::from_kbps(if is_dsss { 2_000 } else { 24_000 }));
    let frame = airtime(mtu + FRAMING, rate);
    let exchange = Duration::from_micros(sifs_us + 2 * slot_us)
        + frame
        + Duration::from_micros(sifs_us)
        + airtime(ACKNOWLEDGEMENT, basic);
    let packet = FullPacket {
        payload: Bytes::new(mtu.saturating_sub(HEADERS)),
        size: Bytes::new(mtu),
        frame,
        bits: rate.time_for(Bytes::new(mtu)),
        exchange,
    };
    let surroundings = Surroundings {
        physical_layer,
        rendering: Rendering::Standard,
        is_ideal: false,
        slot: Duration::from_micros(slot_us),
        packet,
        holding: Holding::Packet,
    };
    LinkRole { category, ..LinkRole::data(surroundings) }
}

/// The longest frame of 802.11n and later: its L-SIG field counts at most 4095 bytes at 6 Mb/s.
const AGGREGATE: Duration = Duration::from_micros(5_484);
/// Bytes in an aggregate of 802.11n, and the delimiter before each of its packets.
const AGGREGATE_BYTES: u64 = 65_535;
const DELIMITER: u32 = 4;

/// Returns the amount of data per channel access with TXOP 0, in words: a packet, or an aggregate.
pub fn holding(role: &LinkRole, rate: Rate, aggregates: bool) -> String {
    let packet = &role.packet;
    let mbps = rate.as_bps() as f64 / 1e6;
    let one = format!("one packet of {} bytes, {} us", packet.size.count(), packet.frame.as_nanos() / 1000);
    if !aggregates {
        return format!("{one} at {mbps:.1} Mb/s");
    }
    let each = u64::from(packet.size.count() + FRAMING + DELIMITER).next_multiple_of(4);
    let bytes = (u128::from(rate.as_bps()) * u128::from(AGGREGATE.as_nanos()) / 8_000_000_000) as u64;
    let packets = (bytes.min(AGGREGATE_BYTES) / each).max(1);
    let time = rate.time_for(Bytes::new((packets * each) as u32)).min(AGGREGATE);
    format!(
        "one aggregate: up to {packets} packets of {} bytes, {} us, at {mbps:.1} Mb/s; the law counts {one}",
        packet.size.count(),
        time.as_nanos() / 1000
    )
}

/// An OFDM frame: 16 and 6 bits beside the bytes, in symbols of 4 µs, after 20 µs of preamble (IEEE 802.11-2016 clause
/// 17.4.3); on 2.4 GHz 6 µs of extension follow (clause 18.3.2.4).
fn ofdm(bytes: u32, rate: Rate, frequency_mhz: u32) -> Duration {
    let symbol = (rate.as_bps() * 4 / 1_000_000).max(1);
    let symbols = (22 + 8 * u64::from(bytes)).div_ceil(symbol);
    let extension = if frequency_mhz < 3000 { 6 } else { 0 };
    Duration::from_micros(20 + 4 * symbols + extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(frequency_mhz: u32, kbps: u64) -> LinkRole {
        role(frequency_mhz, Rate::from_kbps(kbps), 1500, Category::BestEffort)
    }

    /// 1538 bytes at 54 Mb/s: 12326 bits in symbols of 216 are 58, so 252 us; an acknowledgement at 24 Mb/s: 134 bits in
    /// two symbols of 96, 28 us; DIFS 34 us and SIFS 16 us.
    #[test]
    fn packet_of_80211a_has_its_airtime() {
        let role = of(5180, 54_000);
        assert_eq!(role.packet.frame, Duration::from_micros(252));
        assert_eq!(role.packet.exchange, Duration::from_micros(34 + 252 + 16 + 28));
        assert_eq!(role.surroundings.slot, Duration::from_micros(9));
        assert_eq!(role.surroundings.physical_layer, PhysicalLayer::Ofdm);
        // 6 Mb/s: 24 bits a symbol, 514 symbols.
        assert_eq!(of(5180, 6_000).packet.frame, Duration::from_micros(20 + 2056));
    }

    /// 802.11g: 6 us longer, SIFS 10 us. 802.11b at 11 Mb/s: 192 us and 1538 bytes, 1118.5 us.
    #[test]
    fn packet_of_24_ghz_has_its_airtime() {
        assert_eq!(of(2412, 54_000).packet.frame, Duration::from_micros(258));
        assert_eq!(of(2412, 54_000).packet.exchange, Duration::from_micros(28 + 258 + 10 + 34));
        let slow = of(2412, 11_000);
        assert_eq!(slow.surroundings.physical_layer, PhysicalLayer::Dsss);
        assert_eq!(slow.packet.frame.as_nanos() / 1000, 192 + 1118);
    }

    /// At 65 Mb/s 5.484 ms are 44557 bytes: 28 packets of 1544 bytes with their framing and delimiter, 5320.9 us. At
    /// 300 Mb/s 65535 bytes are the bound: 42 packets, 1729 us.
    #[test]
    fn holding_time_is_a_packet_or_an_aggregate() {
        let told = |kbps, aggregates| holding(&of(5180, kbps), Rate::from_kbps(kbps), aggregates);
        assert_eq!(told(54_000, false), "one packet of 1500 bytes, 252 us at 54.0 Mb/s");
        assert!(
            told(65_000, true).starts_with("one aggregate: up to 28 packets of 1500 bytes, 5320 us, at 65.0")
        );
        assert!(
            told(300_000, true)
                .starts_with("one aggregate: up to 42 packets of 1500 bytes, 1729 us, at 300.0")
        );
        assert!(told(6_000, true).contains("up to 2 packets"));
    }

    #[test]
    fn any_rate_has_an_airtime() {
        for kbps in [0, 1, 100, 866_700, 10_000_000] {
            assert!(of(5955, kbps).packet.frame > Duration::ZERO, "{kbps}");
        }
    }
}
