// The page: what is open, what runs, and what is shown of it.

import { goodputs, ledger, legend } from "./bars.js";
import { showControls } from "./controls.js";
import { Course } from "./course.js";
import { colourOf, forgetInks, make, time } from "./draw.js";
import { Engine } from "./engine.js";
import { NetworkMap } from "./map.js";
import { Run } from "./run.js";
import { packed, unpacked } from "./share.js";
import { Timeline } from "./timeline.js";
import { NETWORK, tour } from "./tour.js";

const FAIR_MS = 8000; // a fair optimum that takes longer is not waited for
const SPEEDS = [
  [Infinity, "as fast as it can"],
  [10, "10 × real time"],
  [1, "real time"],
  ...[0.1, 0.01, 1e-3].map((speed) => [speed, `${speed * 1e3} ms a second`]),
  ...[1e-4, 1e-5, 1e-6].map((speed) => [speed, `${Math.round(speed * 1e6)} µs a second`]),
];

const of = (id) => document.getElementById(id);
const engine = new Engine();
let library = { groups: [], all: [], families: [] };
/** The open scenario: its name, text, description, fair rates (null while they are solved), or why there are none. */
const open = { name: "", text: "", network: null, fair: null, withoutFair: null, builtIn: null, base: "" };
let soFar = null;
let adding = null; // "node", "flow", or the first node of a flow

const map = new NetworkMap(of("map"), { move, select, pick, remove: (node) => removeNode(node) });
const timeline = new Timeline(of("air"), of("frames"), {
  look: (ns) => {
    run.pause();
    run.look(ns);
  },
});
const courses = { goodputs: new Course(of("goodputs")), queues: new Course(of("queues")), windows: new Course(of("windows")) };
const run = new Run(engine, { state, results, show, changed, failed: complain, fair: () => ({ fair: open.fair, without_fair: open.withoutFair }) });

// ---- opening and editing

/** Opens a text. `fit` shows all of it on the map; a `draft` is one of many while a node is dragged. */
async function openText(text, name, { fit = true, draft = false } = {}) {
  run.reset();
  const network = await engine.ask("open", { name, text });
  Object.assign(open, { text, name, network });
  of("error").hidden = true;
  map.show(network, fit);
  if (draft) return;
  [open.fair, open.withoutFair] = [null, null];
  soFar = null;
  solveFair();
  showNetwork();
  remember();
}

function showNetwork() {
  const { network, name, text } = open;
  document.title = `${network.title || name}: evenair, the air in a browser`;
  of("title").textContent = network.title || name;
  of("about").textContent = network.about;
  of("verdict").textContent = network.flows.length ? "" : "Nothing is sent: add a flow.";
  for (const id of ["reasons", "remedies"]) of(id).hidden = true;
  if (document.activeElement !== of("text")) of("text").value = text;
  showControls(of("controls"), network, library.families, edit);
  of("flow-colours").replaceChildren(
    ...network.flows.slice(0, 24).map(({ id }, flow) => make("li", {}, make("i", { style: `background:${colourOf(flow)}` }), `flow ${id}`)),
  );
  timeline.clear(network.nodes, network.flows);
  for (const course of Object.values(courses)) course.clear();
  showRates();
  ledger(of("ledger"), [], selectQueue);
  note();
  changed();
}

/** The map's note: what the selected node senses, and what is odd. */
function note() {
  const { network } = open;
  const node = network.nodes[map.selected];
  const heard = network.sensed_by[map.selected];
  const words = [];
  if (node && heard) {
    const names = (list) => list.map((other) => network.nodes[other].id).join(", ");
    const sensed = heard.sensed.length ? `; sense it: ${names(heard.sensed)}` : "";
    words.push(`${node.id}: decode it: ${names(heard.decoded) || "none"}${sensed}.`);
  }
  if (!network.nodes.some((other) => other.movable)) words.push("Its nodes are made by a rule, or have no positions; to move one is to write all of them out.");
  if (network.hidden.length) words.push(network.hidden.length === 1 ? "One pair of links has hidden terminals." : `${network.hidden.length} pairs of links have hidden terminals.`);
  words.push(...network.warnings);
  of("map-note").textContent = words.join(" ");
  of("remove").disabled = !node;
  of("remove").textContent = node ? `Remove ${node.id}` : "Remove";
}

