// The view of the operations: predicted from op counts × this browser's costs, then measured.

import { isNoisy, noiseNotice } from './badges.js';
import { controls } from './controls.js';
import { breakable, column, el, fill, oncePerFrame, table } from './dom.js';
import { interval, percent, plusMinus, time } from './format.js';
import { ask } from './runner.js';

const SHOWN = ['create_group/1', 'create_group/8', 'join_welcome/8', 'send_app_message/8', 'ingest_app_message/8', 'ingest_commit/8', 'validate_key_packages/8', 'self_update_commit/8', 'batch_verify/64'];

export function operationsView() {
  /** @type {Map<string, {parts: {primitive: string, count: number, p50: object | null}[], measured: object | null, cold: number | null}>} */
  const operations = new Map();
  const answer = el('p', { class: 'answer', 'aria-live': 'polite' });
  const place = el('div');
  const breakdown = el('div');
  const run = controls({
    label: 'Predict, then measure',
    id: 'run-operations',
    async start({ seconds, say, progress }) {
      operations.clear();
      show();
      say('Loading the operations (a larger module)…');
      const done = await ask(
        { type: 'operations', names: SHOWN, seconds },
        {
          parts: ({ name, parts }) => {
            operations.set(name, { parts, measured: null });
            say(`Op counts of ${name}`);
          },
          predicted: ({ name, at, p50 }) => {
            operations.get(name).parts[at].p50 = p50;
            soon();
          },
          measured: ({ name, row }) => {
            operations.get(name).measured = row;
            soon();
          },
          progress: ({ share, doing }) => {
            progress(share);
            say(doing);
          },
        },
      );
      show();
      noiseNotice([...operations.values()].map(({ measured }) => measured?.p50));
      return done.cancelled ? 'Cancelled; the figures so far stand.' : `Done: ${done.rounds} rounds.`;
    },
  });

  const soon = oncePerFrame(show);

  function show() {
    const complete = [...operations].filter(([, { parts, measured }]) => measured?.p50 && predictionOf(parts));
    const explained = complete.map(([, { parts, measured }]) => predictionOf(parts).point / measured.p50.point).sort((a, b) => a - b);
    const estimates = complete.flatMap(([, { parts, measured }]) => [predictionOf(parts), measured.p50]);
    fill(
      answer,
      explained.length && isNoisy(estimates)
        ? 'The intervals are too wide to hold a prediction against a measurement: run for longer, or on a quieter machine.'
        : explained.length
        ? `Op counts × this browser’s costs explain between ${percent(explained[0])} and ${percent(explained[explained.length - 1])} of the measured time; the rest is not behind a boundary.`
        : '',
    );
    const tailed = complete.some(([, { measured }]) => measured.p90);
    fill(
      place,
      table(
        'Operations: predicted from op counts, then measured',
        ['operation', 'predicted', 'measured', 'difference', 'explained', ...(tailed ? ['p90 / p99'] : []), 'first call'].map((text) => column(text)),
        (operations.size ? [...operations] : SHOWN.map((name) => [name, null])).map(([name, operation]) => line(name, operation, tailed)),
      ),
    );
    fill(breakdown, ...[...operations].filter(([, { parts }]) => predictionOf(parts)).map(([name, { parts, measured }]) => details(name, parts, measured)));
  }

  return {
    elements: [
      el('p', { text: 'How often an operation calls each primitive does not depend on the machine; what a call costs does. Each primitive is run alone here, on the very inputs that the operation gives it, and the sum is the prediction. Then the operation itself is timed.' }),
      run.element,
      answer,
      place,
      breakdown,
    ],
    shown: show,
  };
}

/**
 * Sum of the parts that can run alone; null while one of them lacks a figure. Independent errors add by
 * their squares.
 */
function predictionOf(all) {
  const parts = all.filter((part) => part.alone);
  if (!parts.length || parts.some((part) => !part.p50)) return null;
  const point = parts.reduce((sum, { p50 }) => sum + p50.point, 0);
  if (parts.some(({ p50 }) => p50.low === null)) return { point, low: null, high: null };
  const spread = (end) => Math.sqrt(parts.reduce((sum, { p50 }) => sum + (p50[end] - p50.point) ** 2, 0));
  return { point, low: point - spread('low'), high: point + spread('high') };
}

function cell(estimate) {
  if (!estimate) return el('td', { class: 'pending', text: '…' });
  return el('td', { title: interval(estimate) }, el('span', { class: 'figure', text: time(estimate.point) }), el('span', { class: 'fine', text: plusMinus(estimate) }));
}

function line(name, operation, tailed) {
  if (!operation) return el('tr', {}, el('th', { scope: 'row' }, ...breakable(name)), ...Array.from({ length: tailed ? 6 : 5 }, () => el('td', { class: 'pending', text: '' })));
  const predicted = predictionOf(operation.parts);
  const measured = operation.measured;
  const both = predicted && measured?.p50;
  const tails = measured?.p90 ? `${time(measured.p90.point)} / ${measured.p99 ? time(measured.p99.point) : '—'}` : '—';
  return el(
    'tr',
    {},
    el('th', { scope: 'row' }, ...breakable(name), measured?.error ? el('span', { class: 'fine mark bad', text: measured.error }) : null),
    operation.parts.some((part) => part.alone) ? cell(predicted) : el('td', { class: 'pending', text: '—', title: 'nothing in it is behind a boundary' }),
    cell(measured?.p50),
    el('td', { text: both ? time(measured.p50.point - predicted.point) : '' }),
    el('td', { text: both ? percent(predicted.point / measured.p50.point) : '' }),
    tailed ? el('td', { class: measured?.p90 ? null : 'pending', text: tails, title: measured?.p90 ? '' : 'shorter than 1,000 clock steps, or fewer than 36 timing samples' }) : null,
    el('td', { text: measured?.cold ? time(measured.cold) : '—' }),
  );
}

function details(name, parts, measured) {
  const whole = measured?.p50?.point ?? predictionOf(parts).point;
  const cost = (part) => part.p50?.point ?? -1;
  const sorted = [...parts].sort((a, b) => cost(b) - cost(a));
  return el(
    'details',
    { class: 'notes' },
    el('summary', { text: `What ${name} is made of` }),
    table(
      `Primitives within ${name}`,
      ['primitive', 'count', 'cost of one', 'predicted', 'share'].map((text) => column(text)),
      sorted.map(({ primitive, count, p50 }) =>
        el('tr', {}, el('th', { scope: 'row', text: primitive }), el('td', { text: String(count) }), el('td', { text: p50 ? time(p50.point / count) : 'not priced' }), el('td', { text: time(p50?.point) }), el('td', { text: p50 ? percent(p50.point / whole) : '—' })),
      ),
    ),
  );
}
