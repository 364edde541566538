// A run as a file, as Markdown, and as a link.

import { el } from './dom.js';
import { time, threeDigits } from './format.js';
import { linkOf } from './share.js';
import { byName, COLUMNS } from './columns.js';
import { state } from './state.js';

/** The row of buttons; hidden until there is something to export. */
export function exportRow() {
  const status = el('span', { class: 'status', role: 'status' });
  const copied = async (text, what) => {
    try {
      await navigator.clipboard.writeText(text);
      status.textContent = `${what} copied.`;
    } catch {
      // No permission: show it, to be copied by hand.
      prompt(`Copy this ${what.toLowerCase()}:`, text);
    }
  };
  const element = el(
    'div',
    { class: 'actions', id: 'export', hidden: true },
    el('button', { type: 'button', id: 'export-json', text: 'Export JSON', onclick: () => save('countercheck-browser.json', state.record) }),
    el('button', { type: 'button', id: 'copy-markdown', text: 'Copy as Markdown', onclick: () => copied(markdown(), 'Table') }),
    el('button', { type: 'button', id: 'copy-link', text: 'Copy link with this result', onclick: async () => copied(await linkOf(), 'Link') }),
    status,
  );
  return {
    element,
    show() {
      element.hidden = !state.record;
      status.textContent = '';
    },
  };
}

/** Offers text as a file. */
export function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  el('a', { href: url, download: name }).click();
  // The browser reads the file after this task.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A cell of a Markdown table: a bar would end it, and a line break the table. */
const cell = (text) => String(text).replace(/[\\|`*_<>[\]]/g, '\\$&').replace(/\s+/g, ' ');

/** The table as Markdown, with what it was measured on. */
export function markdown() {
  const figures = byName(state.names, state.rows, state.recorded);
  const columns = COLUMNS.filter((c) => [...figures.values()].some((row) => row.get(c.id)?.p50));
  const figure = (row) => {
    if (!row?.p50) return '—';
    const { point, low, high } = row.p50;
    const half = low === null || high === null ? '' : ` ± ${threeDigits((50 * (high - low)) / point)} %`;
    return time(point) + half;
  };
  const lines = [
    ['primitive', ...columns.map((c) => `${c.label}, ${c.fine}`)],
    ['---', ...columns.map(() => '---:')],
    ...[...figures].map(([name, row]) => [cell(name), ...columns.map((c) => figure(row.get(c.id)))]),
  ];
  return [
    ...lines.map((line) => `| ${line.join(' | ')} |`),
    '',
    `Median of one call with its 95 % interval. ${cell(navigator.userAgent)}; clock step ${time(state.step)}; countercheck.`,
  ].join('\n');
}
