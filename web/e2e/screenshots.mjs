// Takes screenshots of the main pages with the demo data. The environment variable OUT names the directory.

import path from "node:path";
import { DESKTOP, logIn, openBrowser, openPage, PHONE, waitForMap } from "./browser.mjs";
import { TestServer } from "./server.mjs";

const server = await TestServer.start({ demo: true });
const browser = await openBrowser();
try {
  const login = {
    email: server.stdout.match(/Login:\s+(\S+)/)[1],
    password: server.stdout.match(/Password:\s+(\S+)/)[1],
  };
  const token = server.stdout.match(/svc_[0-9a-f]{48}/)[0];
  const example = await findExample(token);
  for (const colorScheme of ["light", "dark"]) {
    const { context, page } = await openPage(browser, { colorScheme, viewport: DESKTOP });
    await logIn(page, server.url, login);
    const capture = (name) => screenshot(page, colorScheme === "light" ? name : `${name}-dark`);
    await open(page, "/");
    await capture("dashboard");
    await open(page, "/folders?sort=due");
    await capture("folders");
    await open(page, `/folders/${example.folder}`);
    await capture("folder");
    await open(page, `/budgets/${example.budget}`);
    await capture("budget");
    await open(page, `/map#map=16.4/${example.position}`);
    // Select a feature.
    await page.mouse.click(DESKTOP.width / 2 + 120, DESKTOP.height / 2 + 60);
    await page.locator(".map-card").waitFor();
    await waitForMap(page);
    await capture("map");
    await createToken(page, colorScheme === "light" ? "Nightly accounting export" : "QGIS office");
    await capture("tokens");
    await context.close();
  }
  const { context, page } = await openPage(browser, { viewport: PHONE, hasTouch: true, isMobile: true });
  await logIn(page, server.url, login);
  await open(page, "/folders?sort=due");
  await screenshot(page, "folders-phone");
  await open(page, `/folders/${example.folder}`);
  await screenshot(page, "folder-phone");
  await context.close();
} finally {
  await browser.close();
  await server.stop();
}

/** Finds an active folder with shapes and a budget that is about 70 % spent. */
async function findExample(token) {
  const headers = { Authorization: `Bearer ${token}` };
  const getAll = async (collection) => {
    const records = [];
    for (let page = 1; ; page += 1) {
      const url = `${server.url}/api/public/v1/${collection}?limit=100&page=${page}`;
      const { content } = await (await fetch(url, { headers })).json();
      records.push(...content);
      if (content.length < 100) return records;
    }
  };
  const statusGroups = new Map((await getAll("statuses")).map(({ id, group }) => [id, group]));
  const budgets = new Map((await getAll("budgets")).map((budget) => [budget.folderId, budget]));
  const folders = (await getAll("folders")).filter(
    ({ bbox, id, statusId }) => bbox && budgets.has(id) && statusGroups.get(statusId) === "inProgress",
  );
  const distance = ({ id }) => Math.abs(Number(budgets.get(id).percentUsed) - 70);
  const [folder] = folders.sort((one, other) => distance(one) - distance(other));
  const [west, south, east, north] = folder.bbox;
  const position = `${((south + north) / 2).toFixed(5)}/${((west + east) / 2).toFixed(5)}`;
  return { folder: folder.reference, budget: budgets.get(folder.id).reference, position };
}

async function createToken(page, name) {
  await open(page, "/settings/tokens/new");
  await page.locator("[name=name]").fill(name);
  await page.getByLabel("READ_EXPENSE").check();
  await page.getByLabel("READ_BUDGET").check();
  await page.getByRole("button", { name: "Create token" }).click();
  await page.locator(".secret-panel").waitFor();
}

async function open(page, path) {
  // A new hash alone would not reload the map.
  await page.goto("about:blank");
  await page.goto(server.url + path);
  if (await page.locator("#map:not(.collapsed)").count()) {
    await waitForMap(page);
    await page.waitForLoadState("networkidle");
  }
  await page.evaluate(() => document.fonts.ready);
}

async function screenshot(page, name) {
  await page.screenshot({ path: path.join(process.env.OUT, `${name}.png`), animations: "disabled" });
  console.log(`${name}.png`);
}
