// Search in pages that are opened from the disk: there a browser starts no worker, so the worker's script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.addEventListener("message", event => this.onmessage?.(event));
      this.frame = Object.assign(document.createElement("iframe"), {hidden: true});
      document.body.append(this.frame);
      this.within = this.frame.contentWindow;
      this.within.document.open();
      this.within.postMessage = data => this.dispatchEvent(new MessageEvent("message", {data}));
      this.loaded = new Promise(done => { this.frame.onload = done; });
      this.within.document.write(`<script src="${url}"></script>`);
      this.within.document.close();
    }
    postMessage(data) {
      this.loaded.then(() => this.within.dispatchEvent(new MessageEvent("message", {data})));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
