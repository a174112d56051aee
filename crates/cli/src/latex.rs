//! Tables as LaTeX, to be put into a paper: a command's output, its tables typeset and all else as comments.

use crate::output::print;
use anyhow::Result;
use clap::Args;
use std::sync::atomic::{AtomicBool, Ordering};

/// How the tables of a command are printed.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Tables {
    /// Print the tables as LaTeX (with the package booktabs), and other text as comments
    #[arg(long, conflicts_with = "json")]
    pub(crate) latex: bool,
}

static LATEX: AtomicBool = AtomicBool::new(false);

impl Tables {
    /// Holds for the whole process, as the terminal's width does.
    pub(crate) fn heed(self) {
        LATEX.store(self.latex, Ordering::Relaxed);
    }
}

/// Whether tables are LaTeX.
pub(crate) fn is_wanted() -> bool {
    LATEX.load(Ordering::Relaxed)
}

const BEGIN: &str = "\\begin{tabular}";
const END: &str = "\\end{tabular}\n";

/// Prints a command's output, in which there may be tables.
pub(crate) fn tell(text: &str) -> Result<()> {
    if is_wanted() { print(&around_tables(text)) } else { print(text) }
}

/// Puts all lines outside of tables behind comment signs.
fn around_tables(text: &str) -> String {
    let mut out = String::new();
    let mut in_table = false;
    for line in text.lines() {
        in_table |= line.starts_with(BEGIN);
        match (in_table, line.trim().is_empty()) {
            (true, _) | (false, true) => out += line.trim_end(),
            (false, false) => out += &format!("% {}", line.trim_end()),
        }
        out.push('\n');
        in_table &= line != END.trim_end();
    }
    out
}

/// A table with its first row as its head: its first column to the left, the others to the right.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let line = |row: &Vec<String>| {
        let cells = row.iter().map(|cell| escaped(cell)).chain(std::iter::repeat(String::new()));
        format!("  {} \\\\\n", cells.take(columns).collect::<Vec<_>>().join(" & "))
    };
    let mut out = format!("{BEGIN}{{l{}}}\n  \\toprule\n", "r".repeat(columns.saturating_sub(1)));
    for (number, row) in rows.iter().enumerate() {
        out += &line(row);
        out += if number == 0 { "  \\midrule\n" } else { "" };
    }
    out + "  \\bottomrule\n" + END
}

/// A text escaped for LaTeX, in any of its fonts.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.trim().chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            '\\' => out += "\\textbackslash{}",
            '~' => out += "\\textasciitilde{}",
            '^' => out += "\\textasciicircum{}",
            '<' | '>' | '|' => out.extend(['$', c, '$']),
            '[' if out.is_empty() => out += "{[}", // after a line's end it would be a length
            '\u{2013}' => out += "--",
            '\u{2026}' => out += "\\dots{}",
            '±' => out += "$\\pm$",
            '−' => out += "$-$",
            '×' => out += "$\\times$",
            '·' => out += "$\\cdot$",
            '→' => out += "$\\to$",
            '≈' => out += "$\\approx$",
            '≤' => out += "$\\le$",
            '≥' => out += "$\\ge$",
            'Σ' => out += "$\\Sigma$",
            'α' => out += "$\\alpha$",
            'β' => out += "$\\beta$",
            'ρ' => out += "$\\rho$",
            'µ' | 'μ' => out += "\\textmu{}",
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::row;

    #[test]
    fn table_suits_booktabs() {
        let rows =
            [row(&["flow", "packets/s", "95 %"]), row(&["s_1>r&1", "418.1 ± 0.5", "–"]), row(&["all"])];
        let expected = r"\begin{tabular}{lrr}
  \toprule
  flow & packets/s & 95 \% \\
  \midrule
  s\_1$>$r\&1 & 418.1 $\pm$ 0.5 & -- \\
  all &  &  \\
  \bottomrule
\end{tabular}
";
        assert_eq!(table(&rows), expected);
        let page = around_tables(&format!("\nwhat it is\n{expected}\nthe 2 % that is left\n"));
        assert_eq!(page, format!("\n% what it is\n{expected}\n% the 2 % that is left\n"));
        assert_eq!(
            escaped("[x] 3\\4~5^6 {µs}"),
            r"{[}x] 3\textbackslash{}4\textasciitilde{}5\textasciicircum{}6 \{\textmu{}s\}"
        );
    }
}
