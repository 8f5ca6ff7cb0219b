/*
 * catch2.h - fails tests of Catch2 (version 2) that need more memory than allowed.
 *
 *     #define CATCH_CONFIG_MAIN
 *     #include <allotrope/catch2.h>
 *
 * This registers the listener.  test_memory.h describes the
 * limits.
 */
#ifndef ALLOTROPE_CATCH2_H
#define ALLOTROPE_CATCH2_H

#ifndef CATCH_CONFIG_EXTERNAL_INTERFACES
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#endif

#include <allotrope/test_memory.h>
#include <catch2/catch.hpp>

namespace allotrope
{

struct MemoryListener : Catch::TestEventListenerBase {
	using TestEventListenerBase::TestEventListenerBase;

	/* The outermost section is the test case. */
	int depth = 0;

	void sectionStarting(const Catch::SectionInfo &) override
	{
		if (depth++ == 0)
			allo_test_begin();
	}

	void sectionEnded(const Catch::SectionStats &) override
	{
		char message[512];

		if (--depth == 0 && !allo_test_is_kept(message, sizeof(message)))
			FAIL_CHECK(message);
	}
};

CATCH_REGISTER_LISTENER(MemoryListener)

} // namespace allotrope

#endif
