// One step of a person is one step of Back: what the page then writes into its address by itself
// replaces the entry of that step, and so does what Back does not bring back.
function joinSteps(kept) {
  const push = history.pushState, place = (to) => {
    const address = new URL(to, location);
    kept.forEach((name) => address.searchParams.delete(name));
    return address.href;
  };
  let acted = false;
  for (const act of ["pointerdown", "keydown", "drop", "popstate"])
    addEventListener(act, () => { acted = act !== "popstate"; }, true);
  history.pushState = (...entry) => {
    const isStep = acted && place(entry[2]) !== place(location);
    acted &&= !isStep;
    (isStep ? push : history.replaceState).apply(history, entry);
  };
}

// A browser that writes 1.5 drops the comma of 1,5 from a field of numbers: 15 without a word.
function sayComma({ target, data }) {
  if (target.type !== "number" || data !== "," || 1.5.toLocaleString().includes(",")) return;
  target.setCustomValidity("Write decimals with a point, as 1.5, and thousands without a comma.");
  target.reportValidity();
  target.addEventListener("blur", () => target.setCustomValidity(""), { once: true });
}

export default function ({ data, setTriggerValue }) {
  if (!Object.hasOwn(history, "pushState")) {
    joinSteps(data.kept);
    addEventListener("beforeinput", sayComma, true);
  }
  document.cookie = `${data.name}=${data.token}; path=/; max-age=31536000; SameSite=Strict`;
  const app = document.querySelector(".stApp"), theme = () => getComputedStyle(app).colorScheme;
  let shown = theme();
  const watch = new MutationObserver(() => {
    if (theme() !== shown) { shown = theme(); setTriggerValue("theme", shown); }
  });
  watch.observe(app, { attributes: true, attributeFilter: ["class"] });
  return () => watch.disconnect();
}
