"""Writes a C++ program that allocates through layers of inlined templates: gen_cpp.py CLASSES > FILE"""
import sys

HEAD = """#include <map>
#include <memory>
#include <string>
#include <vector>

template <typename T> struct Box {
	std::vector<T> items;
	void put(const T &item) { items.push_back(item); }
	void fill(int count) { for (int i = 0; i < count; i++) put(T(i)); }
};

template <typename T> struct Shelf {
	std::map<int, std::unique_ptr<Box<T>>> boxes;
	Box<T> &box(int i) { auto &b = boxes[i]; if (!b) b = std::make_unique<Box<T>>(); return *b; }
	void fill(int count) { for (int i = 0; i < count; i++) box(i % 7).fill(i); }
};
"""

CLASS = """
struct Item{n} {{
	std::string name;
	long weight[{words}];
	explicit Item{n}(int i) : name("item number " + std::to_string(i + {n})), weight() {{}}
}};
__attribute__((noinline)) void fill{n}() {{ Shelf<Item{n}> shelf; shelf.fill(9); Box<std::string> names;
	for (auto &pair : shelf.boxes) for (auto &item : pair.second->items) names.put(item.name + " of {n}"); }}
"""


def main():
    count = int(sys.argv[1])
    print(HEAD)
    for n in range(count):
        print(CLASS.format(n=n, words=n % 5 + 1))
    print("int main() {", *(f"fill{n}();" for n in range(count)), "}")


main()
