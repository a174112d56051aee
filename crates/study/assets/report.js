// Tells what is under the pointer in figures, and gives them away as files; sorts tables, filters claims, dresses the page.
// Without it the page has all its texts, tables and figures.
const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");
const stored = {
  get() { try { return localStorage.getItem("evenair-theme"); } catch { return null; } },
  set(theme) { try { localStorage.setItem("evenair-theme", theme); } catch { /* a page from a file may not */ } },
};
const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";

const dress = theme => {
  if (theme) root.dataset.theme = theme;
  const button = document.getElementById("theme");
  button.hidden = false;
  button.textContent = isDark() ? "light page" : "dark page";
};
const asked = new URLSearchParams(location.search).get("theme") ?? stored.get();
dress(["light", "dark"].includes(asked) ? asked : null);
document.getElementById("theme").onclick = () => {
  const theme = isDark() ? "light" : "dark";
  stored.set(theme);
  dress(theme);
};
system.addEventListener("change", () => dress(null));

// Figures: what is under the pointer, or reached by the arrow keys, is told; a name of a legend brings out what is its.
const told = x => String(+x.toPrecision(5)).replace("-", "−");
const word = (axis, x) => axis.ticks.words?.[Math.round(x)]?.replaceAll("\n", " ");
const isValue = axis => axis.ticks !== "hidden" && !axis.ticks.words;
// Every mark of a panel that has a value: where it is, from corner to corner, and what it says.
const marksOf = panel => {
  const names = new Map(panel.series.flatMap(({labels}) => labels ?? []).map(({x, y, text}) => [`${x} ${y}`, text]));
  return panel.series.flatMap(series => {
    const mark = (corners, more) => ({series: series.name, corners, x: corners[2], y: corners[3], ...more});
    switch (series.marks) {
      case "line": return series.points.filter(p => p.y != null).map(p => mark([p.x, p.y, p.x, p.y], {interval: p.interval, up: true}));
      case "bars": return series.bars.map(b => {
        const [[a, z], middle] = [b.sides, (b.sides[0] + b.sides[1]) / 2];
        const said = {of: b.of, from: b.from, to: b.to, interval: b.interval, up: !series.lying};
        return series.lying ? mark([b.from, a, b.to, z], {...said, y: middle}) : mark([a, b.from, z, b.to], {...said, x: middle});
      });
      case "symbols": return series.at.map(([x, y]) => mark([x, y, x, y], {of: names.get(`${x} ${y}`)}));
      case "segments": return [panel.x, panel.y].every(isValue) ? [] : series.segments.filter(() => isValue(panel.x) || isValue(panel.y)).map(s => mark(s));
      default: return [];
    }
  });
};
const linesOf = (panel, mark) => {
  const {of, from, to, interval} = mark;
  const value = (axis, x, ranged) => !isValue(axis) ? word(axis, x) && `${axis.title} ${word(axis, x)}`
    : `${axis.title}: ${told(ranged && from != null ? to - from : x)}`
      + (ranged && from ? `, from ${told(from)} to ${told(to)}` : "") + (ranged && interval ? ` (${told(interval[0])} to ${told(interval[1])})` : "");
  return [mark.series, panel.x.ticks.words || panel.y.ticks.words ? "" : of, value(panel.x, mark.x, mark.up === false), value(panel.y, mark.y, mark.up)].filter(line => line);
};
const tip = Object.assign(document.createElement("div"), {id: "tip", hidden: true});
tip.setAttribute("role", "status");
document.body.append(tip);

