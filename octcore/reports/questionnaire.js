(() => {
  const form = document.getElementById("questionnaire");
  const way = [];
  const show = (node) => {
    form.querySelectorAll("[data-node]").forEach((part) => {
      part.hidden = part.dataset.node !== node;
    });
    form.querySelector("[data-back]").disabled = way.length === 0;
    const shown = form.querySelector(`[data-node="${node}"]`);
    shown.querySelectorAll("[data-name]").forEach((input) => {
      const known = given.get(input.dataset.name);
      if (known !== undefined && input.value === "") input.value = known;
    });
    form.dataset.at = node;
  };
  const given = new Map();
  const step = (node) => { way.push(form.dataset.at); show(node); };
  const score = (part) => {
    let sum = 0, whole = true;
    part.querySelectorAll("[data-weight]").forEach((input) => {
      const value = input.value === "" ? NaN : Number(input.value);
      whole = whole && Number.isFinite(value);
      sum += Number(input.dataset.weight) * value;
      if (input.dataset.name) given.set(input.dataset.name, input.value);
    });
    part.querySelector("[data-missing]").hidden = whole;
    return whole ? sum : null;
  };
  form.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.next) step(button.dataset.next);
    if (button.hasAttribute("data-back") && way.length) show(way.pop());
    if (button.hasAttribute("data-again")) { way.length = 0; show("1"); }
    if (button.dataset.threshold) {
      const sum = score(button.closest("[data-node]"));
      const goesLeft = sum !== null && sum <= Number(button.dataset.threshold);
      if (sum !== null) step(goesLeft ? button.dataset.left : button.dataset.right);
    }
  });
  form.hidden = false;
  show("1");
})();
