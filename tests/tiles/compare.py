"""Decodes tiles with the Python package mapbox-vector-tile and compares them with the posted features.

compare.mjs downloaded the tiles. Here Shapely compares geometries by area and distance.
"""

import json
import math
import sys
from pathlib import Path

import mapbox_vector_tile
import numpy as np
from shapely import Point, box, transform
from shapely.geometry import shape
from shapely.validation import explain_validity

EXTENT = 4096
FRAME = box(-64, -64, EXTENT + 64, EXTENT + 64)
# The permitted distance from the posted geometry, in tile units. The server rounds positions down to whole
# units, simplifies long geometries by up to half a unit, and rounds again where it clips at the border.
TOLERANCE = math.sqrt(2) + 0.5 + 0.5
# The same for a geometry smaller than a unit. The server draws it as a small square or dash, and moves it
# if it would leave the margin.
SMALL_TOLERANCE = 13


def main(directory: Path) -> None:
    features = {}
    for feature in json.loads((directory / "features.json").read_text()):
        features[feature["properties"]["key"]] = (feature, dict(parts(feature["geometry"])))
    compared, ids = 0, {}
    for path in sorted((directory / "tiles").glob("*.mvt")):
        z, x, y = (int(number) for number in path.stem.split("-"))
        options = {"y_coord_down": True}
        layers = mapbox_vector_tile.decode(path.read_bytes(), default_options=options)
        (layer,) = layers.values()
        assert (layer["version"], layer["extent"]) == (2, EXTENT), path
        for decoded in layer["features"]:
            if "groma_count" in decoded["properties"]:
                continue  # polygons that are too small to be drawn alone
            key = decoded["properties"]["key"]
            feature, geometries = features[key]
            geometry_type = simple_type(decoded["geometry"])
            check_properties(decoded["properties"], feature["properties"])
            first_id = ids.setdefault((key, geometry_type), decoded["id"])
            assert first_id == decoded["id"], f"{key} has a different id in {path.stem}"
            posted = transform(geometries[geometry_type], lambda positions: to_tile_units(positions, z, x, y))
            label = f"{key} as {geometry_type} in {path.stem}"
            check_geometry(label, geometry_type, posted, shape(decoded["geometry"]))
            compared += 1
    assert compared > 2000, f"only {compared} features were compared"
    assert len(set(ids.values())) == len(ids), "two features share an id"
    print(f"mapbox-vector-tile: {compared} features in tiles match the posted features")


def parts(geometry: dict):
    """The parts of a geometry, each with its simple type."""
    if geometry["type"] == "GeometryCollection":
        for part in geometry["geometries"]:
            yield from parts(part)
    else:
        yield simple_type(geometry), shape(geometry)


def simple_type(geometry: dict) -> str:
    return geometry["type"].removeprefix("Multi")


def to_tile_units(positions: np.ndarray, z: int, x: int, y: int) -> np.ndarray:
    """Projects longitudes and latitudes to the units of a tile."""
    sines = np.sin(np.radians(positions[:, 1]))
    world_x = positions[:, 0] / 360 + 0.5
    world_y = 0.5 - np.log((1 + sines) / (1 - sines)) / (4 * np.pi)
    return np.column_stack(((world_x * 2**z - x) * EXTENT, (world_y * 2**z - y) * EXTENT))


def check_properties(decoded: dict, posted: dict) -> None:
    expected = {name: value for name, value in posted.items() if value is not None}
    if "list" in expected:
        expected["list"] = json.dumps(expected["list"], separators=(",", ":"))
    assert decoded == expected, (decoded, expected)
    for name, value in expected.items():
        assert type(decoded[name]) is type(value), f"{name}: {decoded[name]!r} instead of {value!r}"


def check_geometry(label: str, geometry_type: str, posted, decoded) -> None:
    """Compares the posted geometry with the one in the tile, both in tile units."""
    is_small = all(extent(part) <= 2 for part in getattr(posted, "geoms", [posted]))
    tolerance = SMALL_TOLERANCE if is_small else TOLERANCE
    clipped = posted.intersection(FRAME)
    assert not decoded.is_empty, label
    if geometry_type == "Polygon" and not is_small:
        assert decoded.geom_type in ("Polygon", "MultiPolygon"), label
        assert decoded.is_valid, f"{label}: {explain_validity(decoded)}"
        error = decoded.symmetric_difference(clipped).area
        limit = TOLERANCE * clipped.length + 16
        assert error <= limit, f"{label}: the area differs by {error} square units, the limit is {limit}"
    else:
        near = posted.buffer(tolerance)
        outside = [point for point in coordinates(decoded) if not near.covers(Point(point))]
        assert not outside, f"{label}: {outside[:3]} are too far from the posted geometry"
    if geometry_type == "LineString" and not is_small:
        # Parts that are too short to see may be missing. Near the border, an error of one unit moves the
        # end of a steep line by more than that.
        missing = posted.intersection(FRAME.buffer(-4)).difference(decoded.buffer(tolerance)).length
        assert missing <= 4, f"{label}: {missing} units are missing"
    if geometry_type == "Point":
        inside = [point for point in coordinates(posted) if FRAME.buffer(-1).covers(Point(point))]
        near = decoded.buffer(tolerance)
        assert all(near.covers(Point(point)) for point in inside), f"{label}: a point is missing"


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
