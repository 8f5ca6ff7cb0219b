/* code_units.c - see code_units.h. */
#include "symbols/code_units.h"

#include "base/defer.h"
#include "base/sorted.h"

#include <dwarf.h>
#include <stdlib.h>

/* Ranges seldom overlap: so many are looked at for one that reaches further than those behind it.
 */
enum { OVERLAPS = 16 };

void allo_code_units_done(struct allo_code_units *units)
{
	allo_vec_done(&units->ranges);
}

static int compare_offsets(const void *left, const void *right)
{
	Dwarf_Off a = *(const Dwarf_Off *)left, b = *(const Dwarf_Off *)right;

	return a < b ? -1 : a > b;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct allo_code_range *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->unit < b->unit ? -1 : a->unit > b->unit;
}

static bool add_ranges(struct allo_code_units *units, Dwarf_Off offset, struct allo_error *err)
{
	struct allo_code_range range = { .unit = offset };
	Dwarf_Addr base = 0;
	ptrdiff_t at = 0;
	Dwarf_Die unit;

	if (!dwarf_offdie(units->dwarf, offset, &unit))
		return true;
	while ((at = dwarf_ranges(&unit, at, &base, &range.start, &range.end)) > 0) {
		if (range.end > range.start && !allo_vec_append(&units->ranges, &range, 1))
			return allo_fail_memory(err);
	}
	return true;
}

/* The units that the table knows, sorted; to be freed. */
static Dwarf_Off *units_of_table(const struct allo_code_units *units, struct allo_error *err)
{
	Dwarf_Off *known = calloc(units->table_len + 1, sizeof(*known));

	if (!known) {
		allo_fail_memory(err);
		return NULL;
	}
	for (size_t i = 0; i < units->table_len; i++) {
		Dwarf_Arange *range = dwarf_onearange(units->table, i);

		if (!range || dwarf_getarangeinfo(range, NULL, NULL, &known[i]) != 0)
			known[i] = 0;
	}
	qsort(known, units->table_len, sizeof(*known), compare_offsets);
	return known;
}

/* Of units that the table has, only the head is looked at here. */
static bool find_ranges(struct allo_code_units *units, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) Dwarf_Off *known = units_of_table(units, err);
	Dwarf_Off at = 0, next;
	size_t head;

	units->has_ranges = true;
	if (!known)
		return false;
	while (dwarf_nextcu(units->dwarf, at, &next, &head, NULL, NULL, NULL) == 0 && next > at) {
		Dwarf_Off unit = at + head;

		if (!bsearch(&unit, known, units->table_len, sizeof(*known), compare_offsets) &&
		    !add_ranges(units, unit, err))
			return false;
		at = next;
	}
	if (units->ranges.len > 1)
		qsort(units->ranges.at, units->ranges.len, sizeof(*units->ranges.at),
		      compare_ranges);
	return true;
}

static Dwarf_Off find_in_ranges(const struct allo_code_units *units, uint64_t address)
{
	size_t count = allo_sorted_up_to(units->ranges.at, units->ranges.len, start, address);

	for (size_t i = 0; i < OVERLAPS && i < count; i++) {
		const struct allo_code_range *range = &units->ranges.at[count - 1 - i];

		if (address < range->end)
			return range->unit;
	}
	return 0;
}

Dwarf_Off allo_code_units_find(struct allo_code_units *units, uint64_t address,
			       struct allo_error *err)
{
	Dwarf_Arange *range;
	Dwarf_Off unit;

	if (!units->has_table) {
		units->has_table = true;
		if (dwarf_getaranges(units->dwarf, &units->table, &units->table_len) != 0)
			units->table_len = 0;
	}
	range = units->table_len > 0 ? dwarf_getarange_addr(units->table, address) : NULL;
	if (range && dwarf_getarangeinfo(range, NULL, NULL, &unit) == 0)
		return unit;
	if (!units->has_ranges && !find_ranges(units, err))
		return 0;
	return find_in_ranges(units, address);
}
