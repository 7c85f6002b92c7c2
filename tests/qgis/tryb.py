import session, groma
from qgis.core import *
app=session.start()
h=session.authentication("APIHeader", groma.TOKEN)
l=session.open_layer("empty",h)
print(l.wkbType(), l.geometryType(), l.isSpatial(), [f.name() for f in l.fields()], l.crs().authid(), l.extent())
