/* test_guard.c - serve/access.h and serve/accepted_form.h: what headers say. */
#include "check.h"

#include "serve/accepted_form.h"
#include "serve/access.h"

static void numbers_are_known(void **state)
{
	const struct allo_access access = { 0 };
	static const char *const hosts[] = { "127.0.0.1",  "127.0.0.1:6070", "[::1]",
					     "[::1]:80",   "10.1.2.3",       "localhost",
					     "LocalHost:1" };

	(void)state;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
		assert_true(allo_access_allows_host(&access, hosts[i]));
}

static void names_are_not(void **state)
{
	const struct allo_access access = { 0 };
	static const char *const hosts[] = {
		"evil.example",   "127.0.0.1.evil.example", "",     "localhost.", ":80",
		"127.0.0.1:",     "127.0.0.1:8x",           "[::1", "[::1]x",     "[]",
		"localhost:80:80"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
		assert_false(allo_access_allows_host(&access, hosts[i]));
	assert_false(allo_access_allows_host(&access, NULL));
}

static void unless_they_are_given(void **state)
{
	static const char *const names[] = { "metrics.example" };
	const struct allo_access access = { .hosts = names, .host_count = 1 };
	const struct allo_access path = { .has_no_host = true };

	(void)state;
	assert_true(allo_access_allows_host(&access, "Metrics.Example:6070"));
	assert_false(allo_access_allows_host(&access, "metrics.example.org"));
	assert_true(allo_access_allows_host(&path, "anything"));
}

static void only_our_own_pages_send_something(void **state)
{
	(void)state;
	assert_true(allo_access_allows_origin(NULL, "127.0.0.1:6070"));
	assert_true(allo_access_allows_origin("http://127.0.0.1:6070", "127.0.0.1:6070"));
	assert_false(allo_access_allows_origin("http://127.0.0.1:6071", "127.0.0.1:6070"));
	assert_false(allo_access_allows_origin("https://evil.example", "127.0.0.1:6070"));
	assert_false(allo_access_allows_origin("null", "127.0.0.1:6070"));
	assert_false(allo_access_allows_origin("http://127.0.0.1", NULL));
}

static void tokens_are_compared_to_their_end(void **state)
{
	const struct allo_access access = { .token = "0123456789abcdef" }, none = { 0 };

	(void)state;
	assert_true(allo_access_allows_token(&access, "0123456789abcdef"));
	assert_false(allo_access_allows_token(&access, "0123456789abcdeF"));
	assert_false(allo_access_allows_token(&access, "0123456789abcde"));
	assert_false(allo_access_allows_token(&access, "0123456789abcdef0123456789abcdef"));
	assert_false(allo_access_allows_token(&access, ""));
	assert_false(allo_access_allows_token(&access, NULL));
	assert_true(allo_access_allows_token(&none, NULL));
}

static void tokens_have_a_scheme(void **state)
{
	(void)state;
	assert_string_equal(allo_access_bearer("bearer x y"), "x y");
	assert_null(allo_access_bearer("Basic x"));
	assert_null(allo_access_bearer("Bearer"));
	assert_null(allo_access_bearer(NULL));
}

static void the_form_that_is_wanted_most(void **state)
{
	static const struct {
		const char *accept;
		enum allo_metrics_format form;
	} cases[] = {
		{ NULL, ALLO_METRICS_PROMETHEUS },
		{ "", ALLO_METRICS_PROMETHEUS },
		{ "*/*", ALLO_METRICS_PROMETHEUS },
		{ "text/plain", ALLO_METRICS_PROMETHEUS },
		{ "application/openmetrics-text", ALLO_METRICS_OPENMETRICS },
		{ "application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
		  "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		  ALLO_METRICS_OPENMETRICS },
		{ "Application/OpenMetrics-Text ; Q=0.4 , text/plain;q=0.5",
		  ALLO_METRICS_PROMETHEUS },
		{ "application/openmetrics-text;q=0, */*", ALLO_METRICS_PROMETHEUS },
		{ "application/openmetrics-text;q=0.001, */*;q=0", ALLO_METRICS_OPENMETRICS },
		{ "application/openmetrics-text;q=x", ALLO_METRICS_PROMETHEUS },
		{ ",;,;q=,text/plain;;;", ALLO_METRICS_PROMETHEUS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(allo_accepted_form(cases[i].accept), cases[i].form);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_known),
		cmocka_unit_test(names_are_not),
		cmocka_unit_test(unless_they_are_given),
		cmocka_unit_test(only_our_own_pages_send_something),
		cmocka_unit_test(tokens_are_compared_to_their_end),
		cmocka_unit_test(tokens_have_a_scheme),
		cmocka_unit_test(the_form_that_is_wanted_most),
	};

	return cmocka_run_group_tests_name("access", tests, NULL, NULL);
}
