// The view of the other families: Schnorr signatures on secp256k1 and Groth16 on BN254, in this browser's wasm
// beside native code as recorded.

import { controls } from './controls.js';
import { breakable, column, el, fill, table } from './dom.js';
import { flavours, FLAVOURS } from './engine.js';
import { interval, plusMinus, time, times } from './format.js';
import { ask } from './runner.js';
import { state } from './state.js';

const FAMILIES = {
  'Schnorr on secp256k1': [
    'schnorr/create/k256', 'schnorr/sign/k256', 'schnorr/verify/k256', 'schnorr/ecdh/k256', 'schnorr/lift_x/k256',
    'schnorr/batch_verify/16', 'schnorr/batch_verify_unsound/16',
  ],
  'Groth16 on BN254': [
    'groth16/prove/sum_of_products_small', 'groth16/verify/sum_of_products_small', 'groth16/msm_g1/16', 'groth16/msm_g2/16',
    'groth16/miller_loop', 'groth16/final_exponentiation', 'groth16/pairing',
  ],
};
const NAMES = Object.values(FAMILIES).flat();

/** How much faster sixteen in a batch are than one by one: with the range that both intervals leave, where there is one. */
function faster(one, batch) {
  const factor = (of, by) => (16 * of) / by;
  const known = [one, batch].every((estimate) => estimate.low !== null && estimate.high !== null);
  const range = known ? ` (${times(factor(one.low, batch.high))} to ${times(factor(one.high, batch.low))})` : '';
  return `${times(factor(one.point, batch.point))}${range}`;
}

export function familiesView() {
  const rows = new Map();
  const answer = el('p', { class: 'answer', 'aria-live': 'polite' });
  const place = el('div');
  const run = controls({
    label: 'Measure the families',
    id: 'run-families',
    async start({ seconds, say, progress }) {
      rows.clear();
      say('Loading Schnorr and Groth16…');
      const done = await ask(
        { type: 'run', module: 'families', names: NAMES, compare: false, others: false, seconds },
        {
          agreement: ({ name }) => say(`First round: ${name}, inputs are made and outputs checked`),
          rows: (message) => {
            for (const row of message.rows) rows.set(row.name, row);
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

  const here = (name) => rows.get(name)?.p50 ?? null;
  const native = (name) => state.recorded.find((row) => row.runtime === 'native' && row.name === name)?.p50 ?? null;
  const cell = (of) =>
    of ? el('td', { title: interval(of) }, el('span', { class: 'figure', text: time(of.point) }), el('span', { class: 'fine', text: plusMinus(of) })) : el('td', { class: 'pending', text: '' });

  function show() {
    const [sound, unsound, one] = ['schnorr/batch_verify/16', 'schnorr/batch_verify_unsound/16', 'schnorr/verify/k256'].map(here);
    fill(
      answer,
      sound && unsound && one
        ? `Sixteen signatures of one key, against one by one: a sound batch is ${faster(one, sound)} as fast, the unsound sum, which accepts forgeries, ${faster(one, unsound)}.`
        : '',
    );
    const [flavour] = flavours();
    const recorded = NAMES.some(native);
    fill(
      place,
      ...Object.entries(FAMILIES).flatMap(([family, names]) => [
        el('h2', { text: family }),
        table(
          `${family}: time of one execution`,
          [
            column('row'),
            column(el('span', {}, 'wasm', el('span', { class: 'fine', text: FLAVOURS[flavour] ?? '' }))),
            ...(recorded ? [column(el('span', {}, 'native', el('span', { class: 'fine', text: 'recorded' }))), column('wasm ÷ native')] : []),
          ],
          names.map((name) =>
            el(
              'tr',
              {},
              el('th', { scope: 'row' }, ...breakable(name.split('/').slice(1).join('/'))),
              cell(here(name)),
              ...(recorded ? [cell(native(name)), el('td', { text: here(name) && native(name) ? times(here(name).point / native(name).point) : '' })] : []),
            ),
          ),
        ),
      ]),
    );
  }

  return {
    elements: [
      el('p', { text: 'The same rows as on the command line, on the crates k256 and arkworks. Inputs vary, because these routines branch on their data. A batch named unsound is there to be measured and never to be used.' }),
      run.element,
      answer,
      place,
    ],
    shown: show,
  };
}
