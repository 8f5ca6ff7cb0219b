/* answer_findings.c - the ask "findings": the results of the rules of src/findings, of the whole
 * file. */
#include "base/defer.h"
#include "findings/findings.h"
#include "findings/resident_steps.h"
#include "profile/naming.h"
#include "view/answers.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_OF_RULE = 5, TIMELINE_STEPS = 200 };

/* Everything that the rules look at. */
struct examination {
	struct allo_facts *facts;
	struct allo_timeline timeline;
	uint64_t *resident;
	struct allo_heap heap;
	struct allo_evidence evidence;
	struct allo_findings findings;
};

static void examination_done(struct examination *it)
{
	allo_findings_done(&it->findings);
	allo_evidence_done(&it->evidence);
	allo_heap_done(&it->heap);
	allo_timeline_done(&it->timeline);
	if (it->facts)
		allo_facts_done(it->facts);
	free(it->facts);
	free(it->resident);
}

/* Facts about single blocks take a replay. */
static bool gather_facts(struct examination *it, struct allo_recording *recording,
			 struct allo_error *err)
{
	struct allo_heap_observer observer;
	struct allo_heap_options options = { .by_thread = allo_recording_thread_count(recording) >
							  1,
					     .timeline = &it->timeline,
					     .observer = &observer };
	uint64_t events;

	it->facts = calloc(1, sizeof(*it->facts));
	if (!it->facts)
		return allo_fail_memory(err);
	observer = allo_facts_observer(it->facts);
	it->timeline.most = TIMELINE_STEPS;
	return allo_heap_replay(&it->heap, recording, &options, &events, err) &&
	       allo_resident_steps(recording, &it->timeline, &it->resident, err);
}

static bool choose(const struct allo_request *request, struct allo_findings_options *options,
		   struct allo_error *err)
{
	size_t least;

	if (!allo_request_choose(request->severity, allo_severity_names, &least, err))
		return false;
	allo_thresholds_init(&options->thresholds);
	options->least = (enum allo_severity)least;
	options->most_of_rule = MOST_OF_RULE;
	return true;
}

static bool examine(struct examination *it, struct allo_dataset *dataset,
		    const struct allo_findings_options *options, struct allo_error *err)
{
	bool has_events = dataset->recording &&
			  dataset->recording->head.sampling.mode != ALLO_MODE_AD_HOC;
	struct allo_evidence_input input = { .profile = &dataset->profile,
					     .attribution = dataset->attribution };

	if (has_events) {
		if (!gather_facts(it, dataset->recording, err))
			return false;
		input.facts = it->facts;
		input.stacks = dataset->stacks;
		input.timeline = &it->timeline;
		input.summary = &dataset->summary;
		input.resident = it->resident;
	}
	return allo_evidence_of(&it->evidence, &input, err) &&
	       allo_findings_of(&it->findings, &it->evidence, options, err);
}

/* Columns. */

enum text { RULE, SEVERITY, SENTENCE, WHY, ADVICE, PLACE, SHOW, TEXTS };

static const char *const text_names[TEXTS] = { "rule",   "severity", "sentence", "why",
					       "advice", "place",    "show" };

struct finding_columns {
	struct allo_text_column texts[TEXTS];
	ALLO_VEC(uint32_t) site;
	ALLO_VEC(double) saving;
};

static void finding_columns_done(struct finding_columns *columns)
{
	for (size_t i = 0; i < TEXTS; i++)
		allo_text_column_done(&columns->texts[i]);
	allo_vec_done(&columns->site);
	allo_vec_done(&columns->saving);
}

/* Adds a text to a query string; characters that have a meaning there are escaped. */
static void add_escaped(struct allo_output *out, struct allo_text text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		    c == '_' || c == '.' || c == '-')
			allo_output_byte(out, (char)c);
		else
			allo_output_printf(out, "%%%02X", c);
	}
}

