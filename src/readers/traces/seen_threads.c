/* seen_threads.c - finds threads by their ids and makes their labels. */
#include "readers/traces/seen_threads.h"

#include "base/assert.h"

void allo_seen_threads_done(struct allo_seen_threads *seen)
{
	allo_map_done(&seen->map);
	allo_map_done(&seen->process_map);
	allo_vec_done(&seen->processes);
	allo_vec_done(&seen->labels);
}

static struct allo_seen_process *find_process(const struct allo_seen_threads *seen, uint64_t pid)
{
	uint64_t hash = allo_hash_pair(pid, 0, allo_profile_seed(seen->profile));
	struct allo_probe probe = allo_map_probe(&seen->process_map, hash);
	uint32_t number;

	while ((number = allo_map_next(&seen->process_map, &probe)) != 0) {
		if (seen->processes.at[number - 1].pid == pid)
			return &seen->processes.at[number - 1];
	}
	return NULL;
}

static allo_string_id process_name_of(const struct allo_seen_threads *seen, uint64_t pid)
{
	const struct allo_seen_process *process = find_process(seen, pid);

	return process ? process->name : 0;
}

static allo_thread_id add_thread(struct allo_seen_threads *seen, uint64_t pid, uint64_t tid,
				 uint64_t hash, struct allo_error *err)
{
	struct allo_thread thread = { .pid = pid,
				      .tid = tid,
				      .process_name = process_name_of(seen, pid) };
	allo_thread_id id = allo_profile_add_thread(seen->profile, &thread, err);

	if (id == 0)
		return 0;
	if (!allo_map_put(&seen->map, hash, id)) {
		allo_fail_memory(err);
		return 0;
	}
	return id;
}

static bool is_thread(const struct allo_seen_threads *seen, allo_thread_id id, uint64_t pid,
		      uint64_t tid)
{
	const struct allo_thread *thread = &seen->profile->threads.at[id];

	return thread->pid == pid && thread->tid == tid;
}

allo_thread_id allo_seen_thread(struct allo_seen_threads *seen, uint64_t pid, uint64_t tid,
				struct allo_error *err)
{
	uint64_t hash;
	struct allo_probe probe;
	allo_thread_id id;

	if (seen->last != 0 && is_thread(seen, seen->last, pid, tid))
		return seen->last;
	hash = allo_hash_pair(pid, tid, allo_profile_seed(seen->profile));
	probe = allo_map_probe(&seen->map, hash);
	while ((id = allo_map_next(&seen->map, &probe)) != 0) {
		if (is_thread(seen, id, pid, tid))
			break;
	}
	if (id == 0)
		id = add_thread(seen, pid, tid, hash, err);
	seen->last = id;
	return id;
}

bool allo_seen_thread_name(struct allo_seen_threads *seen, allo_thread_id thread,
			   struct allo_text name, struct allo_error *err)
{
	allo_string_id *known = &seen->profile->threads.at[thread].name;

	ALLO_ASSERT(thread > 0 && thread < seen->profile->threads.len);
	if (!allo_text_equal(allo_profile_text(seen->profile, *known), name))
		*known = allo_profile_add_string(seen->profile, name, err);
	return !allo_failed(err);
}

bool allo_seen_process_name(struct allo_seen_threads *seen, uint64_t pid, struct allo_text name,
			    struct allo_error *err)
{
	struct allo_seen_process *known = find_process(seen, pid);
	struct allo_seen_process process = {
		.pid = pid,
		.name = allo_profile_add_string(seen->profile, name, err),
	};

	if (allo_failed(err))
		return false;
	if (known) {
		known->name = process.name;
		return true;
	}
	return (allo_vec_append(&seen->processes, &process, 1) &&
		allo_map_put(&seen->process_map,
			     allo_hash_pair(pid, 0, allo_profile_seed(seen->profile)),
			     (uint32_t)seen->processes.len)) ||
	       allo_fail_memory(err);
}

void allo_seen_threads_end(struct allo_seen_threads *seen)
{
	for (size_t i = 1; i < seen->profile->threads.len && seen->processes.len > 0; i++) {
		struct allo_thread *thread = &seen->profile->threads.at[i];

		thread->process_name = process_name_of(seen, thread->pid);
	}
}

/* Labels. */

enum { LABELS_MOST = 4 };

struct labels {
	struct allo_label at[LABELS_MOST];
	size_t count;
};

static void add_number(struct allo_profile *profile, struct labels *labels, struct allo_text key,
		       uint64_t number, struct allo_error *err)
{
	labels->at[labels->count++] = (struct allo_label){
		.number = number <= INT64_MAX ? (int64_t)number : INT64_MAX,
		.key = allo_profile_add_string(profile, key, err),
		.is_number = true,
	};
}

static void add_name(struct allo_profile *profile, struct labels *labels, struct allo_text key,
		     allo_string_id name, struct allo_error *err)
{
	if (name != 0)
		labels->at[labels->count++] = (struct allo_label){
			.key = allo_profile_add_string(profile, key, err),
			.text = name,
		};
}

allo_labels_id allo_seen_thread_labels(struct allo_seen_threads *seen, allo_thread_id thread,
				       struct allo_error *err)
{
	struct allo_profile *profile = seen->profile;
	struct allo_thread of = profile->threads.at[thread];
	struct labels labels = { .count = 0 };

	if (thread < seen->labels.len && seen->labels.at[thread] != 0)
		return seen->labels.at[thread];
	if (of.pid != 0)
		add_number(profile, &labels, ALLO_TEXT("pid"), of.pid, err);
	add_name(profile, &labels, ALLO_TEXT("process name"), of.process_name, err);
	add_number(profile, &labels, ALLO_TEXT("tid"), of.tid, err);
	add_name(profile, &labels, ALLO_TEXT("thread name"), of.name, err);
	if (allo_failed(err))
		return 0;
	if (!allo_vec_cover(&seen->labels, (size_t)thread + 1)) {
		allo_fail_memory(err);
		return 0;
	}
	seen->labels.at[thread] = allo_profile_add_labels(profile, labels.at, labels.count, err);
	return seen->labels.at[thread];
}
