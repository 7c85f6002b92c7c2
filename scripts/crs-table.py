"""Generates and verifies the tables of reference systems. Run it with scripts/crs-table.

For each code, PROJ lists the operations to WGS 84 that need no ballpark shift. `Transformer.from_crs` chooses
among them for each point: the most accurate one whose bounds, in the coordinates of the system, contain the
point. The tables list the operations in this order, with these bounds.
"""

import argparse
import math
import pickle
import random
import re
import sqlite3
import struct
import subprocess
import warnings
from collections import Counter, defaultdict
from multiprocessing import Pool
from pathlib import Path

import pyproj
from pyproj import CRS, Transformer
from pyproj.database import query_crs_info
from pyproj.enums import PJType
from pyproj.transformer import TransformerGroup

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT / "crates/groma-geo/src/crs"
WGS84 = CRS.from_user_input("OGC:CRS84")
WORLD = (-180.0, -90.0, 180.0, 90.0)
# Metres per degree of latitude, to express a difference of degrees in metres.
METRES_PER_DEGREE = 111_320
# The promise: no accepted system differs from PROJ by more.
TOLERANCE_METRES = 0.01
# Systems whose points the Rust tests always include: national systems of Europe, and special cases.
NOTABLE = [
    2039, 2056, 2065, 2100, 2154, 2157, 2169, 2180, 2193, 2393, 3006, 3034, 3035, 3046, 3059, 3067, 3116, 3301,
    3346, 3396, 3416, 3460, 3763, 3765, 3794, 3832, 3844, 3857, 3908, 3912, 4230, 4258, 4267, 4269, 4275, 4277,
    4313, 4314, 4807, 5041, 5048, 5070, 5130, 5243, 5316, 5513, 5514, 5677, 5682, 6312, 7789, 8353, 21781, 22275,
    23030, 23032, 23700, 25831, 25832, 27200, 27493, 27563, 27572, 27700, 28992, 29702, 29903, 30166, 31254, 31259,
    31287, 31370, 31467, 31469, 32631, 32760, 2463, 2326, 3168, 29873, 3078, 3400, 26901, 26986,
]

warnings.filterwarnings("ignore")
pyproj.network.set_network_enabled(False)


# What PROJ knows


def sample(area, seed, side, extra):
    """A grid of side × side points, and random ones, in an area of use."""
    west, south, east, north = area
    if west > east:
        east += 360
    fractions = [0.01 + 0.98 * i / (side - 1) for i in range(side)] if side else []
    rng = random.Random(seed)
    positions = [(u, v) for u in fractions for v in fractions]
    positions += [(rng.random(), rng.random()) for _ in range(extra)]
    longitudes = [west + (east - west) * u for u, _ in positions]
    longitudes = [x - 360 if x > 180 else x for x in longitudes]
    return longitudes, [south + (north - south) * v for _, v in positions]


def reference_points(transformer, area, seed, side, extra):
    """Points x, y of a system in its area of use, with longitude and latitude according to PROJ."""
    x, y = transformer.transform(*sample(area, seed, side, extra), direction="INVERSE")
    longitude, latitude = transformer.transform(x, y)
    points = zip(x, y, longitude, latitude)
    return [point for point in points if all(map(math.isfinite, point))]


def to_wgs84(crs):
    """The transformation that Groma promises to agree with."""
    return Transformer.from_crs(crs, WGS84, always_xy=True, allow_ballpark=False)


def describe_operation(operation):
    area = operation.area_of_use
    steps = []
    for step in operation.operations or ():
        json = step.to_json_dict()
        if json.get("type") == "Transformation":
            code = json.get("id", {})
            is_epsg = "EPSG" in code.get("authority", "")
            steps.append((step.name, code.get("code") if is_epsg else None))
    return {
        "definition": getattr(operation, "definition", None) or operation.to_proj4() or "",
        "accuracy": operation.accuracy,
        "steps": steps,
        "area": area.bounds if area else WORLD,
        "area_name": area.name if area else "unknown",
    }


def substitutes(crs):
    """The operations that PROJ uses if the grids of all others are missing. It only shows those that it used."""
    try:
        transformer = to_wgs84(crs)
    except pyproj.exceptions.ProjError:
        return []
    found = {}
    for longitude, latitude in zip(*sample(crs.area_of_use.bounds, 1, 5, 25)):
        x, y = transformer.transform(longitude, latitude, direction="INVERSE")
        if math.isfinite(x) and math.isfinite(transformer.transform(x, y)[0]):
            operation = transformer.get_last_used_operation()
            found.setdefault(operation.definition, describe_operation(operation))
    return list(found.values())


