"""Groma without QGIS: posts and reads features by the API, and receives their events as signed webhooks."""

import hashlib
import hmac
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

BASE_URL, GEO_URL, TOKEN = os.environ["BASE_URL"], os.environ["GEO_URL"], os.environ["TOKEN"]
API = "/api/public/v1"
OGC = f"{GEO_URL}/ogc"
# Lots in rows of 50, in degrees.
WEST, SOUTH, SPACING, SIZE, ROW = 2.0, 47.0, 0.001, 0.0008, 50


def request(url, body=None, headers=None):
    """The JSON of a URL."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"} | (headers or {})
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{url}: {error.code} {error.read().decode()}") from error


def lot(number):
    """A square with an attribute of each type; some are null."""
    west, south = round(WEST + number % ROW * SPACING, 6), round(SOUTH + number // ROW * SPACING, 6)
    east, north = round(west + SIZE, 6), round(south + SIZE, 6)
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    properties = {
        "number": number, "owner": f"Propriétaire {number % 7}" if number % 5 else None, "area": number + 0.25,
        "surveyed_on": f"2026-{number % 12 + 1:02}-{number % 28 + 1:02}", "sold": number % 2 == 0}
    return {"type": "Feature", "id": f"lot-{number}", "properties": properties,
            "geometry": {"type": "Polygon", "coordinates": [ring]}}


def post(layer, features, crs=None):
    """Posts features; returns their IDs in the same order."""
    collection = {"type": "FeatureCollection", "features": features}
    if crs:
        collection["crs"] = {"type": "name", "properties": {"name": crs}}
    answer = request(f"{GEO_URL}{API}/geometries/geojson?layer={layer}", collection)
    assert answer["created"] == len(features), answer
    return [geometry["id"] for geometry in answer["geometries"]]


def read_feature(feature):
    return request(f"{GEO_URL}{API}/geometries/{feature}")


def read_item(layer, feature, crs):
    """A feature with coordinates as they are in a reference system."""
    return request(f"{OGC}/collections/{layer}/items/{feature}?crs={crs}")


def read_layer(layer):
    """All features of a layer by their IDs."""
    features, path = {}, f"{OGC}/collections/{layer}/items?limit=1000"
    while path:
        page = request(path)
        features |= {feature["id"]: feature for feature in page["features"]}
        path = next((link["href"] for link in page["links"] if link["rel"] == "next"), None)
    return features


class Webhook:
    """An endpoint for the events of features, and its deliveries."""

    def __init__(self):
        self.log = Path(tempfile.mkstemp()[1])
        self.position = 0
        self.seen = set()
        command = [sys.executable, Path(__file__).with_name("receiver.py"), self.log]
        self.receiver = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        port = int(self.receiver.stdout.readline())
        endpoint = {"url": f"http://127.0.0.1:{port}/", "events": ["geometry.*"]}
        self.secret = request(f"{BASE_URL}{API}/webhooks/endpoints", endpoint)["secret"]

    def close(self):
        self.receiver.terminate()
        self.receiver.wait()
        self.log.unlink()

    def events(self, count):
        """Waits for a number of further events; returns their names and features. A surplus event fails the next
        call."""
        events, deadline = [], time.monotonic() + 60
        while len(events) < count:
            assert time.monotonic() < deadline, f"{len(events)} of {count} events arrived: {events}"
            time.sleep(0.05)
            events += self.read()
        assert len(events) == count, f"{events} are not {count} events"
        return sorted(((event["event"], event["data"]) for event in events), key=lambda item: (item[0], item[1]["id"]))

    def read(self):
        with self.log.open(encoding="utf-8") as log:
            log.seek(self.position)
            lines = log.readlines()
            # The receiver may be writing the last line.
            complete = [line for line in lines if line.endswith("\n")]
            self.position += sum(len(line.encode()) for line in complete)
        events = [self.verify(json.loads(line)) for line in complete]
        # A delivery can be repeated.
        new = {event["id"]: event for event in events if event["id"] not in self.seen}
        self.seen |= new.keys()
        return list(new.values())

    def verify(self, delivery):
        expected = hmac.new(self.secret.encode(), delivery["body"].encode(), hashlib.sha256).hexdigest()
        signature = delivery["headers"]["x-service-signature"].removeprefix("sha256=")
        assert hmac.compare_digest(signature, expected), delivery
        return json.loads(delivery["body"])
