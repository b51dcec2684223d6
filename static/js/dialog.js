// Dialogs that are filled from the server: open, ask before typed text is lost, keep a draft, give focus back.

const body = document.body;
const IGNORED = new Set(["csrfmiddlewaretoken", "idempotency_key", "revision", "quick"]);
const DRAFT = "draft:";

let opener = null;
let clean = "";

const sheet = () => document.querySelector("dialog[data-sheet]");
const formOf = (dialog) => dialog?.querySelector("form");
const isModal = (dialog) => dialog?.matches(":modal") ?? false;

function entries(form) {
  return [...new FormData(form)].filter(([name, value]) => !IGNORED.has(name) && typeof value === "string");
}

const snapshot = (form) => JSON.stringify(entries(form));
const dirty = (dialog) => Boolean(formOf(dialog)?.querySelector("[data-ask]")) && snapshot(formOf(dialog)) !== clean;
const draftKey = (dialog) => (dialog?.dataset.draft ? DRAFT + dialog.dataset.draft : "");

function openerOf(element) {
  const menu = element?.closest?.("[popover]");
  return (menu && document.querySelector(`[popovertarget="${menu.id}"]`)) ?? element ?? null;
}

function focusFirst(dialog) {
  const form = formOf(dialog);
  const wrong = form.querySelector("[aria-invalid=true]");
  const wanted = form.dataset.focus && form.querySelector(`#${CSS.escape(form.dataset.focus)}, [name="${CSS.escape(form.dataset.focus)}"]`);
  const target = wrong ?? wanted ?? form.querySelector("input:not([type=hidden]), select, textarea, button");
  const details = target?.closest("details");
  if (details) details.open = true;
  (target?.type === "radio" ? form.querySelector(`[name="${target.name}"]:checked`) ?? target : target)?.focus();
}

// Drafts live in this tab until they are saved or thrown away.
function keepDraft(dialog) {
  const key = draftKey(dialog);
  if (!key || !isModal(dialog)) return;
  const form = formOf(dialog);
  const revision = form.elements.revision?.value ?? "";
  sessionStorage.setItem(key, JSON.stringify({ revision, entries: entries(form) }));
}

function forgetDraft(dialog) {
  if (draftKey(dialog)) sessionStorage.removeItem(draftKey(dialog));
}

function restoreDraft(dialog) {
  const kept = draftKey(dialog) && sessionStorage.getItem(draftKey(dialog));
  const form = formOf(dialog);
  if (!kept || !form.querySelector("[data-restored]")) return;
  const { revision, entries: typed } = JSON.parse(kept);
  if (JSON.stringify(typed) === clean) return;
  fill(form, typed);
  if (form.elements.revision && revision) form.elements.revision.value = revision;
  form.querySelector("[data-restored]").hidden = false;
  form.querySelector(".when")?.dispatchEvent(new Event("change", { bubbles: true }));
}

function fill(form, typed) {
  const values = new Map();
  for (const [name, value] of typed) values.set(name, [...(values.get(name) ?? []), value]);
  for (const field of form.elements) {
    if (!field.name || IGNORED.has(field.name) || field.type === "submit" || field.tagName === "BUTTON") continue;
    const given = values.get(field.name) ?? [];
    if (field.type === "checkbox" || field.type === "radio") field.checked = given.includes(field.value);
    else if (given.length) field.value = given[0];
    if (field.tagName === "SELECT") field.dispatchEvent(new Event("change"));
  }
}

// Opening and closing
function show(dialog) {
  if (!dialog.open) dialog.showModal();
  clean = formOf(dialog) ? snapshot(formOf(dialog)) : "";
  restoreDraft(dialog);
  scripted(dialog);
  focusFirst(dialog);
}

function scripted(root) {
  for (const element of root.querySelectorAll("[data-scripted]")) element.hidden = false;
}

function finish(dialog) {
  const back = dialog.dataset.back;
  if (!isModal(dialog)) {
    location.assign(back || "/");
    return;
  }
  dialog.close();
  setTimeout(() => dialog.remove()); // the answer that closed it is still being swapped in
  const target = opener?.isConnected ? opener : document.getElementById(opener?.id ?? "");
  (target ?? document.getElementById("new") ?? document.querySelector("main a"))?.focus();
  opener = null;
}

function ask(dialog, on) {
  const form = formOf(dialog);
  form.querySelector("[data-foot]").hidden = on;
  form.querySelector("[data-ask]").hidden = !on;
  (on ? form.querySelector("[data-stay]") : form.querySelector("#save"))?.focus();
}

function leave(dialog) {
  if (dirty(dialog)) ask(dialog, true);
  else {
    forgetDraft(dialog);
    finish(dialog);
  }
}

body.addEventListener("htmx:beforeRequest", (event) => {
  const { elt, target } = event.detail;
  if (target?.id === "sheet" && !elt.closest("dialog")) opener = openerOf(elt);
  if (elt.matches("dialog form")) {
    for (const name of ["signed-out", "unsent"]) elt.querySelector(`[data-${name}]`)?.setAttribute("hidden", "");
    elt.dataset.more = elt.querySelector("details.more")?.open ? "1" : "";
  }
});