def projected_bounds(geographic_to_crs, prime_meridian, area):
    """The bounds of an area in the coordinates of a system, as PROJ computes them."""
    west, south, east, north = area
    west, east = west - prime_meridian, east - prime_meridian
    sides = 20
    xs, ys = [], []
    for i in range(sides + 1):
        x, y = west + (east - west) * i / sides, south + (north - south) * i / sides
        xs += [x, x, west, east]
        ys += [south, north, y, y]
    points = zip(*geographic_to_crs.transform(xs, ys))
    points = [(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)]
    if not points:
        return None
    xs, ys = zip(*points)
    return min(xs), min(ys), max(xs), max(ys)


def analyse(code):
    """Everything that the tables need to know about a code."""
    crs = CRS.from_epsg(code)
    try:
        group = TransformerGroup(crs, WGS84, always_xy=True, allow_ballpark=False)
        operations, missing = group.transformers, group.unavailable_operations
    except IndexError:
        # pyproj finds nothing that PROJ can execute.
        operations, missing = [], []
    result = {
        "code": code,
        "name": crs.name,
        "area": crs.area_of_use.bounds,
        "is_geographic": crs.is_geographic,
        "unit": crs.axis_info[0].unit_conversion_factor,
        "prime_meridian": math.degrees(crs.prime_meridian.longitude * crs.prime_meridian.unit_conversion_factor),
        "method": crs.coordinate_operation.method_name if crs.coordinate_operation else "",
        "operations": [describe_operation(operation) for operation in operations],
        "missing": [describe_operation(operation) for operation in missing],
        "points": [],
    }
    result["substitutes"] = [] if operations else substitutes(crs)
    if not operations and not missing and not result["substitutes"]:
        return result
    geographic = crs.geodetic_crs.to_json_dict()
    geographic.pop("id", None)
    geographic["name"] = "unnamed"
    axis = lambda name, direction: {"name": name, "abbreviation": name[:3], "direction": direction, "unit": "degree"}
    geographic["coordinate_system"] = {
        "subtype": "ellipsoidal",
        "axis": [axis("Longitude", "east"), axis("Latitude", "north")],
    }
    geographic_to_crs = Transformer.from_crs(CRS.from_json_dict(geographic), crs, always_xy=True)
    for operation in result["operations"] + result["missing"] + result["substitutes"]:
        west, south, east, north = operation["area"]
        parts = [(west, south, east, north)]
        if west > east:
            parts = [(west, south, 180.0, north), (-180.0, south, east, north)]
        operation["bounds"] = [
            projected_bounds(geographic_to_crs, result["prime_meridian"], part) for part in parts
        ]
    # Compare the order of the axes in the register with x, y.
    natural = Transformer.from_crs(crs, geographic_to_crs.source_crs, allow_ballpark=False)
    always_xy = Transformer.from_crs(crs, geographic_to_crs.source_crs, always_xy=True, allow_ballpark=False)
    longitude, latitude = sample(result["area"], code, 0, 1)
    first, second = natural.transform(longitude[0], latitude[0], direction="INVERSE")
    x, y = always_xy.transform(longitude[0], latitude[0], direction="INVERSE")
    result["is_northing_first"] = abs(first - y) + abs(second - x) < abs(first - x) + abs(second - y)
    if operations or result["substitutes"]:
        result["points"] = reference_points(to_wgs84(crs), result["area"], code, 7, 51)
    return result


def supported_kinds():
    kinds = [PJType.PROJECTED_CRS, PJType.GEOGRAPHIC_2D_CRS]
    return sorted({int(info.code) for info in query_crs_info("EPSG", kinds, allow_deprecated=False)})


def analyse_all(cache, reuse):
    if reuse and cache.exists():
        return pickle.loads(cache.read_bytes())
    codes = supported_kinds()
    # Neighbouring codes are similarly slow.
    random.Random(1).shuffle(codes)
    with Pool() as pool:
        results = pool.map(analyse, codes, chunksize=20)
    results.sort(key=lambda result: result["code"])
    cache.write_bytes(pickle.dumps(results))
    return results


# From PROJ's pipelines to the tables


class Unsupported(Exception):
    """Why a system is not supported: a reason that crs.rs knows, and its detail."""


ELLIPSOIDS = pyproj.get_ellps_map()


def prime_meridian_degrees(name):
    text = pyproj.get_prime_meridians_map().get(name, name)
    match = re.fullmatch(r"(\d+)d(?:(\d+)')?(?:([\d.]+)\")?([EW])", text)
    if not match:
        return float(text)
    degrees, minutes, seconds = (float(part or 0) for part in match.groups()[:3])
    return (degrees + minutes / 60 + seconds / 3600) * (-1 if match[4] == "W" else 1)


