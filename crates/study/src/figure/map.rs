//! Maps of networks.

use super::names::{Named, beside};
use crate::chart::{
    Axis, Chart, Height, Key, Marks, Moment, Panel, Point, Series, Side, Span, Symbol, Ticks, fills,
};
use evenair_results::verdict::{Standing, Verdict};
use evenair_scenario::Resolved;
use evenair_units::Instant;
use std::f64::consts::TAU;

/// More flows than this have one colour.
const FLOWS_MAX: usize = 8;
/// How flows fare, the worst first, and their colours, which people with the usual colour blindnesses tell apart (Okabe and Ito).
const FARES: [(&str, &str); 4] = [
    ("starves", "#d55e00"),
    ("gets less than half", "#e69f00"),
    ("gets half or more", "#0072b2"),
    ("finished or idle", "#8c8c8c"),
];
/// The grey parts of a map.
const GREY: &str = "#858585";
const LINKS: &str = "links in use";
const WIRES: &str = "wires";
const WALLS: &str = "walls";
/// The colour of walls.
const BRICK: &str = "#8c564b";
const ATTACHED: &str = "attached to the outside";
/// How narrow a map may be for its names to stand clear of each other \[px\].
const NARROW: f64 = 380.0;
/// The least and the greatest height of a map over its width.
const SHAPE: (f64, f64) = (0.28, 1.1);
/// The instants of a map with moving nodes, beside the beginning.
const MOMENTS: u32 = 40;
/// How many times larger than its nodes need a map is for a range to be on it.
const LARGEST: f64 = 3.0;

/// Nodes where they stand, the ways of flows, and both ranges around the node in the middle: axes are in metres, and equal. Flows have
/// colours of their own, or those of how they fare, where there is a verdict. Of a scenario without positions, the conflict graph.
///
/// Where nodes move it is that of the beginning, with those of other instants on the same ground.
pub(super) fn map(scenario: &Resolved, verdict: Option<&Verdict>) -> Chart {
    if !scenario.moves() || scenario.layout().positions.is_none() {
        return still(scenario, verdict, None);
    }
    let run = scenario.run_spec(0);
    let end = Instant::ZERO + run.warmup + run.duration;
    let (Ok(start), Ok(moments)) =
        (scenario.at(Instant::ZERO), scenario.moments(Instant::ZERO, end, MOMENTS))
    else {
        return still(scenario, verdict, None);
    };
    let wider = |a: [f64; 4], b: [f64; 4]| [a[0].min(b[0]), a[1].max(b[1]), a[2].min(b[2]), a[3].max(b[3])];
    let extents = moments.iter().map(|(_, then)| Map::of(then, None).map_or([0.0; 4], |map| map.extent));
    let extent = extents.reduce(wider);
    let of_then = |then: &Resolved| {
        verdict.map(|verdict| {
            let flows = then.network().flows.iter();
            let of = |name: &str| verdict.flows.iter().find(|flow| flow.flow == name).cloned();
            Verdict { flows: flows.filter_map(|flow| of(&flow.name)).collect(), ..verdict.clone() }
        })
    };
    let moment = |(at, then): &(Instant, Resolved)| Moment {
        time_s: (at.as_secs_f64() * 10.0).round() / 10.0,
        panels: still(then, of_then(then).as_ref(), extent).panels,
    };
    let first = still(&start, of_then(&start).as_ref(), extent);
    Chart { moments: moments.iter().map(moment).collect(), ..first }
}

/// A map of nodes that stand still, on this ground or as much as they need.
fn still(scenario: &Resolved, verdict: Option<&Verdict>, extent: Option<[f64; 4]>) -> Chart {
    let Some(mut map) = Map::of(scenario, verdict) else { return super::graph::conflict_graph(scenario) };
    map.extent = extent.unwrap_or(map.extent);
    let extent = map.extent;
    let mut series = map.circles();
    series.extend(map.walls());
    series.extend(map.ways());
    let (nodes, unnamed) = map.nodes();
    series.extend(nodes);
    let axis = |title: &str, low, high| Axis::of(title, (low, high), Ticks::Numbers);
    let panel = Panel {
        title: String::new(),
        x: axis("east [m]", extent[0], extent[1]),
        y: axis("north [m]", extent[2], extent[3]),
        height: Height::OfWidth((extent[3] - extent[2]) / (extent[1] - extent[0])),
        series,
    };
    let (colours, dashes) = map.keys();
    Chart {
        note: map.note(unnamed),
        colours,
        dashes,
        panels: vec![panel],
        width: (260.0, 620.0),
        ..Chart::default()
    }
}

