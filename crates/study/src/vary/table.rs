//! A sweep's result as tables: a row per point and flow, and a row per point, seed and flow.

use super::{Axis, Level};
use crate::outcome::Outcome;
use crate::quantity::Quantity;
use evenair_results::Estimate;
use evenair_results::tables::{Column, Table, write_table};
use evenair_results::verdict::Verdict;
use serde_json::{Map, Value, json};
use std::io;
use std::path::Path;

/// The name of all flows together in the place of a flow's.
const ALL: &str = "all";

/// A sweep's result.
#[derive(Clone, Debug)]
pub struct Swept {
    /// The keys varied.
    pub axes: Vec<Axis>,
    /// The metrics measured.
    pub metrics: Vec<Quantity>,
    /// A row per point and flow, and one for all flows together.
    pub rows: Vec<SweptRow>,
    /// The study that it is, for the report.
    pub outcome: Outcome,
    /// The number of each key's value, by point.
    points: Vec<Vec<usize>>,
}

/// One flow's values at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct SweptRow {
    /// The point's number, from zero.
    pub point: usize,
    /// The flow; none for all together.
    pub flow: Option<String>,
    /// Each metric; none where it has no meaning.
    pub measured: Vec<Option<Measured>>,
}

/// A metric's mean over seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The mean.
    pub mean: f64,
    /// Half of its 95 % interval's width; none for a single seed.
    pub half_width: Option<f64>,
    /// That interval, as far as the metric can be at all.
    pub interval: Option<[f64; 2]>,
    /// How many seeds it is the mean of.
    pub n: usize,
}

impl Measured {
    fn of(values: &[f64], bounds: (f64, f64)) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let Estimate { mean, half_width } = Estimate::from_samples(values);
        let (least, most) = (bounds.0.min(mean), bounds.1.max(mean));
        let interval = half_width.map(|half| [(mean - half).max(least), (mean + half).min(most)]);
        Some(Self { mean, half_width, interval, n: values.len() })
    }
}

/// One value per run; none of a run that has none.
type PerRun = Vec<Option<f64>>;

impl Swept {
    pub(super) fn new(axes: Vec<Axis>, points: &[Vec<usize>], outcome: Outcome) -> Self {
        let metrics = outcome.study.asked.clone().unwrap_or_default();
        let mut swept = Self { axes, metrics, rows: Vec::new(), outcome, points: points.to_vec() };
        swept.rows = swept.subjects().into_iter().map(|(point, flow)| swept.row(point, flow)).collect();
        swept
    }

    /// The values of the varied keys at a point.
    pub fn levels(&self, point: usize) -> Vec<&Level> {
        self.axes.iter().zip(&self.points[point]).map(|(axis, &level)| &axis.levels[level]).collect()
    }

    /// Every point with each of its flows, and with all together.
    fn subjects(&self) -> Vec<(usize, Option<String>)> {
        let flows = |point: usize| {
            let names = self.outcome.variants[point].flow_names().into_iter().map(String::from);
            names.map(Some).chain([None]).map(move |flow| (point, flow)).collect::<Vec<_>>()
        };
        (0..self.points.len()).flat_map(flows).collect()
    }

    fn values(&self, point: usize, flow: Option<&str>, metric: Quantity) -> PerRun {
        self.outcome.values(&self.outcome.variants[point].id, metric, flow).unwrap_or_default()
    }

    fn row(&self, point: usize, flow: Option<String>) -> SweptRow {
        let measured = |&metric: &Quantity| {
            // A metric of the network belongs to none of its flows.
            let of_flow = flow.is_none() || metric.metric.is_of_flows();
            let values = self.values(point, flow.as_deref(), metric).into_iter().flatten();
            let values: Vec<f64> = values.filter(|_| of_flow).collect();
            Measured::of(&values, metric.bounds())
        };
        SweptRow { point, measured: self.metrics.iter().map(measured).collect(), flow }
    }

