"""What needs a library that is not installed cannot be imported or tried, so its doctests wait until it is."""

import importlib.util

ADAPTERS = ("opendp", "diffprivlib", "pydp")

FRAMES = ("pandas", "polars")

collect_ignore = [f"src/refutedp/adapters/{name}.py" for name in ADAPTERS if importlib.util.find_spec(name) is None]
collect_ignore += [
    f"src/refutedp/report/{name}_values.py" for name in FRAMES if importlib.util.find_spec(name) is None
]