let chain = Promise.resolve();
/** Does one change after the other. */
function serially(change) {
  chain = chain.then(change).catch(complain);
  return chain;
}

/** Writes edits into the text and opens that. */
const edit = (edits) =>
  serially(async () => {
    const { text } = await engine.ask("edit", { text: open.text, edits });
    open.builtIn = null;
    await openText(text, "play.toml", { fit: false });
  });

/** The text of a network whose nodes can be moved: if a rule makes them, it is written out first. */
async function movableText(node) {
  if (open.network.nodes[node].movable || !open.network.nodes[node].at) return open.text;
  return (await engine.ask("write-out")).text;
}

let draft = null;
let isDrafting = false;
/** A node has been moved; while it is dragged, only the last of many places is drawn. */
async function move(node, place, done) {
  draft = { node, place, done };
  if (isDrafting) return;
  isDrafting = true;
  while (draft) {
    const now = draft;
    draft = null;
    await serially(async () => {
      const text = await movableText(now.node);
      const edits = [{ set: `nodes.${open.network.nodes[now.node].id}.at=[${now.place}]` }];
      open.builtIn = null;
      await openText((await engine.ask("edit", { text, edits })).text, "play.toml", { fit: false, draft: !now.done });
    });
  }
  isDrafting = false;
}

function select(node) {
  if (adding === "flow" && node >= 0) adding = node;
  else if (typeof adding === "number" && node >= 0 && node !== adding) addFlow(adding, node);
  map.select(node);
  mode();
  note();
  showBlockers();
}

function selectQueue(queue) {
  const found = run.frame?.queues.find(({ name }) => name === queue);
  if (found) select(found.node);
}

function pick([east, north]) {
  if (adding === "node") {
    adding = null;
    edit([{ "add-node": { id: free("n", open.network.nodes), at: [Math.round(east), Math.round(north)] } }]);
  } else if (map.selected >= 0 && adding === null) select(-1);
  mode();
}

function addFlow(from, to) {
  adding = null;
  const [a, b] = [open.network.nodes[from].id, open.network.nodes[to].id];
  edit([{ "add-flow": { id: free("", open.network.flows), from: a, to: b } }]);
}

function removeNode(node) {
  if (open.network.nodes[node]) edit([{ "remove-node": open.network.nodes[node].id }]);
}

/** A name that nothing has yet. */
function free(letter, list) {
  for (let k = list.length + 1; ; k++) if (!list.some(({ id }) => id === `${letter}${k}`)) return `${letter}${k}`;
}

/** Shows what the next press on the map does. */
function mode() {
  of("map").classList.toggle("picks", adding === "node");
  of("add-node").setAttribute("aria-pressed", String(adding === "node"));
  of("add-flow").setAttribute("aria-pressed", String(adding === "flow" || typeof adding === "number"));
  of("add-node").textContent = adding === "node" ? "Press where it is to stand" : "Add a node";
  of("add-flow").textContent = adding === "flow" ? "Select its source" : typeof adding === "number" ? "Select its destination" : "Add a flow";
}

// ---- the fair optimum, in a worker of its own: nothing waits for it

let solver = null;
async function solveFair() {
  solver?.end();
  const own = (solver = new Engine());
  const { text, name } = open;
  const late = setTimeout(() => {
    own.end();
    if (own === solver) open.withoutFair = "they take long to solve in a browser; evenair solve has no limit";
  }, FAIR_MS);
  try {
    await own.ask("open", { name, text });
    const { rates_pps: rates } = await own.ask("optimum");
    if (own === solver) {
      open.fair = rates;
      showRates();
    }
  } catch (error) {
    if (own === solver) open.withoutFair = error.message;
  } finally {
    clearTimeout(late);
    own.end();
  }
}

// ---- the run

