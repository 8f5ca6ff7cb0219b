/*
 * wide_characters.c - the classes of characters, for regular expressions.
 *
 * wasi-libc has tables of all Unicode for them, 13 KB that hardly compress.  The engine keeps the
 * locale "C", in which only ASCII has classes: its library reads other bytes as numbers that no
 * class has.
 */
#include <wctype.h>

#undef iswdigit /* a macro as well */

static int is_between(wint_t c, wint_t first, wint_t last)
{
	return c >= first && c <= last;
}

int iswdigit(wint_t c)
{
	return is_between(c, '0', '9');
}

int iswlower(wint_t c)
{
	return is_between(c, 'a', 'z');
}

int iswupper(wint_t c)
{
	return is_between(c, 'A', 'Z');
}

int iswalpha(wint_t c)
{
	return iswlower(c) || iswupper(c);
}

int iswalnum(wint_t c)
{
	return iswalpha(c) || iswdigit(c);
}

int iswxdigit(wint_t c)
{
	return iswdigit(c) || is_between(c, 'a', 'f') || is_between(c, 'A', 'F');
}

int iswblank(wint_t c)
{
	return c == ' ' || c == '\t';
}

int iswspace(wint_t c)
{
	return c == ' ' || is_between(c, '\t', '\r');
}

int iswprint(wint_t c)
{
	return is_between(c, ' ', '~');
}

int iswgraph(wint_t c)
{
	return is_between(c, '!', '~');
}

int iswpunct(wint_t c)
{
	return iswgraph(c) && !iswalnum(c);
}

int iswcntrl(wint_t c)
{
	return c < ' ' || c == 0x7f;
}

wint_t towlower(wint_t c)
{
	return iswupper(c) ? c - 'A' + 'a' : c;
}

wint_t towupper(wint_t c)
{
	return iswlower(c) ? c - 'a' + 'A' : c;
}
