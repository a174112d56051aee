// The simulator as the page sees it: a worker that is asked and answers.

/** The simulator, compiled once for all workers. */
const simulator = (async () => {
  const file = new URL("evenair.wasm", import.meta.url);
  const response = await fetch(file);
  if (!response.ok) throw new Error(`cannot load ${file.pathname} (${response.status}): cargo xtask play builds it`);
  // Compiling while it loads needs the server to name the type.
  const isNamed = response.headers.get("content-type")?.startsWith("application/wasm");
  return isNamed ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
})();

export class Engine {
  #worker;
  #waiting = new Map();
  #number = 0;

  constructor() {
    this.#worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.#worker.addEventListener("message", ({ data: { number, value, error } }) => {
      const { resolve, reject } = this.#waiting.get(number);
      this.#waiting.delete(number);
      if (error) reject(error);
      else resolve(value);
    });
    this.#worker.addEventListener("error", (event) => this.#fail(event.message || "the worker cannot be loaded: reload the page"));
    simulator.then((module) => this.#worker.postMessage({ module }), (error) => this.#fail(error.message));
  }

  #fail(message) {
    for (const { reject } of this.#waiting.values()) reject({ message });
    this.#waiting.clear();
  }

  /** Asks, and promises the answer; it rejects with `{ message, at, key }`. */
  ask(what, rest = {}) {
    const number = ++this.#number;
    this.#worker.postMessage({ number, request: { do: what, ...rest } });
    return new Promise((resolve, reject) => this.#waiting.set(number, { resolve, reject }));
  }

  /** Ends the worker; what it was asked is never answered. */
  end() {
    this.#worker.terminate();
    this.#waiting.clear();
  }
}
