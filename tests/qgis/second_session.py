"""Another QGIS that edits the same layer: opens the layer whose collection is the first argument, and reads it.
Each line of input is JSON with the number of a feature, and attributes or a ring to give it; the edit is saved
without reading the feature again."""

import json
import sys

from qgis.core import QgsGeometry, QgsPointXY

import groma
import session


def main():
    session.start()
    layer = session.open_layer(sys.argv[1], session.authentication("Basic", groma.TOKEN), only_visible=False)
    features = {feature["number"]: feature.id() for feature in layer.getFeatures()}
    print("ready", flush=True)
    for line in sys.stdin:
        edit = json.loads(line)
        feature = features[edit["number"]]
        layer.startEditing()
        for name, value in edit.get("attributes", {}).items():
            assert layer.changeAttributeValue(feature, layer.fields().indexOf(name), value), name
        if "ring" in edit:
            ring = [QgsPointXY(x, y) for x, y in edit["ring"]]
            assert layer.changeGeometry(feature, QgsGeometry.fromPolygonXY([ring]))
        session.save(layer)
        print("saved", flush=True)


main()
