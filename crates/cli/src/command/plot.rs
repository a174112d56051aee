//! `evenair plot`: figures of a result as files, without a browser.

use crate::output::{Overwrite, print};
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use evenair_study::chart::{self, Chart, Figures, Ground};
use std::path::{Path, PathBuf};
use wildmatch::WildMatch;

/// The endings of the files that figures become.
const FORMATS: [&str; 3] = ["svg", "png", "pdf"];

/// How wide a figure is, if nothing is said \[px\].
const WIDTH: f64 = 720.0;

/// How a figure becomes a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// How wide it is \[px\].
    width: f64,
    /// How many pixels a PNG has for each of these.
    scale: f64,
    ground: Ground,
}

impl Default for Look {
    fn default() -> Self {
        // Two pixels are sharp in print and on good screens.
        Self { width: WIDTH, scale: 2.0, ground: Ground::Light }
    }
}

#[derive(Debug, Args)]
#[command(
    after_help = "Reads figures.json, which study, sweep, demo, and run, fluid, solve and compare with --out write beside their tables, and \
    simulates nothing. A run has figures of its kept data: add --series or --timeline FROM..TO to its --out for figures over time.\n\
    Letters have the widths of Arial, and a PNG or PDF is the same on every machine. Text in SVG and PDF stays text; a PDF has its \
    font in it, for pdflatex as it is. EPS: pdftops -eps FILE.pdf.\n\
    A network's map: evenair show SCENARIO --map FILE.\n\n\
    Examples:\n  \
    evenair study chen10/fig-4-2 --quick\n  \
    evenair plot evenair-results/chen10/fig-4-2 --list\n  \
    evenair plot evenair-results/chen10/fig-4-2 --out figures\n  \
    evenair plot evenair-results/chen10/fig-4-2 goodput --out goodput.png --width 480\n  \
    evenair plot evenair-results/chen10/fig-4-2 goodput --out goodput.pdf --width 340\n  \
    evenair plot evenair-results/chen10/fig-4-2 'conflict*' --out graph.svg\n  \
    evenair run chen10/a --series --out a\n  \
    evenair plot a goodput-over-time --out a.svg"
)]
pub(crate) struct PlotOptions {
    /// The folder of a result: the value of --out, or a study's id below it
    #[arg(value_name = "RESULT")]
    pub(crate) result: PathBuf,
    /// Which figures, by name or pattern; all, if none are named
    #[arg(value_name = "FIGURE")]
    pub(crate) figures: Vec<String>,
    /// Name the figures, and draw none
    #[arg(long, conflicts_with_all = ["out", "width", "scale", "dark", "force"])]
    pub(crate) list: bool,
    /// Where they go: FILE.svg, FILE.png or FILE.pdf of one figure, or a folder for all three of each
    #[arg(long, value_name = "FILE|DIR", default_value = ".")]
    pub(crate) out: PathBuf,
    /// How wide a figure is, in pixels of which an inch has 96: a column of a paper has about 340, a page 720
    #[arg(long, value_name = "PX", default_value_t = WIDTH, value_parser = between(160.0, 10_000.0))]
    pub(crate) width: f64,
    /// The number of a PNG's pixels for each of these [default: 2]
    #[arg(long, value_name = "N", value_parser = between(0.25, 20.0))]
    pub(crate) scale: Option<f64>,
    /// Light on dark, for slides and dark pages
    #[arg(long)]
    pub(crate) dark: bool,
    #[command(flatten)]
    pub(crate) overwrite: Overwrite,
}

/// Reads a number of a range.
fn between(least: f64, most: f64) -> impl Fn(&str) -> Result<f64, String> + Clone {
    move |text| match text.parse::<f64>() {
        Ok(x) if (least..=most).contains(&x) => Ok(x),
        _ => Err(format!("give a number from {least} to {most}")),
    }
}

