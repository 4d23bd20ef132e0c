"use strict";
const tabs = JSON.parse(document.getElementById("data").textContent);
const CHUNK = 200;

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// --- one column of lines -------------------------------------------------------------------------------

class Column {
  constructor(view, name, title) {
    this.view = view;
    this.name = name;
    this.rows = [];
    this.current = -1;
    this.head = element("div", {class: "head"}, element("h2", {}, title));
    this.lines = element("div", {class: "lines"});
    this.text = element("div", {class: "text", tabindex: 0, role: "listbox", "aria-label": title}, this.lines);
    this.root = element("section", {class: "column", "data-column": name}, this.head, this.text);
    this.text.addEventListener("keydown", event => this.key(event));
    this.text.addEventListener("mouseover", event => {
      const row = this.rowOf(event.target);
      if (row && row.kind !== "source") row.element.title = row.places.map(p => view.named(p)).join("\n← ");
      view.point(row);
    });
    this.text.addEventListener("mouseleave", () => view.point(null));
    this.text.addEventListener("click", event => this.click(event));
  }

  // rows: {text, number, places, kind}; places is an array of "file:line"
  show(rows, layouts) {
    const pieces = layouts && Object.keys(layouts).length ? pattern(Object.keys(layouts)) : null;
    this.rows = rows;
    this.byPlace = new Map();
    this.current = -1;
    this.text.removeAttribute("aria-activedescendant");
    const chunks = [];
    rows.forEach((row, i) => {
      if (i % CHUNK === 0) chunks.push(element("div", {class: "chunk", style: "contain-intrinsic-size: auto " + Math.min(CHUNK, rows.length - i) * 16.8 + "px"}));
      row.column = this;
      row.index = i;
      row.element = this.line(row, pieces, layouts);
      chunks[chunks.length - 1].append(row.element);
      for (const place of row.places) {
        if (!this.byPlace.has(place)) this.byPlace.set(place, []);
        this.byPlace.get(place).push(row);
      }
    });
    this.lines.replaceChildren(...chunks);
  }

  line(row, pieces, layouts) {
    // thousands of them: no more is set than what a line looks like
    const made = document.createElement("div");
    made.className = row.kind ? "line " + row.kind : "line";
    made.setAttribute("role", "option");
    made.setAttribute("data-number", row.number);
    made.row = row;
    if (row.places.length) {
      made.setAttribute("data-hue", "");
      made.setAttribute("style", "--hue:" + this.view.hue(row.places));
    }
    if (!pieces) { made.textContent = row.text || "\u200b"; return made; }
    let from = 0;
    for (const found of row.text.matchAll(pieces)) {
      made.append(row.text.slice(from, found.index));
      const mark = element("span", {class: "layout"}, found[0]);
      mark.layout = {definition: layouts[found[0]], before: row.text.slice(0, found.index), name: found[0]};
      made.append(mark);
      from = found.index + found[0].length;
    }
    made.append(row.text.slice(from));
    return made;
  }

  rowOf(target) {
    const line = target.closest ? target.closest(".line") : null;
    return line ? line.row : null;
  }

  click(event) {
    if (event.target.layout) { this.view.open(event.target.layout); return; }
    const row = this.rowOf(event.target);
    if (!row || !getSelection().isCollapsed) return;
    this.move(row.index, false);
    this.view.pin(row);
  }

  move(index, scroll = true) {
    if (!this.rows.length) return;
    this.rows[this.current]?.element.classList.remove("current");
    this.current = Math.max(0, Math.min(this.rows.length - 1, index));
    const made = this.rows[this.current].element;
    made.classList.add("current");
    made.id = this.view.id + "-" + this.name + "-" + this.current;
    this.text.setAttribute("aria-activedescendant", made.id);
    if (scroll) this.reveal(made, false);
  }

  // scrolls up and down only: lines are wider than columns
  reveal(line, centred) {
    const box = this.text.getBoundingClientRect(), at = line.getBoundingClientRect();
    if (centred) this.text.scrollTop += (at.top + at.bottom - box.top - box.bottom) / 2;
    else if (at.top < box.top) this.text.scrollTop += at.top - box.top;
    else if (at.bottom > box.bottom) this.text.scrollTop += at.bottom - box.bottom + 20;
  }

  key(event) {
    const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -1e9, End: 1e9};
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in steps) {
      this.move(this.current + steps[event.key]);
      this.view.point(this.rows[this.current]);
    } else if (event.key === "Enter" && this.current >= 0) {
      this.view.pin(this.rows[this.current]);
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      this.view.neighbour(this, event.key === "ArrowRight" ? 1 : -1);
    } else return;
    event.preventDefault();
  }

  // the rows whose places contain, or are contained in, those of the row
  linked(places) {
    const wanted = new Set(places);
    const found = new Set();
    for (const place of places) {
      for (const row of this.byPlace.get(place) || []) {
        const common = row.places.filter(p => wanted.has(p)).length;
        if (common === wanted.size || common === row.places.length) found.add(row);
      }
    }
    return [...found].sort((a, b) => a.index - b.index);
  }
}

