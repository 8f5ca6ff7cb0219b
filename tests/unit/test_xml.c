/* test_xml.c - base/encoding/xml.h. */
#include "check.h"

#include "base/defer.h"
#include "base/encoding/xml.h"

static void assert_written(struct allo_text text, const char *expected)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_output_options options = { 0 };
	struct allo_error err = { 0 };

	assert_true(allo_output_open_memory(&out, &options, &err));
	allo_xml_text(&out, text);
	assert_true(allo_output_finish(&out, &err));
	assert_text_equal(allo_output_memory(&out), expected);
}

static void markup_is_escaped(void **state)
{
	(void)state;
	assert_written(ALLO_TEXT("a<b>&\"c\"'d'"), "a&lt;b&gt;&amp;&quot;c&quot;&#39;d&#39;");
	assert_written(ALLO_TEXT("]]></script>"), "]]&gt;&lt;/script&gt;");
	assert_written(ALLO_TEXT("plain, \xc3\xa4\xe2\x82\xac\xf0\x9f\x94\xa5"),
		       "plain, \xc3\xa4\xe2\x82\xac\xf0\x9f\x94\xa5");
}

static void control_characters_become_pictures(void **state)
{
	(void)state;
	assert_written(ALLO_TEXT("a\0b\n\x1b\x7f"), "a\xe2\x90\x80"
						    "b\xe2\x90\x8a\xe2\x90\x9b\xe2\x90\xa1");
}

static void what_xml_cannot_hold_is_replaced(void **state)
{
	(void)state;
	assert_written(ALLO_TEXT("\xff|\xc3|\xed\xa0\x80|"),
		       "\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|");
	assert_written(ALLO_TEXT("\xef\xbf\xbe\xef\xbf\xbf"), "\xef\xbf\xbd\xef\xbf\xbd");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(markup_is_escaped),
		cmocka_unit_test(control_characters_become_pictures),
		cmocka_unit_test(what_xml_cannot_hold_is_replaced),
	};

	return cmocka_run_group_tests_name("xml", tests, NULL, NULL);
}
