// One run: it asks the worker for slices of simulated time, and tells how far it is.

// The longest frame, with room: what is shown lies so far behind what is simulated, since a frame is known when it ends [ns].
const LEAD = 3e7;
const FRAMES = 1500; // the most that are asked for at once, and where they go by unseen
const FRAMES_FAST = 600;
const BUDGET = 40; // ms of computing between two pictures
const RESULTS_EVERY = 300; // ms

export class Run {
  #engine;
  #hooks;
  #last = 0;
  #told = 0;
  #number = 0;
  /** Simulated seconds a second of the reader's. */
  speed = Infinity;
  playing = false;
  /** What stays as it is: the ends of warm-up and run, the queues; nothing before the start. */
  frame = null;
  /** How far the simulation is, and what is shown of it [ns]. */
  now = 0;
  cursor = 0;

  /** `hooks`: `state(live)`, `results(soFar)`, `show(cursor)`, `changed()`, `failed(error)`, `fair()`: the fair rates. */
  constructor(engine, hooks) {
    this.#engine = engine;
    this.#hooks = hooks;
  }

  get isDone() {
    return this.frame !== null && this.now >= this.frame.end_ns;
  }

  reset() {
    this.#number++;
    [this.playing, this.frame, this.now, this.cursor] = [false, null, 0, 0];
    this.#hooks.changed();
  }

  async start() {
    this.reset();
    this.frame = await this.#engine.ask("start", { frames: true });
    this.play();
  }

  play() {
    if (this.playing || !this.frame) return;
    this.playing = true;
    this.#last = performance.now();
    this.#hooks.changed();
    this.#loop(this.#number);
  }

  pause() {
    this.playing = false;
    this.#hooks.changed();
  }

  setSpeed(speed) {
    this.speed = speed;
    this.#last = performance.now();
  }

  /** Shows another instant; while the run goes on it does so from there. */
  look(ns) {
    this.cursor = Math.min(ns, this.now);
    this.#hooks.changed();
  }

  /** Simulates until so far beyond what is shown, for a step. */
  async ahead() {
    if (this.frame && this.now < this.cursor + LEAD) await this.#go(this.cursor + LEAD, this.#number);
  }

  async #loop(number) {
    const flying = [];
    let wasPaced = true;
    try {
      while (this.playing && number === this.#number) {
        const isPaced = Number.isFinite(this.speed);
        if (isPaced) await new Promise(requestAnimationFrame);
        if (isPaced && !wasPaced) await this.#settle(flying, number);
        wasPaced = isPaced;
        const now = performance.now();
        const passed = Math.min(now - this.#last, 100) * 1e6;
        this.#last = now;
        const { end_ns: end } = this.frame;
        const target = isPaced ? Math.min(this.cursor + passed * this.speed, end) : end;
        // The worker has the next slice before the page draws the last one.
        while (this.now < Math.min(target + LEAD, end) && flying.length < (isPaced ? 1 : 2)) {
          flying.push(this.#go(isPaced ? target + LEAD : end, number));
        }
        await flying.shift();
        if (number !== this.#number) return;
        this.cursor = Math.min(target, this.now);
        this.#hooks.show(this.cursor);
        const isEnd = this.cursor >= end;
        const told = this.#results(number, isEnd);
        if (!isEnd) continue;
        await told;
        this.pause();
      }
      if (!wasPaced) await this.#settle(flying, number);
    } catch (error) {
      this.pause();
      this.#hooks.failed(error);
    }
  }

  /** Waits for what the worker has been asked for, and shows the end of that. */
  async #settle(flying, number) {
    await Promise.all(flying.splice(0));
    if (number !== this.#number) return;
    this.cursor = this.isDone ? this.now : Math.max(0, this.now - LEAD);
    this.#last = performance.now();
    if (!this.playing) this.#hooks.changed();
  }

  async #go(until, number) {
    const request = { until_ns: Math.ceil(until), budget_ms: BUDGET, frames: this.speed >= 10 ? FRAMES_FAST : FRAMES };
    try {
      const live = await this.#engine.ask("go", request);
      if (number !== this.#number) return;
      this.now = live.now_ns;
      this.#hooks.state(live);
    } catch (error) {
      if (number === this.#number) throw error;
    }
  }

  async #results(number, isLast) {
    const now = performance.now();
    if (!isLast && now - this.#told < RESULTS_EVERY) return;
    this.#told = now;
    try {
      const soFar = await this.#engine.ask("so-far", this.#hooks.fair());
      if (number === this.#number) this.#hooks.results(soFar);
    } catch (error) {
      if (number === this.#number) this.#hooks.failed(error);
    }
  }
}
