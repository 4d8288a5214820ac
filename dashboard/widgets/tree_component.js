// Interactive decision tree as inline SVG. All texts of users go through textContent only.
const pen = document.createElement("canvas").getContext("2d");
const LINE = 17, PAD = 10, BAR = 8, HISTOGRAM = 26, ENDING = 4;

function textWidth(text, bold) {
  pen.font = (bold ? "600 " : "") + "13px 'Source Sans', 'Source Sans Pro', sans-serif";
  return pen.measureText(text).width;
}

// Cut a text before its last letters, which tell alike names apart, and of a question not its value.
function shorten(text, width, bold) {
  if (textWidth(text, bold) <= width) return text;
  const value = (text.match(/ [≤≥<>=] \S+$/) || [""])[0];
  const letters = Array.from(text.slice(0, text.length - value.length));
  const end = letters.splice(-ENDING).join("").trimStart() + value;
  const cut = () => letters.join("").replace(/[… ]+$/, "") + "…" + end;
  while (letters.length > 1 && textWidth(cut(), bold) > width) letters.pop();
  return cut();
}

// Break words into at most `most` lines of a width; the last one is cut.
function wrap(text, width, most, bold) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1];
    const longer = last ? last + " " + word : word;
    if (!last || textWidth(longer, bold) <= width || lines.length === most) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.map((line) => shorten(line, width, bold));
}

// The child where the answer is yes stands first, whichever side it is routed to.
function children(node) {
  const [left, right] = [2 * node.id, 2 * node.id + 1];
  return node.swapped ? [right, left] : [left, right];
}

function visible(data, state) {
  const byId = new Map(data.nodes.map((n) => [n.id, n]));
  const list = [];
  (function walk(id, depth) {
    const node = byId.get(id);
    if (!node) return;
    const open = node.kind === "branch" && !state.folded.has(id);
    list.push({ node, depth, open });
    if (open) for (const child of children(node)) walk(child, depth + 1);
  })(1, 0);
  return list;
}

// Place leaves side by side and parents above the middle of their children.
function place(data, state, room) {
  const items = visible(data, state);
  const leaves = items.filter((i) => !i.open).length;
  // Side by side, seven and more would have letters of half their size.
  const isWide = leaves > 8 || (leaves > 6 && !data.big && !data.beside && leaves * 115 > room);
  const sideways = state.sideways === null ? isWide : state.sideways;
  // On a projector boxes are narrow and say less, so that they can be large.
  for (const item of items) {
    const { words, detail, kind } = item.node;
    item.details = !data.big ? [detail] : kind === "leaf" ? detail.split(" · ") : detail.split(" · ").slice(-1);
    item.shift = kind === "leaf" ? 17 : 0; // the mark before its name
    item.widest = Math.max(item.shift + textWidth(words, true) * (data.big && words.length > 12 ? 0.6 : 1), ...item.details.map((line) => textWidth(line, true)));
  }
  const widest = Math.max(...(data.beside ? data.beside.texts.map((text) => textWidth(text, true)) : items.map((i) => i.widest)));
  const width = Math.min(sideways ? 200 : 190, Math.max(data.big ? 84 : 108, widest + 2 * PAD));
  const most = isWide ? (sideways ? 1 : 2) : 3;
  let tallest = 0;
  for (const text of data.beside ? data.beside.texts : [])
    tallest = Math.max(tallest, PAD + LINE * (wrap(text, width - 2 * PAD, most, true).length + 1) + HISTOGRAM + PAD - 2);
  for (const item of items) {
    item.lines = wrap(item.node.words, width - 2 * PAD - item.shift, most, true);
    item.bar = item.node.histogram && !isWide && !data.big ? HISTOGRAM : BAR;
    item.height = (isWide ? 4 : PAD) + LINE * (item.lines.length + item.details.length) + item.bar + (isWide ? 2 : PAD - 2);
    tallest = Math.max(tallest, item.height);
  }
  const across = sideways ? tallest + (isWide ? 6 : 12) : width + (data.big ? 6 : 18);
  const along = sideways ? width + (isWide ? 46 : 72) : tallest + (data.big ? 34 : 62);
  let slot = 0;
  const at = new Map(items.map((i) => [i.node.id, i]));
  (function assign(item) {
    if (!item.open) item.across = slot++ * across;
    else {
      const [left, right] = children(item.node).map((id) => at.get(id));
      assign(left); assign(right);
      item.across = (left.across + right.across) / 2;
    }
    item.along = item.depth * along;
  })(items[0]);
  for (const item of items) {
    item.x = sideways ? item.along : item.across;
    item.y = sideways ? item.across : item.along;
  }
  const depth = Math.max(...items.map((i) => i.depth));
  const size = sideways
    ? [depth * along + width, Math.max(0, slot - 1) * across + tallest]
    : [Math.max(0, slot - 1) * across + width, depth * along + tallest];
  return { items, at, width, tallest, sideways, size, top: isWide ? 4 : PAD };
}