function pattern(words) {
  const escaped = words.sort((a, b) => b.length - a.length).map(w => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp("(?:" + escaped.join("|") + ")(?!\\w)", "g");
}

// --- a stage with the versions of its text -----------------------------------------------------------------

class StageColumn extends Column {
  constructor(view, stage, i) {
    super(view, String(i), stage.name);
    this.versions = stage.versions.map((v, n) => ({...v, lines: v.same ? null : v.lines, base: n}));
    this.versions.forEach((v, n) => { if (v.same) { v.lines = this.versions[n - 1].lines; v.changes = []; } });
    this.chosen = this.versions.length - 1;
    this.status = element("small", {"aria-live": "polite"});
    this.shapes = element("span", {});
    if (this.versions.length > 1) this.head.append(...this.choices());
    this.head.append(this.status, this.shapes);
    this.refresh();
  }

  choices() {
    this.select = element("select", {"aria-label": "after pass", onchange: () => { this.chosen = this.select.selectedIndex; this.refresh(); }});
    this.versions.forEach((v, i) => this.select.add(new Option(i + ": " + v.title + (v.same ? " (changed nothing)" : ""))));
    this.select.selectedIndex = this.chosen;
    const step = by => () => {
      let next = this.chosen + by;
      while (this.versions[next]?.same) next += by;
      if (this.versions[next]) { this.select.selectedIndex = this.chosen = next; this.refresh(); }
    };
    this.diff = element("button", {"aria-pressed": "false", title: "against the pass before", onclick: () => {
      this.diff.setAttribute("aria-pressed", String(this.diff.getAttribute("aria-pressed") !== "true"));
      this.refresh();
    }}, "diff");
    return [element("span", {class: "passes"},
      element("button", {"aria-label": "previous pass with changes", onclick: step(-1)}, "◀"), this.select,
      element("button", {"aria-label": "next pass with changes", onclick: step(1)}, "▶"), this.diff)];
  }

  refresh() {
    const version = this.versions[this.chosen];
    const diff = this.diff && this.diff.getAttribute("aria-pressed") === "true";
    this.show(diff ? this.changed(version) : version.lines.map((n, i) => this.row(n, i)), version.layouts);
    this.status.textContent = diff ? this.summary(version) : "";
    const names = Object.keys(version.layouts).filter(name => /^#\w+$/.test(name)).sort();
    this.shapes.replaceChildren(...names.map(name => element("button", {
      title: this.view.data.definitions[version.layouts[name]],
      onclick: () => this.view.open({definition: version.layouts[name], name, before: ""}),
    }, name)));
    this.view.refresh();
  }

  row(number, i, kind = "") {
    const [text, place] = this.view.data.lines[number];
    return {text, number: i + 1, places: this.view.keys[place], kind};
  }

  changed(version) {
    const before = this.chosen ? this.versions[this.chosen - 1].lines : version.lines;
    const rows = [];
    let at = 0;
    for (const [i, j, k, m] of version.changes) {
      for (; at < k; at++) rows.push(this.row(version.lines[at], at));
      for (let n = i; n < j; n++) rows.push(this.row(before[n], n, "removed"));
      for (; at < m; at++) rows.push(this.row(version.lines[at], at, "added"));
    }
    for (; at < version.lines.length; at++) rows.push(this.row(version.lines[at], at));
    return rows;
  }

  summary(version) {
    if (this.chosen === 0) return "nothing before it";
    let added = 0, removed = 0;
    for (const [i, j, k, m] of version.changes) { removed += j - i; added += m - k; }
    return added + removed ? "+" + added + " −" + removed : "changed nothing";
  }
}

// --- one compile -------------------------------------------------------------------------------------------

class View {
  constructor(panel, data, id) {
    this.data = data;
    this.id = "t" + id;
    this.panel = panel;
    this.keys = data.places.map(places => places.map(([file, line]) => file + ":" + line));
    this.pinned = null;
    this.columns = [];
    this.columns.push(this.source());
    data.columns.forEach((stage, i) => this.columns.push(new StageColumn(this, stage, i)));
    panel.querySelector(".columns").append(...this.columns.map(c => c.root));
    this.tools(panel.querySelector(".tools"));
    // wide screens show all; narrow ones start with what fits
    const room = Math.max(2, Math.floor(innerWidth / 300));
    this.columns.forEach((c, i) => this.toggle(c, i < room || i === this.columns.length - 1));
  }

  source() {
    const column = new Column(this, "source", "source");
    const rows = [];
    for (const part of this.data.sources) {
      rows.push({text: this.data.files[part.file] + (part.note ? ": " + part.note : ""), number: "", places: [], kind: "file"});
      part.lines.forEach((text, i) => rows.push({text, number: part.first + i, places: [part.file + ":" + (part.first + i)], kind: "source"}));
    }
    // a line that nothing came from has no colour and no links
    const used = new Set(this.keys.flat());
    for (const row of rows) row.places = row.places.filter(p => used.has(p));
    column.show(rows, null);
    return column;
  }

  tools(bar) {
    bar.append("show");
    this.buttons = new Map();
    for (const column of this.columns) {
      const made = element("button", {"aria-pressed": "true", onclick: () => this.toggle(column, column.root.hidden)}, column.head.querySelector("h2").textContent);
      this.buttons.set(column, made);
      bar.append(made);
    }
    bar.append(element("button", {"aria-pressed": "true", onclick: event => {
      const plain = this.panel.classList.toggle("plain");
      event.currentTarget.setAttribute("aria-pressed", String(!plain));
    }}, "colours"), element("small", {}, "point at a line, click or press Enter to keep it, Escape to let go; arrow keys move"));
  }

  toggle(column, shown) {
    column.root.hidden = !shown;
    this.buttons.get(column).setAttribute("aria-pressed", String(shown));
  }

  hue(places) {
    const last = places[places.length - 1];
    return Math.round(Number(last.split(":")[1]) * 137.508) % 360;
  }

  named(place) {
    const [file, line] = place.split(":");
    return this.data.files[file].split(/[\\/]/).pop() + ":" + line;
  }

  mark(row, kind) {
    for (const made of this.panel.querySelectorAll("." + kind)) made.classList.remove(kind);
    if (!row || !row.places.length) return;
    for (const column of this.columns)
      for (const other of column.linked(row.places)) other.element.classList.add(kind);
  }

  point(row) { this.mark(row, "linked"); }

  pin(row) {
    this.pinned = row && row.places.length ? {places: row.places} : null;
    this.mark(this.pinned, "pinned");
    if (!this.pinned) return;
    for (const column of this.columns) {
      if (column === row.column || column.root.hidden) continue;
      const [first] = column.linked(row.places);
      if (first) column.reveal(first.element, true);
    }
  }

  refresh() { if (this.pinned) this.mark(this.pinned, "pinned"); }

  neighbour(column, by) {
    const shown = this.columns.filter(c => !c.root.hidden);
    const next = shown[shown.indexOf(column) + by];
    if (!next) return;
    const row = column.rows[column.current];
    next.text.focus();
    const [first] = row && row.places.length ? next.linked(row.places) : [];
    next.move(first ? first.index : Math.max(next.current, 0));
  }

  open(layout) { showPicture(this.data, layout); }
}

// --- pictures of layouts -----------------------------------------------------------------------------------

const dialog = document.getElementById("picture");
const part = name => document.getElementById("picture-" + name);
const LARGEST = [32, 64];

function showPicture(data, layout) {
  const pictures = data.pictures.filter(p => p.definition === layout.definition);
  part("title").textContent = layout.name;
  part("definition").textContent = data.definitions[layout.definition];
  part("shape").replaceChildren(...pictures.map(p => new Option(p.shape.join("x"))));
  const wanted = /((?:\d+x)+)[^<>]*(?:<[^<>]*>[^<>]*)?$/.exec(layout.before);
  const at = wanted ? pictures.findIndex(p => wanted[1].startsWith(p.shape.join("x") + "x")) : -1;
  const sizes = pictures.map(p => p.shape.reduce((a, b) => a * b, 1));
  part("shape").selectedIndex = at >= 0 ? at : sizes.indexOf(Math.max(...sizes));
  const draw = () => drawPicture(pictures[part("shape").selectedIndex]);
  part("shape").onchange = draw;
  part("show").onchange = draw;
  const kinds = pictures[0]?.shared ? ["offset", "offset % 32"] : ["thread", "lane", "warp", "register"];
  part("show").replaceChildren(...kinds.map(k => new Option(k)));
  draw();
  dialog.showModal();
}

// every place's element: the exclusive or of its bits' vectors
function owners(picture, shape) {
  const count = shape.reduce((a, b) => a * b, 1);
  const found = Array.from({length: count}, () => []);
  const bits = Object.entries(picture.vectors).flatMap(([name, vectors]) => vectors.map((v, i) => [name, 1 << i, v]));
  for (let place = 0; place < 1 << bits.length; place++) {
    const at = shape.map(() => 0), owner = {register: 0, lane: 0, warp: 0, block: 0, offset: 0};
    bits.forEach(([name, weight, vector], i) => {
      if (!(place >> i & 1)) return;
      owner[name] += weight;
      vector.forEach((x, d) => { at[d] ^= x; });
    });
    for (const [interval, pad] of picture.padding) owner.padded = (owner.padded || 0) + Math.floor(owner.offset / interval) * pad;
    owner.offset += owner.padded || 0;
    found[at.reduce((sum, x, d) => sum * shape[d] + x, 0)].push(owner);
  }
  return found;
}

function drawPicture(picture) {
  part("note").textContent = "";
  part("table").replaceChildren();
  if (!picture) { part("note").textContent = "no tensor here has this layout"; return; }
  if (picture.note) { part("note").textContent = picture.note; return; }
  const rank = (Object.values(picture.vectors).find(v => v.length) || [picture.shape])[0].length;
  const shape = picture.shape.slice(picture.shape.length - rank);
  if (Object.values(picture.vectors).flat().length > 20) { part("note").textContent = "too large for a picture"; return; }
  const found = owners(picture, shape);
  const [rows, columns] = shape.length === 1 ? [1, shape[0]] : shape.slice(-2);
  const shown = [Math.min(rows, LARGEST[0]), Math.min(columns, LARGEST[1])];
  const lanes = 1 << (picture.vectors.lane || []).length;
  const several = ["warp", "block"].some(name => (picture.vectors[name] || []).length);
  const value = {
    thread: o => o.warp * lanes + o.lane, lane: o => o.lane, warp: o => o.warp, register: o => o.register,
    offset: o => o.offset, "offset % 32": o => o.offset % 32,
  }[part("show").value];
  const thread = o => picture.shared ? o.offset % 32 : [o.block, o.warp, o.lane].join();
  const cells = [];
  const table = element("table", {});
  table.append(element("tr", {}, element("th"), ...Array.from({length: shown[1]}, (_, c) => element("th", {}, String(c)))));
  for (let r = 0; r < shown[0]; r++) {
    const line = element("tr", {}, element("th", {}, String(r)));
    for (let c = 0; c < shown[1]; c++) {
      const all = found[r * columns + c], first = all[0];
      const [group, tone] = picture.shared ? [first.offset >> 2, first.offset >> 5]
        : several ? [first.warp + first.block, first.lane] : [first.lane, first.lane >> 3];
      const shade = tone % 4;
      const cell = element("td", {style: "background: hsl(" + group % 8 * 45 + ", 70%, " + (88 - 7 * shade) + "%)", onmouseenter: () => tell(r, c, all)}, String(value(first)));
      cells.push([cell, new Set(all.map(thread))]);
      line.append(cell);
    }
    table.append(line);
  }
  function tell(r, c, all) {
    const wanted = new Set(all.map(thread));
    for (const [cell, threads] of cells) cell.className = [...threads].some(t => wanted.has(t)) ? "mark" : "dim";
    part("note").textContent = "(" + (shape.length === 1 ? [c] : [r, c]).join(", ") + "): " + all.map(o => picture.shared
      ? "offset " + o.offset : (o.block ? "block " + o.block + ", " : "") + "warp " + o.warp + ", lane " + o.lane + ", register " + o.register).join("; ");
  }
  table.addEventListener("mouseleave", () => { for (const [cell] of cells) cell.className = ""; });
  part("table").append(table);
  const cut = shown[0] < rows || shown[1] < columns || shape.length > 2;
  part("note").textContent = (cut ? "the first " + shown.join("x") + " of " : "") + shape.join("x")
    + (picture.shared ? "" : ": " + Object.entries(picture.vectors).filter(([n, v]) => v.length || n !== "block").map(([n, v]) => (1 << v.length) + " " + n + (v.length ? "s" : "")).join(", "));
}

// --- the page ------------------------------------------------------------------------------------------------

const panels = [...document.querySelectorAll(".panel")];
const handles = [...document.querySelectorAll('[role="tab"]')];
const views = [];

function choose(i) {
  panels.forEach((panel, n) => { panel.hidden = n !== i; });
  handles.forEach((handle, n) => { handle.setAttribute("aria-selected", String(n === i)); handle.tabIndex = n === i ? 0 : -1; });
  views[i] ??= new View(panels[i], tabs[i], i);
}

handles.forEach((handle, i) => {
  handle.addEventListener("click", () => choose(i));
  handle.addEventListener("keydown", event => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!step) return;
    const next = (i + step + handles.length) % handles.length;
    choose(next);
    handles[next].focus();
  });
});
addEventListener("keydown", event => {
  if (event.key === "Escape" && !dialog.open) for (const view of views) view?.pin(null);
});
choose(0);
document.documentElement.dataset.ready = "";
