// Reads profiles beside the page, so that a large one does not stop it.

import { load } from './engine.js';

let profile = null;

const answers = {
  async read({ bytes }) {
    const module = await load('profiles');
    profile?.free();
    profile = null;
    profile = new module.ReadProfile(new Uint8Array(bytes));
    return { about: JSON.parse(profile.about()) };
  },
  async show({ weight }) {
    return { top: JSON.parse(profile.top(weight)), tree: JSON.parse(profile.tree(weight)) };
  },
  async judge({ name, explanation, scope }) {
    return { report: JSON.parse(profile.judge(name, explanation, scope)) };
  },
};

self.onmessage = async ({ data: { id, type, ...rest } }) => {
  try {
    self.postMessage({ id, ...(await answers[type](rest)) });
  } catch (error) {
    self.postMessage({ id, error: String(error?.message ?? error) });
  }
};
