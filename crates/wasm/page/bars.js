// What each flow gets beside what is fair, and where each sender's time goes: tables whose cells have bars, so that they can be read
// aloud.

import { colourOf, digits, make, percent } from "./draw.js";

const ROWS = 8; // more rows than this are folded

/** Goodputs beside the fair optimum. `rates` and `fair` in packets a second; either may be missing. Before the warm-up's end no flow
 * is told to starve. */
export function goodputs(table, flows, rates, fair, isWarm) {
  const top = Math.max(1e-9, ...(rates ?? []), ...(fair ?? []));
  const rows = flows.map(({ id }, flow) => {
    const [rate, best] = [rates?.[flow], fair?.[flow]];
    const share = best > 0 && rate !== undefined ? rate / best : undefined;
    const bar = make("div", { class: "bar" }, make("i", { style: `width:${(100 * (rate ?? 0)) / top}%;background:${colourOf(flow)}` }));
    if (best !== undefined) bar.append(make("b", { style: `left:${(100 * best) / top}%`, title: `fair: ${digits(best)}` }));
    return make(
      "tr",
      { class: isWarm && share < 0.05 ? "starved" : null },
      make("th", { scope: "row" }, id),
      make("td", { class: "wide" }, bar),
      make("td", { class: "n" }, rate === undefined ? "" : digits(rate)),
      make("td", { class: "n" }, best === undefined ? "…" : digits(best)),
      make("td", { class: "n" }, share === undefined ? "" : percent(share)),
    );
  });
  fill(table, rows);
}

// The parts of a sender's time, in the order of the reports.
const PARTS = [
  ["own", "sends, and it arrives", "#0072b2"],
  ["collided", "sends in vain", "#d55e00"],
  ["backoff", "counts down", "#e69f00"],
  ["interframe", "waits between frames", "#b3a100"],
  ["blocked", "the air is taken by others", "#cc79a7"],
  ["empty", "has nothing to send", "#c2c2c2"],
];

/** Where each sender's time goes. `links` are those of the results; `picked` is called with a queue's name. */
export function ledger(table, links, picked) {
  const senders = links.filter(({ airtime, attempts }) => airtime && (attempts > 0 || airtime.empty < 0.999));
  const rows = senders.map(({ queue, airtime }) => {
    const blocked = airtime.blocked_by.reduce((sum, [, share]) => sum + share, 0);
    const parts = { ...airtime, blocked };
    const stack = PARTS.map(([part, words, colour]) =>
      make("i", { style: `width:${100 * parts[part]}%;background:${colour}`, title: `${words}: ${percent(parts[part])}` }),
    );
    const most = [...airtime.blocked_by].sort((a, b) => b[1] - a[1]).slice(0, 3).filter(([, share]) => share >= 0.005);
    const button = make("button", { type: "button", class: "plain" }, queue);
    button.addEventListener("click", () => picked(queue));
    const told = PARTS.map(([part, words]) => `${words} ${percent(parts[part])}`).join(", ");
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, button),
      make("td", { class: "wide" }, make("div", { class: "stack", role: "img", "aria-label": told }, ...stack)),
      make("td", {}, most.map(([name, share]) => `${name}\u00a0${percent(share)}`).join(", ") || "none"),
    );
  });
  fill(table, rows);
}

/** The colours of the parts, as a list. */
export function legend(list) {
  list.replaceChildren(...PARTS.map(([, words, colour]) => make("li", {}, make("i", { style: `background:${colour}` }), words)));
}

function fill(table, rows) {
  const body = table.tBodies[0];
  const fold = table.parentElement.querySelector(".fold-rows");
  fold.hidden = rows.length <= ROWS;
  const isOpen = fold.getAttribute("aria-pressed") === "true";
  fold.textContent = isOpen ? "fewer rows" : `all ${rows.length} rows`;
  // A row that has the focus keeps it.
  const focused = [...body.querySelectorAll("button")].indexOf(document.activeElement);
  body.replaceChildren(...(isOpen ? rows : rows.slice(0, ROWS)));
  if (focused >= 0) body.querySelectorAll("button")[focused]?.focus();
}
