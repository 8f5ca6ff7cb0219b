# The front door: each target installs what it needs, then does its job.
# Meson and ninja do the building; everything they make is under build/.

BUILD  ?= build
PREFIX ?= /usr/local

.PHONY: all demo test stress bench install clean

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD) -n | grep -q 'no work to do' || ninja -C $(BUILD)

# Questions to a bundled profile, and the profile in other forms.
demo: all
	@tools/demo.sh $(BUILD)

test:
	@tools/setup.sh build test
	@python3 tests/run.py

# What "make test" does for a minute, for an hour: 100 rounds of each case, and large programs.
stress: all
	@tools/setup.sh test stress
	@export ALLO_BUILD=$(abspath $(BUILD)); status=0; \
	python3 tests/stress/run.py --rounds 100 --kills 200 || status=1; \
	python3 tests/stress/real.py || status=1; \
	exit $$status

bench: all
	@tools/setup.sh bench
	@status=0; \
	python3 tests/bench/run.py $(BUILD) || status=1; \
	python3 tests/bench/capture.py $(BUILD) || status=1; \
	python3 tests/bench/replay.py $(BUILD) || status=1; \
	python3 tests/bench/inside.py $(BUILD) || status=1; \
	python3 tests/bench/telemetry.py $(BUILD) || status=1; \
	python3 tests/bench/serve.py $(BUILD) || status=1; \
	exit $$status

install: all
	@meson configure $(BUILD) --prefix $(PREFIX)
	@meson install -C $(BUILD) > $(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log
	@echo "installed into $(DESTDIR)$(PREFIX)"

$(BUILD)/build.ninja:
	@tools/setup.sh build
	@meson setup $(BUILD) --prefix $(PREFIX) > $(BUILD).log || { cat $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log

clean:
	@rm -rf build build-*
