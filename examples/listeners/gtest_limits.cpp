/* Tests of GoogleTest with limits on their memory; the last two exceed them. */
#include <allotrope/gtest.h>

#include <string>
#include <vector>

static char *volatile kept;

TEST(Words, ShortOnesNeedNoMemory)
{
	ALLO_LIMIT_ALLOCATIONS(0);
	EXPECT_EQ(std::string("short").size(), 5u);
}

TEST(Words, LongOnesAreFreed)
{
	ALLO_LIMIT_LEAKS(0);
	EXPECT_EQ(std::string(1009, 'x').size(), 1009u);
}

TEST(Words, OneIsLeaked)
{
	ALLO_LIMIT_LEAKS(0);
	kept = new char[1009];
}

TEST(Words, ManyAreHeld)
{
	ALLO_LIMIT_MEMORY(1 << 20);
	std::vector<char> words(3 << 20);
	EXPECT_EQ(words[7], 0);
}

int main(int argc, char **argv)
{
	testing::InitGoogleTest(&argc, argv);
	allotrope::limit_tests();
	return RUN_ALL_TESTS();
}
