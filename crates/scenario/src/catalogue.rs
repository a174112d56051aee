//! The available laws: names, parameters and defaults from the schema, sources from the laws' files, and places from the
//! language. Nothing is written down twice, so a new law is listed as soon as it is in its family.

use crate::resolved::Resolved;
use evenair_laws::Family;
use evenair_laws::backoff::BackoffParams;
use evenair_laws::connections::ConnectionParams;
use evenair_laws::gateway::GatewayParams;
use evenair_laws::marking::MarkingParams;
use evenair_laws::rate::RateParams;
use evenair_laws::rates::RateControlParams;
use evenair_laws::window::WindowParams;
use evenair_netsim::{NetworkSpec, Traffic};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;

/// A family of laws.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ListedFamily {
    /// Its name.
    pub family: &'static str,
    /// The decision that its laws take.
    pub decides: &'static str,
    /// The key by which scenarios name one of its laws.
    pub key: &'static str,
    /// Its laws.
    pub laws: Vec<ListedLaw>,
}

/// A law.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ListedLaw {
    /// Its name in scenarios.
    pub name: String,
    /// Its description.
    pub does: String,
    /// The paper, standard or RFC that it is from.
    pub source: String,
    /// The MACs over which it runs, and whether it does on wires.
    pub media: Vec<&'static str>,
    /// The traffic that it serves.
    pub traffic: Vec<&'static str>,
    /// Its parameters.
    pub parameters: Vec<ListedParameter>,
}

/// A parameter of a law.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ListedParameter {
    /// Its key in scenarios.
    pub key: String,
    /// The kind of value that is written: a number, a time, one of some words.
    pub kind: String,
    /// Its value where nothing is said; null, where it follows from something else.
    pub default: Value,
    /// Its unit, if it is a plain number of something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Its meaning.
    pub means: String,
}

/// All laws, family by family.
pub fn laws() -> Vec<ListedFamily> {
    let backoff = Asked {
        family: "backoff",
        decides: "how long a transmitter waits, and how long it keeps the medium",
        key: "backoff",
        serves: |_| true,
        on_air_only: true,
    };
    let window = Asked {
        family: "window",
        decides: "how much a TCP connection may have under way",
        key: "tcp.window",
        serves: |network| network.flows[0].traffic.tcp().is_some(),
        ..backoff
    };
    let window = Asked { on_air_only: false, ..window };
    let kept = Asked {
        family: "connections",
        decides: "how many connections a flow keeps",
        key: "connections",
        serves: |network| network.flows[0].traffic.connections().is_some(),
        ..window
    };
    let rate = Asked {
        family: "rate",
        decides: "how fast a source sends",
        key: RATE_LAW,
        serves: |network| matches!(network.flows[0].traffic, Traffic::Rated(_)),
        ..window
    };
    let marking = Asked {
        family: "marking",
        decides: "which packets a queue gives up before it is full",
        key: "drop",
        serves: |network| network.queue.marking.is_some(),
        ..window
    };
    let gateway = Asked {
        family: "gateway",
        decides: "how much of the network's capacity a gateway lets its subscribers use",
        key: GATEWAY_LAW,
        serves: |network| network.gateway.is_some(),
        ..window
    };
    let rates = Asked {
        family: "rates",
        decides: "in which modes a frame is sent, one after another",
        key: "mac.rate_control",
        serves: |network| !network.rate_control.is_empty(),
        ..backoff
    };
    vec![
        backoff.listed::<BackoffParams>(),
        window.listed::<WindowParams>(),
        kept.listed::<ConnectionParams>(),
        rate.listed::<RateParams>(),
        rates.listed::<RateControlParams>(),
        marking.listed::<MarkingParams>(),
        gateway.listed::<GatewayParams>(),
    ]
}

/// A family, and a test of whether a scenario uses one of its laws.
#[derive(Clone, Copy)]
struct Asked {
    family: &'static str,
    decides: &'static str,
    key: &'static str,
    /// Whether a network that names a law has a use for it.
    serves: fn(&NetworkSpec) -> bool,
    on_air_only: bool,
}

/// Media on which laws are tried: a name, and a part of a scenario.
const MEDIA: [(&str, &str); 3] = [
    ("802.11", "nodes = [{ id = 'a', at = [0, 0] }, { id = 'b', at = [100, 0] }]"),
    (
        "ideal CSMA",
        "nodes = [{ id = 'a', at = [0, 0] }, { id = 'b', at = [100, 0] }]\nmac = { kind = 'ideal' }",
    ),
    (
        WIRES,
        "nodes = [{ id = 'a' }, { id = 'b' }]\nwires = [{ from = 'a', to = 'b', rate = '1 Mbps', delay = '1 ms' }]",
    ),
];
const WIRES: &str = "wires";
const RATED: &str = "rated";
const RATE_LAW: &str = "rate_law";
const GATEWAY_LAW: &str = "gateway.law";

