# The front door: each target installs what it needs, then does its job.
# Meson and ninja do the building; everything they make is under build/.

BUILD  ?= build
PREFIX ?= /usr/local

.PHONY: all demo test bench install clean

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD) -n | grep -q 'no work to do' || ninja -C $(BUILD)

# Questions to a bundled profile, and the profile in other forms.
demo: all
	@tools/demo.sh $(BUILD)

test:
	@tools/setup.sh build test
	@python3 tests/run.py

bench: all
	@tools/setup.sh bench
	@python3 tests/bench/run.py $(BUILD)

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