let latest = null;
let before = null;
/** The state of the run: curves and frames. */
function state(live) {
  latest = live;
  timeline.add(live.frames);
  const seconds = live.now_ns / 1e9;
  const { end_ns: end } = run.frame;
  const least = Math.min(end / 400, 1e9);
  if (before && live.now_ns < before.now_ns) before = null;
  if (!before || live.now_ns - before.now_ns >= least) {
    const since = before ? (live.now_ns - before.now_ns) / 1e9 : seconds || 1;
    courses.goodputs.add(seconds, live.flows.map(([delivered], flow) => (delivered - (before?.flows[flow][0] ?? 0)) / since));
    courses.queues.add(seconds, open.network.flows.map(({ path }) => backlogAt(live, path[0])));
    courses.windows.add(seconds, live.flows.map(([, window]) => window));
    before = live;
  }
}

/** The packets that wait at a node. */
const backlogAt = (live, node) => run.frame.queues.reduce((sum, queue, k) => sum + (queue.node === node ? live.queues[k] : 0), 0);

let shown = 0;
/** What is shown at an instant. */
function show(cursor) {
  const { end_ns: end, warm_ns: warm } = run.frame;
  of("progress").value = cursor / end;
  // The last digit turns ten times a second at most; where the run stands still there are microseconds.
  const isStill = !run.playing && !run.isDone;
  const step = isStill ? 1e3 : run.speed >= 1 ? 1e8 : Math.max(1e2, run.speed * 1e8);
  of("clock").textContent = `${time(cursor, run.isDone ? 1e9 : step)} of ${end / 1e9} s${cursor < warm ? ", warming up" : ""}`;
  // What goes by faster than the eye follows is shown now and then.
  const now = performance.now();
  const isSlow = run.speed <= 0.1 || !run.playing;
  if (isSlow || now - shown > 400) {
    timeline.draw(cursor);
    map.air(isSlow ? timeline.at(cursor) : []);
  }
  if (now - shown > 400) {
    for (const course of Object.values(courses)) course.draw();
    shown = now;
  }
}

/** The results so far. */
function results(found) {
  soFar = found;
  showRates();
  ledger(of("ledger"), found.measured_s > 0 ? found.links : [], selectQueue);
  of("ledger-note").textContent = found.measured_s > 0 ? "" : "It is kept from the end of the warm-up on.";
  showBlockers();
  showVerdict(found);
}

/** Goodputs since the warm-up; before its end, since the start. */
function showRates() {
  const isWarm = soFar?.measured_s > 0;
  const seconds = (latest?.now_ns ?? 0) / 1e9;
  let rates = null;
  if (isWarm) rates = soFar.flows.map((flow) => flow.goodput_pps);
  else if (run.frame && seconds > 0) rates = latest.flows.map(([delivered]) => delivered / seconds);
  goodputs(of("goodput"), open.network.flows, rates, open.fair, isWarm);
  map.shares(isWarm && open.fair ? rates.map((rate, flow) => rate / open.fair[flow]) : []);
}

/** The nodes that keep the selected one from sending: the shares of its queues' time, from the ledger. */
function showBlockers() {
  const { selected } = map;
  if (selected < 0 || !soFar?.measured_s || !run.frame) return map.blockers([]);
  const nodes = new Map(run.frame.queues.map(({ name, node }) => [name, node]));
  const shares = new Map();
  const own = soFar.links.filter(({ queue, airtime }) => airtime && nodes.get(queue) === selected);
  for (const { airtime } of own) {
    for (const [queue, share] of airtime.blocked_by) {
      const node = nodes.get(queue);
      shares.set(node, (shares.get(node) ?? 0) + share / own.length);
    }
  }
  map.blockers([...shares].filter(([, share]) => share >= 0.01));
}

function showVerdict({ verdict }) {
  if (!verdict) return;
  of("verdict").textContent = verdict.headline;
  // Sentences that change while they are read tell nothing.
  of("reasons").hidden = !verdict.reasons.length || (run.playing && !run.isDone);
  of("reasons").replaceChildren(...verdict.reasons.slice(0, 6).map((words) => make("li", {}, words)));
  of("remedies").hidden = !run.isDone || !verdict.remedies.length;
  const buttons = verdict.remedies.map(({ set, why }) => {
    const button = make("button", { type: "button", title: set.join(", ") }, why);
    button.addEventListener("click", () => edit(set.map((change) => ({ set: change }))).then(begin));
    return button;
  });
  if (!of("remedies").hidden) of("remedies").replaceChildren(make("span", { class: "quiet" }, "Try:"), ...buttons);
}

