"""RefuteDP finds short, checkable counterexamples to differential-privacy claims.

>>> from refutedp import check
>>> def noisy_max(queries, epsilon, rng):
...     noisy = [q + rng.laplace(scale=2 / epsilon) for q in queries]
...     return max(noisy)                    # bug: returns the value, not the index
>>> check(noisy_max, epsilon=0.5, search_runs=2_000, confirm_runs=20_000).verdict
<Verdict.VIOLATION: 'violation'>
"""

import lazy_loader

__version__ = "0.1.0"

# `__init__.pyi` lists the public names and their modules; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
