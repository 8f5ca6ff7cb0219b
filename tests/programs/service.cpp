/*
 * service.cpp - a small service with the allocations of a large one: sessions that leak, a cache
 * that grows, a burst, and temporary strings.
 */
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace
{

struct session {
	std::string user;
	std::map<std::string, std::string> fields;
};

/* Never freed: 23 sessions each have a name and two fields. */
__attribute__((noinline)) session *open_session(int number)
{
	auto *opened = new session;

	opened->user = std::string(1009, 'u') + std::to_string(number);
	opened->fields["address of the user"] = std::string(211, 'a');
	opened->fields["language of the user"] = std::string(223, 'l');
	return opened;
}

struct cache {
	std::unordered_map<int, std::vector<char>> pages;

	__attribute__((noinline)) void fill(int count)
	{
		for (int i = 0; i < count; i++)
			pages[i].resize(4096);
	}
};

__attribute__((noinline)) size_t parse(const std::string &line)
{
	std::string copy = line + " with a tail that is too long for the string itself";

	return copy.size();
}

/* Holds the most memory at the peak. */
__attribute__((noinline)) size_t burst()
{
	std::vector<char> bytes;

	for (int i = 0; i < 4; i++)
		bytes.insert(bytes.end(), 1 << 20, 'b');
	return bytes.size();
}

} // namespace

int main()
{
	session *last = nullptr;
	size_t sum = 0;
	cache kept;
	std::thread worker([&sum] {
		for (int i = 0; i < 1000; i++)
			sum += parse("a request");
	});

	for (int i = 0; i < 23; i++)
		last = open_session(i);
	kept.fill(100);
	worker.join();
	sum += burst();
	printf("%zu %zu\n", sum, last->user.size());
	return 0;
}
