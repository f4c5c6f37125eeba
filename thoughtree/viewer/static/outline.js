// The outline: the tree as rows, of which only those in view are elements. It has the keys of a tree view.

const ROW = 30; // pixels
const SPARE = 8; // rows beyond what is in view

/** Pixels. Less a level further down, and in the end none: what stands in a row must have room there. */
function indent(depth) {
  return 16 * Math.min(depth, 5) + 3 * Math.max(0, Math.min(depth, 20) - 5);
}

class Outline {
  constructor(element, { pick, toggle, expand }) {
    this.element = element;
    this.spacer = element.querySelector("#spacer");
    this.act = { pick, toggle, expand };
    this.shown = new Map();
    this.hits = new Set();
    element.addEventListener("scroll", () => this.render(), { passive: true });
    element.addEventListener("keydown", (event) => this.key(event));
    this.spacer.addEventListener("click", (event) => this.click(event));
    this.spacer.addEventListener("dblclick", (event) => {
      const row = event.target.closest("[data-id]");
      if (row && !event.target.closest(".twist")) this.act.toggle(this.run, Number(row.dataset.id));
    });
  }

  click(event) {
    const row = event.target.closest("[data-id]");
    if (!row) return;
    const id = Number(row.dataset.id);
    if (event.target.closest(".twist") && this.run.hasChildren(id)) this.act.toggle(this.run, id);
    else this.act.pick(this.run, id);
    this.element.focus({ preventScroll: true });
  }

  show(run, hits) {
    const changed = this.run !== run;
    this.run = run;
    this.hits = hits;
    this.places = null;
    this.spacer.style.height = `${run.rows.length * ROW}px`;
    this.clear();
    if (changed) this.element.scrollTop = 0;
    this.render();
  }

  clear() {
    for (const row of this.shown.values()) row.remove();
    this.shown.clear();
  }

  /** Where a node's row is; -1: it has none now. */
  placeOf(id) {
    if (!this.places) {
      this.places = new Int32Array(this.run.count).fill(-1);
      this.run.rows.forEach((row, at) => (this.places[row] = at));
    }
    return this.places[id];
  }

  render() {
    if (!this.run) return;
    const { scrollTop, clientHeight } = this.element, { rows } = this.run;
    const from = Math.max(0, Math.floor(scrollTop / ROW) - SPARE);
    const to = Math.min(rows.length, Math.ceil((scrollTop + clientHeight) / ROW) + SPARE);
    const chosen = this.run.selected === null ? -1 : this.placeOf(this.run.selected); // always there: it has the focus
    for (const [at, row] of this.shown) {
      if ((at >= from && at < to) || at === chosen) continue;
      row.remove();
      this.shown.delete(at);
    }
    const added = document.createDocumentFragment();
    const add = (at) => {
      if (this.shown.has(at)) return;
      const row = this.row(rows[at], at);
      this.shown.set(at, row);
      added.append(row);
    };
    for (let at = from; at < to; at++) add(at);
    if (chosen >= 0) add(chosen);
    this.spacer.append(added);
    if (chosen >= 0) this.element.setAttribute("aria-activedescendant", `row-${this.run.selected}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  row(id, at) {
    const { run } = this, status = run.status(id), value = run.value(id), open = run.canOpen(id) ? Boolean(run.expanded[id]) : null;
    const visits = run.step >= run.steps.length ? run.get("visits", id) : null;
    const siblings = id ? run.children(run.nodes.parent[id]) : [0];
    const classes = ["row", `status-${status}`];
    if (run.isOnPath(id)) classes.push("on-path");
    if (this.hits.has(id)) classes.push("hit");
    if (run.kept && run.kept[id] === 2) classes.push("context");
    if (run.only && run.only[id]) classes.push("only");
    if (run.active().includes(id)) classes.push("active");
    const row = h("div", {
      id: `row-${id}`, class: classes.join(" "), role: "treeitem", data: { id },
      "aria-level": run.depth[id] + 1, "aria-setsize": siblings.length, "aria-posinset": siblings.indexOf(id) + 1,
      "aria-expanded": open === null ? undefined : String(open), "aria-selected": String(id === run.selected),
      "aria-label": this.words(id),
    },
    h("span", { class: "twist", "aria-hidden": "true", text: open === null ? "" : open ? "\u25be" : "\u25b8" }),
    icon(status),
    h("span", { class: "number", text: `#${id}` }),
    h("span", { class: "action", text: run.label(id) }),
    h("span", { class: "words", text: this.second(id, status) }),
    visits === null ? null : h("span", { class: "visits", title: counted(visits, "visit"), text: `\u00d7${whole(visits)}` }),
    value === null ? null : this.worth(value, run.word(id), run.get("verdict", id)));
    row.style.transform = `translateY(${at * ROW}px)`;
    row.style.paddingInlineStart = `${6 + indent(run.depth[id])}px`;
    return row;
  }

  second(id, status) {
    const { run } = this;
    if (FAINT.has(status) || status === "terminal") return run.verdict(id);
    return run.brief(id);
  }

  worth(value, word, verdict) {
    const meter = h("span", { class: "meter" }, h("span", { class: "fill" }));
    meter.firstChild.style.width = `${Math.round(100 * this.run.share(value))}%`;
    return h("span", { class: "worth", title: verdict ? oneLine(verdict) : undefined }, h("span", { class: "word", text: word }), h("span", { class: "amount", text: number(value, 3) }), meter);
  }

  words(id) {
    const { run } = this, value = run.value(id), verdict = run.get("verdict", id), visits = run.get("visits", id);
    return [`#${id} ${run.label(id)}`, run.verdict(id), value === null ? "" : `value ${number(value)}${verdict ? ` ${oneLine(verdict)}` : ""}`,
      visits === null ? "" : counted(visits, "visit"), run.isOnPath(id) ? "on the path given back" : ""].filter(Boolean).join(", ");
  }

  scrollTo(id) {
    const at = this.placeOf(id);
    if (at < 0) return;
    const { scrollTop, clientHeight } = this.element, y = at * ROW;
    if (y < scrollTop || y + ROW > scrollTop + clientHeight) this.element.scrollTop = y - clientHeight / 2 + ROW;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { run } = this, { rows, selected } = run;
    const at = selected === null ? -1 : this.placeOf(selected), page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 1);
    const go = (place) => this.act.pick(run, rows[Math.max(0, Math.min(rows.length - 1, place))]);
    const open = selected !== null && run.expanded[selected] && run.hasChildren(selected);
    switch (event.key) {
      case "ArrowDown": go(at + 1); break;
      case "ArrowUp": go(at < 0 ? 0 : at - 1); break;
      case "PageDown": go(at + page); break;
      case "PageUp": go(at - page); break;
      case "Home": go(0); break;
      case "End": go(rows.length - 1); break;
      case "ArrowRight":
        if (selected === null) go(0);
        else if (run.hasChildren(selected) && !open) this.act.toggle(run, selected);
        else if (open && this.run.nodes.parent[rows[at + 1]] === selected) go(at + 1);
        break;
      case "ArrowLeft":
        if (open) this.act.toggle(run, selected);
        else if (selected) this.act.pick(run, run.nodes.parent[selected]);
        break;
      case "Enter":
        if (selected === null) go(0);
        else document.getElementById("panel").focus();
        break;
      case "*": this.act.expand(run, selected === null ? 0 : run.nodes.parent[selected]); break;
      default: return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
