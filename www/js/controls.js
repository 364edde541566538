// The row of controls that every view has: start, for how long, cancel, progress, and what goes on.

import { notice, watchVisibility } from './badges.js';
import { el } from './dom.js';
import { cancel, onBusy } from './runner.js';

const LENGTHS = [3, 8, 30];

/**
 * @param {object} options
 * @param {string} options.label what the start button says
 * @param {string} [options.id] of the start button
 * @param {Node[]} [options.extra] further controls
 * @param {(run: {seconds: number, say: (text: string) => void, progress: (share: number) => void}) => Promise<string>} options.start
 *   runs to the end and returns what to say then
 * @param {() => void} [options.stop] how to cancel; the worker by default
 */
export function controls({ label, id, extra = [], start, stop = cancel }) {
  const seconds = el('select', {}, ...LENGTHS.map((length) => el('option', { value: length, selected: length === 8 }, `${length} seconds`)));
  const startButton = el('button', { class: 'primary', type: 'button', id, disabled: true, text: label });
  const cancelButton = el('button', { class: 'cancel', type: 'button', hidden: true, text: 'Cancel' });
  const progress = el('progress', { max: '1', value: '0', 'aria-label': `Progress: ${label}`, hidden: true });
  const status = el('p', { class: 'status', role: 'status', 'aria-live': 'polite' });
  const say = (text) => {
    if (status.textContent !== text) status.textContent = text;
  };

  let mine = false;
  onBusy((busy) => {
    startButton.disabled = busy;
  });
  startButton.addEventListener('click', async () => {
    mine = true;
    cancelButton.hidden = false;
    progress.hidden = false;
    progress.value = 0;
    notice('failed', '', null);
    watchVisibility(true);
    try {
      const share = (value) => {
        progress.value = value;
      };
      say(await start({ seconds: Number(seconds.value), say, progress: share }));
    } catch (error) {
      notice('failed', 'bad', String(error?.message ?? error));
      say('Stopped by an error.');
    } finally {
      mine = false;
      watchVisibility(false);
      const focused = document.activeElement === cancelButton;
      cancelButton.hidden = true;
      progress.hidden = true;
      if (focused) startButton.focus();
    }
  });
  cancelButton.addEventListener('click', () => {
    if (!mine) return;
    say('Cancelling…');
    stop();
  });
  const row = el('div', { class: 'actions' }, startButton, cancelButton, el('label', { class: 'choice' }, 'for ', seconds), ...extra);
  return { element: el('div', { class: 'controls' }, row, progress, status), say };
}
