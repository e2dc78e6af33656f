"use strict";
// What can be moved on a page: the request on a ruler, the rows of a fleet, long series. Without it everything can be read as well.
const SVG = "http://www.w3.org/2000/svg";
const data = (within, name) => JSON.parse(within.querySelector(`script.${name}`).textContent);
const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

// Sizes and offsets may have 64 bits, more than a Number holds exactly.
function touched(start, unit, offset, size) {
  const from = start + offset, end = from + size;
  const first = from / unit, last = (end - 1n) / unit;
  const head = from % unit !== 0n, tail = end % unit !== 0n;
  const partial = first === last ? Number(head || tail) : Number(head) + Number(tail);
  return { from, end, first, last, partial };
}

function ruler(figure) {
  const of = data(figure, "ruler-data");
  const big = (text) => BigInt(text);
  const window_ = big(of.window), step = big(of.step);
  const grids = of.grids.map((grid) => ({ ...grid, unit: big(grid.unit), start: big(grid.start) }));
  const select = figure.querySelector(".size"), range = figure.querySelector(".offset"), exact = figure.querySelector(".exact");
  for (const [bytes, name] of of.sizes) select.add(new Option(name, bytes));
  select.selectedIndex = of.size;
  const placed = ({ left, right }) => (bytes) => {
    const within = bytes < 0n ? 0n : bytes > window_ ? window_ : bytes;
    return left + (Number(within) / Number(window_)) * (right - left);
  };
  const rect = (group, name, from, to, y, height) => {
    const node = document.createElementNS(SVG, "rect");
    node.setAttribute("class", name);
    for (const [key, value] of Object.entries({ x: from, y, width: Math.max(to - from, 0.5), height })) node.setAttribute(key, value.toFixed(1));
    group.append(node);
  };
  const bodies = figure.querySelectorAll(".figures tbody tr"), caption = figure.querySelector(".figures caption");
  const draw = (offset) => {
    const size = big(select.value);
    for (const group of figure.querySelectorAll("g.moved")) {
      const panel = Number(group.dataset.panel), { aligned } = of.panels[panel], scale = placed(of.panels[panel]);
      group.replaceChildren();
      let top = Infinity, bottom = 0;
      for (const grid of grids) {
        const [y, height] = grid.rows[panel];
        top = Math.min(top, y - 4);
        bottom = Math.max(bottom, y + height + 6);
        const start = aligned ? 0n : grid.start;
        const t = touched(start, grid.unit, offset, size);
        let { first, last } = t;
        const unit = (name, a, b) => rect(group, name, scale(a * grid.unit - start), scale((b + 1n) * grid.unit - start), y, height);
        if (t.from % grid.unit !== 0n || (first === last && t.end % grid.unit !== 0n)) { unit("part", first, first); first += 1n; }
        if (first <= last && t.end % grid.unit !== 0n) { unit("part", last, last); last -= 1n; }
        if (first <= last) unit("whole", first, last);
      }
      rect(group, "request", scale(offset), scale(offset + size), top, bottom - top);
    }
    grids.forEach((grid, index) => {
      const now = touched(grid.start, grid.unit, offset, size), aligned = touched(0n, grid.unit, offset, size);
      const quotient = (byte, unit) => `⌊${grouped(byte)} ÷ ${grouped(grid.unit)}⌋ = ${unit}`;
      const cells = [quotient(now.from, now.first), quotient(now.end - 1n, now.last), now.last - now.first + 1n, now.partial, aligned.last - aligned.first + 1n, aligned.partial];
      cells.forEach((text, cell) => { bodies[index].cells[cell + 1].textContent = text; });
    });
    const size_ = select.selectedOptions[0].text;
    caption.textContent = caption.textContent.replace(/^A request of .* at byte [\d,]+ of /, `A request of ${size_} at byte ${grouped(offset)} of `);
  };
  const bounds = () => {
    const most = window_ - big(select.value);
    range.max = String(most / step);
    return most;
  };
  range.addEventListener("input", () => { const at = BigInt(range.value) * step; exact.value = at; draw(at); });
  const typed = () => {
    const most = bounds();
    let at = /^\d+$/.test(exact.value.replaceAll(",", "")) ? BigInt(exact.value.replaceAll(",", "")) : 0n;
    if (at > most) at = most;
    exact.value = at;
    range.value = String(at / step);
    draw(at);
  };
  exact.addEventListener("change", typed);
  select.addEventListener("change", typed);
  bounds();
  figure.querySelector(".controls").hidden = false;
}

