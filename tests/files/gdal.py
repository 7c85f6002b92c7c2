"""Compares files of layers with GDAL, feature by feature and coordinate by coordinate. Run it with scripts/files."""

import json
from pathlib import Path

from harness import collection, compare, exported, failures, finish, groma, read_with_gdal, run

SQUARE = [[652000.125, 6862000.0625], [652031.4159, 6862000.0625], [652031.4159, 6862027.1828],
          [652000.125, 6862027.1828], [652000.125, 6862000.0625]]
HOLE = [[652010.5, 6862010.5], [652010.5, 6862012.5], [652012.5, 6862012.5], [652012.5, 6862010.5],
        [652010.5, 6862010.5]]
FAR = [[x + 100, y] for x, y in SQUARE]
LINE = [[652000.123456, 6862000.654321], [652100.1, 6862050.2], [652200.7, 6862000.9]]


def high(positions):
    return [[*position, 100.5 + index] for index, position in enumerate(positions)]


def feature(number, kind, coordinates, **properties):
    fields = {"code": f"00{number}", "name": ["Čà é", "ßçñ", None][number % 3], "n": 9007199254740993 - number,
              "size": number + 0.1, "day": "2026-01-31"}
    return {"type": "Feature", "geometry": {"type": kind, "coordinates": coordinates},
            "properties": {**fields, **properties}}


LAYERS = {
    "points": [feature(n, "Point", position) for n, position in enumerate(LINE)],
    "highpoints": [feature(n, "Point", position) for n, position in enumerate(high(LINE))],
    "lines": [feature(0, "LineString", LINE), feature(1, "LineString", LINE[:2])],
    "multilines": [feature(0, "MultiLineString", [LINE, HOLE[:3]])],
    "highlines": [feature(0, "LineString", high(LINE))],
    "polygons": [feature(0, "Polygon", [SQUARE, HOLE]), feature(1, "Polygon", [FAR])],
    "multipolygons": [feature(0, "MultiPolygon", [[SQUARE, HOLE], [FAR]])],
    "highpolygons": [feature(0, "Polygon", [high(SQUARE)[:4] + [[*SQUARE[0], 100.5]]])],
    "multipoints": [feature(0, "MultiPoint", LINE)],
}

# Format of Groma, its extension, and how GDAL writes it: driver, options, and whether it keeps properties.
FORMATS = [
    ("GPKG", "gpkg", [], True),
    ("GPKG", "gpkg", ["-lco", "SPATIAL_INDEX=NO", "-lco", "GEOMETRY_NAME=shape", "-lco", "FID=id"], True),
    ("FlatGeobuf", "fgb", [], True),
    ("FlatGeobuf", "fgb", ["-lco", "SPATIAL_INDEX=NO"], True),
    ("ESRI Shapefile", "shp", [], True),
    ("ESRI Shapefile", "shp", ["-lco", "ENCODING=UTF-8"], True),
    ("ESRI Shapefile", "zip", ["-lco", "ENCODING=UTF-8"], True),
    ("CSV", "csv", ["-lco", "GEOMETRY=AS_WKT", "-lco", "STRING_QUOTING=IF_NEEDED"], True),
    ("CSV", "csv", ["-lco", "GEOMETRY=AS_WKT", "-lco", "SEPARATOR=SEMICOLON"], True),
    ("DXF", "dxf", [], False),
]


def as_drawing(features):
    """What a drawing can hold: each part alone, and polygons as rings."""
    parts = []
    for one in features:
        kind, coordinates = one["geometry"]["type"], one["geometry"]["coordinates"]
        if kind.startswith("Multi"):
            kind = kind[len("Multi"):]
        else:
            coordinates = [coordinates]
        for part in coordinates:
            rings = part if kind == "Polygon" else [part]
            parts += [{"geometry": {"type": kind, "coordinates": [ring] if kind == "Polygon" else ring},
                       "properties": {}} for ring in rings]
    return parts


def without_heights(geometry):
    def cut(coordinates):
        return coordinates[:2] if isinstance(coordinates[0], (int, float)) else [cut(item) for item in coordinates]
    return {**geometry, "coordinates": cut(geometry["coordinates"])}


def test_reading():
    for name, features in LAYERS.items():
        Path("source.geojson").write_text(json.dumps(collection(features)))
        for number, (driver, extension, options, has_properties) in enumerate(FORMATS):
            if driver == "DXF" and name == "multipoints":
                # GDAL cannot write it.
                continue
            path = Path(f"{name}.{extension}")
            for old in Path().glob(f"{name}.*"):
                old.unlink()
            what = f"{driver} {' '.join(options)} of {name}"
            target = path if extension != "zip" else Path(f"{name}.shz")
            run("ogr2ogr", "-f", driver, "-t_srs", "EPSG:2154", *options,
                *([] if has_properties else ["-select", ""]), target, "source.geojson")
            if extension == "zip":
                target.rename(path)
            layer = f"{name}-{number}"
            crs = ["--crs", "EPSG:2154"] if driver in ("CSV", "DXF") else []
            groma("import", "layer", path, "--layer", layer, "--keep-crs", *crs)
            names = ("code", "name", "n", "size", "day") if has_properties else ()
            if driver == "ESRI Shapefile" and "ENCODING=UTF-8" not in options:
                # GDAL writes ISO-8859-1 without this option, which lacks some of the letters.
                names = ("code", "n", "size", "day")
            # GDAL writes text with 15 significant digits.
            digits = 6 if driver in ("CSV", "DXF") else None
            expected = features if has_properties else as_drawing(features)
            found = exported(layer) if has_properties else as_drawing(exported(layer))
            if driver == "DXF":
                if "polygon" in name:
                    # GDAL writes a polygon as a hatch, which has no heights.
                    for one in expected + found:
                        one["geometry"] = without_heights(one["geometry"])
                digits = 3
            compare(f"reading {what}", expected, found, names, digits)


