"use strict";
for (const flame of document.querySelectorAll(".flame")) {
  const graph = flame.querySelector(".graph");
  const frames = [...graph.querySelectorAll("button")];
  const search = flame.querySelector("input");
  const reset = flame.querySelector(".reset");
  const said = flame.querySelector("output");
  const byPlace = new Map(frames.map((frame) => [frame.dataset.i, frame]));
  const own = new Map(frames.map((frame) => [frame, { left: parseFloat(frame.style.left), width: parseFloat(frame.style.width) }]));
  const parentOf = (frame) => byPlace.get(frame.dataset.p);
  const childrenOf = (frame) => frames.filter((other) => other.dataset.p === frame.dataset.i);

  const zoom = (to) => {
    const { left, width } = own.get(to);
    for (const frame of frames) {
      const at = own.get(frame);
      const begin = Math.max(0, ((at.left - left) / width) * 100);
      const end = Math.min(100, ((at.left + at.width - left) / width) * 100);
      frame.hidden = end - begin <= 0.001;
      frame.style.left = begin + "%";
      frame.style.width = Math.max(0, end - begin) + "%";
    }
    reset.hidden = to === frames[0];
  };
  const focus = (frame) => {
    if (!frame) return;
    for (const other of frames) other.tabIndex = -1;
    frame.tabIndex = 0;
    frame.focus();
    said.textContent = frame.title;
  };
  const sideways = (frame, step) => {
    const parent = parentOf(frame);
    const row = (parent ? childrenOf(parent) : frames.slice(0, 1)).filter((other) => !other.hidden);
    row.sort((a, b) => own.get(a).left - own.get(b).left);
    return row[row.indexOf(frame) + step];
  };

  graph.addEventListener("click", (event) => {
    const frame = event.target.closest("button");
    if (frame) { zoom(frame); focus(frame); }
  });
  graph.addEventListener("pointerover", (event) => {
    const frame = event.target.closest("button");
    if (frame) said.textContent = frame.title;
  });
  graph.addEventListener("keydown", (event) => {
    const frame = event.target.closest("button");
    if (!frame) return;
    const widest = (list) => list.filter((other) => !other.hidden).sort((a, b) => own.get(b).width - own.get(a).width)[0];
    const moves = {
      ArrowUp: () => focus(parentOf(frame)),
      ArrowDown: () => focus(widest(childrenOf(frame))),
      ArrowLeft: () => focus(sideways(frame, -1)),
      ArrowRight: () => focus(sideways(frame, 1)),
      Escape: () => zoom(frames[0]),
    };
    if (moves[event.key]) { event.preventDefault(); moves[event.key](); }
  });
  reset.addEventListener("click", () => { zoom(frames[0]); focus(frames[0]); });
  search.addEventListener("input", () => {
    const wanted = search.value.toLowerCase();
    let share = 0;
    let until = -1;
    const found = frames.filter((frame) => wanted && frame.textContent.toLowerCase().includes(wanted));
    for (const frame of frames) frame.classList.toggle("found", found.includes(frame));
    // A frame below one that was found adds nothing: its width is in the other's.
    for (const frame of found.sort((a, b) => own.get(a).left - own.get(b).left || own.get(b).width - own.get(a).width)) {
      const { left, width } = own.get(frame);
      if (left >= until - 1e-6) { share += width; until = left + width; }
    }
    said.textContent = wanted ? found.length + " frames, " + share.toFixed(1) + " % of the width" : "";
  });
}
