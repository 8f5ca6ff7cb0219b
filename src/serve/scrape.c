/* scrape.c - see scrape.h. */
#include "serve/scrape.h"

#include "base/defer.h"
#include "telemetry/metrics.h"
#include "telemetry/ticking.h"
#include "watch/speak.h"

#include <stdlib.h>
#include <sys/stat.h>

/* Others wait as long as a process does not answer: for one of them, for all of them together, and
 * then not again for a while. */
enum { PATIENCE_MS = 100 };
#define PATIENCE_NS (200 * (uint64_t)1000000)
#define SILENCE_NS  (10 * (uint64_t)ALLO_SECOND_NS)

/* Of what is told of a process, in most cases. */
enum { USUAL_LEN = 16 << 10 };

/* pid="123",program="..." of a program whose name has to be escaped throughout */
enum { LABELS_SIZE = 6 * 64 + 64 };

struct scraped {
	struct allo_served *served;
	struct allo_memory_snapshot snapshot;
	char labels[LABELS_SIZE];
};

struct scrape {
	ALLO_VEC(struct scraped) all;
	bool has_one;     /* which is all that there ever is */
	uint64_t late_ns; /* nobody is asked from then on */
};

static void scrape_done(struct scrape *scrape)
{
	allo_vec_done(&scrape->all);
}

/* What the runtime knows. */

static bool ask(struct allo_served *served, const char *what, struct allo_answer *answer)
{
	struct allo_message request;

	allo_message_begin(&request, what);
	allo_message_end(&request);
	if (allo_speak(served->socket, &request, PATIENCE_MS, answer))
		return strcmp(answer->what, "ok") == 0;
	served->silent_until_ns = allo_clock_ns() + SILENCE_NS;
	return false;
}

static void take_number(const struct allo_answer *answer, const char *key, uint64_t *number)
{
	if (!allo_answer_number(answer, key, number))
		*number = ALLO_UNKNOWN;
}

static void take_stats(const struct allo_answer *answer, struct allo_heap_memory *heap)
{
	take_number(answer, "total_bytes", &heap->alloc_bytes);
	take_number(answer, "total_blocks", &heap->alloc_blocks);
	take_number(answer, "live_bytes", &heap->live_bytes);
	take_number(answer, "live_blocks", &heap->live_blocks);
	take_number(answer, "peak_bytes", &heap->peak_bytes);
	take_number(answer, "peak_blocks", &heap->peak_blocks);
}

/* Returns whether it also counts. */
static bool take_status(const struct allo_answer *answer, struct allo_profiler_memory *profiler)
{
	const char *state = allo_answer_text(answer, "state");
	const char *file = allo_answer_text(answer, "file");
	struct stat status;
	uint64_t has_stats;

	profiler->is_recording = state && strcmp(state, "recording") == 0;
	if (file && stat(file, &status) == 0)
		profiler->recording_bytes = (uint64_t)status.st_size;
	allo_answer_number(answer, "stats", &has_stats);
	return profiler->is_recording && has_stats;
}

static void ask_runtime(const struct scrape *scrape, struct allo_served *served,
			struct allo_answer *answer, struct allo_memory_snapshot *snapshot)
{
	uint64_t start_ns = allo_clock_ns();
	const char *why = "";

	if (!served->socket[0])
		why = "the process does not have the runtime";
	else if (start_ns > scrape->late_ns)
		why = "others have not answered";
	else if (start_ns < served->silent_until_ns || !ask(served, "status", answer))
		why = "the process does not answer";
	else if (take_status(answer, &snapshot->profiler) && ask(served, "stats", answer))
		take_stats(answer, &snapshot->heap);
	allo_snapshot_add_source(snapshot, "runtime", allo_clock_ns() - start_ns, why);
}

/* All of it. */

static void put_labels(struct scraped *scraped)
{
	struct allo_draft draft = { scraped->labels, sizeof(scraped->labels), 0 };

	allo_draft_string(&draft, "pid=\"");
	allo_draft_u64(&draft, (uint64_t)scraped->served->pid);
	allo_draft_string(&draft, "\",program=");
	allo_draft_quoted(&draft, allo_text_of(scraped->served->program));
	allo_draft_end(&draft);
}

static bool look_at(struct scrape *scrape, struct allo_served *served, struct allo_answer *answer,
		    struct allo_error *err)
{
	struct scraped *scraped = allo_vec_push(&scrape->all);