const shareOf = ({ends: [low, high], ticks}, x) => {
  const scale = ticks === "powers" ? Math.log10 : x => x;
  return (scale(x) - scale(low)) / (scale(high) - scale(low));
};
const bringOut = (svg, name) => {
  svg.classList.toggle("dimmed", name != null);
  svg.querySelectorAll(".series, .key").forEach(part =>
    part.classList.toggle("lit", name != null && [part.dataset.colour, part.dataset.dash, part.dataset.key].includes(name)));
};
const liven = (svg, panels) => {
  const ring = document.createElementNS(svg.namespaceURI, "rect");
  ring.setAttribute("class", "ring");
  const hide = () => { tip.hidden = true; ring.remove(); };
  const places = [...svg.querySelectorAll(".panel")].map((place, k) => {
    const [left, top, width, height] = place.dataset.frame.split(" ").map(Number);
    const [panel, marks] = [panels[k], marksOf(panels[k])];
    const across = x => left + width * Math.min(1, Math.max(0, shareOf(panel.x, x)));
    const down = y => top + height * (1 - Math.min(1, Math.max(0, shareOf(panel.y, y))));
    const boxes = marks.map(({corners: [x, y, x2, y2]}) =>
      [Math.min(across(x), across(x2)), Math.min(down(y), down(y2)), Math.max(across(x), across(x2)), Math.max(down(y), down(y2))]);
    let shown = -1;
    const show = index => {
      shown = index;
      const [x, y, x2, y2] = boxes[index];
      for (const [name, value] of Object.entries({x: x - 4, y: y - 4, width: x2 - x + 8, height: y2 - y + 8, rx: 5})) ring.setAttribute(name, value);
      svg.append(ring);
      tip.replaceChildren(...linesOf(panel, marks[index]).map(line => Object.assign(document.createElement("div"), {textContent: line})));
      tip.hidden = false;
      const {right, left, bottom, top} = ring.getBoundingClientRect();
      tip.style.left = `${Math.max(4, right + 6 + tip.offsetWidth > innerWidth ? left - tip.offsetWidth - 6 : right + 6)}px`;
      tip.style.top = `${Math.max(4, Math.min((top + bottom) / 2, innerHeight - tip.offsetHeight - 4))}px`;
    };
    if (marks.length) place.setAttribute("tabindex", 0);
    place.addEventListener("blur", hide);
    place.addEventListener("keydown", event => {
      const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      if (event.key === "Escape") hide();
      if (!step) return;
      event.preventDefault();
      show((shown + step + marks.length) % marks.length);
    });
    const nearest = ([px, py]) => {
      const far = ([x, y, x2, y2]) => Math.hypot(Math.max(x - px, 0, px - x2), Math.max(y - py, 0, py - y2)) - (x === x2 || y === y2 ? 6 : 0);
      const distances = boxes.map(far);
      const best = distances.indexOf(Math.min(...distances));
      if (best >= 0 && distances[best] < 24) show(best); else hide();
    };
    return {holds: ([x, y]) => x > left - 12 && x < left + width + 12 && y > top - 12 && y < top + height + 12, nearest};
  });
  const look = event => {
    const {x, y} = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const place = places.find(place => place.holds([x, y]));
    if (place) place.nearest([x, y]); else hide();
  };
  svg.addEventListener("pointermove", look);
  svg.addEventListener("pointerdown", look);
  svg.addEventListener("pointerleave", hide);
  let kept = null;
  svg.querySelectorAll(".key").forEach(key => {
    const name = key.dataset.key;
    const keep = () => {
      kept = kept === name ? null : name;
      svg.querySelectorAll(".key").forEach(other => other.setAttribute("aria-pressed", other.dataset.key === kept));
      bringOut(svg, kept);
    };
    for (const [attribute, value] of [["tabindex", 0], ["role", "button"], ["aria-pressed", false], ["aria-label", name]]) key.setAttribute(attribute, value);
    for (const kind of ["pointerenter", "focus"]) key.addEventListener(kind, () => bringOut(svg, name));
    for (const kind of ["pointerleave", "blur"]) key.addEventListener(kind, () => bringOut(svg, kept));
    key.addEventListener("click", keep);
    key.addEventListener("keydown", event => { if ([" ", "Enter"].includes(event.key)) { event.preventDefault(); keep(); } });
  });
  svg.setAttribute("role", "group"); // its names are buttons now
};

