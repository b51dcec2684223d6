// A searchable list over a real select: the select keeps name and value, the field in front of it is what is used.

const MOST = 200;
const fold = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
const sprite = () => document.querySelector("use")?.getAttribute("href").split("#")[0] ?? "";

function icon(name, size) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("width", size);
  svg.setAttribute("height", size);
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `${sprite()}#i-${name}`);
  svg.append(use);
  return svg;
}

class Combobox {
  constructor(box) {
    this.box = box;
    this.select = box.querySelector("select");
    this.active = -1;
    this.shown = [];
    this.build();
    this.listen();
    this.showChosen();
  }

  build() {
    const { select } = this;
    const id = select.id;
    this.input = document.createElement("input");
    Object.assign(this.input, { className: "input", id, autocomplete: "off", spellcheck: false });
    this.input.placeholder = this.box.dataset.search ?? "";
    for (const [name, value] of Object.entries({
      role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": `${id}-list`,
    })) this.input.setAttribute(name, value);
    for (const name of ["aria-invalid", "aria-describedby"]) {
      if (select.hasAttribute(name)) this.input.setAttribute(name, select.getAttribute(name));
      select.removeAttribute(name);
    }
    select.id = `${id}-value`;
    select.tabIndex = -1;
    select.setAttribute("aria-hidden", "true");
    select.classList.add("on");
    this.list = document.createElement("ul");
    Object.assign(this.list, { className: "listbox", id: `${id}-list`, hidden: true });
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", document.querySelector(`label[for="${id}"]`)?.textContent ?? "");
    this.box.append(this.input, icon("down", 16), this.list);
  }

  listen() {
    const { input, list } = this;
    input.addEventListener("input", () => this.open(input.value));
    input.addEventListener("click", () => (list.hidden ? this.open("") : this.close()));
    input.addEventListener("focus", () => input.select());
    input.addEventListener("blur", () => this.leave());
    input.addEventListener("keydown", (event) => this.key(event));
    list.addEventListener("pointerdown", (event) => event.preventDefault());
    list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.take(Number(option.dataset.index));
    });
    this.select.addEventListener("change", () => this.showChosen());
  }

  showChosen() {
    this.input.value = this.select.selectedOptions[0]?.textContent ?? "";
  }

  open(text) {
    const wanted = fold(text.trim());
    const all = [...this.select.options].map((option, index) => ({ option, index }));
    const matching = all.filter(({ option }) => fold(`${option.textContent} ${option.dataset.note ?? ""}`).includes(wanted));
    this.shown = matching.slice(0, MOST);
    this.list.replaceChildren(...this.shown.map((entry) => this.row(entry)));
    if (!this.shown.length) this.list.append(this.nothing());
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    const chosen = this.shown.findIndex(({ index }) => index === this.select.selectedIndex);
    this.move(wanted || chosen < 0 ? this.firstAble() : chosen);
  }

  row({ option, index }) {
    const item = document.createElement("li");
    item.id = `${this.input.id}-o${index}`;
    item.setAttribute("role", "option");
    item.dataset.index = String(index);
    const chosen = index === this.select.selectedIndex;
    item.setAttribute("aria-selected", String(chosen));
    if (option.disabled) item.setAttribute("aria-disabled", "true");
    const sign = document.createElement("span");
    if (chosen) item.append(icon("check", 14));
    else if (Number(option.dataset.p)) {
      sign.className = "dot";
      sign.dataset.p = option.dataset.p;
      item.append(sign);
    } else item.append(sign);
    const name = document.createElement("span");
    name.textContent = option.textContent;
    item.append(name);
    if (option.dataset.note) {
      const note = document.createElement("small");
      note.textContent = option.dataset.note;
      item.append(note);
    }
    return item;
  }

  nothing() {
    const item = document.createElement("li");
    item.className = "none";
    item.setAttribute("role", "option");
    item.setAttribute("aria-disabled", "true");
    item.textContent = "–";
    return item;
  }

  firstAble() {
    return this.shown.findIndex(({ option }) => !option.disabled);
  }

  move(to) {
    this.list.querySelector("[data-active]")?.removeAttribute("data-active");
    this.active = to;
    const item = to < 0 ? null : this.list.children[to];
    if (item) {
      item.dataset.active = "";
      item.scrollIntoView({ block: "nearest" });
      this.input.setAttribute("aria-activedescendant", item.id);
    } else this.input.removeAttribute("aria-activedescendant");
  }

  take(index) {
    const option = this.select.options[index];
    if (!option || option.disabled) return;
    this.select.selectedIndex = index;
    this.close();
    this.select.dispatchEvent(new Event("change", { bubbles: true }));
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.move(-1);
  }

  leave() {
    this.close();
    this.showChosen();
  }

  key(event) {
    const closed = this.list.hidden;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (closed) this.open("");
      else if (this.shown.length) {
        const step = event.key === "ArrowDown" ? 1 : -1;
        this.move((this.active + step + this.shown.length) % this.shown.length);
      }
    } else if (event.key === "Enter" && !closed) {
      event.preventDefault();
      if (this.active >= 0) this.take(this.shown[this.active].index);
    } else if (event.key === "Escape" && !closed) {
      event.preventDefault();
      event.stopPropagation();
      this.leave();
    }
  }
}

function enhance() {
  for (const box of document.querySelectorAll("[data-combo]:not([data-on])")) {
    box.dataset.on = "";
    new Combobox(box);
  }
}
enhance();
document.body.addEventListener("htmx:load", enhance);
