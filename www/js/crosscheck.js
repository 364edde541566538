// The view of the cross-check: what the browser's own sampler says of a known mix, against op counts ×
// cost; and a place to drop any profile.

import { controls } from './controls.js';
import { byId, column, el, fill, table } from './dom.js';
import { bytes, interval, percent, time } from './format.js';
import { MIX, runMix, SCOPE } from './mix.js';
import { judgeProfile, readProfile, shorten, showProfile } from './profiles.js';

/** The sampler's floor in Chromium; a shorter interval is not given. */
const SAMPLE_INTERVAL_MS = 10;

/** What is known of the mix that ran last, to judge a profile taken by hand against. */
let known = null;

export function crosscheckView() {
  const mix = mixPart();
  const drop = dropPart();
  return {
    elements: [
      el('h2', { text: 'The browser’s sampler against a known mix' }),
      el('p', { text: `${Object.entries(MIX).map(([name, count]) => `${count} × ${name}`).join(', ')}: how often each runs is fixed, what each costs is timed alone first, and a clock stands around every slice of the mix. So the true shares are known, and the sampler’s are held against them.` }),
      ...mix,
      el('h2', { text: 'Any profile' }),
      ...drop,
    ],
  };
}

function mixPart() {
  const answer = el('p', { class: 'answer', 'aria-live': 'polite' });
  const place = el('div');
  const picture = el('div');
  let stopped = false;
  const sampler = typeof self.Profiler === 'function';
  const run = controls({
    label: sampler ? 'Sample the mix' : 'Run the mix',
    id: 'run-mix',
    stop: () => {
      stopped = true;
    },
    async start({ seconds, say, progress }) {
      stopped = false;
      say('Timing each primitive alone, then running the mix…');
      const profiler = startProfiler();
      known = await runMix(seconds, { progress, cancelled: () => stopped });
      if (!profiler) {
        fill(answer, 'The mix ran. This browser has no sampler of its own that a page may use: record the mix with the developer tools, save the profile, and drop it below to have it judged.');
        fill(place, shares(known, null));
        return 'Done.';
      }
      const trace = await profiler.stop();
      const file = new TextEncoder().encode(JSON.stringify({ ...trace, sampleInterval: profiler.sampleInterval }));
      const about = await readProfile(file.buffer);
      const report = await judgeProfile('this browser', known, [SCOPE]);
      fill(answer, verdictSentence(report));
      fill(place, shares(known, report), remedies(report, { wallReference: true }));
      await showProfile(picture, about, about.default_weight, isPrimitive);
      return stopped ? 'Cancelled; judged on what was sampled.' : `Done: ${about.samples} stack samples.`;
    },
  });
  return [
    sampler ? null : el('p', { class: 'notice', text: 'This page may not use the browser’s own sampler: Chromium has one where the page is served with `Document-Policy: js-profiling`, other browsers have none.' }),
    run.element,
    answer,
    place,
    picture,
  ].filter(Boolean);
}

function startProfiler() {
  if (typeof self.Profiler !== 'function') return null;
  try {
    return new self.Profiler({ sampleInterval: SAMPLE_INTERVAL_MS, maxBufferSize: 100_000 });
  } catch {
    return null;
  }
}

const isPrimitive = (name) => /primitive::(x25519|ed25519|sha2|hmac|hkdf|aead)::/.test(name);

function verdictSentence(report) {
  const readings = report.rows.map((row) => ({ name: row.primitive, verdict: row.readings[0]?.verdict }));
  const wrong = readings.filter(({ verdict }) => ['over', 'under', 'blind'].includes(verdict));
  const open = readings.filter(({ verdict }) => verdict === 'unresolved');
  if (wrong.length) return `This sampler misleads: ${wrong.map(({ name, verdict }) => `${name} reads ${verdict}`).join(', ')}.`;
  if (open.length) {
    const more = Math.max(0, ...report.rows.map((row) => row.readings[0]?.further_samples ?? 0));
    return `Nothing contradicts this sampler within ${percent(report.method.margin)}, and ${open.length} of ${readings.length} shares need more samples to say${more ? `: about ${more} more` : ''}.`;
  }
  return 'This sampler agrees with op counts × cost on every primitive.';
}

/** Every estimate of each share, and the verdict. */
function shares(explanation, report) {
  const total = explanation.primitives.reduce((sum, one) => sum + one.alone_ns * one.count, 0);
  return table(
    'Shares of the mix',
    ['primitive', 'count', 'cost alone', 'count × cost', 'by the clock', ...(report ? ['sampled', 'verdict'] : [])].map((text) => column(text)),
    explanation.primitives.map((one) => {
      const reading = report?.rows.find((row) => row.primitive === one.primitive)?.readings[0];
      const good = reading?.verdict === 'agrees';
      return el(
        'tr',
        {},
        el('th', { scope: 'row', text: one.primitive }),
        el('td', { text: String(one.count) }),
        el('td', { text: time(one.alone_ns) }),
        el('td', { text: percent((one.alone_ns * one.count) / total) }),
        el('td', { title: interval(one.trace_ns), text: percent(one.trace_ns.point / explanation.time_ns.point) }),
        ...(report
          ? [
              el('td', {}, reading ? percent(reading.sampled.point) : '—', reading?.sampled.low !== null && reading ? el('span', { class: 'fine', text: `${percent(reading.sampled.low)} to ${percent(reading.sampled.high)}` }) : null),
              el('td', {}, el('span', { class: `mark ${good ? 'good' : reading?.verdict === 'unresolved' ? 'warn' : 'bad'}`, text: reading ? `${good ? '✓ ' : ''}${reading.verdict}` : '—' })),
            ]
          : []),
      );
    }),
  );
}

