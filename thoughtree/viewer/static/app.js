// The page: which run, which node, which tab; and what each event changes.

const SMALL = 150; // nodes up to which a tree is opened whole

class App {
  constructor() {
    this.runs = [];
    for (let at = 0, block; (block = document.getElementById(`run-${at}`)); at++) this.runs.push(new Run(at, JSON.parse(block.textContent)));
    this.active = 0;
    this.tab = "run";
    this.statuses = new Set();
    this.hits = [];
    this.hit = -1;
    for (const run of this.runs) {
      run.expanded[0] = 1;
      if (run.count <= SMALL) run.expandAll();
      else run.expand(run.path.size > 1 ? run.path : [0]);
    }
    const act = { pick: (run, id) => this.pick(run, id), toggle: (run, id) => this.toggle(run, id), expand: (run, id) => this.expandSiblings(run, id) };
    this.act = { ...act, pickBoth: (x, y) => this.pickBoth(x, y) };
    if (this.runs.length > 1) this.match = matched(this.runs[0], this.runs[1]);
    this.outline = new Outline(document.getElementById("outline"), act);
    this.maps = this.runs.map((run) => new MapView(run, { ...act, tip: (id, event) => showTip(run, id, event) }));
    document.getElementById("map-pane").append(...this.maps.map((map) => map.frame));
    document.getElementById("map-pane").classList.toggle("two", this.runs.length > 1);
    this.player = new Player((step) => this.at(step));
    this.head();
    this.listen();
    this.update();
    for (const map of this.maps) map.resize();
    for (const map of this.maps) map.open();
    for (const map of this.maps) map.paint();
    if (this.runs.length > 1) this.show("compare");
    new ResizeObserver(() => this.resized()).observe(document.getElementById("map-pane"));
  }

  get run() {
    return this.runs[this.active];
  }

  // ---- what is at the top

  head() {
    const notes = document.getElementById("notes"), group = document.getElementById("runs");
    if (this.runs.length > 1) {
      group.hidden = false;
      group.append(...this.runs.map((run, at) => h("button", { type: "button", data: { run: at }, text: `${"AB"[at]}: ${oneLine(run.data.name, 40)}`, on: { click: () => this.activate(at) } })));
    }
    const told = this.runs.flatMap((run, at) => run.data.notes.filter((note) => !note.startsWith("Prompts and replies")).map((note) => (this.runs.length > 1 ? `${"AB"[at]}: ${note}` : note)));
    notes.hidden = !told.length;
    notes.append(...told.map((note) => h("p", { text: visible(note) })));
    const counts = new Map();
    for (const run of this.runs) for (const status of run.nodes.status) counts.set(run.data.statuses[status], (counts.get(run.data.statuses[status]) ?? 0) + 1);
    document.getElementById("filters").append(...this.run.data.statuses.filter((name) => counts.has(name)).map((name) =>
      h("button", { type: "button", class: "chip", "aria-pressed": "false", data: { status: name }, on: { click: () => this.filter(name) } }, icon(name), ` ${name} `, h("span", { class: "count", text: whole(counts.get(name)) }))),
      h("button", { type: "button", class: "clear", id: "clear", text: "Show all", hidden: true, on: { click: () => this.filter(null) } }));
    document.getElementById("deep-label").hidden = this.runs.every((run) => !run.data.calls);
    this.named();
  }

  named() {
    const { facts, name } = this.run.data, badge = document.getElementById("status");
    document.getElementById("name").textContent = oneLine(name, 80);
    badge.textContent = facts.status;
    badge.className = `badge badge-${facts.status}`;
    document.getElementById("answer").textContent = oneLine(Object.values(facts.answer ?? {}).filter(Boolean).join("; "), 160);
    for (const button of document.querySelectorAll("#runs button")) button.setAttribute("aria-pressed", String(Number(button.dataset.run) === this.active));
  }

  // ---- what changes

