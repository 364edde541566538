// The view of the primitives: the answer in a sentence, the table, the chart.

import { clockBadge, noiseNotice } from './badges.js';
import { barChart } from './chart.js';
import { byName, COLUMNS } from './columns.js';
import { controls } from './controls.js';
import { breakable, column, el, fill, oncePerFrame, table } from './dom.js';
import { engine } from './engine.js';
import { exportRow } from './export.js';
import { interval, plusMinus, time, times } from './format.js';
import { reading } from './reading.js';
import { ask } from './runner.js';
import { state } from './state.js';

const parts = {
  answer: el('p', { class: 'answer', 'aria-live': 'polite' }),
  table: el('div', { id: 'primitives-table' }),
  chart: el('figure', { class: 'chart', hidden: true }),
};
const exports = exportRow();

export function primitivesView() {
  const compare = el('input', { type: 'checkbox', id: 'compare' });
  const run = controls({
    label: 'Run',
    id: 'run',
    extra: engine().wide ? [el('label', { class: 'choice' }, compare, 'both builds')] : [],
    start: (how) => measure(how, compare.checked),
  });
  run.say('Loading the primitives…');
  return {
    elements: [run.element, parts.answer, parts.table, parts.chart, exports.element, reading()],
    ready: () => run.say('Ready.'),
  };
}

async function measure({ seconds, say, progress }, compare) {
  Object.assign(state, { rows: new Map(), agreement: new Map(), record: null, shared: null });
  exports.show();
  const done = await ask(
    { type: 'run', module: 'kernel', names: state.names, compare, others: true, seconds },
    {
      clock: ({ step }) => clockBadge(step),
      agreement: ({ name, agreeing, absent }) => {
        state.agreement.set(name, { agreeing, absent });
        say(`First round: comparing outputs of ${name}, then timing it once.`);
        soon();
      },
      rows: ({ rows }) => {
        for (const row of rows) state.rows.set(row.key, row);
        soon();
      },
      progress: ({ share, rounds }) => {
        progress(share);
        say(`Round ${rounds + 1}: every row again, in random order.`);
      },
    },
  );
  state.record = done.record;
  noiseNotice([...state.rows.values()].map((row) => row.p50));
  exports.show();
  soon();
  return done.cancelled ? `Cancelled in round ${done.rounds + 1}; the figures so far stand.` : `Done: ${done.rounds} rounds.`;
}

const soon = oncePerFrame(() => showPrimitives());

/** The figures as they are, in table, chart and sentence. */
export function showPrimitives() {
  const figures = byName(state.names, state.rows, state.recorded);
  const used = COLUMNS.filter((c) => [...figures.values()].some((row) => row.has(c.id)));
  const columns = used.length ? used : COLUMNS.slice(0, 1);
  // In a browser only calls of many milliseconds are timed one by one; without any the column would be empty.
  const tailed = [...figures.values()].some((row) => wasmOf(row)?.p90);
  fill(parts.answer, ...answer(figures));
  fill(
    parts.table,
    table(
      'Primitives: time of one call by runtime',
      [
        column('primitive'),
        ...columns.map((c) => column(el('span', {}, el('span', { class: `key ${c.id}`, 'aria-hidden': 'true' }), c.label, el('span', { class: 'fine', text: c.fine })))),
        ...(tailed ? [column(el('span', {}, 'p90 / p99', el('span', { class: 'fine', text: 'wasm' })))] : []),
      ],
      state.names.map((name) => line(name, figures.get(name), columns, state.agreement.get(name), tailed)),
    ),
  );
  chart(figures, columns);
}

/** The cell of the faster build that ran. */
const wasmOf = (cells) => cells?.get('wasm') ?? cells?.get('plain');

function line(name, cells, columns, agreement, tailed) {
  const here = [...cells.values()].filter((cell) => cell.p50);
  const fastest = Math.min(...here.map((cell) => cell.p50.point));
  return el(
    'tr',
    {},
    el('th', { scope: 'row' }, ...breakable(name), mark(agreement)),
    ...columns.map((c) => figure(cells.get(c.id), here.length > 1 && fastest)),
    tailed ? tails(wasmOf(cells)) : null,
  );
}

function mark(agreement) {
  if (!agreement) return el('span', { class: 'fine mark', text: 'outputs not compared yet' });
  const { agreeing, absent } = agreement;
  const different = absent.filter((entry) => entry.differs);
  if (different.length) {
    return el('span', { class: 'fine mark bad', title: different.map((entry) => entry.message).join('\n'), text: '✗ outputs differ' });
  }
  const text = agreeing.length > 1 ? `✓ ${agreeing.length} runtimes agree` : '✓ outputs checked';
  const title = agreeing.length > 1 ? `the same bytes from ${agreeing.join(', ')}` : 'every output is checked against a second way of computing it';
  return el('span', { class: 'fine mark good', title, text });
}

function figure(cell, fastest) {
  if (!cell) return el('td', { class: 'pending', text: '' });
  if (cell.error) return el('td', { class: 'pending', title: cell.error, text: 'none' });
  if (!cell.p50) return el('td', { class: 'pending', text: '…' });
  const fine = plusMinus(cell.p50);
  const title = [
    cell.implementation,
    `median of ${cell.n} timing samples${cell.iterations > 1 ? `, each the mean of ${cell.iterations} calls` : ''}`,
    interval(cell.p50),
    cell.cold ? `first call ${time(cell.cold)}` : '',
  ].filter(Boolean);
  return el(
    'td',
    { class: cell.p50.point === fastest ? 'best' : null, title: title.join('\n') },
    el('span', { class: 'figure', text: time(cell.p50.point) }),
    fine ? el('span', { class: 'fine', text: fine }) : null,
  );
}

function tails(cell) {
  if (cell?.p90) {
    return el('td', {}, `${time(cell.p90.point)} / ${cell.p99 ? time(cell.p99.point) : '—'}`);
  }
  const title = 'A call is shorter than 1,000 clock steps, so calls are timed in batches, and the mean of a batch has no tail';
  return el('td', { class: 'pending', title, text: '—' });
}

/** The answer first, in a sentence. */
function answer(figures) {
  const cells = figures.get('x25519_dh');
  const wasm = wasmOf(cells);
  if (!wasm?.p50) return [];
  const against = [
    ['native', 'that of the recorded native run'],
    ['webcrypto', 'that of WebCrypto'],
    ['js', 'that of pure JavaScript'],
  ]
    .filter(([id]) => cells.get(id)?.p50)
    .map(([id, label]) => `${times(wasm.p50.point / cells.get(id).p50.point)} ${label}`);
  return [
    'One X25519 key agreement takes ',
    el('strong', { text: time(wasm.p50.point) }),
    against.length ? ` in WebAssembly here: ${against.join(', ')}.` : ' in WebAssembly here.',
  ];
}

function chart(figures, columns) {
  const series = columns.map((c) => ({
    id: c.id,
    label: `${c.label}, ${c.fine}`,
    estimates: [...figures.values()].map((row) => row.get(c.id)?.p50 ?? null),
  }));
  const any = series.some((one) => one.estimates.some(Boolean));
  parts.chart.hidden = !any;
  if (any) barChart(parts.chart, 'Time of one call, logarithmic axis; whiskers are 95 % intervals', [...figures.keys()], series);
}
