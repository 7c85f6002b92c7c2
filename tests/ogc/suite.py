"""Runs the test suite `ogctests` for part 1 of the standard, with the token as bearer token."""

import os
import sys

import httpx
from ogctests.main import run_ogctests

url = f"{os.environ['GEO_URL']}/ogc"
client = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {os.environ['TOKEN']}"})
sys.exit(run_ogctests("features/core", url, ["-q", "-p", "no:cacheprovider"], client))
