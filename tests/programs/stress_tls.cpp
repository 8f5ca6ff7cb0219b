// stress_tls.cpp - threads whose last words allocate and free: destructors of thread_local objects and of
// pthread keys, which may come again and again.
#include "blocks.h"

#include <atomic>
#include <pthread.h>
#include <string>
#include <thread>
#include <vector>

static std::atomic<int> objects, keys;
static pthread_key_t key;

struct Last {
	std::vector<std::string> words;
	void *block = filled(1009, 1);

	~Last()
	{
		must_be_filled(block, 1009, 1);
		free(block);
		words.push_back(std::string(2003, 'x'));
		objects++;
	}
};

static thread_local Last last;

// Comes back three times: the value is set again.
static void on_key(void *value)
{
	size_t left = *static_cast<size_t *>(value);

	free(value);
	keys++;
	if (left > 0) {
		size_t *next = static_cast<size_t *>(filled(4099, 0));

		*next = left - 1;
		pthread_setspecific(key, next);
	}
}

static void run()
{
	size_t *value = static_cast<size_t *>(filled(4099, 0));

	*value = 2;
	pthread_setspecific(key, value);
	last.words.push_back(std::string(307, 'y'));
}

int main()
{
	pthread_key_create(&key, on_key);
	for (int round = 0; round < 25; round++) {
		std::vector<std::thread> threads;

		for (int i = 0; i < 4; i++)
			threads.emplace_back(run);
		for (std::thread &thread : threads)
			thread.join();
	}
	// main()'s own last words come after this line.
	last.words.push_back("main");
	printf("%d objects, %d keys\n", objects.load(), keys.load());
}
