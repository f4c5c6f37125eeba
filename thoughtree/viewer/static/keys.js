// The list of keys, as a dialog.

function showKeys() {
  const dialog = document.getElementById("keys");
  const rows = [["Up, Down, Home, End, Page Up, Page Down", "Go through the tree"], ["Right, Left", "Open, close; to the first child, to the parent"], ["*", "Open all siblings"], ["Enter", "To the details of the node"],
    ["/", "Search; Enter and Shift+Enter go through the hits"], ["n, N", "Next and previous hit"], ["Space", "Play, pause"], [", and .", "One step back, one step on"], ["Esc", "Back to the tree; from there, to the run"],
    ["On the map: drag, wheel, + and -, arrows, 0", "Move, zoom, fit"], ["On the map: double click, or the sign at a card", "Open, close"]];
  dialog.replaceChildren(h("h2", { id: "keys-title", text: "Keys" }), h("dl", {}, ...rows.flatMap(([keys, what]) => [h("dt", { text: keys }), h("dd", { text: what })])),
    h("button", { type: "button", autofocus: true, text: "Close", on: { click: () => dialog.close() } }));
  dialog.showModal();
}
