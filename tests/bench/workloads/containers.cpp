// containers.cpp - typical allocations of C++ programs: strings, maps, vectors, a graph of shared
// pointers, functions that call themselves with copies of their arguments.
//     containers ROUNDS
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

struct Branch {
	std::string name;
	std::vector<std::shared_ptr<Branch>> below;
};

static unsigned next_number(unsigned &state)
{
	return state = state * 1664525u + 1013904223u;
}

static std::shared_ptr<Branch> grown(int height, int width, unsigned &state)
{
	auto branch = std::make_shared<Branch>();

	branch->name = "a-branch-with-a-longish-name-" + std::to_string(next_number(state));
	for (int i = 0; height > 0 && i < width; i++)
		branch->below.push_back(grown(height - 1, width, state));
	return branch;
}

static size_t length(const Branch &branch)
{
	size_t sum = branch.name.size();

	for (const auto &below : branch.below)
		sum += length(*below);
	return sum;
}

static size_t tables(unsigned &state)
{
	std::map<std::string, std::vector<int>> sorted;
	std::unordered_map<std::string, std::list<double>> hashed;
	size_t sum = 0;

	for (int i = 0; i < 20000; i++) {
		std::string key = "key-of-some-length-" + std::to_string(next_number(state) % 3001);

		sorted[key].push_back(i);
		hashed[key + "/h"].push_back(i * 0.5);
	}
	for (const auto &entry : sorted)
		sum += entry.second.size();
	return sum;
}

static size_t copies()
{
	std::function<size_t(int, std::string)> longer = [&](int left, std::string text) -> size_t {
		return left == 0 ? text.size() : longer(left - 1, text + "abcdefghij");
	};
	size_t sum = 0;

	for (int i = 0; i < 1500; i++)
		sum += longer(20, "start");
	return sum;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? std::atoi(argv[1]) : 1;
	unsigned state = 1;
	size_t sum = 0;

	for (int i = 0; i < rounds; i++)
		sum += tables(state) + length(*grown(6, 5, state)) + copies();
	std::printf("%zu\n", sum);
}