	if (!scraped)
		return allo_fail_memory(err);
	scraped->served = served;
	scraped->labels[0] = '\0';
	if (allo_served_has_ended(served) ||
	    !allo_snapshots_take(&served->shots, 0, &scraped->snapshot)) {
		scrape->all.len--;
		return true;
	}
	ask_runtime(scrape, served, answer, &scraped->snapshot);
	if (!scrape->has_one)
		put_labels(scraped);
	return true;
}

static bool look(struct scrape *scrape, const struct allo_roster *roster,
		 struct allo_served *served, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) struct allo_answer *answer = malloc(sizeof(*answer));

	if (!answer)
		return allo_fail_memory(err);
	scrape->has_one = served != NULL;
	scrape->late_ns = allo_clock_ns() + PATIENCE_NS;
	if (served) {
		if (!look_at(scrape, served, answer, err))
			return false;
		return scrape->all.len > 0 ||
		       allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s (%d) has ended", served->program,
				 (int)served->pid);
	}
	for (size_t i = 0; i < roster->all.len; i++) {
		if (!look_at(scrape, roster->all.at[i], answer, err))
			return false;
	}
	return true;
}

/* Texts. */

typedef void (*putting)(struct allo_draft *draft, const struct scrape *scrape, const void *how);

/* Once more if it does not fit. */
static bool make_text(putting put, const struct scrape *scrape, const void *how, char **text,
		      size_t *len, struct allo_error *err)
{
	size_t room = (scrape->all.len + 1) * USUAL_LEN;

	for (;;) {
		struct allo_draft draft = { malloc(room), room, 0 };

		if (!draft.text)
			return allo_fail_memory(err);
		put(&draft, scrape, how);
		*len = allo_draft_end(&draft);
		*text = draft.text;
		if (*len < room)
			return true;
		room = *len + 1;
		free(draft.text);
		*text = NULL;
	}
}

struct metrics {
	enum allo_metrics_format form;
	const struct allo_metrics_of *of;
};

static void put_metrics(struct allo_draft *draft, const struct scrape *scrape, const void *how)
{
	const struct metrics *metrics = how;

	allo_metrics_put(draft, metrics->form, metrics->of, scrape->all.len);
}

bool allo_scrape_metrics(const struct allo_roster *roster, struct allo_served *served,
			 enum allo_metrics_format form, char **text, size_t *len,
			 struct allo_error *err)
{
	ALLO_DEFER(scrape_done) struct scrape scrape = { 0 };
	ALLO_DEFER(allo_free_pointer) struct allo_metrics_of *of = NULL;

	if (!look(&scrape, roster, served, err))
		return false;
	of = malloc((scrape.all.len + 1) * sizeof(*of));
	if (!of)
		return allo_fail_memory(err);
	for (size_t i = 0; i < scrape.all.len; i++)
		of[i] = (struct allo_metrics_of){ &scrape.all.at[i].snapshot,
						  scrape.all.at[i].labels };
	return make_text(put_metrics, &scrape, &(struct metrics){ form, of }, text, len, err);
}

static void put_process(struct allo_draft *draft, const struct scraped *scraped)
{
	allo_draft_string(draft, "\"program\":");
	allo_draft_quoted(draft, allo_text_of(scraped->served->program));
	allo_draft_string(draft, ",");
	allo_metrics_put_members(draft, &scraped->snapshot);
	allo_draft_string(draft, "}");
}

static void put_json(struct allo_draft *draft, const struct scrape *scrape, const void *how)
{
	(void)how;
	allo_draft_string(draft, "{\"v\":1,");
	if (scrape->has_one) {
		put_process(draft, &scrape->all.at[0]);
	} else {
		allo_draft_string(draft, "\"processes\":[");
		for (size_t i = 0; i < scrape->all.len; i++) {
			allo_draft_string(draft, i > 0 ? ",{" : "{");
			put_process(draft, &scrape->all.at[i]);
		}
		allo_draft_string(draft, "]}");
	}
	allo_draft_string(draft, "\n");
}

bool allo_scrape_json(const struct allo_roster *roster, struct allo_served *served, char **text,
		      size_t *len, struct allo_error *err)
{
	ALLO_DEFER(scrape_done) struct scrape scrape = { 0 };

	return look(&scrape, roster, served, err) &&
	       make_text(put_json, &scrape, NULL, text, len, err);
}
