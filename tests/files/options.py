"""Reads files that ogr2ogr writes with its various options. Run it with scripts/files."""

import json
import subprocess
import zipfile
from pathlib import Path

from harness import GROMA, collection, compare, exported, failures, finish, groma, run

LINE = [[652000.25, 6862000.5], [652100.125, 6862050.75]]
number = 0


def feature(coordinates, **properties):
    kind = "Point" if isinstance(coordinates[0], float) else "LineString"
    geometry = {"type": kind, "coordinates": coordinates}
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def convert(features, driver, path, *options, crs="EPSG:2154"):
    """Lets ogr2ogr write a file of features in this reference system."""
    Path("source.geojson").write_text(json.dumps(collection(features)))
    for old in Path().glob(f"{Path(path).stem}.*"):
        old.unlink()
    srs = ["-a_srs", crs] if crs else []
    run("ogr2ogr", "-f", driver, *srs, *options, path, "source.geojson")


def imported(path, *options):
    """Imports a file into a new layer, and returns its features."""
    global number
    number += 1
    layer = f"options-{number}"
    groma("import", "layer", path, "--layer", layer, "--keep-crs", *options)
    return exported(layer)


def refused(path, message, *options):
    done = subprocess.run([GROMA, "import", "layer", path, "--layer", "refused", *options],
                          capture_output=True, text=True)
    if done.returncode == 0 or message not in done.stderr:
        failures.append(f"{path} is refused with {message!r}, but not {done.stderr!r}")


def expect(what, expected, found):
    if expected != found:
        failures.append(f"{what}\n  expected {expected!r}\n  found    {found!r}")


def values(features, name):
    return [one["properties"].get(name) for one in features]


def test_encodings():
    text = "Éçñ ßü"
    for encoding in ("UTF-8", "CP1252", "ISO-8859-1", "ISO-8859-15", "CP850", "CP437"):
        convert([feature(LINE, name=text)], "ESRI Shapefile", "text.shp", "-lco", f"ENCODING={encoding}")
        expect(f"{encoding} with .cpg", [text], values(imported("text.shp"), "name"))
    # Without it, the header of the .dbf names the encoding.
    for encoding in ("LDID/87", "LDID/3", "LDID/2", "LDID/1"):
        convert([feature(LINE, name=text)], "ESRI Shapefile", "text.shp", "-lco", f"ENCODING={encoding}")
        Path("text.cpg").unlink(missing_ok=True)
        expect(f"{encoding} without .cpg", [text], values(imported("text.shp"), "name"))


def test_numbers():
    numbers = [-2**63, 2**63 - 1, 2**53 + 1, 0]
    features = [feature(LINE, n=n) for n in numbers]
    for driver, path, *options in (("GPKG", "n.gpkg"), ("FlatGeobuf", "n.fgb"), ("GeoJSON", "n.geojson"),
                                   ("GeoJSONSeq", "n.geojsonl"), ("CSV", "n.csv", "-lco", "GEOMETRY=AS_WKT")):
        crs = None if driver.startswith("GeoJSON") else "EPSG:2154"
        convert(features, driver, path, *options, crs=crs)
        found = imported(path, *(["--crs", "EPSG:2154"] if driver == "CSV" else []))
        expect(f"64-bit numbers in {driver}", sorted(numbers), sorted(values(found, "n")))


def test_nulls_and_empty_texts():
    features = [feature(LINE, name=name) for name in ("", None, "x")]
    for driver, path in (("GPKG", "null.gpkg"), ("FlatGeobuf", "null.fgb"), ("GeoJSON", "null.geojson")):
        convert(features, driver, path, crs=None if driver == "GeoJSON" else "EPSG:2154")
        found = imported(path)
        expect(f"null and empty in {driver}", ["", None, "x"], sorted(values(found, "name"), key=str))
        expect(f"lines in {driver}", 3, len(found))