struct Map<'a> {
    scenario: &'a Resolved,
    /// How flows fare, where it is known.
    verdict: Option<&'a Verdict>,
    /// Where nodes stand, as far as it is known [m].
    places: Vec<Option<[f64; 2]>>,
    /// Least and greatest x, least and greatest y [m].
    extent: [f64; 4],
}

/// The range of a node.
struct Range {
    name: String,
    middle: [f64; 2],
    radius_m: f64,
}

impl<'a> Map<'a> {
    /// A map of nodes with positions.
    fn of(scenario: &'a Resolved, verdict: Option<&'a Verdict>) -> Option<Self> {
        let positions = scenario.layout().positions.as_ref()?;
        let places = positions.iter().map(|place| place.map(|place| [place.x_m, place.y_m])).collect();
        let mut map = Self { scenario, verdict, places, extent: [0.0; 4] };
        map.extent = map.extent();
        Some(map)
    }

    fn placed(&self) -> impl Iterator<Item = (usize, [f64; 2])> {
        self.places.iter().enumerate().filter_map(|(node, place)| Some((node, (*place)?)))
    }

    /// The node nearest to the middle of all.
    fn middle(&self) -> Option<(usize, [f64; 2])> {
        let count = self.placed().count() as f64;
        let sum = self.placed().fold([0.0, 0.0], |[x, y], (_, [a, b])| [x + a, y + b]);
        let far = |[x, y]: [f64; 2]| (x - sum[0] / count).hypot(y - sum[1] / count);
        self.placed().min_by(|(_, a), (_, b)| far(*a).total_cmp(&far(*b)))
    }

    /// Both ranges of the node in the middle.
    fn ranges(&self) -> Vec<Range> {
        let (Some(radii), Some((node, middle))) = (self.scenario.layout().ranges_m, self.middle()) else {
            return Vec::new();
        };
        let of = &self.scenario.network().nodes[node];
        let range = |(what, radius_m): (&str, f64)| Range {
            name: format!("{what} range of {of}, {radius_m:.0} m"),
            middle,
            radius_m,
        };
        [("transmission", radii.0), ("carrier-sense", radii.1)].map(range).into()
    }

    /// Walls, as far as they are on the map.
    fn walls(&self) -> impl Iterator<Item = Series> {
        self.scenario.settings().walls.iter().map(|wall| {
            let points = [wall.from, wall.to].map(|[x, y]| Point { x, y, interval: None });
            let line = Marks::Line { points: points.into(), stepped: false, dotted: false };
            Series::coloured(WALLS, WALLS, line)
        })
    }

    /// Whether all of the map lies within a range, so that none of its circle is seen.
    fn is_beyond(&self, range: &Range) -> bool {
        let ([west, east, south, north], [x, y]) = (self.extent, range.middle);
        range.radius_m > (x - west).max(east - x).hypot((y - south).max(north - y))
    }

    /// The ranges' circles, as far as they are on the map.
    fn circles(&self) -> Vec<Series> {
        let circle = |range: &Range| {
            let at = |k: u32| {
                let (angle, [x, y]) = (TAU * f64::from(k) / 96.0, range.middle);
                Point {
                    x: x + range.radius_m * angle.cos(),
                    y: y + range.radius_m * angle.sin(),
                    interval: None,
                }
            };
            let line = Marks::Line { points: (0..=96).map(at).collect(), stepped: false, dotted: false };
            let name = &range.name;
            Series { dash: Some(name.clone()), ..Series::coloured(name, name, line) }
        };
        self.ranges().iter().filter(|range| !self.is_beyond(range)).map(circle).collect()
    }

