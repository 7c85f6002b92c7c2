// A small office with something of each kind: what tests of pages look at.

export const OWNER = { email: "owner@example.test", password: "a password for one test" };

/** Before the program serves: a workspace, its owner, and records by import. */
export async function openOffice(program) {
  await program.command("workspace", "create", "Demo office", "--owner", OWNER.email, {
    input: `${OWNER.password}\n`,
  });
  for (const [kind, rows] of Object.entries(RECORDS)) {
    const file = await program.file(`${kind}.ndjson`, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
    await program.command("import", kind, file, "--workspace", "Demo office");
  }
  const file = await program.file("parcels.geojson", JSON.stringify(parcels()));
  await program.command("import", "layer", file, "--workspace", "Demo office", "--folder", "F-000001");
  // An address that deliveries never reach: something has failed, and nothing leaves.
  const at = ["--workspace", "Demo office"];
  const made = await program.command("webhook", "create", "https://127.0.0.1/hook", ...at, "--json");
  await program.command("webhook", "test", JSON.parse(made).id, ...at);
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
