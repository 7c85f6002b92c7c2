"""QGIS draws a layer as vector tiles and by OGC API – Features. Where a parcel is, the picture has its color. The
arguments are the directory of the pictures and the ways to draw: `tiles-basic`, `tiles-header`, `features`, and
`style` for the style that Groma makes for QGIS."""

import sys
import tempfile
import urllib.request
from pathlib import Path

from qgis.core import (
    QgsCoordinateReferenceSystem, QgsCoordinateTransform, QgsCoordinateTransformContext, QgsFillSymbol,
    QgsMapRendererParallelJob, QgsMapSettings, QgsPointXY, QgsRectangle, QgsSingleSymbolRenderer,
    QgsVectorTileBasicRenderer, QgsVectorTileBasicRendererStyle, QgsVectorTileLayer, QgsWkbTypes)
from qgis.PyQt.QtCore import QEventLoop, QSize
from qgis.PyQt.QtGui import QColor

import groma
import session

WIDTH, HEIGHT = 800, 500
SYMBOL = {"color": "#3f8f5a", "outline_color": "#1f3f2a", "outline_width": "0.2"}
WEST, SOUTH = 3.0, 45.0
SIDE = 20
# The colors are those in scripts/qgis.
USES = ("meadow", "wood")
COLORS = {"meadow": "#d9a400", "wood": "#006d3c"}
VIEW = QgsRectangle(2.9995, 44.9995, 3.0203, 45.0143)
# Near enough for labels.
DETAIL = QgsRectangle(2.9995, 44.9995, 3.0078, 45.0054)


def lots():
    """Lots in a square with streets between them; one in three has a hole."""
    for number in range(SIDE * SIDE):
        west = WEST + number % SIDE * 0.001
        south = SOUTH + number // SIDE * 0.0007
        rings = [[[west, south], [west + 0.0008, south], [west + 0.0008, south + 0.0005], [west, south + 0.0005],
                  [west, south]]]
        if number % 3 == 0:
            w, s = west + 0.0003, south + 0.0002
            rings.append([[w, s], [w, s + 0.0001], [w + 0.0002, s + 0.0001], [w + 0.0002, s], [w, s]])
        yield {"type": "Feature", "id": f"town-{number}", "properties": {"number": number, "use": USES[number % 2]},
               "geometry": {"type": "Polygon", "coordinates": rings}}


def tiles(authentication):
    template = f"{groma.GEO_URL}/maps/town/{{z}}/{{x}}/{{y}}"
    encoded = template.replace("{", "%7B").replace("}", "%7D")
    layer = QgsVectorTileLayer(f"type=xyz&url={encoded}&zmin=0&zmax=18&{authentication}", "town")
    assert layer.isValid(), session.messages
    style = QgsVectorTileBasicRendererStyle("lots", None, QgsWkbTypes.PolygonGeometry)
    style.setSymbol(QgsFillSymbol.createSimple(SYMBOL))
    style.setEnabled(True)
    renderer = QgsVectorTileBasicRenderer()
    renderer.setStyles([style])
    layer.setRenderer(renderer)
    return layer


def features(authcfg):
    layer = session.open_layer("town", authcfg)
    layer.setRenderer(QgsSingleSymbolRenderer(QgsFillSymbol.createSimple(SYMBOL)))
    return layer


def mercator():
    """The transformation from degrees to the map."""
    degrees, map_crs = (QgsCoordinateReferenceSystem(crs) for crs in ("EPSG:4326", "EPSG:3857"))
    return QgsCoordinateTransform(degrees, map_crs, QgsCoordinateTransformContext())


def styled(authcfg):
    """The layer with the style that Groma makes for QGIS."""
    layer = session.open_layer("town", authcfg)
    request = urllib.request.Request(
        f"{groma.OGC}/collections/town/styles/default?f=qml", headers={"Authorization": f"Bearer {groma.TOKEN}"})
    with tempfile.NamedTemporaryFile(suffix=".qml") as file, urllib.request.urlopen(request) as response:
        file.write(response.read())
        file.flush()
        message, is_loaded = layer.loadNamedStyle(file.name)
    assert is_loaded, message
    colors = {category.value(): category.symbol().color().name() for category in layer.renderer().categories()}
    assert colors.items() >= COLORS.items(), colors
    assert layer.labelsEnabled() and layer.labeling().settings().fieldName == "number"
    return layer


def draw(layer, view):
    settings = QgsMapSettings()
    settings.setLayers([layer])
    settings.setDestinationCrs(mercator().destinationCrs())
    settings.setOutputSize(QSize(WIDTH, HEIGHT))
    settings.setBackgroundColor(QColor("white"))
    settings.setExtent(mercator().transformBoundingBox(view))
    job = QgsMapRendererParallelJob(settings)
    # Authentication needs the event loop of the main thread.
    loop = QEventLoop()
    job.finished.connect(loop.quit)
    job.start()
    loop.exec()
    return job.renderedImage(), settings.mapToPixel()


def check(name, image, to_pixel):
    """The middle of each half lot is filled, and streets and holes are not."""
    to_mercator = mercator()

    def is_filled(x, y):
        point = to_pixel.transform(to_mercator.transform(QgsPointXY(x, y)))
        return image.pixelColor(round(point.x()), round(point.y())).lightness() < 200

    for lot in lots():
        west, south = lot["geometry"]["coordinates"][0][0]
        number = lot["properties"]["number"]
        assert is_filled(west + 0.00015, south + 0.00025), f"{name}: lot {number} is not drawn"
        assert not is_filled(west + 0.0009, south + 0.0006), f"{name}: the street beside lot {number} is filled"
        if number % 3 == 0:
            assert not is_filled(west + 0.0004, south + 0.00025), f"{name}: the hole of lot {number} is filled"


def check_labels(image, to_pixel):
    """A lot without a hole has dark pixels in its middle: a pale fill has none."""
    lower_left, upper_right = (
        to_pixel.transform(mercator().transform(QgsPointXY(WEST + 0.001 + x, SOUTH + y)))
        for x, y in ((0.0002, 0.00015), (0.0006, 0.00035)))
    colors = [image.pixelColor(x, y) for x in range(int(lower_left.x()), int(upper_right.x()))
              for y in range(int(upper_right.y()), int(lower_left.y()))]
    assert min(color.lightness() for color in colors) < 100, "the lot has no label"


def main():
    session.start()
    out = Path(sys.argv[1])
    ways = {
        "tiles-basic": lambda: tiles(f"authcfg={session.authentication('Basic', groma.TOKEN)}"),
        "tiles-header": lambda: tiles(f"authcfg={session.authentication('APIHeader', groma.TOKEN)}"),
        "features": lambda: features(session.authentication("Basic", groma.TOKEN)),
        "style": lambda: styled(session.authentication("Basic", groma.TOKEN)),
    }
    if not groma.read_layer("town"):
        groma.post("town", list(lots()))
    for way in sys.argv[2:]:
        image, to_pixel = draw(ways[way](), DETAIL if way == "style" else VIEW)
        assert image.save(str(out / f"{way}.png"))
        if way == "style":
            check_labels(image, to_pixel)
        else:
            check(way, image, to_pixel)
    print(f"  QGIS draws a layer: {', '.join(sys.argv[2:])}")


main()
