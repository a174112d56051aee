// The frames on the air, a row for each node that sends.

import { canvasOf, colourOf, make, time } from "./draw.js";

const KEPT = 20000; // frames
const ROWS = [22, 15]; // pixels of a row, of a few and of many
const ROWS_MAX = 24;
const WIDTHS = [1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 2e8, 5e8, 1e9]; // ns

export class Timeline {
  #canvas;
  #table;
  #frames = [];
  #nodes = [];
  #flows = [];
  #rows = [];
  #end = 0;
  #drag = null;
  #hooks;
  /** The width of what is seen [ns]. */
  span = 2e7;

  /** `hooks.look(end)` is called where the reader moves the window. */
  constructor(canvas, table, hooks) {
    this.#canvas = canvas;
    this.#table = table;
    this.#hooks = hooks;
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      this.#drag = { x: event.clientX, end: this.#end };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (this.#drag) this.#look(this.#drag.end - ((event.clientX - this.#drag.x) * this.span) / this.#width);
    });
    canvas.addEventListener("pointerup", () => (this.#drag = null));
    canvas.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.draw(this.#end)).observe(canvas.parentElement);
  }

  clear(nodes, flows) {
    [this.#frames, this.#nodes, this.#flows, this.#rows] = [[], nodes, flows, []];
    for (const { path } of flows) this.#rows.push(...path.filter((node) => !this.#rows.includes(node)));
    this.#rows = this.#rows.slice(0, ROWS_MAX).sort((a, b) => a - b);
    this.draw(0);
  }

  add(frames) {
    if (!frames.length) return;
    this.#frames.push(...frames);
    if (this.#frames.length > KEPT) this.#frames.splice(0, this.#frames.length - KEPT);
  }

  /** The frames on the air at an instant. */
  at(ns) {
    const near = this.#within(ns, ns + 1);
    return near.filter(([start, end]) => start <= ns && ns < end);
  }

  /** The end of the frame that ends next after an instant, or last before it. */
  nextEnd(ns, way) {
    const ends = this.#frames.map(([, end]) => end);
    return way > 0 ? ends.find((end) => end > ns) : ends.findLast((end) => end < ns);
  }

  /** A width in which two seconds of the reader's pass, or what is kept where they pass too fast. */
  spanFor(speed) {
    const wanted = Math.min(speed * 2e9, 2e7);
    this.span = WIDTHS.find((width) => width >= wanted) ?? WIDTHS.at(-1);
    this.draw(this.#end);
  }

  zoom(steps) {
    const now = WIDTHS.findIndex((width) => width >= this.span);
    this.span = WIDTHS[Math.min(Math.max(now + steps, 0), WIDTHS.length - 1)];
    this.draw(this.#end);
  }

  /** Draws the frames up to an instant. */
  draw(end) {
    this.#end = end;
    const pitch = this.#row;
    const height = this.#rows.length * pitch + 26;
    const { context: c, width, ink, quiet, line, bad, page } = canvasOf(this.#canvas, Math.max(height, 70));
    const left = this.#left(c);
    const start = end - this.span;
    const x = (ns) => left + ((ns - start) / this.span) * (width - left);
    this.#grid(c, { left, width, start, x, line, quiet, ink });
    const rowOf = new Map(this.#rows.map((node, row) => [node, row]));
    c.save();
    c.beginPath();
    c.rect(left, 0, width - left, height);
    c.clip();
    for (const [from, to, node, , kind, flow, bits] of this.#within(start, end)) {
      const row = rowOf.get(node);
      if (row === undefined) continue;
      const [x1, x2] = [x(from), Math.max(x(to), x(from) + 0.7)];
      const isData = kind === "DATA";
      const [y, tall] = isData ? [row * pitch + 2, pitch - 5] : [row * pitch + pitch / 3, pitch / 3];
      c.globalAlpha = bits & 1 ? 1 : 0.45;
      c.fillStyle = colourOf(flow);
      c.fillRect(x1, y, x2 - x1, tall);
      c.globalAlpha = 1;
      if (!(bits & 1)) {
        c.strokeStyle = bad;
        c.lineWidth = 1.5;
        c.strokeRect(x1 + 0.75, y + 0.75, Math.max(x2 - x1 - 1.5, 0.5), tall - 1.5);
      }
      const words = isData ? (bits & 4 ? "TCP ACK" : "DATA") : kind;
      if (x2 - x1 > c.measureText(words).width + 8 && isData) {
        c.fillStyle = bits & 1 ? page : ink;
        c.fillText(words, Math.max(x1, left) + 4, y + tall / 2 + 4);
      }
    }
    c.restore();
    this.#tell(start, end);
  }

  get #row() {
    return ROWS[Number(this.#rows.length > 12)];
  }

  get #width() {
    return (this.#canvas.clientWidth || 300) - 60;
  }

  #left(context) {
    const names = this.#rows.map((node) => context.measureText(this.#nodes[node].id).width);
    return Math.min(90, Math.max(24, ...names)) + 10;
  }

  #grid(c, { left, width, start, x, line, quiet, ink }) {
    const pitch = this.#row;
    const bottom = this.#rows.length * pitch;
    const most = Math.max(2, Math.floor((width - left) / 130));
    const step = [1, 2, 5].flatMap((n) => Array.from({ length: 9 }, (_, k) => n * 10 ** (k + 1))).sort((a, b) => a - b).find((s) => this.span / s <= most);
    c.lineWidth = 1;
    c.strokeStyle = line;
    c.fillStyle = quiet;
    for (let mark = Math.ceil(Math.max(start, 0) / step) * step; mark <= start + this.span; mark += step) {
      c.fillRect(x(mark), 0, 0.5, bottom + 4);
      const words = time(mark, step);
      if (x(mark) + 4 + c.measureText(words).width < width) c.fillText(words, x(mark) + 2, bottom + 18);
    }
    this.#rows.forEach((node, row) => {
      c.fillStyle = line;
      c.fillRect(left, (row + 1) * pitch - 0.5, width - left, 0.5);
      c.fillStyle = ink;
      c.fillText(this.#nodes[node].id, 0, row * pitch + pitch / 2 + 4, left - 8);
    });
  }

  /** Frames that overlap a window; they come in the order of their ends. */
  #within(start, end) {
    let [low, high] = [0, this.#frames.length];
    while (low < high) {
      const mid = (low + high) >> 1;
      if (this.#frames[mid][1] > start) high = mid;
      else low = mid + 1;
    }
    const found = [];
    // A frame lasts less than 30 ms: none that ends later than that after the window began in it.
    for (let k = low; k < this.#frames.length && this.#frames[k][1] < end + 3e7; k++) {
      if (this.#frames[k][0] < end) found.push(this.#frames[k]);
    }
    return found;
  }

  /** The same as a table, where it is open. */
  #tell(start, end) {
    if (!this.#table.closest("details").open) return;
    const rows = this.#within(start, end).slice(-40).map(([from, to, node, at, kind, flow, bits]) => {
      const cell = (words) => make("td", {}, words);
      return make(
        "tr",
        {},
        cell(`${(from / 1e6).toFixed(3)}`),
        cell(`${((to - from) / 1e3).toFixed(0)}`),
        cell(`${this.#nodes[node].id} → ${at < 0 ? "all" : this.#nodes[at].id}`),
        cell(kind),
        cell(flow < 0 ? "" : (this.#flows[flow]?.id ?? "")),
        cell(`${bits & 1 ? "decoded" : "lost"}${bits & 2 ? ", repeated" : ""}`),
      );
    });
    this.#table.tBodies[0].replaceChildren(...rows);
  }

  #look(end) {
    this.draw(Math.max(end, 0));
    this.#hooks.look(this.#end);
  }

  #wheel(event) {
    if (!event.ctrlKey && !event.shiftKey) return; // the page scrolls
    event.preventDefault();
    this.zoom(event.deltaY > 0 ? 1 : -1);
  }

  #key(event) {
    const way = { ArrowLeft: -0.2, ArrowRight: 0.2, PageUp: -1, PageDown: 1 }[event.key];
    if (way) this.#look(this.#end + way * this.span);
    else if (event.key === "+") this.zoom(-1);
    else if (event.key === "-") this.zoom(1);
    else return;
    event.preventDefault();
  }
}
