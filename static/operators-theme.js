/* Sets light or dark before the first paint: the choice made here, else the person's own, else the system's. */
(() => {
  const root = document.documentElement;
  let chosen = null;
  try {
    chosen = JSON.parse(localStorage.getItem("adminTheme"));
  } catch {
    chosen = null;
  }
  const theme = chosen || { light: "light", dark: "dark" }[root.dataset.themeOf] || "auto";
  const dark = theme === "dark" || (theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  root.classList.add(dark ? "dark" : "light");
})();