pub(crate) fn plot(options: &PlotOptions) -> Result<()> {
    let all = read(&options.result)?;
    let chosen = choose(&all, &options.figures)?;
    if options.list {
        let line = |chart: &&Chart| format!("{}: {}\n", chart.name, chart.title);
        return print(&chosen.iter().map(line).collect::<String>());
    }
    let out = &options.out;
    let look = Look {
        width: options.width,
        scale: options.scale.unwrap_or(Look::default().scale),
        ground: if options.dark { Ground::Dark } else { Ground::Light },
    };
    if let Some(format) = format_of(out) {
        ensure!(
            format == "png" || options.scale.is_none(),
            "--scale has no effect: {format} files have no pixels"
        );
        let [chart] = chosen[..] else {
            bail!("{} takes one figure; name one of {}", out.display(), names(&chosen))
        };
        return save(&[(chart, out.clone())], look, options.overwrite);
    }
    if let Some(ending) = out.extension().filter(|_| !out.is_dir()) {
        bail!(
            "{}: figures are drawn as .svg, .png or .pdf, not as .{}",
            out.display(),
            ending.to_string_lossy()
        );
    }
    let file = |chart, ending| (chart, out.join(format!("{}.{ending}", all.file_name(chart))));
    let files: Vec<_> = chosen.iter().flat_map(|&chart| FORMATS.map(|ending| file(chart, ending))).collect();
    save(&files, look, options.overwrite)
}

/// The figures of a result.
fn read(folder: &Path) -> Result<Figures> {
    let file = if folder.is_file() { folder.into() } else { folder.join(chart::FILE) };
    ensure!(folder.exists(), "{}: there is no such folder: {}", folder.display(), meant(folder));
    let text = std::fs::read_to_string(&file).with_context(|| {
        format!(
            "{} holds no result with figures: give the folder that was said as --out; one of an older evenair has its figures when its \
             command is run again",
            folder.display()
        )
    })?;
    Figures::parse(&text)
        .map_err(|why| anyhow!("{} is no file of figures ({why}): {}", file.display(), meant(folder)))
}

/// The likely meaning of a name that is no result's.
fn meant(folder: &Path) -> String {
    let below = Path::new(super::study::RESULTS).join(folder);
    let name = folder.display();
    if below.exists() {
        format!("the result is in {}", below.display())
    } else if evenair_study::study_text(&folder.to_string_lossy()).is_some() {
        format!("run it first, evenair study {name}; then plot {}", below.display())
    } else if evenair_study::builtin_scenario(&folder.to_string_lossy()).is_some()
        || folder.extension().is_some()
    {
        format!(
            "plot takes the folder of a result: run it first, evenair run {name} --out DIR; then plot DIR"
        )
    } else {
        "plot takes the folder of a result, which run, study and others write with --out".into()
    }
}

fn names(charts: &[&Chart]) -> String {
    charts.iter().map(|chart| chart.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// The figures that are named; all, if none are.
fn choose<'a>(all: &'a Figures, patterns: &[String]) -> Result<Vec<&'a Chart>> {
    let everything: Vec<&Chart> = all.figures.iter().collect();
    ensure!(!everything.is_empty(), "{} has no figures", all.of);
    for pattern in patterns {
        let any = everything.iter().any(|chart| WildMatch::new(pattern).matches(&chart.name));
        ensure!(any, "{} has no figure \"{pattern}\"; there are {}", all.of, names(&everything));
    }
    let asked = |chart: &&Chart| {
        patterns.is_empty() || patterns.iter().any(|pattern| WildMatch::new(pattern).matches(&chart.name))
    };
    Ok(everything.into_iter().filter(asked).collect())
}

/// The format that a file's ending stands for.
fn format_of(file: &Path) -> Option<&'static str> {
    let ending = file.extension()?.to_str()?;
    FORMATS.into_iter().find(|format| ending.eq_ignore_ascii_case(format))
}

/// Draws figures into files, each as its file's ending says.
pub(crate) fn save(charts: &[(&Chart, PathBuf)], look: Look, overwrite: Overwrite) -> Result<()> {
    let Look { width, scale, ground } = look;
    let drawn = charts.iter().map(|(chart, file)| {
        let bytes = match format_of(file) {
            Some("svg") => chart.svg(width, ground).into_bytes(),
            Some("pdf") => chart.pdf(width, ground),
            Some(_) => {
                chart.png(width, scale, ground).with_context(|| format!("cannot draw {}", file.display()))?
            }
            None => {
                bail!(
                    "{}: figures are drawn as .svg, .png or .pdf; give the file such an ending",
                    file.display()
                )
            }
        };
        Ok((file.clone(), bytes))
    });
    overwrite.write_all(&drawn.collect::<Result<Vec<_>>>()?)?;
    let names: Vec<String> = charts.iter().map(|(_, file)| file.display().to_string()).collect();
    print(&(names.join("\n") + "\n"))
}
