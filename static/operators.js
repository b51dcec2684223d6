/* What the admin's templates ask of Alpine, named for its build that evaluates no code (strict policy). */
document.addEventListener("alpine:init", () => {
  const wide = matchMedia("(min-width: 80rem)");
  const ownTheme = { light: "light", dark: "dark" }[document.documentElement.dataset.themeOf] || "auto";

  /* A style attribute bound from a string needs `unsafe-inline`; operators.css gives the width instead. */
  for (const bound of document.querySelectorAll("[x-bind\\:style]")) bound.removeAttribute("x-bind:style");

  Alpine.data("theme", () => {
    const made = theme(ownTheme);
    const bindings = made.themeBindings;
    const classes = bindings["x-bind:class"];
    bindings["x-bind:class"] = function () {
      const now = classes.call(this) || "light";
      return { dark: now === "dark", light: now === "light" };
    };
    return made;
  });
  Alpine.data("searchForm", searchForm);

  Alpine.data("shell", () => ({
    activeTab: "",
    sidebarMobileOpen: false,
    sidebarDesktopOpen: localStorage.getItem("sidebarDesktopOpen") !== "0",
    window: { location: { pathname: location.pathname, search: location.search } },
    init() {
      this.activeTab = getCurrentTab() || this.$el.dataset.firstTab;
    },
    toggleNavigation() {
      if (!wide.matches) {
        this.sidebarMobileOpen = !this.sidebarMobileOpen;
        return;
      }
      this.sidebarDesktopOpen = !this.sidebarDesktopOpen;
      localStorage.setItem("sidebarDesktopOpen", this.sidebarDesktopOpen ? "1" : "0");
    },
  }));
});
