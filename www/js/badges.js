// What this browser offers and what may disturb a figure, as badges and as notices with a remedy.

import { el, fill } from './dom.js';
import { engine } from './engine.js';
import { time } from './format.js';

/** Optimised, the chain takes as long in wasm as in JavaScript within a few percent; under a debugger, several times as long. */
const SUSPICIOUS = 1.5;

/** @type {Map<string, {kind: string, text: string, title: string}>} */
const badges = new Map();
/** @type {Map<string, {kind: string, text: string}>} */
const notices = new Map();

function show() {
  fill(
    document.getElementById('badges'),
    ...[...badges.values()].map(({ kind, text, title }) => el('li', { class: `badge ${kind}`, title, text })),
  );
  fill(
    document.getElementById('notices'),
    ...[...notices.values()].map(({ kind, text }) => el('p', { class: `notice ${kind}`, text })),
  );
}

function badge(name, kind, text, title) {
  badges.set(name, { kind, text, title });
  show();
}

/** Says something under the run button until it is withdrawn. */
export function notice(name, kind, text) {
  if (text) notices.set(name, { kind, text });
  else notices.delete(name);
  show();
}

/** What can be told before anything is measured. */
export function firstBadges() {
  const isolated = self.crossOriginIsolated === true;
  badge('isolated', isolated ? 'good' : 'warn', isolated ? 'isolated' : 'not isolated',
    isolated ? 'Cross-origin isolation is on: the browser gives its finest clock' : 'Without the two isolation headers the browser gives a coarser clock');
  if (!isolated) {
    notice('isolated', '', 'The clock is coarse here, because the page was served without the headers for cross-origin isolation. Batches are made longer, so a run takes longer. `primitives serve` sends the headers.');
  }
  const { wide, simd } = engine();
  badge('simd', simd ? 'good' : 'bad', simd ? 'simd128' : 'no simd128', 'WebAssembly vector instructions');
  badge('wide', wide ? 'good' : '', wide ? 'wide arithmetic' : 'no wide arithmetic',
    wide ? 'The build with 64-bit limbs runs: 64 by 64 to 128 bit multiplication in one instruction' : 'This engine has no 128-bit products yet: the build with 32-bit limbs runs');
  battery();
  document.addEventListener('visibilitychange', hidden);
}

/** @param {number} step nanoseconds */
export function clockBadge(step) {
  badge('clock', step <= 20e3 ? 'good' : 'warn', `clock ${time(step)}`, 'The smallest step of performance.now in the measuring worker');
}

/** The vectors checked inside the loaded module. */
export function vectorBadge(vectors) {
  const failed = vectors.filter(([, holds]) => !holds).map(([name]) => name);
  const good = failed.length === 0;
  badge('vectors', good ? 'good' : 'bad', good ? `${vectors.length} vectors hold` : `${failed.length} vectors fail`,
    vectors.map(([name, holds]) => `${holds ? '✓' : '✗'} ${name}`).join('\n'));
  if (!good) notice('vectors', 'bad', `Published vectors fail in this module (${failed.join('; ')}): no figure here is worth reading.`);
  return good;
}

/** @param {number} ratio time of a chain in wasm over the same in JavaScript */
export function debuggerBadge(ratio) {
  const suspected = ratio > SUSPICIOUS;
  badge('debugger', suspected ? 'bad' : 'good', suspected ? 'DevTools suspected' : 'wasm optimised',
    `A chain of additions and rotations takes ${ratio.toFixed(2)} times as long in wasm as in JavaScript`);
  notice('debugger', 'bad', suspected &&
    `WebAssembly runs unoptimised here (a test chain takes ${ratio.toFixed(1)} times as long as the same in JavaScript): open developer tools do that. Close them, load the page anew and run again.`);
}

/** Half an interval this wide, as a part of the figure, tells of other work on the machine. */
const NOISY = 0.1;

/** The median of half the intervals' widths, as a part of their figures. */
function width(estimates) {
  const widths = estimates.filter((e) => e && e.low !== null).map((e) => (e.high - e.low) / 2 / e.point).sort((a, b) => a - b);
  return widths[widths.length >> 1] ?? 0;
}

/** @param {({point: number, low: number | null, high: number | null} | null)[]} estimates */
export const isNoisy = (estimates) => width(estimates) > NOISY;

/** Says that a whole run's intervals are wide, where they are. */
export function noiseNotice(estimates) {
  notice('noisy', '', isNoisy(estimates) &&
    `This machine is busy: half of the intervals are wider than ± ${(100 * width(estimates)).toFixed(0)} %. A wall clock counts the time that other programs took. Close them, or run for longer.`);
}

async function battery() {
  const state = await navigator.getBattery?.().catch(() => null);
  if (!state) return;
  const tell = () => {
    if (state.charging) badges.delete('battery');
    else badge('battery', 'warn', 'on battery', 'The processor may be slowed to save power');
    show();
  };
  state.addEventListener('chargingchange', tell);
  tell();
}

let running = false;

/** Watches for the tab going to the background while a run lasts. */
export function watchVisibility(isRunning) {
  running = isRunning;
  if (isRunning) {
    badges.delete('hidden');
    notice('hidden', '', null);
    hidden();
  }
}

function hidden() {
  if (!running || document.visibilityState !== 'hidden') return;
  badge('hidden', 'warn', 'tab was hidden', 'Browsers slow background tabs');
  notice('hidden', '', 'The tab was in the background during this run, where browsers slow it down. Keep it in front and run again.');
}