  /** Everything that hangs on which nodes are shown. */
  update() {
    performance.mark("view-update");
    for (const run of this.runs) run.flatten();
    const hits = new Set(this.hits);
    this.outline.show(this.run, hits);
    this.maps.forEach((map, at) => {
      map.hits = at === this.active ? hits : new Set();
      map.frame.classList.toggle("current", this.runs.length > 1 && at === this.active);
      map.caption.textContent = this.runs.length > 1 ? `${"AB"[at]}: ${oneLine(map.run.data.name, 60)}` : "";
      map.update();
    });
    this.player.show(this.run);
    performance.measure("view-update", "view-update");
  }

  /** What hangs on the node that is selected. */
  side() {
    const { run } = this, tabs = [["run", "Run"], ["node", "Node"]];
    if (this.runs.length > 1) tabs.push(["compare", "Compare"]);
    document.getElementById("tabs").replaceChildren(...tabs.map(([name, text]) => h("button", { type: "button", role: "tab", id: `tab-${name}`, text,
      "aria-selected": String(name === this.tab), "aria-controls": "panel", tabindex: name === this.tab ? 0 : -1, on: { click: () => this.show(name), keydown: (event) => this.tabKey(event, tabs) } })));
    const panel = document.getElementById("panel");
    panel.setAttribute("aria-labelledby", `tab-${this.tab}`);
    const content = this.tab === "compare" ? comparison(this.runs[0], this.runs[1], this.match, this.act)
      : this.tab === "node" ? (run.selected === null ? h("p", { class: "muted", text: "Select a node." }) : details(run, run.selected, this.act))
      : summary(run, this.act);
    panel.replaceChildren(content);
    panel.scrollTop = 0;
  }

  tabKey(event, tabs) {
    const at = tabs.findIndex(([name]) => name === this.tab), to = { ArrowRight: at + 1, ArrowLeft: at - 1 }[event.key];
    if (to === undefined) return;
    this.show(tabs[(to + tabs.length) % tabs.length][0]);
    document.getElementById(`tab-${this.tab}`).focus();
    event.preventDefault();
  }

  show(tab) {
    this.tab = tab;
    this.side();
  }

  activate(at) {
    if (at === this.active) return;
    this.active = at;
    this.search(document.getElementById("query").value, false);
    this.named();
    this.update();
    this.side();
  }

  pick(run, id) {
    if (run !== this.run) this.activate(run.index);
    run.selected = id;
    const hidden = this.outline.placeOf(id) < 0;
    if (hidden) {
      if (!run.isThere(id)) run.step = run.steps.length;
      if (run.kept && !run.kept[id]) this.unfilter();
      run.reveal(id);
      this.update();
    } else {
      this.outline.clear();
      this.outline.render();
    }
    this.outline.scrollTo(id);
    this.outline.render();
    const map = this.maps[run.index];
    if (!map.isInView(id)) map.focus(id);
    map.draw();
    this.show("node");
  }

  pickBoth(x, y) {
    const other = this.runs[1 - this.active];
    other.selected = this.active ? x : y;
    other.reveal(other.selected);
    this.pick(this.run, this.active ? y : x);
    this.maps[other.index].focus(other.selected);
  }

  toggle(run, id) {
    if (!run.hasChildren(id)) return;
    if (run !== this.run) this.activate(run.index);
    performance.mark("view-toggle");
    run.expanded[id] ^= 1;
    this.update();
    this.maps[run.index].paint();
    performance.measure("view-toggle", "view-toggle");
  }

  expandSiblings(run, id) {
    run.expand(run.children(id));
    this.update();
  }

  all(on) {
    performance.mark("view-expand");
    this.run.expandAll(on);
    this.update();
    this.maps[this.active].paint();
    performance.measure("view-expand", "view-expand");
    if (!on) this.maps[this.active].fit();
  }

  showPath() {
    const { run } = this;
    run.expandAll(0);
    run.expand(run.path);
    this.update();
    this.pick(run, run.data.facts.best);
    this.maps[this.active].open();
  }

  at(step) {
    const { run } = this, forth = step > run.step;
    run.step = step;
    if (forth) for (const id of run.active()) run.reveal(id);
    if (run.count <= 10 * SMALL) for (const id of run.active()) run.expanded[id] = 1;
    this.update();
    const [id] = run.active();
    if (id !== undefined && run.isThere(id)) {
      this.outline.scrollTo(id);
      if (!this.maps[this.active].isInView(id)) this.maps[this.active].focus(id);
    }
    if (this.tab === "node") this.side();
  }

