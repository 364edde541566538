// Builds elements. Text only ever becomes a text node, so that a name from a file cannot become markup.

/**
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes] `class`, `text`, `on…` handlers, and any attribute; false and null leave it out
 * @param {...(Node | string | null | undefined)} children
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === 'text') element.textContent = String(value);
    else if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** @param {string} id */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element ${id}`);
  return element;
}

/** Replaces what is in an element. */
export function fill(element, ...children) {
  element.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
}

/** A table with a caption for screen readers, in a region that scrolls by keyboard on a narrow screen. */
export function table(label, head, body, attributes = {}) {
  return el(
    'div',
    { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': label },
    el(
      'table',
      attributes,
      el('caption', { class: 'visually-hidden', text: label }),
      el('thead', {}, el('tr', {}, ...head)),
      el('tbody', {}, ...body),
    ),
  );
}

/** A column's heading. */
export function column(text, attributes = {}) {
  return el('th', { scope: 'col', ...attributes }, text);
}

/** A row's name that a narrow screen may break after `_` and `/`, and nowhere else. */
export function breakable(name) {
  return name.split(/(?<=[_/])/).flatMap((part, at) => (at ? [el('wbr'), part] : [part]));
}

/** A function that draws at the next frame, however often it is called before. */
export function oncePerFrame(draw) {
  let drawing = false;
  return () => {
    if (drawing) return;
    drawing = true;
    requestAnimationFrame(() => {
      drawing = false;
      draw();
    });
  };
}
