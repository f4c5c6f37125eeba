// What there is to know of one node: its place, its numbers, its state, and each prompt and reply about it.

const ROLE_WORDS = {
  propose: "Proposed what could follow", rate: "Rated it", cheap: "Rated it (cheap rater)", step: "Took the step",
  reflect: "Asked why it failed", answer: "Asked for the answer",
};

function details(run, id, { pick }) {
  const parts = [heading(run, id, pick), path(run, id, pick), figures(run, id)];
  const text = (name, value) => value && parts.push(section(name, block(value, name)));
  text("State", run.state(id));
  text("Observation", run.get("observation", id));
  const answer = run.get("answer", id);
  if (answer) parts.push(section("Answer", fields(answer)));
  parts.push(exchanges(run, id));
  return h("div", { class: "node-details" }, ...parts);
}

function heading(run, id, pick) {
  const status = run.status(id), of = run.get("of", id);
  return h("header", {},
    h("p", { class: "eyebrow" }, icon(status), ` Node #${id} \u00b7 depth ${run.depth[id]}`),
    h("h2", { text: id ? visible(run.nodes.action[id]).slice(0, 600) || "(blank)" : "Start" }),
    h("p", { class: `verdict is-${status}` }, run.verdict(id), of === null ? null : " ",
      of === null ? null : h("button", { type: "button", class: "link", text: `Go to #${of}`, on: { click: () => pick(run, of) } })));
}

function path(run, id, pick) {
  const steps = run.pathTo(id);
  if (steps.length < 2) return null;
  return h("nav", { class: "path", "aria-label": "Path to this node" }, h("ol", {}, ...steps.map((at) =>
    h("li", {}, h("button", { type: "button", text: run.label(at), "aria-current": at === id ? "true" : undefined, on: { click: () => pick(run, at) } })))));
}

function figures(run, id) {
  const spent = run.get("spent", id), value = run.value(id), verdict = run.get("verdict", id);
  const rows = [
    ["Value", value === null ? null : number(value, 6), verdict && Number(verdict) !== value ? oneLine(verdict) : null],
    ["Ratings", run.get("ratings", id), run.get("rater", id)],
    ["Ratings lost", run.get("lost", id)],
    ["Visits", run.get("visits", id)],
    ["Mean return", number(run.get("mean", id), 6) || null],
    ["Reward", number(run.get("reward", id), 6) || null],
    ["Prior", number(run.get("prior", id), 6) || null],
    ["Nodes below", run.below[id] || null],
  ];
  if (spent) {
    const [calls, tokens, cost, time] = spent;
    rows.push(["LM calls", number(calls, 3)], ["Tokens", number(tokens, 6)], ["Cost", dollars(cost)], ["Call time", seconds(time)]);
  }
  const known = rows.filter(([, value]) => value !== null && value !== undefined && value !== "");
  if (!known.length) return null;
  return h("dl", { class: "figures" }, ...known.map(([name, value, more]) =>
    h("div", {}, h("dt", { text: name }), h("dd", {}, String(value), more ? h("span", { class: "muted", text: ` ${more}` }) : null))));
}

function fields(values) {
  return h("dl", { class: "fields" }, ...Object.entries(values).flatMap(([name, value]) =>
    [h("dt", { text: visible(name) }), h("dd", {}, block(value, name))]));
}

function section(name, ...children) {
  return h("section", {}, h("h3", { text: name }), ...children);
}

// ---- prompts and replies

function exchanges(run, id) {
  const calls = run.callsOf(id), steps = run.stepsOf(id).filter((step) => step <= run.step);
  if (!run.data.calls) {
    const told = run.data.notes.find((note) => note.startsWith("Prompts and replies")) ?? "This run made no LM call.";
    return section("Prompts and replies", h("p", { class: "muted", text: told }));
  }
  if (!calls.length && !steps.length) return section("Prompts and replies", h("p", { class: "muted", text: "No reply was about this node." }));
  const shown = steps.map((step) => exchange(run, id, step, run.prompts.at(step)));
  return section(`Prompts and replies (${calls.length})`, ...shown);
}

function exchange(run, id, step, calls) {
  const [role, nodes, said, tokens, cost, time] = run.steps[step - 1];
  const others = nodes.length - 1;
  const summary = h("summary", {},
    h("strong", { text: role }), ` ${oneLine(said, 80)}`,
    h("span", { class: "muted", text: ` step ${step} \u00b7 ${calls.length ? `${counted(tokens, "token")} \u00b7 ${dollars(cost)} \u00b7 ${seconds(time)}` : "no LM call"}` }));
  const about = others ? h("p", { class: "muted", text: `About this node and ${counted(others, "other")}: the cost is shared out evenly.` }) : null;
  const body = h("details", { class: "exchange" }, summary);
  body.addEventListener("toggle", () => {
    if (body.open && body.children.length === 1) body.append(h("p", { class: "muted", text: ROLE_WORDS[role] ?? role }), ...[about].filter(Boolean), ...calls.map((found) => call(run, found)));
  });
  if (!calls.length) body.append(h("p", { class: "muted", text: "Code or an environment answered; there was no prompt." }));
  return body;
}

function call(run, found) {
  const [given, made] = found.tokens, words = [found.model, given !== null && `${whole(given)} tokens in`, made !== null && `${whole(made)} out`,
    found.cost === null ? "price unknown" : dollars(found.cost), seconds(found.seconds), found.finish && found.finish !== "stop" && `ended by ${found.finish}`, found.cached && "from the cache"];
  return h("div", { class: "call" },
    h("p", { class: "muted", text: words.filter(Boolean).map((word) => oneLine(word)).join(" \u00b7 ") }),
    ...found.messages.map(([role, text]) => h("details", { class: `message ${role === "system" ? "system" : ""}`, open: role !== "system" },
      h("summary", { text: `Prompt: ${oneLine(role, 30)}` }), block(run.prompts.text(text), `Prompt: ${role}`))),
    ...found.outputs.map((text) => h("details", { class: "message reply", open: true }, h("summary", { text: "Reply" }), block(run.prompts.text(text), "Reply"))));
}
