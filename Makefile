# The front door: each target installs what it needs, then does its job.
# Meson and ninja do the building; everything they make is under build/.

BUILD  ?= build
PREFIX ?= /usr/local

.PHONY: all demo test bench install clean

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet

# Reading a bundled profile, in every way there is.
demo: all
	@tools/demo.sh $(BUILD)/src/allo

test:
	@tools/setup.sh build test
	@python3 tests/run.py

bench: all
	@tools/setup.sh bench
	@python3 tests/bench/run.py $(BUILD)

install: all
	@meson install -C $(BUILD) --quiet
	@echo "installed into $$(meson introspect $(BUILD) --buildoptions | tools/prefix.sh)"

$(BUILD)/build.ninja:
	@tools/setup.sh build
	@meson setup $(BUILD) --prefix $(PREFIX) > $(BUILD).log || { cat $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log

clean:
	@rm -rf build build-*