function drawEdge(layer, parent, child, plan, data, isRight, onPath) {
  const half = plan.width / 2;
  const [x1, y1, x2, y2] = plan.sideways
    ? [parent.x + plan.width, parent.y + parent.height / 2, child.x, child.y + child.height / 2]
    : [parent.x + half, parent.y + parent.height, child.x + half, child.y];
  const d = plan.sideways
    ? `M${x1},${y1}C${(x1 + x2) / 2},${y1} ${(x1 + x2) / 2},${y2} ${x2},${y2}`
    : `M${x1},${y1}C${x1},${(y1 + y2) / 2} ${x2},${(y1 + y2) / 2} ${x2},${y2}`;
  const thickness = 1.2 + 7 * (child.node.n / Math.max(1, data.total));
  el("path", { d, fill: "none", stroke: onPath ? data.ink.accent : data.ink.muted, "stroke-opacity": onPath ? 0.95 : 0.5, "stroke-width": thickness, "stroke-linecap": "round" }, layer);
  const [lx, ly] = plan.sideways
    ? [x2 - 8, y2 + (isRight ? 16 : -7)]
    : [(x1 + 3 * x2) / 4 + (isRight ? 9 : -9), (y1 + 3 * y2) / 4 - 4];
  el("text", { x: lx, y: ly, "text-anchor": plan.sideways ? "end" : isRight ? "start" : "end", "font-size": 12, fill: data.ink.muted, stroke: data.ink.background, "stroke-width": 3, "paint-order": "stroke" }, layer, isRight ? "no" : "yes");
}

function drawNode(layer, item, plan, data, state, act, onPath) {
  const { node, lines } = item;
  const chosen = node.id === data.selected;
  const group = el("g", { class: "node", transform: `translate(${item.x},${item.y})`, tabindex: node.id === state.focus ? 0 : -1, role: "treeitem", "aria-level": item.depth + 1, "aria-selected": chosen, "aria-label": node.label, "data-node": node.id }, layer);
  if (node.kind === "branch") group.setAttribute("aria-expanded", item.open);
  el("title", {}, group, node.label);
  const colour = node.kind === "leaf" ? data.classes[node.leaf].colour : data.ink.muted;
  el("rect", { class: "body", width: plan.width, height: item.height, rx: node.kind === "leaf" ? 12 : 5, fill: data.ink.surface, stroke: chosen || node.mark || onPath ? data.ink.accent : colour, "stroke-width": chosen ? 3.5 : node.mark || onPath ? 2.6 : node.kind === "leaf" ? 2.2 : 1.3, "stroke-dasharray": node.mark ? "8 4" : "none" }, group);
  const { shift } = item;
  if (shift) el("path", { d: SHAPES[data.classes[node.leaf].marker] || SHAPES.circle, transform: `translate(${PAD + 5},${plan.top + 8})`, fill: colour, stroke: data.ink.text, "stroke-width": 0.8 }, group);
  lines.forEach((line, i) => el("text", { x: PAD + shift, y: plan.top + 12 + i * LINE, "font-size": 13, "font-weight": 600, fill: data.ink.text }, group, line));
  item.details.forEach((line, i) => el("text", { x: PAD, y: plan.top + 12 + (lines.length + i) * LINE, "font-size": 12, fill: data.ink.muted }, group, shorten(line, plan.width - 2 * PAD)));
  const low = item.height - (plan.top === PAD ? PAD - 2 : 3);
  if (item.bar === HISTOGRAM) drawHistogram(group, node, plan.width - 2 * PAD, low - 3, data);
  else drawClassBar(group, node, plan.width - 2 * PAD, low - BAR, data);
  group.addEventListener("click", (e) => { e.stopPropagation(); act.select(node.id); });
  group.addEventListener("dblclick", (e) => { e.stopPropagation(); act.fold(node.id); });
  if (node.kind === "branch") drawFold(group, item, plan, data, act);
  return group;
}

