// The page: says what this browser offers, lays out the views, and starts the worker.

import { clockBadge, debuggerBadge, firstBadges, notice, vectorBadge } from './badges.js';
import { unoptimisedRatio } from './calibration.js';
import { crosscheckView } from './crosscheck.js';
import { flavours, load } from './engine.js';
import { familiesView } from './families.js';
import { fieldsView } from './fields.js';
import { operationsView } from './operations.js';
import { primitivesView, showPrimitives } from './primitives.js';
import { ask } from './runner.js';
import { openShared } from './share.js';
import { state } from './state.js';
import { tabs } from './tabs.js';

/** What the table shows of all sizes. */
const SHOWN = [
  'x25519_dh', 'x25519_base', 'ed25519_keygen', 'ed25519_sign', 'ed25519_verify', 'sha256/1024', 'sha512/1024',
  'hmac_sha256', 'hkdf_sha256_extract', 'hkdf_sha256_expand', 'chacha20poly1305_seal/1024',
  'aes128gcm_seal/1024', 'aes128gcm_open/1024',
];

async function begin() {
  firstBadges();
  state.names = SHOWN;
  const views = { primitives: primitivesView(), fields: fieldsView(), families: familiesView(), operations: operationsView(), crosscheck: crosscheckView() };
  for (const [name, view] of Object.entries(views)) document.getElementById(`panel-${name}`).replaceChildren(...view.elements);
  tabs((name) => views[name].shown?.());
  await openShared();
  showPrimitives();
  const [ready] = await Promise.all([ask({ type: 'start' }), recorded()]);
  state.step = ready.step;
  clockBadge(ready.step);
  vectorBadge(ready.vectors);
  const known = new Set(ready.workloads.map((workload) => workload.name));
  state.names = SHOWN.filter((name) => known.has(name));
  views.primitives.ready();
  showPrimitives();
  const [flavour] = flavours();
  debuggerBadge(unoptimisedRatio(await load('kernel', flavour)));
}

/** Rows recorded on other runtimes; the page also works where there are none. */
async function recorded() {
  const answer = await fetch(new URL('../pkg/recorded.json', import.meta.url)).catch(() => null);
  if (answer?.ok) state.recorded = await answer.json();
}

begin().catch((error) => notice('failed', 'bad', String(error?.message ?? error)));