def number(value):
    """A number without superfluous digits."""
    text = repr(float(value))
    return text[:-2] if text.endswith(".0") else text


def parse_pipeline(definition):
    """Steps as [is_inverse, name, parameters]."""
    steps = []
    for text in re.split(r"(?:^|\s)step\s", definition.replace("+", "")):
        words = text.split()
        if not words or "proj=pipeline" in words or "proj=noop" in words or words == ["noop"]:
            continue
        parameters = {}
        for word in words:
            key, _, value = word.partition("=")
            parameters[key] = value
        is_inverse = "inv" in parameters
        parameters.pop("inv", None)
        parameters.pop("type", None)
        parameters.pop("no_defs", None)
        name = parameters.pop("proj")
        if "ellps" in parameters:
            parameters.update(ellipsoid(ELLIPSOIDS[parameters.pop("ellps")]))
        if "datum" in parameters:
            raise Unsupported("method", f"datum {parameters['datum']}")
        if "pm" in parameters:
            parameters["pm"] = number(prime_meridian_degrees(parameters["pm"]))
        steps.append((is_inverse, name, parameters))
    return steps


def ellipsoid(definition):
    key = "rf" if "rf" in definition else "b"
    return {"a": number(definition["a"]), key: number(definition[key])}


def step_text(is_inverse, name, parameters):
    words = [name] + [f"{key}={value}" if value else key for key, value in parameters.items()]
    return ("inv " if is_inverse else "") + " ".join(words)


DATUM_STEPS = {
    "push", "pop", "cart", "helmert", "molobadekas", "hgridshift", "gridshift", "xyzgridshift", "geogoffset",
    "deformation", "tinshift", "defmodel", "horner", "affine", "set", "vgridshift", "molodensky",
}
RATES = {"dx", "dy", "dz", "drx", "dry", "drz", "ds", "t_epoch"}


def split_pipeline(definition):
    """The steps of the projection, and the steps from its datum to WGS 84."""
    steps = parse_pipeline(definition)
    # The last steps convert to degrees and swap axes.
    while steps and steps[-1][1] in ("unitconvert", "axisswap"):
        if steps[-1][1] == "unitconvert" and steps[-1][2].get("xy_in") != "rad":
            break
        steps.pop()
    first = next((i for i, step in enumerate(steps) if step[1] in DATUM_STEPS), len(steps))
    return steps[:first], steps[first:]


def projection_text(system, steps):
    """The projection in the syntax of projection.rs."""
    if system["is_geographic"]:
        parameters = {}
        if abs(system["unit"] - math.radians(1)) > 1e-15:
            parameters["to_degree"] = number(round(math.degrees(system["unit"]), 12))
        meridians = [step[2]["pm"] for step in steps if "pm" in step[2]]
        if meridians:
            parameters["pm"] = meridians[0]
        return " ".join(["proj=longlat"] + [f"{key}={value}" for key, value in parameters.items()])
    to_metre = 1.0
    projections = []
    for is_inverse, name, parameters in steps:
        if name == "unitconvert":
            to_metre *= system["unit"]
        elif name == "axisswap" and parameters == {"order": "2,1"}:
            pass
        elif is_inverse and name == "longlat":
            if "pm" in parameters:
                projections[-1][1]["pm"] = parameters["pm"]
        elif is_inverse:
            projections.append((name, dict(parameters)))
        else:
            raise Unsupported("projection", system["method"])
    if len(projections) != 1:
        raise Unsupported("projection", system["method"])
    name, parameters = projections[0]
    if name in ("labrd", "nzmg"):
        raise Unsupported("projection", system["method"])
    # PROJ's tmerc is the accurate algorithm, which proj4rs calls etmerc.
    if name == "tmerc" and "R" not in parameters:
        name = "etmerc"
    if to_metre != 1.0:
        parameters["to_meter"] = number(to_metre)
    words = [f"{key}={value}" if value else key for key, value in parameters.items()]
    return " ".join([f"proj={name}"] + words)


def proj_database():
    return sqlite3.connect(Path(pyproj.datadir.get_data_dir().split(":")[0]) / "proj.db")


