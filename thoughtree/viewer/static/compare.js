// Two runs beside each other. Nodes are the same if the same actions lead to them.

const DIFFERENCES = 200; // that are listed

/** Marks what only one of them has, and lists where they came to different things. */
function matched(a, b) {
  const keys = (run) => {
    const found = new Map(), key = new Array(run.count).fill("");
    for (let id = 0; id < run.count; id++) {
      key[id] = id ? `${key[run.nodes.parent[id]]}\u0000${run.nodes.action[id]}` : "";
      if (!found.has(key[id])) found.set(key[id], id);
    }
    return [found, key];
  };
  const [inA] = keys(a), [inB, keysB] = keys(b), pairs = [], differ = [];
  a.only = new Uint8Array(a.count).fill(1);
  b.only = new Uint8Array(b.count);
  for (const [key, id] of inA) {
    if (!inB.has(key)) continue;
    pairs.push([id, inB.get(key)]);
    a.only[id] = 0;
  }
  for (let id = 0; id < b.count; id++) b.only[id] = inA.has(keysB[id]) ? 0 : 1;
  const kind = (run, id) => run.data.statuses[run.nodes.status[id]];
  for (const [x, y] of pairs) if (kind(a, x) !== kind(b, y) || a.nodes.value[x] !== b.nodes.value[y]) differ.push([x, y]);
  const alone = (run) => run.only.reduce((sum, one) => sum + one, 0);
  return { pairs, differ, twin: [new Map(pairs), new Map(pairs.map(([x, y]) => [y, x]))], alone: [alone(a), alone(b)] };
}

function comparison(a, b, match, { pickBoth, pick }) {
  const A = a.data.facts, B = b.data.facts;
  const text = (facts) => Object.values(facts.answer ?? {}).filter(Boolean).join("; ");
  const solved = (run) => (run.path.size > 1 ? [...run.path].slice(1).map((id) => run.label(id)).join(" \u2192 ") : "");
  const roles = [...new Set([...Object.keys(A.spent_by), ...Object.keys(B.spent_by)])];
  const rows = [
    ["Status", A.status, B.status], ["Ended", A.ended ?? "", B.ended ?? ""], ["Answer", oneLine(text(A), 200), oneLine(text(B), 200)], ["Path", solved(a), solved(b)],
    ["Controller", A.controller.kind, B.controller.kind],
    ["Calls", A.spent.calls, B.spent.calls], ...roles.map((role) => [`\u2003${role}`, A.spent_by[role]?.calls ?? 0, B.spent_by[role]?.calls ?? 0]),
    ["Tokens", A.spent.tokens, B.spent.tokens], ["Cost", A.spent.cost, B.spent.cost, dollars], ["Call time", A.spent.seconds, B.spent.seconds, seconds],
    ["Nodes", a.count, b.count], ["Only here", match.alone[0], match.alone[1]],
    ...a.data.statuses.map((name) => [`\u2003${name}`, tallyOf(a, name), tallyOf(b, name)]).filter(([, x, y]) => x || y),
    ...settingsOf(A, B),
  ];
  const table = h("table", { class: "compare" },
    h("thead", {}, h("tr", {}, h("th", {}), h("th", { scope: "col", text: "A" }), h("th", { scope: "col", text: "B" }), h("th", { scope: "col", text: "B \u2212 A" }))),
    h("tbody", {}, ...rows.flatMap(([name, x, y, format]) => compared(name, x, y, format))));
  const listed = match.differ.slice(0, DIFFERENCES).map(([x, y]) => h("li", {}, h("button", { type: "button", class: "link", on: { click: () => pickBoth(x, y) } },
    a.pathTo(x).slice(1).map((id) => a.label(id)).join(" \u2192 ") || "start"), h("span", { class: "muted", text: ` A ${came(a, x)}, B ${came(b, y)}` })));
  return h("div", { class: "comparison" }, h("header", {}, h("h2", { text: "A and B" }), h("p", { class: "muted", text: `A is ${oneLine(a.data.name, 60)}, B is ${oneLine(b.data.name, 60)}.` })), table,
    section(`Same steps, another outcome (${whole(match.differ.length)})`, listed.length ? h("ul", { class: "plain" }, ...listed) : h("p", { class: "muted", text: "None." }),
      match.differ.length > DIFFERENCES ? h("p", { class: "muted", text: `The first ${DIFFERENCES} are listed.` }) : null),
    h("p", { class: "muted", text: `${counted(match.pairs.length, "node")} in both. A dashed ring is around what only one of them has.` }));
}

/** A row, or one for each where they are long. What stands under another thing begins with an em space. */
function compared(name, x, y, format) {
  const cells = [shown(x, format), shown(y, format)], kind = x === y ? "same" : "differs";
  const head = (text) => h("th", { scope: "row", class: name[0] === "\u2003" ? "under" : undefined, text: text.trim() });
  if (Math.max(...cells.map((text) => text.length)) > 16) {
    return cells.map((text, at) => h("tr", { class: kind }, head(`${name} ${"AB"[at]}`), h("td", { class: "long", colspan: 3, text })));
  }
  return [h("tr", { class: kind }, head(name), ...cells.map((text) => h("td", { text })), h("td", { text: change(x, y, format) }))];
}

const tallyOf = (run, name) => run.nodes.status.reduce((sum, status) => sum + (run.data.statuses[status] === name), 0);
const shown = (value, format) => (typeof value === "number" ? (format ?? whole)(value) : String(value ?? ""));
const came = (run, id) => `${run.data.statuses[run.nodes.status[id]]}${run.nodes.value[id] === null ? "" : ` ${number(run.nodes.value[id])}`}`;

function change(x, y, format) {
  if (typeof x !== "number" || typeof y !== "number" || x === y) return "";
  const percent = x ? ` (${y > x ? "+" : "\u2212"}${Math.abs((100 * (y - x)) / x).toFixed(0)}\u00a0%)` : "";
  return (y > x ? "+" : "\u2212") + (format ?? whole)(Math.abs(y - x)) + percent;
}

/** The settings in which they differ. */
function settingsOf(A, B) {
  const names = [...new Set([...Object.keys(A.controller), ...Object.keys(B.controller)])].filter((name) => name !== "kind");
  return names.filter((name) => A.controller[name] !== B.controller[name]).map((name) => [`\u2003${name}`, String(A.controller[name] ?? ""), String(B.controller[name] ?? "")]);
}
