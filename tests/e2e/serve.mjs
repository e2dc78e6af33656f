// The local page in a real browser. The argument is a file of JSON: `program`, `folder` (to work in), `history` (with runs in it), `out` (a
// folder for pictures), and `runs`: how many there are.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { PATIENCE, accessible, launch, looks, open, picture } from "./browser.mjs";

const asked = JSON.parse(readFileSync(process.argv[2], "utf8"));
const token = "0123456789abcdef0123456789abcdef";
const environment = { ...process.env, STRADDLE_HISTORY: asked.history };
const start = (words) => spawn(asked.program, words, { cwd: asked.folder, env: environment, stdio: ["ignore", "pipe", "pipe"] });
const ended = (child) => (child.exitCode !== null || child.signalCode !== null ? Promise.resolve() : new Promise((done) => child.once("exit", done)));

async function serve(bind) {
  const child = start(["serve", "--bind", bind, "--token", token]);
  const address = await new Promise((said, failed) => {
    child.stdout.once("data", (text) => said(String(text).trim()));
    child.once("exit", (code) => failed(new Error(`serve ended with ${code}`)));
  });
  return { child, address, origin: new URL(address).origin };
}

let { child: server, address, origin } = await serve("127.0.0.1:0");
const port = new URL(address).port;
const browser = await launch();
let failed = 0;
async function test(name, run) {
  try {
    await run();
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}: ${error.message}`);
  }
}
const allowed = (url) => url.startsWith(`${origin}/`);
const visit = (path, settings = {}) => open(browser, address.replace("/?", `${path}?`), { ...settings, allowed });

await test("the first address lets in, and takes the token out of the address", async () => {
  const { page, wrong, close } = await visit("/");
  assert.equal(page.url(), `${origin}/`);
  assert.equal(await page.locator("tbody tr").count(), asked.runs);
  assert.deepEqual(wrong, []);
  await close();
});

for (const [turn, path] of ["/", "/live", "/check", "/runs/1"].entries()) {
  for (const { width, scheme, checked } of looks(turn)) {
    await test(`${path} at ${width}, ${scheme}`, async () => {
      const { page, wrong, close } = await visit(path, { width, scheme });
      if (checked) await picture(page, asked.out, `serve${path.replaceAll("/", "-")}-${width}-${scheme}`);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(over, 0, "the page is wider than the window");
      if (checked) await accessible(page, path);
      assert.deepEqual(wrong, []);
      await close();
    });
  }
}

await test("a run is opened from the list, and its ruler moves", async () => {
  const { page, wrong, close } = await visit("/");
  await page.getByRole("row", { name: /legacy.img/ }).getByRole("link").first().click();
  await page.waitForURL(/\/runs\/\d+$/);
  assert.match(await page.locator("h2").first().textContent(), /legacy\.img/);
  const ruler = page.locator("figure.ruler").first();
  await ruler.locator("input.exact").fill("512");
  await ruler.locator("input.exact").press("Tab");
  assert.match(await ruler.locator("caption").textContent(), /at byte 512 of/);
  await page.getByRole("link", { name: "All runs" }).click();
  assert.equal(page.url(), `${origin}/`);
  assert.deepEqual(wrong, []);
  await close();
});

await test("two runs are compared", async () => {
  const { page, wrong, close } = await visit("/");
  const predictions = page.getByRole("row", { name: /predict/ });
  await predictions.nth(1).getByRole("radio").nth(0).check();
  await predictions.nth(0).getByRole("radio").nth(1).check();
  await page.getByRole("button", { name: "Compare" }).click();
  assert.match(await page.locator(".answer").first().textContent(), /figures \d+ are proven to be better/);
  await accessible(page, "comparison");
  assert.deepEqual(wrong, []);
  await close();
});

await test("a file is handed in and its report is shown", async () => {
  const { page, wrong, close } = await visit("/check");
  await page.locator("input[type=file]").setInputFiles({ name: "../fdisk.txt", mimeType: "text/plain", buffer: Buffer.from(asked.capture) });
  await page.getByRole("button", { name: "Check" }).click();
  await page.waitForURL(/\/checked\/[0-9a-f]{32}$/);
  assert.match(await page.locator("h2").first().textContent(), /fdisk\.txt/);
  assert.ok((await page.locator("article.finding.error").count()) > 0);
  await page.goto(`${origin}/check`);
  await page.locator("input[type=file]").setInputFiles({ name: "letter.txt", mimeType: "text/plain", buffer: Buffer.from("Dear Sir or Madam") });
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByRole("status").filter({ hasText: "letter.txt" }).filter({ hasNotText: "checking" }).waitFor();
  // The browser says that it got a status of 422.
  assert.deepEqual(wrong.filter((line) => !line.includes("422")), []);
  await close();
});

const until = async (what, check) => {
  for (let tries = 0; tries < PATIENCE / 100; tries += 1) {
    if (await check()) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`it was waited five minutes for: ${what}`);
};

await test("a bench is looked on while it is killed and resumed, and the server is started anew", async () => {
  const words = ["--size", "64M", "--runtime", "300ms", "--warm-up", "0s", "--blocks", "6-6", "--offsets", "1M,31.5K", "--threads", "1,2", "--json"];
  const first = start(["bench", ".", ...words]);
  const { page, close } = await visit("/live");
  await until("the bench to be listed", async () => {
    await page.goto(`${origin}/live`);
    return (await page.locator("main li a").count()) > 0;
  });
  await page.locator("main li a").first().click();
  const made = async () => Number((await page.locator(".made").textContent()).split(" of ")[0]);
  const state = () => page.locator(".state").textContent();
  await page.evaluate(() => { globalThis.marked = true; });
  await until("a run to be made", async () => (await made()) >= 2);
  first.kill("SIGKILL");
  await ended(first);
  await until("it to be said that it stopped", async () => (await state()) === "stopped");
  const before = await made();
  // The server goes and comes back at the same place; the page, which is never loaded again, finds it.
  server.kill("SIGTERM");
  await ended(server);
  assert.equal(server.exitCode, 0, "it ends in peace");
  await until("it to be noticed that the server is gone", async () => (await page.locator("#live[data-lost]").count()) > 0);
  ({ child: server } = await serve(`127.0.0.1:${port}`));
  const journal = readdirSync(asked.folder).find((name) => name.endsWith(".journal"));
  assert.ok(journal, "the journal stays");
  const second = start(["bench", "--resume", journal, "--json"]);
  let document = "";
  second.stdout.on("data", (text) => { document += text; });
  await until("the bench to go on", async () => (await state()) === "running");
  await until("more runs to be made", async () => (await made()) > before);
  assert.match(await page.locator("tbody.gains").textContent(), /31\.5K/);
  await until("it to end", async () => (await state()) === "ended");
  assert.equal(await page.evaluate(() => globalThis.marked), true, "it was never loaded again");
  await ended(second);
  assert.equal(second.exitCode, 0);
  assert.equal(JSON.parse(document).samples.length, 36, "nothing was lost");
  await page.goto(`${origin}/live`);
  assert.match(await page.locator("main").textContent(), /No bench is under way/);
  await page.goto(`${origin}/`);
  assert.equal(await page.locator("tbody tr").count(), asked.runs + 1, "the run is in the history");
  await close();
});

await browser.close();
server.kill("SIGTERM");
await ended(server);
process.exitCode = failed > 0 ? 1 : 0;
