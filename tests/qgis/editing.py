"""QGIS edits layers by OGC API – Features. After each save, the feature is read back from Groma, and its signed
event has arrived at a webhook receiver."""

import json
import subprocess
import sys
import time
from pathlib import Path

from qgis.core import (
    Qgis, QgsFeature, QgsGeometry, QgsLineString, QgsPoint, QgsPointXY, QgsVectorDataProvider,
    QgsVectorLayerEditUtils, QgsVectorLayerUtils)
from qgis.PyQt.QtCore import QDate

import groma
import session

MANY = 500


def square(x, y, size):
    return [[x, y], [x + size, y], [x + size, y + size], [x, y + size], [x, y]]


def polygon(ring):
    return QgsGeometry.fromPolygonXY([[QgsPointXY(x, y) for x, y in ring]])


def new_feature(layer, geometry, values):
    attributes = {layer.fields().indexOf(name): value for name, value in values.items()}
    return QgsVectorLayerUtils.createFeature(layer, geometry, attributes)


def one_event(webhook, name):
    """The feature in the next event, which is also what Groma has now, unless it is deleted."""
    [(event, feature)] = webhook.events(1)
    assert event == name, event
    if name != "geometry.deleted":
        assert groma.read_feature(feature["id"]) == feature, feature
    return feature


def feature_is_added(layer, webhook):
    ring = square(2.5, 47.5, 0.001)
    values = {"number": 90_000, "owner": "Hélène « Œ » 東京", "area": 12.5, "surveyed_on": QDate(2026, 2, 28), "sold": True}
    layer.startEditing()
    assert layer.addFeature(new_feature(layer, polygon(ring), values))
    session.save(layer)
    feature = one_event(webhook, "geometry.created")
    assert feature["geometry"] == {"type": "Polygon", "coordinates": [ring]}, feature
    assert feature["properties"] == values | {"surveyed_on": "2026-02-28"}, feature
    assert session.find(layer, 90_000)["id"] == feature["id"], "QGIS does not know the new feature by its ID"


def vertex_is_moved(layer, webhook):
    feature = session.find(layer, 90_000)
    layer.startEditing()
    assert layer.moveVertex(2.5015, 47.5015, feature.id(), 2)
    session.save(layer)
    found = one_event(webhook, "geometry.updated")
    assert found["id"] == feature["id"]
    assert found["geometry"]["coordinates"][0][2] == [2.5015, 47.5015], found
    assert found["properties"]["owner"] == "Hélène « Œ » 東京", found


def attributes_are_changed(layer, webhook):
    values = {"owner": None, "area": -0.125, "surveyed_on": QDate(2025, 12, 31), "sold": False}
    before = groma.read_feature(session.find(layer, 7)["id"])
    layer.startEditing()
    for name, value in values.items():
        assert layer.changeAttributeValue(session.find(layer, 7).id(), layer.fields().indexOf(name), value)
    session.save(layer)
    found = one_event(webhook, "geometry.updated")
    assert found["properties"] == values | {"number": 7, "surveyed_on": "2025-12-31"}, found
    assert found["geometry"] == before["geometry"], found


def feature_is_split(layer, webhook):
    feature = session.find(layer, 8)
    box = feature.geometry().boundingBox()
    middle = (box.xMinimum() + box.xMaximum()) / 2
    line = QgsLineString([QgsPoint(middle, box.yMinimum() - 0.0001), QgsPoint(middle, box.yMaximum() + 0.0001)])
    layer.startEditing()
    layer.selectByIds([feature.id()])
    result, _ = QgsVectorLayerEditUtils(layer).splitFeatures(line, False, False)
    assert result == Qgis.GeometryOperationResult.Success, result
    session.save(layer)
    layer.removeSelection()
    (created, half), (updated, other) = webhook.events(2)
    assert (created, updated) == ("geometry.created", "geometry.updated")
    assert other["id"] == feature["id"] != half["id"]
    assert half["properties"] == other["properties"] == groma.lot(8)["properties"], half
    union = polygon(half["geometry"]["coordinates"][0]).combine(polygon(other["geometry"]["coordinates"][0]))
    assert union.symDifference(feature.geometry()).area() < 1e-15, "the halves are not the feature"


