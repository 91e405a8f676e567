# make demo    the paper's comparison on embedded data: tables, pictures and a report
# make test    linters, types, import layers and the whole test suite
# make bench   how fast it is beside its peers, installed in build/bench: a table and pictures in build/bench-results
# The first two set up everything they need in .venv.
# Also: make lint, sanitize, fuzz, evaluation, calibration, several-classes, docs, wheel, lock, clean.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The folders are there for files that go away.
SOURCES := pyproject.toml CMakeLists.txt $(shell find src native -not -path '*__pycache__*' \
  '(' -type d -o -name '*.py' -o -name '*.hpp' -o -name '*.cpp' -o -name '*.pyi' -o -name '*.css' -o -name '*.js' ')')
PIP_INSTALL := python -m pip install --quiet --disable-pip-version-check
INSTALL := $(BIN)/$(PIP_INSTALL) --constraint constraints.txt
# Peers have their own environment: they want other packages, and may not install at all.
BENCH_VENV := build/bench
BENCH_INSTALL := $(BENCH_VENV)/bin/$(PIP_INSTALL) --constraint benchmarks/speed/constraints.txt
PEERS := river vowpalwabbit olpy
# Arguments for the benchmark: make bench BENCH="--quick", BENCH="--only full", BENCH="--help".
BENCH ?=

.PHONY: demo test lint sanitize fuzz bench evaluation calibration several-classes docs wheel lock clean

demo: $(VENV)/demo.stamp $(VENV)/package.stamp
	$(BIN)/scwlearn reproduce --datasets synthetic,synthetic-noise,embedded --output demo-output

test: lint
	$(BIN)/python -m pytest

lint: $(VENV)/test.stamp $(VENV)/package.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy native/compile_rules.py
	MYPYPATH=src:benchmarks $(BIN)/mypy benchmarks/*.py benchmarks/speed/*.py
	PYTHONPATH=src $(BIN)/lint-imports

# The native tests against a module built with AddressSanitizer and UndefinedBehaviorSanitizer.
# Python itself is not, so the sanitizer's library has to be loaded before it; Python's own leaks are not ours.
sanitize: $(VENV)/test.stamp
	$(INSTALL) --no-build-isolation --no-deps --upgrade --target build/sanitized . \
	  -Ccmake.define.SCWLEARN_SANITIZE=ON -Cbuild-dir=build/sanitize -Cinstall.strip=false
	LD_PRELOAD="$$($${CXX:-c++} -print-file-name=libasan.so) $$($${CXX:-c++} -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONPATH=build/sanitized \
	  $(BIN)/python -m pytest -m native -n 0 -p no:cacheprovider

# Whatever reads files, on inputs that libFuzzer makes up: the parsers of LIBSVM and VW text (these need clang), CSV, and
# model files. Some hours; fewer inputs: make fuzz RUNS=10000. One of the four: fuzz/run.
RUNS ?= 1000000
fuzz: $(VENV)/fuzz.stamp $(VENV)/package.stamp
	PYTHON=$(BIN)/python fuzz/run $(RUNS)

bench: $(BENCH_VENV)/package.stamp
	PYTHONPATH=benchmarks $(BENCH_VENV)/bin/python -m speed.run $(BENCH)

# The whole evaluation, on data in DATA, and its pages in the documentation: a quarter of an hour.
DATA ?= ../shared/data
EVALUATION := build/evaluation
REPRODUCE = $(BIN)/scwlearn reproduce --data-dir $(DATA) --output $(EVALUATION)
evaluation: $(VENV)/demo.stamp $(VENV)/package.stamp
	$(REPRODUCE)/paper
	mkdir -p $(EVALUATION)/full && cp -n $(EVALUATION)/paper/results.jsonl $(EVALUATION)/full
	$(REPRODUCE)/full --datasets all
	$(REPRODUCE)/diagonal --datasets all --covariance diagonal
	$(BIN)/python benchmarks/publish_evaluation.py "The full run on the paper's data" $(EVALUATION)/paper paper
	$(BIN)/python benchmarks/publish_evaluation.py "All data sets, full covariance" $(EVALUATION)/full full \
	  --pictures ranks tradeoff figure1-a9a figure1-elec2
	$(BIN)/python benchmarks/publish_evaluation.py "All data sets, diagonal covariance" $(EVALUATION)/diagonal diagonal \
	  --pictures ranks tradeoff figure1

# How good the probabilities are beside those of the peers, on data in DATA: a quarter of an hour.
# Arguments: make calibration CALIBRATION="--orders 1", CALIBRATION="--publish", CALIBRATION="--help".
CALIBRATION ?=
calibration: $(BENCH_VENV)/package.stamp
	$(BENCH_VENV)/bin/python benchmarks/calibration.py --data-dir $(DATA) $(CALIBRATION)

# Several classes, jointly or each against the rest, beside the peers, on data in DATA: a quarter of an hour.
# Arguments: make several-classes CLASSES="--orders 1", CLASSES="--publish", CLASSES="--help".
CLASSES ?=
several-classes: $(VENV)/demo.stamp $(VENV)/package.stamp
	$(BIN)/python benchmarks/several_classes.py --data-dir $(DATA) $(CLASSES)

docs: $(VENV)/docs.stamp $(VENV)/demo.stamp $(VENV)/package.stamp
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/build
	@echo "Open docs/build/index.html"

wheel: $(VENV)/build.stamp
	$(BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps --wheel-dir dist .
	@ls -l dist

# The newest releases that fit, written down for everybody. Run on the oldest Python that is supported.
lock:
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --upgrade pip
	build/lock/bin/python -m pip install --quiet --group build --group demo --group test --group fuzz --group docs
	build/lock/bin/python -m pip freeze --all --exclude setuptools | LC_ALL=C sort -f > constraints.txt
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --upgrade --constraint constraints.txt pip
	build/lock/bin/python -m pip install --quiet --constraint constraints.txt --group build --group bench $(PEERS)
	build/lock/bin/python -m pip freeze --all --exclude setuptools | LC_ALL=C sort -f > benchmarks/speed/constraints.txt

clean:
	rm -rf $(VENV) build dist docs/build docs/gallery docs/generated demo-output

$(VENV)/build.stamp: constraints.txt pyproject.toml
	@echo "Setting up in $(VENV): some minutes, once."
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) pip
	$(INSTALL) --group build
	touch $@

$(VENV)/%.stamp: $(VENV)/build.stamp
	$(INSTALL) --group $*
	touch $@

$(VENV)/package.stamp: $(VENV)/build.stamp $(SOURCES)
	@echo "Building the native module."
	$(INSTALL) --no-build-isolation --no-deps .
	touch $@

$(BENCH_VENV)/peers.stamp: benchmarks/speed/constraints.txt pyproject.toml
	@echo "Setting up in $(BENCH_VENV): some minutes, once."
	test -x $(BENCH_VENV)/bin/python || $(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_INSTALL) pip
	$(BENCH_INSTALL) --group build --group bench
	for peer in $(PEERS); do $(BENCH_INSTALL) $$peer || echo "$$peer does not install; the table will say so."; done
	touch $@

# Built apart from the one in .venv: each knows its own Python.
$(BENCH_VENV)/package.stamp: $(BENCH_VENV)/peers.stamp $(SOURCES)
	@echo "Building the native module."
	$(BENCH_INSTALL) --no-build-isolation --no-deps -Cbuild-dir=build/bench-build .
	touch $@