def test_dates():
    features = [feature(LINE, day="2026-01-31", at="2026-01-31T12:34:56Z", local="2026-01-31T12:34:56.789+02:00")]
    expected = {
        "GPKG": ["2026-01-31", "2026-01-31T12:34:56Z", "2026-01-31T12:34:56.789+02"],
        "FlatGeobuf": ["2026-01-31T00:00:00", "2026-01-31T12:34:56Z", "2026-01-31T12:34:56.789+02"],
        "GeoJSONSeq": ["2026-01-31", "2026-01-31T12:34:56Z", "2026-01-31T12:34:56.789+02:00"],
    }
    for driver, path in (("GPKG", "dates.gpkg"), ("FlatGeobuf", "dates.fgb"), ("GeoJSONSeq", "dates.geojsonl")):
        convert(features, driver, path, crs=None if driver == "GeoJSONSeq" else "EPSG:2154")
        found = imported(path)[0]["properties"]
        # GDAL writes as many digits of a second as it likes.
        normal = [found[name].replace(".000", "").replace("+02:00", "+02") for name in ("day", "at", "local")]
        expect(f"dates in {driver}", [one.replace("+02:00", "+02") for one in expected[driver]], normal)
    convert(features, "ESRI Shapefile", "dates.shp")
    expect("a date in a Shapefile", ["2026-01-31"], values(imported("dates.shp"), "day"))


def test_heights_and_measures():
    high = [[*position, 100.5 + n] for n, position in enumerate(LINE)]
    for driver, path in (("GPKG", "zm.gpkg"), ("FlatGeobuf", "zm.fgb"), ("ESRI Shapefile", "zm.shp")):
        for dimension, source, expected in (("XYZ", high, high), ("XYM", LINE, LINE), ("XYZM", high, high)):
            convert([feature(source, n=1)], driver, path, "-dim", dimension)
            compare(f"{dimension} in {driver}", [feature(expected, n=1)], imported(path), ("n",))
    # The measures that ogr2ogr adds are zeros, which a Shapefile cannot tell from none.
    convert([feature(high, n=1)], "GPKG", "zm.gpkg", "-dim", "XYZM")
    done = subprocess.run([GROMA, "import", "layer", "zm.gpkg", "--layer", "measures"], capture_output=True, text=True)
    if "M values were dropped" not in done.stderr:
        failures.append(f"dropped measures are not mentioned: {done.stderr}")


def test_geopackage_options():
    features = [feature(LINE, name="é", n=1), feature(LINE[::-1], name=None, n=2)]
    for options in (["VERSION=1.0"], ["VERSION=1.1"], ["VERSION=1.2"], ["VERSION=1.3"], ["GEOMETRY_NULLABLE=NO"],
                    ["SPATIAL_INDEX=NO"], ["GEOMETRY_NAME=the geom"], ["FID=Id"], ["IDENTIFIER=Lots of the town"],
                    ["LAUNDER=YES"], ["ASPATIAL_VARIANT=GPKG_ATTRIBUTES"]):
        kind = "-dsco" if options[0].startswith("VERSION") else "-lco"
        convert(features, "GPKG", "options.gpkg", kind, options[0], "-nln", "Lots and \"more\"")
        compare(f"GPKG {options[0]}", features, imported("options.gpkg"), ("name", "n"))
    mixed = [feature(LINE, n=1), feature(LINE[0], n=2), {**feature(LINE, n=3), "geometry": None}]
    convert(mixed, "GPKG", "options.gpkg", "-nlt", "GEOMETRY")
    compare("GPKG with mixed and missing geometries", mixed, imported("options.gpkg"), ("n",))


def test_several_layers():
    convert([feature(LINE, n=1)], "GPKG", "several.gpkg", "-nln", "roads")
    run("ogr2ogr", "-update", "-f", "GPKG", "several.gpkg", "-nln", "paths", "source.geojson")
    refused("several.gpkg", "choose one with --source-layer: roads, paths")
    expect("one of several layers", [1], values(imported("several.gpkg", "--source-layer", "paths"), "n"))
    with zipfile.ZipFile("several.zip", "w") as archive:
        for name in ("roads", "paths"):
            convert([feature(LINE, n=len(name))], "ESRI Shapefile", f"{name}.shp")
            for part in Path().glob(f"{name}.*"):
                archive.write(part, f"data/{part}")
    refused("several.zip", "choose one with --source-layer: paths, roads")
    expect("one of several Shapefiles", [5], values(imported("several.zip", "--source-layer", "roads"), "n"))


