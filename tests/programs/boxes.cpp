// boxes.cpp - allocates numbers of blocks that nothing else allocates by chance.
//     boxes SMALL LARGE LEAKED
// SMALL blocks of 1009 bytes, one after the other; LARGE of 65537, all at once; LEAKED of 4099, for good.
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace boxes
{

// As long a name as real programs have.
template <typename Key, typename Value> struct Store {
	std::map<Key, std::vector<Value>> shelves;

	__attribute__((noinline)) void add(int count)
	{
		for (int i = 0; i < count; i++)
			shelves[0].push_back(Value(new char[65537]));
	}
};

using LargeStore = Store<int, std::unique_ptr<char[]>>;

__attribute__((noinline)) static void use(char *block, size_t size)
{
	std::memset(block, 1, size);
}

__attribute__((noinline)) static void small(int count)
{
	for (int i = 0; i < count; i++) {
		char *block = static_cast<char *>(std::malloc(1009));

		use(block, 1009);
		std::free(block);
	}
}

static char *volatile leaked;

__attribute__((noinline)) static void leak(int count)
{
	for (int i = 0; i < count; i++) {
		leaked = new char[4099];
		use(leaked, 1);
	}
}

} // namespace boxes

int main(int argc, char **argv)
{
	boxes::LargeStore store;

	if (argc != 4)
		return 1;
	boxes::small(std::atoi(argv[1]));
	store.add(std::atoi(argv[2]));
	boxes::leak(std::atoi(argv[3]));
}
