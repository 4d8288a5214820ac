// A board for points of a few classes. Coordinates are thousandths; y grows upwards.
const NEAR = 28, STEP = 20, FAR = 100, MOST = 400, REST_MS = 60, LONG_MS = 500, EDGE = 20;
const PASTS = {}; // what can be undone, by the origin of the points: other steps unmount the board
const clamp = (value, grid) => Math.min(grid, Math.max(0, Math.round(value)));

function place(svg, event, grid) {
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  return [clamp(at.x, grid), clamp(grid - at.y, grid)];
}

function nearest(points, x, y, within) {
  let best = -1, least = within * within;
  points.forEach(([px, py], i) => {
    const d = (px - x) ** 2 + (py - y) ** 2;
    if (d <= least) { least = d; best = i; }
  });
  return best;
}

function drawFrame(svg, data) {
  const ink = data.ink, grid = data.grid;
  el("rect", { x: -EDGE, y: -EDGE, width: grid + 2 * EDGE, height: grid + 2 * EDGE, fill: ink.background, stroke: ink.muted, "stroke-width": 1.5 }, svg);
  for (const region of data.regions) {
    const d = "M" + region.polygon.map(([x, y]) => `${x * grid},${grid - y * grid}`).join("L") + "Z";
    el("path", { d, fill: region.colour }, svg);
  }
  for (let k = 0; k <= 4; k++) {
    const v = (k * grid) / 4;
    el("path", { d: `M${v},${-EDGE}V${grid + EDGE}M${-EDGE},${v}H${grid + EDGE}`, stroke: ink.grid, "stroke-width": 1 }, svg);
    el("text", { x: v, y: grid + 50, "text-anchor": "middle", "font-size": 26, fill: ink.muted }, svg, String(v / grid));
    el("text", { x: -28, y: grid - v + 9, "text-anchor": "end", "font-size": 26, fill: ink.muted }, svg, String(v / grid));
  }
  for (const [[x1, y1], [x2, y2]] of data.lines) {
    el("line", { x1: x1 * grid, y1: grid - y1 * grid, x2: x2 * grid, y2: grid - y2 * grid, stroke: ink.text, "stroke-width": 4 }, svg);
  }
  for (const [[x1, y1], [x2, y2]] of data.truth) {
    el("line", { x1: x1 * grid, y1: grid - y1 * grid, x2: x2 * grid, y2: grid - y2 * grid, stroke: ink.optimum, "stroke-width": 5, "stroke-dasharray": "18 10" }, svg);
  }
}

function drawPoints(svg, data, state) {
  state.points.forEach(([x, y, k], i) => {
    const held = i === state.held;
    const group = el("g", { class: held ? "point held" : "point", "data-index": i, transform: `translate(${x},${data.grid - y})` }, svg);
    el("circle", { r: 22, fill: "transparent" }, group);
    el("path", { d: SHAPES[data.classes[k].marker] || SHAPES.circle, transform: `scale(${held ? 3.2 : 2.3})`, fill: data.classes[k].colour, stroke: held ? data.ink.accent : data.ink.outline, "stroke-width": held ? 1.4 : 0.55 }, group);
  });
}

function draw(root, data, state) {
  const svg = root.querySelector(".octboard > svg");
  svg.replaceChildren();
  drawFrame(svg, data);
  drawPoints(svg, data, state);
  const [cx, cy] = [state.cursor[0], data.grid - state.cursor[1]];
  el("path", { class: "keyboard", d: `M${cx - 26},${cy}h52M${cx},${cy - 26}v52`, stroke: data.ink.accent, "stroke-width": 4, fill: "none" }, svg);
  root.querySelector("[data-act=undo]").disabled = !state.past.length;
  for (const button of root.querySelectorAll(".classes button")) button.setAttribute("aria-checked", Number(button.dataset.class) === state.brush);
}

