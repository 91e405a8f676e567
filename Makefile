# make demo    reproduce the paper's comparison on built-in data: tables, pictures and a report
# make test    run the linters, the type checker, the import layers and all tests
# make bench   compare the speed with other libraries: a chart and a table in build/bench-results
# Each sets up everything it needs, in .venv or build/bench.
# Also: make test-quick, lint, sanitize, races, fuzz, stress, evaluation, calibration, several-classes, quality, docs, wheel, lock, clean.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Folders are listed so that a deleted file triggers a rebuild.
SOURCES := pyproject.toml CMakeLists.txt $(shell find src native -not -path '*__pycache__*' \
  '(' -type d -o -name '*.py' -o -name '*.hpp' -o -name '*.cpp' -o -name '*.pyi' -o -name '*.css' -o -name '*.js' ')')
PIP_INSTALL := python -m pip install --quiet --disable-pip-version-check
# pip refuses what does not have the version and one of the hashes in the constraints.
INSTALL := $(BIN)/$(PIP_INSTALL) --constraint constraints.txt
# Peers have a separate environment: they need other packages, and may fail to install.
BENCH_VENV := build/bench
BENCH_INSTALL := $(BENCH_VENV)/bin/$(PIP_INSTALL) --constraint benchmarks/speed/constraints.txt
# The pip that Python comes with may be too old for that: upgrade it by a requirements file. upgrade_pip BIN CONSTRAINTS
upgrade_pip = sed -n '/^pip==/,/[^\\]$$/p' $(2) > $(1)/pip.txt && $(1)/$(PIP_INSTALL) --require-hashes --requirement $(1)/pip.txt
PEERS := river vowpalwabbit olpy
# Arguments for the benchmark: make bench BENCH="--quick", BENCH="--only full", BENCH="--help".
BENCH ?=

.PHONY: demo test test-quick lint sanitize races fuzz stress bench evaluation calibration several-classes quality docs wheel lock clean

demo: $(VENV)/demo.stamp $(VENV)/package.stamp
	$(BIN)/scwlearn reproduce --datasets synthetic,synthetic-noise,embedded --output demo-output

test: lint
	$(BIN)/python -m pytest

# For the inner loop: the first and the last case of each test, without slow ones and without linters.
test-quick: $(VENV)/test.stamp $(VENV)/package.stamp
	$(BIN)/python -m pytest --quick

