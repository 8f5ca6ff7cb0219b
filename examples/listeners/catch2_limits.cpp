/* Tests of Catch2 with limits on their memory; the last two exceed them. */
#define CATCH_CONFIG_MAIN
#include <allotrope/catch2.h>

#include <vector>

static char *kept;

TEST_CASE("words are freed")
{
	ALLO_LIMIT_LEAKS(0);
	delete[] new char[1009];
}

TEST_CASE("a word is leaked")
{
	ALLO_LIMIT_LEAKS(0);
	kept = new char[1009];
	CHECK(kept != nullptr);
}

TEST_CASE("many are held")
{
	SECTION("a few")
	{
		ALLO_LIMIT_MEMORY(1 << 20);
		std::vector<char> words(1009);
	}
	SECTION("too many")
	{
		ALLO_LIMIT_MEMORY(1 << 20);
		std::vector<char> words(3 << 20);
	}
}
