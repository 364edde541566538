// Asks the worker that reads profiles, and draws what it answers.

import { el, fill, table, column } from './dom.js';
import { percent } from './format.js';

let worker = null;
let next = 0;
const waiting = new Map();

function ask(message, transfer = []) {
  if (!worker) {
    worker = new Worker(new URL('./profiles-worker.js', import.meta.url), { type: 'module', name: 'profiles' });
    worker.onmessage = ({ data: { id, error, ...answer } }) => {
      const { resolve, reject } = waiting.get(id);
      waiting.delete(id);
      if (error) reject(new Error(error));
      else resolve(answer);
    };
    worker.onerror = () => {
      for (const { reject } of waiting.values()) reject(new Error('the worker that reads profiles could not be loaded'));
      waiting.clear();
      worker = null;
    };
  }
  const id = next++;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    worker.postMessage({ id, ...message }, transfer);
  });
}

/** Reads a profile from bytes and keeps it. */
export const readProfile = async (bytes) => (await ask({ type: 'read', bytes })).about;

/** Holds the profile that was read last against an explanation. */
export const judgeProfile = async (name, explanation, scope) => (await ask({ type: 'judge', name, explanation: JSON.stringify(explanation), scope })).report;

/** Draws the profile that was read last: flamegraph and the functions by own weight. */
export async function showProfile(place, about, weight, isPrimitive = () => false) {
  const { top, tree } = await ask({ type: 'show', weight });
  const total = about.weights[weight]?.total ?? 0;
  const chart = el('div', { class: 'flame' });
  const figure = el('figure', { class: 'chart' }, el('figcaption', {}, el('b', { text: `Flamegraph of ${about.weights[weight]?.name ?? 'the profile'}: select a box to zoom` })), chart);
  fill(
    place,
    figure,
    table(
      'Functions by own weight',
      [column('function'), column('own'), column('total')],
      top.slice(0, 15).map((row) =>
        el('tr', {}, el('th', { scope: 'row', title: row.function, text: shorten(row.function) }), el('td', { text: percent(row.own / total) }), el('td', { text: percent(row.total / total) })),
      ),
    ),
  );
  await drawFlame(chart, tree, total, isPrimitive);
}

/** Drops the hash that a compiler put at the end. */
export const shorten = (name) => {
  const short = name.replace(/::h[0-9a-f]{16}$/, '').replace(/^countercheck::/, '');
  return short.length > 90 ? `${short.slice(0, 89)}…` : short;
};

async function drawFlame(place, tree, total, isPrimitive) {
  const { flamegraph, select } = await import('../vendor/flamegraph.js');
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
  const rename = (node) => ({ ...node, name: shorten(node.name), primitive: isPrimitive(node.name), children: node.children.map(rename) });
  const chart = flamegraph()
    .width(Math.max(280, place.clientWidth))
    .cellHeight(22)
    .minFrameSize(1)
    .inverted(true)
    .selfValue(false)
    .transitionDuration(still ? 0 : 200)
    .setLabelHandler((d) => `${d.data.name}: ${percent(d.data.value / total)}`)
    .setColorMapper((d) => (d.highlight ? '#e600e6' : d.data.primitive ? '#0f9d8f' : ['#f3c27a', '#efb366', '#f6d193', '#eaa85a'][hash(d.data.name) % 4]));
  select(place).datum(rename(tree)).call(chart);
  chart.setDetailsElement?.(null);
}

function hash(text) {
  let sum = 0;
  for (let i = 0; i < text.length; i++) sum = (sum * 31 + text.charCodeAt(i)) >>> 0;
  return sum;
}