    /// All nodes, and each whole circle that makes the map at most three times as large; larger circles are cut at the map's
    /// edge.
    fn extent(&self) -> [f64; 4] {
        let nodes = [0, 1].map(|of| Span::of(self.placed().map(|(_, place)| place[of])).with_margin());
        let width = |(low, high): (f64, f64)| high - low;
        let largest = |sides: [(f64, f64); 2]| width(sides[0]).max(width(sides[1]));
        let with = |[x, y]: [(f64, f64); 2], range: &Range| {
            let around = |(low, high): (f64, f64), at: f64| {
                let circle = Span::of([at - range.radius_m, at + range.radius_m]).with_margin();
                (low.min(circle.0), high.max(circle.1))
            };
            [around(x, range.middle[0]), around(y, range.middle[1])]
        };
        let grown = self.ranges().iter().fold(nodes, |sides, range| {
            let larger = with(sides, range);
            if largest(larger) <= LARGEST * largest(nodes) { larger } else { sides }
        });
        let about = |(low, high): (f64, f64), width: f64| {
            let middle = f64::midpoint(low, high);
            (middle - width / 2.0, middle + width / 2.0)
        };
        let [x, y] = grown;
        let y = about(y, width(y).max(SHAPE.0 * width(x)));
        let x = about(x, width(x).max(width(y) / SHAPE.1));
        [x.0, x.1, y.0, y.1]
    }

    /// Wires, and the hops of flows with an arrow on each; flows beside each other where they share a hop.
    fn ways(&self) -> Vec<Series> {
        let network = self.scenario.network();
        let extent = self.extent[1] - self.extent[0];
        let mut series = Vec::new();
        let wired: Vec<[f64; 4]> =
            network.wires.iter().filter_map(|w| self.hop(w.from as usize, w.to as usize, 0.0)).collect();
        if !wired.is_empty() {
            series.push(Series::coloured(WIRES, WIRES, Marks::Segments { segments: wired, thick: 1.5 }));
        }
        if self.is_crowded() && self.verdict.is_none() {
            let hops = self.scenario.layout().links.iter();
            let segments =
                hops.filter_map(|(_, link)| self.hop(link.from as usize, link.to as usize, 0.0)).collect();
            series.push(Series::coloured(LINKS, LINKS, Marks::Segments { segments, thick: 1.2 }));
            return series;
        }
        // Those that get the most come first, so that those that starve lie above them.
        let mut order: Vec<usize> = (0..network.flows.len()).collect();
        order.sort_by_key(|&k| std::cmp::Reverse(self.fare(k)));
        for k in order {
            let flow = &network.flows[k];
            let hop = |hop: &[u32]| {
                let others =
                    (0..network.flows.len()).filter(|&other| shares(&network.flows[other].path, hop));
                let others: Vec<usize> = others.collect();
                let place = others.iter().take_while(|&&other| other < k).count() as f64;
                let beside = if self.is_crowded() { 0.0 } else { place - (others.len() as f64 - 1.0) / 2.0 };
                let aside = 0.006 * extent * beside;
                self.hop(hop[0] as usize, hop[1] as usize, aside)
            };
            let hops = flow.path.windows(2).filter_map(hop);
            let segments = hops.flat_map(|hop| arrow(hop, 0.016 * extent)).collect();
            let name = flow_name(&flow.name);
            let marks = Marks::Segments { segments, thick: 2.0 };
            let colour = self.fare(k).map_or_else(|| name.clone(), |fare| FARES[fare].0.into());
            series.push(Series::coloured(name, colour, marks));
        }
        series
    }

    /// Whether there are more flows than stand beside each other on a hop.
    fn is_crowded(&self) -> bool {
        self.scenario.network().flows.len() > FLOWS_MAX
    }

    /// How a flow fares, by its place in [`FARES`].
    fn fare(&self, flow: usize) -> Option<usize> {
        self.verdict.map(|verdict| match verdict.flows.get(flow).map(|flow| flow.standing) {
            Some(Standing::Starves) => 0,
            Some(Standing::Short) => 1,
            Some(Standing::Served) => 2,
            Some(Standing::Finished | Standing::Idle) | None => 3,
        })
    }

