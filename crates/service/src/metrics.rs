//! Prometheus' text format 0.0.4. Names follow `node_exporter`: base units at the end, and `_total` for
//! sums that only grow. Rates are bytes per second.
//!
//! # Example
//! ```
//! let mut metrics = evenair_service::metrics::Metrics::new("evenair_example_");
//! metrics.family(("sent_bytes_total", "counter"), "Bytes sent.").sample(&[("peer", "a\"b")], 5);
//! assert!(metrics.into_text().ends_with("evenair_example_sent_bytes_total{peer=\"a\\\"b\"} 5\n"));
//! ```

mod parse;

pub use parse::families;

use evenair_units::printable;
use std::fmt::{Display, Write as _};

/// A page of metrics.
#[derive(Clone, Debug)]
pub struct Metrics {
    prefix: &'static str,
    text: String,
}

/// A family of samples.
#[derive(Debug)]
pub struct Family<'a> {
    metrics: &'a mut Metrics,
    name: &'static str,
}

impl Metrics {
    /// Returns an empty page of metrics; all their names have this prefix.
    pub const fn new(prefix: &'static str) -> Self {
        Self { prefix, text: String::new() }
    }

    /// Begins a family: its name after the prefix, its kind, such as "gauge", and its help.
    pub fn family(&mut self, (name, kind): (&'static str, &str), help: &str) -> Family<'_> {
        let prefix = self.prefix;
        let _ = write!(self.text, "# HELP {prefix}{name} {help}\n# TYPE {prefix}{name} {kind}\n");
        Family { metrics: self, name }
    }

    /// Returns the text.
    pub fn into_text(self) -> String {
        self.text
    }
}

impl Family<'_> {
    /// Adds a sample with its labels.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.metrics.text, "{}{}{labels} {value}", self.metrics.prefix, self.name);
    }
}

/// Escapes a label's value.
fn escaped(value: &str) -> String {
    printable(value, usize::MAX).replace('\\', "\\\\").replace('"', "\\\"")
}
