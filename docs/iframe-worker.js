// Search in pages that are opened from the disk: there a browser starts no worker, so the worker's script runs in a hidden frame.
// The theme's `offline` plugin would fetch such a stand-in from elsewhere; it takes this one, since its name says what it is.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = Object.assign(document.createElement("iframe"), {hidden: true});
      document.body.append(frame);
      this.within = frame.contentWindow;
      this.within.document.open();
      this.within.postMessage = data => this.dispatchEvent(new MessageEvent("message", {data}));
      this.loaded = new Promise(done => { frame.onload = done; });
      this.within.document.write(`<script src="${url}"></script>`);
      this.within.document.close();
    }
    postMessage(data) {
      this.loaded.then(() => this.within.dispatchEvent(new MessageEvent("message", {data})));
    }
  };
}
