# Every target sets up its own virtual environment first: one command on a fresh machine is enough.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: demo test lint browser bench docs setup package clean

setup: $(READY)

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("RefuteDP needs Python 3.11 or newer; set PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	@echo "Setting up $(VENV) (once, about a minute) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(READY)

demo: $(READY)
	@$(BIN)/python -m refutedp.cli.demo

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Reports are opened in a real browser where one can be had; elsewhere those tests say that they are skipped.
browser:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	       && apt-get update -qq >/dev/null 2>&1 && apt-get install -y -qq chromium >/dev/null 2>&1; } \
	  || echo "No Chromium: the browser tests will be skipped (apt-get install chromium)."

test: lint browser
	$(BIN)/python -m pytest -n auto --dist worksteal

# The site goes to build/site; a warning is an error.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "Open build/site/index.html."

bench: $(READY)
	$(BIN)/python -m bench

# Wheel and sdist, each installed into an empty environment and tried there, outside this folder.
package:
	rm -rf dist build/package
	$(PYTHON) -m venv build/package/tools
	build/package/tools/bin/python -m pip install --quiet --disable-pip-version-check build
	build/package/tools/bin/python -m build --outdir dist .
	@for made in dist/*.whl dist/*.tar.gz; do \
	  rm -rf build/package/empty && $(PYTHON) -m venv build/package/empty \
	  && build/package/empty/bin/python -m pip install --quiet --disable-pip-version-check $$made \
	  && (cd build/package/empty && env -u PYTHONPATH bin/refutedp --version && env -u PYTHONPATH bin/refutedp adapters \
	      && { env -u PYTHONPATH bin/refutedp check isvt4 --epsilon 0.5 --quiet; test $$? = 1; }) \
	  && echo "$$made works." || exit 1; \
	done

clean:
	rm -rf $(VENV) build dist out .mypy_cache .ruff_cache .pytest_cache .hypothesis
