/* test_thresholds.c - findings/thresholds.h. */
#include "check.h"
#include "findings/findings.h"

static bool set(struct allo_thresholds *thresholds, const char *name, const char *value,
		struct allo_error *err)
{
	struct allo_pos pos = { .file = "allo.conf", .line = 3, .byte = 1 };

	return allo_thresholds_set(thresholds, allo_text_of(name), allo_text_of(value), pos, err);
}

static void units_are_those_of_people(void **state)
{
	struct allo_thresholds thresholds;
	struct allo_error err = { 0 };

	(void)state;
	allo_thresholds_init(&thresholds);
	assert_true(thresholds.at[ALLO_LEAK_GROWING_SHARE] == 0.01);
	assert_true(set(&thresholds, "leak-growing.share", "2.5%", &err));
	assert_true(thresholds.at[ALLO_LEAK_GROWING_SHARE] == 0.025);
	assert_true(set(&thresholds, "leak-growing.bytes", "4K", &err));
	assert_true(thresholds.at[ALLO_LEAK_GROWING_BYTES] == 4096);
	assert_true(set(&thresholds, "startup.duration", "20ms", &err));
	assert_true(thresholds.at[ALLO_STARTUP_DURATION] == 20e6);
	assert_true(set(&thresholds, "spike.factor", "1.5", &err));
	assert_true(thresholds.at[ALLO_SPIKE_FACTOR] == 1.5);
}

static void wrong_values_and_names_are_refused(void **state)
{
	static const char *const wrong[][2] = {
		{ "tiny.size", "small" },
		{ "tiny.share", "-1%" },
		{ "tiny.share", "" },
		{ "spike.factor", "2x" },
		{ "spike.factor", "inf" },
		{ "no.such", "1" },
		{ "", "1" },
	};
	struct allo_thresholds thresholds;

	(void)state;
	allo_thresholds_init(&thresholds);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct allo_error err = { 0 };

		assert_false(set(&thresholds, wrong[i][0], wrong[i][1], &err));
		assert_int_equal(err.pos.line, 3);
	}
}

/* The name of a threshold begins with the rule that it belongs to. */
static void every_rule_has_thresholds_and_texts(void **state)
{
	(void)state;
	for (size_t i = 0; allo_finding_rules[i]; i++) {
		const struct allo_finding_rule *rule = allo_finding_rules[i];
		size_t found = 0, len = strlen(rule->id);

		for (size_t j = 0; j < ALLO_THRESHOLDS; j++)
			found += strncmp(allo_threshold_kinds[j].name, rule->id, len) == 0 &&
				 allo_threshold_kinds[j].name[len] == '.';
		assert_true(found > 0);
		assert_true(rule->title && rule->detects && rule->why && rule->advice &&
			    rule->view);
		assert_true(rule->needs != 0 && rule->judge);
		assert_ptr_equal(allo_finding_rule_find(rule->id), rule);
	}
	assert_null(allo_finding_rule_find("no-such-rule"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_are_those_of_people),
		cmocka_unit_test(wrong_values_and_names_are_refused),
		cmocka_unit_test(every_rule_has_thresholds_and_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
