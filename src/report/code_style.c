#include "report/code_style.h"

/* Whether the report shows styles.  Prepares for a profile. */
static bool begin(struct allo_report *report, const struct allo_profile *profile)
{
	const char *dim = report->options.style.dim;

	if (!allo_report_is(report, ALLO_REPORT_TEXT) || !dim || dim[0] == '\0')
		return false;
	if (report->profile != profile) {
		allo_ownership_done(&report->ownership);
		report->ownership = (struct allo_ownership){ 0 };
		report->profile = profile;
	}
	return true;
}

enum allo_text_style allo_report_call_style(struct allo_report *report,
					    const struct allo_profile *profile,
					    const struct allo_frame *frame, uint32_t call)
{
	if (!begin(report, profile))
		return ALLO_STYLE_PLAIN;
	return allo_is_own_call(&report->ownership, profile, frame, call) ? ALLO_STYLE_BOLD
									  : ALLO_STYLE_DIM;
}

static enum allo_text_style style_of(struct allo_report *report, const struct allo_profile *profile,
				     struct allo_text function, struct allo_text file,
				     struct allo_text module)
{
	if (!begin(report, profile))
		return ALLO_STYLE_PLAIN;
	return allo_is_own_code(&report->ownership, profile, function, file, module)
		       ? ALLO_STYLE_BOLD
		       : ALLO_STYLE_DIM;
}

enum allo_text_style allo_report_module_style(struct allo_report *report,
					      const struct allo_profile *profile,
					      allo_string_id path)
{
	return style_of(report, profile, ALLO_TEXT(""), ALLO_TEXT(""),
			allo_profile_text(profile, path));
}

enum allo_text_style allo_report_row_style(struct allo_report *report,
					   const struct allo_profile *profile,
					   const struct allo_top_key *key)
{
	return style_of(report, profile, allo_profile_text(profile, key->function),
			allo_profile_text(profile, key->file),
			allo_profile_text(profile, key->module));
}
