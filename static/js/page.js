// What every page does: tokens, toasts, menus, shortcuts, and answers that are shown although they are errors.

const body = document.body;

function cookie(name) {
  const found = document.cookie.split("; ").find((part) => part.startsWith(`${name}=`));
  return found ? decodeURIComponent(found.slice(name.length + 1)) : "";
}

// A sign-in in another tab changes the token; the cookie always has the current one.
body.addEventListener("htmx:configRequest", (event) => {
  const token = cookie("csrftoken");
  if (!token || event.detail.verb === "get") return;
  event.detail.headers["X-CSRFToken"] = token;
  if (event.detail.parameters.csrfmiddlewaretoken) event.detail.parameters.csrfmiddlewaretoken = token;
});

body.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.getResponseHeader("Quotidian-Swap")) {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  }
});

// Buttons that post show that they do, and ignore a second press.
function busy(element, on) {
  const button = element.matches("button") ? element : element.matches("form") ? element.querySelector(".btn.primary, .btn.danger") : null;
  if (!button) return;
  if (on) button.setAttribute("aria-busy", "true");
  else button.removeAttribute("aria-busy");
}

body.addEventListener("htmx:beforeRequest", (event) => {
  const { elt, requestConfig } = event.detail;
  if (requestConfig.verb !== "get") busy(elt, true);
  elt.closest("[popover]")?.hidePopover();
});
body.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.requestConfig.verb !== "get") busy(event.detail.elt, false);
});

// Toasts leave by themselves unless somebody is at them.
const STAY = 10_000;

function watchToasts() {
  for (const toast of document.querySelectorAll("[data-toast]:not([data-seen])")) {
    toast.dataset.seen = "";
    const leave = () => {
      if (toast.matches(":hover, :focus-within")) setTimeout(leave, 2_000);
      else toast.remove();
    };
    setTimeout(leave, STAY);
  }
}
watchToasts();
body.addEventListener("htmx:oobAfterSwap", watchToasts);
body.addEventListener("htmx:afterSettle", watchToasts);
body.addEventListener("click", (event) => {
  event.target.closest("[data-dismiss]")?.closest("[data-toast]")?.remove();
});

// Menus: arrows move, Home and End jump.
body.addEventListener("keydown", (event) => {
  const menu = event.target.closest(".menu[popover]");
  if (!menu || !["ArrowDown", "ArrowUp", "Home", "End"].includes(event.key)) return;
  event.preventDefault();
  const items = [...menu.querySelectorAll("a, button")].filter((item) => !item.disabled);
  const here = items.indexOf(document.activeElement);
  const to = { ArrowDown: here + 1, ArrowUp: here - 1 + (here < 0 ? 1 : 0), Home: 0, End: -1 }[event.key];
  items.at(to % items.length)?.focus();
});
body.addEventListener("toggle", (event) => {
  if (event.target.matches?.(".menu[popover]") && event.newState === "open") {
    const opened = event.target;
    if (document.activeElement?.getAttribute("popovertarget") === opened.id) opened.querySelector("a, button")?.focus();
  }
}, true);

// Single-key shortcuts: only outside fields, and they can be switched off.
const KEYS_OFF = "keys-off";
const keysOff = () => localStorage.getItem(KEYS_OFF) === "1";

function showKeysState() {
  for (const button of document.querySelectorAll("[data-keys]")) {
    button.setAttribute("aria-pressed", String(!keysOff()));
  }
}
showKeysState();

function openSearch() {
  const form = document.getElementById("search-form");
  if (!form) return false;
  form.hidden = false;
  form.querySelector("input[type=search]").focus();
  return true;
}

body.addEventListener("click", (event) => {
  if (event.target.closest("[data-keys]")) {
    localStorage.setItem(KEYS_OFF, keysOff() ? "0" : "1");
    showKeysState();
  }
  if (event.target.closest("#search-open") && openSearch()) event.preventDefault();
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || keysOff()) return;
  if (event.target.closest("input, textarea, select, [contenteditable], dialog[open], [popover]")) return;
  if (event.key === "/" && openSearch()) event.preventDefault();
  if (event.key === "n" && document.getElementById("new")) {
    event.preventDefault();
    document.getElementById("new").click();
  }
});

// The set-up page begins with the browser's own zone.
const zone = document.querySelector("select[data-browser-zone]");
if (zone) {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if ([...zone.options].some((option) => option.value === own)) {
    zone.value = own;
    zone.dispatchEvent(new Event("change", { bubbles: true }));
    const hint = document.querySelector("[data-zone-hint]");
    if (hint) hint.textContent = hint.dataset.zoneHint;
  }
}

for (const element of document.querySelectorAll("[data-scripted]")) element.hidden = false;
