"""The examples of the guides for GDAL and Python (docs/clients) work as they are printed, on the layer that
clients.py has posted. The directory of the guides is the only argument."""

import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

import pyogrio

COUNT = 2_345
# Lots in rows of 50, at distances of 0.001 degrees: the area has eleven columns and rows, with those on its edge.
IN_AREA = 11 * 11
GUIDES = Path(sys.argv[1])


def examples(guide, language):
    text = (GUIDES / f"{guide}.md").read_text(encoding="utf-8")
    found = re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert found, f"{guide}.md has no examples in {language}"
    return found


def gdal():
    # The first example sets the variables.
    outputs = [
        subprocess.run(["bash", "-euc", example], check=True, stdout=subprocess.PIPE, text=True).stdout
        for example in examples("gdal", "sh")[1:]]
    assert "parcels" in outputs[0], outputs[0]
    posted = next(json.loads(output) for output in outputs if output.startswith("{"))
    # GDAL rounds, so some features may have changed; but none is new.
    assert (posted["received"], posted["created"]) == (COUNT, 0), posted
    counts = {name: pyogrio.read_info(f"{name}.gpkg")["features"] for name in ("parcels", "area", "sold")}
    # Even numbers are sold.
    assert counts == {"parcels": COUNT, "area": IN_AREA, "sold": (COUNT + 1) // 2}, counts
    lots = pyogrio.read_dataframe("region.gpkg")["number"].unique()
    assert len(lots) == COUNT, f"the tiles have {len(lots)} lots"
    assert pyogrio.read_info("parcels.geojson")["features"] == COUNT


def python():
    results = []
    for number, example in enumerate(examples("python", "python")):
        script = Path(f"example-{number}.py")
        script.write_text(example, encoding="utf-8")
        results.append(runpy.run_path(str(script)))
    whole, area, sent, page, created, linked, patched = results
    assert len(whole["parcels"]) == COUNT
    assert len(area["parcels"]) == IN_AREA
    answer = sent["response"].json()
    # Of the first ten lots, those with odd numbers were not sold.
    assert (answer["received"], answer["updated"], answer["unchanged"]) == (10, 5, 5), answer
    assert len(page["page"]["features"]) == 100 and page["page"]["numberMatched"] == IN_AREA
    assert created["created"]["properties"] == {"number": 100_000}
    assert len(linked["features"]) == COUNT
    assert patched["changed"].status_code == 200


os.environ["GEO"] = os.environ["GEO_URL"]
with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    gdal()
    python()
    os.chdir("/")
print("guides: the examples for GDAL and Python work")