def grid_names():
    """The NTv2 files for the names of PROJ's grids. PROJ also reads most of them by these names."""
    rows = proj_database().execute(
        "SELECT proj_grid_name, original_grid_name, old_proj_grid_name FROM grid_alternatives"
        " WHERE proj_method = 'hgridshift' AND NOT inverse_direction AND original_grid_name <> 'NTv1_0.gsb'"
    )
    is_ntv2 = lambda name: re.fullmatch(r"[^ ,]+\.gsb", name or "", re.IGNORECASE)
    return {proj: old if is_ntv2(old) else original for proj, original, old in rows if is_ntv2(old) or is_ntv2(original)}


GRIDS = grid_names()


def operation_steps(steps):
    """Steps in the syntax of operation.rs, and the grid files that they need."""
    texts, grids = [], []
    for is_inverse, name, parameters in steps:
        parameters = {key: value for key, value in parameters.items() if key not in RATES}
        if name == "hgridshift":
            file = GRIDS.get(parameters["grids"], parameters["grids"])
            if not re.fullmatch(r"[^ ,]+\.gsb", file, re.IGNORECASE):
                raise Unsupported("other-grid", "")
            grids.append(file)
            parameters = {"grids": file}
        elif name in ("gridshift", "xyzgridshift", "vgridshift", "deformation", "tinshift", "defmodel"):
            raise Unsupported("other-grid", "")
        elif name in ("push", "pop"):
            if parameters != {"v_3": ""}:
                raise Unsupported("method", name)
            parameters = {}
        elif name not in ("cart", "helmert", "molobadekas", "geogoffset") or "exact" in parameters:
            raise Unsupported("method", name)
        texts.append(step_text(is_inverse, name, parameters))
    return "|".join(texts), grids


# Columns of a row of operations.
USE_COLUMN = 4
GRIDS_COLUMN = 5


def operation_row(system, operation):
    if not operation["definition"]:
        raise Unsupported("no-operation", "")
    projection, steps = split_pipeline(operation["definition"])
    texts, grids = operation_steps(steps)
    # An operation can assume another longitude of the prime meridian than the system.
    offset = prime_meridian(projection) - prime_meridian(split_pipeline(first_definition(system))[0])
    if abs(offset) > 1e-12:
        texts = "|".join(filter(None, [f"geogoffset dlon={number(round(offset * 3600, 9))}", texts]))
    accuracy = operation["accuracy"]
    return (
        ",".join(str(code) for _, code in operation["steps"] if code),
        " + ".join(name for name, _ in operation["steps"]) or "no transformation needed",
        number(accuracy) if accuracy >= 0 else "",
        ",".join(map(number, operation["area"])),
        "offshore" if "- offshore" in operation["area_name"] else "",
        ",".join(grids),
        texts,
    )


def first_definition(system):
    operations = system["operations"] + system["substitutes"] + system["missing"]
    return next(operation["definition"] for operation in operations if operation["definition"])


def prime_meridian(steps):
    return next((float(parameters["pm"]) for _, _, parameters in steps if "pm" in parameters), 0.0)


def size(operation):
    west, south, east, north = operation["area"]
    width = east - west + (360 if west > east else 0)
    return width * (math.sin(math.radians(north)) - math.sin(math.radians(south)))


def is_preferred(later, earlier):
    """Whether PROJ takes an operation instead of one that it lists earlier, if the areas of both contain a point."""
    if later["accuracy"] < 0 or "- offshore" in later["area_name"]:
        return False
    if later["accuracy"] == earlier["accuracy"]:
        is_unknown = later["area_name"] == "unknown" and earlier["area_name"] != "unknown"
        return size(later) < size(earlier) and not is_unknown
    return later["accuracy"] < earlier["accuracy"]


def contains(outer, inner):
    return outer[0] <= inner[0] and outer[1] <= inner[1] and outer[2] >= inner[2] and outer[3] >= inner[3]


def intersects(a, b):
    return a[0] <= b[2] and b[0] <= a[2] and a[1] <= b[3] and b[1] <= a[3]


