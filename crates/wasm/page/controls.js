// The controls beside the map: each shows a key of the scenario and writes it.

import { make } from "./draw.js";
import { KINDS, modern, toKind } from "./standards.js";

/** The name of a law that is written as a word or as a table. */
const lawOf = (value) => (typeof value === "string" ? value : (value?.law ?? ""));

/** The fields: a label, the choices by the scenario, what is chosen, and the edits that choose another. */
function fields({ settings }, families) {
  const { mac, tcp, backoff, connections, rates_mbps: rates } = settings;
  const laws = (name) => families.find(({ family }) => family === name)?.laws ?? [];
  const named = (name) => laws(name).map((law) => [law.name, law.name, law.does]);
  const set = (key) => (value) => [{ set: `${key}=${value}` }];
  const isIdeal = mac.kind === "ideal";
  const law = lawOf(connections);
  return [
    choice("Back-off", "backoff.law", named("backoff"), lawOf(backoff) || "dcf", set("backoff.law")),
    choice("TCP window", "tcp.window", [["reno", "reno", "TCP Reno with NewReno’s recovery."], ...named("window").filter(([name]) => name !== "reno")], lawOf(tcp.window) || "reno", set("tcp.window")),
    choice(
      "Connections",
      "connections.law",
      [["", "one a flow", "Each flow has one TCP connection."], ...named("connections")],
      law,
      (name) => (name ? set("connections.law")(name) : [{ unset: "connections" }]),
    ),
    ...(law === "rtt-proportional" ? [number("k [1/s]", "connections.k", connections.k ?? 10, set("connections.k"))] : []),
    choice("Standard", "mac.kind", KINDS, mac.kind, (kind) => toKind(kind, settings)),
    ...modern(settings, { choice, number, set }),
    ...(isIdeal || !mac.data_rate
      ? []
      : [
          choice(
            "Data rate",
            "mac.data_rate",
            rates.map((rate) => [`${rate} Mbps`, `${rate} Mb/s`, "Rate of DATA frames."]),
            mac.data_rate.replace(/^([\d.]+) ?Mbps$/, "$1 Mbps"),
            (value) => set("mac.data_rate")(`"${value}"`),
          ),
        ]),
    ...(isIdeal
      ? []
      : [
          {
            label: "RTS and CTS",
            key: "mac.rts_threshold",
            checked: mac.rts_threshold !== undefined && mac.rts_threshold !== null,
            edits: (on) => (on ? set("mac.rts_threshold")('"0 bytes"') : [{ unset: "mac.rts_threshold" }]),
            about: "Short frames reserve the air before DATA.",
          },
        ]),
    text("Measured", "duration", settings.duration, (value) => set("duration")(`"${value}"`)),
    text("Warm-up", "warmup", settings.warmup, (value) => set("warmup")(`"${value}"`)),
    number("Seed", "seed", settings.seed, set("seed")),
  ];
}

const choice = (label, key, options, value, edits) => ({ label, key, options, value, edits });
const number = (label, key, value, edits) => ({ label, key, type: "number", value, edits });
const text = (label, key, value, edits) => ({ label, key, type: "text", value, edits });

/** Shows the fields of a scenario; `edit` is called with the edits that the reader makes. */
export function showControls(place, description, families, edit) {
  const focused = place.contains(document.activeElement) ? document.activeElement.id : null;
  const parts = fields(description, families).flatMap((field) => {
    const id = `key-${field.key}`;
    const input = element(field, id);
    input.addEventListener("change", () => edit(field.edits(field.type || field.options ? input.value.trim() : input.checked)));
    const label = make("label", { for: id, title: field.key }, field.label);
    const about = field.about ?? field.options?.find(([name]) => name === field.value)?.[2];
    return [label, input, ...(about ? [make("p", { class: "quiet hint" }, firstSentence(about))] : [])];
  });
  place.replaceChildren(...parts);
  if (focused) document.getElementById(focused)?.focus();
}

function element({ options, type, value, checked }, id) {
  if (options) {
    const known = options.some(([name]) => name === value) ? options : [[value, value, ""], ...options];
    return make("select", { id }, ...known.map(([name, words, about]) => make("option", { value: name, title: about, selected: name === value }, words)));
  }
  if (type) return make("input", { id, type, value, step: type === "number" ? "any" : null });
  return make("input", { id, type: "checkbox", checked });
}

const firstSentence = (words) => words.match(/^.*?[.:](?= |$)/s)?.[0].replace(/:$/, ".") ?? words;
