"""GDAL reads the tiles of a layer over HTTP into a GeoPackage, by both routes and with both ways to send a
token. The directory of the results is the only argument."""

import json
import math
import os
import sqlite3
import subprocess
import sys
import urllib.request
from pathlib import Path

GEO_URL, TOKEN = os.environ["GEO_URL"], os.environ["TOKEN"]
API = f"{GEO_URL}/api/public/v1"
# A grid of lots over some 40 tiles.
ZOOM, SIDE, SPACING, WEST, SOUTH = 14, 20, 0.006, 3.0, 45.0


def lot(number):
    x, y = WEST + number % SIDE * SPACING, SOUTH + number // SIDE * SPACING
    size = SPACING * 0.8
    ring = [[x, y], [x + size, y], [x + size, y + size], [x, y + size], [x, y]]
    return {"type": "Feature", "id": number, "properties": {"number": number},
            "geometry": {"type": "Polygon", "coordinates": [ring]}}


def post():
    body = json.dumps({"type": "FeatureCollection", "features": [lot(n) for n in range(SIDE * SIDE)]})
    request = urllib.request.Request(
        f"{API}/geometries/geojson?layer=gdal", body.encode(),
        {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/geo+json"})
    with urllib.request.urlopen(request) as response:
        assert json.load(response)["created"] == SIDE * SIDE


def mercator(longitude, latitude):
    half = 20037508.342789244
    return longitude / 180 * half, math.log(math.tan(math.radians(90 + latitude) / 2)) / math.pi * half


def read(name, tiles, environment, *options):
    """Reads the region of the lots; returns the numbers of the lots by the ids of their features."""
    file = Path(sys.argv[1]) / f"{name}.gpkg"
    extent = SIDE * SPACING
    region = [*mercator(WEST, SOUTH), *mercator(WEST + extent, SOUTH + extent)]
    subprocess.run(
        ["ogr2ogr", "-f", "GPKG", file, f"MVT:{tiles}/{ZOOM}", "-spat", *map(str, region),
         "-oo", f"METADATA_FILE={GEO_URL}/maps/gdal.json", *options],
        check=True, env=os.environ | environment)
    with sqlite3.connect(file) as database:
        rows = database.execute("SELECT mvt_id, number FROM gdal").fetchall()
    return dict(rows)


post()
bearer = {"GDAL_HTTP_HEADERS": f"Authorization: Bearer {TOKEN}"}
basic = {"GDAL_HTTP_AUTH": "BASIC", "GDAL_HTTP_USERPWD": f"gdal:{TOKEN}"}
expected = None
for name, tiles, environment, options in [
    ("maps", f"{GEO_URL}/maps/gdal", bearer, []),
    ("maps-mvt", f"{GEO_URL}/maps/gdal", bearer, ["-oo", "TILE_EXTENSION=mvt"]),
    ("maps-basic", f"{GEO_URL}/maps/gdal", basic, []),
    ("api", f"{API}/layers/gdal/mvt", bearer, []),
]:
    found = read(name, tiles, environment, *options)
    assert sorted(found.values()) == list(range(SIDE * SIDE)), f"{name}: {len(found)} lots"
    assert expected in (None, found), f"{name}: other ids"
    expected = found
print(f"GDAL: {SIDE * SIDE} lots are read into a GeoPackage by both routes")
