// A client of the server that scripts/tiles started.

const { GEO_URL: geoUrl, TOKEN: token } = process.env;
if (!geoUrl || !token) throw new Error("GEO_URL or TOKEN is not set. Run the tests with scripts/tiles.");

const headers = { Authorization: `Bearer ${token}` };
const api = `${geoUrl}/api/public/v1`;
export { geoUrl, token };

/** Posts GeoJSON to a layer and returns the layer's TileJSON. */
export async function postGeometries(layer, geojson) {
  const response = await request(`${api}/geometries/geojson?layer=${layer}`, {
    method: "POST",
    headers: { ...headers, "Content-Type": "application/geo+json" },
    body: JSON.stringify(geojson),
  });
  const { layerId } = await response.json();
  return (await request(`${api}/layers/${layerId}/tilejson`, { headers })).json();
}

/** Returns the bytes of a tile from the URL in the TileJSON. */
export async function getTile(tilejson, { z, x, y }) {
  const url = tilejson.tiles[0].replace("{z}", z).replace("{x}", x).replace("{y}", y);
  return new Uint8Array(await (await request(url, { headers })).arrayBuffer());
}

async function request(url, options) {
  const response = await fetch(url, options);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response;
}
