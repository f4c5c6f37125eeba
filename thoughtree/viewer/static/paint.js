// Drawing the map: lines first, then the nodes that are in view; far away as bars of colour, near as cards with words.

const NEAR = 0.42; // scale from which on words can be read
const FAINT = new Set(["pruned", "duplicate", "illegal", "failed"]);
const SHAPES = Object.fromEntries(Object.entries(ICONS).map(([status, path]) => [status, new Path2D(path)]));
const NAMES = ["ground", "card", "ink", "muted", "line", "edge", "path", "accent", "hit", "active", "bar"];

/** The colours of the style sheet as they are now: light or dark. */
function palette(probe) {
  const read = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const found = Object.fromEntries(NAMES.map((name) => [name, read(name)]));
  for (const status of Object.keys(ICONS)) found[status] = read(`is-${status}`);
  probe.style.color = "";
  return found;
}

class Painter {
  constructor(context, font) {
    this.context = context;
    this.font = font;
    this.cuts = new Map(); // texts that were cut to a width, by what they were
  }

  paint(view) {
    const { context } = this, { run, place, scale, left, top, width, height, ratio, colours } = view;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, width, height);
    context.setTransform(ratio * scale, 0, 0, ratio * scale, -left * scale * ratio, -top * scale * ratio);
    const seen = { left: left - 8, top: top - 8, right: left + width / scale + 8, bottom: top + height / scale + 8 };
    this.edges(run, place, seen, scale, colours);
    const marks = { hits: view.hits, active: new Set(run.active()), hover: view.hover, only: run.only };
    for (const id of run.rows) {
      const x = place.x[id], y = place.y[id];
      if (x > seen.right || y > seen.bottom || x + CARD.width < seen.left || y + CARD.height < seen.top) continue;
      if (scale < NEAR) this.bar(run, id, x, y, scale, colours, marks);
      else this.card(run, id, x, y, colours, marks);
    }
  }

  edges(run, place, seen, scale, colours) {
    const { context } = this, { parent } = run.nodes, solution = [];
    context.beginPath();
    for (let at = 1; at < run.rows.length; at++) {
      const id = run.rows[at], above = parent[id];
      const x2 = place.x[id], y1 = place.y[above] + CARD.height / 2, y2 = place.y[id] + CARD.height / 2;
      const x1 = place.x[above] + CARD.width;
      if (x1 > seen.right || x2 < seen.left || Math.max(y1, y2) < seen.top || Math.min(y1, y2) > seen.bottom) continue;
      if (run.isOnPath(id)) solution.push([x1, y1, x2, y2]);
      else this.edge(x1, y1, x2, y2, scale);
    }
    context.strokeStyle = colours.edge;
    context.lineWidth = Math.max(1, 0.8 / scale);
    context.stroke();
    context.beginPath();
    for (const [x1, y1, x2, y2] of solution) this.edge(x1, y1, x2, y2, scale);
    context.strokeStyle = colours.path;
    context.lineWidth = Math.max(3, 2.5 / scale);
    context.stroke();
  }

  edge(x1, y1, x2, y2, scale) {
    const middle = (x1 + x2) / 2;
    this.context.moveTo(x1, y1);
    if (scale < NEAR) this.context.lineTo(x2, y2);
    else this.context.bezierCurveTo(middle, y1, middle, y2, x2, y2);
  }

  bar(run, id, x, y, scale, colours, marks) {
    const { context } = this, status = run.status(id);
    context.globalAlpha = FAINT.has(status) ? 0.55 : 1;
    context.fillStyle = run.isOnPath(id) ? colours.path : colours[status];
    context.fillRect(x, y, CARD.width, CARD.height);
    context.globalAlpha = 1;
    this.ring(run, id, x, y, 3 / scale, colours, marks);
  }

  card(run, id, x, y, colours, marks) {
    const { context } = this, status = run.status(id), faint = FAINT.has(status), onPath = run.isOnPath(id);
    context.beginPath();
    context.roundRect(x, y, CARD.width, CARD.height, 7);
    context.fillStyle = colours.card;
    context.fill();
    context.setLineDash(faint ? [4, 3] : []);
    context.strokeStyle = onPath ? colours.path : colours.line;
    context.lineWidth = onPath ? 2 : 1;
    context.stroke();
    context.setLineDash([]);
    this.ring(run, id, x, y, 2.5, colours, marks);
    this.symbol(status, x + 9, y + 9, colours[status]);
    const right = this.worth(run, id, x, y, colours);
    context.textAlign = "left";
    context.fillStyle = faint ? colours.muted : colours.ink;
    context.font = `${onPath ? "600" : "500"} 12.5px ${this.font}`;
    context.fillText(this.cut(run.label(id), right - x - 34), x + 28, y + 19);
    const word = FAINT.has(status) ? "" : run.word(id), end = x + CARD.width - (run.canOpen(id) ? 22 : 9);
    context.fillStyle = colours.muted;
    context.font = `11px ${this.font}`;
    const room = end - x - 34 - (word ? context.measureText(word).width + 6 : 0);
    context.fillText(this.cut(FAINT.has(status) ? run.verdict(id) : run.brief(id), room), x + 28, y + 36);
    context.textAlign = "right";
    context.fillText(word, end, y + 36);
    this.value(run, id, x, y, colours);
    if (run.canOpen(id)) this.knob(run, id, x, y, colours);
  }

  /** The value and the visits, at the right; returns where they begin. */
  worth(run, id, x, y, colours) {
    const { context } = this, value = run.value(id), visits = run.step >= run.steps.length ? run.get("visits", id) : null;
    const words = [value === null ? "" : number(value, 3), visits === null ? "" : `\u00d7${visits}`].filter(Boolean).join("  ");
    if (!words) return x + CARD.width - 8;
    const end = x + CARD.width - (run.canOpen(id) ? 22 : 9);
    context.font = `600 11px ${this.font}`;
    context.textAlign = "right";
    context.fillStyle = colours.muted;
    context.fillText(words, end, y + 18);
    return end - 5 - context.measureText(words).width;
  }

  /** A thin bar along the foot: how the value compares with the others. */
  value(run, id, x, y, colours) {
    const share = run.share(run.value(id));
    if (!share) return;
    this.context.fillStyle = colours.bar;
    this.context.fillRect(x + 7, y + CARD.height - 4, (CARD.width - 14) * share, 2);
  }

  knob(run, id, x, y, colours) {
    const { context } = this, cx = x + CARD.width, cy = y + CARD.height / 2;
    const below = run.below[id] > 999 ? `${Math.floor(run.below[id] / 1000)}k` : run.below[id];
    const words = run.expanded[id] ? "\u2212" : `+${below}`;
    context.font = `600 10px ${this.font}`;
    const width = Math.max(16, context.measureText(words).width + 8);
    context.beginPath();
    context.roundRect(cx - width / 2, cy - 8, width, 16, 8);
    context.fillStyle = run.expanded[id] ? colours.card : colours.accent;
    context.fill();
    context.strokeStyle = run.expanded[id] ? colours.line : colours.accent;
    context.lineWidth = 1;
    context.stroke();
    context.fillStyle = run.expanded[id] ? colours.muted : colours.card;
    context.textAlign = "center";
    context.fillText(words, cx, cy + 3.5);
  }

  symbol(status, x, y, colour) {
    const { context } = this;
    context.save();
    context.translate(x, y);
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = 1.4;
    context.lineJoin = "round";
    if (FILLED.has(status)) context.fill(SHAPES[status]);
    context.stroke(SHAPES[status] ?? SHAPES.open);
    context.restore();
  }

  ring(run, id, x, y, width, colours, marks) {
    const colour =
      id === run.selected ? colours.accent
      : marks.active.has(id) ? colours.active
      : marks.hits.has(id) ? colours.hit
      : marks.only && marks.only[id] ? colours.active
      : id === marks.hover ? colours.muted
      : null;
    if (!colour) return;
    const { context } = this, gap = width * 0.8;
    if (marks.only && marks.only[id] && id !== run.selected) context.setLineDash([2 * width, 2 * width]);
    context.beginPath();
    context.roundRect(x - gap, y - gap, CARD.width + 2 * gap, CARD.height + 2 * gap, 9);
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.stroke();
    context.setLineDash([]);
  }

  /** As much of a text as fits, measured once. */
  cut(text, width) {
    if (!text) return "";
    const key = `${this.context.font}|${Math.round(width)}|${text}`;
    let found = this.cuts.get(key);
    if (found === undefined) {
      found = this.fit(text, width);
      if (this.cuts.size > 20000) this.cuts.clear();
      this.cuts.set(key, found);
    }
    return found;
  }

  fit(text, width) {
    const { context } = this;
    if (context.measureText(text).width <= width) return text;
    let low = 0, high = text.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (context.measureText(text.slice(0, middle) + "\u2026").width <= width) low = middle;
      else high = middle - 1;
    }
    return text.slice(0, low) + "\u2026";
  }
}
