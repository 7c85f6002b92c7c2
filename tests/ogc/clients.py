"""GDAL, pyogrio and OWSLib read layers by the OGC API. What they read equals `groma export layer`, feature by
feature, in WGS 84 and in the reference system of the layer."""

import json
import os
import subprocess
import tempfile
import urllib.request
from pathlib import Path

import pyogrio
import shapely
from owslib.ogcapi.features import Features

GEO_URL, TOKEN, GROMA = os.environ["GEO_URL"], os.environ["TOKEN"], os.environ["GROMA"]
OGC = f"{GEO_URL}/ogc"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
# The token is the password of Basic authentication; recent versions of GDAL do not send their GDAL_HTTP_HEADERS
# with every request.
USERPWD = f"token:{TOKEN}"
COUNT = 2_345
PAGE = 500
# The first position of each layer, and the distance between its features.
LAYERS = {
    "parcels": (None, 2.0, 47.0, 0.001),
    "survey": ("EPSG:2154", 652_381.327, 6_862_047.611, 50.003),
    "grid": ("EPSG:3035", 4_321_000.5, 3_210_000.25, 50.25),
}


def post(layer):
    crs, x, y, step = LAYERS[layer]
    features = []
    for number in range(COUNT):
        west, south = round(x + number % 50 * step, 6), round(y + number // 50 * step, 6)
        east, north = round(west + step * 0.8, 6), round(south + step * 0.8, 6)
        ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
        features.append({
            "type": "Feature", "id": f"{layer}-{number}",
            "properties": {"number": number, "name": f"Lot é {number}", "area": number / 7, "sold": number % 2 == 0},
            "geometry": {"type": "Polygon", "coordinates": [ring]}})
    body = {"type": "FeatureCollection", "features": features}
    if crs:
        body["crs"] = {"type": "name", "properties": {"name": crs}}
    request = urllib.request.Request(
        f"{GEO_URL}/api/public/v1/geometries/geojson?layer={layer}", json.dumps(body).encode(),
        HEADERS | {"Content-Type": "application/geo+json"})
    with urllib.request.urlopen(request) as response:
        assert json.load(response)["created"] == COUNT


def export(layer, crs):
    """The features of a layer by their numbers, as `groma export layer` writes them."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "export.geojson"
        subprocess.run([GROMA, "export", "layer", file, "--layer", layer, "--crs", crs], check=True,
                       stdout=subprocess.DEVNULL)
        return by_number(json.loads(file.read_text())["features"])


def by_number(features):
    found = {feature["properties"]["number"]: feature for feature in features}
    assert len(found) == len(features), "a feature was read twice"
    return found


def assert_equal(client, found, expected, tolerance):
    assert found.keys() == expected.keys(), f"{client}: {len(found)} of {len(expected)} features"
    for number, feature in found.items():
        assert feature["properties"] == expected[number]["properties"], f"{client}: {feature}"
        one, other = (shapely.from_geojson(json.dumps(item["geometry"])) for item in (feature, expected[number]))
        assert shapely.equals_exact(one, other, tolerance, normalize=True), f"{client}: {one} is not {other}"
    print(f"  {client}: {len(found)} features")


def pages(path, swap=False):
    """All features, by following the links."""
    features, url = [], f"{OGC}/collections/{path}"
    while url:
        with urllib.request.urlopen(urllib.request.Request(url, headers=HEADERS)) as response:
            page = json.load(response)
        features += page["features"]
        url = next((link["href"] for link in page["links"] if link["rel"] == "next"), None)
    if swap:
        for feature in features:
            rings = feature["geometry"]["coordinates"]
            feature["geometry"]["coordinates"] = [[[x, y] for y, x in ring] for ring in rings]
    return by_number(features)


def ogr2ogr(layer):
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "gdal.geojson"
        subprocess.run(["ogr2ogr", "-f", "GeoJSON", "-lco", "COORDINATE_PRECISION=12", file, f"OAPIF:{OGC}", layer,
                        "-oo", f"PAGE_SIZE={PAGE}", "-oo", f"USERPWD={USERPWD}"], check=True)
        features = json.loads(file.read_text())["features"]
    for feature in features:
        # GDAL makes the ID of a feature an attribute.
        assert len(feature["properties"].pop("id")) == 36
    return by_number(features)


def read_with_pyogrio(layer):
    meta, _, geometries, fields = pyogrio.raw.read(
        f"OAPIF:{OGC}", layer=layer, PAGE_SIZE=str(PAGE), USERPWD=USERPWD)
    columns = dict(zip(meta["fields"], fields))
    return meta, by_number([
        {"properties": {"number": int(columns["number"][row]), "name": columns["name"][row],
                        "area": float(columns["area"][row]), "sold": bool(columns["sold"][row])},
         "geometry": json.loads(shapely.to_geojson(shapely.from_wkb(geometry)))}
        for row, geometry in enumerate(geometries)])


def read_with_owslib(layer):
    api = Features(OGC, headers=HEADERS)
    assert layer in api.feature_collections()
    first = api.collection_items(layer, limit=PAGE)
    assert first["numberMatched"] == COUNT
    features, page = [], first
    while True:
        features += page["features"]
        following = [link["href"] for link in page["links"] if link["rel"] == "next"]
        if not following:
            break
        cursor = dict(pair.split("=") for pair in following[0].split("?")[1].split("&"))["cursor"]
        page = api.collection_items(layer, limit=PAGE, cursor=cursor)
    item = api.collection_item(layer, features[0]["id"])
    assert item["properties"] == features[0]["properties"]
    return by_number(features)


def main():
    info = ["ogrinfo", "-ro", "-so", "-oo", f"USERPWD={USERPWD}", f"OAPIF:{OGC}"]
    listing = subprocess.run(info, check=True, capture_output=True, text=True).stdout
    for name in [*LAYERS, "empty", "folders", "assignments", "expenses", "budgets"]:
        assert name in listing, listing
    subprocess.run([*info, "empty"], check=True, stdout=subprocess.DEVNULL)
    for layer, (own, *_) in LAYERS.items():
        print(layer)
        post(layer)
        wgs84 = export(layer, "OGC:CRS84")
        assert_equal("links, CRS84", pages(f"{layer}/items?limit={PAGE}"), wgs84, 0)
        assert_equal("links, EPSG:4326", pages(f"{layer}/items?limit={PAGE}&crs=EPSG:4326", swap=True), wgs84, 0)
        assert_equal("links, EPSG:3857", pages(f"{layer}/items?limit={PAGE}&crs=EPSG:3857"),
                     export(layer, "EPSG:3857"), 0)
        assert_equal("OWSLib", read_with_owslib(layer), wgs84, 0)
        # When it writes GeoJSON, GDAL rounds 1.99999999999 to 2.
        assert_equal("GDAL", ogr2ogr(layer), wgs84, 1e-10)
        if own:
            exact = export(layer, own)
            northing_first = own == "EPSG:3035"
            assert_equal(f"links, {own}", pages(f"{layer}/items?limit={PAGE}&crs={own}", swap=northing_first), exact, 0)
            meta, found = read_with_pyogrio(layer)
            assert meta["crs"] == own, meta["crs"]
            assert_equal(f"pyogrio, {own}", found, exact, 0)
        else:
            assert_equal("pyogrio", read_with_pyogrio(layer)[1], wgs84, 0)


main()
