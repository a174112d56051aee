//! Figures as Vega-Lite specifications.

use crate::language::{Figure, FigureKind};
use crate::metric::Metric;
use crate::outcome::{Outcome, Row, VariantOutcome};
use crate::quantity::Quantity;
use crate::record::LinkRecord;
use evenair_netsim::FlowResult;
use serde_json::{Value, json};

/// Colours for up to eight things, told apart by colour-blind readers too (after Okabe and Ito).
const COLOURS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#b3a100", "#777777"];

/// The specification of a figure.
pub(crate) fn spec(outcome: &Outcome, figure: &Figure) -> Value {
    let chosen: Vec<&VariantOutcome> = outcome
        .variants
        .iter()
        .filter(|v| {
            let named = |id: &String| *id == v.id || v.point.as_ref().is_some_and(|p| p.curve == *id);
            figure.variants.is_empty() || figure.variants.iter().any(named)
        })
        .collect();
    let mut spec = match figure.kind {
        FigureKind::Bars => bars(outcome, &chosen, figure.quantity()),
        FigureKind::Series => series(&chosen, figure.quantity()),
        FigureKind::Spread => spread(outcome, &chosen, figure.quantity()),
        FigureKind::Phase => phase(&chosen, figure.quantity(), figure.against.map(Into::into)),
        FigureKind::ConflictGraph => conflict_graph(&chosen),
        FigureKind::Ledger => ledger(&chosen),
        FigureKind::Timeline => timeline(&chosen),
        FigureKind::Lines => lines(outcome, &chosen, figure.quantity(), figure.total),
    };
    spec["$schema"] = json!("https://vega.github.io/schema/vega-lite/v6.json");
    spec["config"] = json!({
        "font": "system-ui, sans-serif",
        "axis": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
        "legend": {"labelFontSize": 12, "titleFontSize": 12, "labelLimit": 420},
        "header": {"labelFontSize": 13, "labelFontWeight": "bold", "titleFontSize": 0},
        "range": {"category": COLOURS},
        "view": {"stroke": "#ddd"},
        "background": "white",
    });
    spec
}

fn bars(outcome: &Outcome, variants: &[&VariantOutcome], quantity: Quantity) -> Value {
    let mut rows = Vec::new();
    let drawn_with_optimum = quantity == Metric::Goodput.into();
    for variant in variants {
        for flow in variant.flow_names() {
            let Some(estimate) = outcome.estimate(&variant.id, quantity, Some(flow)) else { continue };
            let half = estimate.half_width.unwrap_or(0.0);
            // What cannot be negative is not drawn below zero, however few the seeds.
            let low =
                if estimate.mean >= 0.0 { (estimate.mean - half).max(0.0) } else { estimate.mean - half };
            let optimum = drawn_with_optimum
                .then(|| outcome.estimate(&variant.id, Metric::Optimum, Some(flow)))
                .flatten()
                .map(|e| e.mean);
            rows.push(json!({
                "panel": variant.group, "system": variant.label, "flow": flow, "value": estimate.mean,
                "low": low, "high": estimate.mean + half, "optimum": optimum,
            }));
        }
    }
    let order: Vec<&str> = variants.iter().map(|v| v.label.as_str()).collect();
    let x = json!({"field": "flow", "type": "nominal", "title": "flow", "axis": {"labelAngle": 0}});
    let offset = json!({"field": "system", "type": "nominal", "sort": order});
    let mut layers = vec![
        json!({
            "mark": {"type": "bar"},
            "encoding": {
                "y": {"field": "value", "type": "quantitative", "title": quantity.label()},
                "color": {"field": "system", "type": "nominal", "sort": order, "title": null, "legend": {"orient": "top", "columns": 2}},
                "tooltip": [{"field": "system"}, {"field": "flow"}, {"field": "value", "format": ".4g"},
                            {"field": "low", "format": ".4g"}, {"field": "high", "format": ".4g"},
                            {"field": "optimum", "format": ".4g"}],
            },
        }),
        json!({
            "mark": {"type": "rule", "strokeWidth": 1.5},
            "encoding": {"y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"}},
        }),
    ];
    if drawn_with_optimum {
        layers.push(json!({
            "transform": [{"filter": "isValid(datum.optimum)"}],
            "mark": {"type": "tick", "thickness": 2.5, "color": "black", "bandSize": 22},
            "encoding": {"y": {"field": "optimum", "type": "quantitative"}},
        }));
    }
    for layer in &mut layers {
        layer["encoding"]["x"] = x.clone();
        layer["encoding"]["xOffset"] = offset.clone();
    }
    let groups = distinct(variants.iter().map(|v| v.group.as_str()));
    let width = (700 / groups.len()).max(220);
    let inner = json!({"layer": layers, "width": width, "height": 260});
    panels(&rows, &groups, inner)
}