def feature_is_deleted(layer, webhook):
    feature = session.find(layer, 9)
    layer.startEditing()
    assert layer.deleteFeature(feature.id())
    session.save(layer)
    found = one_event(webhook, "geometry.deleted")
    assert found["id"] == feature["id"] and found["properties"] == groma.lot(9)["properties"], found
    assert feature["id"] not in groma.read_layer("parcels")


def everything_is_saved_together(layer, webhook):
    changed, moved, deleted = (session.find(layer, number) for number in (10, 11, 12))
    ring = square(2.6, 47.6, 0.001)
    layer.startEditing()
    assert layer.addFeature(new_feature(layer, polygon(ring), {"number": 90_001}))
    assert layer.changeAttributeValue(changed.id(), layer.fields().indexOf("owner"), "Mairie")
    assert layer.changeGeometry(moved.id(), polygon(ring))
    assert layer.deleteFeature(deleted.id())
    session.save(layer)
    events = webhook.events(4)
    assert [name for name, _ in events] == ["geometry.created", "geometry.deleted", *["geometry.updated"] * 2], events
    features = groma.read_layer("parcels")
    assert events[0][1]["properties"]["number"] == 90_001 and events[0][1]["id"] in features
    assert events[1][1]["id"] == deleted["id"] not in features
    assert features[changed["id"]]["properties"]["owner"] == "Mairie"
    assert features[moved["id"]]["geometry"]["coordinates"] == [ring]


def refused_change_stays_in_the_editor(layer, webhook):
    """`kind` is a declared field with choices."""
    feature = next(layer.getFeatures())
    layer.startEditing()
    assert layer.changeAttributeValue(feature.id(), layer.fields().indexOf("kind"), "castle")
    assert not layer.commitChanges(), "a value that is no choice is saved"
    assert layer.isEditable() and layer.editBuffer().changedAttributeValues(), "QGIS dropped the edit"
    assert groma.read_feature(feature["id"])["properties"]["kind"] == "wood"
    assert layer.changeAttributeValue(feature.id(), layer.fields().indexOf("kind"), "meadow")
    session.save(layer)
    assert one_event(webhook, "geometry.updated")["properties"]["kind"] == "meadow"


def empty_layer_can_be_edited_from_its_first_feature(authcfg, webhook):
    """QGIS up to 3.42 opens an empty layer without geometries and attributes."""
    layer = session.open_layer("empty", authcfg)
    assert layer.dataProvider().capabilities() & QgsVectorDataProvider.AddFeatures
    point = {"type": "Point", "coordinates": [2.25, 47.25]}
    [first] = groma.post("empty", [{"type": "Feature", "properties": {"number": 1}, "geometry": point}])
    assert one_event(webhook, "geometry.created")["id"] == first
    layer = session.open_layer("empty", authcfg)
    layer.startEditing()
    assert layer.addFeature(new_feature(layer, QgsGeometry.fromPointXY(QgsPointXY(2.5, 47.5)), {"number": 2}))
    assert layer.deleteFeature(session.find(layer, 1).id())
    session.save(layer)
    (_, created), (_, deleted) = webhook.events(2)
    assert created["geometry"] == {"type": "Point", "coordinates": [2.5, 47.5]}, created
    assert deleted["id"] == first and list(groma.read_layer("empty")) == [created["id"]]


