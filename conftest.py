"""Adapters of libraries that are not installed cannot be imported, so their doctests wait until they are."""

import importlib.util

ADAPTERS = ("opendp", "diffprivlib", "pydp")

collect_ignore = [f"src/refutedp/adapters/{name}.py" for name in ADAPTERS if importlib.util.find_spec(name) is None]
