//! The fuzz targets' properties, on damaged forms of every scenario and study there is.

use evenair_study::{builtin_scenario, scenario_ids, study_ids, study_text};
use proptest::prelude::*;
use proptest::sample::Index;

#[path = "../../../../fuzz/properties.rs"]
mod properties;

/// A change to one line of a text.
#[derive(Clone, Debug)]
enum Damage {
    Cut,
    Double,
    /// Exchanged with another.
    Move(Index),
    /// Its value replaced by one that is too large, too small, or of another kind.
    Value(&'static str),
    /// Something else in its place.
    Junk(String),
    /// A line of another text put before it.
    Graft(Index, Index),
}

const VALUES: [&str; 14] = [
    "0",
    "-1",
    "1e308",
    "nan",
    "18446744073709551615",
    "\"\"",
    "\"0 s\"",
    "\"1e300 s\"",
    "\"-1 packets\"",
    "\"inf Mbps\"",
    "[]",
    "{}",
    "true",
    "[[0]]",
];

/// A file of nodes and links in each format.
const LISTS: [(&str, &str); 3] = [
    ("map.csv", "id,lat,lon,height\na,52.52,13.40,3\nb,52.53,13.41,\nc,52.51,13.42,9\n"),
    (
        "map.geojson",
        r#"{"type": "FeatureCollection", "features": [
{"type": "Feature", "properties": {"name": "a"}, "geometry": {"type": "Point", "coordinates": [13.40, 52.52, 3]}},
{"type": "Feature", "properties": {"name": "b"}, "geometry": {"type": "Point", "coordinates": [13.41, 52.53]}},
{"type": "Feature", "properties": {"from": "a", "to": "b"}, "geometry": {"type": "LineString", "coordinates": [[13.40, 52.52]]}},
{"type": "Feature", "properties": {}, "geometry": {"type": "LineString", "coordinates": [[13.41, 52.53], [13.40, 52.52, 3]]}}
]}"#,
    ),
    (
        "map.graphml",
        r#"<graphml>
<key id="d0" for="node" attr.name="lon"/>
<key id="d1" for="node" attr.name="lat"/>
<graph edgedefault="undirected">
<node id="a"><data key="d0">13.40</data><data key="d1">52.52</data></node>
<node id="b"><data key="d0">13.41</data><data key="d1">52.53</data></node>
<edge source="a" target="b"/>
</graph>
</graphml>"#,
    ),
];

fn damages() -> impl Strategy<Value = Vec<(Index, Damage)>> {
    let damage = prop_oneof![
        Just(Damage::Cut),
        Just(Damage::Double),
        any::<Index>().prop_map(Damage::Move),
        prop::sample::select(&VALUES[..]).prop_map(Damage::Value),
        "[\\[\\]{}a-z0-9_=\"., *-]{0,24}".prop_map(Damage::Junk),
        any::<(Index, Index)>().prop_map(|(text, line)| Damage::Graft(text, line)),
    ];
    prop::collection::vec((any::<Index>(), damage), 1..5)
}

fn damaged(text: &str, damages: &[(Index, Damage)], others: &[&'static str]) -> String {
    let mut lines: Vec<String> = text.lines().map(Into::into).collect();
    for (at, damage) in damages {
        if lines.is_empty() {
            break;
        }
        let line = at.index(lines.len());
        match damage {
            Damage::Cut => drop(lines.remove(line)),
            Damage::Double => lines.insert(line, lines[line].clone()),
            Damage::Move(to) => {
                let to = to.index(lines.len());
                lines.swap(line, to);
            }
            Damage::Value(value) => {
                let key = lines[line].split('=').next().unwrap_or_default().to_string();
                lines[line] = format!("{key}= {value}");
            }
            Damage::Junk(junk) => lines[line].clone_from(junk),
            Damage::Graft(text, other) => {
                let from: Vec<&str> = others[text.index(others.len())].lines().collect();
                lines.insert(line, from[other.index(from.len())].to_string());
            }
        }
    }
    lines.join("\n")
}

#[test]
fn every_text_as_it_is_has_the_properties() {
    for id in scenario_ids() {
        properties::scenario(builtin_scenario(id).expect("it is listed"));
    }
    for (name, text) in LISTS {
        properties::listed(name, text);
    }
    for id in study_ids() {
        properties::study(study_text(id).expect("it is listed"));
    }
}

proptest! {
    #[test]
    fn a_damaged_list_is_refused_or_reads_back(list in any::<Index>(), damages in damages()) {
        let (name, text) = LISTS[list.index(LISTS.len())];
        properties::listed(name, &damaged(text, &damages, &LISTS.map(|(_, text)| text)));
    }

    #[test]
    fn a_damaged_scenario_is_refused_or_reads_back(text in any::<Index>(), damages in damages()) {
        let texts: Vec<&'static str> = scenario_ids().filter_map(builtin_scenario).collect();
        properties::scenario(&damaged(texts[text.index(texts.len())], &damages, &texts));
    }

    #[test]
    fn a_damaged_study_is_refused_or_read(text in any::<Index>(), damages in damages()) {
        let texts: Vec<&'static str> = study_ids().filter_map(study_text).collect();
        properties::study(&damaged(texts[text.index(texts.len())], &damages, &texts));
    }
}
