// Draws the figures, whose ink is the text's, light or dark; sorts tables, filters claims, gives the figures' data away.
// Without it the page has all its texts and tables.
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

FIGURES.forEach((figure, k) => drawFigure(`figure-${k}`, structuredClone(figure.spec)));

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
      table.classList.toggle("filtered", verdict !== "all"); // what was asked for is not folded
      place.querySelectorAll("button").forEach(other => other.setAttribute("aria-pressed", other === button));
    };
    place.append(button, " ");
  }
});
addEventListener("beforeprint", () => document.querySelectorAll("#claims-table tr").forEach(row => { row.hidden = false; }));
