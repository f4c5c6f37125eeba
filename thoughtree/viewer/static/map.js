// The map: a canvas that can be moved and zoomed. What it shows is in the outline too, which a screen reader reads.

const ZOOM = { least: 0.004, most: 2.5 };

class MapView {
  constructor(run, act) {
    this.run = run;
    this.act = act; // pick, toggle, tip
    this.canvas = h("canvas", { tabindex: 0, role: "img", class: "map" });
    this.frame = h("div", { class: "frame" }, this.caption = h("div", { class: "caption" }), this.canvas, this.tools());
    this.painter = new Painter(this.canvas.getContext("2d"), getComputedStyle(document.body).fontFamily);
    Object.assign(this, { scale: 1, left: -24, top: 0, width: 0, height: 0, ratio: 1, hits: new Set(), hover: null });
    this.listen();
  }

  tools() {
    const button = (text, name, act) => h("button", { type: "button", text, "aria-label": name, title: name, on: { click: act } });
    return h("div", { class: "map-tools" },
      button("+", "Zoom in", () => this.zoomBy(1.4)),
      button("\u2212", "Zoom out", () => this.zoomBy(1 / 1.4)),
      button("Fit", "Fit the whole tree", () => this.fit()),
      button("Here", "To the selected node", () => this.focus(this.run.selected ?? 0)));
  }

  listen() {
    const { canvas } = this;
    let drag = null, moved = false;
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, y: event.clientY, left: this.left, top: this.top };
      moved = false;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (drag) {
        const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
        moved ||= Math.hypot(dx, dy) > 4;
        this.left = drag.left - dx / this.scale;
        this.top = drag.top - dy / this.scale;
        return this.draw();
      }
      const found = this.nodeAt(event);
      if (found !== this.hover) {
        this.hover = found;
        canvas.classList.toggle("over", found !== null);
        this.act.tip(found, event);
        this.draw();
      }
    });
    canvas.addEventListener("pointerup", (event) => {
      drag = null;
      if (moved) return;
      const knob = this.knobAt(event), id = knob ?? this.nodeAt(event);
      if (knob !== null) this.act.toggle(this.run, knob);
      else if (id !== null) this.act.pick(this.run, id);
    });
    canvas.addEventListener("pointercancel", () => (drag = null));
    canvas.addEventListener("pointerleave", () => this.leave());
    canvas.addEventListener("dblclick", (event) => {
      const id = this.nodeAt(event);
      if (id !== null) this.act.toggle(this.run, id);
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.shiftKey) {
        this.left += event.deltaY / this.scale;
        return this.draw();
      }
      const at = canvas.getBoundingClientRect();
      this.zoomBy(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)), event.clientX - at.left, event.clientY - at.top);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const far = 80 / this.scale;
    const move = { ArrowLeft: [-far, 0], ArrowRight: [far, 0], ArrowUp: [0, -far], ArrowDown: [0, far] }[event.key];
    if (move) {
      this.left += move[0];
      this.top += move[1];
      this.draw();
    } else if (event.key === "+" || event.key === "=") this.zoomBy(1.25);
    else if (event.key === "-") this.zoomBy(1 / 1.25);
    else if (event.key === "0") this.fit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  leave() {
    if (this.hover === null) return;
    this.hover = null;
    this.act.tip(null);
    this.draw();
  }

  // ---- where it is

  resize() {
    const { clientWidth, clientHeight } = this.canvas;
    this.ratio = window.devicePixelRatio || 1;
    this.width = clientWidth;
    this.height = clientHeight;
    this.canvas.width = Math.max(1, Math.round(clientWidth * this.ratio));
    this.canvas.height = Math.max(1, Math.round(clientHeight * this.ratio));
  }

  zoomBy(factor, x = this.width / 2, y = this.height / 2) {
    const scale = Math.min(ZOOM.most, Math.max(ZOOM.least, this.scale * factor));
    this.left += x / this.scale - x / scale;
    this.top += y / this.scale - y / scale;
    this.scale = scale;
    this.draw();
  }

  fit(most = 1.1) {
    const { width, height } = this.place, gap = 28;
    this.scale = Math.min(most, (this.width - 2 * gap) / width, (this.height - 2 * gap) / height);
    this.scale = Math.max(ZOOM.least, this.scale);
    this.left = (width - this.width / this.scale) / 2;
    this.top = (height - this.height / this.scale) / 2;
    this.draw();
  }

  /** The whole tree where it can be read so; else the path that is given back, at a scale at which it can. */
  open() {
    this.fit();
    if (this.scale >= 0.6) return;
    this.scale = 0.85;
    this.left = -24 / this.scale;
    this.top = this.place.y[0] + CARD.height / 2 - this.height / this.scale / 2;
    this.draw();
  }

  isInView(id) {
    const x = (this.place.x[id] - this.left) * this.scale, y = (this.place.y[id] - this.top) * this.scale;
    return x > 0 && y > 0 && x + CARD.width * this.scale < this.width && y + CARD.height * this.scale < this.height;
  }

  focus(id) {
    if (this.scale < NEAR) this.scale = 0.8;
    this.left = this.place.x[id] + CARD.width / 2 - this.width / this.scale / 2;
    this.top = this.place.y[id] + CARD.height / 2 - this.height / this.scale / 2;
    this.draw();
  }

  point(event) {
    const at = this.canvas.getBoundingClientRect();
    return [(event.clientX - at.left) / this.scale + this.left, (event.clientY - at.top) / this.scale + this.top];
  }

  nodeAt(event) {
    const [x, y] = this.point(event), { place } = this;
    for (const id of this.run.rows) {
      if (x >= place.x[id] && x <= place.x[id] + CARD.width && y >= place.y[id] && y <= place.y[id] + CARD.height) return id;
    }
    return null;
  }

  knobAt(event) {
    if (this.scale < NEAR) return null;
    const [x, y] = this.point(event), { place, run } = this;
    for (const id of run.rows) {
      const cx = place.x[id] + CARD.width, cy = place.y[id] + CARD.height / 2;
      if (run.hasChildren(id) && Math.abs(x - cx) <= 14 && Math.abs(y - cy) <= 9) return id;
    }
    return null;
  }

  // ---- painting, once a frame

  update() {
    this.place = layout(this.run);
    this.canvas.setAttribute("aria-label",
      `Map of ${counted(this.run.rows.length, "visible node")}. Arrow keys move it, + and - zoom, 0 fits it. The outline has the same nodes.`);
    this.draw();
  }

  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      this.paint();
    });
  }

  paint() {
    if (!this.place || !this.width) return;
    this.colours ??= palette(this.caption);
    this.painter.paint(this);
  }
}
