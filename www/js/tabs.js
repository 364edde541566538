// Tabs as the ARIA practices describe them: arrow keys move, Home and End jump, the address remembers.

/** @param {(name: string) => void} onShow called whenever a tab is shown */
export function tabs(onShow) {
  const all = [...document.querySelectorAll('[role="tab"]')];
  const nameOf = (tab) => tab.id.replace('tab-', '');

  function show(tab) {
    for (const other of all) {
      const selected = other === tab;
      other.setAttribute('aria-selected', String(selected));
      other.tabIndex = selected ? 0 : -1;
      document.getElementById(other.getAttribute('aria-controls')).hidden = !selected;
    }
    onShow(nameOf(tab));
  }

  for (const [at, tab] of all.entries()) {
    tab.addEventListener('click', () => show(tab));
    tab.addEventListener('keydown', (event) => {
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      const next = all[(to + all.length) % all.length];
      show(next);
      next.focus();
    });
  }
  return { show: (name) => show(all.find((tab) => nameOf(tab) === name) ?? all[0]) };
}
