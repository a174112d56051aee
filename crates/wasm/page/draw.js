// Small helpers of all drawings: colours, elements, numbers.

// Told apart by colour-blind readers too (after Okabe and Ito): those of the reports.
export const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#b3a100", "#858585"];

/** The colour of a flow, by its number; grey for what belongs to none. */
export const colourOf = (flow) => (flow < 0 ? "#858585" : COLOURS[flow % COLOURS.length]);

/** An element with attributes and children; texts become text, never markup. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  return dress(element, attributes, children);
}

/** The same of SVG. */
export function svg(name, attributes = {}, ...children) {
  return dress(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function dress(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** A number to three digits that count. */
export function digits(value) {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 100) return value.toFixed(0);
  if (Math.abs(value) >= 10) return value.toFixed(1);
  return value === 0 ? "0" : value.toFixed(2);
}

/** A share in percent. */
export const percent = (share) => `${(share * 100).toFixed(share > 0 && share < 0.0095 ? 1 : 0)}\u00a0%`;

/** A time with the unit that suits it; `step` is the least that matters [ns]. */
export function time(ns, step = 1e6) {
  const places = (unit) => Math.max(0, Math.min(9, Math.ceil(Math.log10(unit / step) - 1e-9)));
  if (step >= 1e6 || ns >= 1e9) return `${(ns / 1e9).toFixed(places(1e9))} s`;
  return `${(ns / 1e6).toFixed(places(1e6))} ms`;
}

/** A canvas of the size that its place has, with its colours. */
export function canvasOf(canvas, height) {
  const width = canvas.clientWidth || 300;
  const scale = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, sans-serif";
  return { context, width, height, ...inks() };
}

/** The colours of text and lines, light or dark; they are looked up once a theme. */
export function inks() {
  inks.probe ??= document.body.appendChild(make("i", { class: "probe", hidden: true }));
  const of = (name) => {
    inks.probe.style.color = `var(--${name})`;
    return getComputedStyle(inks.probe).color;
  };
  inks.known ??= Object.fromEntries(["ink", "quiet", "line", "bad", "page"].map((name) => [name, of(name)]));
  return inks.known;
}

/** The theme is another one. */
export const forgetInks = () => (inks.known = null);

/** Round numbers for the marks of an axis from zero. */
export function marks(top, most = 4) {
  const rough = top / most;
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= rough) ?? power;
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, k) => k * step);
}
