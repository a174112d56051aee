//! Charts as Vega-Lite specifications, for reports.

use super::scale::{title_lines, width_of, wrapped};
use super::{Axis, Chart, Height, Key, Label, Marks, Panel, Series, Side, Symbol, Ticks};
use serde_json::{Map, Value, json};

/// The colour of the text around the figure.
const INK: &str = "currentColor";
/// For how wide a page a specification is laid out before `figures.js` sees the page \[px\].
const PAGE: f64 = 820.0;
/// What lies between panels \[px\].
const GAP: f64 = 24.0;
/// The most columns of a legend.
const COLUMNS_MAX: f64 = 8.0;

pub(super) fn spec(chart: &Chart, file: &str) -> Value {
    let margin = chart.panels.iter().map(margin).fold(0.0, f64::max);
    let (least, most) = chart.width;
    let columns =
        ((PAGE + GAP) / (least + margin + GAP)).floor().clamp(1.0, chart.panels.len().max(1) as f64);
    let width = ((PAGE + GAP) / columns - GAP - margin).clamp(least, most).floor();
    let mut panels: Vec<Value> = chart.panels.iter().map(|p| panel(chart, p, width)).collect();
    let mut spec = match panels.len() {
        1 => panels.remove(0),
        _ => json!({"concat": panels, "columns": columns, "spacing": GAP}),
    };
    let of_width = |p: &Panel| if let Height::OfWidth(ratio) = p.height { json!(ratio) } else { Value::Null };
    spec["$schema"] = json!("https://vega.github.io/schema/vega-lite/v6.json");
    spec["config"] = config();
    spec["usermeta"] = json!({
        "embedOptions": {"downloadFileName": file},
        "layout": {
            "least": least, "most": most, "margin": margin, "gap": GAP,
            "legends": {"color": legend_width(&chart.colours), "strokeDash": legend_width(&chart.dashes)},
            "words": chart.panels.iter().map(|p| widest_word(&p.x)).collect::<Vec<_>>(),
            "ofWidth": chart.panels.iter().map(of_width).collect::<Vec<_>>(),
        },
    });
    spec
}

/// How much room each word at an axis needs \[px\]; none, if it has no words.
fn widest_word(axis: &Axis) -> f64 {
    match &axis.ticks {
        Ticks::Words(words) => words.iter().map(|word| width_of(word) + 6.0).fold(0.0, f64::max),
        _ => 0.0,
    }
}

/// How much room a name of a legend and its sample take \[px\].
fn legend_width(keys: &[Key]) -> f64 {
    50.0 + keys.iter().map(|key| width_of(&key.name)).fold(0.0, f64::max)
}

/// What all figures have in common; the page may say more, in the options of the call that embeds them.
fn config() -> Value {
    let text = |size: u32| json!({"labelFontSize": size, "titleFontSize": size, "titleFontWeight": "normal", "labelColor": INK, "titleColor": INK});
    let mut axis = text(12);
    for (key, value) in [("domainColor", INK), ("tickColor", INK), ("gridColor", INK)] {
        axis[key] = json!(value);
    }
    axis["gridOpacity"] = json!(0.12);
    axis["labelLimit"] = json!(320);
    axis["labelSeparation"] = json!(6);
    let mut legend = text(12);
    legend["labelLimit"] = json!(600);
    legend["layout"] = json!({"top": {"anchor": "start", "direction": "vertical", "center": false}});
    json!({
        "font": "system-ui, sans-serif",
        "axis": axis, "legend": legend,
        "title": {"color": INK, "fontSize": 13, "anchor": "start", "offset": 8},
        "view": {"stroke": INK, "strokeOpacity": 0.2},
        "background": null,
    })
}

/// How much room the labels of the upright axis take \[px\].
fn margin(panel: &Panel) -> f64 {
    match &panel.y.ticks {
        Ticks::Hidden => 12.0,
        Ticks::Words(words) => {
            words.iter().map(|w| width_of(w)).fold(0.0, f64::max).min(320.0)
                + if panel.y.title.is_empty() { 18.0 } else { 36.0 }
        }
        _ => 55.0 + 15.0 * title_lines(&panel.y.title, panel.height.of(300.0)).len() as f64,
    }
}