    /// From one node to another, a little aside, to the left when looking east.
    fn hop(&self, from: usize, to: usize, aside: f64) -> Option<[f64; 4]> {
        let ([x, y], [x2, y2]) = (self.places[from]?, self.places[to]?);
        let length = (x2 - x).hypot(y2 - y).max(1e-9);
        // The same side for both directions, so that a flow stays on one side of its way.
        let sign = if (x2 - x, y2 - y) > (0.0, 0.0) { 1.0 } else { -1.0 };
        let (dx, dy) = (-sign * aside * (y2 - y) / length, sign * aside * (x2 - x) / length);
        Some([x + dx, y + dy, x2 + dx, y2 + dy])
    }

    /// Nodes and their names, and how many names have no room.
    fn nodes(&self) -> ([Series; 3], usize) {
        let [west, east, south, north] = self.extent;
        let names = &self.scenario.network().nodes;
        let outside = &self.scenario.settings().outside;
        let (attached, at): (Vec<_>, Vec<_>) =
            self.placed().partition(|&(node, _)| outside.contains(&names[node]));
        let symbols = |nodes: Vec<(usize, [f64; 2])>, symbol| Marks::Symbols {
            symbol,
            at: nodes.into_iter().map(|(_, place)| place).collect(),
        };
        let named = |(node, at): (usize, [f64; 2])| Named {
            at,
            text: names[node].clone(),
            side: self.free_side(node, at),
        };
        let size = [NARROW, NARROW * (north - south) / (east - west)];
        let labels = beside(self.placed().map(named).collect(), size, (west, east), (south, north));
        let unnamed = self.placed().count() - labels.len();
        let series = [
            Series::ink("nodes", symbols(at, Symbol::Node)),
            Series::ink(ATTACHED, symbols(attached, Symbol::Diamond)),
            Series::ink("names", Marks::Labels { labels }),
        ];
        (series, unnamed)
    }

    /// The side of a node that is farthest from all ways, by angle.
    fn free_side(&self, node: usize, [x, y]: [f64; 2]) -> Side {
        let hops = self.scenario.network().flows.iter().flat_map(|flow| flow.path.windows(2));
        let ends = hops.filter_map(|hop| match (hop[0] as usize == node, hop[1] as usize == node) {
            (true, _) => self.places[hop[1] as usize],
            (_, true) => self.places[hop[0] as usize],
            _ => None,
        });
        let ways: Vec<[f64; 2]> = ends
            .map(|[to_x, to_y]| {
                let length = (to_x - x).hypot(to_y - y).max(1e-9);
                [(to_x - x) / length, (to_y - y) / length]
            })
            .collect();
        // The cosine of the angle to the nearest way.
        let nearest = |[east, north]: [f64; 2]| {
            let cosine = ways.iter().map(|way| way[0] * east + way[1] * north).fold(-1.0, f64::max);
            (1e6 * cosine).round() as i32
        };
        let sides = [
            (Side::Above, [0.0, 1.0]),
            (Side::Right, [1.0, 0.0]),
            (Side::Left, [-1.0, 0.0]),
            (Side::Below, [0.0, -1.0]),
        ];
        let freest = sides.into_iter().min_by_key(|&(_, side)| nearest(side));
        freest.expect("four sides").0
    }

    /// The legend of its lines.
    fn keys(&self) -> (Vec<Key>, Vec<Key>) {
        let network = self.scenario.network();
        let key = |name: &str, look: &str| Key { name: name.into(), look: look.into() };
        let mut colours = Vec::new();
        if self.verdict.is_some() {
            let fares = |fare: usize| (0..network.flows.len()).any(|flow| self.fare(flow) == Some(fare));
            let there = FARES.iter().enumerate().filter(|(fare, _)| fares(*fare));
            colours.extend(there.map(|(_, (name, look))| key(name, look)));
        } else if self.is_crowded() {
            colours.push(key(LINKS, "#0072b2"));
        } else {
            let names: Vec<String> = network.flows.iter().map(|f| flow_name(&f.name)).collect();
            colours.extend(fills(&names.iter().map(String::as_str).collect::<Vec<_>>()));
        }
        if !network.wires.is_empty() {
            colours.push(key(WIRES, GREY));
        }
        if !self.scenario.settings().walls.is_empty() {
            colours.push(key(WALLS, BRICK));
        }
        let mut dashes: Vec<Key> = colours.iter().map(|c| key(&c.name, "")).collect();
        for (range, dash) in self.ranges().iter().zip(["", "7 3"]) {
            let beyond = if self.is_beyond(range) { ": beyond the map" } else { "" };
            let name = format!("{}{beyond}", range.name);
            colours.push(key(&name, GREY));
            dashes.push(key(&name, dash));
        }
        (colours, dashes)
    }

