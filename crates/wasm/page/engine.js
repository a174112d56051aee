// The simulator as the page sees it: a worker that is asked and answers.

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
    this.#worker.addEventListener("error", (event) => {
      const error = { message: event.message || "the worker cannot be loaded: reload the page" };
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
    });
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
