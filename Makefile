# The front door. Meson and ninja do the building; every product is under build/.
#
# A plain "make" builds and installs nothing: if packages are missing, it prints the command that installs them.
# demo, test, stress, bench, peers and coverage install missing Debian packages, and announce it first.

BUILD  ?= build
PREFIX ?= /usr/local

VERSION := $(shell sed -n "s/^ *version: '\(.*\)',/\1/p" meson.build | head -n 1)

.PHONY: all demo test stress bench peers coverage viewer dist static deb deb-arm64 wheel image packages install clean help

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

# Takes an hour: 100 rounds of each stress test, large programs, and CPython of Debian's unstable distribution.  "make test" runs
# one round.
stress:
	@tools/setup.sh build test stress
	@$(MAKE) --no-print-directory all
	@ALLO_BUILD=$$(cd "$(BUILD)" && pwd); export ALLO_BUILD; status=0; \
	python3 tests/stress/run.py --rounds 100 --kills 200 || status=1; \
	python3 tests/stress/foreign.py || status=1; \
	python3 tests/stress/ring.py || status=1; \
	ALLO_TRUTH_EVENTS=20000000 python3 tests/integration/main.py test_truth.py || status=1; \
	pythons=$$(python3 tests/stress/newer_pythons.py "$(BUILD)/pythons") || status=1; \
	ALLO_PYTHONS=$$pythons python3 tests/integration/main.py test_python.py || status=1; \
	exit $$status

bench:
	@tools/setup.sh build bench
	@$(MAKE) --no-print-directory all
	@status=0; \
	for name in run capture replay view inside telemetry serve attach parquet; do \
		python3 "tests/bench/$$name.py" "$(BUILD)" || status=1; \
	done; \
	exit $$status

# The cost of other heap profilers, as README.md shows it, and collectors with the configurations of doc/fleets.md.
# memray and pyarrow, which reads our Parquet files, come from PyPI, Parca comes from the Go module proxy; it needs Go 1.25, and half
# an hour to build.  Allocators and profilers of Rust programs (dhat, pprof-alloc, rheaper) come from the registry of Rust crates.
peers:
	@tools/setup.sh build bench peers
	@$(MAKE) --no-print-directory all
	@test -x "$(BUILD)/peers/bin/memray" || /usr/bin/python3 -m venv "$(BUILD)/peers"
	@"$(BUILD)/peers/bin/pip" install --quiet memray pyarrow
	@"$(BUILD)/peers/bin/python" tests/peers/parquet.py "$(BUILD)"
	@for crate in none dhat pprof-alloc rheaper; do \
		cargo build --quiet --release --manifest-path tests/peers/profilers/Cargo.toml \
			--target-dir "$(BUILD)/peers/profilers/$$crate" --features "$${crate#none}" || exit 1; \
	done
	@MEMRAY="$(BUILD)/peers/bin/memray" PEERS_RUST="$(BUILD)/peers/profilers" python3 tests/bench/compare.py "$(BUILD)"
	@python3 tests/peers/rust.py "$(BUILD)"
	@mkdir -p "$(BUILD)/peers/parca" && cp tests/peers/go.mod tests/peers/go.sum "$(BUILD)/peers/parca"
	@test -x "$(BUILD)/peers/bin/parca" || \
		(cd "$(BUILD)/peers/parca" && go build -mod=mod -o ../bin/parca github.com/parca-dev/parca/cmd/parca)
	@python3 tests/peers/fleets.py "$(BUILD)" "$(BUILD)/peers/bin/parca"

# Prints the lines that tests reach, file by file; build-coverage/report/index.html shows them.
coverage:
	@tools/setup.sh build test coverage
	@python3 tools/coverage.py

# Rebuilds the page of `allo view`, which is committed.  Needs node and npm.
viewer:
	@cd viewer && npm ci --silent --no-audit --no-fund --ignore-scripts && npm run --silent build

# Packages, in PACKAGES; the same bytes each time and in any folder.  SOURCE_DATE_EPOCH is the time in them (default: that of
# the last commit).
PACKAGES = $(BUILD)-packages
NAME     = allotrope-$(VERSION)

packages: dist static deb wheel image $(if $(filter x86_64,$(shell uname -m)),deb-arm64)

# A source archive of the last commit.
dist:
	@mkdir -p "$(PACKAGES)"
	@git archive --format=tar --prefix="$(NAME)/" HEAD | gzip -9n > "$(PACKAGES)/$(NAME).tar.gz"
	@cd "$(PACKAGES)" && sha256sum "$(NAME).tar.gz" > "$(NAME).tar.gz.sha256"
	@echo "wrote $(PACKAGES)/$(NAME).tar.gz"

# One file that needs nothing: allo with its runtime inside.
static:
	@tools/setup.sh --check build packages
	@packaging/build.sh standalone "$(BUILD)-standalone"
	@mkdir -p "$(PACKAGES)"
	@install -m 755 "$(BUILD)-standalone/allo" "$(PACKAGES)/$(NAME)-linux-$$(uname -m)"
	@echo "wrote $(PACKAGES)/$(NAME)-linux-$$(uname -m)"

# Debian packages of this machine's architecture.
deb:
	@tools/setup.sh --check build packages
	@packaging/build.sh shared "$(BUILD)-shared"
	@mkdir -p "$(PACKAGES)"
	@python3 packaging/make_deb.py "$(BUILD)-shared" "$(PACKAGES)"

# The same of arm64, by a cross compiler, and tests of them in an emulator.  Downloads libraries of arm64.
deb-arm64:
	@tools/setup.sh --check build packages cross
	@packaging/cross.sh "$(BUILD)-arm64-root"
	@packaging/build.sh shared "$(BUILD)-arm64" --cross "$(BUILD)-arm64-root"
	@mkdir -p "$(PACKAGES)"
	@python3 packaging/make_deb.py "$(BUILD)-arm64" "$(PACKAGES)" "$(BUILD)-arm64-root"
	@python3 tests/packages/arm64.py "$(BUILD)-arm64" "$(PACKAGES)" "$(BUILD)-arm64-root"

# A wheel of Python with the standalone allo.
wheel: static
	@python3 packaging/make_wheel.py "$(BUILD)-standalone/allo" "$(PACKAGES)"

# An OCI image with the standalone allo.
image: static
	@python3 packaging/make_image.py "$(BUILD)-standalone/allo" "$(PACKAGES)"

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
	@echo "make dist       write a source archive into $(PACKAGES)/"
	@echo "make static     build allo as one file that needs nothing"
	@echo "make deb        build Debian packages"
	@echo "make deb-arm64  cross-build Debian packages of arm64"
	@echo "make wheel      build a wheel of Python"
	@echo "make image      build a container image (OCI layout)"
	@echo "make packages   all of these"
	@echo "make install    install into PREFIX ($(PREFIX))"
	@echo "make clean      remove all builds"
