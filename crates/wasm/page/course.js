// Curves over simulated time: goodput, queues, windows.

import { canvasOf, colourOf, digits, marks } from "./draw.js";

const POINTS = 600; // a curve is thinned beyond this
const HEIGHT = 150;

/** One quantity of several curves. */
export class Course {
  #canvas;
  #times = [];
  #values = [];

  constructor(canvas) {
    this.#canvas = canvas;
    new ResizeObserver(() => this.draw()).observe(canvas.parentElement);
  }

  clear() {
    [this.#times, this.#values] = [[], []];
    this.draw();
  }

  /** Adds a point of each curve; beyond so many every second one goes. */
  add(seconds, values) {
    this.#times.push(seconds);
    this.#values.push(values);
    if (this.#times.length > POINTS) {
      const half = (_, k) => k % 2 === 1;
      [this.#times, this.#values] = [this.#times.filter(half), this.#values.filter(half)];
    }
  }

  draw() {
    const { context: c, width, height, quiet, line } = canvasOf(this.#canvas, HEIGHT);
    const last = this.#times.at(-1) ?? 1;
    const first = this.#times[0] ?? 0;
    const most = Math.max(1, ...this.#values.flat());
    const widest = Math.max(...marks(most).map((mark) => c.measureText(String(mark)).width));
    const [left, right, top, bottom] = [Math.max(40, widest + 8), width - 8, 10, height - 20];
    const x = (t) => left + ((t - first) / Math.max(last - first, 1e-9)) * (right - left);
    const y = (v) => bottom - (v / most) * (bottom - top);
    c.fillStyle = quiet;
    c.strokeStyle = line;
    c.textAlign = "right";
    for (const mark of marks(most)) {
      c.fillText(String(mark), left - 6, y(mark) + 4);
      stroke(c, [[left, y(mark)], [right, y(mark)]]);
    }
    c.fillText(`${digits(last)} s`, right, height - 4);
    c.textAlign = "left";
    c.fillText(`${digits(first)} s`, left, height - 4);
    const curves = this.#values.at(-1)?.length ?? 0;
    c.lineWidth = 1.5;
    for (let k = 0; k < curves; k++) {
      c.strokeStyle = colourOf(k);
      c.setLineDash(k < 8 ? [] : k < 16 ? [6, 3] : [2, 2]);
      stroke(c, this.#times.map((t, i) => [x(t), y(this.#values[i][k])]));
    }
    c.setLineDash([]);
  }
}

function stroke(context, points) {
  context.beginPath();
  for (const [x, y] of points) context.lineTo(x, y);
  context.stroke();
}
