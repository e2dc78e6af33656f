// What all tests in a browser share: a page that notes every script error and every request that leaves it, and the checks
// of accessibility.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";

const CHROMIUM = "/usr/bin/chromium";
// Of what hangs only: other tests run beside, and machines are busy.
export const PATIENCE = 300_000;
const WIDTHS = [360, 900, 1600];
const SCHEMES = ["light", "dark"];
// Where a page is looked at, and where it is checked for accessibility, too. For every commit at three of the six, in turn: narrow and
// light, wide and dark, one of which is checked, and one more. In a soak at all of them, each checked.
export const looks = (turn) => {
  const isSoak = process.env.STRADDLE_SOAK !== undefined;
  const all = WIDTHS.flatMap((width) => SCHEMES.map((scheme) => ({ width, scheme, checked: isSoak })));
  if (isSoak) return all;
  const ends = [all.at(0), all.at(-1)];
  ends[turn % 2].checked = true;
  const others = all.slice(1, -1);
  return [...ends, others[turn % others.length]];
};
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export async function launch() {
  assert.ok(existsSync(CHROMIUM), "no /usr/bin/chromium: Debian's package chromium is missing (`cargo xtask test` installs it)");
  // Tests may run as root, for whom there is no sandbox; pages are ours.
  return chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"], timeout: PATIENCE });
}

/// A page; `allowed` says which addresses it may ask for.
export async function open(browser, url, { width = 900, scheme = "light", scripts = true, allowed = (address) => address === url } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, javaScriptEnabled: scripts });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(`script error: ${error.message}`));
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) wrong.push(`console: ${message.text()}`); });
  page.on("request", (request) => { if (!allowed(request.url())) wrong.push(`asks for ${request.url()}`); });
  await page.goto(url);
  return { page, wrong, close: () => context.close() };
}

/// Every rule of WCAG 2.1, levels A and AA.
export async function accessible(page, what) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, { runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] }, resultTypes: ["violations"] }));
  const said = found.violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.target.join(" ") + " " + node.failureSummary).join("; ")}`);
  assert.deepEqual(said, [], what);
}

/// What of the drawn pictures cannot be read: text that is cut off, or lies on other text, and pictures that must be scrolled.
export async function illegible(page) {
  return page.evaluate(() => {
    const wrong = [];
    for (const svg of document.querySelectorAll("svg.chart")) {
      const box = svg.getBoundingClientRect();
      if (!box.width) continue;
      const scale = box.width / svg.viewBox.baseVal.width, texts = Array.from(svg.querySelectorAll("text"), (text) => [text.textContent, text.getBoundingClientRect()]);
      for (const [text, at] of texts) if (at.left < box.left - 1 || at.right > box.right + 1 || at.bottom > box.bottom + 1) wrong.push(`cut off: ${text}`);
      texts.forEach(([text, a], index) => texts.slice(index + 1).forEach(([other, b]) => {
        const width = Math.min(a.right, b.right) - Math.max(a.left, b.left), height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (width > 2 * scale && height > 5 * scale) wrong.push(`on each other: ${text}, ${other}`);
      }));
      const around = svg.closest(".scroll");
      if (around && around.scrollWidth > around.clientWidth) wrong.push(`must be scrolled: ${svg.querySelector("title").textContent}`);
    }
    return wrong;
  });
}

export async function picture(page, folder, name) {
  mkdirSync(folder, { recursive: true });
  // Whole, but for pages of a fleet, which are as long as they are.
  const height = Math.min(await page.evaluate(() => document.documentElement.scrollHeight), 12000);
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true, clip: { x: 0, y: 0, width: page.viewportSize().width, height } });
}