/* The state of the page that shows the evidence. */
static void add_show(struct allo_text_column *column, const struct allo_profile *profile,
		     const struct allo_finding *found, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	if (!allo_output_open_memory(&out, &(struct allo_output_options){ 0 }, err))
		return;
	allo_output_printf(&out, "view=%s", found->rule->view);
	if (found->to_ns > 0)
		allo_output_printf(&out, "&t=%.9fs..%.9fs", (double)found->from_ns / 1e9,
				   (double)found->to_ns / 1e9);
	if (found->site && found->site->key.function) {
		allo_output_string(&out, "&f=focus%3Afn%3A%3D");
		add_escaped(&out, allo_profile_text(profile, found->site->key.function));
	}
	if (allo_output_finish(&out, err))
		allo_text_column_add(column, allo_output_memory(&out), err);
}

static void add_finding(struct finding_columns *columns, const struct allo_dataset *dataset,
			const struct allo_finding *found, struct allo_reply *reply,
			struct allo_error *err)
{
	const struct allo_profile *profile = &dataset->profile;
	const struct allo_top_key none = { 0 }, *key = found->site ? &found->site->key : &none;
	struct allo_text file = allo_basename(allo_profile_text(profile, key->file));
	char place[ALLO_NAME_SCRATCH] = "";

	if (file.len > 0 && key->number > 0)
		snprintf(place, sizeof(place), "%.*s:%llu", ALLO_TEXT_ARG(file),
			 (unsigned long long)key->number);
	allo_text_column_add(&columns->texts[RULE], allo_text_of(found->rule->id), err);
	allo_text_column_add(&columns->texts[SEVERITY],
			     allo_text_of(allo_severity_names[found->severity]), err);
	allo_text_column_add(&columns->texts[SENTENCE], allo_text_of(found->sentence), err);
	allo_text_column_add(&columns->texts[WHY], allo_text_of(found->rule->why), err);
	allo_text_column_add(&columns->texts[ADVICE], allo_text_of(found->rule->advice), err);
	allo_text_column_add(&columns->texts[PLACE], allo_text_of(place), err);
	add_show(&columns->texts[SHOW], profile, found, err);
	allo_vec_add(&columns->site,
		     allo_call_numbers_find(&dataset->calls, key->function, key->file), err);
	allo_vec_add(&columns->saving,
		     allo_saving_kinds[found->saving].unit == ALLO_UNIT_BYTES
			     ? allo_reply_value(reply, found->saved)
			     : 0,
		     err);
}

/* Rules that lack data. */
static void put_unchecked(struct allo_json_out *json, const struct allo_findings *findings)
{
	allo_json_out_key(json, "unchecked");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; allo_finding_rules[i]; i++) {
		for (size_t k = 0; k < ALLO_DATA_KINDS; k++) {
			if (!(findings->missing[i] & allo_data_kinds[k].data))
				continue;
			allo_json_out_begin(json, '{');
			allo_json_out_member_text(json, "rule",
						  allo_text_of(allo_finding_rules[i]->id));
			allo_json_out_member_text(json, "needs",
						  allo_text_of(allo_data_kinds[k].name));
			allo_json_out_end(json);
			break;
		}
	}
	allo_json_out_end(json);
}

static bool put_findings(const struct allo_dataset *dataset, const struct allo_findings *findings,
			 struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(finding_columns_done) struct finding_columns columns = { 0 };

	for (size_t i = 0; i < findings->list.len && !allo_failed(err); i++)
		add_finding(&columns, dataset, &findings->list.at[i], reply, err);
	put_unchecked(&reply->head, findings);
	for (size_t i = 0; i < TEXTS; i++)
		allo_reply_texts(reply, text_names[i], &columns.texts[i]);
	allo_reply_u32(reply, "site", columns.site.at, columns.site.len);
	allo_reply_f64(reply, "saving", columns.saving.at, columns.saving.len);
	return !allo_failed(err);
}

bool allo_answer_findings(struct allo_dataset *dataset, const struct allo_request *request,
			  struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(examination_done) struct examination it = { 0 };
	struct allo_findings_options options = { 0 };
	bool ok;

	if (!choose(request, &options, err) || !allo_dataset_show_all(dataset, err))
		return false;
	ok = examine(&it, dataset, &options, err) &&
	     put_findings(dataset, &it.findings, reply, err);
	allo_dataset_hide_all(dataset);
	return ok;
}
