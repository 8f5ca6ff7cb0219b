/*
 * gtest.h - fails tests of GoogleTest that need more memory than allowed.
 *
 *     #include <allotrope/gtest.h>
 *
 *     int main(int argc, char **argv)
 *     {
 *             testing::InitGoogleTest(&argc, argv);
 *             allotrope::limit_tests();
 *             return RUN_ALL_TESTS();
 *     }
 *
 * test_memory.h describes the limits.
 */
#ifndef ALLOTROPE_GTEST_H
#define ALLOTROPE_GTEST_H

#include <allotrope/test_memory.h>
#include <gtest/gtest.h>

namespace allotrope
{

class MemoryListener : public testing::EmptyTestEventListener
{
	void OnTestStart(const testing::TestInfo &) override
	{
		allo_test_begin();
	}

	void OnTestEnd(const testing::TestInfo &test) override
	{
		char message[512];

		if (!allo_test_is_kept(message, sizeof(message)))
			ADD_FAILURE_AT(test.file(), test.line()) << message;
	}
};

/* GoogleTest frees the listener.  The last one is the first to see the end of a test. */
inline void limit_tests()
{
	testing::UnitTest::GetInstance()->listeners().Append(new MemoryListener);
}

} // namespace allotrope

#endif
