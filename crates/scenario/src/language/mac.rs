//! Medium access, rates and errors of links.

use crate::quantity::{Frequency, PacketCount, Probability, RateQuantity, Size, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Medium access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MacTable {
    /// Which MAC.
    #[serde(default)]
    pub kind: MacKind,
    /// The band of 802.11n, ac and ax: "2.4 GHz" (n, ax), "5 GHz" (all, the default), "6 GHz" (ax). SIFS and airtimes depend on it; how
    /// far signals reach is a matter of `radio.frequency`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band: Option<BandName>,
    /// Index of modulation and coding of each stream: 0 to 7 (802.11n), 9 (ac), 11 (ax). Of 802.11n, ac and ax, where it stands for `data_rate`; by default the greatest that the other keys allow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcs: Option<u32>,
    /// Spatial streams, 1 to 4. 1, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<u32>,
    /// Width of the channel: "20 MHz", "40 MHz" (802.11n, ac, ax), "80 MHz", "160 MHz" (ac, ax). By default the widest that every station has: 80 MHz of 802.11ac and ax, 20 MHz of 802.11n and at 2.4 GHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<Frequency>,
    /// Guard interval: "400 ns" (802.11n, ac), "800 ns" (all), "1600 ns", "3200 ns" (ax). 800 ns, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard_interval: Option<Time>,
    /// Rate of data frames of 802.11a, b and g: one that the physical layer has; any, of 802.11b by ns-2's preset. "by-distance" is the fastest that each
    /// link can carry, by the range or the threshold that its radio has for each rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub data_rate: Option<DataRate>,
    /// The basic rate: of control frames and of frames to everybody. By default 1 Mbps for 802.11b (2 Mbps with short
    /// preambles). For the other kinds control frames have by default the fastest mandatory rate that is not above the data's,
    /// and frames to everybody the lowest, 6 Mbps (IEEE 802.11-2016 clauses 10.7.6.5 and 10.7.5.3). Beside stations of 802.11b it is a
    /// rate of theirs, 1 Mbps by default, and that of what announces OFDM frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic_rate: Option<RateQuantity>,
    /// Preamble of 802.11b.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preamble: Option<PreambleKind>,
    /// How frames that older stations cannot decode are announced: of 802.11g beside 802.11b, of 802.11n, ac
    /// and ax beside 802.11a or g (`nodes.X.mac`). "cts-to-self", the default, sends a CTS at a basic rate before
    /// each; RTS and CTS, where they are, do it too. "none" announces nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protection: Option<Protection>,
    /// The channel of nodes that have none of their own (`nodes.X.channel`), 1 to 255; 1, if it is not given. Channels are orthogonal:
    /// a node hears and disturbs those of its own alone. The number says nothing of frequency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<u32>,
    /// Packets that wait at a node, the one in the MAC not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<PacketCount>,
    /// Packets whose DATA frame is larger than this are preceded by RTS and CTS; none, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rts_threshold: Option<Size>,
    /// DATA frames that take longer than this are preceded by RTS and CTS, large or small; none, if it is not given. Of
    /// aggregates the time says more than the size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rts_duration: Option<Time>,
    /// How often an RTS, or a DATA frame without one, is sent before its packet is given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_retry_limit: Option<u32>,
    /// How often a DATA frame that an RTS precedes is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_retry_limit: Option<u32>,
    /// How long after a frame's arrival a station can still begin to transmit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sensing_delay: Option<Time>,
    /// IEEE 802.11's coverage class, 0 to 31: slots, inter-frame spaces and time-outs grow by 3 us a class, enough for 450 m more.
    /// The distance that `iw phy set coverage` sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage_class: Option<u32>,
    /// How long an ACK or a CTS is waited for: "standard" (SIFS, slot and preamble), "distance" (that and twice the propagation
    /// over the longest hop that a flow takes, as if every station had been told its distance), or a time from the end of
    /// the frame, such as "400 us".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub ack_timeout: Option<AckTimeout>,
    /// What becomes of a packet that came on an idle medium if a frame comes before a DIFS has passed: it draws a back-off
    /// ("draw", IEEE 802.11-2016 clause 10.3.4.2, the default), or none all the same ("waive", as ns-3 has it).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupted_difs: Option<InterruptedDifs>,
    /// How long a packet takes between the network layer and its queue, each way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_layer_delay: Option<Time>,
    /// How long a link holds the medium, ideal CSMA only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holding: Option<HoldingLaw>,
    /// By whose clocks back-off laws of an interval are updated: "common" (all at one instant, the default) or "own".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clocks: Option<ClockKind>,
}

/// Which MAC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MacKind {
    /// 802.11b: real timing, collisions, hidden terminals, capture.
    #[default]
    #[serde(rename = "802.11b")]
    Ieee80211b,
    /// 802.11a: OFDM at 5 GHz.
    #[serde(rename = "802.11a")]
    Ieee80211a,
    /// 802.11g, with stations of 802.11b where `nodes.X.mac` says so.
    #[serde(rename = "802.11g")]
    Ieee80211g,
    /// 802.11n, high throughput, at 2.4 or 5 GHz. Stations of 802.11n and later contend by EDCA: that is the default of `backoff`,
    /// for which a plain "dcf" stands too.
    #[serde(rename = "802.11n")]
    Ieee80211n,
    /// 802.11ac, very high throughput, at 5 GHz: one user per transmission.
    #[serde(rename = "802.11ac")]
    Ieee80211ac,
    /// 802.11ax, high efficiency, at 2.4, 5 or 6 GHz: one user per transmission.
    #[serde(rename = "802.11ax")]
    Ieee80211ax,
    /// Ideal CSMA: continuous time, zero sensing time, no collisions.
    #[serde(rename = "ideal")]
    Ideal,
}

