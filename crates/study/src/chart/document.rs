//! The figures of a result as a file.

use super::Chart;
use evenair_units::plain_message;
use serde::{Deserialize, Serialize};

/// The file's name in a result's folder.
pub const FILE: &str = "figures.json";
/// The form of the file.
const SCHEMA_VERSION: u32 = 1;

/// All figures of a result, as they lie beside its tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    schema_version: u32,
    /// The subject of the figures: a study's id, a scenario's name.
    pub of: String,
    /// The figures.
    pub figures: Vec<Chart>,
}

impl Figures {
    /// The figures of something.
    pub fn new(of: &str, figures: Vec<Chart>) -> Self {
        Self { schema_version: SCHEMA_VERSION, of: of.into(), figures }
    }

    /// Reads the file.
    ///
    /// # Errors
    /// Says why it is not one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let figures: Self = serde_json::from_str(text).map_err(|e| plain_message(&e.to_string()))?;
        match figures.schema_version {
            SCHEMA_VERSION => Ok(figures),
            other => Err(format!("its form is {other}, and this evenair reads {SCHEMA_VERSION}")),
        }
    }

    /// The file.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("figures are plain data")
    }

    /// A figure's file name, without an ending: `chen10-fig-4-2-goodput`.
    pub fn file_name(&self, chart: &Chart) -> String {
        file_name(&self.of, chart)
    }
}

/// The file name of a figure, without an ending. Of a user's file its name says enough.
fn file_name(of: &str, chart: &Chart) -> String {
    let of = of.strip_suffix(".toml").map_or(of, |path| path.rsplit('/').next().unwrap_or(path));
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' }; // of any file that says it is one of figures
    let plain = |text: &str| text.chars().map(plain).collect::<String>();
    format!("{}-{}", plain(of).trim_matches('-'), plain(&chart.name))
}

#[cfg(test)]
mod tests {
    use super::super::{Marks, Panel, Point, Series};
    use super::*;

    #[test]
    fn a_line_with_a_gap_is_read_back() {
        let point = |y| Point { x: 1.0, y, interval: None };
        let marks = Marks::Line { points: vec![point(f64::NAN), point(2.0)], stepped: true, dotted: false };
        let panel = Panel { series: vec![Series::ink("line", marks)], ..Panel::default() };
        let figures = Figures::new("gap", vec![Chart { panels: vec![panel], ..Chart::default() }]);
        let again = Figures::parse(&figures.to_json()).unwrap();
        let Marks::Line { points, .. } = &again.figures[0].panels[0].series[0].marks else {
            panic!("a line")
        };
        assert!(points[0].y.is_nan() && points[1] == point(2.0));
        assert_eq!(again.to_json(), figures.to_json());
    }

    #[test]
    fn files_are_named_by_content() {
        let name = |of| file_name(of, &Chart { name: "map".into(), ..Chart::default() });
        assert_eq!(name("chen10/fig-4-2"), "chen10-fig-4-2-map");
        assert_eq!(name("/home/me/my net.toml"), "my-net-map");
        assert_eq!(name("<stdin>"), "stdin-map");
        let strange = Chart { name: "../../map".into(), ..Chart::default() };
        assert_eq!(file_name("a", &strange), "a-..-..-map", "a folder is never left");
    }
}
