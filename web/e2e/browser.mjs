// Opens pages in Chromium and checks them. The environment variable CHROMIUM names the binary.

import assert from "node:assert/strict";
import { AxeBuilder } from "@axe-core/playwright";
import { chromium } from "playwright-core";

export const DESKTOP = { width: 1280, height: 800 };
export const TABLET = { width: 768, height: 1024 };
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
      // WebGL without a graphics card.
      "--use-gl=angle",
      "--use-angle=swiftshader",
      "--enable-unsafe-swiftshader",
    ],
  });
}

/**
 * Opens a page in its own context. `errors` collects errors on the console, such as violations of the
 * Content-Security-Policy, uncaught exceptions, and responses with a status of 500 or more.
 */
export async function openPage(browser, options = {}) {
  const context = await browser.newContext({
    viewport: DESKTOP,
    locale: "en-GB",
    timezoneId: "Europe/Paris",
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const errors = [];
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(`${page.url()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => errors.push(`${page.url()}: ${error.stack ?? error}`));
  page.on("response", (response) => {
    if (response.status() >= 500) errors.push(`${response.url()}: ${response.status()}`);
  });
  return { context, page, errors };
}

/** Checks a page with axe, either with all rules for WCAG 2.2 AA or only with the given ones. */
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

/** Checks that the page does not scroll sideways. */
export async function assertFitsWidth(page, name) {
  const overflow = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth <= clientWidth) return null;
    const wide = [...document.querySelectorAll("body *")].filter(
      (element) => element.getBoundingClientRect().right > clientWidth + 1,
    );
    return `${scrollWidth} > ${clientWidth}: ${wide.at(-1)?.outerHTML.slice(0, 160)}`;
  });
  assert.equal(overflow, null, `${name} is wider than the window`);
}

/** Waits until the map has loaded and drawn all tiles in view. */
export async function waitForMap(page) {
  await page.locator("#map[data-state=ready]").waitFor();
}

export async function logIn(page, url, { email, password }) {
  await page.goto(`${url}/login`);
  await page.locator("[name=email]").fill(email);
  await page.locator("[name=password]").fill(password);
  await page.locator("main button[type=submit]").click();
  await page.locator(".rail").waitFor();
}
