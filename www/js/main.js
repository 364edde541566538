// The page: one state, one worker, and the views that show them.

import { clockBadge, debuggerBadge, firstBadges, notice, vectorBadge, watchVisibility } from './badges.js';
import { unoptimisedRatio } from './calibration.js';
import { byId, el, fill } from './dom.js';
import { engine, flavours, load } from './engine.js';
import { showPrimitives } from './primitives.js';
import { tabs } from './tabs.js';

/** What the table shows unless all sizes are asked for. */
const SHOWN = [
  'x25519_dh', 'x25519_base', 'ed25519_keygen', 'ed25519_sign', 'ed25519_verify', 'sha256/1024', 'sha512/1024',
  'hmac_sha256', 'hkdf_sha256_extract', 'hkdf_sha256_expand', 'chacha20poly1305_seal/1024',
  'aes128gcm_seal/1024', 'aes128gcm_open/1024',
];

export const state = {
  /** Names of the rows, in the table's order. */
  names: SHOWN,
  /** @type {Map<string, object>} measured here, by key */
  rows: new Map(),
  /** @type {object[]} recorded on other runtimes */
  recorded: [],
  /** @type {Map<string, object>} which runtimes computed the same, by name */
  agreement: new Map(),
  /** @type {string | null} the last run's record as JSON */
  record: null,
  running: false,
};

const run = byId('run');
const cancel = byId('cancel');
const progress = byId('progress');
const status = (text) => fill(byId('status'), text);

const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module', name: 'measure' });

const heard = {
  ready({ workloads, vectors, step }) {
    clockBadge(step);
    if (!vectorBadge(vectors)) return;
    const known = new Set(workloads.map((workload) => workload.name));
    state.names = SHOWN.filter((name) => known.has(name));
    run.disabled = false;
    status('Ready.');
    showPrimitives(state);
  },
  clock({ step }) {
    clockBadge(step);
  },
  agreement({ name, agreeing, absent }) {
    state.agreement.set(name, { agreeing, absent });
    status(`First round: comparing outputs of ${name}, then timing it once.`);
    soon();
  },
  rows({ rows }) {
    for (const row of rows) state.rows.set(row.key, row);
    soon();
  },
  progress({ share, rounds }) {
    progress.value = share;
    status(`Round ${rounds + 1}: every row again, in random order.`);
  },
  done({ cancelled, rounds, record }) {
    state.record = record;
    finish(cancelled ? `Cancelled after ${rounds} rounds; the figures so far stand.` : `Done: ${rounds} rounds.`);
  },
  failed({ message }) {
    notice('failed', 'bad', message);
    finish('Stopped by an error.');
  },
};

worker.onmessage = ({ data }) => heard[data.type](data);
worker.onerror = (event) => heard.failed({ message: `The measuring worker failed: ${event.message ?? 'it could not be loaded'}` });

/** Draws at most once a frame. */
let drawing = false;
function soon() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    showPrimitives(state);
  });
}

function finish(text) {
  state.running = false;
  watchVisibility(false);
  run.disabled = false;
  cancel.hidden = true;
  progress.hidden = true;
  byId('export').hidden = !state.record;
  status(text);
  soon();
}

run.addEventListener('click', async () => {
  state.running = true;
  state.rows.clear();
  state.agreement.clear();
  state.record = null;
  run.disabled = true;
  cancel.hidden = false;
  progress.hidden = false;
  progress.value = 0;
  notice('failed', '', null);
  watchVisibility(true);
  worker.postMessage({
    type: 'run',
    module: 'kernel',
    names: state.names,
    compare: byId('compare').checked,
    others: true,
    seconds: Number(byId('seconds').value),
  });
});

cancel.addEventListener('click', () => {
  worker.postMessage({ type: 'cancel' });
  status('Cancelling…');
});

async function begin() {
  firstBadges();
  tabs(() => {});
  byId('compare-choice').hidden = !engine().wide;
  worker.postMessage({ type: 'start' });
  showPrimitives(state);
  const [flavour] = flavours();
  if (flavour) debuggerBadge(unoptimisedRatio(await load('kernel', flavour)));
}

begin().catch((error) => notice('failed', 'bad', String(error?.message ?? error)));
