"""Tiles as PyPI's mapbox-vector-tile reads them, compared with the features that were posted.

The tiles are those that readers.mjs fetched. Here shapes are compared as areas and distances by
shapely, which knows nothing of how they were drawn.
"""

import json
import math
import sys
from pathlib import Path

import mapbox_vector_tile
import numpy as np
from shapely import Point, Polygon, box, make_valid, transform
from shapely.geometry import shape

EXTENT = 4096
FRAME = box(-64, -64, EXTENT + 64, EXTENT + 64)
# Positions are cut to whole units, north-west of them; what has many is simplified by half a unit;
# where a line leaves the tile is rounded.
TOLERANCE = math.sqrt(2) + 0.5 + 0.5
# The same for a shape that has no size in a tile and is drawn as a small square or dash, which is
# moved where it would reach out of the margin.
STAND_IN = 13


def main(folder: Path) -> None:
    source = json.loads((folder / "source.json").read_text())
    features = {}
    for feature in source["alone"] + source["parcels"]:
        features[feature["properties"]["key"]] = (feature, list(parts(feature["geometry"])))
    compared, ids = 0, {}
    for path in sorted((folder / "tiles").glob("*.mvt")):
        z, x, y = (int(number) for number in path.stem.split("-"))
        options = {"y_coord_down": True}
        layers = mapbox_vector_tile.decode(path.read_bytes(), default_options=options)
        (layer,) = layers.values()
        assert (layer["version"], layer["extent"]) == (2, EXTENT), path
        for drawn in layer["features"]:
            key = drawn["properties"]["key"]
            feature, kinds = features[key]
            kind = drawn["geometry"]["type"].removeprefix("Multi")
            check_properties(drawn["properties"], feature["properties"])
            known = ids.setdefault((key, kind), drawn["id"])
            assert known == drawn["id"], f"{key} has another id in {path.stem}"
            geometry = transform(dict(kinds)[kind], lambda at: to_tile(at, z, x, y))
            compare(f"{key} as {kind} in {path.stem}", kind, geometry, shape(drawn["geometry"]))
            compared += 1
    assert compared > 2000, f"only {compared} features were compared"
    assert len(set(ids.values())) == len(ids), "two features share an id"
    print(f"mapbox-vector-tile: {compared} features in tiles of every zoom are where they were posted")


def parts(geometry: dict):
    """The shapes of a geometry, each with its kind."""
    if geometry["type"] == "GeometryCollection":
        for part in geometry["geometries"]:
            yield from parts(part)
    else:
        yield geometry["type"].removeprefix("Multi"), shape(geometry)


def to_tile(positions: np.ndarray, z: int, x: int, y: int) -> np.ndarray:
    """The places of positions in a tile, in its units."""
    sines = np.sin(np.radians(positions[:, 1]))
    across = positions[:, 0] / 360 + 0.5
    down = 0.5 - np.log((1 + sines) / (1 - sines)) / (4 * np.pi)
    return np.column_stack(((across * 2**z - x) * EXTENT, (down * 2**z - y) * EXTENT))


def check_properties(drawn: dict, posted: dict) -> None:
    expected = {name: value for name, value in posted.items() if value is not None}
    if "list" in expected:
        expected["list"] = json.dumps(expected["list"], separators=(",", ":"))
    assert drawn == expected, (drawn, expected)
    for name, value in expected.items():
        assert type(drawn[name]) is type(value), f"{name}: {drawn[name]!r} is not {value!r}"


def compare(what: str, kind: str, source, drawn) -> None:
    is_small = all(extent(part) <= 2 for part in getattr(source, "geoms", [source]))
    tolerance = STAND_IN if is_small else TOLERANCE
    clipped = source.intersection(FRAME)
    assert not drawn.is_empty, what
    if kind == "Polygon" and not is_small:
        assert drawn.geom_type in ("Polygon", "MultiPolygon"), what
        off = filled(drawn).symmetric_difference(clipped).area
        most = TOLERANCE * clipped.length + 16
        assert off <= most, f"{what}: {off} of {most} square units are wrong"
    else:
        near = source.buffer(tolerance)
        outside = [point for point in coordinates(drawn) if not near.covers(Point(point))]
        assert not outside, f"{what}: {outside[:3]} are not where they should be"
    if kind == "LineString" and not is_small:
        # All of it is there, but for what is too short to see beside the rest. At the border a steep
        # line that is off by a unit ends elsewhere.
        missing = source.intersection(FRAME.buffer(-4)).difference(drawn.buffer(tolerance)).length
        assert missing <= 4, f"{what}: {missing} units are missing"
    if kind == "Point":
        wanted = [point for point in coordinates(source) if FRAME.buffer(-1).covers(Point(point))]
        near = drawn.buffer(tolerance)
        assert all(near.covers(Point(point)) for point in wanted), f"{what}: a point is missing"


def filled(polygons):
    """What polygons cover. Along the border of a tile their rings may lie on each other."""
    covered = Polygon()
    for polygon in getattr(polygons, "geoms", [polygons]):
        part = make_valid(Polygon(polygon.exterior))
        for hole in polygon.interiors:
            part = part.difference(make_valid(Polygon(hole)))
        covered = covered.union(part)
    return covered


def extent(geometry) -> float:
    west, north, east, south = geometry.bounds
    return max(east - west, south - north)


def coordinates(geometry):
    """Every position of a geometry."""
    if hasattr(geometry, "geoms"):
        return [point for part in geometry.geoms for point in coordinates(part)]
    if geometry.geom_type == "Polygon":
        rings = [geometry.exterior, *geometry.interiors]
        return [point for ring in rings for point in ring.coords]
    return list(geometry.coords)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