    fn note(&self, unnamed: usize) -> String {
        let nowhere = self.places.iter().filter(|place| place.is_none()).count();
        let nowhere = match nowhere {
            0 => String::new(),
            1 => "One node has no position and is not drawn.".into(),
            n => format!("{n} nodes have no position and are not drawn."),
        };
        let unnamed = match unnamed {
            0 => String::new(),
            1 => "The name of one node does not fit.".into(),
            n => format!("The names of {n} nodes do not fit."),
        };
        let attached = self.scenario.settings().outside.join(", ");
        let attached = match attached.as_str() {
            "" => attached,
            _ => format!("Diamonds ({attached}) are attached to the outside."),
        };
        let fares =
            if self.verdict.is_some() { "Colours: each flow's share of its fair optimum." } else { "" };
        format!("{fares} {nowhere} {unnamed} {attached}").trim().into()
    }
}

/// Whether a path has a hop, in either direction.
fn shares(path: &[u32], hop: &[u32]) -> bool {
    path.windows(2).any(|other| other == hop || [other[1], other[0]] == *hop)
}

fn flow_name(name: &str) -> String {
    format!("flow {name}")
}

/// A line with an arrow in its middle that points to its end.
fn arrow([x, y, x2, y2]: [f64; 4], size: f64) -> [[f64; 4]; 3] {
    let length = (x2 - x).hypot(y2 - y).max(1e-9);
    let (dx, dy) = ((x2 - x) / length * size, (y2 - y) / length * size);
    let (tip_x, tip_y) = (x + 0.6 * (x2 - x), y + 0.6 * (y2 - y));
    let barb = |side: f64| [tip_x, tip_y, tip_x - dx - side * 0.6 * dy, tip_y - dy + side * 0.6 * dx];
    [[x, y, x2, y2], barb(1.0), barb(-1.0)]
}

#[cfg(test)]
mod tests {
    use crate::chart::{Marks, Symbol};
    use crate::library;
    use evenair_scenario::Resolved;

