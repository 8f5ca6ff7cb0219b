/* test_program_name.c - watch/program_name.h. */
#include "check.h"

#include "watch/program_name.h"

static void titles_and_folders_are_told_apart(void **state)
{
	static const struct {
		const char *first, *comm, *name;
	} table[] = {
		{ "./server", "server", "server" },
		{ "/usr/sbin/nginx", "nginx", "nginx" },
		{ "nginx: worker process", "nginx", "nginx" },
		{ "redis-server *:6379", "redis-server", "redis-server" },
		{ "/usr/bin/redis-server 127.0.0.1:6379", "redis-server", "redis-server" },
		{ "redis-server unixsocket:/tmp/x/socket", "redis-server", "redis-server" },
		/* The kernel keeps 15 bytes. */
		{ "a-long-named-server /run/x", "a-long-named-se", "a-long-named-server" },
		{ "/opt/my app/server", "server", "server" },
		{ "/opt/My Server", "My Server", "My Server" },
		{ "/opt/My Server *:80", "My Server", "My Server" },
		{ "main loop /run/x", "server", "server" },
		{ "main /run/x", "", "x" },
		{ "python3", "renamed", "python3" },
		{ "", "kthreadd", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct allo_text name = allo_program_name_of(allo_text_of(table[i].first),
							     allo_text_of(table[i].comm));

		if (!allo_text_equal(name, allo_text_of(table[i].name)))
			fail_msg("%s (%s): %.*s", table[i].first, table[i].comm,
				 ALLO_TEXT_ARG(name));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(titles_and_folders_are_told_apart),
	};

	return cmocka_run_group_tests_name("program_name", tests, NULL, NULL);
}