def own_coordinates_stay_exact(authcfg, webhook, collection, crs, northing_first):
    layer = session.open_layer(collection, authcfg)
    feature = session.find(layer, 3)
    start = feature.geometry().asPoint()
    target = QgsPointXY(round(start.x() + 1.234, 3), round(start.y() - 2.345, 3))
    layer.startEditing()
    assert layer.changeGeometry(feature.id(), QgsGeometry.fromPointXY(target))
    assert layer.addFeature(new_feature(layer, QgsGeometry.fromPointXY(start), {"number": 1000}))
    session.save(layer)
    (_, created), (_, updated) = webhook.events(2)
    for event, point in ((created, start), (updated, target)):
        expected = [point.y(), point.x()] if northing_first else [point.x(), point.y()]
        assert groma.read_item(collection, event["id"], crs)["geometry"]["coordinates"] == expected, (crs, expected)


def many_features_in_one_save(authcfg, webhook):
    layer = session.open_layer("many", authcfg)
    layer.startEditing()
    for number in range(1, MANY + 1):
        ring = square(3 + number % 25 * 0.001, 48 + number // 25 * 0.001, 0.0008)
        assert layer.addFeature(new_feature(layer, polygon(ring), {"number": number, "kind": "field"}))
    begin = time.monotonic()
    session.save(layer)
    seconds = time.monotonic() - begin
    created = webhook.events(MANY)
    assert {name for name, _ in created} == {"geometry.created"}
    numbers = sorted(feature["properties"]["number"] for feature in groma.read_layer("many").values())
    assert numbers == list(range(MANY + 1)), "a feature is missing or double"
    print(f"  {MANY} new features are saved in {seconds:.1f} s")


class SecondSession:
    """A session of QGIS in another process, which has read the layer."""

    def __init__(self, collection):
        command = [sys.executable, Path(__file__).with_name("second_session.py"), collection]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n", "the session does not start"

    def save(self, **edit):
        self.process.stdin.write(json.dumps(edit) + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "saved\n", f"{edit} is not saved"

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


def sessions_lose_nothing(webhook):
    """Both have read the parcel before either of them saves."""
    first, second = SecondSession("parcels"), SecondSession("parcels")
    ring = square(2.7, 47.7, 0.001)
    first.save(number=20, attributes={"owner": "first session"})
    second.save(number=20, attributes={"area": 4711.5})
    first.save(number=20, ring=ring)
    second.save(number=20, attributes={"sold": False})
    first.close()
    second.close()
    feature = webhook.events(4)[0][1]
    found = groma.read_feature(feature["id"])
    expected = groma.lot(20)["properties"] | {"owner": "first session", "area": 4711.5, "sold": False}
    assert found["properties"] == expected and found["geometry"]["coordinates"] == [ring], found


def main():
    session.start()
    header = session.authentication("APIHeader", groma.TOKEN)
    basic = session.authentication("Basic", groma.TOKEN)
    groma.post("many", [{"type": "Feature", "properties": {"number": 0, "kind": "wood"},
                         "geometry": {"type": "Polygon", "coordinates": [square(3, 49, 0.001)]}}])
    webhook = groma.Webhook()
    try:
        for authcfg, edits in ((header, (feature_is_added, vertex_is_moved, attributes_are_changed)),
                               (basic, (feature_is_split, feature_is_deleted, everything_is_saved_together))):
            layer = session.open_layer("parcels", authcfg)
            for edit in edits:
                edit(layer, webhook)
                print(f"  {edit.__name__.replace('_', ' ')}")
        refused_change_stays_in_the_editor(session.open_layer("many", header), webhook)
        empty_layer_can_be_edited_from_its_first_feature(header, webhook)
        own_coordinates_stay_exact(header, webhook, "survey", "EPSG:2154", False)
        own_coordinates_stay_exact(basic, webhook, "grid", "EPSG:3035", True)
        many_features_in_one_save(header, webhook)
        sessions_lose_nothing(webhook)
        assert webhook.read() == [], "an event too many"
    finally:
        webhook.close()
    print("  QGIS edits layers, and each edit is a signed event")


main()
