//! Nodes that move: their tracks, checked.

use crate::build::node_number;
use crate::error::Mistake;
use crate::language::{At, Scenario, TrackTable, WalkTable};
use evenair_des::Stream;
use evenair_topology::{Position, RandomWaypoint, Track};
use evenair_units::{Duration, Instant};

/// Nothing that carries a station goes faster \[m/s\]: a fast aeroplane.
const SPEED_MAX_M_PER_S: f64 = 350.0;
/// The shortest time between two scenes.
const EVERY_MIN: Duration = Duration::from_millis(1);

impl Scenario {
    /// Checks how nodes move, writes the defaults, and gives each node that moves its place at the beginning.
    pub(crate) fn complete_mobility(&mut self) -> Result<(), Mistake> {
        if self.tracks.is_empty() && self.walks.is_empty() {
            return match self.mobility {
                Some(_) => {
                    Err(Mistake::at("mobility", "no node moves: add [[tracks]] or [[walks]], or remove it"))
                }
                None => Ok(()),
            };
        }
        let table = *self.mobility.get_or_insert_default();
        if table.every.0 < EVERY_MIN {
            return Err(Mistake::at("mobility.every", format!("must be at least {EVERY_MIN}")));
        }
        let (every, routes) = (table.every.0.as_nanos(), table.routes.0.as_nanos());
        if routes == 0 || !routes.is_multiple_of(every) {
            let why = format!("must be a multiple of mobility.every, which is {}", table.every);
            return Err(Mistake::at("mobility.routes", why));
        }
        self.check_what_moves()?;
        for (node, track) in self.moving()? {
            let Position { x_m, y_m, z_m } = track.at(Instant::ZERO);
            self.nodes[node].at = Some(At { up_m: (z_m != 0.0).then_some(z_m), ..At::ground(x_m, y_m) });
        }
        Ok(())
    }

    /// Refuses settings that contradict moving nodes.
    fn check_what_moves(&self) -> Result<(), Mistake> {
        let others = [
            (self.radio.is_none(), "needs a [radio], by which places decide on hearing"),
            (self.nodes.is_empty(), "needs [[nodes]] with names"),
            (
                self.mac.kind == crate::language::MacKind::Ideal,
                "is not built for ideal CSMA; take a kind of 802.11",
            ),
            (self.gateway.is_some(), "is not built for networks with a gateway"),
            (!self.outside.is_empty(), "is not built for packets from outside"),
        ];
        match others.into_iter().find(|(is, _)| *is) {
            Some((_, why)) => Err(Mistake::at("mobility", why)),
            None => Ok(()),
        }
    }

    /// The nodes that move, by number, and their tracks.
    pub(crate) fn moving(&self) -> Result<Vec<(usize, Track)>, Mistake> {
        let names: Vec<String> = self.nodes.iter().map(|node| node.id.clone()).collect();
        let end = Instant::ZERO + self.warmup.0 + self.duration.0;
        let mut moving: Vec<(usize, Track)> = Vec::new();
        let mut add = |mistake: &dyn Fn(String) -> Mistake,
                       id: &str,
                       track: &dyn Fn(usize) -> Result<Track, Mistake>| {
            let node = node_number(id, &names).map_err(mistake)? as usize;
            if moving.iter().any(|(other, _)| *other == node) {
                return Err(mistake(format!("\"{id}\" moves already by another entry")));
            }
            moving.push((node, track(node)?));
            Ok(())
        };
        for (index, table) in self.tracks.iter().enumerate() {
            let wrong = |why: String| Mistake::entry("tracks", index, "node", why);
            add(&wrong, &table.node, &|_| {
                table.track().map_err(|(key, why)| Mistake::entry("tracks", index, key, why))
            })?;
        }
        for (index, table) in self.walks.iter().enumerate() {
            let wrong = |why: String| Mistake::entry("walks", index, "nodes", why);
            let walk = table.walk().map_err(|(key, why)| Mistake::entry("walks", index, key, why))?;
            for id in &table.nodes {
                let track = |node: usize| {
                    let start = || {
                        let mut stream = Stream::named(table.seed, id, "walk's start");
                        walk.point(|| stream.unit())
                    };
                    let from = self.nodes[node].at.map_or_else(start, position);
                    let mut stream = Stream::named(table.seed, id, "walk");
                    Ok(walk.walk(from, end, || stream.unit()))
                };
                add(&wrong, id, &track)?;
            }
        }
        Ok(moving)
    }
}

/// A place of the language as one of the packet world.
pub(crate) fn position(at: At) -> Position {
    Position::new(at.east_m, at.north_m).up(at.up_m.unwrap_or(0.0))
}

impl TrackTable {
    /// The track; else a key and its mistake.
    fn track(&self) -> Result<Track, (&'static str, String)> {
        let wrong = |why: String| Err(("points", why));
        if self.points.is_empty() {
            return wrong("has no point".into());
        }
        if let Some(pair) = self.points.windows(2).find(|pair| pair[1].time.0 <= pair[0].time.0) {
            return wrong(format!(
                "{} follows {}: points must be in the order of time",
                pair[1].time, pair[0].time
            ));
        }
        let mut coordinates = self.points.iter().flat_map(|point| point.at.coordinates());
        if !coordinates.all(|x| x.is_finite() && x.abs() < 1e9) {
            return wrong("coordinates are metres from a point near by, less than 1e9 of them".into());
        }
        let point = |point: &crate::language::PointTable| (Instant::ZERO + point.time.0, position(point.at));
        let track = Track::new(self.points.iter().map(point).collect());
        match track.fastest().filter(|&(_, speed)| speed > SPEED_MAX_M_PER_S) {
            Some((place, speed)) => wrong(format!(
                "goes at {speed:.0} m/s to its point of {}; at most {SPEED_MAX_M_PER_S} m/s",
                self.points[place].time
            )),
            None => Ok(track),
        }
    }
}

impl WalkTable {
    /// The rule of the walks; else a key and its mistake.
    fn walk(&self) -> Result<RandomWaypoint, (&'static str, String)> {
        let [slowest, fastest] = self.speed.map(|speed| speed.0);
        if !(slowest > 0.0 && slowest <= fastest && fastest <= SPEED_MAX_M_PER_S) {
            let why = format!(
                "from {slowest} to {fastest} m/s must ascend, from above 0 to at most {SPEED_MAX_M_PER_S} m/s"
            );
            return Err(("speed", why));
        }
        let area = self.area.map(position);
        if area[0] == area[1] || !self.area.iter().flat_map(At::coordinates).all(f64::is_finite) {
            return Err(("area", "needs two corners of a rectangle, in metres".into()));
        }
        Ok(RandomWaypoint { area, speed_m_per_s: [slowest, fastest], pause: self.pause.0 })
    }
}