/// The layer of the paper's numbers, crosses, or of numbers of another origin, diamonds.
fn printed(field: &str, x: &Value) -> Value {
    let (shape, colour) = if field == "paper" { ("cross", "black") } else { ("diamond", "#777777") };
    json!({
        "transform": [{"filter": format!("isValid(datum.{field})")}],
        "mark": {"type": "point", "shape": shape, "size": 90, "color": colour},
        "encoding": {"x": x, "y": {"field": field, "type": "quantitative"}, "tooltip": [{"field": field}, {"field": "origin"}]},
    })
}

/// The number of another origin beside a row, and its origin.
fn reference(row: &Row) -> (Option<f64>, Option<&str>) {
    row.reference.as_ref().map_or((None, None), |r| (Some(r.value), Some(r.origin.as_str())))
}

/// A quantity over a swept parameter, with the interval as a band, the paper's numbers as crosses and others as diamonds.
fn lines(outcome: &Outcome, variants: &[&VariantOutcome], quantity: Quantity, total: bool) -> Value {
    let mut rows = Vec::new();
    let mut parameter = "";
    for variant in variants {
        let Some(point) = &variant.point else { continue };
        parameter = &point.parameter;
        let names: Vec<Option<&str>> =
            if total { vec![None] } else { variant.flow_names().into_iter().map(Some).collect() };
        for flow in names {
            let Some(row) = outcome.row(&variant.id, flow, quantity) else { continue };
            let half = row.half_width.unwrap_or(0.0);
            let low = if row.mean >= 0.0 { (row.mean - half).max(0.0) } else { row.mean - half };
            rows.push(json!({
                "x": point.x, "system": variant.label, "panel": variant.group,
                "flow": flow.map_or_else(|| format!("all flows, {}", row.flow), |f| format!("flow {f}")),
                "value": row.mean, "low": low, "high": row.mean + half, "paper": row.paper,
                "reference": reference(row).0, "origin": reference(row).1,
            }));
        }
    }
    let groups = distinct(variants.iter().map(|v| v.group.as_str()));
    let systems = distinct(variants.iter().map(|v| v.label.as_str()));
    let whole = variants.iter().filter_map(|v| v.point.as_ref()).all(|p| p.x.fract() == 0.0);
    let axis = if whole { json!({"tickMinStep": 1}) } else { json!({}) };
    let x = json!({"field": "x", "type": "quantitative", "title": parameter, "axis": axis, "scale": {"zero": false}});
    // One colour per flow where there are several, else one per system; dashes tell the other apart.
    let (colour, dash) = if total { ("system", "flow") } else { ("flow", "system") };
    let legend = json!({"orient": "top", "symbolType": "stroke", "symbolStrokeWidth": 2.5, "symbolSize": 300, "symbolOpacity": 1, "symbolFillColor": "transparent"});
    // Drawn only where it tells anything apart.
    let flows = distinct(rows.iter().filter_map(|row| row["flow"].as_str()));
    let legend_of = |field: &str| {
        let several = if field == "system" { systems.len() > 1 } else { flows.len() > 1 };
        if several { legend.clone() } else { Value::Null }
    };
    let dash =
        json!({"field": dash, "type": "nominal", "title": null, "sort": systems, "legend": legend_of(dash)});
    let colour = json!({"field": colour, "type": "nominal", "title": null, "sort": systems, "legend": legend_of(colour)});
    let title = quantity.label();
    let quantity = |field: &str| json!({"field": field, "type": "quantitative", "title": title});
    let layers = json!([
        {"mark": {"type": "area", "opacity": 0.15},
         "encoding": {"x": x, "y": quantity("low"), "y2": {"field": "high"}, "color": colour, "detail": [{"field": "system"}, {"field": "flow"}]}},
        {"mark": {"type": "line", "point": true},
         "encoding": {"x": x, "y": quantity("value"), "color": colour, "strokeDash": dash,
                      "tooltip": [{"field": "system"}, {"field": "flow"}, {"field": "x"}, {"field": "value", "format": ".4g"}, {"field": "paper"}]}},
        printed("paper", &x),
        printed("reference", &x),
    ]);
    let width = (700 / groups.len().max(1)).max(260);
    let inner = json!({"layer": layers, "width": width, "height": 280});
    panels(&rows, &groups, inner)
}

