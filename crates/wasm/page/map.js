// The map: nodes that are dragged or moved by keys, ranges, conflicts, and the ways of flows.

import { colourOf, percent, svg } from "./draw.js";

const CONFLICTS_MAX = 60; // more lines than this hide the map: then those of the selected node are drawn alone

export class NetworkMap {
  #svg;
  #hooks;
  #network = null;
  #view = null;
  #selected = -1;
  #drag = null;
  #places = [];
  #shares = [];
  #blockers = [];
  #layers;
  #size = [600, 400];
  #scale = 1; // pixels a metre

  /** `hooks`: `move(node, [east, north], done)`, `select(node)`, `pick(east, north)`. */
  constructor(element, hooks) {
    this.#svg = element;
    this.#hooks = hooks;
    this.#layers = Object.fromEntries(
      ["ground", "ranges", "conflicts", "flows", "blockers", "air", "nodes"].map((name) => [name, svg("g", { class: name })]),
    );
    element.append(svg("defs", {}, arrowHead()), ...Object.values(this.#layers));
    element.addEventListener("pointermove", (event) => this.#dragged(event));
    element.addEventListener("pointerup", (event) => this.#dropped(event));
    element.addEventListener("pointercancel", (event) => this.#dropped(event));
    element.addEventListener("pointerdown", (event) => {
      if (event.target === element || !event.target.closest(".node")) this.#hooks.pick(this.#at(event));
    });
    element.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.#network && this.show(this.#network, false)).observe(element);
  }

  get selected() {
    return this.#selected;
  }

  /** Draws a network; `fit` chooses what is seen of it, which stays while nodes are moved. */
  show(network, fit = true) {
    const same = this.#network?.nodes.length === network.nodes.length;
    this.#network = network;
    if (!same) this.#selected = -1;
    if (!same || fit) [this.#shares, this.#blockers] = [[], []];
    const dragged = this.#drag && this.#places[this.#drag.number];
    this.#places = places(network);
    if (dragged) this.#places[this.#drag.number] = dragged;
    if (fit || !this.#view) this.#view = extent(this.#places, network.ranges_m);
    this.#redraw();
  }

  select(node) {
    this.#selected = node;
    this.#blockers = [];
    this.#redraw();
  }

  /** Each flow's share of its fair rate, for the labels on the map. */
  shares(shares) {
    this.#shares = shares;
    this.#flows();
  }

  /** The nodes that keep the selected one from sending: `[node, share of time]`. */
  blockers(list) {
    this.#blockers = list;
    this.#blocked();
  }

  /** The frames that are on the air at this moment. */
  air(frames) {
    const lines = frames.map(([, , from, to, , flow]) => {
      const [a, b] = [this.#places[from], to < 0 ? this.#places[from] : this.#places[to]];
      const colour = colourOf(flow);
      const ring = svg("circle", { cx: this.#x(a), cy: this.#y(a), r: 13, stroke: colour });
      const line = svg("line", { x1: this.#x(a), y1: this.#y(a), x2: this.#x(b), y2: this.#y(b), stroke: colour });
      return svg("g", {}, ring, line);
    });
    this.#layers.air.replaceChildren(...lines);
  }

  /** Reads the map's size, once a drawing: to ask for it after each change would lay the page out anew. */
  #measure() {
    const [width, height] = [this.#svg.clientWidth || 600, this.#svg.clientHeight || 400];
    const [west, east, south, north] = this.#view;
    this.#size = [width, height];
    this.#scale = Math.min((width - 56) / (east - west), (height - 48) / (north - south));
  }

  #x([east]) {
    return this.#size[0] / 2 + (east - (this.#view[0] + this.#view[1]) / 2) * this.#scale;
  }

  #y([, north]) {
    return this.#size[1] / 2 - (north - (this.#view[2] + this.#view[3]) / 2) * this.#scale;
  }

  /** The place under a pointer [m]. */
  #at(event) {
    const box = this.#svg.getBoundingClientRect();
    const [width, height] = this.#size;
    return [
      (event.clientX - box.left - width / 2) / this.#scale + (this.#view[0] + this.#view[1]) / 2,
      -(event.clientY - box.top - height / 2) / this.#scale + (this.#view[2] + this.#view[3]) / 2,
    ];
  }

  /** Draws all; while a node is dragged, the others stay as they are. */
  #redraw() {
    const dragged = this.#drag && this.#layers.nodes.children[this.#drag.number];
    if (dragged && this.#layers.nodes.children.length === this.#network.nodes.length) {
      dragged.setAttribute("transform", this.#translation(this.#drag.number));
      return this.#lines();
    }
    this.#measure();
    const [width, height] = this.#size;
    this.#svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.#ground();
    this.#lines();
    this.#nodes();
  }

  /** Draws what lies between nodes. */
  #lines() {
    this.#ranges();
    this.#conflicts();
    this.#flows();
    this.#blocked();
    this.#layers.air.replaceChildren();
  }

  #translation(number) {
    return `translate(${this.#x(this.#places[number])} ${this.#y(this.#places[number])})`;
  }

  #ground() {
    const [width, height] = this.#size;
    const metres = [1, 2, 5].flatMap((n) => [n, n * 10, n * 100, n * 1000, n * 10000]).sort((a, b) => a - b);
    const step = metres.find((m) => m * this.#scale > 60) ?? 10000;
    const bar = step * this.#scale;
    const [x, y] = [16, height - 14];
    const isPlaced = this.#network.nodes.some((node) => node.at);
    const ruler = svg("path", { d: `M${x} ${y - 4}v4h${bar}v-4`, class: "ruler" });
    const words = svg("text", { x: x + bar + 6, y: y + 1, class: "words" }, isPlaced ? `${step} m` : "no positions: a circle of nodes");
    this.#layers.ground.replaceChildren(...(isPlaced ? [ruler] : []), words);
    this.#svg.dataset.width = width;
  }

  #ranges() {
    const { ranges_m: ranges, nodes } = this.#network;
    const shown = this.#selected >= 0 ? this.#selected : middle(this.#places);
    if (!ranges || !nodes[shown]?.at) return this.#layers.ranges.replaceChildren();
    const [cx, cy] = [this.#x(this.#places[shown]), this.#y(this.#places[shown])];
    const circle = (radius, kind) => svg("circle", { cx, cy, r: radius * this.#scale, class: kind });
    const label = (radius, words) => {
      const up = cy - radius * this.#scale;
      return up > 12 ? [svg("text", { x: cx, y: up - 4, class: "words middle" }, words)] : [];
    };
    const far = Math.abs(ranges[1] - ranges[0]) * this.#scale > 14;
    this.#layers.ranges.replaceChildren(
      circle(ranges[1], "senses"),
      circle(ranges[0], "decodes"),
      ...label(ranges[0], `decodes ${nodes[shown].id}: ${Math.round(ranges[0])} m`),
      ...(far ? label(ranges[1], `senses ${nodes[shown].id}: ${Math.round(ranges[1])} m`) : []),
    );
  }

  #conflicts() {
    const { links, conflicts, hidden } = this.#network;
    const middleOf = ({ from, to }) => [
      (this.#places[from][0] + this.#places[to][0]) / 2,
      (this.#places[from][1] + this.#places[to][1]) / 2,
    ];
    const line = (kind) => ([l, m]) => {
      const [a, b] = [middleOf(links[l]), middleOf(links[m])];
      return svg("line", { x1: this.#x(a), y1: this.#y(a), x2: this.#x(b), y2: this.#y(b), class: kind });
    };
    const isOwn = (link) => links[link].from === this.#selected || links[link].to === this.#selected;
    const isFew = conflicts.length + hidden.length <= CONFLICTS_MAX;
    const few = (pairs) => (isFew ? pairs : pairs.filter(([l, m]) => isOwn(l) || isOwn(m)));
    this.#layers.conflicts.replaceChildren(...few(conflicts).map(line("conflict")), ...few(hidden).map(line("hidden")));
  }

  #flows() {
    const { flows } = this.#network;
    const drawn = flows.flatMap(({ id, path }, flow) => {
      const colour = colourOf(flow);
      const hops = path.slice(1).map((to, k) => {
        const [a, b] = this.#shortened(this.#places[path[k]], this.#places[to], flow);
        return svg("line", { x1: a[0], y1: a[1], x2: b[0], y2: b[1], stroke: colour, "marker-end": "url(#arrow)" });
      });
      if (flows.length > 20 || path.length < 2) return hops;
      const [from, to] = [this.#places[path[0]], this.#places[path[1]]];
      const share = this.#shares[flow];
      const words = share === undefined ? id : `${id}: ${percent(share)}`;
      const [x, y] = [(this.#x(from) + this.#x(to)) / 2, (this.#y(from) + this.#y(to)) / 2];
      const isUpright = Math.abs(this.#x(to) - this.#x(from)) < Math.abs(this.#y(to) - this.#y(from));
      const isAtEdge = x > this.#size[0] - 72;
      const beside = isAtEdge ? { x: x - 11, y: y + 4, class: "end" } : { x: x + 11, y: y + 4 };
      const place = isUpright ? beside : { x, y: y - 8, class: "middle" };
      const kind = `flow-name ${place.class ?? ""} ${share < 0.05 ? "starved" : ""}`;
      return [...hops, svg("text", { ...place, class: kind }, words)];
    });
    this.#layers.flows.replaceChildren(...drawn);
  }

  /** A hop in pixels, from edge to edge of its nodes, flows beside each other where they share it. */
  #shortened(from, to, flow) {
    let [x1, y1, x2, y2] = [this.#x(from), this.#y(from), this.#x(to), this.#y(to)];
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
    const aside = this.#network.flows.length > 8 ? 0 : ((flow % 3) - 1) * 1.5;
    [x1, y1, x2, y2] = [x1 - dy * aside, y1 + dx * aside, x2 - dy * aside, y2 + dx * aside];
    const gap = Math.min(9, length / 4);
    return [[x1 + dx * gap, y1 + dy * gap], [x2 - dx * (gap + 2), y2 - dy * (gap + 2)]];
  }

  #blocked() {
    const lines = this.#blockers.filter(([node]) => this.#selected >= 0 && node !== this.#selected).map(([node, share]) => {
      const [a, b] = [this.#places[node], this.#places[this.#selected]];
      const [x, y] = [(2 * this.#x(a) + this.#x(b)) / 3, (2 * this.#y(a) + this.#y(b)) / 3];
      const line = svg("line", { x1: this.#x(a), y1: this.#y(a), x2: this.#x(b), y2: this.#y(b), "stroke-width": 1 + 10 * share });
      // Where there is no room for them, the table has the shares.
      const isNarrow = this.#size[0] < 500;
      return svg("g", {}, line, ...(isNarrow ? [] : [svg("text", { x, y: y - 6, class: "middle" }, percent(share))]));
    });
    this.#layers.blockers.replaceChildren(...lines);
  }

  #nodes() {
    const { nodes } = this.#network;
    const isCrowded = nodes.length > 60;
    const focused = this.#svg.getRootNode().activeElement?.dataset?.node;
    const drawn = nodes.map((node, number) => {
      const isNamed = !isCrowded || number === this.#selected;
      const words = isNamed ? [svg("text", this.#beside(number), node.id)] : [];
      const group = svg(
        "g",
        {
          class: `node ${number === this.#selected ? "selected" : ""} ${node.movable ? "movable" : ""}`,
          transform: this.#translation(number),
          tabindex: number === Math.max(0, this.#selected) ? 0 : -1,
          role: "button",
          "aria-pressed": String(number === this.#selected),
          "aria-label": this.#label(number),
          "data-node": number,
        },
        svg("circle", { r: 16, class: "reach" }),
        svg("circle", { r: 6, class: "dot" }),
        ...words,
      );
      group.addEventListener("pointerdown", (event) => this.#grab(event, number));
      return group;
    });
    this.#layers.nodes.replaceChildren(...drawn);
    if (focused !== undefined) drawn[focused]?.focus({ preventScroll: true });
  }

  /** Where a node's name stands: opposite to where the ways of flows go on the whole. */
  #beside(number) {
    const [x, y] = [this.#x(this.#places[number]), this.#y(this.#places[number])];
    let [east, south] = [0, 0];
    for (const { path } of this.#network.flows) {
      path.forEach((node, k) => {
        const other = node === number ? (path[k + 1] ?? path[k - 1]) : undefined;
        if (other === undefined) return;
        const [dx, dy] = [this.#x(this.#places[other]) - x, this.#y(this.#places[other]) - y];
        const length = Math.hypot(dx, dy) || 1;
        [east, south] = [east + dx / length, south + dy / length];
      });
    }
    if (Math.abs(east) > Math.abs(south)) return { x: east > 0 ? -11 : 11, y: 4, class: east > 0 ? "end" : "" };
    return { x: 0, y: south < 0 ? 20 : -11, class: "middle" };
  }

  #label(number) {
    const { nodes, sensed_by: heard } = this.#network;
    const { id, at } = nodes[number];
    const names = (list) => list.map((node) => nodes[node].id).join(", ") || "none";
    const where = at ? `${Math.round(at[0])} m east, ${Math.round(at[1])} m north` : "without a position";
    const ears = heard[number] ? `; decoded by ${names(heard[number].decoded)}; sensed by ${names(heard[number].sensed)}` : "";
    return `Node ${id}, ${where}${ears}`;
  }

  #grab(event, number) {
    event.preventDefault();
    event.stopPropagation();
    event.currentTarget.focus({ preventScroll: true });
    if (this.#selected !== number) this.#hooks.select(number);
    if (!this.#network.nodes[number].at) return;
    this.#svg.setPointerCapture(event.pointerId);
    this.#drag = { number, moved: false, x: event.clientX, y: event.clientY };
  }

  #dragged(event) {
    const drag = this.#drag;
    if (!drag) return;
    drag.moved ||= Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 3;
    if (drag.moved) this.#moved(drag.number, this.#at(event).map(Math.round), false);
  }

  #dropped(event) {
    const drag = this.#drag;
    this.#drag = null;
    if (drag?.moved && event.type === "pointerup") this.#moved(drag.number, this.#at(event).map(Math.round), true);
  }

  #moved(number, place, done) {
    this.#places[number] = place;
    this.#redraw();
    this.#hooks.move(number, place, done);
  }

  #key(event) {
    const number = Number(event.target.closest?.(".node")?.dataset.node ?? -1);
    if (number < 0) return;
    const step = event.shiftKey ? 100 : event.altKey ? 1 : 10;
    const way = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] }[event.key];
    const count = this.#network.nodes.length;
    if (way && this.#network.nodes[number].at && !event.ctrlKey) {
      event.preventDefault();
      this.#moved(number, [this.#places[number][0] + way[0], this.#places[number][1] + way[1]], true);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.#hooks.select(number === this.#selected ? -1 : number);
    } else if (event.key === "n" || event.key === "p") {
      const next = (number + (event.key === "n" ? 1 : count - 1)) % count;
      this.#hooks.select(next);
      this.#layers.nodes.children[next].focus({ preventScroll: true });
    } else if (event.key === "Delete") {
      this.#hooks.remove(number);
    }
  }
}

/** Where nodes are drawn: at their positions, those without one on a circle. */
function places({ nodes }) {
  const placed = nodes.filter((node) => node.at).length;
  const turn = (k) => [300 * Math.cos((2 * Math.PI * k) / nodes.length), -300 * Math.sin((2 * Math.PI * k) / nodes.length)];
  return nodes.map((node, k) => node.at ?? (placed ? [0, 0] : turn(k)));
}

/** What is seen: all nodes, and what of the ranges makes the map no more than twice as large: west, east, south, north. */
function extent(all, ranges) {
  const of = (k) => [Math.min(...all.map((place) => place[k])), Math.max(...all.map((place) => place[k]))];
  const [[west, east], [south, north]] = all.length ? [of(0), of(1)] : [[-100, 100], [-100, 100]];
  const largest = Math.max(east - west, north - south) || 100;
  const margin = ranges ? Math.min(ranges[0] / 2, largest / 3) : largest / 10;
  return [west - margin, east + margin, south - margin, north + margin];
}

/** The node nearest to the middle of all. */
function middle(all) {
  const sum = all.reduce(([x, y], [a, b]) => [x + a / all.length, y + b / all.length], [0, 0]);
  const far = ([x, y]) => Math.hypot(x - sum[0], y - sum[1]);
  return all.reduce((best, place, k) => (far(place) < far(all[best]) ? k : best), 0);
}

function arrowHead() {
  const head = svg("path", { d: "M0 0L8 4L0 8z", fill: "context-stroke" });
  return svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 5, markerHeight: 5, orient: "auto" }, head);
}