  // ---- filter and search

  filter(name) {
    if (name === null) this.statuses.clear();
    else if (!this.statuses.delete(name)) this.statuses.add(name);
    this.filtered();
    this.maps[this.active].fit();
    if (this.maps[this.active].scale < 0.3) this.maps[this.active].open();
  }

  filtered() {
    for (const run of this.runs) run.filter(this.statuses);
    for (const chip of document.querySelectorAll("#filters .chip")) chip.setAttribute("aria-pressed", String(this.statuses.has(chip.dataset.status)));
    document.getElementById("clear").hidden = !this.statuses.size;
    this.update();
  }

  unfilter() {
    this.statuses.clear();
    this.filtered();
  }

  search(query, show = true) {
    this.hits = this.run.find(query, document.getElementById("deep").checked);
    this.hit = -1;
    const told = query.trim() ? (this.hits.length ? counted(this.hits.length, "hit") : "no hit") : "";
    document.getElementById("hits").textContent = told;
    for (const id of ["previous-hit", "next-hit"]) document.getElementById(id).disabled = !this.hits.length;
    if (show) this.update();
  }

  next(by) {
    if (!this.hits.length) return;
    this.hit = (this.hit + by + this.hits.length + (this.hit < 0 && by < 0 ? 1 : 0)) % this.hits.length;
    this.pick(this.run, this.hits[this.hit]);
    document.getElementById("hits").textContent = `${whole(this.hit + 1)} of ${counted(this.hits.length, "hit")}`;
  }

  // ---- events

  listen() {
    const get = (id) => document.getElementById(id), query = get("query");
    query.addEventListener("input", () => this.search(query.value));
    query.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.next(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape") this.leaveSearch();
      else if (event.key === "ArrowDown") get("outline").focus();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    get("deep").addEventListener("change", () => this.search(query.value));
    get("previous-hit").addEventListener("click", () => this.next(-1));
    get("next-hit").addEventListener("click", () => this.next(1));
    get("expand-all").addEventListener("click", () => this.all(1));
    get("collapse-all").addEventListener("click", () => this.all(0));
    get("show-path").addEventListener("click", () => this.showPath());
    get("theme").addEventListener("click", () => (nextTheme(), this.recolour()));
    get("help").addEventListener("click", () => showKeys());
    document.addEventListener("keydown", (event) => this.key(event));
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
  }

  key(event) {
    const typing = event.target.closest("input, select, textarea, [contenteditable]"), pressing = event.target.closest("button, summary, select, input");
    if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById("keys").open) return;
    if (event.key === "/" && !typing) {
      document.getElementById("query").focus();
      document.getElementById("query").select();
    } else if (event.key === "?" && !typing) showKeys();
    else if (event.key === " " && !typing && !pressing) this.player.toggle();
    else if (event.key === "Escape" && !typing) this.escape();
    else if (event.key === "n" && !typing) this.next(1);
    else if (event.key === "N" && !typing) this.next(-1);
    else if (event.key === "," && !typing) this.player.to(this.run.step - 1);
    else if (event.key === "." && !typing) this.player.to(this.run.step + 1);
    else return;
    event.preventDefault();
  }

  /** Back to the tree; from the tree, back to the run. */
  escape() {
    this.player.stop();
    const outline = document.getElementById("outline");
    if (document.activeElement !== outline) return outline.focus();
    this.run.selected = null;
    this.update();
    this.show("run");
  }

  leaveSearch() {
    const query = document.getElementById("query");
    query.value = "";
    this.search("");
    document.getElementById("outline").focus();
  }

  recolour() {
    for (const map of this.maps) {
      map.colours = null;
      map.draw();
    }
  }

  resized() {
    for (const map of this.maps) {
      map.resize();
      map.paint();
    }
    this.outline.render();
  }
}

const app = new App();
app.side();
performance.mark("view-ready");
