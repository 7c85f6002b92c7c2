"""QGIS reads layers by OGC API – Features: what it shows equals what was posted."""

import os

from qgis.core import (
    Qgis, QgsApplication, QgsFeatureRequest, QgsRectangle, QgsSettings, QgsVectorDataProvider, QgsVectorLayer,
    QgsWkbTypes)
from qgis.PyQt.QtCore import QDate, QVariant

import groma
import session

COUNT = 1234
TYPES = {"id": QVariant.String, "number": QVariant.Int, "owner": QVariant.String, "area": QVariant.Double,
         "surveyed_on": QVariant.Date, "sold": QVariant.Bool}
EDITING = (QgsVectorDataProvider.AddFeatures | QgsVectorDataProvider.DeleteFeatures
           | QgsVectorDataProvider.ChangeAttributeValues | QgsVectorDataProvider.ChangeGeometries)


def attributes(feature):
    """The attributes of a feature as they were posted."""
    def value(name):
        attribute = feature[name]
        if isinstance(attribute, QVariant) and attribute.isNull():
            return None
        return attribute.toString("yyyy-MM-dd") if isinstance(attribute, QDate) else attribute
    return {name: value(name) for name in TYPES if name != "id"}


def numbers(features):
    found = [feature["number"] for feature in features]
    assert len(found) == len(set(found)), "a feature was read twice"
    return sorted(found)


def browser_opens_a_layer(authcfg):
    """A connection in the browser panel, made of the address and the token, lists the collections."""
    connection = "connections/ows/items/wfs/connections/items/Groma"
    for name, value in (("url", session.OGC), ("version", "OGC_API_FEATURES"), ("authcfg", authcfg)):
        QgsSettings().setValue(f"{connection}/{name}", value)
    provider = next(p for p in QgsApplication.dataItemProviderRegistry().providers() if p.name() == "WFS")
    root = provider.createDataItem("", None)
    [connection] = root.createChildren()
    collections = {item.name(): item for item in connection.createChildren()}
    assert collections.keys() >= {"Parcels", "Survey", "Grid", "Empty"}, f"{collections}: {session.messages}"
    layer = QgsVectorLayer(collections["Parcels"].uri(), "Parcels", "OAPIF")
    assert layer.isValid() and layer.featureCount() == COUNT, session.messages


def layer_equals_what_was_posted(layer, lots):
    assert layer.featureCount() == COUNT, layer.featureCount()
    assert layer.wkbType() == QgsWkbTypes.Polygon, layer.wkbType()
    assert {field.name(): field.type() for field in layer.fields()} == TYPES, [
        (field.name(), field.typeName()) for field in layer.fields()]
    features = list(layer.getFeatures())
    assert numbers(features) == list(range(COUNT))
    for feature in features:
        expected = lots[feature["number"]]
        assert attributes(feature) == expected["properties"], attributes(feature)
        [ring] = feature.geometry().asPolygon()
        # Groma turns rings as RFC 7946 says, and QGIS shows them as they come.
        assert [[point.x(), point.y()] for point in ring] == expected["geometry"]["coordinates"][0], ring


def box_reads_only_its_features(layer):
    south, north, west, east = 47.0101, 47.0139, 2.0051, 2.0122
    request = QgsFeatureRequest().setFilterRect(QgsRectangle(west, south, east, north))
    # Whole columns and rows, and those that the box cuts.
    expected = sorted(row * groma.ROW + column for row in range(10, 14) for column in range(5, 13))
    assert numbers(layer.getFeatures(request)) == expected


def filters_select_features(layer):
    cases = {
        '"number" < 100 AND "sold" = true': lambda p: p["number"] < 100 and p["sold"],
        "\"owner\" = 'Propriétaire 3'": lambda p: p["owner"] == "Propriétaire 3",
        '"owner" IS NULL': lambda p: p["owner"] is None,
        '"area" BETWEEN 10.25 AND 20': lambda p: 10.25 <= p["area"] <= 20,
        "\"owner\" LIKE '%taire 5' OR \"number\" IN (1, 2, 3)":
            lambda p: (p["owner"] or "").endswith("taire 5") or p["number"] in (1, 2, 3),
    }
    conformance = groma.request(f"{groma.OGC}/conformance")["conformsTo"]
    if "http://www.opengis.net/spec/cql2/1.0/conf/cql2-text" in conformance:
        # Without CQL2, QGIS takes a condition on any date for one on the time of the last change.
        cases["\"surveyed_on\" >= '2026-06-01'"] = lambda p: p["surveyed_on"] >= "2026-06-01"
    for expression, matches in cases.items():
        assert layer.setSubsetString(expression), expression
        expected = [number for number in range(COUNT) if matches(groma.lot(number)["properties"])]
        assert numbers(layer.getFeatures()) == expected, f"{expression}: {session.messages}"
    assert layer.setSubsetString("")


def layers_keep_their_own_coordinates(authcfg, crs, collection, points):
    layer = session.open_layer(collection, authcfg)
    assert layer.crs().authid() == crs, layer.crs().authid()
    for feature in layer.getFeatures():
        point = feature.geometry().asPoint()
        assert (point.x(), point.y()) == points[feature["number"]], point


def only_editors_can_edit(authcfg, read_only):
    layer = session.open_layer("parcels", authcfg)
    editable = layer.dataProvider().capabilities()
    assert editable & EDITING == EDITING, f"an editor cannot edit: {int(editable)}"
    layer = session.open_layer("parcels", read_only)
    readable = layer.dataProvider().capabilities()
    assert readable & EDITING == QgsVectorDataProvider.NoCapabilities, f"a read-only token can edit: {int(readable)}"


def main():
    session.start()
    print(f"QGIS {Qgis.QGIS_VERSION}")
    lots = [groma.lot(number) for number in range(COUNT)]
    groma.post("parcels", lots)
    header = session.authentication("APIHeader", groma.TOKEN)
    basic = session.authentication("Basic", groma.TOKEN)
    browser_opens_a_layer(header)
    for authcfg in (header, basic):
        layer = session.open_layer("parcels", authcfg)
        layer_equals_what_was_posted(layer, lots)
        box_reads_only_its_features(session.open_layer("parcels", authcfg))
    # A filter set on an open layer drops the authentication configuration, but QGIS keeps Basic's password.
    filters_select_features(session.open_layer("parcels", basic))
    # EPSG:3035 has the northing first.
    for crs, collection, x, y in (("EPSG:2154", "survey", 652381.327, 6862047.611),
                                  ("EPSG:3035", "grid", 4321000.5, 3210000.25)):
        points = {number: (x + number * 10.5, y + number * 20.25) for number in range(20)}
        groma.post(collection, [
            {"type": "Feature", "properties": {"number": number},
             "geometry": {"type": "Point", "coordinates": point}} for number, point in points.items()], crs)
        layers_keep_their_own_coordinates(basic, crs, collection, points)
    empty = session.open_layer("empty", header)
    assert empty.featureCount() == 0 and list(empty.getFeatures()) == []
    print(f"  QGIS reads {COUNT} features with their attributes, boxes, filters and coordinates")
    only_editors_can_edit(header, session.authentication("Basic", os.environ["READ_ONLY_TOKEN"]))
    print("  QGIS offers editing to editors only")


main()
