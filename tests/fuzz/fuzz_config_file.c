/*
 * fuzz_config_file.c - any bytes as allo.conf.
 */
#include "base/defer.h"
#include "cli/config_file.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct allo_settings_file *config)
{
	if (config->wrappers > ALLO_WRAPPERS_NONE || config->alloc_fns.count > ALLO_LIST_MAX)
		abort();
	for (size_t i = 0; i < config->alloc_fns.count; i++) {
		if (config->alloc_fns.item[i][0] == '\0')
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ALLO_DEFER(allo_arena_done) struct allo_arena arena = { 0 };
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	struct allo_settings_file config = { 0 };
	struct allo_error err = { 0 };

	allo_thresholds_init(&config.findings.thresholds);
	/* A damaged compressed file is not opened. */
	if (allo_input_open_memory(&in, "allo.conf", data, size, &err))
		allo_config_parse(&config, &arena, &in, &err);
	check(&config);
	return 0;
}