/// One panel per group, where there are several.
fn panels(rows: &[Value], groups: &[&str], mut inner: Value) -> Value {
    if groups.len() > 1 {
        return json!({"data": {"values": rows}, "facet": {"column": {"field": "panel", "sort": groups}}, "spec": inner});
    }
    inner["data"] = json!({"values": rows});
    inner
}

fn distinct<'a>(items: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for item in items {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}

fn series(variants: &[&VariantOutcome], quantity: Quantity) -> Value {
    let mut rows = Vec::new();
    for variant in variants {
        let run = &variant.runs[0];
        for (index, flow) in run.flows.iter().enumerate() {
            let Some((times, values)) = quantity.course(run, index) else { continue };
            for (time, value) in times.iter().zip(values) {
                rows.push(json!({"system": variant.label, "flow": flow.flow, "t": time, "value": value}));
            }
        }
    }
    let order: Vec<&str> = variants.iter().map(|v| v.label.as_str()).collect();
    json!({
        "data": {"values": rows},
        "facet": {"row": {"field": "system", "sort": order, "header": {"labelAngle": 0, "labelAnchor": "start", "labelOrient": "top"}}},
        "spec": {
            "width": 700, "height": 150,
            "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.3},
            "encoding": {
                "x": {"field": "t", "type": "quantitative", "title": "time [s]"},
                "y": {"field": "value", "type": "quantitative", "title": quantity.label()},
                "color": {"field": "flow", "type": "nominal", "legend": {"orient": "top"}},
            },
        },
    })
}

/// One tick per seed, a dot at the mean, a cross at the paper's number, a diamond at another's.
fn spread(outcome: &Outcome, variants: &[&VariantOutcome], quantity: Quantity) -> Value {
    let (mut rows, mut means) = (Vec::new(), Vec::new());
    for variant in variants {
        for value in outcome.samples(&variant.id, quantity, None).unwrap_or_default() {
            rows.push(json!({"system": variant.label, "value": value}));
        }
        if let Some(row) = outcome.row(&variant.id, None, quantity) {
            let (reference, origin) = reference(row);
            means.push(json!({"system": variant.label, "value": row.mean, "paper": row.paper, "reference": reference, "origin": origin}));
        }
    }
    let order: Vec<&str> = variants.iter().map(|v| v.label.as_str()).collect();
    let y = json!({"field": "system", "type": "nominal", "sort": order, "title": null});
    let x = |field: &str| json!({"field": field, "type": "quantitative", "title": quantity.label()});
    let printed_at = |field: &str| {
        let mut layer = printed(field, &x(field));
        layer["data"] = json!({"values": means});
        layer["encoding"]["y"] = y.clone();
        layer
    };
    json!({
        "width": 640, "height": {"step": 44},
        "layer": [
            {"data": {"values": rows}, "mark": {"type": "tick", "opacity": 0.6, "thickness": 1.5},
             "encoding": {"y": y, "x": x("value")}},
            {"data": {"values": means}, "mark": {"type": "circle", "size": 110, "color": "#d55e00", "opacity": 1},
             "encoding": {"y": y, "x": x("value"), "tooltip": [{"field": "value", "format": ".4g"}]}},
            printed_at("paper"),
            printed_at("reference"),
        ],
    })
}

