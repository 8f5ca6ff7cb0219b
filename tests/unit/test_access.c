/* test_access.c - serve/access.h: headers of requests. */
#include "check.h"

#include "serve/access.h"

static void numeric_hosts_are_allowed(void **state)
{
	const struct allo_access access = { 0 };
	static const char *const hosts[] = { "127.0.0.1",  "127.0.0.1:6070", "[::1]",
					     "[::1]:80",   "10.1.2.3",       "localhost",
					     "LocalHost:1" };

	(void)state;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
		assert_true(allo_access_allows_host(&access, hosts[i]));
}

static void foreign_names_are_refused(void **state)
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

static void configured_names_are_allowed(void **state)
{
	static const char *const names[] = { "metrics.example" };
	const struct allo_access access = { .hosts = names, .host_count = 1 };
	const struct allo_access path = { .has_no_host = true };

	(void)state;
	assert_true(allo_access_allows_host(&access, "Metrics.Example:6070"));
	assert_false(allo_access_allows_host(&access, "metrics.example.org"));
	assert_true(allo_access_allows_host(&path, "anything"));
}

static void only_pages_of_this_server_may_post(void **state)
{
	(void)state;
	assert_true(allo_access_allows_origin(NULL, "127.0.0.1:6070"));
	assert_true(allo_access_allows_origin("http://127.0.0.1:6070", "127.0.0.1:6070"));
	assert_false(allo_access_allows_origin("http://127.0.0.1:6071", "127.0.0.1:6070"));
	assert_false(allo_access_allows_origin("https://evil.example", "127.0.0.1:6070"));
	assert_false(allo_access_allows_origin("null", "127.0.0.1:6070"));
	assert_false(allo_access_allows_origin("http://127.0.0.1", NULL));
}

static void tokens_must_be_equal(void **state)
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

static void a_token_follows_bearer(void **state)
{
	(void)state;
	assert_string_equal(allo_access_bearer("bearer x y"), "x y");
	assert_null(allo_access_bearer("Basic x"));
	assert_null(allo_access_bearer("Bearer"));
	assert_null(allo_access_bearer(NULL));
}

static void the_accepted_format_with_the_largest_weight(void **state)
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
		assert_int_equal(allo_accepted_metrics(cases[i].accept), cases[i].form);
}

static void a_request_has_one_length(void **state)
{
	const struct {
		const char *names[3];
		bool passes;
	} cases[] = {
		{ { "Host", "Accept" }, true },
		{ { "Content-Length", "Host" }, true },
		{ { "Transfer-Encoding" }, true },
		{ { "Content-Length", "content-length" }, false },
		{ { "Content-Length", "X", "Transfer-Encoding" }, false },
		{ { "TRANSFER-ENCODING", "Transfer-encoding" }, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct allo_header_check check = { 0 };

		for (size_t k = 0; k < 3 && cases[i].names[k]; k++)
			allo_header_check_add(&check, allo_text_of(cases[i].names[k]),
					      ALLO_TEXT("1"));
		assert_int_equal(allo_header_check_passes(&check), cases[i].passes);
	}
}

static void a_header_has_no_nul(void **state)
{
	struct allo_header_check check = { 0 };

	(void)state;
	allo_header_check_add(&check, ALLO_TEXT("Host"), ALLO_TEXT("localhost\0.evil.example"));
	assert_false(allo_header_check_passes(&check));
}

static void escapes_are_decoded_except_for_nul(void **state)
{
	const char *const cases[][2] = {
		{ "/metrics", "/metrics" },
		{ "/%6Detr%69cs", "/metrics" },
		{ "%", "%" },
		{ "%4", "%4" },
		{ "%%41", "%A" },
		{ "%g1%1g", "%g1%1g" },
		{ "a%00b", "a%00b" },
		{ "%ff%01", "\xff\x01" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[32];

		strcpy(text, cases[i][0]);
		assert_int_equal(allo_access_unescape(text), strlen(cases[i][1]));
		assert_string_equal(text, cases[i][1]);
	}
}

static void changes_need_a_token_or_a_unix_socket(void **state)
{
	(void)state;
	assert_false(allo_access_allows_changes(&(struct allo_access){ 0 }));
	assert_true(allo_access_allows_changes(&(struct allo_access){ .token = "x" }));
	assert_true(allo_access_allows_changes(&(struct allo_access){ .has_no_host = true }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numeric_hosts_are_allowed),
		cmocka_unit_test(foreign_names_are_refused),
		cmocka_unit_test(configured_names_are_allowed),
		cmocka_unit_test(only_pages_of_this_server_may_post),
		cmocka_unit_test(tokens_must_be_equal),
		cmocka_unit_test(a_token_follows_bearer),
		cmocka_unit_test(the_accepted_format_with_the_largest_weight),
		cmocka_unit_test(a_request_has_one_length),
		cmocka_unit_test(a_header_has_no_nul),
		cmocka_unit_test(escapes_are_decoded_except_for_nul),
		cmocka_unit_test(changes_need_a_token_or_a_unix_socket),
	};

	return cmocka_run_group_tests_name("access", tests, NULL, NULL);
}
