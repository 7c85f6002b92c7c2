"""A QGIS without windows, which reads and saves layers of Groma."""

import atexit
import os
import sys
import tempfile

from qgis.core import Qgis, QgsApplication, QgsAuthMethodConfig, QgsVectorLayer

OGC = f"{os.environ['GEO_URL']}/ogc"
messages = []


def start():
    """Starts QGIS with an empty profile."""
    profile = tempfile.TemporaryDirectory()
    application = QgsApplication([], False, profile.name)
    application.initQgis()
    application.messageLog().messageReceived.connect(
        lambda text, tag, level: messages.append(f"{tag}: {text}") if level >= Qgis.MessageLevel.Warning else None)
    QgsApplication.authManager().setMasterPassword("a password for one test", True)

    def stop():
        application.exitQgis()
        profile.cleanup()

    atexit.register(stop)
    return application


def authentication(method, token):
    """Stores an authentication configuration, as in the settings of QGIS; returns its ID."""
    config = QgsAuthMethodConfig(method)
    config.setName(f"Groma, {method}")
    if method == "Basic":
        config.setConfig("username", "qgis")
        config.setConfig("password", token)
    else:
        config.setConfig("Authorization", f"Bearer {token}")
    stored = QgsApplication.authManager().storeAuthenticationConfig(config)
    assert stored if isinstance(stored, bool) else stored[0], "the authentication configuration is not stored"
    return config.id()


def open_layer(collection, authcfg, only_visible=True):
    """Opens a collection by the address of the landing page, as the dialog of QGIS does."""
    restrict = "restrictToRequestBBOX='1' " if only_visible else ""
    source = f"{restrict}pagingEnabled='default' typename='{collection}' url='{OGC}' authcfg={authcfg}"
    layer = QgsVectorLayer(source, collection, "OAPIF")
    assert layer.isValid(), f"{collection} does not open: {messages}"
    return layer


def save(layer):
    """Saves the edits of a layer and ends editing."""
    if not layer.commitChanges():
        print(*layer.commitErrors(), *messages, sep="\n", file=sys.stderr)
        raise AssertionError("the edits are not saved")


def find(layer, number):
    """The feature with this number."""
    found = [feature for feature in layer.getFeatures() if feature["number"] == number]
    assert len(found) == 1, f"{len(found)} features have the number {number}"
    return found[0]
