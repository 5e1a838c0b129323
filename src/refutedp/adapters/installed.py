"""Which adapters there are, what each can check, and whether its library is installed; no library is imported."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter: the package that holds its library, the extra that installs it, and what it takes."""

    package: str
    extra: str
    function: str
    checks: str

    @property
    def installed(self) -> str | None:
        """The version that is installed; None where there is none.

        >>> Adapter("no-such-package", "", "", "").installed is None
        True
        """
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None


ADAPTERS = (
    Adapter(
        "opendp",
        "opendp",
        "refutedp.adapters.opendp.from_opendp",
        "measurements and context queries on numbers, vectors, records, bit vectors, counts by key",
    ),
    Adapter(
        "opendp", "opendp", "refutedp.adapters.opendp.check_stability", "transformations: stability, without noise"
    ),
    Adapter(
        "polars",
        "opendp-polars",
        "refutedp.adapters.opendp.from_opendp",
        "OpenDP's Polars queries (needs the Polars that OpenDP was built for, 1.36.1 for OpenDP 0.16)",
    ),
    Adapter(
        "diffprivlib", "diffprivlib", "refutedp.adapters.diffprivlib.from_diffprivlib", "mechanisms, tools, models"
    ),
    Adapter("python-dp", "pydp", "refutedp.adapters.pydp.from_pydp", "algorithms on lists of records"),
    Adapter(
        "dp-accounting", "accounting", "refutedp.adapters.accounting.claim_from", "claims of accountants and events"
    ),
    Adapter("numpy", "", "refutedp.adapters.training.from_training_step", "one step of DP-SGD, with canaries"),
)
"""One row each; a test holds that the functions are there."""