def candidates(system):
    """The operations with their bounds, in PROJ's order, without those that it never uses in the area of use."""
    if system.get("substitutes"):
        # Without grids, only the substitutes are used; with grids, only the others.
        others = candidates(system | {"substitutes": [], "points": []})
        entries = candidates(system | {"substitutes": [], "missing": [], "operations": system["substitutes"]})
        return others + [(as_substitute(row), bounds) for row, bounds in entries]
    entries = []
    for operation in in_proj_order(system["operations"], system["missing"]):
        try:
            row = operation_row(system, operation)
        except Unsupported:
            if operation in system["operations"]:
                raise
            continue
        if operation in system["missing"] and not row[GRIDS_COLUMN]:
            continue
        # Where the areas of two steps only touch, PROJ does not use the operation.
        if size(operation) < 1e-9:
            continue
        entries += [(row, operation, bounds) for bounds in operation["bounds"] if bounds]
    extent = coordinate_extent(system)
    if extent is None:
        return [(row, bounds) for row, _, bounds in entries]
    is_everywhere = lambda entry: not entry[0][GRIDS_COLUMN] and contains(entry[2], extent)
    is_offshore = lambda entry: "offshore" in entry[0][USE_COLUMN]
    has_offshore = any(map(is_offshore, entries))
    result = []
    for index, entry in enumerate(entries):
        row, operation, bounds = entry
        usable = [other for other in entries if other[1] is not operation and not other[0][GRIDS_COLUMN]]
        # An earlier operation for the same points is better, or a later one always replaces this one. Among
        # operations offshore, the order matters more than the accuracy.
        is_beaten = any(
            not is_offshore(other) and contains(other[2], bounds) and not is_preferred(operation, other[1])
            if entries.index(other) < index
            else not has_offshore and is_everywhere(other) and is_preferred(other[1], operation)
            for other in usable
        )
        is_used = intersects(bounds, extent) and not is_beaten
        is_fallback = not any(map(is_everywhere, entries)) and operation is system["operations"][0]
        if is_used or is_fallback:
            result.append((row, None if is_everywhere(entry) else bounds))
    return result


def as_substitute(row):
    use = f"{row[USE_COLUMN]} substitute".strip()
    return (*row[:USE_COLUMN], use, *row[USE_COLUMN + 1 :])


def in_proj_order(operations, missing):
    """PROJ lists operations for larger areas first, then more accurate ones."""
    result = list(operations)
    key = lambda operation: (-round(size(operation), 9), operation["accuracy"])
    for operation in missing:
        position = next((i for i, other in enumerate(result) if key(operation) < key(other)), len(result))
        result.insert(position, operation)
    return result


def coordinate_extent(system):
    """The bounds of the area of use in the coordinates of the system."""
    if not system["points"]:
        return None
    result = []
    for values in zip(*[point[:2] for point in system["points"]]):
        # The points do not reach the edge of the area of use.
        margin = 0.05 * (max(values) - min(values))
        result.append((min(values) - margin, max(values) + margin))
    (min_x, max_x), (min_y, max_y) = result
    return min_x, min_y, max_x, max_y


# Methods that the register names but PROJ does not implement.
NOT_IN_PROJ = {
    "Bonne (South Orientated)",
    "Lambert Conic Conformal (West Orientated)",
    "Lambert Conic Near-Conformal",
    "Transverse Mercator Zoned Grid System",
}


def build(systems):
    """Rows of systems by code, with operations as rows; and reasons of unsupported ones by code."""
    supported, unsupported = {}, {}
    for system in systems:
        code = system["code"]
        try:
            system.setdefault("substitutes", [])
            if system["method"] in NOT_IN_PROJ:
                raise Unsupported("projection", system["method"])
            entries = candidates(system)
            if not entries:
                needs_grid = any("grids=" in operation["definition"] for operation in system["missing"])
                raise Unsupported("other-grid" if needs_grid else "no-operation", "")
            projection = projection_text(system, split_pipeline(first_definition(system))[0])
            supported[code] = (system, projection, entries)
        except Unsupported as error:
            unsupported[code] = (system["name"], *error.args)
    return supported, unsupported


def other_codes():
    """Reasons for codes that are not two-dimensional, or deprecated."""
    database = proj_database()
    replacement = dict(
        database.execute(
            "SELECT deprecated_code, replacement_code FROM deprecation WHERE deprecated_auth_name = 'EPSG'"
            " AND replacement_auth_name = 'EPSG' AND table_name IN ('geodetic_crs', 'projected_crs')"
        )
    )
    result = {}
    for code, name, is_deprecated, kind in database.execute(
        "SELECT code, name, deprecated, type FROM crs_view WHERE auth_name = 'EPSG'"
    ):
        if is_deprecated:
            result[int(code)] = (name, "deprecated", str(replacement.get(code) or replacement.get(int(code), "")))
        elif kind == "geographic 3D":
            twins = database.execute(
                "SELECT b.code FROM geodetic_crs a JOIN geodetic_crs b USING (datum_auth_name, datum_code)"
                " WHERE a.auth_name = 'EPSG' AND a.code = ? AND b.auth_name = 'EPSG' AND b.type = 'geographic 2D'"
                " AND NOT b.deprecated ORDER BY b.code",
                (code,),
            ).fetchall()
            result[int(code)] = (name, "3d", str(twins[0][0]) if twins else "")
        elif kind == "compound":
            row = database.execute(
                "SELECT horiz_crs_code FROM compound_crs WHERE auth_name = 'EPSG' AND code = ?", (code,)
            ).fetchone()
            result[int(code)] = (name, "compound", str(row[0]))
        elif kind == "vertical":
            result[int(code)] = (name, "vertical", "")
        elif kind == "geocentric":
            result[int(code)] = (name, "geocentric", "")
        else:
            result[int(code)] = (name, "derived", "")
    return result