body.addEventListener("htmx:afterSettle", (event) => {
  const dialog = sheet();
  if (!dialog) return;
  if (event.detail.target.id === "sheet") show(dialog);
});

body.addEventListener("htmx:afterSwap", (event) => {
  const dialog = sheet();
  if (!dialog?.open || !event.detail.requestConfig.elt.matches?.("form")) return;
  if (event.detail.target.id === "sheet" || !dialog.contains(formOf(dialog))) return;
  const details = formOf(dialog).querySelector("details.more");
  if (details && event.detail.requestConfig.elt.dataset.more) details.open = true;
  scripted(dialog);
  focusFirst(dialog);
});

// A lost session or connection takes nothing away: a sentence in place, the text stays.
function notSent(form, name) {
  if (!form.matches?.("dialog form")) return;
  const notice = form.querySelector(`[data-${name}]`);
  if (!notice) return;
  notice.hidden = false;
  notice.scrollIntoView({ block: "nearest" });
  keepDraft(sheet());
}
body.addEventListener("htmx:responseError", (event) => {
  notSent(event.detail.elt, event.detail.xhr.status === 401 ? "signed-out" : "unsent");
});
body.addEventListener("htmx:afterRequest", async (event) => {
  const { elt, xhr } = event.detail;
  if (xhr.status !== 403 || !elt.matches?.("dialog form") || !xhr.responseText.includes("csrf_failed")) return;
  // Asking for the form again brings a fresh token, or tells that nobody is signed in any more.
  const answer = await fetch(elt.action, { headers: { "HX-Request": "true" } });
  notSent(elt, answer.status === 401 ? "signed-out" : "unsent");
});
body.addEventListener("htmx:sendError", (event) => notSent(event.detail.elt, "unsent"));
body.addEventListener("htmx:timeout", (event) => notSent(event.detail.elt, "unsent"));

body.addEventListener("saved", () => {
  const dialog = sheet();
  if (!dialog) return;
  forgetDraft(dialog);
  finish(dialog);
});

body.addEventListener("click", (event) => {
  const dialog = event.target.closest("dialog[data-sheet]");
  if (!dialog) return;
  const form = formOf(dialog);
  if (event.target.closest("[data-discard]")) {
    event.preventDefault();
    forgetDraft(dialog);
    finish(dialog);
  } else if (event.target.closest("[data-close]")) {
    event.preventDefault();
    leave(dialog);
  } else if (event.target.closest("[data-throw]")) {
    forgetDraft(dialog);
    finish(dialog);
  } else if (event.target.closest("[data-stay]")) ask(dialog, false);
  else if (event.target.closest("[data-forget]")) {
    forgetDraft(dialog);
    form.reset();
    for (const select of form.querySelectorAll("select")) select.dispatchEvent(new Event("change"));
    form.querySelector(".when")?.dispatchEvent(new Event("change", { bubbles: true }));
    form.querySelector("[data-restored]").hidden = true;
    focusFirst(dialog);
  }
});

body.addEventListener("keydown", (event) => {
  const dialog = event.target.closest?.("dialog[data-sheet]");
  if (!dialog) return;
  if (event.key === "Escape" && isModal(dialog) && !dialog.querySelector(":popover-open")) {
    event.preventDefault();
    const asking = dialog.querySelector("[data-ask]:not([hidden])");
    if (asking) ask(dialog, false);
    else leave(dialog);
  } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    formOf(dialog).requestSubmit();
  }
});

document.addEventListener("cancel", (event) => {
  if (event.target.matches?.("dialog[data-sheet]")) {
    event.preventDefault();
    leave(event.target);
  }
}, true);

// The prompt: its length as people count, and words that are filled in at each run.
const segmenter = new Intl.Segmenter();

function count(field) {
  const place = document.getElementById(field.dataset.counts);
  if (place) place.textContent = [...segmenter.segment(field.value)].length.toLocaleString("en");
}

body.addEventListener("input", (event) => {
  if (event.target.dataset?.counts) count(event.target);
  const dialog = event.target.closest?.("dialog[data-sheet]");
  if (dialog) keepDraft(dialog);
});
body.addEventListener("change", (event) => {
  const dialog = event.target.closest?.("dialog[data-sheet]");
  if (dialog && dirty(dialog)) keepDraft(dialog);
});
body.addEventListener("click", (event) => {
  const word = event.target.closest("[data-insert]");
  if (!word) return;
  const field = word.closest("form").querySelector("textarea");
  word.closest("[popover]").hidePopover();
  field.focus();
  field.setRangeText(word.dataset.insert, field.selectionStart, field.selectionEnd, "end");
  field.dispatchEvent(new Event("input", { bubbles: true }));
});

const standing = sheet();
if (standing?.open && formOf(standing)) {
  clean = snapshot(formOf(standing));
  scripted(standing);
  focusFirst(standing);
}
