//! How packets share frames.

use crate::quantity::{Amount, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How packets of 802.11n, ac and ax share frames (A-MPDU) and are acknowledged together. Packets that wait for the same next
/// hop do, if there is no such table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AggregationTable {
    /// Packets of a frame, at most: 1 (nothing is aggregated) to 64, or 256 (802.11ax). The most, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<u32>,
    /// Size of a frame with all headers of its packets, at most. 65535 bytes, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Amount>,
    /// The time that a frame takes, at most. 5.484 ms, the standard's most, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub airtime: Option<Time>,
    /// The reaction to a missing block acknowledgement: "data" sends the packets again, "bar" asks for it by a block ack
    /// request (BAR). "data", if it is not given; "bar" by ns-3's preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_missed_block_ack: Option<AfterMissedBlockAck>,
    /// How many exchanges a packet may take part in before it is given up, 1 to 255, or "never". 10, as in Linux' ath9k, if it is
    /// not given; "never" by ns-3's preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<Retries>,
    /// How long after it was staged a packet may be sent again. Without end, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Time>,
    /// How much each queue hands to the MAC ahead of time: packets that take so long at the rate of their link, or "one" aggregate. Packets
    /// that are handed over have left the queue's discipline. 8 ms, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub staged_airtime: Option<StagedAirtime>,
}

/// The reaction to a missing block acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AfterMissedBlockAck {
    /// The packets again.
    Data,
    /// A block ack request.
    Bar,
}

/// How many exchanges a packet may take part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Retries {
    /// So many.
    Number(u32),
    /// Without end.
    Word(Never),
}

/// The word for no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Never {
    /// There is none.
    Never,
}

/// How much is handed to the MAC ahead of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum StagedAirtime {
    /// Packets that take this long.
    Time(Time),
    /// One aggregate.
    One,
}

impl TryFrom<String> for StagedAirtime {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        if text == "one" {
            return Ok(Self::One);
        }
        text.parse().map(Self::Time).map_err(|why: String| format!("{why}, or \"one\""))
    }
}

impl From<StagedAirtime> for String {
    fn from(staged: StagedAirtime) -> Self {
        match staged {
            StagedAirtime::Time(time) => time.to_string(),
            StagedAirtime::One => "one".into(),
        }
    }
}
