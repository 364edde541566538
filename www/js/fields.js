// The view of the field representations: the same field in several limb layouts, whose order reverses
// between native code and wasm.

import { barChart } from './chart.js';
import { controls } from './controls.js';
import { column, el, fill, table } from './dom.js';
import { engine, FLAVOURS } from './engine.js';
import { interval, plusMinus, time } from './format.js';
import { ask } from './runner.js';
import { state } from './state.js';

const REPRESENTATIONS = ['4x64', '5x51', '10x25.5', '16x16', '16x16-symmetric'];
const OPERATIONS = ['ladder', 'sign', 'verify', 'mul', 'square'];
const name = (operation, representation) => `field25519/${operation}/${representation}`;

export function fieldsView() {
  const rows = new Map();
  const answer = el('p', { class: 'answer', 'aria-live': 'polite' });
  const place = el('div');
  const chart = el('figure', { class: 'chart', hidden: true });
  const compare = el('input', { type: 'checkbox' });
  const run = controls({
    label: 'Measure the fields',
    id: 'run-fields',
    extra: engine().wide ? [el('label', { class: 'choice' }, compare, 'both builds')] : [],
    async start({ seconds, say, progress }) {
      rows.clear();
      say('Loading the field representations…');
      const names = REPRESENTATIONS.flatMap((representation) => OPERATIONS.map((operation) => name(operation, representation)));
      const done = await ask(
        { type: 'run', module: 'fields', names, compare: compare.checked, others: false, seconds },
        {
          agreement: ({ name }) => say(`First round: ${name}`),
          rows: (message) => {
            for (const row of message.rows) rows.set(row.key, row);
            show();
          },
          progress: ({ share, rounds }) => {
            progress(share);
            say(`Round ${rounds + 1}`);
          },
        },
      );
      return done.cancelled ? 'Cancelled; the figures so far stand.' : `Done: ${done.rounds} rounds.`;
    },
  });

  const estimate = (operation, representation, flavour) => rows.get([name(operation, representation), 'browser-wasm', flavour].join('|'))?.p50 ?? null;
  const native = (operation, representation) =>
    state.recorded.find((row) => row.runtime === 'native' && row.name === name(operation, representation))?.p50 ?? null;

  function show() {
    const flavours = ['wide', 'plain'].filter((flavour) => [...rows.values()].some((row) => row.flavour === flavour));
    const recorded = REPRESENTATIONS.some((representation) => native('ladder', representation));
    const order = (of) => REPRESENTATIONS.filter(of).sort((a, b) => of(a).point - of(b).point);
    const here = flavours.length ? order((r) => estimate('ladder', r, flavours[0])) : [];
    const there = order((r) => native('ladder', r));
    fill(
      answer,
      here.length === REPRESENTATIONS.length ? `Fastest ladder here, ${FLAVOURS[flavours[0]]}: ${here.join(', then ')}. ` : '',
      there.length === REPRESENTATIONS.length ? `In native code as recorded: ${there.join(', then ')}.` : '',
    );
    const cell = (of) =>
      of ? el('td', { title: interval(of) }, el('span', { class: 'figure', text: time(of.point) }), el('span', { class: 'fine', text: plusMinus(of) })) : el('td', { class: 'pending', text: '' });
    fill(
      place,
      table(
        'Field representations: time of one operation',
        [
          column('limbs'),
          ...flavours.flatMap((flavour) =>
            OPERATIONS.map((operation) => column(el('span', {}, operation, el('span', { class: 'fine', text: flavour === 'wide' ? 'wasm, wide' : 'wasm, 32-bit build' }))))),
          ...(recorded ? ['ladder', 'mul'].map((operation) => column(el('span', {}, operation, el('span', { class: 'fine', text: 'native, recorded' })))) : []),
        ],
        REPRESENTATIONS.map((representation) =>
          el(
            'tr',
            {},
            el('th', { scope: 'row', text: representation }),
            ...flavours.flatMap((flavour) => OPERATIONS.map((operation) => cell(estimate(operation, representation, flavour)))),
            ...(recorded ? ['ladder', 'mul'].map((operation) => cell(native(operation, representation))) : []),
          ),
        ),
      ),
    );
    const series = flavours.map((flavour) => ({
      id: flavour === 'wide' ? 'wasm' : 'plain',
      label: `wasm, ${FLAVOURS[flavour]}`,
      estimates: REPRESENTATIONS.map((r) => estimate('ladder', r, flavour)),
    }));
    if (recorded) series.push({ id: 'native', label: 'native, recorded', estimates: REPRESENTATIONS.map((r) => native('ladder', r)) });
    chart.hidden = !series.some((one) => one.estimates.some(Boolean));
    if (!chart.hidden) barChart(chart, 'One X25519 ladder by representation, logarithmic axis', REPRESENTATIONS, series);
  }

  return {
    elements: [
      el('p', { text: 'The same field, GF(2²⁵⁵ − 19), in several layouts of limbs. 5x51 and 4x64 need products of 64 bits by 64: one instruction in native code, several in WebAssembly without wide arithmetic.' }),
      run.element,
      answer,
      place,
      chart,
    ],
    shown: show,
  };
}
