// The view of the primitives: the answer in a sentence, the table, the chart.

import { barChart } from './chart.js';
import { column, el, fill, table } from './dom.js';
import { interval, plusMinus, time, times } from './format.js';

/** The columns in reading order. `of` picks the figure of a row. */
export const COLUMNS = [
  { id: 'wasm', label: 'wasm', runtime: 'browser-wasm', flavour: 'wide', fine: '64-bit limbs' },
  { id: 'plain', label: 'wasm', runtime: 'browser-wasm', flavour: 'plain', fine: '32-bit limbs' },
  { id: 'webcrypto', label: 'WebCrypto', runtime: 'webcrypto', fine: 'this browser' },
  { id: 'js', label: 'noble', runtime: 'browser-js', fine: 'pure JavaScript' },
  { id: 'native', label: 'native', runtime: 'native', fine: 'recorded' },
  { id: 'jvm', label: 'JVM', runtime: 'jvm', fine: 'recorded' },
];

export function columnOf(row) {
  return COLUMNS.find((c) => c.runtime === row.runtime && (c.flavour === undefined || c.flavour === row.flavour));
}

/**
 * @param {Map<string, object>} rows what was measured here, by key
 * @param {object[]} recorded recorded rows of other runtimes: `{name, runtime, p50}`
 * @returns {Map<string, Map<string, object>>} by workload name, then by column
 */
export function byName(names, rows, recorded) {
  const all = new Map(names.map((name) => [name, new Map()]));
  for (const row of [...rows.values(), ...recorded]) {
    const column = columnOf(row);
    if (column && all.has(row.name)) all.get(row.name).set(column.id, row);
  }
  return all;
}

/** @param {object} state the run as main.js keeps it */
export function showPrimitives(state) {
  const figures = byName(state.names, state.rows, state.recorded);
  const used = COLUMNS.filter((c) => [...figures.values()].some((row) => row.has(c.id)));
  const columns = used.length ? used : COLUMNS.slice(0, 1);
  fill(document.getElementById('answer'), ...answer(figures));
  fill(
    document.getElementById('primitives-table'),
    table(
      'Primitives: time of one call by runtime',
      [
        column('primitive'),
        column('outputs', { class: 'text' }),
        ...columns.map((c) => column(el('span', {}, el('span', { class: `key ${c.id}`, 'aria-hidden': 'true' }), c.label, el('span', { class: 'fine', text: c.fine })))),
        column(el('span', {}, 'p90 / p99', el('span', { class: 'fine', text: 'wasm' }))),
      ],
      state.names.map((name) => line(name, figures.get(name), columns, state.agreement.get(name))),
    ),
  );
  chart(figures, columns);
}

function line(name, cells, columns, agreement) {
  const here = [...cells.values()].filter((cell) => cell.p50);
  const fastest = Math.min(...here.map((cell) => cell.p50.point));
  const wasm = cells.get('wasm') ?? cells.get('plain');
  return el(
    'tr',
    {},
    el('th', { scope: 'row', text: name }),
    el('td', { class: 'text' }, mark(agreement)),
    ...columns.map((c) => figure(cells.get(c.id), here.length > 1 && fastest)),
    tails(wasm),
  );
}

function mark(agreement) {
  if (!agreement) return el('span', { class: 'mark', text: '·', title: 'not compared yet' });
  const { agreeing, absent } = agreement;
  const different = absent.filter((entry) => entry.differs);
  if (different.length) {
    return el('span', { class: 'mark bad', title: different.map((entry) => entry.message).join('\n'), text: '✗ differ' });
  }
  const text = agreeing.length > 1 ? `✓ ${agreeing.length} agree` : '✓ checked';
  const title = agreeing.length > 1 ? `the same bytes from ${agreeing.join(', ')}` : 'every output is checked against a second way of computing it';
  return el('span', { class: 'mark good', title, text });
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
  const wasm = cells?.get('wasm') ?? cells?.get('plain');
  if (!wasm?.p50) return [];
  const against = [
    ['native', 'the recorded native run'],
    ['webcrypto', 'WebCrypto'],
    ['js', 'pure JavaScript'],
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
  const figureElement = document.getElementById('primitives-chart');
  const series = columns.map((c) => ({
    id: c.id,
    label: `${c.label}, ${c.fine}`,
    estimates: [...figures.values()].map((row) => row.get(c.id)?.p50 ?? null),
  }));
  const any = series.some((one) => one.estimates.some(Boolean));
  figureElement.hidden = !any;
  if (any) barChart(figureElement, 'Time of one call, logarithmic axis; whiskers are 95 % intervals', [...figures.keys()], series);
}
