// Regions that look again by themselves. `data-live` marks one: `data-every` seconds, `data-etag` what it shows now.
// The server answers 304, or the region with `data-keep` in place of every item that has not changed.

const looks = new Map();
const body = document.body;

if (window.Idiomorph) {
  Idiomorph.defaults.ignoreActiveValue = true;
  Idiomorph.defaults.callbacks.beforeNodeMorphed = (before, after) => !after.hasAttribute?.("data-keep");
}

function region(element) {
  return looks.get(element);
}

function begin(element) {
  if (looks.has(element)) return;
  const etag = element.dataset.etag ? `"${element.dataset.etag}"` : "";
  looks.set(element, { etag, every: Number(element.dataset.every) || 15, failures: 0, timer: 0, before: null });
  wait(element);
}

function scan() {
  for (const [element, state] of looks) {
    if (!element.isConnected) {
      clearTimeout(state.timer);
      looks.delete(element);
    }
  }
  for (const element of document.querySelectorAll("[data-live]")) begin(element);
}

function wait(element, seconds = region(element).every) {
  const state = region(element);
  clearTimeout(state.timer);
  state.timer = setTimeout(() => look(element), seconds * 1000);
}

function occupied(element) {
  const active = document.activeElement;
  return (
    (element.contains(active) && active.matches("input, textarea, select")) ||
    element.querySelector(":popover-open, details[open]") !== null
  );
}

function look(element) {
  if (!element.isConnected || document.hidden) return;
  if (occupied(element)) wait(element, 1);
  else htmx.trigger(element, "look");
}

function lookNow() {
  for (const element of looks.keys()) look(element);
}

body.addEventListener("htmx:configRequest", (event) => {
  const state = region(event.detail.elt);
  if (!state) return;
  if (state.etag) event.detail.headers["If-None-Match"] = state.etag;
  event.detail.parameters.have = [...event.detail.elt.querySelectorAll("[data-v]")].map((item) => item.dataset.v).join(".");
});

body.addEventListener("htmx:afterRequest", (event) => {
  const element = event.detail.elt;
  const state = region(element);
  if (!state) return;
  const { xhr } = event.detail;
  if (xhr.status === 200 || xhr.status === 304) {
    state.etag = xhr.getResponseHeader("ETag") ?? state.etag;
    state.every = Number(xhr.getResponseHeader("Quotidian-Every")) || state.every;
    state.failures = 0;
    trouble(null);
    wait(element);
  } else if (xhr.status === 401) {
    if (!document.querySelector("dialog[open]")) location.reload();
  } else if (xhr.status === 404) {
    wait(element, 60);
  } else {
    state.failures += 1;
    const seconds = Math.min(60, 2 ** state.failures * 2);
    if (state.failures > 1) trouble(seconds);
    wait(element, seconds);
  }
});

// The list stays when it cannot be loaded anew; a notice says so and counts down to the next try.
let countdown = 0;

function trouble(seconds) {
  const notice = document.getElementById("trouble");
  if (!notice) return;
  clearInterval(countdown);
  notice.hidden = seconds === null;
  if (seconds === null) return;
  const text = notice.querySelector("[data-countdown]");
  let left = seconds;
  const tell = () => {
    text.textContent = text.dataset.text.replace("#", String(Math.max(left, 0)));
    left -= 1;
  };
  tell();
  countdown = setInterval(tell, 1000);
}

body.addEventListener("click", (event) => {
  if (event.target.closest("[data-retry]")) lookNow();
});

// Before and after a swap: what changed is said once, focus finds its neighbour, and a reader at the end stays there.
function remember(element) {
  const items = [...element.querySelectorAll("[data-v]")];
  const active = element.contains(document.activeElement) ? document.activeElement : null;
  const focused = active?.closest("[data-v]");
  return {
    said: new Map(items.map((item) => [item.id, item.dataset.said ?? ""])),
    order: items.map((item) => item.id),
    focused: focused?.id ?? null,
    active: active?.id ?? "",
    atEnd: element.hasAttribute("data-follow") && innerHeight + scrollY >= document.documentElement.scrollHeight - 120,
  };
}

function settleFocus(element, before) {
  if (!before.focused) return;
  if (document.getElementById(before.focused)) {
    if (document.activeElement === body && before.active) document.getElementById(before.active)?.focus();
    return;
  }
  const at = before.order.indexOf(before.focused);
  const near = [...before.order.slice(at + 1), ...before.order.slice(0, at).reverse()];
  const next = near.map((id) => document.getElementById(id)).find(Boolean);
  (next?.querySelector("h3 a, a, button") ?? element.querySelector("[tabindex='-1']"))?.focus();
}

body.addEventListener("htmx:beforeSwap", (event) => {
  const state = region(event.detail.target);
  if (state) state.before = remember(event.detail.target);
});

body.addEventListener("htmx:afterSettle", (event) => {
  const element = event.detail.target;
  const state = region(element);
  if (!state?.before) return;
  const { before } = state;
  state.before = null;
  settleFocus(element, before);
  let changed = false;
  for (const item of element.querySelectorAll("[data-v]")) {
    const said = item.dataset.said ?? "";
    if (!before.said.has(item.id) || before.said.get(item.id) === said) continue;
    changed = true;
    if (said) announce(said);
  }
  if (changed) htmx.trigger(body, "settled");
  if (before.atEnd) scrollTo(0, document.documentElement.scrollHeight);
});

// One polite region; at most one sentence in five seconds, the newest wins.
let spoken = 0;
let pending = 0;

function announce(text) {
  const place = document.getElementById("announce");
  clearTimeout(pending);
  pending = setTimeout(() => {
    spoken = Date.now();
    place.textContent = text;
  }, Math.max(0, spoken + 5_000 - Date.now()));
}

body.addEventListener("changed", lookNow);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) lookNow();
});
body.addEventListener("htmx:load", scan);
scan();
