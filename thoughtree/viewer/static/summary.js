// What there is to know of a run as a whole: what came of it, what it took and by whom, what was learnt.

function summary(run, { pick }) {
  const { facts } = run.data;
  const parts = [
    h("header", {}, h("p", { class: "eyebrow", text: visible(run.data.name) }),
      h("h2", { class: `verdict-${facts.status}`, text: capital(facts.status) + (facts.ended && facts.ended !== "goal" ? ` (${facts.ended})` : "") }),
      h("p", { class: "muted", text: `${capital(facts.worth)}.` })),
  ];
  if (facts.answer && Object.values(facts.answer).some(Boolean)) parts.push(section("Answer", fields(facts.answer)));
  if (run.path.size > 1) parts.push(section(facts.status === "solved" ? "Solution" : "Best path", steps(run, pick)));
  parts.push(section("Spent", spending(run)), section("Nodes", statuses(run)));
  if (facts.explained.length) parts.push(section("What happened", h("ul", { class: "plain" }, ...facts.explained.map((line) => h("li", { text: visible(line) })))));
  if (Object.keys(facts.errors).length) parts.push(section("Errors", tally(facts.errors)));
  if (facts.rollouts.length) parts.push(section(`Rollouts (${facts.rollouts.length})`, rollouts(run, pick)));
  if (facts.lessons.length) parts.push(section(`Lessons (${facts.lessons.length})`, h("ol", { class: "plain" }, ...facts.lessons.map((lesson) => h("li", {}, block(lesson, "Lesson"))))));
  parts.push(section("Settings", settings(facts)));
  return h("div", { class: "run-summary" }, ...parts);
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

function steps(run, pick) {
  return h("ol", { class: "steps" }, ...[...run.path].slice(1).map((id) =>
    h("li", {}, h("button", { type: "button", class: "link", text: run.label(id), on: { click: () => pick(run, id) } }))));
}

/** By role: calls, tokens, dollars, seconds of call time, and each one's share of the tokens. */
function spending(run) {
  const { facts } = run.data, rows = Object.entries(facts.spent_by), { spent } = facts;
  const of = spent.tokens ? "tokens" : spent.calls ? "calls" : "seconds";
  const cells = (usage) => [whole(usage.calls), whole(usage.tokens), dollars(usage.cost), seconds(usage.seconds)].map((text) => h("td", { text }));
  const table = h("table", { class: "spending" },
    h("thead", {}, h("tr", {}, ...["Role", "Calls", "Tokens", "Cost", "Call time"].map((text) => h("th", { scope: "col", text })))),
    h("tbody", {}, ...rows.map(([role, usage]) => {
      const bar = h("span", { class: "share" });
      bar.style.width = `${spent[of] ? (100 * usage[of]) / spent[of] : 0}%`;
      return h("tr", { data: { role } }, h("th", { scope: "row" }, role, h("span", { class: "track", title: `share of the ${of}` }, bar)), ...cells(usage));
    })),
    h("tfoot", {}, h("tr", {}, h("th", { scope: "row", text: "All" }), ...cells(spent))));
  const notes = [
    facts.seconds ? `Wall time ${seconds(facts.seconds)}.` : "",
    facts.unfinished ? `${counted(facts.unfinished, "call")} still in flight at the end.` : "",
    ...Object.entries(facts.unread).map(([role, count]) => `${capital(role)}: ${counted(count, "reply").replace("replys", "replies")} could not be read.`),
    facts.clamped ? `${counted(facts.clamped, "rating")} off the scale.` : "",
    Object.keys(facts.predicted).length ? `World model: ${facts.predicted.right} of ${facts.predicted.right + facts.predicted.wrong} checked predictions were right.` : "",
    facts.unclosed ? `The closing call gave no answer: ${oneLine(facts.unclosed, 300)}` : "",
  ].filter(Boolean);
  return h("div", {}, table, notes.length ? h("p", { class: "muted", text: notes.join(" ") }) : null);
}

function statuses(run) {
  const counts = new Map();
  for (const status of run.nodes.status) counts.set(run.data.statuses[status], (counts.get(run.data.statuses[status]) ?? 0) + 1);
  const order = run.data.statuses.filter((name) => counts.has(name));
  const bar = h("div", { class: "mix", "aria-hidden": "true" }, ...order.map((name) => {
    const part = h("span", { class: `part is-${name}` });
    part.style.flexGrow = String(counts.get(name));
    return part;
  }));
  return h("div", {}, bar, h("ul", { class: "legend" }, ...order.map((name) => h("li", {}, icon(name), ` ${name} ${whole(counts.get(name))}`))));
}

function tally(counts) {
  return h("ul", { class: "plain" }, ...Object.entries(counts).map(([text, count]) => h("li", {}, `${count} \u00d7 `, visible(text).slice(0, 2000))));
}

function rollouts(run, pick) {
  const names = ["leaf", "value", "calls", "proposals", "steps", "ratings", "reflections"];
  const cell = (log, name) => (name === "leaf"
    ? h("td", {}, h("button", { type: "button", class: "link", text: `#${log.leaf}`, on: { click: () => pick(run, log.leaf) } }))
    : h("td", { text: log[name] === null ? "" : number(log[name]) }));
  return h("div", { class: "scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col", text: "" }), ...names.map((name) => h("th", { scope: "col", text: name })))),
    h("tbody", {}, ...run.data.facts.rollouts.slice(0, 500).map((log, at) => h("tr", {}, h("th", { scope: "row", text: String(at + 1) }), ...names.map((name) => cell(log, name)))))));
}

/** Its knobs, its kind first and under its own name. */
function controllerOf({ controller: { kind, ...knobs } }) {
  return { controller: kind, ...knobs };
}

function settings(facts) {
  const rows = { ...(facts.program && { program: facts.program }), ...(facts.task && { task: facts.task }), ...controllerOf(facts),
    ...Object.fromEntries(Object.entries(facts.rating).map(([name, value]) => [`rating: ${name}`, value])), ...(facts.seed !== null && { seed: facts.seed }), ...facts.versions };
  return h("dl", { class: "settings" }, ...Object.entries(rows).filter(([, value]) => value !== null).flatMap(([name, value]) => [h("dt", { text: visible(name) }), h("dd", { text: oneLine(String(value), 400) })]));
}
