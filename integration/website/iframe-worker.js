// Workers for pages opened from a folder, where browsers start none: the script runs in a hidden frame instead.
// The theme's search asks for the name IFrameWorker to know that it runs in such a frame, and for importScripts.
"use strict";
(() => {
  if (location.protocol !== "file:") return;

  const load = (document, url) =>
    new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = url;
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${url} could not be loaded`));
      document.head.append(script);
    });

  class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = "<!doctype html><title>worker</title>"; // of this page's origin, which file: URLs are not
      this.ready = new Promise(resolve => this.frame.addEventListener("load", resolve, {once: true})).then(() => {
        const inside = this.frame.contentWindow;
        inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", {data}));
        inside.importScripts = async (...urls) => {
          for (const each of urls) await load(inside.document, each);
        };
        return load(inside.document, new URL(url, location.href).href);
      });
      this.ready.catch(error => this.dispatchEvent(new ErrorEvent("error", {error, message: error.message})));
      document.body.append(this.frame);
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", {data})));
    }

    terminate() {
      this.frame.remove();
    }
  }

  window.Worker = window.IFrameWorker = IFrameWorker;
})();
