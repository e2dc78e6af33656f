// A picture of the beginning of a page, for the documentation: `node picture.mjs PAGE PICTURE`.
import { pathToFileURL } from "node:url";
import { launch } from "./browser.mjs";

const [file, picture] = process.argv.slice(2);
const browser = await launch();
const page = await browser.newPage({ viewport: { width: 1000, height: 1100 } });
await page.goto(pathToFileURL(file).href);
await page.screenshot({ path: picture });
await browser.close();
