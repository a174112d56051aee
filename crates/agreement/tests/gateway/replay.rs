//! Recorded epochs: the views and answers of a law, record by record. A law with other answers has changed.
//!
//! A record is the text that a live gateway's log has, too: the law's parameters, its classes, then an
//! epoch's classes and the allocation that followed. `EVENAIR_BLESS=1` writes them again, from the mesh of
//! these tests.

use crate::mesh::{EPOCH, Flow, LINK, Mesh, Wants};
use evenair_laws::Parameters;
use evenair_laws::gateway::{
    Allocation, ArcParams, ClassRole, ClassView, GatewayLaw, GatewayParams, GatewayRole, GatewayView,
    PfrcParams,
};
use evenair_units::{Duration, Instant, Rate, Volume};
use std::fmt::Write as _;
use std::path::PathBuf;

const COLUMNS: &str = "epoch,class,arrived_packets,arrived_bytes,served_packets,served_bytes,dropped_packets,\
    dropped_bytes,backlog_packets,backlog_bytes,held,busy_ms,rate_bps,decision";

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../validation/gateway")
}

/// A law, and whether its gateway reports busy time.
fn records() -> Vec<(&'static str, GatewayParams, bool)> {
    vec![
        ("pfrc", PfrcParams::corrected().into(), false),
        ("pfrc-busy", PfrcParams::corrected().into(), true),
        ("pfrc-thesis", PfrcParams::jam10().into(), false),
        ("arc", ArcParams::corrected().into(), false),
        ("arc-busy", ArcParams::corrected().into(), true),
        ("arc-thesis", ArcParams::jam10().into(), false),
    ]
}

/// Five flows: one evenly small, one of pages, one that comes and goes, and capacity that falls for a while.
fn record(params: &GatewayParams, tells_busy: bool) -> String {
    let mut flows: Vec<_> = [1.0, 2.0, 3.0, 4.0, 2.0].map(|hops| Flow::new(hops, Wants::All)).into();
    flows[3].wants = Wants::Rate(30e3);
    flows[4].wants = Wants::Pages(20e3);
    let mut mesh = Mesh::new(params, &flows);
    mesh.tells_busy = tells_busy;
    let mut text = format!(
        "# {}\n# {} classes of weight 1 behind links of {LINK} bit/s; epochs of {EPOCH}\n{COLUMNS}\n",
        serde_json::to_string(params).expect("built-in laws can be written"),
        flows.len(),
    );
    for epoch in 0..80 {
        mesh.flows[2].wants = if (25..45).contains(&epoch) { Wants::Nothing } else { Wants::All };
        mesh.airtime = if epoch < 60 { 1.0 } else { 0.7 };
        mesh.epoch();
        for (class, seen) in mesh.views.iter().enumerate() {
            let ClassView { arrived, served, dropped, backlog, held, busy, .. } = seen;
            let volumes =
                [arrived, served, dropped, backlog].map(|of| format!("{},{}", of.packets, of.bytes));
            let answer = answer(&mesh.allocation, class);
            let (held, busy) = (held.unwrap_or_default(), busy.map(|busy| busy.as_nanos() / 1_000_000));
            let busy = busy.map_or(String::new(), |ms| ms.to_string());
            writeln!(text, "{epoch},{class},{},{held},{busy},{answer}", volumes.join(","))
                .expect("a string takes everything");
        }
    }
    text
}

/// A class's rate, or that of all, and why.
fn answer(allocation: &Allocation, class: usize) -> String {
    let rate = allocation.each.get(class).copied().or(allocation.total).map_or(0, Rate::as_bps);
    format!("{rate},{}", allocation.decision)
}

#[test]
fn recorded_epochs_have_recorded_answers() {
    for (name, params, tells_busy) in records() {
        let path = folder().join(format!("{name}.csv"));
        if std::env::var_os("EVENAIR_BLESS").is_some() {
            std::fs::write(&path, record(&params, tells_busy)).expect("the folder can be written");
        }
        let text = std::fs::read_to_string(&path).expect("EVENAIR_BLESS=1 writes it");
        assert_eq!(replay(&text), text.lines().count() - 3, "{name}: every line was compared");
    }
}

/// Feeds a law with a record; gives how many lines it answered as recorded.
fn replay(text: &str) -> usize {
    let first = text.lines().next().and_then(|line| line.strip_prefix("# ")).expect("parameters come first");
    let params: GatewayParams = serde_json::from_str(first).expect("as they were written");
    let rows: Vec<Vec<&str>> = text.lines().skip(3).map(|line| line.splitn(14, ',').collect()).collect();
    let classes = rows.iter().take_while(|row| row[0] == "0").count();
    let class = ClassRole { link_rate: Some(Rate::from_bps(LINK as u64)), ..ClassRole::default() };
    let mut law = params.begin(&GatewayRole { classes: vec![class; classes] });
    let mut now = Instant::ZERO;
    for epoch in rows.chunks(classes) {
        now += EPOCH;
        let views: Vec<_> = epoch.iter().map(|row| Some(view(row))).collect();
        let allocation = law.on_epoch(&GatewayView { now, interval: EPOCH, classes: views });
        for (class, row) in epoch.iter().enumerate() {
            assert_eq!(answer(&allocation, class), row[12..].join(","), "epoch {}, class {class}", row[0]);
        }
    }
    rows.len()
}

fn view(row: &[&str]) -> ClassView {
    let number = |column: usize| row[column].parse().expect("a count");
    let volume = |column: usize| Volume { packets: number(column), bytes: number(column + 1) };
    ClassView {
        arrived: volume(2),
        served: volume(4),
        dropped: volume(6),
        backlog: volume(8),
        held: Some(number(10)),
        busy: row[11].parse().ok().map(Duration::from_millis),
        ..ClassView::default()
    }
}
