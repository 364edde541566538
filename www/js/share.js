// A result in the address: compressed JSON behind `#r=`. What comes in that way is anybody's text: every
// field is checked, and it only ever becomes text on the page.

import { notice } from './badges.js';
import { columnOf } from './columns.js';
import { state } from './state.js';

const VERSION = 1;
const LARGEST = 64 * 1024;

async function through(stream, bytes, limit = Infinity) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const chunks = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > limit) throw new Error('it unpacks to more than a result can be');
    chunks.push(value);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

/** The address of this page with the figures in it. */
export async function linkOf() {
  const rows = [...state.rows.values()]
    .filter((row) => row.p50)
    .map(({ name, runtime, flavour, p50 }) => [name, runtime, flavour, ...[p50.point, p50.low, p50.high].map((ns) => (ns === null ? null : Math.round(ns)))]);
  const shared = { v: VERSION, at: Math.floor(Date.now() / 1000), ua: navigator.userAgent, step: state.step, rows };
  const packed = await through(new CompressionStream('deflate-raw'), new TextEncoder().encode(JSON.stringify(shared)));
  const text = btoa(String.fromCharCode(...packed)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
  return `${location.href.split('#')[0]}#r=${text}`;
}

/** Shows the result that the address carries, if any. */
export async function openShared() {
  const text = /^#r=([A-Za-z0-9_-]+)$/.exec(location.hash)?.[1];
  if (!text) return;
  try {
    const packed = Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
    const bytes = await through(new DecompressionStream('deflate-raw'), packed, LARGEST);
    const shared = check(JSON.parse(new TextDecoder().decode(bytes)));
    state.rows = new Map(shared.rows.map((row) => [row.key, row]));
    state.shared = shared;
    const when = new Date(shared.at * 1000).toISOString().slice(0, 16).replace('T', ' ');
    notice('shared', 'info', `These figures came with the link: measured ${when} UTC on ${shared.ua}. Press Run to measure this browser instead.`);
  } catch (error) {
    notice('shared', 'bad', `The result in this link cannot be read: ${String(error?.message ?? error)}.`);
  }
}

function check(shared) {
  const whole = (value) => Number.isFinite(value) && value >= 0;
  const text = (value, longest) => typeof value === 'string' && value.length <= longest;
  if (shared?.v !== VERSION) throw new Error(`its version is ${String(shared?.v).slice(0, 20)}, and this page reads ${VERSION}`);
  if (!whole(shared.at) || shared.at > 1e11 || !text(shared.ua, 400) || !Array.isArray(shared.rows) || shared.rows.length > 500) {
    throw new Error('it does not have the form of a result');
  }
  const rows = shared.rows.map((row) => {
    const [name, runtime, flavour, point, low, high] = Array.isArray(row) ? row : [];
    const ends = [low, high].every((end) => end === null || whole(end));
    if (!text(name, 80) || !text(runtime, 40) || !text(flavour, 20) || !whole(point) || !ends) throw new Error('one of its rows is broken');
    return { key: [name, runtime, flavour].join('|'), name, runtime, flavour, implementation: runtime, p50: { point, low, high } };
  });
  return { at: shared.at, ua: shared.ua, rows: rows.filter(columnOf) };
}
