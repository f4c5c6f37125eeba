// Text and elements. What a model said goes into text nodes alone: no data on this page is ever markup.

const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const KEPT = "\n\t\u200c\u200d"; // line ends, tabs, and the joiners of ordinary words
const LONG = 20000; // characters of one text that are shown at first

/** What a reader cannot see, or what would turn the text around, as an escape. */
function visible(text) {
  return String(text).replaceAll("\r\n", "\n").replace(HIDDEN, (c) => (KEPT.includes(c) ? c : escaped(c)));
}

function escaped(c) {
  const code = c.codePointAt(0);
  if (code < 0x100) return "\\x" + code.toString(16).padStart(2, "0");
  return code < 0x10000 ? "\\u" + code.toString(16).padStart(4, "0") : "\\U" + code.toString(16).padStart(8, "0");
}

/** On one line, at most so long. */
function oneLine(text, most = 200) {
  const line = visible(String(text).slice(0, 4 * most)).replace(/\s+/g, " ").trim();
  return line.length > most ? line.slice(0, most - 1) + "\u2026" : line;
}

/** An element. properties: attributes, but for `text`, `class`, `on` (listeners) and `data`. */
function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** A text as it stands, its lines kept; of a very long one the beginning, and a button for the rest. */
function block(text, name) {
  const shown = h("pre", { tabindex: 0, "aria-label": name, text: visible(text.slice(0, LONG)) });
  if (text.length <= LONG) return shown;
  const more = h("button", { type: "button", class: "more", text: `Show all ${whole(text.length)} characters` });
  more.addEventListener("click", () => {
    shown.textContent = visible(text);
    more.remove();
  });
  return h("div", {}, shown, more);
}

function icon(status) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 12 12");
  svg.setAttribute("class", `icon is-${status}`);
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[status] || ICONS.open);
  if (FILLED.has(status)) path.setAttribute("class", "filled");
  svg.append(path);
  return svg;
}

// On a field of 12 by 12. A shape for each status: colour alone says nothing to many.
const ICONS = {
  open: "M6 2a4 4 0 1 0 0 8a4 4 0 1 0 0-8z",
  expanded: "M6 2a4 4 0 1 0 0 8a4 4 0 1 0 0-8z",
  solved: "M6 .8l1.6 3.4 3.7.5-2.7 2.6.7 3.7L6 9.2 2.7 11l.7-3.7L.7 4.7l3.7-.5z",
  terminal: "M2.5 2.5h7v7h-7z",
  pruned: "M6 2a4 4 0 1 0 0 8a4 4 0 1 0 0-8zM3.8 6h4.4",
  duplicate: "M1.8 4.2h6v6h-6zM4.2 4.2V1.8h6v6H7.8",
  illegal: "M6 1.6a4.4 4.4 0 1 0 0 8.8a4.4 4.4 0 1 0 0-8.8zM2.9 2.9l6.2 6.2",
  failed: "M6 1.4L11 10.4H1zM6 4.6v2.8M6 8.7v.4",
};
const FILLED = new Set(["expanded", "solved", "terminal"]);

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const whole = (number) => grouped.format(number);

/** A value as people write it: no more digits than say something. */
function number(value, digits = 4) {
  if (value === null || value === undefined) return "";
  if (Number.isInteger(value)) return Math.abs(value) < 1e6 ? String(value) : whole(value);
  const size = Math.abs(value);
  return size && (size < 1e-4 || size >= 1e6) ? value.toExponential(2) : String(Number(value.toPrecision(digits)));
}

const dollars = (cost) => (cost ? "$" + (cost < 0.01 ? cost.toPrecision(2) : cost.toFixed(cost < 1 ? 4 : 2)) : "$0");
const seconds = (time) => (time >= 60 ? `${Math.floor(time / 60)} min ${Math.round(time % 60)} s` : time && time < 0.1 ? `${number(1000 * time, 2)} ms` : `${number(time, 3)} s`);
const counted = (count, noun) => `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;