/// The band of frequencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BandName {
    /// 2.4 GHz.
    #[serde(rename = "2.4 GHz")]
    Ghz2,
    /// 5 GHz.
    #[serde(rename = "5 GHz")]
    Ghz5,
    /// 6 GHz.
    #[serde(rename = "6 GHz")]
    Ghz6,
}

/// The rate of DATA frames.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum DataRate {
    /// The same on all links.
    Fixed(RateQuantity),
    /// The fastest that a link can carry.
    ByDistance,
}

impl TryFrom<String> for DataRate {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        if text == "by-distance" {
            return Ok(Self::ByDistance);
        }
        text.parse().map(Self::Fixed).map_err(|why: String| format!("{why}, or \"by-distance\""))
    }
}

impl From<DataRate> for String {
    fn from(rate: DataRate) -> Self {
        match rate {
            DataRate::Fixed(rate) => rate.to_string(),
            DataRate::ByDistance => "by-distance".into(),
        }
    }
}

/// How stations announce frames to others that cannot decode them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protection {
    /// A CTS to the sender itself before each frame.
    CtsToSelf,
    /// Nothing.
    None,
}

/// How long an ACK or a CTS is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum AckTimeout {
    /// As IEEE 802.11 has it: SIFS, slot and preamble.
    Standard,
    /// That, and twice the propagation over the longest hop in use.
    Distance,
    /// So long after the end of the frame.
    After(Time),
}

impl TryFrom<String> for AckTimeout {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "standard" => Ok(Self::Standard),
            "distance" => Ok(Self::Distance),
            time => time.parse().map(Self::After).map_err(|why| {
                format!("{why}; allowed are \"standard\", \"distance\" and a time such as \"400 us\"")
            }),
        }
    }
}

impl From<AckTimeout> for String {
    fn from(timeout: AckTimeout) -> Self {
        match timeout {
            AckTimeout::Standard => "standard".into(),
            AckTimeout::Distance => "distance".into(),
            AckTimeout::After(time) => time.to_string(),
        }
    }
}

/// Preamble of 802.11b.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PreambleKind {
    /// 192 µs.
    Long,
    /// 96 µs.
    Short,
}

/// What becomes of a packet that came on an idle medium if a frame comes before a DIFS has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InterruptedDifs {
    /// It draws a back-off.
    Draw,
    /// It goes without one, after the next DIFS.
    Waive,
}

/// How long a link of ideal CSMA holds the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HoldingLaw {
    /// As long as its packet takes.
    Packet,
    /// Exponential, with a full data packet's airtime as mean.
    Exponential,
    /// Uniform, with a full data packet's airtime as mean.
    Uniform,
}

/// The clocks by which back-off laws of an interval are updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClockKind {
    /// Each node its own: a phase drawn from the run's seed, and intervals up to 7 % longer or shorter.
    Own,
    /// One for all: laws of one interval are updated at one instant everywhere.
    Common,
}

/// The rate of one link: `rate`, or the keys of a mode of 802.11n, ac or ax; those that are not given are as in `mac`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateTable {
    /// The node that transmits.
    pub from: String,
    /// The node that receives.
    pub to: String,
    /// The rate of DATA frames, both ways: of 802.11a, b and g, and of stations of theirs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateQuantity>,
    /// Index of modulation and coding of each stream: 0 to 7 (802.11n), 9 (ac), 11 (ax).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcs: Option<u32>,
    /// Spatial streams, 1 to 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<u32>,
    /// Width of the channel: "20 MHz", "40 MHz" (802.11n, ac, ax), "80 MHz", "160 MHz" (ac, ax).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<Frequency>,
    /// Guard interval: "400 ns" (802.11n, ac), "800 ns" (all), "1600 ns", "3200 ns" (ax).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard_interval: Option<Time>,
    /// Not the other way round.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_way: bool,
}

/// The error model of one link: give `loss`, `every`, `bit_error_rate`, or the keys of a bursty link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LossTable {
    /// The node that transmits.
    pub from: String,
    /// The node that receives.
    pub to: String,
    /// Not the other way round.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_way: bool,
    /// From when on; several entries for one link make its errors change over time.
    #[serde(default = "zero")]
    pub start: Time,
    /// Probability that a frame (on a wire: a packet) is lost; of a bursty link, in its good state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Probability>,
    /// One frame (on a wire: one packet) in so many is lost, by count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<u32>,
    /// Probability that a bit is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bit_error_rate: Option<Probability>,
    /// Loss probability in the bad state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_bad: Option<Probability>,
    /// Mean time in the good state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub good: Option<Time>,
    /// Mean time in the bad state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bad: Option<Time>,
}

const fn zero() -> Time {
    Time(evenair_units::Duration::ZERO)
}
