"use strict";
(() => {
  const form = document.getElementById("filter"), text = document.getElementById("text"), found = document.getElementById("found");
  const cases = [...document.querySelectorAll(".case")].map(e => ({e, kind: e.dataset.kind, words: e.querySelector("summary").textContent.toLowerCase() + " " + e.querySelector(".where").textContent.toLowerCase()}));
  const buttons = [...form.querySelectorAll("button")];
  let kind = "";
  const apply = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const c of cases) {
      const shown = (!kind || c.kind === kind) && words.every(w => c.words.includes(w));
      c.e.hidden = !shown;
      n += shown;
    }
    for (const b of buttons) b.setAttribute("aria-pressed", String(b.dataset.kind === kind));
    found.textContent = n === cases.length ? "" : n === 0 ? "No case fits the filter." : `${n} of ${cases.length} cases`;
    const query = new URLSearchParams();
    if (kind) query.set("kind", kind);
    if (text.value) query.set("text", text.value);
    history.replaceState(null, "", query.size ? "#" + query : location.pathname + location.search);
  };
  form.hidden = false;
  form.addEventListener("submit", event => event.preventDefault());
  text.addEventListener("input", apply);
  for (const b of buttons) b.addEventListener("click", () => { kind = kind === b.dataset.kind ? "" : b.dataset.kind; apply(); });
  document.addEventListener("keydown", event => {
    if (event.key === "/" && event.target !== text) { event.preventDefault(); text.focus(); }
    if (event.key === "Escape" && event.target === text) { text.value = ""; apply(); }
  });
  const show = () => {
    const one = /^#case-\d+$/.test(location.hash) && document.getElementById(location.hash.slice(1));
    if (!one) return false;
    if (one.hidden) { kind = text.value = ""; apply(); }
    one.open = true;
    one.scrollIntoView();
    return true;
  };
  addEventListener("hashchange", show);
  if (!show() && location.hash.length > 1) {
    const query = new URLSearchParams(location.hash.slice(1));
    kind = buttons.some(b => b.dataset.kind === query.get("kind")) ? query.get("kind") : "";
    text.value = query.get("text") || "";
    apply();
  }
})();
