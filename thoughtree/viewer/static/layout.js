// Where the visible nodes stand on the map: depth to the right, and as close together as their subtrees' outlines let them
// (Reingold and Tilford, "Tidier Drawings of Trees", 1981). A parent stands at the middle of its children; on the path
// that is given back beside the next node of the path, which makes the path one line.

const CARD = { width: 216, height: 46, across: 56, down: 10 };

/** The upper and the lower end of a subtree at each depth, the deepest first, in the frame of its root, less `add`. */
class Shape {
  constructor() {
    this.top = [];
    this.bottom = [];
    this.add = 0;
  }

  /** How far below this one's root that of `other` has to stand. */
  below(other) {
    let far = -Infinity;
    for (let k = 1, most = Math.min(this.top.length, other.top.length); k <= most; k++) {
      far = Math.max(far, this.bottom[this.bottom.length - k] + this.add - other.top[other.top.length - k] - other.add);
    }
    return far + CARD.height + CARD.down;
  }

  /** The outline of both, `other` standing at `y`. The longer lists are kept and the shorter folded in. */
  with(other, y) {
    const longer = this.top.length >= other.top.length ? this : other;
    other.add += y;
    for (let k = 1, most = Math.min(this.top.length, other.top.length); k <= most; k++) {
      if (longer === this) this.bottom[this.bottom.length - k] = other.bottom[other.bottom.length - k] + other.add - this.add;
      else other.top[other.top.length - k] = this.top[this.top.length - k] + this.add - other.add;
    }
    return longer;
  }
}

function layout(run) {
  const { rows, depth } = run, { parent } = run.nodes, n = run.count;
  const x = new Float32Array(n), y = new Float64Array(n), away = new Float64Array(n), shapes = new Array(n);
  const first = new Int32Array(n).fill(-1), after = new Int32Array(n).fill(-1), beside = new Int32Array(n).fill(-1);
  for (let at = rows.length - 1; at > 0; at--) { // the visible children of each, as a list
    const id = rows[at], above = parent[id];
    after[id] = first[above];
    first[above] = id;
    if (run.path.has(id)) beside[above] = id;
  }
  for (let at = rows.length - 1; at >= 0; at--) {
    const id = rows[at], eldest = first[id];
    let shape, last = eldest;
    if (eldest < 0) shape = new Shape();
    else {
      shape = shapes[eldest];
      for (let child = after[eldest]; child >= 0; child = after[child]) {
        away[child] = shape.below(shapes[child]);
        shape = shape.with(shapes[child], away[child]);
        last = child;
      }
      const middle = beside[id] >= 0 ? away[beside[id]] : away[last] / 2;
      for (let child = eldest; child >= 0; child = after[child]) {
        away[child] -= middle;
        shapes[child] = null;
      }
      shape.add -= middle;
    }
    shape.top.push(-shape.add);
    shape.bottom.push(-shape.add);
    shapes[id] = shape;
  }
  let low = 0, high = 0, right = 0;
  for (const id of rows) {
    x[id] = depth[id] * (CARD.width + CARD.across);
    y[id] = id === rows[0] ? 0 : y[parent[id]] + away[id];
    if (y[id] < low) low = y[id];
    if (y[id] > high) high = y[id];
    if (x[id] > right) right = x[id];
  }
  for (const id of rows) y[id] -= low;
  return { x, y, width: right + CARD.width, height: high - low + CARD.height };
}
