/* profile.c - the interned tables of a profile. */
#include "profile/profile.h"

#include "base/assert.h"
#include "profile/offset_name.h"

bool allo_profile_is_estimated(const struct allo_profile *profile)
{
	struct allo_text type = allo_profile_text(profile, profile->meta.period_type);

	/* With any other period, such as one of CPU time, values are counts of samples. */
	return profile->meta.period > 1 && (allo_text_equal(type, ALLO_TEXT("space")) ||
					    allo_text_equal(type, ALLO_TEXT("allocations")));
}

bool allo_profile_estimates(const struct allo_profile *profile, size_t metric)
{
	enum allo_meaning meaning = profile->metrics.at[metric].meaning;

	return meaning != ALLO_EVENTS && meaning != ALLO_EVENT_UNITS &&
	       allo_profile_is_estimated(profile);
}

void allo_profile_done(struct allo_profile *profile)
{
	allo_vec_done(&profile->strings);
	allo_vec_done(&profile->modules);
	allo_vec_done(&profile->functions);
	allo_vec_done(&profile->lines);
	allo_vec_done(&profile->frames);
	allo_vec_done(&profile->stacks);
	allo_vec_done(&profile->labels);
	allo_vec_done(&profile->label_sets);
	allo_vec_done(&profile->threads);
	allo_vec_done(&profile->metrics);
	allo_vec_done(&profile->comments);
	allo_vec_done(&profile->history);
	allo_vec_done(&profile->changes);
	allo_vec_done(&profile->sample_stacks);
	allo_vec_done(&profile->sample_labels);
	allo_vec_done(&profile->sample_times);
	allo_vec_done(&profile->sample_accesses);
	allo_vec_done(&profile->values);
	allo_vec_done(&profile->variances);
	allo_vec_done(&profile->access_runs);
	allo_vec_done(&profile->stack_hashes);
	allo_vec_done(&profile->stack_samples);
	allo_map_done(&profile->string_map);
	allo_map_done(&profile->module_map);
	allo_map_done(&profile->function_map);
	allo_map_done(&profile->frame_map);
	allo_map_done(&profile->stack_map);
	allo_map_done(&profile->label_map);
	allo_map_done(&profile->thread_map);
	allo_map_done(&profile->labelled_map);
	allo_arena_done(&profile->arena);
	*profile = (struct allo_profile){ 0 };
}

/*
 * Appends an entry to a table whose entry 0 is "none", and to its map.  Evaluates to the new id, or
 * to 0 when out of memory or out of ids.
 */
#define ADD_ENTRY(table, map, hash, ...)                                                           \
	({                                                                                         \
		uint32_t id_ = 0;                                                                  \
		if ((table)->len < UINT32_MAX && allo_vec_reserve((table), 2)) {                   \
			if ((table)->len == 0)                                                     \
				(table)->at[(table)->len++] = (typeof(*(table)->at)){ 0 };         \
			if (allo_map_put((map), (hash), (uint32_t)(table)->len)) {                 \
				(table)->at[(table)->len] = __VA_ARGS__;                           \
				id_ = (uint32_t)(table)->len++;                                    \
			}                                                                          \
		}                                                                                  \
		if (id_ == 0)                                                                      \
			allo_fail_memory(err);                                                     \
		id_;                                                                               \
	})

allo_string_id allo_profile_add_string(struct allo_profile *profile, struct allo_text text,
				       struct allo_error *err)
{
	uint64_t hash = allo_hash_bytes(text.data, text.len, allo_profile_seed(profile));
	struct allo_probe probe = allo_map_probe(&profile->string_map, hash);
	allo_string_id id;
	char *copy;

	if (text.len == 0)
		return 0;
	while ((id = allo_map_next(&profile->string_map, &probe)) != 0) {
		if (allo_text_equal(profile->strings.at[id], text))
			return id;
	}
	copy = allo_arena_copy(&profile->arena, text.data, text.len);
	if (!copy) {
		allo_fail_memory(err);
		return 0;
	}
	return ADD_ENTRY(&profile->strings, &profile->string_map, hash,
			 (struct allo_text){ copy, text.len });
}