def bounds_text(system, bounds):
    digits = 6 if system["is_geographic"] else 0
    limit = lambda value: max(-1e15, min(1e15, value))
    return ",".join(number(round(limit(value), digits)) for value in bounds)


def write_tables(supported, unsupported):
    rows = sorted({row for _, _, entries in supported.values() for row, _ in entries})
    numbers = {row: index + 1 for index, row in enumerate(rows)}
    note = "# Generated by scripts/crs-table; do not edit.\n"
    with open(TABLES / "operations.tsv", "w") as file:
        file.write(note + "# number, EPSG codes, name, accuracy in metres, area of use, restrictions of use, grid files, steps\n")
        for row in rows:
            file.write("\t".join([str(numbers[row]), *row]) + "\n")
    with open(TABLES / "systems.tsv", "w") as file:
        file.write(note + "# EPSG code, name, area of use, axis order, projection, operations with their bounds\n")
        for code, (system, projection, entries) in sorted(supported.items()):
            texts = [
                str(numbers[row]) + (f"@{bounds_text(system, bounds)}" if bounds else "") for row, bounds in entries
            ]
            area = ",".join(map(number, system["area"]))
            axes = "yx" if system["is_northing_first"] else "xy"
            file.write("\t".join([str(code), system["name"], area, axes, projection, " ".join(texts)]) + "\n")
    with open(TABLES / "unsupported.tsv", "w") as file:
        file.write(note + "# EPSG code, name, reason (see crs.rs), detail\n")
        for code, (name, reason, detail) in sorted(unsupported.items()):
            file.write(f"{code}\t{name}\t{reason}\t{detail}\n")


# Verification


def transform(target, points, grids=None):
    """Runs the Rust code on points (code, x, y). Returns its lines."""
    command = ["cargo", "build", "--quiet", "--package", "groma-geo", "--example", "to_wgs84"]
    subprocess.run(command, check=True, cwd=ROOT)
    text = "".join(f"{code} {x!r} {y!r}\n" for code, x, y in points)
    command = [target / "debug/examples/to_wgs84"] + ([grids] if grids else [])
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout.splitlines()


def distance(line, longitude, latitude):
    """How far a line of the Rust code is from a point, in metres."""
    words = line.split(" ")
    if len(words) != 2:
        return math.inf
    dx = (float(words[0]) - longitude + 540) % 360 - 180
    return math.hypot(dx * math.cos(math.radians(latitude)), float(words[1]) - latitude) * METRES_PER_DEGREE


def differences(target, points_by_code, grids=None):
    """The largest difference of each code in metres."""
    points = [(code, *point) for code, all_ in points_by_code.items() for point in all_]
    lines = transform(target, [point[:3] for point in points], grids)
    worst = defaultdict(float)
    for (code, _, _, longitude, latitude), line in zip(points, lines, strict=True):
        worst[code] = max(worst[code], distance(line, longitude, latitude))
    return worst


def without_grids(entries):
    return [(row, bounds) for row, bounds in entries if not row[GRIDS_COLUMN]]


def drop_inaccurate(target, supported, unsupported):
    """Moves the systems that differ from PROJ to the unsupported ones."""
    write_tables(supported, unsupported)
    points = {code: system["points"] for code, (system, _, _) in supported.items()}
    for code, worst in differences(target, points).items():
        if worst > TOLERANCE_METRES:
            system, projection, entries = supported.pop(code)
            with_grids = [(row, bounds) for row, bounds in entries if "substitute" not in row[USE_COLUMN]]
            if 0 < len(with_grids) < len(entries):
                supported[code] = (system, projection, with_grids)
                continue
            unsupported[code] = (system["name"], "inaccurate", "")
            print(f"EPSG:{code} {system['name']} differs by {worst:.3f} m")
    return points