    /// Writes `table`, a row per point and flow, and `seeds`, one per point, seed and flow, into a folder.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        write_table(folder, "table", &self.table())?;
        write_table(folder, "seeds", &self.seeds())
    }

    /// The varied keys' columns: numbers where a key has nothing else, text where it has.
    fn keys(&self, points: &[usize]) -> Table<String> {
        let column = |(place, axis): (usize, &Axis)| {
            let levels = points.iter().map(|&point| &axis.levels[self.points[point][place]]);
            let column = if axis.is_numeric() {
                Column::Optional(levels.map(|level| level.number).collect())
            } else {
                Column::Text(levels.map(ToString::to_string).collect())
            };
            (axis.title(), column)
        };
        self.axes.iter().enumerate().map(column).collect()
    }

    /// A row per point and flow: the varied keys, the flow, and of each metric the mean, the ends of its 95 % interval and the number
    /// of seeds.
    pub fn table(&self) -> Table<String> {
        let points: Vec<usize> = self.rows.iter().map(|row| row.point).collect();
        let mut table = self.keys(&points);
        let flow = |row: &SweptRow| row.flow.clone().unwrap_or_else(|| ALL.into());
        table.push(("flow".into(), Column::Text(self.rows.iter().map(flow).collect())));
        for (m, metric) in self.metrics.iter().enumerate() {
            let name = metric.to_string();
            let column = |of: &dyn Fn(&Measured) -> Option<f64>| {
                Column::Optional(self.rows.iter().map(|row| row.measured[m].as_ref().and_then(of)).collect())
            };
            let n = self
                .rows
                .iter()
                .map(|row| row.measured[m].map_or(0, |measured| (measured.n as u64).cast_signed()));
            table.push((name.clone(), column(&|x| Some(x.mean))));
            table.push((format!("{name}_low"), column(&|x| x.interval.map(|[low, _]| low))));
            table.push((format!("{name}_high"), column(&|x| x.interval.map(|[_, high]| high))));
            table.push((format!("{name}_n"), Column::Count(n.collect())));
        }
        table
    }

    /// A row per point, seed and flow, with each metric's value.
    pub fn seeds(&self) -> Table<String> {
        let (mut points, mut seeds, mut flows) = (Vec::new(), Vec::new(), Vec::new());
        let mut values: Vec<PerRun> = vec![Vec::new(); self.metrics.len()];
        for SweptRow { point, flow, .. } in &self.rows {
            let runs = &self.outcome.variants[*point].runs;
            points.extend(runs.iter().map(|_| *point));
            seeds.extend(runs.iter().map(|run| run.seed.cast_signed()));
            flows.extend(runs.iter().map(|_| flow.clone().unwrap_or_else(|| ALL.into())));
            for (column, &metric) in values.iter_mut().zip(&self.metrics) {
                let of_flow = flow.is_none() || metric.metric.is_of_flows();
                let of_runs = self.values(*point, flow.as_deref(), metric);
                column.extend(of_runs.into_iter().map(|value| value.filter(|_| of_flow)));
            }
        }
        let mut table = self.keys(&points);
        table.push(("seed".into(), Column::Count(seeds)));
        table.push(("flow".into(), Column::Text(flows)));
        let named =
            self.metrics.iter().map(ToString::to_string).zip(values.into_iter().map(Column::Optional));
        table.extend(named);
        table
    }

    /// Which flows starve at each point, and why; none of a point that was not simulated.
    pub fn verdicts(&self) -> Vec<(usize, Verdict)> {
        let verdict = |point: usize| Some((point, self.outcome.verdict(&self.outcome.variants[point].id)?));
        (0..self.points.len()).filter_map(verdict).collect()
    }

    /// The same as JSON, each with the values of its point.
    pub(crate) fn verdicts_json(&self) -> Vec<Map<String, Value>> {
        let row = |(point, verdict): (usize, Verdict)| {
            let mut object = self.point(point);
            object.insert("verdict".into(), serde_json::to_value(verdict).expect("a verdict is plain data"));
            object
        };
        self.verdicts().into_iter().map(row).collect()
    }

    /// The values of a point, by key.
    fn point(&self, point: usize) -> Map<String, Value> {
        let mut object = Map::new();
        for (axis, level) in self.axes.iter().zip(self.levels(point)) {
            let value = level.number.filter(|_| axis.is_numeric());
            object.insert(axis.title(), value.map_or_else(|| json!(level.to_string()), number));
        }
        object
    }

    /// The rows as JSON, each with the values of its point.
    pub(crate) fn to_json(&self) -> Vec<Map<String, Value>> {
        let row = |row: &SweptRow| {
            let mut object = self.point(row.point);
            object.insert("flow".into(), json!(row.flow.as_deref().unwrap_or(ALL)));
            for (metric, measured) in self.metrics.iter().zip(&row.measured) {
                let value = measured.map(|m| {
                    json!({"mean": m.mean, "low": m.interval.map(|i| i[0]), "high": m.interval.map(|i| i[1]), "n": m.n})
                });
                object.insert(metric.to_string(), json!(value));
            }
            object
        };
        self.rows.iter().map(row).collect()
    }
}

/// A whole number without a point behind it.
fn number(x: f64) -> Value {
    if x.fract() == 0.0 && x.abs() < 1e15 { json!(x as i64) } else { json!(x) }
}