function remedies(report, { wallReference = false } = {}) {
  // The mix was timed by the wall clock too, so a sampler of wall time is no other clock than its reference.
  const warnings = report.warnings.filter((warning) => !(wallReference && warning.code === 'wall-clock'));
  const all = [...warnings, ...report.samplers.flatMap((sampler) => sampler.diagnoses ?? [])];
  // What can be done on a command line is no remedy for the sampler of this browser.
  const useful = (remedy) => (wallReference && remedy?.includes('--') ? '' : remedy);
  const sentence = (text) => text && `${text[0].toUpperCase()}${text.slice(1)}.`.replace(/\.\.$/, '.');
  const lines = all.map((one) => [one.message, useful(one.remedy)].map(sentence).filter(Boolean).join(' '));
  return lines.length ? el('ul', { class: 'notes' }, ...lines.map((text) => el('li', { text }))) : null;
}

function dropPart() {
  const status = el('p', { class: 'status', role: 'status', id: 'drop-status' });
  const place = el('div', { id: 'dropped' });
  const input = el('input', { type: 'file', id: 'profile-file', class: 'visually-hidden', onchange: () => input.files[0] && open(input.files[0]) });
  const zone = el(
    'div',
    { class: 'drop' },
    el('p', { text: 'Drop a profile here: .cpuprofile, a DevTools or Firefox trace, pprof, perf script, JFR, speedscope, folded stacks. It is read in this page and goes nowhere.' }),
    input,
    el('label', { class: 'file', for: 'profile-file', text: 'Choose a file' }),
  );
  zone.addEventListener('dragover', (event) => {
    event.preventDefault();
    zone.classList.add('over');
  });
  zone.addEventListener('dragleave', () => zone.classList.remove('over'));
  zone.addEventListener('drop', (event) => {
    event.preventDefault();
    zone.classList.remove('over');
    const [file] = event.dataTransfer.files;
    if (file) open(file);
  });

  async function open(file) {
    fill(place);
    status.textContent = `Reading ${file.name}, ${bytes(file.size)}…`;
    try {
      const about = await readProfile(await file.arrayBuffer());
      status.textContent = `${file.name}: ${about.format}${about.producer ? ` by ${about.producer}` : ''}, ${about.samples} stack samples.`;
      await show(file, about);
    } catch (error) {
      status.textContent = '';
      fill(place, el('p', { class: 'notice bad', text: String(error?.message ?? error) }));
    }
  }

  async function show(file, about) {
    const picture = el('div');
    const verdict = el('div');
    const weights = el(
      'select',
      { onchange: () => showProfile(picture, about, Number(weights.value), isPrimitive) },
      ...about.weights.map((weight, at) => el('option', { value: at, selected: at === about.default_weight }, `${weight.name} (${weight.unit})`)),
    );
    fill(
      place,
      el(
        'div',
        { class: 'actions' },
        about.weights.length > 1 ? el('label', { class: 'choice' }, 'weight ', weights) : null,
        el('button', { type: 'button', onclick: () => deep(file), text: 'Open in speedscope' }),
        known ? el('button', { type: 'button', onclick: () => judge(verdict, [SCOPE], known), text: 'Judge against the mix above' }) : null,
        explanationButton(verdict),
      ),
      ...about.notes.map((note) => el('p', { class: 'notice', text: note.message })),
      verdict,
      picture,
    );
    await showProfile(picture, about, about.default_weight, isPrimitive);
  }

  function explanationButton(verdict) {
    const chosen = el('input', {
      type: 'file',
      id: 'explanation-file',
      accept: '.json',
      class: 'visually-hidden',
      onchange: async () => judge(verdict, [], JSON.parse(await chosen.files[0].text())),
    });
    return el('span', {}, chosen, el('label', { class: 'file', for: 'explanation-file', text: 'Judge against an explanation (JSON)' }));
  }

  async function judge(verdict, scope, explanation) {
    try {
      const report = await judgeProfile('the dropped profile', explanation, scope);
      fill(verdict, el('p', { class: 'answer', text: verdictSentence(report) }), judged(report), remedies(report));
    } catch (error) {
      fill(verdict, el('p', { class: 'notice bad', text: String(error?.message ?? error) }));
    }
  }

  return [zone, status, place];
}

function judged(report) {
  return table(
    'Shares by reference and by this profile',
    ['primitive', 'count', 'model', 'sampled', 'verdict'].map((text) => column(text)),
    report.rows.map((row) => {
      const [reading] = row.readings;
      return el(
        'tr',
        {},
        el('th', { scope: 'row', text: shorten(row.primitive) }),
        el('td', { text: row.count === null ? '' : String(row.count) }),
        el('td', { text: row.model ? percent(row.model.point) : '—' }),
        el('td', { text: reading ? percent(reading.sampled.point) : '—' }),
        el('td', { text: reading?.verdict ?? '—' }),
      );
    }),
  );
}

/** The deep view: speedscope beside the page, given the file as it is. */
function deep(file) {
  const url = URL.createObjectURL(file);
  const address = new URL('../vendor/speedscope/index.html', import.meta.url);
  address.hash = `profileURL=${encodeURIComponent(url)}&title=${encodeURIComponent(file.name)}`;
  const dialog = el('dialog', { class: 'deep', 'aria-label': 'speedscope' });
  dialog.append(
    el('form', { method: 'dialog' }, el('button', { text: 'Close' })),
    el('iframe', { src: address.href, title: 'The profile in speedscope' }),
  );
  dialog.addEventListener('close', () => {
    dialog.remove();
    URL.revokeObjectURL(url);
  });
  byId('main').append(dialog);
  dialog.showModal();
}
