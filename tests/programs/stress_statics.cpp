// stress_statics.cpp - allocates before main() and after it: in .preinit_array, constructors of every
// priority, static objects, functions for exit and destructors.
#include "blocks.h"

#include <map>
#include <string>
#include <unistd.h>

static void *from_preinit, *from_first;

static void before_everything()
{
	from_preinit = filled(1009, 1);
}

__attribute__((section(".preinit_array"), used)) static void (*preinit)() = before_everything;

__attribute__((constructor(101))) static void first()
{
	from_first = filled(1013, 2);
}

__attribute__((destructor(101))) static void last()
{
	must_be_filled(from_first, 1013, 2);
	free(from_first);
	free(filled(2003, 3));
}

struct Table {
	std::map<int, std::string> entries;

	Table()
	{
		for (int i = 0; i < 23; i++)
			entries[i] = std::string(1019, 'x');
	}

	~Table()
	{
		must_be_filled(from_preinit, 1009, 1);
		free(from_preinit);
		for (int i = 0; i < 7; i++)
			entries[100 + i] = std::string(4099, 'y');
	}
};

static Table table;

static void at_exit()
{
	for (int i = 0; i < 5; i++)
		free(filled(2011, i));
}

int main()
{
	atexit(at_exit);
	printf("%zu entries\n", table.entries.size());
}