/** The buttons as the run is. */
function changed() {
  const canRun = Boolean(open.network?.flows.length);
  of("play").disabled = !canRun;
  of("play").textContent = run.playing ? "Pause" : run.frame && !run.isDone ? "Go on" : "Run";
  if (!run.playing && soFar) showVerdict(soFar);
  of("restart").disabled = !run.frame;
  of("save").disabled = !run.isDone;
  for (const id of ["step", "step-back"]) of(id).disabled = !run.frame;
  if (run.frame) show(run.cursor);
  else {
    of("progress").value = 0;
    of("clock").textContent = open.network ? `0 of ${open.network.settings.end_s} s` : "";
    before = latest = null;
  }
}

async function begin() {
  if (!open.network?.flows.length) return;
  timeline.clear(open.network.nodes, open.network.flows);
  for (const course of Object.values(courses)) course.clear();
  soFar = null;
  await run.start();
}

function play() {
  if (run.playing) run.pause();
  else if (run.frame && !run.isDone) run.play();
  else begin().catch(complain);
}

/** Shows the air at the next frame's end, or at the one before. */
async function step(way) {
  run.pause();
  if (way > 0) await run.ahead();
  const next = timeline.nextEnd(run.cursor, way);
  if (next !== undefined) run.look(next);
}

function setSpeed(speed) {
  run.setSpeed(speed);
  of("speed").value = String(speed);
  timeline.spanFor(speed);
  tellSpan();
}

/** Runs to the end of the warm-up, and goes on in slow motion. */
async function slowMotion() {
  setSpeed(Infinity);
  await begin();
  const own = run.frame;
  while (run.frame === own && run.now <= own.warm_ns) await new Promise(requestAnimationFrame);
  if (run.frame === own) setSpeed(0.01);
}

const tellSpan = () => (of("span").textContent = `${timeline.span >= 1e6 ? `${timeline.span / 1e6} ms` : `${timeline.span / 1e3} µs`} in view`);

// ---- what comes in and goes out

/** A built-in scenario, with edits. */
const load = ({ id, edits = [] }) =>
  serially(async () => {
    let { text } = await engine.ask("scenario", { id });
    if (edits.length) ({ text } = await engine.ask("edit", { text, edits }));
    open.builtIn = edits.length ? null : id;
    open.base = id;
    await openText(text, edits.length ? "play.toml" : id);
  });

let remembering = 0;
/** Puts the scenario into the address, and its name into the list. */
function remember() {
  clearTimeout(remembering);
  of("own").textContent = open.base ? `${open.base}, changed` : "your own";
  of("scenario").value = open.builtIn ?? "";
  remembering = setTimeout(async () => {
    const fragment = open.builtIn ? `i=${encodeURI(open.builtIn)}` : await packed(open.text);
    history.replaceState(null, "", `#${fragment}`);
  }, 300);
}

async function fromAddress() {
  let found = {};
  try {
    found = await unpacked(location.hash.slice(1));
  } catch {
    complain({ message: "the link holds no scenario that can be read: ask for it again" });
  }
  if (found.text) open.base = "";
  if (found.text) await serially(() => openText(found.text, "play.toml"));
  else await load(found.id ? { id: found.id } : NETWORK);
  if (!open.network) await load(NETWORK);
}

async function copy(words, what) {
  try {
    await navigator.clipboard.writeText(words);
    of("copied").textContent = `${what} copied.`;
  } catch {
    of("text").closest("details").open = true;
    of("text").select();
    of("copied").textContent = "The browser does not let this page copy: take the text below.";
  }
}

async function link() {
  const fragment = open.builtIn ? `i=${encodeURI(open.builtIn)}` : await packed(open.text);
  return `${location.href.split("#")[0]}#${fragment}`;
}