function fillClasses(root, data, state, redraw) {
  const bar = root.querySelector(".classes");
  bar.replaceChildren();
  data.classes.forEach((c, k) => {
    const button = document.createElement("button");
    button.setAttribute("role", "radio");
    button.dataset.class = k;
    const icon = el("svg", { width: 16, height: 16, viewBox: "-7 -7 14 14", "aria-hidden": "true", style: "width:16px" }, button);
    el("path", { d: SHAPES[c.marker] || SHAPES.circle, fill: c.colour, stroke: data.ink.outline, "stroke-width": 0.8 }, icon);
    button.appendChild(document.createTextNode(`Class ${c.name}`));
    button.onclick = () => { state.brush = k; redraw(); };
    bar.appendChild(button);
  });
}

// Every change of the points goes through here: it can be undone and is reported once.
function makeActions(root, data, state, redraw, report) {
  const say = (text) => { root.querySelector(".live").textContent = text; };
  const act = {
    remember() { state.past.push(state.points.map((p) => [...p])); if (state.past.length > 60) state.past.shift(); },
    add(x, y) {
      if (state.points.length >= MOST) return say(`A board takes ${MOST} points.`);
      act.remember();
      state.points.push([x, y, state.brush]);
      say(`Class ${data.classes[state.brush].name} added; ${state.points.length} points.`);
      redraw(); report();
    },
    remove(index) {
      if (index < 0) return;
      act.remember();
      state.points.splice(index, 1);
      act.drop();
      say(`Removed; ${state.points.length} points.`);
      redraw(); report();
    },
    move(index, x, y) { const p = state.points[index]; state.points[index] = [x, y, p[2]]; redraw(); report(); },
    undo() { if (!state.past.length) return; state.points = state.past.pop(); act.drop(); redraw(); report(); },
    clear() { act.remember(); state.points = []; act.drop(); redraw(); report(); },
    drop() { state.held = -1; state.carrying = false; },
    say,
  };
  return act;
}

function wireMouse(svg, data, state, act, redraw, report) {
  svg.onpointerdown = (e) => {
    if (e.button !== 0) return;
    const [x, y] = place(svg, e, data.grid);
    const group = e.target.closest("g.point");
    svg.setPointerCapture(e.pointerId);
    state.cursor = [x, y];
    if (!group) return act.add(x, y);
    act.remember();
    Object.assign(state, { held: Number(group.dataset.index), moved: false, since: e.timeStamp });
    redraw();
  };
  svg.onpointermove = (e) => {
    if (state.held < 0 || !(e.buttons & 1)) return;
    state.moved = true;
    act.move(state.held, ...place(svg, e, data.grid));
  };
  svg.onpointerup = svg.onpointercancel = (e) => {
    if (state.held < 0 || state.carrying) return;
    const index = state.held;
    act.drop();
    if (!state.moved) state.past.pop();
    if (!state.moved && e.pointerType === "touch" && e.timeStamp - state.since > LONG_MS) return act.remove(index);
    redraw();
    report();
  };
  svg.oncontextmenu = (e) => {
    e.preventDefault();
    if (e.pointerType === "touch") return; // a finger that rests removes when it is lifted
    const [x, y] = place(svg, e, data.grid);
    act.remove(nearest(state.points, x, y, NEAR));
  };
}

function wireKeyboard(svg, data, state, act, redraw, report) {
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  svg.onkeydown = (e) => {
    if (e.altKey || ((e.ctrlKey || e.metaKey) && e.key !== "z")) return; // those of the browser
    const here = () => nearest(state.points, ...state.cursor, NEAR);
    if (arrows[e.key]) {
      const step = e.shiftKey ? FAR : STEP;
      state.cursor = state.cursor.map((v, i) => clamp(v + step * arrows[e.key][i], data.grid));
      if (state.carrying) act.move(state.held, ...state.cursor);
      const near = here();
      act.say(`${state.cursor[0] / data.grid}, ${state.cursor[1] / data.grid}` + (near >= 0 ? `; on a point of class ${data.classes[state.points[near][2]].name}` : ""));
      redraw();
    } else if (e.key === "Enter") act.add(...state.cursor);
    else if (e.key === " ") {
      if (state.carrying) { act.drop(); redraw(); report(); }
      else if (here() >= 0) { act.remember(); state.held = here(); state.carrying = true; redraw(); }
    } else if (e.key === "Delete" || e.key === "Backspace") { act.drop(); act.remove(here()); }
    else if (/^[1-9]$/.test(e.key) && Number(e.key) <= data.classes.length) { state.brush = Number(e.key) - 1; redraw(); }
    else if (e.key === "z" && (e.ctrlKey || e.metaKey)) act.undo();
    else return;
    e.preventDefault();
  };
}