static bool same_module(const struct allo_module *a, const struct allo_module *b)
{
	return a->path == b->path && a->build_id == b->build_id && a->start == b->start &&
	       a->limit == b->limit && a->offset == b->offset;
}

allo_module_id allo_profile_add_module(struct allo_profile *profile,
				       const struct allo_module *module, struct allo_error *err)
{
	const uint64_t key[] = { module->start, module->limit, module->offset,
				 (uint64_t)module->path << 32 | module->build_id };
	uint64_t hash = allo_hash_bytes(key, sizeof(key), allo_profile_seed(profile));
	struct allo_probe probe = allo_map_probe(&profile->module_map, hash);
	allo_module_id id;

	while ((id = allo_map_next(&profile->module_map, &probe)) != 0) {
		if (same_module(&profile->modules.at[id], module))
			return id;
	}
	return ADD_ENTRY(&profile->modules, &profile->module_map, hash, *module);
}

static bool same_function(const struct allo_function *a, const struct allo_function *b)
{
	return a->name == b->name && a->file == b->file && a->system_name == b->system_name &&
	       a->start_line == b->start_line;
}

allo_function_id allo_profile_add_function(struct allo_profile *profile,
					   const struct allo_function *function,
					   struct allo_error *err)
{
	uint64_t hash = allo_hash_pair((uint64_t)function->name << 32 | function->file,
				       (uint64_t)function->system_name << 32 | function->start_line,
				       allo_profile_seed(profile));
	struct allo_probe probe = allo_map_probe(&profile->function_map, hash);
	allo_function_id id;

	while ((id = allo_map_next(&profile->function_map, &probe)) != 0) {
		if (same_function(&profile->functions.at[id], function))
			return id;
	}
	return ADD_ENTRY(&profile->functions, &profile->function_map, hash, *function);
}

static bool same_frame(const struct allo_profile *profile, const struct allo_frame *old,
		       const struct allo_frame *frame, const struct allo_line *lines, size_t count)
{
	return old->address == frame->address && old->module == frame->module &&
	       old->is_folded == frame->is_folded && old->line_count == count &&
	       (count == 0 ||
		memcmp(profile->lines.at + old->first_line, lines, count * sizeof(*lines)) == 0);
}

static uint64_t hash_frame(struct allo_profile *profile, const struct allo_frame *frame,
			   const struct allo_line *lines, size_t count)
{
	uint64_t seed = allo_profile_seed(profile);

	/* The sum is secret, because its first part is: no file can choose equal hashes. */
	return allo_hash_pair(frame->address,
			      allo_hash_bytes(lines, count * sizeof(*lines), seed) + frame->module,
			      seed);
}

/* Appends lines to the table, as those of `frame`. */
static bool append_lines(struct allo_profile *profile, struct allo_frame *frame,
			 const struct allo_line *lines, size_t count, struct allo_error *err)
{
	uint32_t first = (uint32_t)profile->lines.len;

	if (profile->lines.len + count > UINT32_MAX)
		return allo_fail_memory(err);
	if (!allo_vec_add_all(&profile->lines, lines, count, err))
		return false;
	frame->first_line = first;
	frame->line_count = (uint32_t)count;
	return true;
}

allo_frame_id allo_profile_add_frame(struct allo_profile *profile, const struct allo_frame *frame,
				     const struct allo_line *lines, size_t line_count,
				     struct allo_error *err)
{
	uint64_t hash = hash_frame(profile, frame, lines, line_count);
	struct allo_probe probe = allo_map_probe(&profile->frame_map, hash);
	struct allo_frame added = *frame;
	allo_frame_id id;

	while ((id = allo_map_next(&profile->frame_map, &probe)) != 0) {
		if (same_frame(profile, &profile->frames.at[id], frame, lines, line_count))
			return id;
	}
	if (!append_lines(profile, &added, lines, line_count, err))
		return 0;
	return ADD_ENTRY(&profile->frames, &profile->frame_map, hash, added);
}

