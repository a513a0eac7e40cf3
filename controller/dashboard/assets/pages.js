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
  // Lists of runs are loaded again when there is another one.
  const events = document.body.dataset.live;
  if (events) {
    let shown = null;
    const key = state => JSON.stringify([state.newest, state.judging.map(e => e.head)]);
    new EventSource(events).addEventListener("message", event => {
      const state = JSON.parse(event.data), at = document.activeElement;
      for (const e of state.judging) {
        for (const to of document.querySelectorAll(`[data-judging="${CSS.escape(e.head)}"]`)) {
          if (to.nextElementSibling?.localName === "progress" && e.total) Object.assign(to.nextElementSibling, {max: e.total, value: e.done});
          to.textContent = e.why ? e.why : e.total ? `judging: ${e.done} of ${e.total} cases` + (e.again ? `, ${e.again} measured again` : "") : "judging";
        }
      }
      const awaited = document.querySelector("[data-awaits]");
      if (awaited && !state.judging.some(e => e.head === awaited.dataset.awaits)) location.reload(); // it ended before this was asked
      else if (shown === null) shown = key(state);
      else if (shown !== key(state) && !(at && /^(input|select|textarea)$/i.test(at.tagName))) location.reload();
    });
  }
  // Rows of an object are added and removed; without scripts there is an empty one to fill.
  const wireRows = field => {
    const rows = field.querySelector(".pairs"), add = field.querySelector("[data-add]");
    const wire = row => {
      const drop = row.querySelector("[data-drop]");
      drop.hidden = false;
      drop.addEventListener("click", () => {
        const next = row.nextElementSibling || row.previousElementSibling;
        if (next) { row.remove(); next.querySelector("input").focus(); }
        else for (const input of row.querySelectorAll("input,textarea")) input.value = "";
        field.dispatchEvent(new Event("input", {bubbles: true}));
      });
    };
    for (const row of rows.children) wire(row);
    add.hidden = false;
    add.addEventListener("click", () => {
      const numbers = [...rows.querySelectorAll("input")].map(input => Number(input.name.split(".").pop()));
      const row = rows.lastElementChild.cloneNode(true), value = row.querySelector("textarea"), n = Math.max(...numbers) + 1;
      if (value) { const line = document.createElement("input"); line.name = value.name; line.placeholder = "value"; value.replaceWith(line); }
      for (const input of row.querySelectorAll("input")) { input.name = input.name.replace(/[0-9]+$/, n); input.value = ""; input.removeAttribute("aria-invalid"); }
      row.querySelectorAll("input")[1].setAttribute("aria-label", "value of the key");
      row.querySelector("[data-drop]").setAttribute("aria-label", "Remove the row");
      rows.append(row);
      wire(row);
      row.querySelector("input").focus();
    });
  };
  // Items of a list are added and removed; without scripts an empty one is folded.
  const wireItems = field => {
    const more = field.querySelector(":scope > .more"), summary = more.querySelector("summary");
    const wire = item => {
      const remove = item.querySelector(":scope > [data-remove]");
      remove.hidden = false;
      remove.addEventListener("click", () => {
        item.remove();
        summary.focus();
        field.dispatchEvent(new Event("input", {bubbles: true}));
      });
    };
    for (const item of field.querySelectorAll(":scope > .item")) wire(item);
    summary.addEventListener("click", event => {
      event.preventDefault();
      const item = more.querySelector(":scope > .item"), blank = document.createElement("template");
      const path = item.querySelector("[data-field]").dataset.field, n = Number(path.split(".").pop());
      const stem = path.slice(0, -String(n).length), label = item.querySelector("legend,label").firstChild.textContent.trim();
      blank.innerHTML = item.outerHTML
        .replace(new RegExp(stem.replace(/[.$]/g, "\\$&") + n + "(?![0-9])", "g"), () => stem + (n + 1))
        .replaceAll(label, label.replace(/[0-9]+$/, n + 1));
      more.before(item);
      more.append(blank.content);
      wire(item);
      start(item);
      item.querySelector("select,input,textarea").focus();
    });
  };
  const start = part => {
    for (const field of part.querySelectorAll("[data-rows]")) wireRows(field);
    for (const field of part.querySelectorAll("[data-items]")) if (!field.parentElement.closest(".more")) wireItems(field);
  };
  start(document);
  // What is typed into a form is checked where it is saved.
  for (const form of document.querySelectorAll("form[data-check]")) {
    let timer = 0, asked = 0;
    const show = (say, nth) => {
      if (nth !== asked) return; // something newer was typed
      for (const row of form.querySelectorAll("[data-field]")) {
        const text = say.fields[row.dataset.field] || "", said = [...row.querySelectorAll(".problem")].find(p => p.closest("[data-field]") === row);
        said.textContent = text;
        for (let at = text && row.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
        for (const input of row.querySelectorAll("input,textarea,select")) {
          if (input.closest("[data-field]") !== row) continue;
          if (text) input.setAttribute("aria-invalid", "true"); else input.removeAttribute("aria-invalid");
        }
      }
      const summary = document.querySelector("[data-summary]");
      if (summary) {
        let left = 0;
        for (const row of summary.querySelectorAll("[data-of]")) {
          const text = say.fields[row.dataset.of] || "";
          row.hidden = !text;
          if (text) { left++; row.querySelector("span").textContent = text.split("\n")[0]; }
        }
        summary.hidden = left === 0;
        summary.querySelector("b").textContent = left === 1 ? "1 problem" : `${left} problems`;
      }
      const box = document.querySelector("[data-errors]");
      if (!box) return;
      box.hidden = say.errors.length === 0;
      box.replaceChildren(...say.errors.map(text => { const p = document.createElement("p"); p.textContent = text; return p; }));
    };
    // The type of an object says which other fields it has.
    const retype = async part => {
      const body = new URLSearchParams(new FormData(form));
      body.set("action", "check");
      try {
        const answer = await fetch(form.getAttribute("action"), {method: "POST", body});
        const now = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(part.id);
        const at = part.contains(document.activeElement) && document.activeElement.name;
        if (!now) return;
        part.replaceWith(now);
        start(now);
        if (at) now.querySelector(`[name="${CSS.escape(at)}"]`)?.focus();
      } catch { /* saving shows them */ }
    };
    let typing = 0;
    form.addEventListener("change", event => {
      const part = event.target.matches("[data-type]") && event.target.closest("fieldset");
      if (!part || part.closest(".more")) return;
      clearTimeout(typing); // a letter chooses one, and the next one another
      typing = setTimeout(() => retype(part), 400);
    });
    form.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(async () => {
        // A button is called action, so that form.action is not the address.
        const body = new URLSearchParams(new FormData(form)), nth = ++asked;
        body.set("action", "check");
        try {
          const answer = await fetch(form.getAttribute("action"), {method: "POST", body, headers: {Accept: "application/json"}});
          if (answer.ok) show(await answer.json(), nth);
        } catch { /* saving checks it again */ }
      }, 400);
    });
  }
})();