// A guessed tree. Cuts lie in heap order, each an axis and a place; a cut stays inside its cell.
function guessed(cuts, data) {
  const cells = [[[-EDGE, data.grid + EDGE], [-EDGE, data.grid + EDGE]]], lines = [], leaves = [];
  for (let at = 0; at < 2 * cuts.length + 1; at += 1) {
    const cell = cells[at];
    if (at >= cuts.length) { leaves[at] = { cell, rows: data.classes.map(() => []) }; continue; }
    const [axis, asked] = cuts[at], place = Math.min(cell[axis][1], Math.max(cell[axis][0], asked));
    for (const side of [0, 1]) {
      const part = cell.map((range) => [...range]);
      part[axis][1 - side] = place;
      cells[2 * at + 1 + side] = part;
    }
    lines.push({ axis, place, range: cell[1 - axis] });
  }
  for (const point of data.points) {
    let at = 0;
    while (at < lines.length) at = 2 * at + 1 + (point[lines[at].axis] > lines[at].place);
    leaves[at].rows[point[2]].push(point);
  }
  const wrong = leaves.flatMap((leaf) => {
    const most = leaf.rows.reduce((best, rows, k) => (rows.length > leaf.rows[best].length ? k : best), 0);
    leaf.label = most;
    return leaf.rows.flatMap((rows, k) => (k === most ? [] : rows));
  });
  return { lines, leaves, wrong };
}

function drawGuess(root, data, state) {
  const svg = root.querySelector(".octboard > svg"), grid = data.grid, ink = data.ink;
  const { lines, leaves, wrong } = guessed(state.cuts, data);
  const regions = leaves.filter(Boolean).map(({ cell: [[x0, x1], [y0, y1]], label }) => ({ polygon: [[x0, y0], [x1, y0], [x1, y1], [x0, y1]].map(([x, y]) => [x / grid, y / grid]), colour: data.tints[label] }));
  svg.replaceChildren();
  drawFrame(svg, { ...data, regions });
  drawPoints(svg, data, { points: data.points, held: -1 });
  const to = (axis, along, across) => (axis ? `${across},${grid - along}` : `${along},${grid - across}`);
  for (const [x, y] of wrong) el("path", { class: "wrong", d: `M${x - 11},${grid - y - 11}l22,22m0,-22l-22,22`, stroke: ink.text, "stroke-width": 5 }, svg);
  // Grips lie above all lines: the ends of later cuts meet in the middle of the first.
  const grips = lines.map(({ axis, place, range }, i) => {
    const own = { class: "cut", "data-cut": i, style: `cursor:${axis ? "ns" : "ew"}-resize` }, colour = i === state.held ? ink.accent : ink.text;
    const d = `M${to(axis, place, range[0])}L${to(axis, place, range[1])}`, line = el("g", own, svg);
    el("path", { d, stroke: "transparent", "stroke-width": 2 * NEAR }, line);
    el("path", { d, stroke: colour, "stroke-width": i ? 5 : 8 }, line);
    const grip = el("g", { ...own, transform: `translate(${to(axis, place, (range[0] + range[1]) / 2)})` });
    el("circle", { r: 21, fill: ink.background, stroke: colour, "stroke-width": 4 }, grip);
    el("path", { d: "M-5,-7L-12,0L-5,7M5,-7L12,0L5,7", transform: `rotate(${90 * axis})`, stroke: ink.text, "stroke-width": 3.5 }, grip);
    return grip;
  });
  svg.append(...grips);
  root.querySelector(".errors").textContent = `Errors: ${wrong.length}`;
}

