// A Chromium that writes down whatever a page complains about. CHROMIUM names the binary.

import assert from "node:assert/strict";
import { AxeBuilder } from "@axe-core/playwright";
import { chromium } from "playwright-core";

export const DESK = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

export async function openBrowser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM,
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // Maps are drawn in software.
      "--use-gl=angle",
      "--use-angle=swiftshader",
      "--enable-unsafe-swiftshader",
    ],
  });
}

/** A page in a context of its own. `complaints` collects console errors, CSP reports among them. */
export async function openPage(browser, options = {}) {
  const context = await browser.newContext({
    viewport: DESK,
    locale: "en-GB",
    timezoneId: "Europe/Paris",
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const complaints = [];
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(`${page.url()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`${page.url()}: ${error.stack ?? error}`));
  page.on("response", (response) => {
    if (response.status() >= 500) complaints.push(`${response.url()}: ${response.status()}`);
  });
  return { context, page, complaints };
}

/** Fails with what axe finds on a page, each with the element it is about; of these rules, or of all. */
export async function assertAccessible(page, name, rules = null) {
  const axe = new AxeBuilder({ page });
  if (rules) axe.withRules(rules);
  else axe.withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]);
  const { violations } = await axe.analyze();
  const found = violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html }) => `${id}: ${html.slice(0, 240)}`),
  );
  assert.deepEqual(found, [], `axe on ${name}`);
}

/** Nothing sticks out to the side. */
export async function assertFits(page, name) {
  const over = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth <= clientWidth) return null;
    const wide = [...document.querySelectorAll("body *")].filter(
      (element) => element.getBoundingClientRect().right > clientWidth + 1,
    );
    return `${scrollWidth} > ${clientWidth}: ${wide.at(-1)?.outerHTML.slice(0, 160)}`;
  });
  assert.equal(over, null, `${name} is wider than the window`);
}

/** The map has drawn what it had to draw. */
export async function mapReady(page) {
  await page.locator("#map[data-state=drawn]").waitFor();
}

export async function logIn(page, url, { email, password }) {
  await page.goto(`${url}/login`);
  await page.locator("[name=email]").fill(email);
  await page.locator("[name=password]").fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.locator(".rail").waitFor();
}
