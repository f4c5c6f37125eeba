// Where the visible nodes stand on the map: depth to the right, leaves one below the other, parents at their middle.

const CARD = { width: 216, height: 46, across: 56, down: 10 };

function layout(run) {
  const { rows, depth } = run, x = new Float32Array(run.count), y = new Float32Array(run.count);
  const low = new Float32Array(run.count), high = new Float32Array(run.count), placed = new Uint8Array(run.count);
  const { parent } = run.nodes;
  let leaf = 0, right = 0;
  for (let at = 0; at < rows.length; at++) {
    const id = rows[at], isLeaf = at + 1 === rows.length || parent[rows[at + 1]] !== id;
    x[id] = depth[id] * (CARD.width + CARD.across);
    if (x[id] > right) right = x[id];
    if (isLeaf) low[id] = high[id] = leaf++ * (CARD.height + CARD.down);
  }
  for (let at = rows.length - 1; at >= 0; at--) {
    const id = rows[at], above = parent[id];
    y[id] = (low[id] + high[id]) / 2;
    if (at === 0) break;
    if (!placed[above] || y[id] < low[above]) low[above] = y[id];
    if (!placed[above] || y[id] > high[above]) high[above] = y[id];
    placed[above] = 1;
  }
  return { x, y, width: right + CARD.width, height: Math.max(1, leaf) * (CARD.height + CARD.down) };
}