// Cuts are dragged; a click turns one, and so does Enter after its number.
function wireGuess(root, data, state, report) {
  const svg = root.querySelector(".octboard > svg");
  const redraw = () => drawGuess(root, data, state);
  const turn = (i, place) => { state.cuts[i] = [1 - state.cuts[i][0], place]; };
  svg.oncontextmenu = null;
  svg.onpointerdown = (e) => {
    const group = e.target.closest("g.cut");
    if (e.button !== 0 || !group) return;
    svg.setPointerCapture(e.pointerId);
    state.held = Number(group.dataset.cut);
    state.moved = false;
    redraw();
  };
  svg.onpointermove = (e) => {
    if (state.held < 0 || !(e.buttons & 1)) return;
    const axis = state.cuts[state.held][0], now = place(svg, e, data.grid);
    state.moved = true;
    state.cuts[state.held] = [axis, now[axis]];
    redraw();
  };
  svg.onpointerup = svg.onpointercancel = (e) => {
    if (state.held < 0) return;
    if (!state.moved) turn(state.held, place(svg, e, data.grid)[1 - state.cuts[state.held][0]]);
    state.held = -1;
    redraw();
    report();
  };
  svg.onkeydown = (e) => {
    if (e.altKey || e.ctrlKey || e.metaKey) return; // those of the browser
    const cut = guessed(state.cuts, data).lines[state.chosen], step = (e.shiftKey ? FAR : 10) * ({ ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[e.key] || 0);
    if (/^[1-9]$/.test(e.key) && Number(e.key) <= state.cuts.length) state.chosen = Number(e.key) - 1;
    else if (e.key === "Enter") turn(state.chosen, cut.place);
    else if (step) state.cuts[state.chosen] = [cut.axis, clamp(cut.place + step, data.grid)];
    else return;
    e.preventDefault();
    redraw();
    root.querySelector(".live").textContent = root.querySelector(".errors").textContent;
    clearTimeout(state.rest); // keys in a row are one step of the browser's history
    state.rest = setTimeout(report, LONG_MS);
  };
  svg.onblur = () => state.rest && report();
  redraw();
}

// Changes are numbered; what answers an older one than the last must not undo what came since.
function hear(state, data) {
  if (data.serial < state.answered) state.serial = data.serial; // a server that was started again
  state.answered = data.serial;
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement;
  root.querySelector(".octboard").classList.toggle("guessing", Boolean(data.cuts));
  if (data.cuts) {
    const state = (root.octGuess = root.octGuess || { held: -1, chosen: 0, cuts: data.cuts, serial: 0, answered: 0 });
    hear(state, data);
    // Its own cuts, or those of a link that the browser went back to.
    if (data.serial >= state.serial && state.held < 0 && !state.rest) Object.assign(state, { cuts: data.cuts, serial: data.serial });
    return wireGuess(root, data, state, () => {
      state.rest = clearTimeout(state.rest);
      setTriggerValue("change", { serial: ++state.serial, cuts: state.cuts });
    });
  }
  const fresh = { points: [], past: [], held: -1, carrying: false, moved: false, brush: 0, cursor: [500, 500], origin: null, serial: 0, answered: 0, untold: false };
  const state = (root.octBoard = root.octBoard || fresh);
  hear(state, data);
  if (state.origin !== data.origin) Object.assign(state, { points: data.points, past: (PASTS[data.origin] ||= []), held: -1, carrying: false, untold: false, origin: data.origin, serial: data.serial });
  else if (data.serial >= state.serial && state.held < 0 && !state.untold) state.points = data.points;
  const redraw = () => draw(root, data, state);
  // One change at a time: the next would interrupt the answer to this one, and would come with the
  // link of the points before it, which opens them again.
  const tell = () => {
    if (!state.untold || state.answered < state.serial) return;
    state.untold = false;
    state.serial += 1;
    setTriggerValue("change", { serial: state.serial, points: state.points, moving: state.held >= 0 });
  };
  const report = () => { state.untold = true; tell(); };
  const act = makeActions(root, data, state, redraw, report);
  const svg = root.querySelector(".octboard > svg");
  fillClasses(root, data, state, redraw);
  for (const button of root.querySelectorAll("button[data-act]")) button.onclick = act[button.dataset.act];
  wireMouse(svg, data, state, act, redraw, report);
  wireKeyboard(svg, data, state, act, redraw, report);
  redraw();
  setTimeout(tell, REST_MS); // the rest of the page is drawn after the board
}
