// What is told of the node under the pointer.

/** What the pointer is on; null: nothing. */
function showTip(run, id, event) {
  const tip = document.getElementById("tip");
  tip.hidden = id === null;
  if (id === null) return;
  const value = run.value(id);
  tip.replaceChildren(h("strong", { text: `#${id} ${run.label(id)}` }), h("div", { text: run.verdict(id) + (value === null ? "" : ` \u00b7 value ${number(value)}`) }),
    h("pre", { text: visible(run.state(id).slice(0, 400)) }));
  tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${Math.max(8, Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8))}px`;
}
