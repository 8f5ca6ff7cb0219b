# The front door. Meson and ninja do the building; every product is under build/.
#
# A plain "make" builds and installs nothing: if packages are missing, it prints the command that installs them.
# demo, test, stress, bench, peers and coverage install missing Debian packages, and announce it first.

BUILD  ?= build
PREFIX ?= /usr/local

VERSION := $(shell sed -n "s/^ *version: '\(.*\)',/\1/p" meson.build | head -n 1)

.PHONY: all demo test stress bench peers coverage viewer dist install clean help

all: $(BUILD)/build.ninja
	@ninja -C "$(BUILD)" -n | grep -q 'no work to do' || ninja -C "$(BUILD)"

$(BUILD)/build.ninja:
	@tools/setup.sh --check build
	@meson setup "$(BUILD)" --prefix "$(PREFIX)" > "$(BUILD).log" || { cat "$(BUILD).log"; exit 1; }
	@rm -f "$(BUILD).log"

# Records a bundled program, and shows and converts a bundled profile.
demo:
	@tools/setup.sh build engine
	@$(MAKE) --no-print-directory all
	@tools/demo.sh "$(BUILD)"

test:
	@tools/setup.sh build engine test
	@python3 tests/run.py

# Takes an hour: 100 rounds of each stress test, and large programs. "make test" runs one round.
stress:
	@tools/setup.sh build test stress
	@$(MAKE) --no-print-directory all
	@ALLO_BUILD=$$(cd "$(BUILD)" && pwd); export ALLO_BUILD; status=0; \
	python3 tests/stress/run.py --rounds 100 --kills 200 || status=1; \
	python3 tests/stress/foreign.py || status=1; \
	ALLO_TRUTH_EVENTS=20000000 python3 tests/integration/main.py test_truth.py || status=1; \
	exit $$status

bench:
	@tools/setup.sh build bench
	@$(MAKE) --no-print-directory all
	@status=0; \
	for name in run capture replay view inside telemetry serve; do \
		python3 "tests/bench/$$name.py" "$(BUILD)" || status=1; \
	done; \
	exit $$status

# The cost of other heap profilers, as README.md shows it.  memray comes from PyPI.
peers:
	@tools/setup.sh build bench peers
	@$(MAKE) --no-print-directory all
	@test -x "$(BUILD)/peers/bin/memray" || \
		{ /usr/bin/python3 -m venv "$(BUILD)/peers" && "$(BUILD)/peers/bin/pip" install --quiet memray; }
	@MEMRAY="$(BUILD)/peers/bin/memray" python3 tests/bench/compare.py "$(BUILD)"

# Prints the lines that tests reach, file by file; build-coverage/report/index.html shows them.
coverage:
	@tools/setup.sh build test coverage
	@python3 tools/coverage.py

# Rebuilds the page of `allo view`, which is committed.  Needs node and npm.
viewer:
	@cd viewer && npm ci --silent --no-audit --no-fund --ignore-scripts && npm run --silent build

# A source archive of the last commit.
dist:
	@mkdir -p "$(BUILD)"
	@git archive --format=tar.gz --prefix="allotrope-$(VERSION)/" -o "$(BUILD)/allotrope-$(VERSION).tar.gz" HEAD
	@echo "wrote $(BUILD)/allotrope-$(VERSION).tar.gz"

install: all
	@meson configure "$(BUILD)" --prefix "$(PREFIX)"
	@meson install -C "$(BUILD)" > "$(BUILD).log" 2>&1 || { cat "$(BUILD).log"; exit 1; }
	@rm -f "$(BUILD).log"
	@echo "installed into $(DESTDIR)$(PREFIX)"

clean:
	@rm -rf build build-*

help:
	@echo "make            build into $(BUILD)/"
	@echo "make demo       build, then record and show a small program"
	@echo "make test       run all tests"
	@echo "make stress     run the stress tests for an hour"
	@echo "make bench      run the benchmarks"
	@echo "make peers      measure other heap profilers for comparison"
	@echo "make coverage   measure the test coverage"
	@echo "make viewer     rebuild the page of 'allo view' with node"
	@echo "make dist       write a source archive"
	@echo "make install    install into PREFIX ($(PREFIX))"
	@echo "make clean      remove all builds"
