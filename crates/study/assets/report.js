// Draws the figures, light or dark; sorts tables, filters claims, gives the figures' data away. Without it the page has all its
// texts and tables.
const root = document.documentElement;
const DARK = {
  background: "transparent",
  view: {stroke: "#343c44"},
  axis: {labelColor: "#c4ccd4", titleColor: "#c4ccd4", domainColor: "#59646e", tickColor: "#59646e", gridColor: "#2a3138"},
  legend: {labelColor: "#c4ccd4", titleColor: "#c4ccd4"},
  header: {labelColor: "#e3e7eb", titleColor: "#e3e7eb"},
  title: {color: "#e3e7eb"},
  rule: {color: "#c4ccd4"},
  text: {color: "#e3e7eb"},
};
const merged = (one, other) => {
  const out = {...one};
  for (const [key, value] of Object.entries(other))
    out[key] = value && typeof value === "object" && !Array.isArray(value) ? merged(out[key] ?? {}, value) : value;
  return out;
};
/// A figure as it is drawn in the dark: what is black is white there.
const inTheDark = spec => {
  const text = JSON.stringify(spec).replaceAll('"color":"black"', '"color":"#f2f4f6"');
  const dark = JSON.parse(text);
  dark.config = merged(dark.config ?? {}, DARK);
  return dark;
};

const system = matchMedia("(prefers-color-scheme: dark)");
const stored = {
  get() { try { return localStorage.getItem("evenair-theme"); } catch { return null; } },
  set(theme) { try { localStorage.setItem("evenair-theme", theme); } catch { /* a page from a file may not */ } },
};
const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";

const draw = (element, figure, spec) => vegaEmbed(element, spec, {
  renderer: "svg",
  downloadFileName: figure.name,
  actions: {export: true, source: false, compiled: false, editor: false},
}).catch(error => { element.textContent = error; });

/// Draws all figures; in the dark each once more as it is printed, because a printer does not wait.
const drawAll = () => {
  document.querySelectorAll(".drawing.paper").forEach(element => element.remove());
  document.querySelectorAll(".drawing").forEach(element => {
    const figure = FIGURES[element.dataset.figure];
    element.classList.add("screen");
    draw(element, figure, isDark() ? inTheDark(figure.spec) : figure.spec);
    if (!isDark()) return;
    const onPaper = document.createElement("div");
    onPaper.className = "drawing paper";
    element.after(onPaper);
    draw(onPaper, figure, figure.spec);
  });
};

const dress = theme => {
  if (theme) root.dataset.theme = theme;
  const button = document.getElementById("theme");
  button.hidden = false;
  button.textContent = isDark() ? "light page" : "dark page";
  drawAll();
};
const asked = new URLSearchParams(location.search).get("theme") ?? stored.get();
dress(["light", "dark"].includes(asked) ? asked : null);
document.getElementById("theme").onclick = () => {
  const theme = isDark() ? "light" : "dark";
  stored.set(theme);
  dress(theme);
};
system.addEventListener("change", () => dress(null));

/// Every row that a specification draws, wherever in it it stands.
const rowsOf = spec => {
  if (!spec || typeof spec !== "object") return [];
  const own = spec.data && Array.isArray(spec.data.values) ? spec.data.values : [];
  const parts = ["layer", "hconcat", "vconcat", "concat"].flatMap(key => spec[key] ?? []);
  return [...own, ...[...parts, spec.spec].flatMap(rowsOf)];
};
const asCsv = rows => {
  const columns = [...new Set(rows.flatMap(row => Object.keys(row)))];
  const cell = value => value == null ? "" : /[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value;
  return [columns, ...rows.map(row => columns.map(column => row[column]))].map(row => row.map(cell).join(",")).join("\n") + "\n";
};
document.querySelectorAll(".data").forEach(place => {
  const figure = FIGURES[place.dataset.figure];
  const link = document.createElement("a");
  link.textContent = "its data (CSV)";
  link.href = "#";
  link.title = "made by: " + figure.command;
  link.onclick = () => {
    link.href = URL.createObjectURL(new Blob([asCsv(rowsOf(figure.spec))], {type: "text/csv"}));
    link.download = figure.name + ".csv";
  };
  place.append(link, " · made by ", Object.assign(document.createElement("code"), {textContent: figure.command}));
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
  const rows = [...document.getElementById(place.dataset.for).tBodies[0].rows];
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
