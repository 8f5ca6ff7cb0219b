/* answer_findings.c - the ask "findings": the results of the rules of src/findings, of the whole
 * file. */
#include "base/defer.h"
#include "findings/finding_state.h"
#include "findings/resident_steps.h"
#include "profile/naming.h"
#include "view/answers/answers.h"

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

/* The timeline of a recording whose facts are known. */
static bool find_timeline(struct examination *it, struct allo_dataset *dataset,
			  struct allo_error *err)
{
	const struct allo_heap_options options = { .timeline = &it->timeline };

	return allo_change_log_heap(&dataset->log, &options, &it->heap, NULL, err);
}

/* Facts about single blocks take a replay. */
static bool find_facts(struct examination *it, struct allo_dataset *dataset, struct allo_error *err)
{
	const struct allo_facts_store *store = dataset->facts_store;
	struct allo_recording *recording = dataset->recording;
	struct allo_heap_options options = { .by_thread = allo_recording_thread_count(recording) >
							  1 };
	struct allo_heap_observer observer;
	uint64_t events;

	if (store && store->load(it->facts, recording, &options))
		return find_timeline(it, dataset, err);
	observer = allo_facts_observer(it->facts);
	options.observer = &observer;
	options.timeline = &it->timeline;
	if (!allo_heap_replay(&it->heap, recording, &options, &events, err))
		return false;
	if (store)
		store->store(it->facts, recording, &options);
	return true;
}

static bool gather_facts(struct examination *it, struct allo_dataset *dataset,
			 struct allo_error *err)
{
	it->facts = calloc(1, sizeof(*it->facts));
	if (!it->facts)
		return allo_fail_memory(err);
	it->timeline.most = TIMELINE_STEPS;
	return find_facts(it, dataset, err) &&
	       allo_resident_steps(dataset->recording, &it->timeline, &it->resident, err);
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
		if (!gather_facts(it, dataset, err))
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

enum text { RULE, TITLE, SEVERITY, NAME, SENTENCE, WHY, ADVICE, PLACE, SHOW, TEXTS };

static const char *const text_names[TEXTS] = { "rule", "title",  "severity", "name", "sentence",
					       "why",  "advice", "place",    "show" };

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

/* The state of the page that shows the evidence. */
static void add_show(struct allo_text_column *column, const struct allo_profile *profile,
		     const struct allo_finding *found, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	if (allo_finding_state(&out, profile, found, err))
		allo_text_column_add(column, allo_output_memory(&out), err);
}

/* Of a comparison, findings are about the changed recording, whose calls have other numbers. */
static void add_finding(struct finding_columns *columns, struct allo_dataset *dataset,
			bool has_sites, const struct allo_finding *found, struct allo_reply *reply,
			struct allo_error *err)
{
	const struct allo_profile *profile = &dataset->profile;
	const struct allo_top_key none = { 0 }, *key = found->site ? &found->site->key : &none;
	struct allo_text file = allo_basename(allo_profile_text(profile, key->file)), name = { 0 };
	uint32_t call = allo_call_numbers_find(&dataset->calls, key->function, key->file);
	char place[ALLO_NAME_SCRATCH] = "", scratch[ALLO_NAME_SCRATCH];

	if (file.len > 0 && key->number > 0)
		snprintf(place, sizeof(place), "%.*s:%llu", ALLO_TEXT_ARG(file),
			 (unsigned long long)key->number);
	allo_text_column_add(&columns->texts[RULE], allo_text_of(found->rule->id), err);
	allo_text_column_add(&columns->texts[TITLE], allo_text_of(found->rule->title), err);
	allo_text_column_add(&columns->texts[SEVERITY],
			     allo_text_of(allo_severity_names[found->severity]), err);
	if (call)
		name = allo_call_numbers_name(&dataset->calls, profile, call, scratch);
	allo_text_column_add(&columns->texts[NAME], name, err);
	allo_text_column_add(&columns->texts[SENTENCE], allo_text_of(found->sentence), err);
	allo_text_column_add(&columns->texts[WHY], allo_text_of(found->rule->why), err);
	allo_text_column_add(&columns->texts[ADVICE], allo_text_of(found->rule->advice), err);
	allo_text_column_add(&columns->texts[PLACE], allo_text_of(place), err);
	add_show(&columns->texts[SHOW], profile, found, err);
	allo_vec_add(&columns->site, has_sites ? call : 0, err);
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

static bool put_findings(struct allo_dataset *dataset, const struct allo_findings *findings,
			 bool has_sites, struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(finding_columns_done) struct finding_columns columns = { 0 };

	for (size_t i = 0; i < findings->list.len && !allo_failed(err); i++)
		add_finding(&columns, dataset, has_sites, &findings->list.at[i], reply, err);
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
	struct allo_dataset *recorded = allo_dataset_recorded(dataset, ALLO_NOW);
	struct allo_dataset *file = recorded ? recorded : dataset;
	bool ok;

	if (!choose(request, &options, err) || !allo_dataset_show_all(file, err))
		return false;
	ok = examine(&it, file, &options, err) &&
	     put_findings(file, &it.findings, file == dataset, reply, err);
	allo_dataset_hide_all(file);
	return ok;
}
