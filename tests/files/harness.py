"""Runs the program and ogr2ogr, and compares features: what the tests of files share."""

import json
import os
import subprocess
from collections import Counter
from pathlib import Path

GROMA = os.environ["GROMA"]
failures = []


def run(*arguments):
    done = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}")
    return done.stdout


def groma(*arguments):
    return run(GROMA, *arguments)


def collection(features):
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::2154"}}
    return {"type": "FeatureCollection", "crs": crs, "features": features}


def canonical(geometry, digits=None):
    """Rings start anywhere and run in either direction, and one part can be a Multi geometry."""
    if geometry is None:
        return None
    kind, coordinates = geometry["type"], geometry["coordinates"]

    def position(at):
        at = [float(number) for number in at]
        if len(at) == 3 and at[2] != at[2]:
            at = at[:2]
        return tuple(round(number, digits) if digits else number for number in at)

    def ring(positions):
        positions = [position(at) for at in positions[:-1]]
        options = []
        for line in (positions, positions[::-1]):
            start = line.index(min(line))
            options.append(tuple(line[start:] + line[:start]))
        return min(options)

    def line(positions):
        return tuple(position(at) for at in positions)

    match kind:
        case "Point":
            return ("Point", (position(coordinates),))
        case "MultiPoint":
            return ("Point", tuple(sorted(position(at) for at in coordinates)))
        case "LineString":
            return ("LineString", (line(coordinates),))
        case "MultiLineString":
            return ("LineString", tuple(sorted(map(line, coordinates))))
    polygons = [coordinates] if kind == "Polygon" else coordinates
    return ("Polygon", tuple(sorted((ring(rings[0]), *sorted(map(ring, rings[1:]))) for rings in polygons)))


def compare(what, expected, found, names=(), digits=None):
    def value(feature, name):
        found = feature["properties"].get(name)
        # GDAL writes dates as 2026/01/31 to CSV, and as times to FlatGeobuf.
        if name == "day" and found:
            return found[:10].replace("/", "-")
        # Some formats and programs have no truth values.
        found = int(found) if isinstance(found, bool) else found
        # CSV has no null, and KML no whole numbers beyond 32 bits.
        return str(found) if found not in (None, "") else None

    def key(feature):
        return (str(canonical(feature["geometry"], digits)), str([value(feature, name) for name in names]))

    expected, found = Counter(map(key, expected)), Counter(map(key, found))
    if expected != found:
        missing, added = sorted(expected - found), sorted(found - expected)
        failures.append(f"{what}\n  expected {missing}\n  found    {added}")


def read_with_gdal(path, layer=None):
    out = Path("gdal.geojson")
    out.unlink(missing_ok=True)
    source = f"/vsizip/{path}" if path.suffix == ".zip" else path
    run("ogr2ogr", "-f", "GeoJSON", "-lco", "COORDINATE_PRECISION=15", "-oo", "AUTODETECT_TYPE=YES", out, source,
        *([layer] if layer else []))
    return json.loads(out.read_text())["features"]


def exported(layer):
    return json.loads(groma("export", "layer", "-", "--layer", layer))["features"]


def finish(message):
    """Ends a test: fails if anything differed."""
    if failures:
        raise SystemExit("\n".join(failures))
    print(message)