fn panel(chart: &Chart, panel: &Panel, width: f64) -> Value {
    let height = panel.height.of(width);
    let layers = Layers { chart, panel, width, height };
    let mut spec = json!({"width": width, "height": height, "layer": layers.all()});
    if !panel.title.is_empty() {
        let lines = wrapped(&panel.title, ((width / 6.8) as usize).max(20));
        spec["title"] = json!({"text": lines.split('\n').collect::<Vec<_>>()});
    }
    spec
}

/// The layers of a panel: of each kind of mark one that has colours and one that has not.
struct Layers<'a> {
    chart: &'a Chart,
    panel: &'a Panel,
    /// How wide and how high it is \[px\].
    width: f64,
    height: f64,
}

/// One number with as many digits as can be seen.
fn neat(x: f64) -> Value {
    if x == 0.0 || !x.is_finite() {
        return json!(if x.is_finite() { Some(0.0) } else { None });
    }
    let scale = 10f64.powi(6 - x.abs().log10().floor() as i32);
    if scale.is_finite() && scale > 0.0 { json!((x * scale).round() / scale) } else { json!(x) }
}

impl Layers<'_> {
    fn all(&self) -> Vec<Value> {
        let mut layers = Vec::new();
        for coloured in [true, false] {
            let of: Vec<&Series> =
                self.panel.series.iter().filter(|s| s.colour.is_some() == coloured).collect();
            self.bars(&of, &mut layers);
            self.lines(&of, &mut layers);
            self.segments(&of, &mut layers);
        }
        for coloured in [true, false] {
            let of: Vec<&Series> =
                self.panel.series.iter().filter(|s| s.colour.is_some() == coloured).collect();
            self.symbols(&of, &mut layers);
        }
        self.labels(&mut layers);
        layers
    }

    /// A row of data of a series.
    fn row(series: &Series, more: &[(&str, Value)]) -> Value {
        let mut row = Map::new();
        row.insert("s".into(), json!(series.name));
        if let Some(colour) = series.colour.as_ref().filter(|c| **c != series.name) {
            row.insert("c".into(), json!(colour));
        }
        if let Some(dash) = series.dash.as_ref().filter(|d| Some(*d) != series.colour.as_ref()) {
            row.insert("d".into(), json!(dash));
        }
        row.extend(more.iter().map(|(key, value)| ((*key).to_string(), value.clone())));
        Value::Object(row)
    }

    fn position(axis: &Axis, field: &str, upright: bool) -> Value {
        json!({"field": field, "type": "quantitative", "scale": scale(axis), "axis": labels(axis, upright), "title": axis.title})
    }

    /// A layer, if it has any rows. `fields` are those of x, y and their other ends.
    fn layer(&self, rows: &[Value], mark: &Value, fields: [&str; 4], coloured: bool) -> Option<Value> {
        if rows.is_empty() {
            return None;
        }
        let [x, y, x2, y2] = fields;
        let mut encoding = json!({
            "x": Self::position(&self.panel.x, x, false),
            "y": Self::position(&self.panel.y, y, true),
        });
        encoding["x"]["title"] = json!(title_lines(&self.panel.x.title, self.width));
        encoding["y"]["title"] = json!(title_lines(&self.panel.y.title, self.height));
        if !x2.is_empty() {
            encoding["x2"] = json!({"field": x2});
        }
        if !y2.is_empty() {
            encoding["y2"] = json!({"field": y2});
        }
        let has = |field: &str| rows.iter().any(|row| row.get(field).is_some());
        if coloured {
            encoding["color"] = self.channel(&self.chart.colours, if has("c") { "c" } else { "s" }, true);
        } else {
            encoding["color"] = json!({"value": INK});
        }
        if has("d") {
            encoding["strokeDash"] = self.channel(&self.chart.dashes, "d", false);
        } else if coloured && self.panel.series.iter().any(|s| s.dash.is_some()) {
            encoding["strokeDash"] =
                self.channel(&self.chart.dashes, if has("c") { "c" } else { "s" }, false);
        }
        Some(json!({"data": {"values": rows}, "mark": mark, "encoding": encoding}))
    }

    fn channel(&self, keys: &[Key], field: &str, of_colour: bool) -> Value {
        let look = |key: &Key| match of_colour {
            true => json!(key.look),
            false if key.look.is_empty() => json!([1, 0]),
            false => json!(key.look.split(' ').filter_map(|n| n.parse::<u32>().ok()).collect::<Vec<_>>()),
        };
        let mut legend = match (keys.len() > 1, self.chart.is_of_lines()) {
            (false, _) => Value::Null,
            (true, true) => {
                json!({"orient": "top", "symbolType": "stroke", "symbolStrokeWidth": 2.5, "symbolSize": 420, "symbolOpacity": 1, "symbolFillColor": "transparent"})
            }
            (true, false) => {
                json!({"orient": "top", "symbolType": "square", "symbolSize": 130, "symbolOpacity": 1, "symbolStrokeWidth": 0})
            }
        };
        if !legend.is_null() {
            legend["columns"] = json!((PAGE / legend_width(keys)).floor().clamp(1.0, COLUMNS_MAX));
        }
        let domain: Vec<&str> = keys.iter().map(|k| k.name.as_str()).collect();
        let range: Vec<Value> = keys.iter().map(look).collect();
        let mut channel = json!({"field": field, "type": "nominal", "title": null, "sort": null, "scale": {"domain": domain, "range": range}, "legend": legend});
        if !of_colour && !legend.is_null() {
            channel["legend"]["symbolStrokeColor"] = json!(INK);
        }
        channel
    }

    fn tooltip(fields: &[(&str, &str)]) -> Value {
        let field = |&(field, title): &(&str, &str)| match field {
            "s" | "of" | "by" => json!({"field": field, "type": "nominal", "title": title}),
            _ => json!({"field": field, "type": "quantitative", "title": title, "format": ".4g"}),
        };
        json!(fields.iter().map(field).collect::<Vec<_>>())
    }

    fn lines(&self, all: &[&Series], layers: &mut Vec<Value>) {
        let [mut plain, mut stepped, mut dots, mut bands] = [const { Vec::new() }; 4];
        for series in all {
            let Marks::Line { points, stepped: steps, dotted } = &series.marks else { continue };
            for (k, point) in points.iter().enumerate() {
                let mut fields = vec![("k", json!(k)), ("x", neat(point.x)), ("y", neat(point.y))];
                if let Some((low, high)) = point.interval {
                    fields.extend([("low", neat(low)), ("high", neat(high))]);
                    bands.push(Self::row(series, &fields));
                }
                if *dotted {
                    dots.push(Self::row(series, &fields));
                }
                if *steps { &mut stepped } else { &mut plain }.push(Self::row(series, &fields));
            }
        }
        let coloured = all.first().is_some_and(|s| s.colour.is_some());
        let (x, y) = (self.panel.x.title.as_str(), self.panel.y.title.as_str());
        let tooltip = Self::tooltip(&[("s", "line"), ("x", x), ("y", y), ("low", "low"), ("high", "high")]);
        let apart = json!([{"field": "s", "type": "nominal"}]);
        let band = self.layer(
            &bands,
            &json!({"type": "area", "opacity": 0.15, "clip": true}),
            ["x", "low", "", "high"],
            coloured,
        );
        let line =
            |interpolate: &str| json!({"type": "line", "strokeWidth": 1.6, "interpolate": interpolate});
        let plain = self.layer(&plain, &line("linear"), ["x", "y", "", ""], coloured);
        let stepped = self.layer(&stepped, &line("step-after"), ["x", "y", "", ""], coloured);
        let dots = self.layer(
            &dots,
            &json!({"type": "point", "filled": true, "size": 28, "opacity": 1}),
            ["x", "y", "", ""],
            coloured,
        );
        for (layer, ordered) in [(band, true), (plain, true), (stepped, true), (dots, false)] {
            let Some(mut layer) = layer else { continue };
            let encoding = &mut layer["encoding"];
            if ordered {
                encoding["order"] = json!({"field": "k"});
                encoding["detail"] = apart.clone();
            } else {
                encoding["tooltip"] = tooltip.clone();
                encoding.as_object_mut().expect("it was made above").remove("strokeDash");
            }
            if layer["mark"]["type"] == "area" {
                let encoding = layer["encoding"].as_object_mut().expect("it was made above");
                encoding.remove("strokeDash");
                encoding.remove("order"); // an area runs along x; with an order Vega-Lite stacks it, and nothing is seen
            }
            layers.push(layer);
        }
    }

    fn bars(&self, all: &[&Series], layers: &mut Vec<Value>) {
        for lies in [false, true] {
            let (mut rows, mut rules) = (Vec::new(), Vec::new());
            for series in all {
                let Marks::Bars { bars, lying } = &series.marks else { continue };
                for bar in bars.iter().filter(|_| *lying == lies) {
                    let (a, b) = bar.sides;
                    let mut fields = vec![
                        ("of", json!(bar.of)),
                        ("a", neat(a)),
                        ("b", neat(b)),
                        ("from", neat(bar.from)),
                        ("to", neat(bar.to)),
                        ("long", neat(bar.to - bar.from)),
                    ];
                    if let Some((low, high)) = bar.interval {
                        fields.extend([
                            ("low", neat(low)),
                            ("high", neat(high)),
                            ("mid", neat(f64::midpoint(a, b))),
                        ]);
                        rules.push(Self::row(series, &fields[6..]));
                    }
                    rows.push(Self::row(series, &fields));
                }
            }
            let coloured = all.first().is_some_and(|s| s.colour.is_some());
            let value = if lies { &self.panel.x.title } else { &self.panel.y.title };
            let tooltip = Self::tooltip(&[
                ("s", "bar"),
                ("of", "of"),
                ("long", value),
                ("low", "low"),
                ("high", "high"),
            ]);
            let fields = if lies { ["from", "a", "to", "b"] } else { ["a", "from", "b", "to"] };
            if let Some(mut layer) = self.layer(&rows, &json!({"type": "rect"}), fields, coloured) {
                layer["encoding"]["tooltip"] = tooltip;
                layers.push(layer);
            }
            let rule = json!({"type": "rule", "strokeWidth": 1.2, "clip": true});
            let fields = if lies { ["low", "mid", "high", ""] } else { ["mid", "low", "", "high"] };
            layers.extend(self.layer(&rules, &rule, fields, false));
        }
    }

    fn segments(&self, all: &[&Series], layers: &mut Vec<Value>) {
        for series in all {
            let Marks::Segments { segments, thick } = &series.marks else { continue };
            let row = |[x, y, x2, y2]: &[f64; 4]| {
                Self::row(series, &[("x", neat(*x)), ("y", neat(*y)), ("x2", neat(*x2)), ("y2", neat(*y2))])
            };
            let mut mark = json!({"type": "rule", "strokeWidth": thick});
            if series.colour.is_none() {
                mark["opacity"] = json!(Chart::opacity(*thick));
            }
            let coloured = series.colour.is_some();
            layers.extend(self.layer(
                &segments.iter().map(row).collect::<Vec<_>>(),
                &mark,
                ["x", "y", "x2", "y2"],
                coloured,
            ));
        }
    }

    fn symbols(&self, all: &[&Series], layers: &mut Vec<Value>) {
        let kinds = [Symbol::Tick, Symbol::Disc, Symbol::Node, Symbol::Dot, Symbol::Cross, Symbol::Diamond];
        for kind in kinds {
            let mut rows = Vec::new();
            for series in all {
                let Marks::Symbols { symbol, at } = &series.marks else { continue };
                let row = |[x, y]: &[f64; 2]| Self::row(series, &[("x", neat(*x)), ("y", neat(*y))]);
                rows.extend(at.iter().filter(|_| *symbol == kind).map(row));
            }
            let point = |shape: &str, size: u32| json!({"type": "point", "shape": shape, "size": size, "filled": true, "opacity": 1});
            let mark = match kind {
                Symbol::Tick => {
                    json!({"type": "tick", "orient": "vertical", "opacity": 0.65, "thickness": 1.5, "height": 20})
                }
                Symbol::Disc => point("circle", 1000),
                Symbol::Node => point("circle", 60),
                Symbol::Dot => point("circle", 90),
                Symbol::Cross => {
                    json!({"type": "point", "shape": "M-1,-1L1,1M-1,1L1,-1", "size": 90, "filled": false, "strokeWidth": 1.5, "opacity": 1})
                }
                Symbol::Diamond => {
                    json!({"type": "point", "shape": "diamond", "size": 80, "filled": false, "strokeWidth": 1.5, "opacity": 1})
                }
            };
            let coloured = all.first().is_some_and(|s| s.colour.is_some());
            if let Some(mut layer) = self.layer(&rows, &mark, ["x", "y", "", ""], coloured) {
                let mut fields = vec![("s", "of")];
                if !matches!(self.panel.x.ticks, Ticks::Words(_) | Ticks::Hidden) {
                    fields.push(("x", &self.panel.x.title));
                }
                if !matches!(self.panel.y.ticks, Ticks::Words(_) | Ticks::Hidden) {
                    fields.push(("y", &self.panel.y.title));
                }
                layer["encoding"]["tooltip"] = Self::tooltip(&fields);
                layer["encoding"].as_object_mut().expect("it was made above").remove("strokeDash");
                layers.push(layer);
            }
        }
    }

    fn labels(&self, layers: &mut Vec<Value>) {
        for series in &self.panel.series {
            let Marks::Labels { labels } = &series.marks else { continue };
            for side in [Side::Within, Side::Left, Side::Right, Side::Above, Side::Below] {
                let row = |l: &Label| {
                    Self::row(series, &[("x", neat(l.x)), ("y", neat(l.y)), ("t", json!(l.text))])
                };
                let rows: Vec<Value> = labels.iter().filter(|l| l.side == side).map(row).collect();
                let (align, baseline, dx, dy) = match side {
                    Side::Within => ("center", "middle", 0, 0),
                    Side::Left => ("right", "middle", -7, 0),
                    Side::Right => ("left", "middle", 7, 0),
                    Side::Above => ("center", "bottom", 0, -6),
                    Side::Below => ("center", "top", 0, 6),
                };
                let mark = json!({"type": "text", "fontSize": 12, "align": align, "baseline": baseline, "dx": dx, "dy": dy});
                let Some(mut layer) = self.layer(&rows, &mark, ["x", "y", "", ""], false) else { continue };
                layer["encoding"]["text"] = json!({"field": "t"});
                if side == Side::Within {
                    layer["encoding"]["color"] = json!({"value": "white"});
                }
                layers.push(layer);
            }
        }
    }
}

fn scale(axis: &Axis) -> Value {
    let kind = if axis.ticks == Ticks::Powers { "log" } else { "linear" };
    json!({"type": kind, "domain": [axis.ends.0, axis.ends.1], "nice": false, "zero": false})
}

/// What is written at an axis.
fn labels(axis: &Axis, upright: bool) -> Value {
    // Rows are high enough for their words.
    let overlap = if upright { json!(false) } else { json!("greedy") };
    match &axis.ticks {
        Ticks::Numbers | Ticks::Powers => json!({"labelOverlap": "greedy"}),
        Ticks::Whole => json!({"tickMinStep": 1, "labelOverlap": "greedy"}),
        Ticks::Shares => json!({"format": "%"}),
        Ticks::Hidden => Value::Null,
        Ticks::Words(words) => json!({
            "values": (0..words.len()).collect::<Vec<_>>(), "grid": false, "ticks": false, "labelPadding": 6,
            "labelExpr": format!("split({}[datum.value],'\\n')", json!(words)),
            "labelOverlap": overlap,
        }),
    }
}
