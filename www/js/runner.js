// The one measuring worker and who is using it.

let worker = null;
let listener = null;
const watchers = new Set();

function ensure() {
  if (worker) return worker;
  worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module', name: 'measure' });
  worker.onmessage = ({ data }) => listener?.(data);
  worker.onerror = (event) => listener?.({ type: 'failed', message: `The measuring worker failed: ${event.message ?? 'it could not be loaded'}` });
  return worker;
}

function busy(is) {
  for (const watcher of watchers) watcher(is);
}

/** Is called with true and false as the worker becomes busy and free. */
export const onBusy = (watcher) => watchers.add(watcher);

/**
 * Sends a message and hears the worker until it says `done`, `ready` or `failed`.
 * @param {object} message
 * @param {Record<string, (data: object) => void>} heard by type of message
 * @returns {Promise<object>} the last message
 */
export function ask(message, heard = {}) {
  if (listener) return Promise.reject(new Error('a measurement is running; cancel it first'));
  busy(true);
  return new Promise((resolve, reject) => {
    listener = (data) => {
      heard[data.type]?.(data);
      if (data.type === 'done' || data.type === 'ready' || data.type === 'failed') {
        listener = null;
        busy(false);
        if (data.type === 'failed') reject(new Error(data.message));
        else resolve(data);
      }
    };
    ensure().postMessage(message);
  });
}

export const cancel = () => worker?.postMessage({ type: 'cancel' });