function drawClassBar(group, node, width, y, data) {
  let x = PAD;
  const total = node.counts.reduce((a, b) => a + b, 0);
  el("rect", { x, y, width, height: BAR, fill: "none", stroke: data.ink.muted, "stroke-width": 0.6 }, group);
  node.counts.forEach((count, k) => {
    if (!count) return;
    const part = (width * count) / total;
    el("rect", { x, y, width: part, height: BAR, fill: data.classes[k].colour, stroke: data.ink.surface, "stroke-width": 0.8 }, group);
    x += part;
  });
}

// Rows along what a split tests, stacked by class; its threshold as a line, a margin as a band.
function drawHistogram(group, node, width, foot, data) {
  const { counts, cuts, band } = node.histogram;
  const most = Math.max(1, ...counts.map((bin) => bin.reduce((a, b) => a + b, 0)));
  const step = width / counts.length, unit = (HISTOGRAM - 5) / most;
  const layer = el("g", { class: "histogram", "aria-hidden": "true" }, group);
  if (band) el("rect", { x: PAD + band[0] * width, y: foot - HISTOGRAM + 2, width: Math.max(0.5, (band[1] - band[0]) * width), height: HISTOGRAM - 2, fill: data.ink.muted, "fill-opacity": 0.25 }, layer);
  counts.forEach((bin, i) => {
    let y = foot;
    bin.forEach((count, k) => {
      if (!count) return;
      const height = count * unit;
      y -= height;
      el("rect", { x: PAD + i * step + 0.4, y, width: step - 0.8, height, fill: data.classes[k].colour }, layer);
    });
  });
  el("line", { x1: PAD, x2: PAD + width, y1: foot, y2: foot, stroke: data.ink.muted, "stroke-width": 0.8 }, layer);
  for (const cut of cuts) el("line", { x1: PAD + cut * width, x2: PAD + cut * width, y1: foot - HISTOGRAM + 2, y2: foot + 3, stroke: data.ink.text, "stroke-width": 1.6 }, layer);
}

function drawFold(group, item, plan, data, act) {
  // A finger that means the box is taken for the circle up to a finger's breadth away.
  const drop = matchMedia("(pointer: coarse)").matches ? 24 : 0;
  const [cx, cy] = plan.sideways ? [plan.width + drop, item.height / 2] : [plan.width / 2, item.height + drop];
  const fold = el("g", { class: "fold", "aria-hidden": "true" }, group);
  el("circle", { cx, cy, r: 8, fill: data.ink.background, stroke: data.ink.muted }, fold);
  el("path", { d: item.open ? `M${cx - 4},${cy}h8` : `M${cx - 4},${cy}h8M${cx},${cy - 4}v8`, stroke: data.ink.text, "stroke-width": 1.6 }, fold);
  fold.addEventListener("click", (e) => { e.stopPropagation(); act.fold(item.node.id); });
}