def test_writing():
    for name, features in LAYERS.items():
        Path("source.geojson").write_text(json.dumps(collection(features)))
        groma("import", "layer", "source.geojson", "--layer", name, "--keep-crs")
        for extension in ("gpkg", "fgb", "zip", "csv", "kml", "dxf"):
            path = Path(f"written-{name}.{extension}")
            groma("export", "layer", path, "--layer", name)
            found = read_with_gdal(path)
            names = ("code", "name", "n", "size", "day")
            expected = features
            if extension == "csv":
                names = ("name", "n", "size")
            if extension == "kml":
                # In WGS 84, and with its own name.
                text = groma("export", "layer", "-", "--layer", name, "--crs", "EPSG:4326")
                expected, names = json.loads(text)["features"], ("code", "n", "size")
            if extension == "dxf":
                expected, names = as_drawing(features), ()
                for one in found:
                    geometry = one["geometry"]
                    line = geometry["coordinates"]
                    if geometry["type"] == "LineString" and "polygon" in name and line[0] == line[-1]:
                        one["geometry"] = {"type": "Polygon", "coordinates": [line]}
                # A drawing always has heights.
                for one in found if "high" not in name else []:
                    one["geometry"] = without_heights(one["geometry"])
            compare(f"writing {extension} of {name}", expected, found, names, 9 if extension == "kml" else None)
            if extension in ("gpkg", "fgb", "zip"):
                source = f"/vsizip/{path}" if extension == "zip" else path
                info = run("ogrinfo", "-al", "-so", source)
                if "2154" not in info:
                    failures.append(f"{extension} of {name} does not name EPSG:2154\n{info}")
                groma("import", "layer", path, "--layer", f"{name}-{extension}", "--keep-crs")
                compare(f"reading back {extension} of {name}", features, exported(f"{name}-{extension}"), names)


def test_workspace():
    """GDAL opens the file of a workspace, its tables and its layers, and finds the records that rows refer to."""
    records = {
        "folders": [{"reference": "F-1", "name": "Chêne", "dueDate": "2026-01-31", "owner": "lead@office.test"},
                    {"reference": "F-2", "name": "Orme"}],
        "assignments": [{"reference": "A-1", "folder": "F-1", "title": "Stake out", "estimatedHours": "2.5",
                         "assignees": ["lead@office.test", "crew@office.test"]}],
        "budgets": [{"reference": "B-1", "folder": "F-1", "name": "Field", "amount": "1000.50"}],
        "expenses": [{"reference": "E-1", "folder": "F-1", "budget": "B-1", "assignment": "A-1",
                      "unitAmount": "84.5", "incurredOn": "2026-01-20", "billable": True}],
    }
    for kind, rows in records.items():
        Path(f"{kind}.ndjson").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        groma("import", kind, f"{kind}.ndjson")
    features = LAYERS["polygons"]
    Path("linked.geojson").write_text(json.dumps(collection(features)))
    groma("import", "layer", "linked.geojson", "--layer", "linked", "--keep-crs", "--folder", "F-1")
    path = Path("workspace.gpkg")
    groma("export", "workspace", path)

    def rows(sql):
        out = Path("rows.geojson")
        out.unlink(missing_ok=True)
        run("ogr2ogr", "-f", "GeoJSON", "-dialect", "SQLITE", "-sql", sql, out, path)
        return [one["properties"] for one in json.loads(out.read_text())["features"]]

    def check(what, expected, found):
        if expected != found:
            failures.append(f"workspace: {what}\n  expected {expected}\n  found    {found}")

    info = run("ogrinfo", "-ro", "-q", path)
    for table in [*records, "statuses", "people", "assignment_people", *LAYERS, "linked"]:
        if f": {table} (" not in info and f": {table}\n" not in info:
            failures.append(f"workspace: no table {table} in\n{info}")
    check("folder", [{"reference": "F-1", "due_date": "2026/01/31", "owner": "lead@office.test"}], rows(
        "SELECT f.reference, strftime('%Y/%m/%d', f.due_date) AS due_date, p.email AS owner FROM folders f "
        "JOIN people p ON p.id = f.owner_id"))
    check("expense", [{"folder": "F-1", "budget": "B-1", "assignment": "A-1", "amount": 84.5, "billable": 1}], rows(
        "SELECT f.reference AS folder, b.reference AS budget, a.reference AS assignment, e.amount, e.billable "
        "FROM expenses e JOIN folders f ON f.id = e.folder_id JOIN budgets b ON b.id = e.budget_id "
        "JOIN assignments a ON a.id = e.assignment_id"))
    check("assignees", [{"number": 2}], rows(
        "SELECT count(*) AS number FROM assignment_people l JOIN assignments a ON a.id = l.assignment_id "
        "JOIN people p ON p.id = l.person_id JOIN statuses s ON s.id = a.status_id"))
    check("features", [{"folder": "F-1", "number": len(features)}], rows(
        "SELECT f.reference AS folder, count(*) AS number FROM linked l JOIN folders f ON f.id = l.folder_id "
        "GROUP BY f.reference"))
    names = ("code", "name", "n", "size", "day")
    compare("linked of the workspace", features, read_with_gdal(path, "linked"), names)
    if "2154" not in run("ogrinfo", "-so", path, "linked"):
        failures.append("workspace: the layer linked is not in EPSG:2154")


test_reading()
test_writing()
test_workspace()
finish("Files are the same in GDAL.")
