// One run: its nodes by columns, what is shown of them at a step, and its prompts, read when they are asked for.

class Run {
  constructor(index, data) {
    this.index = index;
    this.data = data;
    this.nodes = data.nodes;
    this.count = data.nodes.parent.length;
    this.steps = data.steps;
    this.step = data.steps.length; // how much of the search is shown
    this.selected = null;
    this.rows = [];
    this.link();
    this.expanded = new Uint8Array(this.count);
    this.kept = null; // by a filter: 1 matches, 2 leads to a match; null: no filter
    this.only = null; // in a comparison: nodes that the other run has not
    this.range();
  }

  /** Children in one array: those of `id` are kids[first[id]] up to kids[first[id + 1]]. A parent precedes its children. */
  link() {
    const { parent } = this.nodes, n = this.count;
    const first = new Int32Array(n + 1), kids = new Int32Array(Math.max(0, n - 1));
    for (let id = 1; id < n; id++) first[parent[id] + 1]++;
    for (let id = 0; id < n; id++) first[id + 1] += first[id];
    const next = first.slice(0, n);
    this.depth = new Uint16Array(n);
    this.below = new Int32Array(n); // how many nodes are below
    for (let id = 1; id < n; id++) {
      kids[next[parent[id]]++] = id;
      this.depth[id] = this.depth[parent[id]] + 1;
    }
    for (let id = n - 1; id > 0; id--) this.below[parent[id]] += this.below[id] + 1;
    this.first = first;
    this.kids = kids;
    this.path = new Set(this.pathTo(this.data.facts.best));
  }

