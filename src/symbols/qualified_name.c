/* qualified_name.c - see qualified_name.h. */
#include "symbols/qualified_name.h"

#include "base/hash.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

enum {
	DEPTH_MAX = 64, /* of entries around a function */
	NESTED_MAX = 8, /* functions around a function, and references to its declaration */
	NAME_MAX_LEN = 4096,
};

struct name {
	char text[NAME_MAX_LEN];
	size_t len;
};

void allo_qualified_names_done(struct allo_qualified_names *names)
{
	allo_arena_done(&names->arena);
	allo_map_done(&names->map);
	allo_vec_done(&names->known);
}

static bool is_cpp(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case 0x2b: /* C++17 and C++20 of DWARF 6 */
	case 0x2c:
		return true;
	default:
		return false;
	}
}

/* The entry that stands where the function is declared. */
static void find_declaration(Dwarf_Die *die)
{
	for (int i = 0; i < NESTED_MAX; i++) {
		Dwarf_Attribute attribute;
		Dwarf_Die next;

		if (!dwarf_attr(die, DW_AT_abstract_origin, &attribute) &&
		    !dwarf_attr(die, DW_AT_specification, &attribute))
			return;
		if (!dwarf_formref_die(&attribute, &next))
			return;
		*die = next;
	}
}

/* The child of `parent` that is or contains an entry. */
static bool find_child(struct allo_qualified_names *names, Dwarf_Die *parent, Dwarf_Off entry,
		       Dwarf_Die *child)
{
	Dwarf_Die next;

	if (dwarf_haschildren(parent) != 1 || dwarf_child(parent, child) != 0)
		return false;
	for (; *names->steps_left > 0; *child = next) {
		Dwarf_Off at = dwarf_dieoffset(child);

		(*names->steps_left)--;
		if (at >= entry)
			return at == entry;
		/* Siblings of a damaged file may lead backwards. */
		if (dwarf_siblingof(child, &next) != 0 || dwarf_dieoffset(&next) > entry)
			return true;
		if (dwarf_dieoffset(&next) <= at)
			return false;
	}
	return false;
}

static void put(struct name *name, const char *text)
{
	int len = snprintf(name->text + name->len, sizeof(name->text) - name->len, "%s", text);

	name->len += (size_t)len < sizeof(name->text) - name->len
			     ? (size_t)len
			     : sizeof(name->text) - name->len - 1;
}

/* As demanglers print it: GCC calls the class of a lambda "<lambda(int)>", clang leaves it
 * nameless. */
static void put_class(struct name *name, const char *class_name)
{
	size_t start = name->len, len;

	if (!class_name) {
		put(name, "{lambda}::");
		return;
	}
	put(name, class_name);
	len = name->len - start;
	if (strncmp(class_name, "<lambda", strlen("<lambda")) == 0 &&
	    name->text[name->len - 1] == '>') {
		name->text[start] = '{';
		name->text[start + len - 1] = '}';
	}
	put(name, "::");
}

static bool put_scopes(struct allo_qualified_names *names, Dwarf_Die function, struct name *name,
		       int nested);

/* One of the entries around a function. */
static bool put_scope(struct allo_qualified_names *names, Dwarf_Die *scope, struct name *name,
		      int nested)
{
	Dwarf_Attribute attribute;
	const char *own = dwarf_attr_integrate(scope, DW_AT_name, &attribute)
				  ? dwarf_formstring(&attribute)
				  : NULL;

	switch (dwarf_tag(scope)) {
	case DW_TAG_namespace:
		put(name, own ? own : "(anonymous namespace)");
		put(name, "::");
		return true;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		put_class(name, own);
		return true;
	case DW_TAG_subprogram:
		/* It may be declared elsewhere. */
		name->len = 0;
		if (!own || nested == NESTED_MAX || !put_scopes(names, *scope, name, nested + 1))
			return false;
		put(name, own);
		put(name, "::");
		return true;
	default:
		return true;
	}
}

/* Writes all that stands before the name of a function. */
static bool put_scopes(struct allo_qualified_names *names, Dwarf_Die function, struct name *name,
		       int nested)
{
	Dwarf_Die scope, child;
	Dwarf_Off entry;

	find_declaration(&function);
	entry = dwarf_dieoffset(&function);
	if (!dwarf_diecu(&function, &scope, NULL, NULL) || !is_cpp(&scope))
		return false;
	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		if (!find_child(names, &scope, entry, &child))
			return false;
		if (dwarf_dieoffset(&child) == entry)
			return true;
		scope = child;
		if (!put_scope(names, &scope, name, nested))
			return false;
	}
	return false;
}

static const char *make_name(struct allo_qualified_names *names, Dwarf_Die function,
			     const char *plain)
{
	struct name name = { .len = 0 };
	const char *copy;

	if (!put_scopes(names, function, &name, 0) || name.len == 0)
		return plain;
	put(&name, plain);
	copy = allo_arena_copy(&names->arena, name.text, name.len);
	return copy ? copy : plain;
}

const char *allo_qualified_name_find(struct allo_qualified_names *names, Dwarf_Die *function,
				     const char *plain)
{
	struct allo_qualified_name known;
	Dwarf_Die declared = *function;
	struct allo_probe probe;
	uint64_t hash;
	uint32_t id;

	find_declaration(&declared);
	hash = allo_hash_pair((uintptr_t)declared.addr, 0, allo_hash_seed());
	probe = allo_map_probe(&names->map, hash);
	while ((id = allo_map_next(&names->map, &probe)) != 0) {
		if (names->known.at[id - 1].entry == declared.addr)
			return names->known.at[id - 1].name;
	}
	known = (struct allo_qualified_name){ declared.addr, make_name(names, declared, plain) };
	if (names->known.len < UINT32_MAX - 1 && allo_vec_append(&names->known, &known, 1))
		allo_map_put(&names->map, hash, (uint32_t)names->known.len);
	return known.name;
}
