/* test_deflate_join.c - base/io/deflate_join.h, checked with zlib, which knows nothing of it. */
#include "check.h"

#include "base/io/deflate_join.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <zlib.h>

enum { PIECES = 7, PIECE = 100000 };

/* Data of one kind a round: zeros, noise, text, noise with repetitions. */
static void fill(unsigned char *data, size_t len, int kind, unsigned *seed)
{
	for (size_t i = 0; i < len; i++) {
		unsigned noise = (*seed = *seed * 1103515245 + 12345) >> 16;

		data[i] = (unsigned char)(kind == 0               ? 0
					  : kind == 1             ? noise
					  : kind == 2             ? 'a' + noise % 7
					  : i > 1000 && noise % 3 ? data[i - 1000]
								  : noise);
	}
}

static void pieces_become_one_stream(void **state)
{
	unsigned char *data = malloc(PIECES * PIECE), *back = malloc(PIECES * PIECE);
	unsigned char *packed = malloc(2 * PIECES * PIECE);
	unsigned seed = 1;

	(void)state;
	for (int level = 0; level <= 12; level++) {
		for (int kind = 0; kind < 4; kind++) {
			struct libdeflate_compressor *deflater = libdeflate_alloc_compressor(level);
			z_stream unpack = { 0 };
			size_t total = 0, at = 0;

			for (int i = 0; i < PIECES; i++) {
				size_t len = i == 3 ? 0 : (size_t)(PIECE - i * 13), packed_len;

				fill(data + at, len, kind, &seed);
				packed_len = libdeflate_deflate_compress(deflater, data + at, len,
									 packed + total, 2 * PIECE);
				assert_true(packed_len > 0);
				if (i < PIECES - 1)
					assert_true(
						allo_deflate_open_end(packed + total, &packed_len));
				total += packed_len;
				at += len;
			}
			libdeflate_free_compressor(deflater);

			assert_int_equal(inflateInit2(&unpack, -15), Z_OK);
			unpack.next_in = packed;
			unpack.avail_in = (unsigned)total;
			unpack.next_out = back;
			unpack.avail_out = PIECES * PIECE;
			assert_int_equal(inflate(&unpack, Z_FINISH), Z_STREAM_END);
			assert_int_equal(unpack.total_out, at);
			assert_int_equal(unpack.avail_in, 0);
			assert_memory_equal(back, data, at);
			inflateEnd(&unpack);
		}
	}
	free(data);
	free(back);
	free(packed);
}

static void damage_is_refused_and_left_alone(void **state)
{
	unsigned char data[5000], packed[6000], damaged[6000 + ALLO_DEFLATE_JOIN_ROOM];
	struct libdeflate_compressor *deflater = libdeflate_alloc_compressor(6);
	unsigned seed = 5;
	size_t len, refused = 0;

	(void)state;
	fill(data, sizeof(data), 2, &seed);
	len = libdeflate_deflate_compress(deflater, data, sizeof(data), packed, sizeof(packed));
	libdeflate_free_compressor(deflater);
	assert_true(len > 0);
	for (size_t cut = 0; cut < len; cut++) {
		size_t shorter = cut;

		memcpy(damaged, packed, cut);
		assert_false(allo_deflate_open_end(damaged, &shorter));
		assert_int_equal(shorter, cut);
		assert_memory_equal(damaged, packed, cut);
	}
	for (size_t bit = 0; bit < len * 8; bit++) {
		size_t same = len;

		memcpy(damaged, packed, len);
		damaged[bit / 8] ^= (unsigned char)(1u << bit % 8);
		refused += !allo_deflate_open_end(damaged, &same); /* and never reads beyond */
	}
	assert_true(refused > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_become_one_stream),
		cmocka_unit_test(damage_is_refused_and_left_alone),
	};

	return cmocka_run_group_tests_name("deflate_join", tests, NULL, NULL);
}
