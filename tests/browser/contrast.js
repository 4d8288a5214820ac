// Texts below the contrast that WCAG AA asks for, as "ratio: words"; what is disabled is exempt.
() => {
  const parse = (text) => {
    const found = text.match(/[\d.]+/g).map(Number);
    return text.startsWith("color(srgb") ? [...found.slice(0, 3).map((v) => 255 * v), found[3] ?? 1]
      : [found[0], found[1], found[2], found[3] ?? 1];
  };
  const over = (top, below) => top.slice(0, 3).map((v, i) => v * top[3] + below[i] * (1 - top[3]));
  const light = (rgb) => {
    const part = rgb.map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
  };
  const parent = (node) => node.parentElement || (node.getRootNode() instanceof ShadowRoot ? node.getRootNode().host : null);
  const ground = (node) => {
    const layers = [];
    for (let e = node; e; e = parent(e)) layers.unshift(parse(getComputedStyle(e).backgroundColor));
    return layers.reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const weak = [];
  const judge = (element, words) => {
    const style = getComputedStyle(element), box = element.getBoundingClientRect();
    if (!box.width || !box.height || style.visibility === "hidden") return;
    if (element.closest("svg, canvas, [disabled], [aria-disabled=true], [data-testid=stIconMaterial]")) return;
    // Stands above the thumb, not on it.
    if (element.closest("[data-testid=stSliderThumbValue]")) return;
    let opacity = 1;
    for (let e = element; e; e = parent(e)) opacity *= Number(getComputedStyle(e).opacity);
    if (opacity < 0.05) return;
    const below = ground(element), ink = parse(style.color);
    if (ink[3] === 0) return;
    const shown = over([...ink.slice(0, 3), ink[3] * opacity], below);
    const [a, b] = [light(shown), light(below)].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize), isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const ratio = (a + 0.05) / (b + 0.05);
    // Marks without a letter or digit are graphics, for which 3 : 1 is asked.
    const isGraphic = !/[\p{L}\p{N}]/u.test(words);
    if (ratio < (isLarge || isGraphic ? 3 : 4.5) - 0.01) weak.push(`${ratio.toFixed(2)}: ${words.slice(0, 60)}`);
  };
  const walk = (root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.shadowRoot) walk(element.shadowRoot);
      if (["SCRIPT", "STYLE", "TITLE"].includes(element.tagName)) continue;
      const words = [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data.trim()).join("");
      if (words) judge(element, words);
    }
  };
  walk(document.body);
  return [...new Set(weak)];
}