function draw(root, data, state, act) {
  const svg = root.querySelector(".stage svg");
  state.room = svg.clientWidth;
  const room = state.room || 700;
  const plan = place(data, state, room);
  const hadFocus = root.activeElement && root.activeElement.closest && root.activeElement.closest("g.node");
  svg.replaceChildren();
  const margin = 14;
  const [w, h] = [plan.size[0] + 2 * margin, plan.size[1] + 2 * margin];
  const widest = Math.max(w, data.beside && !plan.sideways ? data.beside.leaves * (plan.width + 18) - 18 + 2 * margin : 0);
  // On a projector a tree fills its half of the page, next to a plane of that height.
  const scale = data.big ? Math.min(room / widest, (0.5 * innerHeight) / h, 3) : Math.min(1.1, room / widest);
  const tallest = data.beside && !plan.sideways ? data.beside.levels * (plan.tallest + 62) - 62 + 2 * margin : h;
  const height = Math.max(150, Math.min(Math.max(h, tallest) * scale, plan.sideways ? 1500 : 720));
  svg.setAttribute("height", height);
  state.view = state.view || { k: 1, x: 0, y: 0 };
  const fit = Math.min(scale, height / h);
  const k = fit * state.view.k;
  const dx = (room - w * k) / 2 + state.view.x, dy = state.view.y + (state.view.k === 1 ? Math.max(0, (height - h * k) / 2) : 0);
  const scene = el("g", { transform: `translate(${dx},${dy}) scale(${k}) translate(${margin},${margin})`, "font-family": "'Source Sans','Source Sans Pro',sans-serif" }, svg);
  const onPath = new Set();
  if (data.path && data.path.length) data.path.forEach((m) => onPath.add(m));
  else for (let m = data.selected; m >= 1; m >>= 1) onPath.add(m);
  for (const item of plan.items) {
    if (!item.open) continue;
    children(item.node).forEach((id, isRight) => drawEdge(scene, item, plan.at.get(id), plan, data, isRight, onPath.has(id)));
  }
  if (!plan.at.has(state.focus)) state.focus = plan.at.has(data.selected) ? data.selected : 1;
  for (const item of plan.items) drawNode(scene, item, plan, data, state, act, onPath.has(item.node.id) && data.selected > 1);
  state.plan = plan;
  state.full = { w, h, scene };
  if (hadFocus) root.querySelector(`[data-node="${state.focus}"]`)?.focus({ preventScroll: true });
}

// Arrow keys move along the drawn tree whichever way it is turned.
function neighbour(plan, id, key) {
  const along = plan.sideways ? { up: "ArrowLeft", down: "ArrowRight", prev: "ArrowUp", next: "ArrowDown" } : { up: "ArrowUp", down: "ArrowDown", prev: "ArrowLeft", next: "ArrowRight" };
  if (key === along.up) return plan.at.has(id >> 1) ? id >> 1 : id;
  const first = children(plan.at.get(id).node)[0];
  if (key === along.down) return plan.at.has(first) ? first : id;
  const level = plan.items.filter((i) => i.depth === plan.at.get(id).depth).sort((a, b) => a.across - b.across).map((i) => i.node.id);
  const step = key === along.next ? 1 : key === along.prev ? -1 : 0;
  return step ? level[level.indexOf(id) + step] ?? id : null;
}

function exportSvg(root, state, data) {
  const copy = root.querySelector(".stage svg").cloneNode(true);
  const scene = copy.querySelector("g");
  scene.setAttribute("transform", "translate(14,14)");
  copy.setAttribute("xmlns", NS);
  copy.setAttribute("viewBox", `0 0 ${state.full.w} ${state.full.h}`);
  copy.setAttribute("width", state.full.w);
  copy.setAttribute("height", state.full.h);
  copy.insertBefore(el("rect", { width: "100%", height: "100%", fill: data.ink.background }), scene);
  return new XMLSerializer().serializeToString(copy);
}

