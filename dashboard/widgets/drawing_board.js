// A board for points of a few classes. Coordinates are thousandths; y grows upwards.
const NEAR = 28, STEP = 20, FAR = 100, MOST = 400, REST_MS = 60;
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
  el("rect", { x: -20, y: -20, width: grid + 40, height: grid + 40, fill: ink.background, stroke: ink.muted, "stroke-width": 1.5 }, svg);
  for (const region of data.regions) {
    const d = "M" + region.polygon.map(([x, y]) => `${x * grid},${grid - y * grid}`).join("L") + "Z";
    el("path", { d, fill: region.colour }, svg);
  }
  for (let k = 0; k <= 4; k++) {
    const v = (k * grid) / 4;
    el("path", { d: `M${v},-20V${grid + 20}M-20,${v}H${grid + 20}`, stroke: ink.grid, "stroke-width": 1 }, svg);
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
    state.held = Number(group.dataset.index);
    state.moved = false;
    redraw();
  };
  svg.onpointermove = (e) => {
    if (state.held < 0 || !(e.buttons & 1)) return;
    state.moved = true;
    act.move(state.held, ...place(svg, e, data.grid));
  };
  svg.onpointerup = svg.onpointercancel = () => {
    if (state.held < 0 || state.carrying) return;
    act.drop();
    redraw();
    if (!state.moved) state.past.pop();
    report();
  };
  svg.oncontextmenu = (e) => {
    e.preventDefault();
    const [x, y] = place(svg, e, data.grid);
    act.remove(nearest(state.points, x, y, NEAR));
  };
}

function wireKeyboard(svg, data, state, act, redraw, report) {
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  svg.onkeydown = (e) => {
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

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement;
  const fresh = { points: [], past: [], held: -1, carrying: false, moved: false, brush: 0, cursor: [500, 500], origin: null, serial: 0, answered: 0, untold: false };
  const state = (root.octBoard = root.octBoard || fresh);
  if (data.serial < state.answered) state.serial = data.serial; // a server that was started again
  state.answered = data.serial;
  // An echo of an older change must not undo what was drawn since.
  if (state.origin !== data.origin) Object.assign(state, { points: data.points, past: [], held: -1, carrying: false, untold: false, origin: data.origin, serial: data.serial });
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