/// Traffic for which laws are tried: its word, and the keys that it needs.
const TRAFFIC: [(&str, &str); 8] = [
    ("tcp", ""),
    ("saturated", ", size = '1000 bytes'"),
    ("cbr", ", size = '1000 bytes', rate = '80 kbps'"),
    ("on-off", ", size = '1000 bytes', rate = '80 kbps', on = '1 s', off = '1 s'"),
    ("poisson", ", size = '1000 bytes', rate = '80 kbps'"),
    (RATED, ", size = '1000 bytes'"),
    ("tfrc", ", size = '1000 bytes'"),
    ("web", ""),
];

impl Asked {
    fn listed<P: Family + JsonSchema>(self) -> ListedFamily {
        let schema = SchemaGenerator::default().into_root_schema_for::<P>().to_value();
        let entries = schema["oneOf"].as_array().expect("a family is one of its laws");
        let sources = P::sources();
        debug_assert_eq!(
            entries.len(),
            sources.len(),
            "the schema leaves out users' own law, as the sources do"
        );
        let laws = entries.iter().zip(sources).map(|(entry, source)| {
            let name =
                entry["properties"]["law"]["const"].as_str().expect("a law has its name under \"law\"");
            let used = self.used(name);
            let media =
                MEDIA.map(|(medium, _)| medium).into_iter().filter(|m| used.iter().any(|(on, _)| on == m));
            let traffic =
                TRAFFIC.map(|(word, _)| word).into_iter().filter(|t| used.iter().any(|(_, of)| of == t));
            ListedLaw {
                name: name.into(),
                does: plain(entry),
                source: source.trim_end_matches('.').replace('`', ""),
                media: media.collect(),
                traffic: traffic.collect(),
                parameters: parameters("", entry, &schema["$defs"]),
            }
        });
        ListedFamily { family: self.family, decides: self.decides, key: self.key, laws: laws.collect() }
    }

    /// Returns where and for which traffic a scenario may name the law with an effect; the language itself decides.
    fn used(self, name: &str) -> Vec<(&'static str, &'static str)> {
        let mut used = Vec::new();
        for (medium, network) in
            MEDIA.into_iter().filter(|(medium, _)| !(self.on_air_only && *medium == WIRES))
        {
            for (traffic, keys) in TRAFFIC {
                let radio = if medium == WIRES {
                    ""
                } else {
                    "radio = { transmission_range = '250 m', carrier_sense_range = '800 m' }\n"
                };
                let text = format!(
                    "{radio}{network}\nflows = [{{ id = '1', from = 'a', to = 'b', traffic = '{traffic}'{keys} }}]\n"
                );
                // Rated traffic needs a law of its rate: the one that is asked about, or any.
                let any_rate =
                    (traffic == RATED && self.key != RATE_LAW).then(|| format!("{RATE_LAW}=utility-based"));
                let law = format!("{}={{law='{name}'}}", self.key);
                let node = (self.key == GATEWAY_LAW).then(|| "gateway.node='b'".to_string());
                let changes: Vec<String> = any_rate.into_iter().chain(node).chain([law]).collect();
                let resolved = Resolved::parse("trial", &text, &changes);
                if resolved.is_ok_and(|scenario| (self.serves)(scenario.network())) {
                    used.push((medium, traffic));
                }
            }
        }
        used
    }
}

/// The parameters of a table of the schema; those of a table in it have both keys.
fn parameters(before: &str, table: &Value, definitions: &Value) -> Vec<ListedParameter> {
    let mut all = Vec::new();
    for (key, property) in
        table["properties"].as_object().into_iter().flatten().filter(|(key, _)| *key != "law")
    {
        let meant = target(property, definitions);
        let key = format!("{before}{key}");
        if meant["properties"].is_object() {
            all.extend(parameters(&format!("{key}."), meant, definitions));
            continue;
        }
        let means = plain(property);
        all.push(ListedParameter {
            kind: kind(property, definitions),
            default: property.get("default").cloned().unwrap_or(Value::Null),
            unit: unit(&means),
            key,
            means,
        });
    }
    all
}

