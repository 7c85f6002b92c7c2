// What most tests start from: a server with a small workspace, and a browser.

import { after, before } from "node:test";
import { logIn, openBrowser, openPage } from "./browser.mjs";
import { TestServer } from "./server.mjs";

export const OWNER = { email: "owner@example.test", password: "a password for one test" };

/** Starts the server and the browser before the tests of a file, and stops them afterwards. */
export function useFixture({ prepare = seedWorkspace, settings, host } = {}) {
  const fixture = {
    openPage: (options) => openPage(fixture.browser, options),
    /** Opens a page and logs in as the owner. */
    async openPageLoggedIn(options) {
      const opened = await fixture.openPage(options);
      await logIn(opened.page, fixture.url, OWNER);
      return opened;
    },
  };
  before(async () => {
    fixture.server = await TestServer.start({ prepare, settings, host });
    fixture.url = fixture.server.url;
    fixture.browser = await openBrowser();
  });
  after(async () => {
    await fixture.browser?.close();
    await fixture.server?.stop();
  });
  return fixture;
}

/** Creates a workspace with an owner, records of every kind, a layer and a webhook. */
export async function seedWorkspace(server) {
  const workspace = ["--workspace", "Demo office"];
  await server.run("workspace", "create", "Demo office", "--owner", OWNER.email, {
    input: `${OWNER.password}\n`,
  });
  for (const [kind, rows] of Object.entries(RECORDS)) {
    const lines = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
    await server.run("import", kind, await server.writeFile(`${kind}.ndjson`, lines), ...workspace);
  }
  const layer = await server.writeFile("parcels.geojson", JSON.stringify(parcels()));
  await server.run("import", "layer", layer, ...workspace, "--folder", "F-000001");
  // Groma never delivers to this address, so the list contains a failed delivery.
  const created = await server.run("webhook", "create", "https://localhost/hook", ...workspace, "--json");
  await server.run("webhook", "test", JSON.parse(created).id, ...workspace);
}

const RECORDS = {
  folders: [
    {
      reference: "F-000001",
      name: "Chêne, boundary survey",
      description: "Boundary of three parcels,\nand the neighbours' hearing.",
      clientName: "Town council",
      owner: OWNER.email,
      startDate: "2026-01-08",
      dueDate: "2026-02-12",
      currency: "EUR",
      tags: ["boundary", "urban"],
      customFields: { sheet: "AB", parcels: 3, urgent: true },
    },
    {
      reference: "F-000002",
      name: "Ring road, as-built, lot 3",
      clientName: "Road builder",
      currency: "JPY",
    },
    {
      reference: "F-000003",
      name: "<script>alert('stored')</script>",
      clientName: '"><img src=x onerror=alert(1)>',
    },
    ...Array.from({ length: 60 }, (_, index) => ({
      reference: `F-1${String(index).padStart(5, "0")}`,
      name: `Sewer network, sheet ${index + 1}`,
    })),
  ],
  assignments: [
    {
      reference: "A-000001",
      folder: "F-000001",
      title: "Stake out the north line",
      priority: "urgent",
      assignees: [OWNER.email],
      dueDate: "2026-02-01",
      estimatedHours: "12",
    },
    { reference: "A-000002", folder: "F-000001", title: "Plan, 1:500" },
  ],
  budgets: [
    {
      reference: "B-000001",
      folder: "F-000001",
      name: "Field work",
      amount: "1000.00",
      startDate: "2026-01-01",
    },
    { reference: "B-000002", folder: "F-000002", name: "Drawing", amount: "120000" },
  ],
  expenses: [
    {
      reference: "E-000001",
      folder: "F-000001",
      budget: "B-000001",
      description: "Crew, two days",
      category: "Labour",
      vendor: "Field crew",
      quantity: "2",
      unitAmount: "640.00",
      incurredOn: "2026-01-20",
    },
    {
      reference: "E-000002",
      folder: "F-000001",
      description: "Boundary stones",
      unitAmount: "84.50",
      incurredOn: "2026-01-21",
    },
  ],
};

/** Twelve adjacent parcels in the area of the first folder. */
function parcels() {
  const [west, south, step] = [2.084, 47.652, 0.001];
  const features = Array.from({ length: 12 }, (_, index) => {
    const [x, y] = [west + (index % 4) * step, south + Math.floor(index / 4) * step];
    const ring = [
      [x, y],
      [x + step, y],
      [x + step, y + step],
      [x, y + step],
      [x, y],
    ];
    return {
      type: "Feature",
      id: `parcel-${index}`,
      properties: { name: `Parcel ${index + 1}`, section: "AB" },
      geometry: { type: "Polygon", coordinates: [ring] },
    };
  });
  return { type: "FeatureCollection", features };
}
