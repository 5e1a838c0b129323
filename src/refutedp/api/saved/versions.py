"""Files of earlier formats, read as if they had been written today.

Format 1 said by three flags how a candidate was confirmed, and had other names for two settings and for the estimates
of importance sampling. Its names are recognised by how they begin.
"""

from __future__ import annotations

from typing import Any

_SETTINGS = {"twin": "paired", "steer": "importance"}
_FLAGS = {"twin": "paired", "steer": "importance", "apar": "unpaired"}
_EVIDENCE = {"steer": "estimates"}


def upgraded(saved: Any, version: int) -> Any:
    """The data of a saved file in the present format."""
    return _from_first(saved) if version == 1 else saved


def _from_first(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_first(item) for item in value]
    if not isinstance(value, dict):
        return value
    value = {key: _from_first(item) for key, item in value.items()}
    if "share_d1" in value and "event_in_words" in value:
        return _candidate(value)
    if "candidate" in value and "method" in value:
        return _renamed(value, _EVIDENCE)
    if "confirm_runs" in value and "significance" in value:
        return _renamed(value, _SETTINGS)
    return value


def _renamed(fields: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {_name(key, names) or key: value for key, value in fields.items()}


def _candidate(fields: dict[str, Any]) -> dict[str, Any]:
    flags = {name: fields[key] for key in fields if (name := _name(key, _FLAGS))}
    kept = {key: value for key, value in fields.items() if not _name(key, _FLAGS)}
    if flags.get("importance"):
        strategy = "unpaired importance" if flags.get("unpaired") else "importance"
    else:
        strategy = "paired" if flags.get("paired") else "allocation"
    return {**kept, "confirmation": strategy}


def _name(key: str, names: dict[str, str]) -> str | None:
    return next((new for old, new in names.items() if key.startswith(old)), None)
