//! The columns of a list by the words that people use for them.

use super::number;
use crate::lists::{Row, plain};
use evenair_service::meant::did_you_mean;

/// A column: its name here, and other words for it, in small letters without signs.
pub(super) type Word = (&'static str, &'static [&'static str]);

const ID: Word = (
    "id",
    &[
        "id", "name", "node", "nodeid", "nodename", "label", "hostname", "host", "station", "ap", "router",
        "device",
    ],
);
const FROM: Word = ("from", &["from", "source", "src", "transmitter", "tx", "sender", "client"]);
const TO: Word =
    ("to", &["to", "target", "destination", "dest", "dst", "receiver", "rx", "sink", "server", "gateway"]);

const X: Word = ("x", &["x", "xm", "east", "eastm", "easting", "posx"]);
const Y: Word = ("y", &["y", "ym", "north", "northm", "northing", "posy"]);
const LATITUDE: Word = ("latitude", &["latitude", "lat", "latdeg"]);
const LONGITUDE: Word = ("longitude", &["longitude", "lon", "lng", "long", "londeg"]);
const HEIGHT: Word = ("height", &["height", "heightm", "z", "zm", "up", "alt", "altitude", "elevation"]);

pub(super) const NODES: &[Word] = &[
    ID,
    X,
    Y,
    LATITUDE,
    LONGITUDE,
    HEIGHT,
    ("channel", &["channel", "chan", "ch"]),
    ("transmit_power", &["transmitpower", "txpower", "power", "txpowerdbm", "powerdbm", "eirp"]),
];
pub(super) const FLOWS: &[Word] = &[
    ("id", &["id", "name", "flow", "flowid", "label"]),
    FROM,
    TO,
    ("traffic", &["traffic", "kind", "type"]),
    ("rate", &["rate", "datarate", "load", "demand"]),
    ("size", &["size", "packetsize"]),
    ("transfer", &["transfer", "volume", "bytes"]),
    ("start", &["start", "begin"]),
    ("stop", &["stop", "end"]),
    ("window", &["window", "tcp", "congestioncontrol"]),
    ("application_rate", &["applicationrate", "apprate"]),
    ("interval", &["interval"]),
    ("weight", &["weight", "share"]),
];
pub(super) const TRACKS: &[Word] = &[
    ("node", ID.1),
    ("time", &["time", "times", "t", "ts", "seconds", "timestamp"]),
    X,
    Y,
    LATITUDE,
    LONGITUDE,
    HEIGHT,
];
pub(super) const SIGNALS: &[Word] = &[
    FROM,
    TO,
    ("power", &["power", "powerdbm", "signal", "signaldbm", "rssi", "rssidbm", "level", "dbm", "rxpower"]),
    ("one_way", &["oneway", "onewayonly"]),
];
pub(super) const WALLS: &[Word] = &[
    ("x1", &["x1", "fromx", "east1"]),
    ("y1", &["y1", "fromy", "north1"]),
    ("x2", &["x2", "tox", "east2"]),
    ("y2", &["y2", "toy", "north2"]),
    ("loss", &["loss", "lossdb", "attenuation", "db"]),
];

/// The columns that a first line names.
pub(super) struct Columns<'a> {
    /// The name here, and its place.
    places: Vec<(&'a str, usize)>,
}

impl<'a> Columns<'a> {
    /// The columns of a first line; columns with an empty head, or one that begins with `#` or `_`, are left out.
    pub(super) fn of(file: &str, head: &Row, words: &'a [Word]) -> Result<Self, String> {
        let mut places: Vec<(&str, usize)> = Vec::new();
        for (place, cell) in head.cells.iter().enumerate() {
            if cell.is_empty() || cell.starts_with(['#', '_']) {
                continue;
            }
            let word = plain(cell);
            let Some((name, _)) = words.iter().find(|(_, others)| others.contains(&word.as_str())) else {
                let known = words.iter().map(|(name, _)| *name);
                let meant = did_you_mean(cell, known.clone());
                let meant =
                    meant.unwrap_or_else(|| format!("columns are {}", known.collect::<Vec<_>>().join(", ")));
                return Err(format!(
                    "{}: there is no column \"{cell}\"; {meant} (a head that begins with # leaves its column out)",
                    head.of(file)
                ));
            };
            if places.iter().any(|(other, _)| other == name) {
                return Err(format!("{}: two columns are \"{name}\"; leave one out", head.of(file)));
            }
            places.push((*name, place));
        }
        Ok(Self { places })
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.places.iter().any(|(other, _)| *other == name)
    }

    /// The columns of a place, the one to the east first: on the globe, if it has these, else on the plane.
    pub(super) fn place(&self) -> Option<(&'static str, &'static str)> {
        [("longitude", "latitude"), ("x", "y")].into_iter().find(|(a, b)| self.has(a) && self.has(b))
    }

    /// Whether places are in degrees.
    pub(super) fn are_degrees(&self) -> bool {
        self.has("latitude") && self.has("longitude")
    }

    pub(super) fn need(&self, file: &str, names: &[&str]) -> Result<(), String> {
        match names.iter().find(|name| !self.has(name)) {
            Some(missing) => {
                Err(format!("{file} has no column \"{missing}\"; its first line names the columns"))
            }
            None => Ok(()),
        }
    }

    /// A cell, if the column is there and it is not empty.
    pub(super) fn optional<'r>(&self, row: &'r Row, name: &str) -> Option<&'r str> {
        let (_, place) = self.places.iter().find(|(other, _)| *other == name)?;
        row.cells.get(*place).map(String::as_str).filter(|cell| !cell.is_empty())
    }

    pub(super) fn text<'r>(&self, file: &str, row: &'r Row, name: &str) -> Result<&'r str, String> {
        self.optional(row, name).ok_or_else(|| format!("{}: {name} is empty", row.of(file)))
    }

    pub(super) fn number(&self, file: &str, row: &Row, name: &str) -> Result<f64, String> {
        number(file, row, name, self.text(file, row, name)?)
    }
}
