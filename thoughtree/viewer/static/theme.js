// Light or dark.

/** The colours: as the system has them, light, dark, and again. */
function nextTheme() {
  const root = document.documentElement, next = { "": "light", light: "dark", dark: "" }[root.dataset.theme ?? ""];
  if (next) root.dataset.theme = next;
  else delete root.dataset.theme;
  const button = document.getElementById("theme");
  button.textContent = next ? capital(next) : "Auto";
  button.setAttribute("aria-label", `Colours: ${next || "as the system has them"}`);
}
