// How to read the figures: what was timed, and what each is not.

import { el } from './dom.js';

const POINTS = [
  'A figure is the median over rounds; every round times every row once, in random order. Below it stands half the 95 % interval, in percent. Rows compete for the same processor, so an interval that is wide tells of a busy machine.',
  'A browser’s clock is coarse on purpose. Short calls are timed in batches of at least 1,000 clock steps; the mean of a batch has no p90 and p99, and none is shown.',
  'All runtimes get the same inputs, and every output is checked outside the clock. Runtimes whose outputs differ get no figure.',
  'WebCrypto’s keys are imported before the clock. Its calls return promises; the wait for one is part of the figure. HKDF’s two halves are its HMAC, as RFC 5869 defines them.',
  'noble derives the public key again at each signature; the others are given it.',
  'The first call after loading is slower, because the engine has not optimised it yet: hover or focus a figure to see it.',
  'Recorded columns were measured on another machine, and are there for proportion.',
  'A page is one process. Load it anew and run again before trusting a small difference.',
];

export function reading() {
  return el('details', { class: 'notes' }, el('summary', { text: 'How to read this' }), el('ul', {}, ...POINTS.map((text) => el('li', { text }))));
}
