// What the page knows. Views read it; main.js and the runs write it.

export const state = {
  /** Names of the primitives, in the table's order. */
  names: [],
  /** @type {Map<string, object>} primitives measured here, by key */
  rows: new Map(),
  /** @type {{name: string, runtime: string, implementation: string, p50: object}[]} recorded on other runtimes */
  recorded: [],
  /** @type {Map<string, object>} which runtimes computed the same, by name */
  agreement: new Map(),
  /** @type {string | null} the last run's record as JSON */
  record: null,
  /** The clock's step in nanoseconds. */
  step: NaN,
  /** When a shared result was opened: what it says of itself. */
  shared: null,
};