def drop_inaccurate_grids(target, supported, unsupported):
    """Moves operations whose result differs from PROJ's with the same grids out of the tables. The grids are
    synthetic, because the files are large and each has its own licence."""
    write_tables(supported, unsupported)
    ours, projs = target / "crs-table-grids/ours", target / "crs-table-grids/proj"
    files = defaultdict(list)
    for _, _, entries in supported.values():
        for row, _ in entries:
            for file in filter(None, row[GRIDS_COLUMN].split(",")):
                files[file].append(tuple(map(float, row[3].split(","))))
    proj_names = {file: proj for proj, file in GRIDS.items()}
    for folder in (ours, projs):
        folder.mkdir(parents=True, exist_ok=True)
    for file, areas in files.items():
        west, south, east, north = zip(*areas)
        is_crossing = any(w > e for w, e in zip(west, east))
        area = (-180 if is_crossing else min(west), min(south), 180 if is_crossing else max(east), max(north))
        content = ntv2_grid(area)
        (ours / file).write_bytes(content)
        (projs / proj_names.get(file, file)).write_bytes(content)
    codes = [code for code, entry in supported.items() if len(without_grids(entry[2])) < len(entry[2])]
    with Pool(initializer=pyproj.datadir.append_data_dir, initargs=[str(projs)]) as pool:
        points = dict(pool.map(grid_points, codes, chunksize=20))
    worst = differences(target, points, ours)
    changed = []
    for code in codes:
        if not points[code] or worst[code] > TOLERANCE_METRES:
            system, projection, entries = supported.pop(code)
            print(f"EPSG:{code} {system['name']} differs by {worst[code]:.3f} m with grids")
            if without_grids(entries):
                supported[code] = (system, projection, without_grids(entries))
                changed.append(code)
            else:
                unsupported[code] = (system["name"], "other-grid", "")
    # PROJ must not use the grids of these systems either.
    write_tables(supported, unsupported)
    for code, value in differences(target, {code: points[code] for code in changed}, ours).items():
        if value > TOLERANCE_METRES:
            name = supported.pop(code)[0]["name"]
            unsupported[code] = (name, "inaccurate", "")
            print(f"EPSG:{code} {name} differs by {value:.3f} m if PROJ has the grids that Groma does not use")
    print(f"{len(codes)} systems verified with grids")


def grid_points(code):
    crs = CRS.from_epsg(code)
    try:
        return code, reference_points(to_wgs84(crs), crs.area_of_use.bounds, code, 5, 25)
    except pyproj.exceptions.ProjError:
        return code, []


def ntv2_grid(area):
    """A grid file with shifts of a few seconds that vary from node to node."""
    west, south, east, north = area
    columns, rows = 21, 21
    # A margin, so that the shift does not leave the grid.
    west, south, east, north = west - 0.1, south - 0.1, east + 0.1, north + 0.1
    number_ = lambda value: struct.pack("<d", value)
    integer = lambda value: struct.pack("<i4x", value)
    record = lambda name, value: name.encode().ljust(8) + value
    parts = [
        record("NUM_OREC", integer(11)), record("NUM_SREC", integer(11)), record("NUM_FILE", integer(1)),
        record("GS_TYPE", b"SECONDS "), record("VERSION", b"TEST    "), record("SYSTEM_F", b"FROM    "),
        record("SYSTEM_T", b"TO      "), record("MAJOR_F", number_(6378137)), record("MINOR_F", number_(6356752)),
        record("MAJOR_T", number_(6378137)), record("MINOR_T", number_(6356752)),
        record("SUB_NAME", b"GRID    "), record("PARENT", b"NONE    "), record("CREATED", b" " * 8),
        record("UPDATED", b" " * 8), record("S_LAT", number_(south * 3600)), record("N_LAT", number_(north * 3600)),
        record("E_LONG", number_(-east * 3600)), record("W_LONG", number_(-west * 3600)),
        record("LAT_INC", number_((north - south) / (rows - 1) * 3600)),
        record("LONG_INC", number_((east - west) / (columns - 1) * 3600)), record("GS_COUNT", integer(rows * columns)),
    ]  # fmt: skip
    for row in range(rows):
        for column in range(columns):
            shift = 2 * math.sin(0.7 * row + 0.3 * column), 2 * math.cos(0.2 * row - 0.9 * column)
            parts.append(struct.pack("<ffff", *shift, 0, 0))
    return b"".join(parts) + record("END", b" " * 8)


# Output


def ranges(codes):
    """Codes as text, with neighbours joined: 2036, 3052–3053."""
    texts, codes = [], sorted(codes)
    start = previous = codes[0]
    for code in codes[1:] + [None]:
        if code != previous + 1:
            texts.append(str(start) if start == previous else f"{start}–{previous}")
            start = code
        previous = code if code else previous
    return ", ".join(texts)


