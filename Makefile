# Everything a checkout can do. Each target makes its own environment first (VENV, from pinned
# packages with hashes); the second time that takes no time.

VENV ?= .venv
PYTEST_ARGS ?=

PY := $(VENV)/bin/python
CODE := lovia instrumentation/lovia_otel tests benchmarks dashboards

.PHONY: help setup demo test lint bench dashboards backends reference pictures requirements

help:
	@echo "make demo          a real agent session outgrows its window and is compacted; no key needed"
	@echo "make test          all tests (PYTEST_ARGS='-k name' for some)"
	@echo "make lint          style, formatting, types"
	@echo "make bench         the benchmarks"
	@echo "make dashboards    build the Grafana dashboards anew"
	@echo "make reference     write docs/telemetry-reference.md anew"
	@echo "make backends      a Collector, Jaeger and Prometheus on this machine, to look at (needs Go)"
	@echo "make pictures      take the pictures of the documentation anew (needs Chromium and Go)"
	@echo "make requirements  pin the newest versions of what is used (asks the package index)"

setup:
	@.ci/setup "$(VENV)"

demo: setup
	@$(VENV)/bin/lovia demo

test: setup
	@$(PY) -m pytest -n auto $(PYTEST_ARGS)

lint: setup
	@echo "lint: ruff"
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@echo "lint: mypy --strict"
	@$(VENV)/bin/mypy --strict $(CODE)
	@echo "lint: types of the public surface"
	@.ci/verify-types "$(VENV)"

bench: setup
	@for script in benchmarks/*.py; do echo "bench: $$script"; $(PY) "$$script" || exit 1; done

dashboards: setup
	@$(PY) -m dashboards

reference: setup
	@$(PY) -m tests.meta.reference

backends: setup
	@$(PY) -m tests.backends

pictures: setup
	@$(PY) -m tests.pictures

requirements: setup
	@.ci/pin "$(VENV)"