    #[test]
    fn nodes_that_are_attached_to_outside_are_seen() {
        let attached = [r#"outside=["s1", "r1"]"#.to_string()];
        let scenario = library::scenario("chen10/a", None, &attached).unwrap();
        let map = super::map(&scenario, None);
        assert!(map.note.contains("Diamonds (s1, r1)"), "{}", map.note);
        let diamonds = map.panels[0].series.iter().find(|series| series.name == super::ATTACHED).unwrap();
        assert!(matches!(&diamonds.marks, Marks::Symbols { symbol: Symbol::Diamond, at } if at.len() == 2));
    }

    #[test]
    fn walls_are_lines_within_the_map() {
        let wall = [r#"walls=[{ from = [300, -900], to = [300, 900], loss = "6 dB" }]"#.to_string()];
        let map = super::map(&library::scenario("chen10/a", None, &wall).unwrap(), None);
        let walls: Vec<_> =
            map.panels[0].series.iter().filter(|series| series.name == super::WALLS).collect();
        assert!(
            matches!(&walls[..], [one] if matches!(&one.marks, Marks::Line { points, .. } if points.len() == 2))
        );
        assert_eq!(map.colours.iter().filter(|key| key.name == super::WALLS).count(), 1);
    }

    /// Five links, each of which conflicts with two.
    const RING: &str = r#"
        mac = { kind = "ideal" }
        conflicts = [["a", "b"], ["b", "c"], ["c", "d"], ["d", "e"], ["e", "a"]]
        links = [
            { id = "a", from = "0", to = "1" }, { id = "b", from = "2", to = "3" }, { id = "c", from = "4", to = "5" },
            { id = "d", from = "6", to = "7" }, { id = "e", from = "8", to = "9" },
        ]
        flows = [
            { id = "a", from = "0", to = "1" }, { id = "b", from = "2", to = "3" }, { id = "c", from = "4", to = "5" },
            { id = "d", from = "6", to = "7" }, { id = "e", from = "8", to = "9" },
        ]
    "#;

    /// Two flows that carrier sense covers from one side alone, and rooms much smaller than any range.
    const TWO: &str = r#"
        radio = { transmission_range = "250 m", carrier_sense_range = "800 m" }
        nodes = [{ id = "a", at = [0, 0] }, { id = "b", at = [0, 100] }, { id = "c", at = [600, 0] }, { id = "d", at = [600, 100] }]
        flows = [{ id = "left", from = "a", to = "b" }, { id = "right", from = "c", to = "d" }]
    "#;

    #[test]
    fn circles_are_whole_or_end_at_the_map() {
        let map = |text: &str| super::map(&Resolved::parse("two", text, &[]).unwrap(), None);
        let whole = map(TWO);
        assert!(
            whole.panels[0].x.ends.0 < -800.0 && whole.panels[0].y.ends.1 > 800.0,
            "{:?}",
            whole.panels[0].x
        );
        let cut = map(&TWO.replace("800 m", "950 m").replace("250 m", "800 m"));
        let beyond = map(&TWO.replace("[600", "[60").replace("100]", "10]"));
        for chart in [&whole, &cut, &beyond] {
            assert!(chart.room(720.0).1 < 1.0, "{:?}", chart.room(720.0));
        }
        let circles = |chart: &super::Chart| {
            let circle = |series: &&super::Series| series.name.contains("range of");
            chart.panels[0].series.iter().filter(circle).count()
        };
        assert_eq!([circles(&whole), circles(&cut), circles(&beyond)], [2, 2, 0]);
        assert!(beyond.colours.last().unwrap().name.ends_with("800 m: beyond the map"));
    }

    #[test]
    fn a_conflict_graph_fills_its_picture() {
        let chart = super::map(&Resolved::parse("ring", RING, &[]).unwrap(), None);
        let (width, _) = chart.room(720.0);
        assert!((400.0..440.0).contains(&width), "{width}");
        let page = chart.svg_in_text(520.0);
        assert!(page.contains("style=\"width:8"), "it is as large beside other figures: {}", &page[..200]);
    }

    #[test]
    fn verdicts_flows_are_coloured_by_standing() {
        use crate::{Aside, Sweep};
        use evenair_results::RecordOptions;
        use evenair_results::verdict::Verdict;
        let changes = ["duration=20 s".to_string()];
        let scenario = library::scenario("jam10/chain", None, &changes).unwrap();
        let sweep = Sweep::of_scenario(scenario.clone(), 1, RecordOptions::default());
        let runs = sweep.run_in_memory(&Aside::default(), &false.into(), &()).unwrap();
        let map = super::map(&scenario, Some(&Verdict::of(&scenario, &runs)));
        let of = |name: &str| map.panels[0].series.iter().find(|series| series.name == name).unwrap();
        // [Jam10] Table 6.1: the flow over three hops starves.
        assert_eq!(of("flow 3").colour.as_deref(), Some("starves"));
        assert_eq!(map.colours[0].name, "starves");
        let place = |name: &str| map.panels[0].series.iter().position(|series| series.name == name);
        assert!(place("flow 3") > place("flow 1"), "it lies above the others");
        assert_eq!(map.illegible(480.0), [""; 0]);
    }

    #[test]
    fn names_on_maps_and_graphs_do_not_collide() {
        for id in library::scenario_ids() {
            let scenario = library::scenario(id, None, &[]).unwrap();
            for width in [480.0, 720.0] {
                assert_eq!(super::map(&scenario, None).illegible(width), [""; 0], "{id}, {width} px wide");
                let graph = crate::figure::graph::conflict_graph(&scenario);
                assert_eq!(graph.illegible(width), [""; 0], "{id}, its conflict graph, {width} px wide");
            }
        }
    }
}
