// Reports in a real browser. The argument is a file of JSON: `out` (a folder for pictures), `pages` (name and file of each), and
// `requests`: what geometry says of requests on the ruler of the page `legacy`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { accessible, illegible, launch, looks, open, picture } from "./browser.mjs";

const asked = JSON.parse(readFileSync(process.argv[2], "utf8"));
const address = (name) => pathToFileURL(asked.pages.find((page) => page.name === name).file).href;
const browser = await launch();
let failed = 0;
async function test(name, run) {
  const began = performance.now();
  try {
    await run();
    console.log(`ok ${name} (${Math.round(performance.now() - began)} ms)`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}: ${error.message}`);
  }
}

for (const [turn, { name, file }] of asked.pages.entries()) {
  for (const { width, scheme, checked } of looks(turn)) {
    await test(`${name} at ${width}, ${scheme}`, async () => {
      const { page, wrong, close } = await open(browser, pathToFileURL(file).href, { width, scheme });
      if (checked) await picture(page, asked.out, `${name}-${width}-${scheme}`);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(over, 0, "the page is wider than the window");
      assert.deepEqual(await illegible(page), []);
      // With all figures open, but for those of long series, of which there may be thousands.
      await page.evaluate(() => document.querySelectorAll("details:not(.series-table)").forEach((one) => { one.open = true; }));
      if (checked) await accessible(page, name);
      assert.deepEqual(wrong, []);
      await close();
    });
  }
  await test(`${name} without scripts, and printed`, async () => {
    const { page, wrong, close } = await open(browser, pathToFileURL(file).href, { scripts: false });
    assert.ok((await page.locator("h2").count()) > 0);
    assert.ok((await page.locator("table tbody tr").count()) > 0);
    assert.equal(await page.locator(".controls:visible").count(), 0, "what only a script moves is not shown");
    await page.emulateMedia({ media: "print" });
    for (const box of await page.locator("details:not(.series-table) table").all()) assert.ok((await box.boundingBox()).height > 0, "figures are printed");
    assert.deepEqual(wrong, []);
    await close();
  });
}

await test("the arithmetic of the ruler is geometry's", async () => {
  const { page, wrong, close } = await open(browser, address("legacy"));
  const ruler = page.locator("figure.ruler").first();
  assert.ok(asked.requests.length >= 20);
  for (const request of asked.requests) {
    await ruler.locator("select.size").selectOption(String(request.size));
    await ruler.locator("input.exact").fill(String(request.offset));
    await ruler.locator("input.exact").press("Tab");
    const rows = await ruler.locator("tbody tr").evaluateAll((rows) => rows.map((row) => Array.from(row.cells, (cell) => cell.textContent)));
    assert.deepEqual(rows.map((row) => [row[0], ...row.slice(3)]), request.rows, `${request.size} at ${request.offset}`);
    // What is drawn covers as many units as are counted, in the same colours.
    for (const [row, [, touched, partial]] of request.rows.map((row, index) => [index, row])) {
      const data = await ruler.locator("script.ruler-data").evaluate((node) => JSON.parse(node.textContent));
      // On a wide screen, and on a phone.
      for (const panel of [0, data.panels.length / 2]) {
        const y = data.grids[row].rows[panel][0];
        const parts = await ruler.locator(`g.moved[data-panel="${panel}"] rect.part`).evaluateAll((all, y) => all.filter((one) => Math.abs(one.y.baseVal.value - y) < 0.1).length, y);
        assert.equal(String(parts), partial, `units in part of ${request.rows[row][0]}: ${touched} touched`);
      }
    }
  }
  assert.deepEqual(wrong, []);
  await close();
});

await test("the ruler is moved by keyboard", async () => {
  const { page, close } = await open(browser, address("legacy"));
  const ruler = page.locator("figure.ruler").first();
  const x = () => ruler.locator('g.moved[data-panel="0"] rect.request').evaluate((one) => one.x.baseVal.value);
  const before = await x();
  await ruler.locator("input.offset").focus();
  await page.keyboard.press("ArrowRight");
  assert.ok((await x()) > before);
  assert.equal(await ruler.locator("input.exact").inputValue(), "512");
  await close();
});

// A figure's marks are read back from their places by the axis beside them.
async function plotted(figure, screen = "wide") {
  return figure.evaluate((node, screen) => {
    const number = (text) => {
      const match = /^([−+]?)([\d.,]+)\s*(%|s|ms|µs)?$/.exec(text.trim());
      if (!match) return null;
      const unit = { "%": 0.01, s: 1, ms: 1e-3, "µs": 1e-6 }[match[3]] ?? 1;
      return (match[1] === "−" ? -1 : 1) * Number(match[2].replaceAll(",", "")) * unit;
    };
    const svg = node.querySelector(`.${screen} svg`);
    const texts = Array.from(svg.querySelectorAll("text"), (text) => ({ x: Number(text.getAttribute("x")), y: Number(text.getAttribute("y")), text: text.textContent, kind: text.getAttribute("class") ?? "" }));
    const up = texts.filter((one) => one.kind === "quiet end" && one.x < 84).map((one) => [one.y - 4.5, number(one.text)]).filter(([, value]) => value !== null);
    const across = texts.filter((one) => one.kind === "quiet mid").map((one) => [one.x, number(one.text)]).filter(([, value]) => value !== null);
    const middle = (mark) => { const box = mark.getBBox(); return [box.x + box.width / 2, box.y + box.height / 2]; };
    const marks = Array.from(svg.querySelectorAll("circle:not(.ring),rect.s1,path[class^='s']:not(.curve)"), (mark) => ({ at: middle(mark), kind: mark.getAttribute("class") }));
    const rows = Array.from(node.querySelectorAll("details:not(.series-table) table tbody tr"), (row) => Array.from(row.cells, (cell) => cell.textContent));
    return { up, across, marks, rows };
  }, screen);
}
const along = (ticks, place) => {
  const [[a, x], [b, y]] = [ticks[0], ticks.at(-1)];
  return x + ((place - a) / (b - a)) * (y - x);
};
const close_to = (found, said, span, what) => assert.ok(Math.abs(found - said) <= span, `${what}: drawn at ${found}, the table says ${said}`);
const figure = (page, title) => page.locator("figure.picture").filter({ has: page.locator("h3", { hasText: title }) }).first();
const plain = (text) => Number(text.replace("−", "-").replace(/[+,%]/g, ""));

const SCREENS = [["wide", 900], ["narrow", 360]];
for (const [screen, width] of SCREENS) await test(`rates by load are drawn where the table says, ${screen}`, async () => {
  const { page, close } = await open(browser, address("bench-effect"), { width });
  const { up, marks, rows } = await plotted(figure(page, /^Reads each second by load/), screen);
  // The first marks are those of the legend.
  const series = new Set(rows.map((row) => row[0])).size;
  const drawn = marks.slice(series);
  assert.equal(drawn.length, rows.length);
  const span = Math.abs(up.at(-1)[1] - up[0][1]) * 0.006;
  drawn.forEach((mark, index) => close_to(along(up, mark.at[1]), plain(rows[index][2]), span, rows[index].join(" ")));
  assert.equal(Math.min(...up.map(([, value]) => value)), 0, "the axis begins at zero");
  await close();
});

await test("every mark of a distribution and every run is in a table", async () => {
  const { page, close } = await open(browser, address("bench-effect"));
  const distribution = figure(page, /^Latencies of reads/);
  // A curve is one path; its corners are its points.
  const corners = await distribution.locator(".wide path.curve").evaluateAll((all) => all.map((one) => one.getAttribute("d").split(/[ML]/).length - 1));
  const rows = await distribution.locator("table tbody tr").evaluateAll((rows) => rows.map((row) => Array.from(row.cells, (cell) => cell.textContent)));
  const inner = rows.slice(1, -1);
  corners.forEach((count, series) => assert.equal(inner.filter((row) => row[series + 2] !== "").length, count));
  assert.ok(inner.some((row) => row[0] === "99%" && row[1] === "100"), "the usual percentiles are among them");
  const runs = await plotted(figure(page, /^Every run over time/));
  const series = new Set(runs.rows.map((row) => row[3])).size;
  assert.equal(runs.marks.length - series, runs.rows.length);
  const span = Math.abs(runs.up.at(-1)[1] - runs.up[0][1]) * 0.006;
  const drawn = runs.marks.slice(series).map((mark) => along(runs.up, mark.at[1])).sort((a, b) => a - b);
  const said = runs.rows.map((row) => plain(row[4])).sort((a, b) => a - b);
  said.forEach((value, index) => close_to(drawn[index], value, span, "run"));
  await close();
});

await test("the figures of a long series can be had", async () => {
  const { page, wrong, close } = await open(browser, address("bench-effect"));
  await page.locator("details.series-table summary").click();
  const data = await page.locator("script.series-data").evaluate((node) => JSON.parse(node.textContent).data);
  const rows = page.locator("details.series-table tbody tr");
  assert.equal(await rows.count(), data[0].length);
  const last = await rows.last().evaluate((row) => Array.from(row.cells, (cell) => cell.textContent));
  assert.deepEqual(last, data.map((column) => String(column.at(-1) ?? "")));
  assert.ok((await page.locator(".plot canvas").count()) > 0, "it is drawn");
  assert.deepEqual(wrong, []);
  await close();
});

for (const [screen, width] of SCREENS) await test(`gains are drawn where the table says, ${screen}`, async () => {
  const { page, close } = await open(browser, address("bench-effect"), { width });
  const { across, marks, rows } = await plotted(figure(page, /^Gain over/), screen);
  assert.equal(marks.length, rows.length);
  const lines = await figure(page, /^Gain over/).locator("line.zero").count();
  assert.ok(lines > 0, "there is a line for no gain");
  // Each panel repeats the axis; the first has all of it.
  const axis = across.slice(0, across.findIndex(([x], index) => index > 0 && x < across[index - 1][0]) >>> 0);
  const span = Math.abs(axis.at(-1)[1] - axis[0][1]) * 0.006;
  marks.forEach((mark, index) => close_to(along(axis, mark.at[0]), plain(rows[index][3]) / 100, span, rows[index].join(" ")));
  await close();
});

await test("a gain and none look different, and say so", async () => {
  const said = async (name) => {
    const { page, close } = await open(browser, address(name));
    const answer = await page.locator(".answer").first().textContent();
    const full = await page.locator("svg g.faster, svg g.slower").count();
    await close();
    return [answer, full > 0];
  };
  assert.deepEqual((await said("bench-effect"))[1], true);
  const [answer, full] = await said("bench-none");
  assert.equal(full, false);
  assert.match(answer, /^No (difference|offset)/);
});

await test("all rows of a fleet can be searched and sorted", async () => {
  const { page, wrong, close } = await open(browser, address("fleet"));
  const fleet = page.locator(".fleet").first();
  const rows = () => fleet.locator("tbody tr").evaluateAll((rows) => rows.map((row) => Array.from(row.cells, (cell) => cell.textContent)));
  assert.equal((await rows()).length, 200);
  await fleet.locator(".find").fill(asked.fleet.path);
  assert.deepEqual((await rows()).map((row) => row[0]), [asked.fleet.name]);
  await fleet.locator(".find").fill("error");
  assert.match(await fleet.locator(".found").textContent(), new RegExp(`of ${asked.fleet.errors}$`));
  await fleet.locator(".find").fill("no such host");
  assert.equal(await fleet.locator(".found").textContent(), "No target has these words");
  await fleet.locator(".find").fill("");
  await fleet.locator(".order").selectOption("name");
  const names = (await rows()).map((row) => row[0]);
  assert.deepEqual(names, [...names].sort());
  await fleet.locator(".on").click();
  assert.ok((await rows())[0][0] > names.at(-1));
  assert.deepEqual(wrong, []);
  await close();
});

await browser.close();
process.exitCode = failed > 0 ? 1 : 0;