/// Trajectories in the plane: a dot where each begins.
fn phase(variants: &[&VariantOutcome], quantity: Quantity, against: Option<Quantity>) -> Value {
    let mut rows = Vec::new();
    for variant in variants {
        let run = &variant.runs[0];
        let (across, up) = match against {
            Some(other) => (other.course(run, 0), quantity.course(run, 0)),
            None => (quantity.course(run, 0), quantity.course(run, 1)),
        };
        let (Some((_, across)), Some((_, up))) = (across, up) else { continue };
        for (i, (x, y)) in across.iter().zip(up).enumerate() {
            rows.push(json!({"system": variant.label, "i": i, "x": x, "y": y}));
        }
    }
    let order: Vec<&str> = variants.iter().map(|v| v.label.as_str()).collect();
    let (x_title, y_title) = match against {
        Some(other) => (other.label(), quantity.label()),
        None => (format!("flow 1: {}", quantity.label()), format!("flow 2: {}", quantity.label())),
    };
    let axis = |field: &str, title: &str| json!({"field": field, "type": "quantitative", "title": title});
    let colour = json!({"field": "system", "type": "nominal", "sort": order, "title": null, "legend": {"orient": "top", "columns": 3}});
    json!({
        "data": {"values": rows}, "width": 520, "height": 400,
        "layer": [
            {"mark": {"type": "line", "strokeWidth": 1.5},
             "encoding": {"x": axis("x", &x_title), "y": axis("y", &y_title), "order": {"field": "i"}, "color": colour}},
            {"transform": [{"filter": "datum.i == 0"}], "mark": {"type": "circle", "size": 60},
             "encoding": {"x": axis("x", &x_title), "y": axis("y", &y_title), "color": colour}},
        ],
    })
}

fn name_of(variant: &VariantOutcome) -> &str {
    &variant.scenario().settings().name
}

fn conflict_graph(variants: &[&VariantOutcome]) -> Value {
    let mut panels = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for variant in variants {
        if seen.contains(&name_of(variant)) {
            continue;
        }
        seen.push(name_of(variant));
        let (layout, network) = (variant.scenario().layout(), variant.scenario().network());
        let count = layout.links.len() as f64;
        let place = |l: usize| {
            let angle = std::f64::consts::TAU * l as f64 / count - std::f64::consts::FRAC_PI_2;
            (angle.cos(), -angle.sin())
        };
        // A link is called by the flow that alone uses it, if there is one.
        let name = |l: usize| {
            let (name, link) = &layout.links[l];
            let mut users = network
                .flows
                .iter()
                .filter(|f| f.path.windows(2).any(|w| [w[0], w[1]] == [link.from, link.to]));
            match (users.next(), users.next()) {
                (Some(flow), None) if flow.path.len() == 2 => flow.name.clone(),
                _ => name.clone(),
            }
        };
        let nodes: Vec<Value> = (0..layout.links.len())
            .map(|l| json!({"x": place(l).0, "y": place(l).1, "link": name(l)}))
            .collect();
        let edges: Vec<Value> = layout
            .conflicts
            .edges()
            .map(|(l, m)| {
                let ((x, y), (x2, y2)) = (place(l), place(m));
                json!({"x": x, "y": y, "x2": x2, "y2": y2})
            })
            .collect();
        let axis = |field: &str| json!({"field": field, "type": "quantitative", "axis": null, "scale": {"domain": [-1.4, 1.4]}});
        panels.push(json!({
            "title": name_of(variant), "width": 220, "height": 220,
            "layer": [
                {"data": {"values": edges}, "mark": {"type": "rule", "strokeWidth": 2, "color": "#888"},
                 "encoding": {"x": axis("x"), "y": axis("y"), "x2": {"field": "x2"}, "y2": {"field": "y2"}}},
                {"data": {"values": nodes}, "mark": {"type": "circle", "size": 1100, "color": "#0072b2", "opacity": 1},
                 "encoding": {"x": axis("x"), "y": axis("y")}},
                {"data": {"values": nodes}, "mark": {"type": "text", "fontSize": 14, "fontWeight": "bold", "color": "white"},
                 "encoding": {"x": axis("x"), "y": axis("y"), "text": {"field": "link"}}},
            ],
        }));
    }
    json!({"hconcat": panels})
}

