//! What each command does.

use crate::arguments::{DemoOptions, RunOptions, ShowOptions};
use crate::gateway;
use crate::progress::Bar;
use crate::study::conduct;
use crate::text;
use anyhow::{Context, Result, bail};
use evenair_netsim::pcap::PcapWriter;
use evenair_netsim::{MacSpec, Network};
use evenair_scenario::{Objective, Resolved};
use evenair_study::{Outcome, RecordOptions, RunRecord, SEEDS_MAX, Study, Sweep, tables};
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by Ctrl-C: sweeps stop before their next run.
pub(crate) static STOP: AtomicBool = AtomicBool::new(false);

pub(crate) fn watch_for_interrupt() {
    // A second Ctrl-C ends the program at once; finished runs are whole files either way.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}

pub(crate) fn print(text: &str) -> Result<()> {
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}

pub(crate) fn write_file(path: &Path, contents: &str) -> Result<()> {
    std::fs::write(path, contents).with_context(|| format!("cannot write {}", path.display()))
}

/// Reads a scenario from a file, or from those that are built in.
pub(crate) fn scenario(name: &str, set: &[String]) -> Result<Resolved> {
    let path = Path::new(name);
    if !path.exists()
        && let Some(text) = evenair_study::builtin_scenario(name)
    {
        return Ok(Resolved::parse(&format!("{name}.toml"), text, set)?);
    }
    if !path.exists() {
        let known = evenair_study::scenario_ids().collect::<Vec<_>>().join(", ");
        bail!("there is no file \"{name}\", and no built-in scenario of that id; built in are {known}");
    }
    Ok(Resolved::load(path, set)?)
}

pub(crate) fn demo(options: &DemoOptions) -> Result<()> {
    watch_for_interrupt();
    let study = Study::builtin("demo")?;
    let sweep = Sweep::new(&study, options.quick)?;
    let command = if options.quick { "evenair demo --quick" } else { "evenair demo" };
    let outcome = conduct(&sweep, study, &options.out, command, false)?;
    if options.json {
        return print(&format!("{}\n", outcome.to_json()));
    }
    print(&text::outcome(&outcome))?;
    print(&starvation_story(&outcome))?;
    print(&format!("\nReport with figures: {}\n", options.out.join("report.html").display()))
}

/// Why flow 2 starves, from the ledger, in a few lines.
fn starvation_story(outcome: &Outcome) -> String {
    let mut lines = String::from("\nwhere the time of flow 2's sender goes\n");
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (variant, _) in outcome.shape() {
        let parts = outcome.ledger(variant, "2");
        if rows.is_empty() {
            let head = [""].into_iter().map(String::from).chain(parts.iter().map(|(part, _)| part.clone()));
            rows.push(head.collect());
        }
        let cells = parts.iter().map(|(_, share)| format!("{:.1} %", share * 100.0));
        rows.push([outcome.label(variant)].into_iter().chain(cells).collect());
    }
    lines.push_str(&text::columns(&rows));
    lines
}

/// To the terminal, not into what is read by programs.
fn warn(scenario: &Resolved) {
    for warning in scenario.warnings() {
        let _ = writeln!(std::io::stderr().lock(), "warning: {warning}");
    }
}

pub(crate) fn run(options: &RunOptions) -> Result<()> {
    let scenario = scenario(&options.scenario, &options.set)?;
    warn(&scenario);
    watch_for_interrupt();
    let keep = RecordOptions {
        series: options.series,
        every: Some(options.every),
        ledger: options.ledger,
        timeline: options.timeline,
    };
    let mut sweep = Sweep::of_scenario(scenario.clone(), options.seeds, keep);
    if let Some(precision) = options.precision {
        sweep.set_precision(precision, SEEDS_MAX);
    }
    let bar = Bar::new(&scenario.settings().name);
    let runs = sweep.run_in_memory(&STOP, &bar);
    bar.clear();
    let runs = runs?;
    if let Some(path) = &options.pcap {
        capture(&scenario, path).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let lines = json_lines(&options.scenario, &runs);
    if let Some(folder) = &options.out {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        write_file(&folder.join("scenario.toml"), &resolved(&scenario)?)?;
        write_file(&folder.join("runs.jsonl"), &lines)?;
        if options.timeline.is_some() {
            write_file(&folder.join("frames.csv"), &frames_csv(&runs))?;
        }
        let group = tables::Group { variant: "run", x: None, runs: &runs };
        tables::write(folder, &[group]).context("cannot write the tables")?;
    }
    if options.json {
        return print(&lines);
    }
    let settings = scenario.settings();
    let name = if settings.name.is_empty() { &options.scenario } else { &settings.name };
    let seeds = if runs.len() == 1 {
        format!("seed {}", runs[0].seed)
    } else {
        format!("means over {} seeds", runs.len())
    };
    let head = format!("{name}: {} after {} of warm-up, {seeds}\n\n", settings.duration, settings.warmup);
    print(&(head + &text::runs(&runs, options.ledger) + &gateway::did(&runs)))
}

/// Runs the first seed once more and writes its frames down.
fn capture(scenario: &Resolved, path: &Path) -> Result<()> {
    let network = scenario.network();
    let MacSpec::Dcf { timing, .. } = network.mac else {
        bail!("the ideal MAC has no frames; captures are of 802.11");
    };
    let file = std::io::BufWriter::new(std::fs::File::create(path)?);
    let mut writer = PcapWriter::new(file, network.nodes.len(), timing)?;
    Network::run_traced(network, scenario.run_spec(scenario.settings().seed), &mut writer);
    writer.finish()?;
    Ok(())
}

/// One document a line and seed.
fn json_lines(scenario: &str, runs: &[RunRecord]) -> String {
    let mut text = String::new();
    for run in runs {
        let mut run = serde_json::to_value(run).expect("a record is plain data");
        run["scenario"] = json!(scenario);
        text += &format!("{run}\n");
    }
    text
}

fn frames_csv(runs: &[RunRecord]) -> String {
    let mut text = String::from("seed,start_ms,end_ms,node,kind,decoded\n");
    for run in runs {
        for f in &run.frames {
            text +=
                &format!("{},{},{},{},{},{}\n", run.seed, f.start_ms, f.end_ms, f.node, f.kind, f.decoded);
        }
    }
    text
}

pub(crate) fn resolved(scenario: &Resolved) -> Result<String> {
    scenario.to_toml().context("the scenario cannot be written as TOML")
}

pub(crate) fn show(options: &ShowOptions) -> Result<()> {
    let scenario = scenario(&options.scenario, &options.set)?;
    if options.resolved {
        return print(&resolved(&scenario)?);
    }
    warn(&scenario);
    let (settings, layout, network) = (scenario.settings(), scenario.layout(), scenario.network());
    let names = &network.nodes;
    let mut out = format!("{}\n", if settings.name.is_empty() { &options.scenario } else { &settings.name });
    if !settings.description.is_empty() {
        out += &format!("{}\n", settings.description);
    }
    if let (Some(at), Some((transmission_m, sense_m))) = (&layout.positions, layout.ranges_m) {
        out += &format!("\nmap\n{}", text::map(names, at));
        out += &format!("  transmission range {transmission_m:.0} m, carrier-sense range {sense_m:.0} m\n");
    }
    out += "\nflows\n";
    for flow in &network.flows {
        let way: Vec<&str> = flow.path.iter().map(|&n| network.name(n)).collect();
        out += &format!("  {}: {}\n", flow.name, way.join(" > "));
    }
    out += &gateway::described(&scenario);
    out += "\nconflict graph: links that may not transmit at once\n";
    for (l, (name, _)) in layout.links.iter().enumerate() {
        let others: Vec<&str> =
            layout.conflicts.neighbours(l).iter().map(|&m| layout.links[m as usize].0.as_str()).collect();
        out += &format!("  {name}: {}\n", if others.is_empty() { "none".into() } else { others.join(", ") });
    }
    if let MacSpec::Dcf { timing, .. } = network.mac {
        let rate = network.data_rate;
        let mut rows = vec![vec!["airtime".to_string(), "DATA".into(), "exchange".into()]];
        let (payload, headers) = (settings.tcp.payload.0, settings.tcp.headers.0);
        for (what, size) in [("data packet", payload + headers), ("TCP acknowledgement", headers)] {
            let (data, exchange) = (timing.data(size, rate), timing.exchange(size, rate));
            rows.push(vec![
                format!("{what}, {size}"),
                text::microseconds(data),
                text::microseconds(exchange),
            ]);
        }
        out += &format!("\n{}", text::columns(&rows));
    }
    if let Some(optimum) = scenario.optimum_in_passing(Objective::Fair) {
        out += "\nfair optimum\n";
        for (flow, rate) in network.flows.iter().zip(&optimum.rates_pps) {
            out += &format!("  {}: {} packets/s\n", flow.name, text::number(*rate));
        }
    }
    print(&out)
}

pub(crate) fn schema() -> Result<()> {
    print(&format!("{:#}\n", evenair_scenario::schema()))
}