lint: $(VENV)/test.stamp $(VENV)/package.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy native/compile_rules.py
	$(BIN)/mypy stress/*.py
	MYPYPATH=src $(BIN)/mypy fuzz/*.py fuzz/targets/*.py
	MYPYPATH=src:benchmarks $(BIN)/mypy benchmarks/*.py benchmarks/quality/*.py benchmarks/speed/*.py
	PYTHONPATH=src $(BIN)/lint-imports

# Python itself is built without sanitizers, so their libraries are preloaded.
# sanitized SANITIZER,FOLDER builds the package in build/FOLDER; preloaded LIBRARY sets LD_PRELOAD.
sanitized = $(BIN)/$(PIP_INSTALL) --no-build-isolation --no-deps --upgrade --target build/$(2) . \
  -Ccmake.define.SCWLEARN_SANITIZE=$(1) -Cbuild-dir=build/$(2)-native -Cinstall.strip=false
preloaded = LD_PRELOAD="$$($${CXX:-c++} -print-file-name=$(1).so) $$($${CXX:-c++} -print-file-name=libstdc++.so)"

# The native tests against a module built with AddressSanitizer and UndefinedBehaviorSanitizer. Leaks of Python are
# ignored. Fewer: make sanitize SANITIZE=tests/data.
SANITIZE ?=
sanitize: $(VENV)/test.stamp
	$(call sanitized,address,sanitized)
	$(call preloaded,libasan) ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONPATH=build/sanitized \
	  $(BIN)/python -m pytest -m native -p no:cacheprovider $(SANITIZE)

# The tests of threads, and a trial, against a module built with ThreadSanitizer: some minutes. It sees Python, which is
# built without, by the locks that Python takes, such as the GIL. BLAS has one thread: those of OpenBLAS wait for each
# other in ways that it does not see. Only the files with such tests are collected: the sanitizer cannot load all that
# the others import.
races: $(VENV)/test.stamp
	$(call sanitized,thread,races)
	$(races) -m pytest -m threads -n 0 --capture=sys -p no:cacheprovider $$(grep -rlE 'mark\.threads' tests)
	$(races) -m stress threads --cases 60
races = $(call preloaded,libtsan) PYTHONPATH=build/races OPENBLAS_NUM_THREADS=1 \
  TSAN_OPTIONS="suppressions=$(CURDIR)/tests/races.txt die_after_fork=0" $(BIN)/python

# Fuzz every parser (needs clang) and every other face to the outside with a million inputs each: some hours.
# A night: make fuzz FUZZ="--hours 8". Fewer: make fuzz FUZZ="--inputs 10000 vw json". All options: FUZZ=--help.
FUZZ ?=
fuzz: $(VENV)/fuzz.stamp $(VENV)/package.stamp
	$(BIN)/python -m fuzz $(FUZZ)

# Run every trial of stress/ at full length: hours. Fewer: make stress STRESS="forged_files --cases 100".
STRESS ?=
stress: $(VENV)/test.stamp $(VENV)/package.stamp
	$(BIN)/python -m stress $(STRESS)

bench: $(BENCH_VENV)/package.stamp
	PYTHONPATH=benchmarks $(BENCH_VENV)/bin/python -m speed.run $(BENCH)

# Run the whole evaluation on the data in DATA and write its documentation pages: a quarter of an hour.
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

# Compare the probabilities with those of other libraries on the data in DATA: a quarter of an hour.
# Arguments: make calibration CALIBRATION="--orders 1", CALIBRATION="--publish", CALIBRATION="--help".
CALIBRATION ?=
calibration: $(BENCH_VENV)/package.stamp
	$(BENCH_VENV)/bin/python benchmarks/calibration.py --data-dir $(DATA) $(CALIBRATION)

# Compare the multi-class accuracy with other libraries on the data in DATA: a quarter of an hour.
# Arguments: make several-classes CLASSES="--orders 1", CLASSES="--publish", CLASSES="--help".
CLASSES ?=
several-classes: $(VENV)/demo.stamp $(VENV)/package.stamp
	$(BIN)/python benchmarks/several_classes.py --data-dir $(DATA) $(CLASSES)

# Compare errors and probabilities after one pass with other libraries on the data in DATA: half an hour on two cores.
# It resumes after an interruption. Arguments: make quality QUALITY="--orders 1", QUALITY="--publish", QUALITY="--help".
QUALITY ?=
quality: $(BENCH_VENV)/package.stamp
	PYTHONPATH=benchmarks $(BENCH_VENV)/bin/python -m quality.run --data-dir $(DATA) $(QUALITY)

docs: $(VENV)/docs.stamp $(VENV)/demo.stamp $(VENV)/package.stamp
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/build
	@echo "Open docs/build/index.html"

# The same commit, compiler and Python give the same bytes: files in the wheel are dated by the commit.
wheel: $(VENV)/build.stamp
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} \
	  $(BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps --wheel-dir dist .
	@$(BIN)/python -m pip hash dist/*.whl

# Pin the newest compatible releases, with the hashes of their files for every platform. Run this with the oldest
# supported Python.
add_hashes = build/lock/bin/uv pip compile --quiet --no-deps --generate-hashes --no-annotate --no-header
lock:
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --upgrade pip
	build/lock/bin/python -m pip install --quiet --group build --group demo --group test --group fuzz --group docs
	build/lock/bin/python -m pip freeze --all --exclude setuptools > build/lock/versions.txt
	build/lock/bin/python -m pip install --quiet uv
	$(add_hashes) build/lock/versions.txt --output-file constraints.txt
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	$(call upgrade_pip,build/lock/bin,constraints.txt)
	build/lock/bin/python -m pip install --quiet --constraint constraints.txt --group build --group bench $(PEERS)
	build/lock/bin/python -m pip freeze --all --exclude setuptools > build/lock/versions.txt
	build/lock/bin/python -m pip install --quiet uv
	$(add_hashes) build/lock/versions.txt --output-file benchmarks/speed/constraints.txt

clean:
	rm -rf $(VENV) build dist docs/build docs/gallery docs/generated demo-output

$(VENV)/build.stamp: constraints.txt pyproject.toml
	@echo "Setting up in $(VENV): some minutes, once."
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(call upgrade_pip,$(BIN),constraints.txt)
	$(INSTALL) --group build
	touch $@

$(VENV)/%.stamp: $(VENV)/build.stamp
	$(INSTALL) --group $*
	touch $@

$(VENV)/package.stamp: $(VENV)/build.stamp $(SOURCES)
	@echo "Building the native module."
	$(BIN)/$(PIP_INSTALL) --no-build-isolation --no-deps .
	touch $@

$(BENCH_VENV)/peers.stamp: benchmarks/speed/constraints.txt pyproject.toml
	@echo "Setting up in $(BENCH_VENV): some minutes, once."
	test -x $(BENCH_VENV)/bin/python || $(PYTHON) -m venv $(BENCH_VENV)
	$(call upgrade_pip,$(BENCH_VENV)/bin,benchmarks/speed/constraints.txt)
	$(BENCH_INSTALL) --group build --group bench
	for peer in $(PEERS); do $(BENCH_INSTALL) $$peer || echo "$$peer does not install; the table will report it."; done
	touch $@

# A build separate from .venv, for the Python of this environment.
$(BENCH_VENV)/package.stamp: $(BENCH_VENV)/peers.stamp $(SOURCES)
	@echo "Building the native module."
	$(BENCH_VENV)/bin/$(PIP_INSTALL) --no-build-isolation --no-deps -Cbuild-dir=build/bench-build .
	touch $@
