"""Skip doctests of adapters and of saved frames whose library is not installed; a file has its library's name."""

import importlib.util
from pathlib import Path

SOURCE = Path(__file__).parent / "src" / "refutedp"
LIBRARY_OF = {path: path.stem for path in (SOURCE / "adapters").glob("[!_]*.py")}
LIBRARY_OF |= {path: path.stem.removesuffix("_values") for path in (SOURCE / "api" / "saved").glob("*_values.py")}
collect_ignore = [str(path) for path, library in LIBRARY_OF.items() if importlib.util.find_spec(library) is None]
