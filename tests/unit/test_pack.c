/* test_pack.c - base/io/pack.h, as zlib, libzstd and the gzip command see what it makes. */
#include "check.h"
#include "packing.h"
#include "random.h"
#include "scratch.h"

#include "base/defer.h"
#include "base/io/output.h"

#include <sys/wait.h>

enum { CHUNK = 1 << 19 }; /* as pack.c cuts */

/* Around the borders of chunks and of what is under way at once. */
static const size_t lengths[] = {
	0,         1,         2,         100,           CHUNK - 1,     CHUNK,
	CHUNK + 1, 3 * CHUNK, 4 * CHUNK, 5 * CHUNK + 7, 9 * CHUNK + 1,
};
enum { LENGTHS = sizeof(lengths) / sizeof(*lengths), LONGEST = 9 * CHUNK + 1 };

static struct bytes pack(const char *data, size_t len, const struct allo_output_options *options)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct bytes packed = { 0 };
	struct allo_error err = { 0 };

	assert_true(allo_output_open_memory(&out, options, &err));
	for (size_t at = 0; at < len; at += 77777)
		allo_output_bytes(&out, data + at, len - at < 77777 ? len - at : 77777);
	assert_true(allo_output_finish(&out, &err));
	packed.len = allo_output_memory(&out).len;
	assert_int_equal(allo_output_size(&out), packed.len);
	packed.data = malloc(packed.len);
	memcpy(packed.data, allo_output_memory(&out).data, packed.len);
	return packed;
}

/* Exactly one member, whose checksum and size are right, and nothing behind it. */
static void assert_one_member(struct bytes packed, const char *data, size_t len)
{
	ALLO_DEFER(bytes_done) struct bytes back = { malloc(len + 1), 0 };
	z_stream unpack = { 0 };

	assert_int_equal(inflateInit2(&unpack, 15 + 16), Z_OK);
	unpack.next_in = (Bytef *)packed.data;
	unpack.avail_in = (unsigned)packed.len;
	unpack.next_out = (Bytef *)back.data;
	unpack.avail_out = (unsigned)len + 1;
	assert_int_equal(inflate(&unpack, Z_FINISH), Z_STREAM_END);
	assert_int_equal(unpack.avail_in, 0);
	assert_int_equal(unpack.total_out, len);
	assert_memory_equal(back.data, data, len);
	inflateEnd(&unpack);
}

static void gzip_is_one_member_of_any_size(void **state)
{
	ALLO_DEFER(bytes_done) struct bytes text = { malloc(LONGEST), LONGEST };
	uint64_t seed = 19;

	(void)state;
	draw_text(&seed, text.data, LONGEST);
	for (int fast = 0; fast < 2; fast++) {
		for (size_t i = 0; i < LENGTHS; i++) {
			struct allo_output_options options = { .packing = ALLO_GZIP, .fast = fast };
			ALLO_DEFER(bytes_done)
			struct bytes packed = pack(text.data, lengths[i], &options);

			assert_one_member(packed, text.data, lengths[i]);
		}
	}
}

static void noise_is_packed_too(void **state)
{
	ALLO_DEFER(bytes_done) struct bytes noise = { malloc(LONGEST), LONGEST };
	struct allo_output_options options = { .packing = ALLO_GZIP };
	ALLO_DEFER(bytes_done) struct bytes packed = { 0 };
	uint64_t seed = 23;

	(void)state;
	for (size_t i = 0; i < LONGEST; i++)
		noise.data[i] = (char)draw(&seed, 256);
	packed = pack(noise.data, LONGEST, &options);
	assert_one_member(packed, noise.data, LONGEST);
	assert_in_range(packed.len, LONGEST, LONGEST + LONGEST / 1000);
}

static void the_same_data_gives_the_same_bytes(void **state)
{
	ALLO_DEFER(bytes_done) struct bytes text = { malloc(LONGEST), LONGEST };
	const enum allo_packing packings[] = { ALLO_GZIP, ALLO_ZSTD };
	uint64_t seed = 29;

	(void)state;
	draw_text(&seed, text.data, LONGEST);
	for (size_t i = 0; i < 2; i++) {
		struct allo_output_options options = { .packing = packings[i] };
		ALLO_DEFER(bytes_done) struct bytes a = pack(text.data, LONGEST, &options);
		ALLO_DEFER(bytes_done) struct bytes b = pack(text.data, LONGEST, &options);

		assert_int_equal(a.len, b.len);
		assert_memory_equal(a.data, b.data, a.len);
	}
}

static void zstd_is_one_frame(void **state)
{
	ALLO_DEFER(bytes_done) struct bytes text = { malloc(LONGEST), LONGEST };
	ALLO_DEFER(bytes_done) struct bytes back = { malloc(LONGEST), 0 };
	uint64_t seed = 31;

	(void)state;
	draw_text(&seed, text.data, LONGEST);
	for (size_t i = 0; i < LENGTHS; i++) {
		struct allo_output_options options = { .packing = ALLO_ZSTD };
		ALLO_DEFER(bytes_done) struct bytes packed = pack(text.data, lengths[i], &options);

		assert_int_equal(ZSTD_findFrameCompressedSize(packed.data, packed.len), packed.len);
		assert_int_equal(ZSTD_decompress(back.data, LONGEST, packed.data, packed.len),
				 lengths[i]);
		assert_memory_equal(back.data, text.data, lengths[i]);
	}
}

static void the_gzip_command_agrees(void **state)
{
	ALLO_DEFER(bytes_done) struct bytes text = { malloc(LONGEST), LONGEST };
	ALLO_DEFER(scratch_done) struct scratch scratch;
	uint64_t seed = 37;

	(void)state;
	scratch_init(&scratch);
	draw_text(&seed, text.data, LONGEST);
	for (size_t i = 0; i < LENGTHS; i++) {
		struct allo_output_options options = { .packing = ALLO_GZIP };
		ALLO_DEFER(bytes_done) struct bytes packed = pack(text.data, lengths[i], &options);
		ALLO_DEFER(bytes_done) struct bytes back = { 0 };
		char command[400];

		snprintf(command, sizeof(command), "gzip -dc %s > %s/back",
			 scratch_write(&scratch, "packed.gz", packed.data, packed.len),
			 scratch.folder);
		assert_int_equal(system(command), 0);
		back.data = scratch_read(scratch_path(&scratch, "back"), &back.len);
		assert_int_equal(back.len, lengths[i]);
		assert_memory_equal(back.data, text.data, back.len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gzip_is_one_member_of_any_size),
		cmocka_unit_test(noise_is_packed_too),
		cmocka_unit_test(the_same_data_gives_the_same_bytes),
		cmocka_unit_test(zstd_is_one_frame),
		cmocka_unit_test(the_gzip_command_agrees),
	};

	return cmocka_run_group_tests_name("pack", tests, NULL, NULL);
}