  /** The ends of the scale, for bars, or of the values where there is none, or where they go beyond it. */
  range() {
    let [low, high] = this.data.facts.scale ?? [Infinity, -Infinity];
    for (const value of this.nodes.value) {
      if (value === null) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    this.low = Math.min(low, 0);
    this.high = high;
  }

  share(value) {
    return value === null || !(this.high > this.low) ? 0 : (value - this.low) / (this.high - this.low);
  }

  pathTo(id) {
    const path = [];
    for (let at = id; at >= 0; at = this.nodes.parent[at]) path.push(at);
    return path.reverse();
  }

  children(id) {
    return this.kids.subarray(this.first[id], this.first[id + 1]);
  }

  hasChildren(id) {
    return this.first[id + 1] > this.first[id];
  }

  get(column, id) {
    const found = this.nodes[column];
    const value = Array.isArray(found) ? found[id] : found[id];
    return value === undefined ? null : value;
  }

  /** A state may be written as how much of its parent's it begins with, and what comes then. */
  state(id) {
    const { state, parent } = this.nodes, below = [];
    let at = id;
    while (typeof state[at] !== "string") {
      below.push(at);
      at = parent[at];
    }
    while (below.length) {
      const next = below.pop(), [head, rest] = state[next];
      state[next] = state[at].slice(0, head) + rest;
      at = next;
    }
    return state[id];
  }

  // ---- at the step that is shown

  isThere(id) {
    return this.nodes.born[id] <= this.step;
  }

  status(id) {
    const name = this.data.statuses[this.nodes.status[id]];
    return this.step >= this.nodes.settled[id] ? name : this.nodes.first[id];
  }

  isSettled(id) {
    return this.step >= this.nodes.settled[id];
  }

  value(id) {
    return this.step >= this.nodes.rated[id] ? this.nodes.value[id] : null;
  }

  isOnPath(id) {
    return this.path.size > 1 && this.step >= this.steps.length && this.path.has(id);
  }

  /** The nodes that the reply told at this step was about. */
  active() {
    return this.step > 0 && this.step < this.steps.length ? this.steps[this.step - 1][1] : [];
  }

  label(id) {
    return id ? oneLine(this.nodes.action[id], 120) || "(blank)" : "start";
  }

  /** What its rater said, where that is short and more than the value. */
  word(id) {
    const verdict = this.value(id) === null ? null : this.get("verdict", id);
    return verdict === null || Number(verdict) === this.value(id) || verdict.length > 12 ? "" : oneLine(verdict);
  }

  /** Where it led, on one line: its state, unless that ends with the action again; else what was observed. */
  brief(id) {
    const state = this.state(id).trimEnd(), last = oneLine(state.slice(state.lastIndexOf("\n") + 1), 80);
    if (last && !(id && last.endsWith(this.label(id).slice(0, 60)))) return oneLine(state.slice(0, 400).replaceAll("\n", " \u00b7 "), 80);
    return oneLine((this.get("observation", id) ?? "").split("\n", 1)[0], 80);
  }

  /** Whether there is something below it to be shown at this step. */
  canOpen(id) {
    return this.hasChildren(id) && this.nodes.born[this.kids[this.first[id]]] <= this.step;
  }

  /** The status with its reason, in words. */
  verdict(id) {
    const status = this.status(id), reason = this.isSettled(id) ? this.get("reason", id) : null;
    if (reason === null) return status;
    if (this.get("of", id) !== null) return `duplicate of #${this.get("of", id)}`;
    return status === "pruned" && !Number.isNaN(Number(reason)) ? `pruned at ${reason}` : `${status}: ${oneLine(reason, 300)}`;
  }

  // ---- which are shown

  expand(ids, on = 1) {
    for (const id of ids) if (this.hasChildren(id)) this.expanded[id] = on;
  }

  expandAll(on = 1) {
    this.expanded.fill(on);
    if (!on) this.expanded[0] = 1;
  }

  /** Open all that is above. */
  reveal(id) {
    for (const above of this.pathTo(id)) if (above !== id) this.expanded[above] = 1;
  }

  /** The statuses to be shown, with what leads to them. An empty set is no filter. */
  filter(statuses) {
    if (!statuses.size) {
      this.kept = null;
      return;
    }
    const kept = new Uint8Array(this.count), wanted = this.data.statuses.map((name) => statuses.has(name));
    for (let id = this.count - 1; id >= 0; id--) {
      if (wanted[this.nodes.status[id]]) kept[id] = 1;
      if (kept[id] && id) {
        const above = this.nodes.parent[id];
        if (!kept[above]) kept[above] = 2;
        this.expanded[above] = 1;
      }
    }
    this.kept = kept;
  }

  /** The visible nodes from the top, in the order of the outline. */
  flatten() {
    const rows = [], stack = [0], { born } = this.nodes, { expanded, kept, first, kids, step } = this;
    while (stack.length) {
      const id = stack.pop();
      if (born[id] > step || (kept && !kept[id])) continue;
      rows.push(id);
      if (expanded[id]) for (let at = first[id + 1] - 1; at >= first[id]; at--) stack.push(kids[at]);
    }
    this.rows = rows;
    return rows;
  }

  /** Nodes whose words hold the query, or the one of this #id, in the order of the outline. deep: or whose prompts do. */
  find(query, deep = false) {
    const wanted = query.trim().toLowerCase();
    if (!wanted) return [];
    const exact = /^#(\d+)$/.exec(wanted);
    if (exact) return Number(exact[1]) < this.count ? [Number(exact[1])] : [];
    this.words ??= this.nodes.action.map((action, id) =>
      [action, this.state(id), this.get("verdict", id), this.get("reason", id), this.get("observation", id)]
        .filter(Boolean).join("\n").toLowerCase());
    const asked = deep ? this.askedWith(wanted) : new Set(), found = [], stack = [0];
    while (stack.length) {
      const id = stack.pop();
      if (this.words[id].includes(wanted) || asked.has(id)) found.push(id);
      for (let at = this.first[id + 1] - 1; at >= this.first[id]; at--) stack.push(this.kids[at]);
    }
    return found;
  }

  // ---- prompts and replies

  /** The nodes that a prompt or a reply with these words was about. */
  askedWith(words) {
    const found = new Set();
    if (this.load()) for (const step of this.prompts.find(words)) for (const id of this.steps[step - 1][1]) found.add(id);
    return found;
  }

  /** Read them, if there are any. */
  load() {
    if (!this.data.calls) return false;
    this.prompts ??= new Prompts(JSON.parse(document.getElementById(`calls-${this.index}`).textContent));
    return true;
  }

  /** The calls about a node, each with the step it belongs to. */
  callsOf(id) {
    if (!this.asked) {
      this.asked = new Map();
      this.steps.forEach(([, nodes], at) => {
        for (const node of nodes) (this.asked.get(node) ?? this.asked.set(node, []).get(node)).push(at + 1);
      });
    }
    if (!this.load()) return [];
    return (this.asked.get(id) ?? []).flatMap((step) => this.prompts.at(step));
  }

  /** The steps that were about a node. */
  stepsOf(id) {
    this.callsOf(id);
    return this.asked.get(id) ?? [];
  }
}
