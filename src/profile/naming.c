#include "profile/naming.h"

#include "base/assert.h"

#include <stdio.h>

struct allo_text allo_basename(struct allo_text path)
{
	struct allo_text folder, name;

	return allo_text_cut_last(path, '/', &folder, &name) ? name : path;
}

uint64_t allo_frame_file_address(const struct allo_profile *profile, const struct allo_frame *frame)
{
	const struct allo_module *module;

	if (frame->module == 0)
		return frame->address;
	module = &profile->modules.at[frame->module];
	return module->has_bias ? frame->address - module->bias : frame->address;
}

struct allo_text allo_call_name(const struct allo_profile *profile, const struct allo_frame *frame,
				uint32_t call, char scratch[ALLO_NAME_SCRATCH])
{
	struct allo_line line = allo_call_line(profile, frame, call);
	struct allo_text name = { 0 }, module = { 0 };
	uint64_t address;
	int len;

	ALLO_ASSERT(call < allo_frame_call_count(frame));
	if (line.function)
		name = allo_profile_text(profile, profile->functions.at[line.function].name);
	if (name.len > 0)
		return name;
	if (frame->module)
		module = allo_basename(
			allo_profile_text(profile, profile->modules.at[frame->module].path));
	if (frame->address == 0 && module.len == 0)
		return ALLO_TEXT("???");
	address = allo_frame_file_address(profile, frame);
	if (module.len == 0)
		len = snprintf(scratch, ALLO_NAME_SCRATCH, "0x%llx", (unsigned long long)address);
	else
		len = snprintf(scratch, ALLO_NAME_SCRATCH, "0x%llx [%.*s]",
			       (unsigned long long)address, ALLO_TEXT_ARG(module));
	return (struct allo_text){ scratch, (size_t)len };
}

struct allo_text allo_line_file(const struct allo_profile *profile, struct allo_line line)
{
	if (line.function == 0)
		return (struct allo_text){ "", 0 };
	return allo_profile_text(profile, profile->functions.at[line.function].file);
}

struct allo_text allo_metric_name(const struct allo_profile *profile, size_t metric,
				  char scratch[ALLO_NAME_SCRATCH])
{
	const struct allo_metric *m = &profile->metrics.at[metric];
	struct allo_text name = allo_profile_text(profile, m->name);

	if (!m->is_before)
		return name;
	snprintf(scratch, ALLO_NAME_SCRATCH, "%.*s_before", ALLO_TEXT_ARG(name));
	return allo_text_of(scratch);
}
