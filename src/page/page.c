#include "page/page.h"

#include <stdint.h>

extern const char allo_page_bytes[];
extern const uint64_t allo_page_bytes_size;

struct allo_text allo_page_gzip(void)
{
	return (struct allo_text){ allo_page_bytes, (size_t)allo_page_bytes_size };
}
