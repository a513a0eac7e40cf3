"use strict";
(() => {
  // Only a comfort: every page works without it.
  document.addEventListener("keydown", event => {
    const at = document.activeElement, typing = at && /^(input|textarea|select)$/i.test(at.tagName);
    if (event.key === "/" && !typing) {
      const field = document.querySelector("input[type=search]");
      if (field) { event.preventDefault(); field.focus(); field.select(); }
    }
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const link = event.key === "n" ? "next" : event.key === "p" ? "prev" : "";
    const to = link && document.querySelector(`a[rel=${link}]`);
    if (to) to.click();
  });
  for (const select of document.querySelectorAll("select[data-submit]")) select.addEventListener("change", () => select.form.requestSubmit());
})();
