// stress_exceptions.cpp - exceptions through frames of all kinds: with objects whose destructors allocate,
// with alloca() and variable arrays, thrown again on the way, out of constructors and from threads; and
// threads that are cancelled or leave from deep within.
#include "blocks.h"

#include <alloca.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

struct Guard {
	size_t size;

	explicit Guard(size_t size) : size(size)
	{
		free(filled(size, 1));
	}

	~Guard()
	{
		free(filled(size + 1, 2));
	}
};

APART static void thrower(int number)
{
	Guard guard(1009);

	if (number % 3 == 0)
		throw std::runtime_error("as long a message as does not fit into the string itself");
	if (number % 3 == 1)
		throw number;
	throw std::string(307, 'x');
}

APART static void with_alloca(int depth, int number);

APART static void plain(int depth, int number)
{
	Guard guard(1013);

	if (depth == 0)
		thrower(number);
	with_alloca(depth - 1, number);
	stay();
}

APART static void with_alloca(int depth, int number)
{
	char *room = static_cast<char *>(alloca(static_cast<size_t>(100 + number % 700)));

	memset(room, depth, 100);
	free(filled(1019, 3));
	if (depth == 0)
		thrower(number);
	try {
		plain(depth - 1, number);
	} catch (const std::runtime_error &) {
		free(filled(1021, 4));
		throw;
	} catch (int value) {
		throw value + 1;
	}
	must_be_filled(room, 100, depth);
}

struct Half {
	Guard guard{ 1031 };
	std::vector<std::string> parts;

	explicit Half(int number) : parts(3, std::string(211, 'y'))
	{
		plain(5, number);
	}
};

APART static long catch_many(int count)
{
	long caught = 0;

	for (int i = 0; i < count; i++) {
		try {
			if (i % 7 == 0)
				Half half(i);
			plain(1 + i % 9, i);
		} catch (const std::exception &) {
			caught += 1;
		} catch (int value) {
			caught += value - i;
		} catch (const std::string &text) {
			caught += static_cast<long>(text.size());
		}
	}
	return caught;
}

APART static void sleep_deep(int depth)
{
	Guard guard(1033);

	if (depth > 0)
		sleep_deep(depth - 1);
	for (;;)
		pause();
}

static void *wait_for_the_end(void *argument)
{
	sleep_deep(5);
	return argument;
}

APART static void leave_deep(int depth)
{
	Guard guard(1039);

	if (depth == 0)
		pthread_exit(nullptr);
	leave_deep(depth - 1);
	stay();
}

static void *leave(void *argument)
{
	leave_deep(6);
	return argument;
}

int main()
{
	long caught[3];

	for (int i = 0; i < 5; i++) {
		pthread_t cancelled, leaving;

		must(pthread_create(&cancelled, nullptr, wait_for_the_end, nullptr) == 0, "it starts");
		must(pthread_create(&leaving, nullptr, leave, nullptr) == 0, "it starts");
		pthread_join(leaving, nullptr);
		pthread_cancel(cancelled);
		pthread_join(cancelled, nullptr);
	}
	std::thread one([&] { caught[1] = catch_many(1000); }), two([&] { caught[2] = catch_many(1000); });
	caught[0] = catch_many(1000);
	one.join();
	two.join();
	must(caught[0] == caught[1] && caught[1] == caught[2], "all caught the same");
	printf("caught %ld\n", caught[0]);
}