/// The schema that a property refers to, or itself.
fn target<'a>(property: &'a Value, definitions: &'a Value) -> &'a Value {
    // An optional value is one of itself and null.
    let property = property["anyOf"].get(0).unwrap_or(property);
    let name = property["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    name.map_or(property, |name| &definitions[name])
}

/// The kind of value that is written for a property.
fn kind(property: &Value, definitions: &Value) -> String {
    let meant = target(property, definitions);
    let words = meant["enum"].as_array().or_else(|| meant["oneOf"].as_array());
    let word = |of: &Value| of["const"].as_str().or_else(|| of.as_str()).map(String::from);
    if let Some(words) = words.and_then(|words| words.iter().map(word).collect::<Option<Vec<_>>>()) {
        return words.join(" | ");
    }
    let referred = property["anyOf"].get(0).unwrap_or(property)["$ref"].as_str();
    if let Some(name) = referred.and_then(|path| path.rsplit('/').next()) {
        // A number behind the name tells two types of one name apart.
        return name.trim_end_matches(|c: char| c.is_ascii_digit()).to_lowercase();
    }
    let of = match &meant["type"] {
        Value::Array(types) => types[0].as_str(),
        one => one.as_str(),
    };
    match of {
        Some("integer") => "whole number".into(),
        Some("boolean") => "true | false".into(),
        of => of.unwrap_or("value").into(),
    }
}

/// A description in one line and without the marks of rustdoc.
fn plain(of: &Value) -> String {
    let text = of["description"].as_str().unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace(['`', '\\'], "")
}

/// The unit that a description ends with, in brackets; papers' tags stand in brackets, too, and begin with a capital.
fn unit(means: &str) -> Option<String> {
    let (_, last) = means.trim_end_matches('.').strip_suffix(']')?.rsplit_once('[')?;
    (!last.starts_with(char::is_uppercase)).then(|| last.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::TrafficKind;

    fn law(family: &str, name: &str) -> ListedLaw {
        let families = laws();
        let family = families.iter().find(|f| f.family == family).expect("there is such a family");
        family.laws.iter().find(|l| l.name == name).unwrap_or_else(|| panic!("no law {name}")).clone()
    }

    #[test]
    fn parameters_match_schema_and_sources() {
        let n = law("connections", "rtt-proportional");
        assert!(
            n.source.starts_with("[Chen10] eq. (5.1)") && n.does.contains("n = max(1, int(k·T))"),
            "{n:?}"
        );
        let k = &n.parameters[0];
        assert_eq!((k.key.as_str(), k.kind.as_str(), &k.default), ("k", "number", &Value::from(10.0)));
        assert_eq!(k.unit.as_deref(), Some("1/s"));
        let interval = n.parameters.iter().find(|p| p.key == "interval").unwrap();
        assert_eq!((interval.kind.as_str(), &interval.default), ("time", &Value::from("5 s")));
        let samples = n.parameters.iter().find(|p| p.key == "samples").unwrap();
        assert_eq!(samples.kind, "segments | windows | probes | smoothed");
        let edca = law("backoff", "edca");
        assert!(edca.parameters.iter().any(|p| p.key == "voice.aifsn"), "{edca:?}");
    }

    #[test]
    fn places_are_allowed_by_language() {
        let adaptive = law("backoff", "adaptive");
        assert_eq!(adaptive.media, ["802.11", "ideal CSMA"]);
        assert_eq!(adaptive.traffic.len(), TRAFFIC.len());
        let iimd = law("connections", "iimd");
        assert_eq!((iimd.media, iimd.traffic), (vec!["802.11", "ideal CSMA", "wires"], vec!["tcp", "tfrc"]));
    }

    #[test]
    fn every_law_has_a_source_and_a_use() {
        for ListedFamily { family, laws, .. } in laws() {
            for law in laws {
                assert!(!law.does.is_empty() && !law.source.is_empty(), "{family}: {law:?}");
                assert!(law.parameters.iter().all(|p| !p.means.is_empty()), "{family}: {law:?}");
                assert!(!law.media.is_empty() && !law.traffic.is_empty(), "{family}: {law:?}");
            }
        }
    }

    #[test]
    fn every_kind_of_traffic_is_tried() {
        let schema = SchemaGenerator::default().into_root_schema_for::<TrafficKind>().to_value();
        let words = schema["oneOf"].as_array().unwrap().iter().map(|kind| kind["const"].as_str().unwrap());
        assert_eq!(words.collect::<Vec<_>>(), TRAFFIC.map(|(word, _)| word));
    }
}
