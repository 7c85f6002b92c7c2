// Pictures of the main pages of the demonstration office, for the README and for whoever looks at them
// beside the design. OUT names the folder.

import path from "node:path";
import { DESK, logIn, mapReady, openBrowser, openPage, PHONE } from "./browser.mjs";
import { Program } from "./program.mjs";

const program = await Program.start({ demo: true });
const browser = await openBrowser();
try {
  const login = {
    email: program.said.match(/Login:\s+(\S+)/)[1],
    password: program.said.match(/Password:\s+(\S+)/)[1],
  };
  const token = program.said.match(/svc_[0-9a-f]{48}/)[0];
  const subjects = await choose(token);
  for (const colorScheme of ["light", "dark"]) {
    const { context, page } = await openPage(browser, { colorScheme, viewport: DESK });
    await logIn(page, program.url, login);
    const shoot = (name) => picture(page, colorScheme === "light" ? name : `${name}-dark`);
    await open(page, "/");
    await shoot("dashboard");
    await open(page, "/folders?sort=due");
    await shoot("folders");
    await open(page, `/folders/${subjects.folder}`);
    await shoot("folder");
    await open(page, `/budgets/${subjects.budget}`);
    await shoot("budget");
    await open(page, `/map#map=16.4/${subjects.place}`);
    // Something of it is looked at.
    await page.mouse.click(DESK.width / 2 + 120, DESK.height / 2 + 60);
    await page.locator(".map-card").waitFor();
    await mapReady(page);
    await shoot("map");
    await makeToken(page, colorScheme === "light" ? "Nightly accounting export" : "QGIS office");
    await shoot("tokens");
    await context.close();
  }
  const { context, page } = await openPage(browser, { viewport: PHONE, hasTouch: true, isMobile: true });
  await logIn(page, program.url, login);
  await open(page, "/folders?sort=due");
  await picture(page, "folders-phone");
  await open(page, `/folders/${subjects.folder}`);
  await picture(page, "folder-phone");
  await context.close();
} finally {
  await browser.close();
  await program.stop();
}

/** A folder at work, with shapes and a budget mostly spent; and its place on the map. */
async function choose(token) {
  const ask = async (query) => {
    const headers = { Authorization: `Bearer ${token}` };
    return (await (await fetch(`${program.url}/api/public/v1/${query}`, { headers })).json()).content;
  };
  const all = async (kind) => {
    const records = [];
    for (let page = 1; ; page += 1) {
      const found = await ask(`${kind}?limit=100&page=${page}`);
      records.push(...found);
      if (found.length < 100) return records;
    }
  };
  const statuses = new Map((await all("statuses")).map(({ id, group }) => [id, group]));
  const budgets = await all("budgets");
  const spent = new Map(budgets.map((budget) => [budget.folderId, budget]));
  const folders = (await all("folders")).filter(
    ({ bbox, id, statusId }) => bbox && spent.has(id) && statuses.get(statusId) === "inProgress",
  );
  const share = ({ id }) => Math.abs(Number(spent.get(id).percentUsed) - 70);
  const [folder] = folders.sort((one, other) => share(one) - share(other));
  const [west, south, east, north] = folder.bbox;
  const place = `${((south + north) / 2).toFixed(5)}/${((west + east) / 2).toFixed(5)}`;
  return { folder: folder.reference, budget: spent.get(folder.id).reference, place };
}

async function makeToken(page, name) {
  await open(page, "/settings/tokens/new");
  await page.locator("[name=name]").fill(name);
  await page.getByLabel("READ_EXPENSE").check();
  await page.getByLabel("READ_BUDGET").check();
  await page.getByRole("button", { name: "Make the token" }).click();
  await page.locator(".once").waitFor();
}

async function open(page, address) {
  await page.goto("about:blank");
  await page.goto(program.url + address);
  const drawn = page.locator("#map:not(.folded)");
  if (await drawn.count()) {
    await mapReady(page);
    await page.waitForLoadState("networkidle");
  }
  await page.evaluate(() => document.fonts.ready);
}

async function picture(page, name) {
  await page.screenshot({ path: path.join(process.env.OUT, `${name}.png`), animations: "disabled" });
  console.log(`${name}.png`);
}
