// new_delete.cpp - every form of new with every form of delete that goes with it, each in a function of
// its own and with a number and size of blocks that nothing else has.  Sizes of aligned blocks are
// multiples of the alignment, as the C++ library rounds them up.
#include "blocks.h"

#include <cstdint>
#include <new>

static const std::align_val_t aligned{ 64 };

static void *there(void *block)
{
	must(held(block) != nullptr, "new gives a block");
	return block;
}

static void *there_aligned(void *block)
{
	must((uintptr_t)there(block) % 64 == 0, "new aligns");
	return block;
}

APART static void use_new()
{
	for (int i = 0; i < 23; i++)
		operator delete(there(operator new(1009)));
}

APART static void use_new_array()
{
	for (int i = 0; i < 19; i++)
		operator delete[](there(operator new[](1013)));
}

APART static void use_new_nothrow()
{
	for (int i = 0; i < 17; i++)
		operator delete(there(operator new(1019, std::nothrow)), std::nothrow);
}

APART static void use_new_array_nothrow()
{
	for (int i = 0; i < 13; i++)
		operator delete[](there(operator new[](1021, std::nothrow)), std::nothrow);
}

APART static void use_new_aligned()
{
	for (int i = 0; i < 11; i++)
		operator delete(there_aligned(operator new(64 * 17, aligned)), aligned);
}

APART static void use_new_array_aligned()
{
	for (int i = 0; i < 29; i++)
		operator delete[](there_aligned(operator new[](64 * 19, aligned)), aligned);
}

APART static void use_new_aligned_nothrow()
{
	for (int i = 0; i < 31; i++)
		operator delete(there_aligned(operator new(64 * 23, aligned, std::nothrow)), aligned,
				std::nothrow);
}

APART static void use_new_array_aligned_nothrow()
{
	for (int i = 0; i < 37; i++)
		operator delete[](there_aligned(operator new[](64 * 29, aligned, std::nothrow)), aligned,
				  std::nothrow);
}

APART static void use_delete_sized()
{
	for (int i = 0; i < 41; i++)
		operator delete(there(operator new(1031)), (size_t)1031);
	for (int i = 0; i < 41; i++)
		operator delete[](there(operator new[](1031)), (size_t)1031);
}

APART static void use_delete_sized_aligned()
{
	for (int i = 0; i < 43; i++)
		operator delete(there_aligned(operator new(64 * 31, aligned)), (size_t)(64 * 31), aligned);
	for (int i = 0; i < 43; i++)
		operator delete[](there_aligned(operator new[](64 * 31, aligned)), (size_t)(64 * 31),
				  aligned);
}

struct Thrower {
	char bytes[1033];

	// Whether it throws is not for the compiler to know: it would leave out the block.
	Thrower()
	{
		if (held(this) != nullptr)
			throw 5;
	}
};

// The constructor throws: the compiler's code frees the block.
APART static void use_throwing_constructor()
{
	int caught = 0;

	for (int i = 0; i < 7; i++) {
		try {
			held(new Thrower);
		} catch (int number) {
			caught += number;
		}
	}
	must(caught == 35, "each constructor throws");
}

APART static void use_failures()
{
	volatile size_t huge = SIZE_MAX / 2;
	int caught = 0;

	for (int i = 0; i < 5; i++) {
		try {
			held(operator new(huge));
		} catch (const std::bad_alloc &) {
			caught++;
		}
		must(held(operator new[](huge, std::nothrow)) == nullptr, "new of too much fails");
		operator delete(held(nullptr));
	}
	must(caught == 5, "new of too much throws");
}

/* An argument leaves the failures out: mimalloc aborts there. */
int main(int count, char **)
{
	use_new();
	use_new_array();
	use_new_nothrow();
	use_new_array_nothrow();
	use_new_aligned();
	use_new_array_aligned();
	use_new_aligned_nothrow();
	use_new_array_aligned_nothrow();
	use_delete_sized();
	use_delete_sized_aligned();
	use_throwing_constructor();
	if (count == 1)
		use_failures();
}