fn ledger(variants: &[&VariantOutcome]) -> Value {
    let mut rows = Vec::new();
    for variant in variants {
        // Means over seeds of the queues that carry the flows' data.
        for flow in &variant.runs[0].flows {
            let links: Vec<&LinkRecord> =
                variant.runs.iter().filter_map(|r| r.links.iter().find(|l| l.queue == flow.queue)).collect();
            for (part, share) in ledger_parts(&links, &variant.runs[0].flows, &flow.flow) {
                rows.push(json!({"system": variant.label, "flow": flow.flow, "part": part, "share": share}));
            }
        }
    }
    let parts = distinct(rows.iter().filter_map(|r| r["part"].as_str())).into_iter().map(String::from);
    let mut parts: Vec<String> = parts.collect();
    parts.sort_by_key(|part| part_rank(part));
    let order: Vec<&str> = variants.iter().map(|v| v.label.as_str()).collect();
    json!({
        "data": {"values": rows},
        "transform": [{"calculate": format!("indexof({}, datum.part)", json!(parts)), "as": "rank"}],
        "facet": {"row": {"field": "system", "sort": order, "header": {"labelAngle": 0, "labelAnchor": "start", "labelOrient": "top"}}},
        "spec": {
            "width": 700, "height": {"step": 26},
            "mark": "bar",
            "encoding": {
                "y": {"field": "flow", "type": "nominal", "title": "sender of flow"},
                "x": {"field": "share", "type": "quantitative", "stack": "zero", "title": "share of time",
                      "axis": {"format": "%"}, "scale": {"domain": [0, 1]}},
                "color": {"field": "part", "type": "nominal", "sort": parts, "title": null,
                          "scale": {"domain": parts, "range": part_colours(&parts)}, "legend": {"orient": "top", "columns": 4}},
                "order": {"field": "rank"},
                "tooltip": [{"field": "part"}, {"field": "share", "format": ".1%"}],
            },
        },
    })
}

/// Means over runs of the parts of the time of one flow's sender.
pub(crate) fn ledger_parts(links: &[&LinkRecord], flows: &[FlowResult], own: &str) -> Vec<(String, f64)> {
    let mut parts: Vec<(String, f64)> = Vec::new();
    let mut add = |part: String, share: f64| match parts.iter_mut().find(|(p, _)| *p == part) {
        Some((_, sum)) => *sum += share,
        None => parts.push((part, share)),
    };
    let times: Vec<_> = links.iter().filter_map(|l| l.airtime.as_ref()).collect();
    for time in &times {
        let n = times.len() as f64;
        add("own exchanges".into(), time.own / n);
        add("failed exchanges".into(), time.collided / n);
        add("back-off".into(), time.backoff / n);
        add("inter-frame spaces".into(), time.interframe / n);
        add("nothing to send".into(), time.empty / n);
        for (by, share) in &time.blocked_by {
            add(blocker(by, flows, own), share / n);
        }
    }
    parts
}

