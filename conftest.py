"""Skip doctests of adapters and of saved frames whose library is not installed."""

import importlib.util

ADAPTERS = ("opendp", "diffprivlib", "pydp")

FRAMES = ("pandas", "polars")

collect_ignore = [f"src/refutedp/adapters/{name}.py" for name in ADAPTERS if importlib.util.find_spec(name) is None]
collect_ignore += [
    f"src/refutedp/api/saved/{name}_values.py" for name in FRAMES if importlib.util.find_spec(name) is None
]
