"""Reads the files that pyogrio tests itself with, and lets it read what Groma writes. Run it with scripts/files."""

import subprocess
from pathlib import Path

import pyogrio
import shapely
from harness import GROMA, compare, exported, failures, finish, groma

FIXTURES = Path(pyogrio.__file__).parent / "tests" / "fixtures"
# Those with other coordinates than their reference system can have, or with curves, are refused.
READ = ["naturalearth_lowres/naturalearth_lowres.shp", "test_gpkg_nulls.gpkg", "line_zm.gpkg"]
REFUSED = {name: "CONVERT_TO_LINEAR" for name in ("curve.gpkg", "curvepolygon.gpkg", "multisurface.gpkg")}


def features(path):
    """The features of a file as pyogrio reads them."""
    meta, _, geometries, columns = pyogrio.raw.read(path)
    rows = zip(geometries, *columns) if len(columns) else ((geometry,) for geometry in geometries)
    found = []
    for geometry, *values in rows:
        # Measures are dropped, and heights kept.
        shape = shapely.from_wkb(geometry) if geometry is not None else None
        if shape is not None and shape.has_m:
            shape = shapely.force_3d(shape) if shape.has_z else shapely.force_2d(shape)
        cells = {name: plain(value) for name, value in zip(meta["fields"], values)}
        geometry = shapely.geometry.mapping(shape) if shape is not None else None
        found.append({"geometry": geometry, "properties": cells})
    return list(meta["fields"]), found


def plain(value):
    value = value.item() if hasattr(value, "item") else value
    # A column with nulls is of floating-point numbers, in which they are NaN.
    if isinstance(value, float):
        return None if value != value else int(value) if value.is_integer() else value
    return value


def is_kept(shape):
    """Groma repairs invalid geometries, and cuts those that reach beyond the antimeridian."""
    return shape.is_valid and -180 <= shape.bounds[0] and shape.bounds[2] <= 180


def without_changed(found, expected):
    """Leaves out features whose geometry Groma does not keep as it is."""
    shapes = [shapely.geometry.shape(one["geometry"]) for one in expected]
    changed = [str(one["properties"]) for one, shape in zip(expected, shapes) if not is_kept(shape)]
    return [one for one in found if str({name: one["properties"].get(name) for name in expected[0]["properties"]})
            not in changed]


def test_fixtures():
    for number, name in enumerate(READ):
        path = FIXTURES / name
        groma("import", "layer", path, "--layer", f"public-{number}", "--keep-crs")
        names, expected = features(path)
        found = exported(f"public-{number}")
        compare(f"reading {name}", without_changed(expected, expected), without_changed(found, expected), names)
        for extension in ("gpkg", "fgb"):
            written = Path(f"public.{extension}")
            groma("export", "layer", written, "--layer", f"public-{number}")
            found = features(written)[1]
            compare(f"{name} as {extension}", without_changed(expected, expected),
                    without_changed(found, expected), names)
    for name, message in REFUSED.items():
        done = subprocess.run([GROMA, "import", "layer", FIXTURES / name, "--layer", "refused"],
                              capture_output=True, text=True)
        if done.returncode == 0 or message not in done.stderr:
            failures.append(f"{name} is refused with {message!r}, but not {done.stderr!r}")


test_fixtures()
finish("The files of pyogrio are read as it reads them, and it reads those that Groma writes.")
