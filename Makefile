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

# The wheel is built from the sdist, so one that lacks a file fails here. It is installed with all it depends on into an
# empty environment, without a pip of its own, and tried outside this folder. Downloads are kept in pip's cache.
TOOLS := build/package/tools
EMPTY := build/package/empty

$(TOOLS)/.ready:
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check build
	@touch $@

package: $(TOOLS)/.ready
	rm -rf dist $(EMPTY)
	$(TOOLS)/bin/python -m build --outdir dist . >build/package/build.log || { cat build/package/build.log; exit 1; }
	$(PYTHON) -m venv --without-pip $(EMPTY)
	$(TOOLS)/bin/python -m pip --python $(EMPTY)/bin/python install --quiet --disable-pip-version-check dist/*.whl
	@cd $(EMPTY) && unset PYTHONPATH && bin/refutedp --help >/dev/null && bin/refutedp --version && bin/refutedp adapters \
	  && { bin/refutedp check isvt4 --epsilon 0.5 --quiet; test $$? = 1; } && echo "$$(ls $(CURDIR)/dist) work."

clean:
	rm -rf $(VENV) build dist out .mypy_cache .ruff_cache .pytest_cache .hypothesis