/// Whose exchange a queue's is: called by its flow where the queue's node belongs to one flow only.
fn blocker(queue: &str, flows: &[FlowResult], own: &str) -> String {
    let node = queue.split('>').next().unwrap_or(queue);
    let mut users = flows.iter().filter(|f| f.from == node || f.to == node);
    match (users.next(), users.next()) {
        (Some(flow), None) if flow.flow == own => "own TCP acknowledgements".into(),
        (Some(flow), None) => format!("blocked by flow {}", flow.flow),
        _ => format!("blocked by {queue}"),
    }
}

/// Parts of a sender's time that are not another's doing, in the order in which they are drawn.
pub(crate) const OWN_PARTS: [&str; 6] = [
    "own exchanges",
    "failed exchanges",
    "own TCP acknowledgements",
    "back-off",
    "inter-frame spaces",
    "nothing to send",
];

fn part_rank(part: &str) -> (usize, String) {
    (OWN_PARTS.iter().position(|p| *p == part).unwrap_or(OWN_PARTS.len()), part.into())
}

fn part_colours(parts: &[String]) -> Vec<&'static str> {
    const BLOCKED: [&str; 8] =
        ["#7f3b08", "#b35806", "#e08214", "#fdb863", "#542788", "#8073ac", "#b2abd2", "#8c8c8c"];
    let mut blocked = BLOCKED.iter().cycle();
    let colour = |part: &String| match part_rank(part).0 {
        0 => "#009e73",
        1 => "#d62728",
        2 => "#66c2a4",
        3 => "#9ecae1",
        4 => "#c6dbef",
        5 => "#eeeeee",
        _ => blocked.next().expect("it cycles"),
    };
    parts.iter().map(colour).collect()
}

fn timeline(variants: &[&VariantOutcome]) -> Value {
    let mut rows = Vec::new();
    for variant in variants {
        let run = &variant.runs[0];
        let zero = run.frames.iter().map(|f| f.start_ms).fold(f64::INFINITY, f64::min);
        for frame in &run.frames {
            let what = match (frame.kind.as_str(), frame.decoded) {
                (_, false) => "lost",
                ("ACK", true) => "802.11 ACK",
                _ => "DATA",
            };
            rows.push(json!({
                "system": variant.label, "node": frame.node, "what": what,
                "start": frame.start_ms - zero, "end": frame.end_ms - zero,
            }));
        }
    }
    let order: Vec<&str> = variants.iter().map(|v| v.label.as_str()).collect();
    let nodes: Vec<String> =
        variants.first().map(|v| v.scenario().network().nodes.clone()).unwrap_or_default();
    json!({
        "data": {"values": rows},
        "facet": {"row": {"field": "system", "sort": order, "header": {"labelAngle": 0, "labelAnchor": "start", "labelOrient": "top"}}},
        "spec": {
            "width": 700, "height": {"step": 18},
            "mark": {"type": "bar", "height": {"band": 0.8}},
            "encoding": {
                "y": {"field": "node", "type": "nominal", "sort": nodes, "scale": {"domain": nodes}, "title": "node"},
                "x": {"field": "start", "type": "quantitative", "title": "time in the window [ms]"},
                "x2": {"field": "end"},
                "color": {"field": "what", "type": "nominal", "title": null, "legend": {"orient": "top"},
                          "scale": {"domain": ["DATA", "802.11 ACK", "lost"], "range": ["#0072b2", "#56b4e9", "#d62728"]}},
                "tooltip": [{"field": "node"}, {"field": "what"}, {"field": "start", "format": ".3f"}, {"field": "end", "format": ".3f"}],
            },
        },
    })
}
