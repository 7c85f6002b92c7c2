"""Runs the test suite `ogctests` for parts 1 and 3 of the standard, with the token as bearer token."""

import os
import sys

import httpx
from ogctests.main import run_ogctests

# Of the tests for filters, only those of the conformance classes can pass, with any server. The others read
# links from a parameter `href` of the header `Link`, which the header does not have (2, 3, and 4, 9 after
# them), expect that one text is both accepted and rejected as the value of the same property (5), send a
# dictionary as `filter-lang` (7), or fail while they build their request (8, 10). What they describe is tested
# in crates/groma/tests/it/geo/ogc.
FILTERING = "(test_ct1 and not test_ct10) or test_ct6"

url = f"{os.environ['GEO_URL']}/ogc"
client = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {os.environ['TOKEN']}"})
flags = ["-q", "-p", "no:cacheprovider"]
core = run_ogctests("features/core", url, flags, client)
filtering = run_ogctests("features/filtering", url, [*flags, "-k", FILTERING], client)
sys.exit(core or filtering)