/* pprof looks for names only in modules without functions: offsets do not count. */
static void mark_module(struct allo_profile *profile, allo_module_id id,
			const struct allo_line *lines, size_t count)
{
	struct allo_module *module = &profile->modules.at[id];
	allo_string_id name = profile->functions.at[lines->function].name;

	module->has_functions |= !allo_is_offset_name(allo_profile_text(profile, name),
						      allo_profile_text(profile, module->path));
	module->has_lines |= lines->line != 0;
	module->has_files |= lines->line != 0;
	module->has_inlines |= count > 1;
}

bool allo_profile_set_lines(struct allo_profile *profile, allo_frame_id id,
			    const struct allo_line *lines, size_t line_count,
			    struct allo_error *err)
{
	struct allo_frame *frame = &profile->frames.at[id];

	ALLO_ASSERT(id != 0 && id < profile->frames.len && frame->line_count == 0);
	if (frame->module != 0 && line_count > 0)
		mark_module(profile, frame->module, lines, line_count);
	/* Its old hash stays in the map: no frame without lines is equal to it any more. */
	if (!allo_map_put(&profile->frame_map, hash_frame(profile, frame, lines, line_count), id))
		return allo_fail_memory(err);
	return append_lines(profile, frame, lines, line_count, err);
}

allo_frame_id allo_profile_add_named_frame(struct allo_profile *profile, struct allo_text name,
					   struct allo_error *err)
{
	struct allo_function function = { .name = allo_profile_add_string(profile, name, err) };
	struct allo_line line = { .function = allo_profile_add_function(profile, &function, err) };

	return allo_profile_add_frame(profile, &(struct allo_frame){ 0 }, &line, 1, err);
}

allo_labels_id allo_profile_add_labels(struct allo_profile *profile,
				       const struct allo_label *labels, size_t count,
				       struct allo_error *err)
{
	uint64_t hash = allo_hash_bytes(labels, count * sizeof(*labels),
					allo_profile_seed(profile));
	struct allo_probe probe = allo_map_probe(&profile->label_map, hash);
	allo_labels_id id;

	if (count == 0)
		return 0;
	while ((id = allo_map_next(&profile->label_map, &probe)) != 0) {
		struct allo_label_set set = profile->label_sets.at[id];

		if (set.count == count &&
		    memcmp(profile->labels.at + set.first, labels, count * sizeof(*labels)) == 0)
			return id;
	}
	if (profile->labels.len + count > UINT32_MAX ||
	    !allo_vec_append(&profile->labels, labels, count)) {
		allo_fail_memory(err);
		return 0;
	}
	return ADD_ENTRY(&profile->label_sets, &profile->label_map, hash,
			 (struct allo_label_set){ (uint32_t)(profile->labels.len - count),
						  (uint32_t)count });
}

allo_thread_id allo_profile_add_thread(struct allo_profile *profile,
				       const struct allo_thread *thread, struct allo_error *err)
{
	uint64_t hash = allo_hash_pair(thread->pid, thread->tid, allo_profile_seed(profile));
	struct allo_probe probe = allo_map_probe(&profile->thread_map, hash);
	allo_thread_id id;

	while ((id = allo_map_next(&profile->thread_map, &probe)) != 0) {
		const struct allo_thread *old = &profile->threads.at[id];

		if (old->pid == thread->pid && old->tid == thread->tid &&
		    old->name == thread->name && old->process_name == thread->process_name)
			return id;
	}
	return ADD_ENTRY(&profile->threads, &profile->thread_map, hash, *thread);
}

bool allo_profile_add_comment(struct allo_profile *profile, struct allo_text text,
			      struct allo_error *err)
{
	allo_string_id comment = allo_profile_add_string(profile, text, err);

	return !allo_failed(err) && allo_vec_add(&profile->comments, comment, err);
}