function fleet(div) {
  const of = data(div, "fleet-data");
  const page = 200, words = ["no finding", "note", "warning", "error"];
  const body = div.querySelector("tbody"), caption = div.querySelector("caption");
  const find = div.querySelector(".find"), order = div.querySelector(".order"), found = div.querySelector(".found");
  const columns = div.querySelectorAll("thead th");
  const lower = of.names.map((name) => (of.folder + name).toLowerCase());
  const worst = of.names.map((_, index) => index);
  const keys = {
    name: (a, b) => (lower[a] < lower[b] ? -1 : lower[a] > lower[b] ? 1 : 0),
    code: (a, b) => of.code[a] - of.code[b],
    cost: (a, b) => of.cost[b] - of.cost[a],
    findings: (a, b) => of.findings[b] - of.findings[a],
  };
  let rows = worst, at = 0;
  const show = () => {
    body.replaceChildren(...rows.slice(at, at + page).map((index) => {
      const row = document.createElement("tr");
      const cost = of.cost[index] ? `+${(of.cost[index] / 10).toFixed(1)}%` : "";
      for (const text of [of.names[index], words[of.severity[index]], of.codes[of.code[index]] ?? "", cost, of.findings[index]]) row.insertCell().textContent = text;
      row.cells[3].className = row.cells[4].className = "right";
      return row;
    }));
    const last = Math.min(at + page, rows.length);
    found.textContent = rows.length ? `${grouped(at + 1)} to ${grouped(last)} of ${grouped(rows.length)}` : "No target has these words";
    div.querySelector(".back").disabled = at === 0;
    div.querySelector(".on").disabled = last === rows.length;
  };
  const choose = () => {
    const terms = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (index) => `${lower[index]} ${words[of.severity[index]]} ${(of.codes[of.code[index]] ?? "").toLowerCase()}`;
    rows = terms.length ? worst.filter((index) => { const all = text(index); return terms.every((term) => all.includes(term)); }) : worst.slice();
    if (keys[order.value]) rows.sort(keys[order.value]);
    at = 0;
    show();
  };
  find.addEventListener("input", choose);
  order.addEventListener("change", choose);
  div.querySelector(".back").addEventListener("click", () => { at = Math.max(0, at - page); show(); });
  div.querySelector(".on").addEventListener("click", () => { at += page; show(); });
  ["target", "worst", "rule", "extra operations", "findings"].forEach((name, index) => { columns[index].textContent = name; });
  for (const column of Array.from(columns).slice(5)) column.remove();
  caption.textContent = "All targets";
  div.querySelector(".controls").hidden = false;
  choose();
}

function series(figure) {
  const of = data(figure, "series-data"), box = figure.querySelector(".series"), plot = figure.querySelector(".plot");
  box.hidden = false;
  const dark = matchMedia("(prefers-color-scheme:dark)");
  const colours = () => (dark.matches ? ["#58a6ff", "#f0a14a", "#4cc38a", "#e08bd0", "#aab4c0", "#ff8fa0"] : ["#0a5c9e", "#b45309", "#0b6e4f", "#8a2c7a", "#4b5563", "#9a1b2f"]);
  let chart;
  const make = () => {
    chart?.destroy();
    const ink = getComputedStyle(document.body).color, rule = dark.matches ? "#3d444d" : "#d1d9e0";
    const axis = { stroke: ink, grid: { stroke: rule, width: 1 }, ticks: { stroke: rule, width: 1 } };
    const lines = of.names.map((label, index) => ({ label, stroke: colours()[index % 6], width: 1.5, spanGaps: false, points: { show: true, size: 3 } }));
    // On a phone the names of the axes would be cut off; the legend below has them.
    const named = box.clientWidth >= 480 ? { x: { label: of.x }, y: { label: of.y, size: 80 } } : { x: {}, y: { size: 50 } };
    chart = new uPlot({
      width: Math.max(box.clientWidth, 280), height: 280,
      scales: { x: { time: false } },
      axes: [{ ...axis, ...named.x }, { ...axis, ...named.y, values: (_, all) => all.map((v) => grouped(Math.round(v))) }],
      series: [{ label: of.x }, ...lines],
    }, of.data, plot);
  };
  make();
  // Its figures, when somebody asks for them: there may be thousands.
  const details = figure.querySelector("details.series-table");
  details.addEventListener("toggle", () => {
    const body = details.querySelector("tbody");
    if (!details.open || body.rows.length) return;
    of.data[0].forEach((at, index) => {
      const row = body.insertRow();
      for (const column of [at, ...of.data.slice(1).map((column) => column[index])]) row.insertCell().textContent = column ?? "";
    });
  });
  dark.addEventListener("change", make);
  addEventListener("resize", () => chart.setSize({ width: Math.max(box.clientWidth, 280), height: 280 }));
}

document.querySelectorAll("figure.ruler").forEach(ruler);
document.querySelectorAll(".fleet").forEach((div) => { if (div.querySelector("script.fleet-data")) fleet(div); });
document.querySelectorAll("figure.picture").forEach((figure) => { if (figure.querySelector("script.series-data")) series(figure); });
