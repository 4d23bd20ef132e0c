"""Layouts as one self-contained page: point at an element, and all that its thread owns is marked."""

from __future__ import annotations

import json

from tri_gpu_dialect.drawing.ownership import Ownership
from tri_gpu_dialect.drawing.svg import draw_svg

__all__ = ["draw_page"]


def draw_page(found: Ownership) -> str:
    """An HTML document with the picture, the owners as data and a script; nothing is fetched."""
    owners = [
        [[o.register, o.lane, o.warp, o.block, -1 if o.offset is None else o.offset] for o in owners]
        for owners in found.owners
    ]
    data = {
        "shape": found.shape,
        "shared": found.shared,
        "lanes": found.lanes,
        "blocks": found.blocks,
        "owners": owners,
    }
    # a script element ends at the first "</"
    encoded = json.dumps(data, separators=(",", ":")).replace("</", "<\\/")
    values = {"TITLE": _escaped(found.summary()), "ENCODING": _escaped(str(found.encoding))}
    made = _PAGE
    for key, value in (*values.items(), ("SVG", draw_svg(found)), ("DATA", encoded)):
        made = made.replace(f"@{key}@", value)
    return made


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>@TITLE@</title>
<style>
body { font: 14px sans-serif; margin: 1em; }
code { overflow-wrap: anywhere; }
#picture { overflow: auto; }
g { cursor: pointer; }
g.dim rect { fill-opacity: 0.25; }
g.mark rect { stroke: black; stroke-width: 3; }
#note { min-height: 3em; font-family: monospace; white-space: pre-line; }
</style>
</head>
<body>
<h1>@TITLE@</h1>
<p><code>@ENCODING@</code></p>
<p id="choices">
<label>show <select id="shown"></select></label>
<label>mark all of the same <select id="same"></select></label>
</p>
<p id="note">Point at an element.</p>
<div id="picture">@SVG@</div>
<script id="data" type="application/json">@DATA@</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const cells = [...document.querySelectorAll("#picture g")];
const shown = document.getElementById("shown"), same = document.getElementById("same");
const note = document.getElementById("note");
const views = data.shared
  ? {offset: o => o[4], block: o => o[3]}
  : {thread: o => o[2] * data.lanes + o[1], lane: o => o[1], warp: o => o[2], register: o => o[0], block: o => o[3]};
const keys = data.shared
  ? {"block": o => o[3], "offset modulo 32": o => o[4] % 32, "offset / 32": o => Math.floor(o[4] / 32)}
  : {thread: o => [o[3], o[2], o[1]].join(), warp: o => [o[3], o[2]].join(), register: o => o[0], lane: o => o[1], block: o => o[3]};
for (const name of Object.keys(views)) shown.add(new Option(name));
for (const name of Object.keys(keys)) same.add(new Option(name));
function place(i) {
  const at = [];
  for (const size of [...data.shape].reverse()) { at.unshift(i % size); i = Math.floor(i / size); }
  return "(" + at.join(", ") + ")";
}
function text(o) {
  const block = data.blocks > 1 ? "block " + o[3] + ", " : "";
  return data.shared ? block + "offset " + o[4] : block + "warp " + o[2] + ", lane " + o[1] + ", register " + o[0];
}
function shownOf(owners) {
  // copies: the first thread stands for all, but every block is named
  if (shown.value !== "block") return views[shown.value](owners[0]);
  return [...new Set(owners.map(views.block))].sort((a, b) => a - b).join("|");
}
function label() {
  cells.forEach((cell, i) => { cell.querySelector("text").textContent = shownOf(data.owners[i]); });
}
function mark(i) {
  const wanted = new Set(data.owners[i].map(keys[same.value]));
  let count = 0;
  cells.forEach((cell, j) => {
    const hit = data.owners[j].some(o => wanted.has(keys[same.value](o)));
    count += hit;
    cell.setAttribute("class", hit ? "mark" : "dim");
  });
  note.textContent = place(i) + ": " + data.owners[i].map(text).join("; ") + "\\n" + count + " elements of the same " + same.value;
}
cells.forEach((cell, i) => cell.addEventListener("mouseenter", () => mark(i)));
document.getElementById("picture").addEventListener("mouseleave", () => {
  cells.forEach(cell => cell.removeAttribute("class"));
});
shown.addEventListener("change", label);
</script>
</body>
</html>
"""
