/* named_shapes.cpp - templates, members, lambdas and constructors that allocate. */
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shapes
{

template <typename T> class Grid
{
	std::vector<T> cells;

public:
	explicit Grid(size_t size)
	{
		cells.reserve(size);
	}

	__attribute__((noinline)) void grow(size_t by)
	{
		for (size_t i = 0; i < by; i++)
			cells.push_back(T());
	}
};

namespace
{
__attribute__((noinline)) std::map<int, std::string> hidden(int count)
{
	std::map<int, std::string> names;

	for (int i = 0; i < count; i++)
		names.emplace(i, std::string(100, 'x'));
	return names;
}
} // namespace

} // namespace shapes

int main()
{
	shapes::Grid<double> grid(11);
	auto make = [](size_t size) __attribute__((noinline)) { return std::make_unique<char[]>(size); };

	grid.grow(1000);
	return shapes::hidden(23).size() == 23 && make(1009) ? 0 : 1;
}