def test_reference_systems():
    features = [feature(LINE, n=1)]
    for driver, path in (("ESRI Shapefile", "crs.shp"), ("GPKG", "crs.gpkg"), ("FlatGeobuf", "crs.fgb")):
        # The name that ArcGIS gives to EPSG:2154.
        convert(features, driver, path, crs="ESRI:102110")
        if driver == "FlatGeobuf":
            # It has WKT 2, which Groma reads for its code only.
            refused(path, "--crs")
        else:
            compare(f"ESRI:102110 in {driver}", features, imported(path), ("n",))
        convert(features, driver, path, crs="+proj=lcc +lat_1=45 +lat_2=46 +lat_0=45.5 +lon_0=3 +ellps=GRS80 +units=m")
        refused(path, "--crs")
        compare(f"--crs in {driver}", features, imported(path, "--crs", "EPSG:2154"), ("n",))
    convert(features, "ESRI Shapefile", "crs.shp")
    Path("crs.prj").unlink()
    refused("crs.shp", "does not name its reference system")


def test_texts():
    points = [feature([2.25, 48.5, 30.0], name="a;b", n=1), feature([3.5, 49.25, 31.0], name="c \"d\", e", n=2)]
    flat = [feature(one["geometry"]["coordinates"][:2], **one["properties"]) for one in points]
    for options, expected, crs in (
        (["GEOMETRY=AS_WKT", "SEPARATOR=TAB"], points, ["--crs", "EPSG:4326"]),
        (["GEOMETRY=AS_WKT", "WRITE_BOM=YES", "LINEFORMAT=CRLF"], points, ["--crs", "EPSG:4326"]),
        (["GEOMETRY=AS_WKT", "STRING_QUOTING=ALWAYS", "SEPARATOR=SEMICOLON"], points, ["--crs", "EPSG:4326"]),
        (["GEOMETRY=AS_XY"], flat, ["--crs", "EPSG:4326"]),
        (["GEOMETRY=AS_XYZ", "SEPARATOR=SEMICOLON"], points, ["--crs", "EPSG:4326"]),
        (["GEOMETRY=AS_YX"], flat, ["--crs", "EPSG:4326"]),
    ):
        convert(points, "CSV", "text.csv", *(part for option in options for part in ("-lco", option)), crs="EPSG:4326")
        compare(f"CSV {options}", expected, imported("text.csv", *crs), ("name", "n"))
    for driver, path, options in (
        ("GeoJSON", "text.geojson", ["RFC7946=YES", "WRITE_BBOX=YES"]), ("GeoJSON", "text.geojson", ["ID_FIELD=n"]),
        ("GeoJSONSeq", "text.geojsons", ["RS=YES"]),
    ):
        convert(points, driver, path, *(part for option in options for part in ("-lco", option)), crs="EPSG:4326")
        compare(f"{driver} {options}", points, imported(path), ("name",))
    for driver, path in (("KML", "text.kml"), ("LIBKML", "text.kml"), ("LIBKML", "text.kmz")):
        convert(points, driver, path, "-dsco", "NameField=name", crs="EPSG:4326")
        compare(f"{driver} {path}", points, imported(path), ("n",))
    convert(points, "GPX", "points.gpx", "-dsco", "GPX_USE_EXTENSIONS=YES", crs="EPSG:4326")
    compare("GPX waypoints", flat, imported("points.gpx"), ("name",))
    lines = [feature([[2.25, 48.5], [2.5, 48.75]], name="Walk")]
    for option, layer in (("FORCE_GPX_TRACK=YES", "tracks"), ("FORCE_GPX_ROUTE=YES", "routes")):
        convert(lines, "GPX", "lines.gpx", "-lco", option, crs="EPSG:4326")
        compare(f"GPX {layer}", lines, imported("lines.gpx", "--source-layer", layer), ("name",))


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
finish("Files that ogr2ogr writes with its options are read as they are.")
