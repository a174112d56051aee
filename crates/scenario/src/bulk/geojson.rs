//! Nodes and links of a `GeoJSON` file (RFC 7946): its points are nodes, its lines are links.

use super::columns::Word;
use crate::lists::{Row, plain};
use serde_json::{Map, Value};

/// A feature's number in its file, from 1, and its members.
type Feature<'a> = (u64, &'a Map<String, Value>);

/// Rows of the nodes, with a head: each point with its properties that are words of columns.
pub(super) fn nodes(file: &str, text: &str, words: &[Word]) -> Result<Vec<Row>, String> {
    let document = read(file, text)?;
    let points = of_kind(file, &document, "Point")?;
    let of_properties: Vec<&Word> = words.iter().filter(|(name, _)| !PLACES.contains(name)).collect();
    let head = PLACES.iter().chain(of_properties.iter().map(|(name, _)| name));
    let mut rows = vec![Row { of: FEATURE, line: 0, cells: head.map(ToString::to_string).collect() }];
    for (number, feature) in points {
        let place = position(file, number, feature["geometry"].get("coordinates"))?;
        let mut cells: Vec<String> = place[..2].iter().map(ToString::to_string).collect();
        for (name, others) in &of_properties {
            let own = property(feature, name, others);
            cells.push(match *name {
                "id" => own.or_else(|| feature.get("id").and_then(cell)).unwrap_or_default(),
                "height" => own.or_else(|| place.get(2).map(ToString::to_string)).unwrap_or_default(),
                _ => own.unwrap_or_default(),
            });
        }
        rows.push(Row { of: FEATURE, line: number, cells });
    }
    Ok(rows)
}

/// Rows of the links, with a head: each line from node to node, which its properties name, or which lie at its ends.
pub(super) fn links(file: &str, text: &str, nodes: &[Word], words: &[Word]) -> Result<Vec<Row>, String> {
    let document = read(file, text)?;
    let ids = nodes.iter().find(|(name, _)| *name == "id").map_or(&[][..], |(_, others)| others);
    let mut named: Vec<([f64; 2], String)> = Vec::new();
    for (number, point) in of_kind(file, &document, "Point").unwrap_or_default() {
        let place = position(file, number, point["geometry"].get("coordinates"))?;
        let id = property(point, "id", ids).or_else(|| point.get("id").and_then(cell));
        named.extend(id.map(|id| ([place[0], place[1]], id)));
    }
    let mut rows = vec![Row { of: FEATURE, line: 0, cells: ["id", "from", "to"].map(String::from).into() }];
    for (number, feature) in of_kind(file, &document, "LineString")? {
        let along = feature["geometry"].get("coordinates").and_then(Value::as_array);
        let end = |name: &str, last: bool| {
            let (_, others) = words.iter().find(|(other, _)| *other == name)?;
            let at = || {
                let along = along.filter(|along| along.len() > 1)?;
                let place = position(file, number, if last { along.last() } else { along.first() }).ok()?;
                let is_there = |(other, _): &&([f64; 2], String)| other[..] == place[..2];
                named.iter().find(is_there).map(|(_, id)| id.clone())
            };
            property(feature, name, others).or_else(at)
        };
        let (Some(from), Some(to)) = (end("from", false), end("to", true)) else {
            return Err(format!(
                "{file}, feature {number}: a line has no nodes; give it the properties from and to, or let it begin and end \
                 where points lie that have names"
            ));
        };
        let id = property(feature, "id", &["id"]).or_else(|| feature.get("id").and_then(cell));
        let id = id.unwrap_or_else(|| rows.len().to_string());
        rows.push(Row { of: FEATURE, line: number, cells: vec![id, from, to] });
    }
    Ok(rows)
}

const FEATURE: &str = "feature";
/// Columns that a point's coordinates fill, in their order.
const PLACES: [&str; 2] = ["longitude", "latitude"];

fn read(file: &str, text: &str) -> Result<Value, String> {
    let document: Value = serde_json::from_str(text).map_err(|why| format!("{file} is not JSON: {why}"))?;
    // Programs still write the key that RFC 7946 removed in 2016.
    let projection = document["crs"]["properties"]["name"].as_str().unwrap_or_default();
    if !(projection.is_empty() || projection.ends_with("CRS84") || projection.ends_with("4326")) {
        return Err(format!("{file} has coordinates in {projection}; save it in WGS 84, which GeoJSON has"));
    }
    Ok(document)
}

/// The features with a geometry of a kind.
fn of_kind<'a>(file: &str, document: &'a Value, kind: &str) -> Result<Vec<Feature<'a>>, String> {
    let all = match document["type"].as_str() {
        Some("FeatureCollection") => document["features"].as_array().map(Vec::as_slice),
        Some("Feature") => Some(std::slice::from_ref(document)),
        _ => None,
    };
    let all = all.ok_or_else(|| format!("{file} is no GeoJSON: it has no features (FeatureCollection)"))?;
    let numbered = (1..).zip(all).filter_map(|(number, feature)| Some((number, feature.as_object()?)));
    let found: Vec<Feature<'_>> = numbered
        .filter(|(_, feature)| feature.get("geometry").is_some_and(|geometry| geometry["type"] == kind))
        .collect();
    if found.is_empty() {
        let list = if kind == "Point" {
            "nodes are features of the type Point"
        } else {
            "links are features of the type LineString"
        };
        return Err(format!("{file} has no {kind}; {list}"));
    }
    Ok(found)
}

/// Longitude, latitude and perhaps height.
fn position(file: &str, number: u64, place: Option<&Value>) -> Result<Vec<f64>, String> {
    let numbers = place.and_then(Value::as_array).map(|all| all.iter().map_while(Value::as_f64).collect());
    let wrong = || {
        format!("{file}, feature {number}: coordinates are a longitude and a latitude, such as [13.4, 52.5]")
    };
    numbers.filter(|numbers: &Vec<f64>| numbers.len() > 1).ok_or_else(wrong)
}

/// The property that a column's words name, by their order; a node's name goes before its number.
fn property(feature: &Map<String, Value>, name: &str, words: &[&str]) -> Option<String> {
    let properties = feature.get("properties")?.as_object()?;
    let named = |word: &str| {
        let mut all = properties.iter().filter(|(key, _)| plain(key) == word);
        all.find_map(|(_, value)| cell(value))
    };
    let first = (name == "id" && words.contains(&"name")).then_some("name");
    first.into_iter().chain(words.iter().copied()).find_map(named)
}

/// A value as the cell of a table; none unless it is a text, number or truth.
fn cell(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_string(),
        Value::Number(number) => number.to_string(),
        Value::Bool(is) => is.to_string(),
        _ => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}
