// The guided tour: five steps, each with something to do.

const CURE = [
  { set: "backoff.law=adaptive" },
  { set: "backoff.acks=high" },
  { set: "connections.k=10" },
  { set: 'mac.queue="1000 packets"' },
  { set: 'tcp.receiver_window="64 packets"' },
  { set: 'tcp.initial_ssthresh="20 packets"' },
];
/** What the page begins with, too. */
export const NETWORK = { id: "chen10/a", edits: [{ set: 'tcp.receiver_window="20 packets"' }, { set: 'duration="100 s"' }] };

const STEPS = [
  {
    title: "1 of 5: a flow starves",
    text: "Four senders share one channel, each with one TCP flow. Link 2, in the middle, senses all others; they do not all sense each other. Let them send, and watch flow 2.",
    button: "Run it",
    act: (page) => page.load(NETWORK).then(() => page.run()),
  },
  {
    title: "2 of 5: why it starves",
    text: "A sender may begin only while it senses no other. s2 is selected: the lines on the map, and its row of the table, show the nodes that keep it from sending. Link 1 and links 3 and 4 do not sense each other, so their frames overlap and leave s2 hardly a gap. Slow motion shows it frame by frame.",
    button: "Slow motion",
    act: (page) => {
      page.select("s2");
      page.slowMotion();
    },
    enter: (page) => page.select("s2"),
  },
  {
    title: "3 of 5: RTS and CTS",
    text: "RTS and CTS reserve the air around a receiver. They help where hidden senders collide. Here senders do sense each other, collisions are few, and reservations only cost time: see whether flow 2 gains.",
    button: "Run with RTS",
    act: (page) => page.load({ ...NETWORK, edits: [...NETWORK.edits, { set: 'mac.rts_threshold="0 bytes"' }] }).then(() => page.run()),
  },
  {
    title: "4 of 5: the cure",
    text: "Adaptive CSMA lets a sender with a long queue press harder for the air. TCP must keep that queue filled: each flow opens connections in proportion to its round-trip time. Together they bring flow 2 from a fiftieth to more than half of its fair optimum.",
    button: "Run the cure",
    act: (page) => page.load({ ...NETWORK, edits: [...NETWORK.edits, ...CURE] }).then(() => page.run()),
  },
  {
    title: "5 of 5: your own",
    text: "Drag s2 away from the others, or move it by the arrow keys, until the grey lines of conflicts vanish, and run again. Then build your own: add nodes and flows, choose laws, and copy the scenario as TOML or as a link.",
    button: "Begin with two hidden senders",
    act: (page) => page.load({ id: "new/hidden", edits: [] }),
  },
];

/** Wires the tour's card; `page` has `load`, `run`, `slowMotion` and `select`. */
export function tour(page) {
  const of = (id) => document.getElementById(id);
  let at = -1;
  const show = (step) => {
    at = step;
    const now = STEPS[step];
    of("guide").hidden = !now;
    of("tour").setAttribute("aria-pressed", String(Boolean(now)));
    if (!now) return of("tour").focus();
    of("guide-title").textContent = now.title;
    of("guide-text").textContent = now.text;
    of("guide-do").textContent = now.button;
    of("guide-next").hidden = step === STEPS.length - 1;
    now.enter?.(page);
    of("guide-do").focus();
  };
  of("tour").addEventListener("click", () => show(at < 0 ? 0 : -1));
  of("guide-do").addEventListener("click", () => STEPS[at].act(page));
  of("guide-next").addEventListener("click", () => show(at + 1));
  of("guide-end").addEventListener("click", () => show(-1));
}