async function save() {
  const { document: text } = await engine.ask("result");
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  make("a", { href: url, download: "result.json" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

function complain(error) {
  of("error").hidden = false;
  of("error").textContent = error.message ?? String(error);
  if (error.at && of("text").closest("details").open) {
    const lines = of("text").value.split("\n");
    const start = lines.slice(0, error.at[0] - 1).join("\n").length + (error.at[0] > 1 ? 1 : 0);
    of("text").setSelectionRange(start, start + (lines[error.at[0] - 1]?.length ?? 0));
  }
}

// ---- the page itself

function fillLists() {
  const option = (value, words) => make("option", { value }, words);
  const groups = library.groups.map(({ group, scenarios }) =>
    make("optgroup", { label: group }, ...scenarios.map(({ id, words }) => option(id, words))),
  );
  const offered = new Set(library.groups.flatMap(({ scenarios }) => scenarios.map(({ id }) => id)));
  const others = library.all.filter((id) => !offered.has(id)).map((id) => option(id, id));
  of("scenario").replaceChildren(make("option", { value: "", hidden: true, id: "own" }), ...groups, make("optgroup", { label: "All that are built in" }, ...others));
  of("speed").replaceChildren(...SPEEDS.map(([speed, words]) => option(String(speed), words)));
  legend(of("parts"));
}

function theme(wanted) {
  const isDark = wanted ? wanted === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  if (wanted) document.documentElement.dataset.theme = wanted;
  of("theme").textContent = isDark ? "light" : "dark";
  forgetInks();
  if (open.network) {
    map.show(open.network, false);
    timeline.draw(run.cursor);
    for (const course of Object.values(courses)) course.draw();
  }
}

function kept(value) {
  try {
    if (value) localStorage.setItem("evenair-theme", value);
    return localStorage.getItem("evenair-theme");
  } catch {
    return null; // a browser that keeps nothing
  }
}

function listen() {
  const on = (id, event, does) => of(id).addEventListener(event, does);
  on("play", "click", play);
  on("restart", "click", () => begin().catch(complain));
  on("speed", "change", () => setSpeed(Number(of("speed").value)));
  on("scenario", "change", () => load({ id: of("scenario").value }).then(() => of("scenario").focus()));
  on("theme", "click", () => theme(kept(of("theme").textContent) ?? of("theme").textContent));
  on("add-node", "click", () => ((adding = adding === "node" ? null : "node"), mode()));
  on("add-flow", "click", () => ((adding = adding === null ? "flow" : null), mode()));
  on("remove", "click", () => removeNode(map.selected));
  on("zoom-in", "click", () => (timeline.zoom(-1), tellSpan()));
  on("zoom-out", "click", () => (timeline.zoom(1), tellSpan()));
  on("step", "click", () => step(1).catch(complain));
  on("step-back", "click", () => step(-1).catch(complain));
  on("copy-toml", "click", () => copy(open.text, "The scenario is"));
  on("copy-link", "click", async () => copy(await link(), "The link is"));
  on("save", "click", () => save().catch(complain));
  let typing = 0;
  on("text", "input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => serially(() => (([open.builtIn, open.base] = [null, ""]), openText(of("text").value, "play.toml"))), 400);
  });
  for (const button of document.querySelectorAll(".fold-rows")) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      showRates();
      ledger(of("ledger"), soFar?.links ?? [], selectQueue);
    });
  }
  addEventListener("hashchange", fromAddress);
  addEventListener("keydown", (event) => {
    const isFree = !event.target.closest?.("input, select, textarea, button, summary, .node");
    if (event.key === " " && isFree) {
      event.preventDefault();
      play();
    } else if (event.key === "Escape" && adding !== null) {
      adding = null;
      mode();
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme(kept()));
}

async function begins() {
  theme(kept());
  listen();
  try {
    library = await engine.ask("library");
    fillLists();
    setSpeed(Infinity);
    await fromAddress();
    tour({
      load,
      run: () => (setSpeed(Infinity), begin()),
      slowMotion,
      select: (id) => select(open.network.nodes.findIndex((node) => node.id === id)),
    });
    document.documentElement.dataset.ready = String(Math.round(performance.now()));
    of("foot").textContent ||= `Everything runs in this page; nothing is sent. evenair ${library.version}.`;
  } catch (error) {
    of("title").textContent = "The simulator cannot be loaded";
    complain(error);
  }
}

begins();
