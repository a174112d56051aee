// Runs the simulator in a thread of its own: requests come in as messages, answers go back with the same number.

let begin;
/** The module's exports, once the page has sent it. */
const wasm = new Promise((resolve) => (begin = resolve));

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Asks the module: an object in, an object out. */
function ask(exports, request) {
  const bytes = encoder.encode(JSON.stringify(request));
  // A call may make the memory grow, which makes its buffer another one: first the call, then the buffer.
  const room = exports.request(bytes.length);
  new Uint8Array(exports.memory.buffer, room, bytes.length).set(bytes);
  let answer;
  try {
    const place = exports.answer();
    answer = decoder.decode(new Uint8Array(exports.memory.buffer, place, exports.answer_length()));
  } catch (trap) {
    const length = exports.last_words_length();
    const words = decoder.decode(new Uint8Array(exports.memory.buffer, exports.last_words(), length));
    throw new Error(`the simulator has failed (${words || trap.message}); reload the page, and please report it`);
  }
  const value = JSON.parse(answer);
  if (value.error) throw value.error;
  return value;
}

// The simulated time of a slice, so long that it takes about 4 ms [ns].
let slice = 1e7;
// How far the run is [ns].
let now_ns = 0;

/** Goes on with the run until an instant or until the time is used up [ms], and returns the state. */
function go(exports, { until_ns, budget_ms, frames }) {
  const start = performance.now();
  let before = start;
  while (now_ns < until_ns) {
    const to = Math.min(until_ns, Math.ceil(now_ns + slice));
    now_ns = ask(exports, { do: "advance", until_ns: to }).now_ns;
    const after = performance.now();
    const took = Math.max(after - before, 0.05);
    slice = Math.min(Math.max(slice * Math.min(Math.max(4 / took, 0.5), 2), 1e4), 1e9);
    before = after;
    if (after - start > budget_ms) break;
  }
  return { ...ask(exports, { do: "live", frames }), now_ns };
}

addEventListener("message", async ({ data: { module, number, request } }) => {
  if (module) return WebAssembly.instantiate(module, {}).then(({ exports }) => begin(exports));
  try {
    const exports = await wasm;
    if (request.do === "start") now_ns = 0;
    const value = request.do === "go" ? go(exports, request) : ask(exports, request);
    postMessage({ number, value });
  } catch (error) {
    postMessage({ number, error: { message: error.message ?? String(error), at: error.at, key: error.key } });
  }
});