REASONS = {
    "no-operation": "No transformation to WGS 84 is published",
    "other-grid": "The transformations to WGS 84 need grid files in a format other than NTv2",
    "projection": "The projection is not implemented",
    "inaccurate": "The result would differ from PROJ by more than 1 cm",
    "3d": "Three-dimensional; use the two-dimensional system of the same datum",
    "compound": "Includes heights; use the horizontal part",
    "vertical": "Describes only heights",
    "geocentric": "Geocentric coordinates",
    "derived": "Derived from another system by a method of its own",
    "deprecated": "Deprecated; the error names the replacement",
}


def write_document(supported, unsupported):
    path = ROOT / "docs/reference-systems.md"
    marker = "<!-- The rest is generated by scripts/crs-table. -->\n"
    text = path.read_text().split(marker)[0] + marker + "\n"
    only_grid = [code for code, (_, _, entries) in supported.items() if not without_grids(entries)]
    better = [code for code, (_, _, entries) in supported.items() if len(without_grids(entries)) < len(entries)]
    text += f"With PROJ {pyproj.proj_version_str} and the EPSG register "
    text += dict(proj_database().execute("SELECT key, value FROM metadata"))["EPSG.VERSION"]
    text += f", {len(supported) - len(only_grid):,} codes are supported without grid files. "
    text += f"Grid files make {len(better) - len(only_grid):,} of them more accurate, and add {len(only_grid):,} more.\n"
    by_reason = defaultdict(list)
    for code, (_, reason, _) in unsupported.items():
        by_reason[reason].append(code)
    if only_grid:
        text += f"\n### Supported only with grid files ({len(only_grid):,})\n\n{ranges(only_grid)}\n"
    for reason, title in REASONS.items():
        codes = by_reason.pop(reason, [])
        if codes:
            text += f"\n### {title} ({len(codes):,})\n\n{ranges(codes)}\n"
    assert not by_reason, by_reason.keys()
    path.write_text(text)


def test_codes(supported):
    """About 200 codes: notable ones, and a random choice of the others."""
    codes = [code for code in NOTABLE if code in supported and without_grids(supported[code][2])]
    others = sorted(code for code in set(supported) - set(codes) if without_grids(supported[code][2]))
    return sorted(codes + random.Random(200).sample(others, 200 - len(codes)))


def write_points(supported):
    """Points for the Rust tests."""
    with open(TABLES / "points.tsv", "w") as file:
        file.write("# Generated by scripts/crs-table; do not edit.\n# EPSG code, x, y, longitude, latitude by PROJ\n")
        for code in test_codes(supported):
            points = supported[code][0]["points"]
            for x, y, longitude, latitude in random.Random(code).sample(points, min(5, len(points))):
                file.write(f"{code}\t{x!r}\t{y!r}\t")
                file.write(f"{longitude:.11f}\t{latitude:.11f}\n")


def check(target):
    """Compares 200 systems with PROJ at 1,000 points each."""
    codes = [int(line.split("\t")[0]) for line in open(TABLES / "systems.tsv") if not line.startswith("#")]
    notable = [code for code in NOTABLE if code in codes]
    others = sorted(set(codes) - set(notable))
    codes = sorted(notable + random.Random(7).sample(others, 200 - len(notable)))
    points = {}
    for code in codes:
        crs = CRS.from_epsg(code)
        try:
            points[code] = reference_points(to_wgs84(crs), crs.area_of_use.bounds, -code, 0, 1000)
        except pyproj.exceptions.ProjError:
            print(f"EPSG:{code} needs a grid")
    worst = differences(target, points)
    failed = {code: value for code, value in worst.items() if value > TOLERANCE_METRES}
    total = sum(map(len, points.values()))
    print(f"{len(points)} systems, {total:,} points, largest difference {max(worst.values()):.6f} m")
    for code, value in failed.items():
        print(f"EPSG:{code} differs by {value:.3f} m")
    return not failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("target", type=Path)
    parser.add_argument("--reuse", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.check:
        raise SystemExit(0 if check(arguments.target) else 1)
    systems = analyse_all(arguments.target / "crs-table.pickle", arguments.reuse)
    supported, unsupported = build(systems)
    for code, reason in other_codes().items():
        if code not in supported:
            unsupported.setdefault(code, reason)
    # Groma reads it as EPSG:4326, because it does not transform heights.
    del unsupported[4979]
    drop_inaccurate(arguments.target, supported, unsupported)
    drop_inaccurate_grids(arguments.target, supported, unsupported)
    write_tables(supported, unsupported)
    write_document(supported, unsupported)
    write_points(supported)
    print(f"{len(supported)} supported; unsupported:", dict(Counter(reason for _, reason, _ in unsupported.values())))


if __name__ == "__main__":
    main()
