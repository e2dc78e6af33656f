// How long pages take to be opened: `node opening.mjs ROUNDS FILE…` prints, for each file, the milliseconds from the address until what is
// visible is drawn, and, where there is a field to search in, from the last letter of a name until only its row is shown.
import { pathToFileURL } from "node:url";
import { launch } from "./browser.mjs";

const [rounds, ...files] = process.argv.slice(2);
const out = files.map(() => ({ drawn: [], searched: [] }));
// Two frames: what the first one lays out is on the screen when the second one begins.
const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))));
for (let round = 0; round < Number(rounds); round += 1) {
  for (const [number, file] of files.entries()) {
    // A browser of its own: nothing is warm but the file.
    const browser = await launch();
    const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
    await page.goto(pathToFileURL(file).href);
    out[number].drawn.push(await page.evaluate(drawn));
    const field = page.locator(".fleet input.find").first();
    if ((await field.count()) > 0) {
      out[number].searched.push(await field.evaluate(async (field, drawn) => {
        const rows = () => field.closest(".fleet").querySelectorAll("tbody tr").length;
        const began = performance.now();
        field.value = "09999.img";
        field.dispatchEvent(new Event("input", { bubbles: true }));
        while (rows() !== 1) {
          if (performance.now() - began > 30000) throw new Error(`${rows()} rows are shown`);
          await new Promise((done) => setTimeout(done, 1));
        }
        await eval(`(${drawn})()`);
        return performance.now() - began;
      }, drawn.toString()));
    }
    await browser.close();
  }
}
console.log(JSON.stringify(out));
