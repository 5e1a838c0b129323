"""Files of earlier formats, read as if they had been written today.

Format 1 said by three flags how a candidate was confirmed, and had other names for two settings and for the estimates
of importance sampling. Its names are recognised by how they begin. Format 2 had no exact evidence, no explanation and
no plan, which are absent there.
"""

from __future__ import annotations

from typing import Any

_RENAMED = (
    ({"share_d1", "event_in_words"}, {"twin": "paired", "steer": "importance", "apar": "unpaired"}),
    ({"candidate", "method"}, {"steer": "estimates"}),
    ({"confirm_runs", "significance"}, {"twin": "paired", "steer": "importance"}),
)
"""By the keys that tell a candidate, evidence and settings: how their old names begin, and the present ones."""


def upgraded(saved: Any, version: int) -> Any:
    """The data of a saved file in the present format."""
    return _from_first(saved) if version == 1 else saved


def _from_first(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_first(item) for item in value]
    if not isinstance(value, dict):
        return value
    value = {key: _from_first(item) for key, item in value.items()}
    names = next((names for keys, names in _RENAMED if keys <= value.keys()), {})
    value = {next((new for old, new in names.items() if key.startswith(old)), key): value[key] for key in value}
    if "unpaired" in names.values():
        paired, importance, unpaired = (value.pop(flag, False) for flag in ("paired", "importance", "unpaired"))
        if importance:
            value["confirmation"] = "unpaired importance" if unpaired else "importance"
        else:
            value["confirmation"] = "paired" if paired else "allocation"
    return value
