// The physical layers of 802.11n, ac and ax: what each has, and the edits that lead from one standard to another.

/** The standards, and ideal CSMA. */
export const KINDS = [
  ["802.11b", "802.11b", "DSSS at 2.4 GHz, to 11 Mb/s."],
  ["802.11a", "802.11a", "OFDM at 5 GHz, to 54 Mb/s."],
  ["802.11g", "802.11g", "OFDM at 2.4 GHz, to 54 Mb/s."],
  ["802.11n", "802.11n", "High throughput: streams, 40 MHz, aggregates."],
  ["802.11ac", "802.11ac", "Very high throughput at 5 GHz: to 160 MHz and 256-QAM."],
  ["802.11ax", "802.11ax", "High efficiency: 1024-QAM, and 6 GHz."],
  ["ideal", "ideal CSMA", "Continuous time, no collisions: the model of the theory."],
];

const MODERN = {
  "802.11n": { mcs: 7, packets: 64, widths: ["20 MHz", "40 MHz"], bands: ["2.4 GHz", "5 GHz"] },
  "802.11ac": { mcs: 9, packets: 64, widths: ["20 MHz", "40 MHz", "80 MHz", "160 MHz"], bands: ["5 GHz"] },
  "802.11ax": { mcs: 11, packets: 256, widths: ["20 MHz", "40 MHz", "80 MHz", "160 MHz"], bands: ["2.4 GHz", "5 GHz", "6 GHz"] },
};

/** Keys that one standard has and another may lack: each falls back to the default of the new one. */
const OF_STANDARD = ["band", "width", "mcs", "streams", "guard_interval", "data_rate", "basic_rate", "preamble", "protection"];

/** The edits that choose a standard. Ideal CSMA has a rate, no RTS and no aggregates. */
export function toKind(kind, { mac }) {
  const unset = (keys) => keys.map((key) => ({ unset: key }));
  const gone = unset(OF_STANDARD.map((key) => `mac.${key}`));
  if (!MODERN[kind]) gone.push(...unset(["aggregation"]));
  if (kind !== "ideal") return [...gone, { set: `mac.kind="${kind}"` }];
  const others = ["rts_threshold", "short_retry_limit", "long_retry_limit", "ack_timeout", "coverage_class", "interrupted_difs", "sensing_delay", "link_layer_delay"];
  return [...gone, ...unset(others.map((key) => `mac.${key}`)), { set: 'mac.kind="ideal"' }, { set: `mac.data_rate="${mac.data_rate ?? "11 Mbps"}"` }];
}

/** The fields of 802.11n, ac and ax; none of older standards. */
export function modern({ mac, aggregation }, { choice, number, set }) {
  const has = MODERN[mac.kind];
  if (!has) return [];
  const band = mac.band ?? "5 GHz";
  const widths = band === "2.4 GHz" ? has.widths.slice(0, 2) : has.widths;
  const quoted = (key) => (value) => set(key)(`"${value}"`);
  const plain = (values, about) => values.map((value) => [String(value), String(value), about]);
  const upTo = (from, to) => Array.from({ length: to - from + 1 }, (_, k) => from + k);
  return [
    // A channel of 80 MHz has no room at 2.4 GHz.
    choice("Band", "mac.band", plain(has.bands, "SIFS and airtimes depend on it."), band, (value) => [
      ...(value === "2.4 GHz" ? [{ unset: "mac.width" }] : []),
      ...quoted("mac.band")(value),
    ]),
    choice("Channel width", "mac.width", plain(widths, "Wider channels carry more."), mac.width ?? widths.at(-1), quoted("mac.width")),
    choice("MCS", "mac.mcs", plain(upTo(0, has.mcs), "Modulation and coding of each stream."), String(mac.mcs ?? has.mcs), set("mac.mcs")),
    choice("Streams", "mac.streams", plain(upTo(1, 4), "Spatial streams of each frame."), String(mac.streams ?? 1), set("mac.streams")),
    number("Packets a frame", "aggregation.packets", aggregation?.packets ?? has.packets, (value) =>
      value ? set("aggregation.packets")(value) : [{ unset: "aggregation.packets" }],
    ),
  ];
}
