// The running program, as scripts/tiles tells of it.

const { GEO_URL: geoUrl, TOKEN: token } = process.env;
if (!geoUrl || !token) throw new Error("run this by scripts/tiles");

export const headers = { Authorization: `Bearer ${token}` };
export const api = `${geoUrl}/api/public/v1`;
export { geoUrl, token };

/** The JSON that a GET answers. */
export async function get(url) {
  return checked(await fetch(url, { headers })).then((answer) => answer.json());
}

/** The bytes of a tile, from the address that the TileJSON gives. */
export async function tile(tilejson, { z, x, y }) {
  const url = tilejson.tiles[0].replace("{z}", z).replace("{x}", x).replace("{y}", y);
  const answer = await checked(await fetch(url, { headers }));
  return new Uint8Array(await answer.arrayBuffer());
}

/** Posts GeoJSON into a layer; gives the TileJSON of it. */
export async function post(layer, geojson) {
  const url = `${api}/geometries/geojson?layer=${layer}`;
  const kind = { "Content-Type": "application/geo+json" };
  const request = { method: "POST", headers: { ...headers, ...kind }, body: JSON.stringify(geojson) };
  const { layerId } = await checked(await fetch(url, request)).then((answer) => answer.json());
  return get(`${api}/layers/${layerId}/tilejson`);
}

async function checked(answer) {
  if (!answer.ok) throw new Error(`${answer.url}: ${answer.status} ${await answer.text()}`);
  return answer;
}
