/* dtrace_frames.c - see dtrace_frames.h. */
#include "readers/dtrace_frames.h"

#include "readers/symbol_function.h"

/* "0x1c", of lower-case digits as DTrace prints them. */
static bool parse_hex(struct allo_text text, uint64_t *number)
{
	return allo_text_skip(&text, ALLO_TEXT("0x")) && allo_text_hex(text, number);
}

/* "operator+" is a name, "main+0x1c" has an offset. */
static struct allo_text without_offset(struct allo_text text)
{
	struct allo_text before, offset;
	uint64_t ignored;

	return allo_text_cut_last(text, '+', &before, &offset) && parse_hex(offset, &ignored)
		       ? before
		       : text;
}

allo_frame_id allo_dtrace_frame(struct allo_profile *profile, struct allo_text text,
				const struct allo_trace_options *options, struct allo_error *err)
{
	struct allo_text place = without_offset(text), path, symbol;
	struct allo_frame frame = { 0 };
	struct allo_line line = { 0 };
	/* There is nothing to be found out that DTrace did not know. */
	struct allo_module module = { .has_functions = true };

	if (parse_hex(text, &frame.address))
		return allo_profile_add_frame(profile, &frame, NULL, 0, err);
	if (!allo_text_cut(place, '`', &path, &symbol) || path.len == 0 || symbol.len == 0)
		return allo_profile_add_named_frame(profile, text, err);
	module.path = allo_profile_add_string(profile, path, err);
	frame.module = allo_profile_add_module(profile, &module, err);
	if (allo_failed(err))
		return 0;
	if (parse_hex(symbol, &frame.address))
		return allo_profile_add_frame(profile, &frame, NULL, 0, err);
	line.function = options->drops_modules
				? allo_symbol_function(profile, options->namer, symbol,
						       (struct allo_text){ 0 }, err)
				: allo_symbol_function_in(profile, options->namer, path, symbol,
							  err);
	return line.function ? allo_profile_add_frame(profile, &frame, &line, 1, err) : 0;
}

bool allo_dtrace_is_kernel(const struct allo_profile *profile, allo_frame_id id)
{
	static const char *const kernels[] = { "unix", "genunix", "kernel", "mach_kernel" };
	allo_module_id module = profile->frames.at[id].module;
	struct allo_text path;

	if (module == 0)
		return false;
	path = allo_profile_text(profile, profile->modules.at[module].path);
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
		if (allo_text_equal(path, allo_text_of(kernels[i])))
			return true;
	}
	return allo_text_ends(path, ALLO_TEXT(".ko"));
}
