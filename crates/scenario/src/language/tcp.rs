//! TCP endpoints.

use crate::law;
use crate::quantity::{PacketCount, Size, Time};
use evenair_laws::window::WindowParams;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// TCP endpoints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TcpTable {
    /// Which window law.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Payload of a segment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Size>,
    /// IP and TCP headers; also the size of an acknowledgement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<Size>,
    /// Send TCP's options on top of `headers`, as a kernel does: those of a SYN, timestamps, SACK blocks. Off by default: every
    /// segment's header has the size of `headers`, as in ns-2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<bool>,
    /// The receiver's window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver_window: Option<PacketCount>,
    /// Congestion window at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<PacketCount>,
    /// Slow-start threshold at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<PacketCount>,
    /// Least retransmission time-out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rto: Option<Time>,
    /// Retransmission time-out before the first sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_rto: Option<Time>,
    /// Clock that round trips are measured with; "0 s" is exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Time>,
    /// New segments for the first two duplicate acknowledgements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_transmit: Option<bool>,
    /// Acknowledge every second segment, or after this long; every segment, if "0 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delayed_ack: Option<Time>,
    /// With delayed acknowledgements: acknowledge each of so many segments at the start and after each gap, as Linux does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quick_acks: Option<PacketCount>,
    /// Selective acknowledgements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sack: Option<bool>,
    /// Find losses by time (RACK, RFC 8985), as today's hosts do; needs `sack`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rack: Option<bool>,
    /// Probe the end of the data before the retransmission timer expires (TLP, RFC 8985); needs `rack`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail_loss_probe: Option<bool>,
    /// Time each acknowledgement (RFC 7323). Their 12 bytes are for `headers` to count, or for `options` to send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<bool>,
    /// Explicit congestion notification (RFC 3168): wherever a law would drop new data, of a queue or of the back-off, they are marked
    /// instead, and the mark cuts the window as a loss would. Not of window laws that steer recovery themselves (bbr), nor of datagrams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// Open with a SYN and close with a FIN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handshake: Option<bool>,
}

/// Which window law: its name, or a table with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Window {
    /// TCP Reno's window with NewReno's recovery: a word of the language, not a law.
    Newreno,
    /// A law.
    Law(WindowParams),
}

const NEWRENO: &str = "newreno";

impl Serialize for Window {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Newreno => serializer.serialize_str(NEWRENO),
            Self::Law(law) => law::write(law, serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrTable;
        impl<'de> Visitor<'de> for NameOrTable {
            type Value = Window;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a window law such as \"cubic\", or a table with its parameters")
            }
            fn visit_str<E: Error>(self, name: &str) -> Result<Window, E> {
                if name == NEWRENO {
                    return Ok(Window::Newreno);
                }
                let known = law::names::<WindowParams>(&[NEWRENO]);
                if !known.iter().any(|known| known == name) {
                    let known = known.join(", ");
                    return Err(E::custom(format!("there is no window law `{name}`; there are {known}")));
                }
                <WindowParams as Deserialize>::deserialize(name.into_deserializer()).map(Window::Law)
            }
            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Window, A::Error> {
                <WindowParams as Deserialize>::deserialize(MapAccessDeserializer::new(table)).map(Window::Law)
            }
        }
        deserializer.deserialize_any(NameOrTable)
    }
}

impl JsonSchema for Window {
    fn schema_name() -> Cow<'static, str> {
        "Window".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<WindowParams>();
        let names = law::names::<WindowParams>(&[NEWRENO]);
        json_schema!({
            "description": "A window law: its name, or a table with its parameters; newreno is Reno's with NewReno's recovery.",
            "anyOf": [{ "type": "string", "enum": names }, table],
        })
    }
}