function fillBar(root, data, state, act) {
  const badge = root.querySelector(".badge");
  const sign = data.refuted ? "✗ " : data.proven ? "✓ " : "○ ";
  badge.textContent = data.badge && sign + data.badge;
  badge.style.color = data.refuted ? data.ink.refuted : data.proven ? data.ink.optimum : data.ink.muted;
  const legend = root.querySelector(".legend");
  legend.replaceChildren();
  const given = new Set(data.nodes.filter((node) => node.kind === "leaf").map((node) => node.leaf));
  const isMany = data.classes.length > 12;
  data.classes.filter((_, k) => !isMany || given.has(k)).forEach((c) => {
    const item = document.createElement("span");
    const icon = el("svg", { width: 14, height: 14, viewBox: "-7 -7 14 14", "aria-hidden": "true", style: "width:14px" }, item);
    el("path", { d: SHAPES[c.marker] || SHAPES.circle, fill: c.colour, stroke: data.ink.text, "stroke-width": 0.8 }, icon);
    item.appendChild(document.createTextNode(c.name));
    legend.appendChild(item);
  });
  root.querySelector(".hint span").textContent = data.hint || "";
  const actions = { in: () => act.zoom(1.25), out: () => act.zoom(0.8), fit: act.fit, turn: act.turn, svg: () => save(new Blob([exportSvg(root, state, data)], { type: "image/svg+xml" }), "tree.svg"), png: () => savePng(exportSvg(root, state, data), 2 * state.full.w, 2 * state.full.h, "tree.png") };
  for (const button of root.querySelectorAll("button")) button.onclick = actions[button.dataset.act];
}

function wirePan(svg, state, redraw) {
  let from = null;
  svg.onpointerdown = (e) => { if (!e.target.closest("g.node")) from = [e.clientX, e.clientY, state.view.x, state.view.y]; };
  svg.onpointermove = (e) => {
    if (!from) return;
    svg.classList.add("dragging");
    state.view = { ...state.view, x: from[2] + e.clientX - from[0], y: from[3] + e.clientY - from[1] };
    redraw();
  };
  svg.onpointerup = svg.onpointerleave = () => { from = null; svg.classList.remove("dragging"); };
  svg.onwheel = (e) => {
    if (!e.ctrlKey && !e.metaKey) return;
    e.preventDefault();
    state.view = { ...state.view, k: Math.min(8, Math.max(0.3, state.view.k * (e.deltaY < 0 ? 1.12 : 0.89))) };
    redraw();
  };
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement;
  const state = (root.octTree = root.octTree || { folded: new Set(), sideways: null, view: null, focus: 1, token: null });
  if (state.token !== data.token) Object.assign(state, { folded: new Set(), view: null, focus: data.selected, token: data.token });
  const svg = root.querySelector(".stage svg");
  const redraw = () => draw(root, data, state, act);
  const act = {
    select(id) { state.focus = id; if (id !== data.selected) { data.selected = id; setTriggerValue("node", id); } redraw(); },
    fold(id) { const leaf = data.nodes.find((n) => n.id === id).kind === "leaf"; if (leaf) return; state.folded.has(id) ? state.folded.delete(id) : state.folded.add(id); redraw(); },
    zoom(factor) { state.view = { ...state.view, k: Math.min(8, Math.max(0.3, state.view.k * factor)) }; redraw(); },
    fit() { state.view = null; redraw(); },
    turn() { state.sideways = !state.plan.sideways; state.view = null; redraw(); },
  };
  svg.onkeydown = (e) => {
    if (e.altKey || e.ctrlKey || e.metaKey) return; // those of the browser: back, its own zoom
    if (e.key === "Enter") act.select(state.focus);
    else if (e.key === " ") act.fold(state.focus);
    else if (e.key === "+" || e.key === "=") act.zoom(1.25);
    else if (e.key === "-") act.zoom(0.8);
    else if (e.key === "0") act.fit();
    else {
      const to = neighbour(state.plan, state.focus, e.key);
      if (to === null) return;
      state.focus = to;
      redraw();
      root.querySelector(`[data-node="${to}"]`)?.focus();
    }
    e.preventDefault();
  };
  root.querySelector(".octtree").classList.toggle("big", Boolean(data.big));
  wirePan(svg, state, redraw);
  fillBar(root, data, state, act);
  redraw();
  const observer = new ResizeObserver(() => { if (svg.clientWidth !== state.room) redraw(); });
  observer.observe(svg);
  return () => observer.disconnect();
}
