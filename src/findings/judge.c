/* judge.c - numbers and names for the sentence of a finding, in the arena of the findings. */
#include "findings/judge.h"

#include "base/defer.h"
#include "profile/naming.h"
#include "profile/short_name.h"

#include <stdarg.h>
#include <stdio.h>

/* A string in the arena; "" when memory is short, which allo_findings_of() notices by the missing
 * sentence. */
static const char *print(struct allo_case *at, const char *fmt, va_list arguments)
{
	va_list again;
	char *text;
	int len;

	va_copy(again, arguments);
	len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	text = len < 0 ? NULL : ALLO_ARENA_NEW(at->arena, (size_t)len + 1, char);
	if (text)
		vsnprintf(text, (size_t)len + 1, fmt, arguments);
	return text;
}

static const char *copy(struct allo_case *at, const char *text)
{
	const char *copied = allo_arena_copy(at->arena, text, strlen(text));

	return copied ? copied : "";
}

const char *allo_case_text(struct allo_case *at, const char *fmt, ...)
{
	va_list arguments;
	const char *text;

	va_start(arguments, fmt);
	text = print(at, fmt, arguments);
	va_end(arguments);
	return text ? text : "";
}

bool allo_case_say(struct allo_case *at, const char *fmt, ...)
{
	va_list arguments;

	va_start(arguments, fmt);
	at->found->sentence = print(at, fmt, arguments);
	va_end(arguments);
	return true;
}

static void keep(struct allo_case *at, const char *name, uint64_t value)
{
	for (size_t i = 0; name && i < ALLO_FINDING_NUMBERS; i++) {
		if (at->found->numbers[i].name)
			continue;
		at->found->numbers[i].name = name;
		at->found->numbers[i].value = value;
		return;
	}
}

const char *allo_case_bytes(struct allo_case *at, const char *name, uint64_t bytes)
{
	char text[ALLO_NUMBER_SIZE];

	keep(at, name, bytes);
	return copy(at, allo_format_bytes(bytes, text));
}

const char *allo_case_count(struct allo_case *at, const char *name, uint64_t count)
{
	char text[ALLO_NUMBER_SIZE];

	keep(at, name, count);
	return copy(at, allo_format_count(count, text));
}

const char *allo_case_blocks(struct allo_case *at, const char *name, uint64_t blocks)
{
	char text[ALLO_NUMBER_SIZE + 8], number[ALLO_NUMBER_SIZE];

	keep(at, name, blocks);
	snprintf(text, sizeof(text), "%s block%s", allo_format_count(blocks, number),
		 blocks == 1 ? "" : "s");
	return copy(at, text);
}

const char *allo_case_share(struct allo_case *at, double part, double whole)
{
	char text[ALLO_NUMBER_SIZE];

	return copy(at, allo_format_share(part, whole, text));
}

const char *allo_case_site(struct allo_case *at, const struct allo_evidence_site *site)
{
	ALLO_DEFER(allo_name_buffer_done) struct allo_name_buffer buffer = { 0 };
	const struct allo_profile *profile = at->evidence->in.profile;
	struct allo_text name = allo_profile_text(profile, site->key.function);
	char *text;

	if (name.len > 0)
		name = allo_short_name(name, ALLO_NAME_BRIEF, &buffer);
	else
		name = allo_basename(allo_profile_text(profile, site->key.module));
	if (name.len == 0)
		return "code without a name";
	text = ALLO_ARENA_NEW(at->arena, name.len + 1, char);
	if (!text)
		return "";
	/* Names are from files, and may hold control characters. */
	for (size_t i = 0; i < name.len; i++)
		text[i] = (unsigned char)name.data[i] < ' ' ? '?' : name.data[i];
	return text;
}

void allo_case_cost(struct allo_case *at, double part, double whole)
{
	double share = whole > 0 ? part / whole : 0;

	at->found->cost = share > 1 ? 1 : share;
}

void allo_case_saves(struct allo_case *at, enum allo_saving saving, uint64_t saved)
{
	at->found->saving = saved > 0 ? saving : ALLO_SAVES_NOTHING;
	at->found->saved = saved;
}

void allo_case_range(struct allo_case *at, uint64_t from_ns, uint64_t to_ns)
{
	at->found->from_ns = from_ns;
	at->found->to_ns = to_ns;
}

bool allo_site_is_churn(const struct allo_evidence_site *site)
{
	const struct allo_site_facts *facts = &site->facts;

	return facts->reusable_blocks > 0 && 2 * facts->reusable_blocks >= facts->blocks;
}

uint64_t allo_site_live_at(const struct allo_evidence *evidence,
			   const struct allo_evidence_site *site, uint64_t ns)
{
	uint64_t step_ns = evidence->in.facts ? evidence->in.facts->step_ns : 0;

	if (!site->curve || step_ns == 0 || ns / step_ns >= site->curve->filled)
		return 0;
	return site->curve->live[ns / step_ns];
}
