/* address_list.c - see address_list.h. */
#include "serve/address_list.h"

bool allo_address_list_next(struct allo_address_list *list, uint64_t *address)
{
	struct allo_text piece;

	while (allo_text_next(&list->rest, '+', &piece) && list->count++ < ALLO_ADDRESSES_MAX) {
		piece = allo_text_trim(piece);
		allo_text_skip(&piece, ALLO_TEXT("0x"));
		if (allo_text_hex(piece, address) && *address != 0)
			return true;
	}
	return false;
}