const asCsv = panels => {
  const rows = panels.flatMap(panel => marksOf(panel).map(({series, of, x, y, from, to, interval}) =>
    [panel.title, series, of, word(panel.x, x) ?? x, word(panel.y, y) ?? y, from, to, ...interval ?? []]));
  const cell = value => value == null ? "" : /[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value;
  return [["panel", "series", "of", "x", "y", "from", "to", "low", "high"], ...rows].map(row => row.map(cell).join(",")).join("\n") + "\n";
};
// The figure as it is seen, as a file of its own: dark on white.
const asSvg = place => {
  const svg = [...place.querySelectorAll("svg")].find(svg => svg.clientWidth).cloneNode(true);
  const {width, height} = svg.viewBox.baseVal;
  const given = {xmlns: svg.namespaceURI, width, height, style: "color: #1c2126; background: #fff"};
  for (const [name, value] of Object.entries(given)) svg.setAttribute(name, value);
  svg.querySelectorAll(".ring").forEach(ring => ring.remove());
  svg.classList.remove("dimmed");
  return new Blob([new XMLSerializer().serializeToString(svg)], {type: "image/svg+xml"});
};
const asPng = place => new Promise(done => {
  const image = new Image();
  image.onload = () => {
    const canvas = Object.assign(document.createElement("canvas"), {width: 2 * image.width, height: 2 * image.height});
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob(done);
  };
  image.src = URL.createObjectURL(asSvg(place));
});
document.querySelectorAll(".drawing[data-figure]").forEach(place => {
  const figure = FIGURES[place.dataset.figure];
  place.querySelectorAll("svg").forEach(svg => liven(svg, figure.panels));
  const forms = {
    "data (CSV)": ["csv", () => new Blob([asCsv(figure.panels)], {type: "text/csv"})], SVG: ["svg", () => asSvg(place)], PNG: ["png", () => asPng(place)],
  };
  const links = Object.entries(forms).flatMap(([text, [ending, make]]) => {
    const link = Object.assign(document.createElement("a"), {textContent: text, href: "#"});
    link.onclick = async event => {
      event.preventDefault();
      Object.assign(document.createElement("a"), {href: URL.createObjectURL(await make()), download: `${figure.name}.${ending}`}).click();
    };
    return [link, " · "];
  });
  const made = Object.assign(document.createElement("code"), {textContent: figure.command});
  place.parentNode.querySelector(".data").append(...links, "made by ", made);
});

const numberIn = cell => parseFloat(cell?.textContent.replace("−", "-"));
document.querySelectorAll(".sortable").forEach(table => {
  const body = table.tBodies[0];
  table.classList.add("sorts");
  [...table.tHead.rows[0].cells].forEach((head, column) => head.onclick = () => {
    const up = head.getAttribute("aria-sort") === "descending";
    [...head.parentNode.cells].forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const before = (one, other) => {
      const [a, b] = [one.cells[column], other.cells[column]];
      const [x, y] = [numberIn(a), numberIn(b)];
      const order = column === 0 || isNaN(x) && isNaN(y)
        ? a.textContent.localeCompare(b.textContent, undefined, {numeric: true})
        : isNaN(x) ? -Infinity : isNaN(y) ? Infinity : x - y;
      return up ? order : -order;
    };
    body.append(...[...body.rows].sort(before));
  });
});

document.querySelectorAll(".filter").forEach(place => {
  const table = document.getElementById(place.dataset.for);
  const rows = [...table.tBodies[0].rows];
  const verdicts = [...new Set(rows.map(row => row.className))];
  if (verdicts.length < 2) return;
  place.textContent = "Show: ";
  for (const verdict of ["all", ...verdicts]) {
    const count = rows.filter(row => verdict === "all" || row.className === verdict).length;
    const button = Object.assign(document.createElement("button"), {textContent: `${verdict} ${count}`});
    button.setAttribute("aria-pressed", verdict === "all");
    button.onclick = () => {
      rows.forEach(row => { row.hidden = verdict !== "all" && row.className !== verdict; });
      place.querySelectorAll("button").forEach(other => other.setAttribute("aria-pressed", other === button));
    };
    place.append(button, " ");
  }
});
addEventListener("beforeprint", () => document.querySelectorAll("#claims-table tr").forEach(row => { row.hidden = false; }));

for (const box of document.querySelectorAll(".moments")) {
  const all = [box.previousElementSibling, ...box.children];
  const slider = Object.assign(document.createElement("input"), {type: "range", min: 0, max: all.length - 1, value: 0});
  const time = document.createElement("output");
  const show = () => {
    all.forEach((drawing, k) => { drawing.hidden = k !== +slider.value; });
    time.textContent = ` ${all[slider.value].dataset.time ?? 0} s`;
  };
  slider.setAttribute("aria-label", "instant");
  slider.addEventListener("input", show);
  const label = Object.assign(document.createElement("label"), {textContent: "Instant: "});
  label.append(slider, time);
  box.after(label);
  show();
}
