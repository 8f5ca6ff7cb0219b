/* test_seccomp_filter.c - capture/hooks/seccomp_filter.h, on filters as libseccomp and others write
 * them.
 */
#include "check.h"

#include "capture/hooks/seccomp_filter.h"

#include <stddef.h>
#include <stdint.h>

#define LOAD(field)    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_##action)
#define COUNT(array)   (sizeof(array) / sizeof(*(array)))

static bool allows(struct sock_filter *filter, size_t count, int nr, uint64_t argument)
{
	struct sock_fprog program = { (unsigned short)count, filter };
	struct seccomp_data call = { .nr = nr, .arch = 7, .args = { argument } };

	return allo_seccomp_allows(&program, &call);
}

static void listed_calls_pass(void **state)
{
	struct sock_filter filter[] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 7, 1, 0),
		RETURN(KILL_PROCESS),
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 100, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 50, 0, 1),
		RETURN(ALLOW),
		RETURN(ERRNO),
	};

	(void)state;
	assert_true(allows(filter, COUNT(filter), 99, 0));
	assert_true(allows(filter, COUNT(filter), 51, 0));
	assert_false(allows(filter, COUNT(filter), 50, 0));
	assert_false(allows(filter, COUNT(filter), 100, 0));
}

static void arguments_are_compared_in_halves(void **state)
{
	struct sock_filter filter[] = {
		LOAD(args[0]),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff),
		BPF_STMT(BPF_ST, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 4),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_LD | BPF_MEM, 3),
		BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x12, 0, 1),
		RETURN(LOG),
		RETURN(TRAP),
	};

	(void)state;
	assert_true(allows(filter, COUNT(filter), 1, 0x0000000234567810));
	assert_false(allows(filter, COUNT(filter), 1, 0x0000000334567810));
}

static void computed_results_count(void **state)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_IMM, SECCOMP_RET_ALLOW >> 16),
		BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 16),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};

	(void)state;
	assert_true(allows(filter, COUNT(filter), 1, 0));
}

static void invalid_filters_allow_nothing(void **state)
{
	struct sock_filter beyond[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64), RETURN(ALLOW) };
	struct sock_filter jumps[] = { BPF_STMT(BPF_JMP | BPF_JA, UINT32_MAX), RETURN(ALLOW) };
	struct sock_filter divides[] = { BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0), RETURN(ALLOW) };
	struct sock_filter stores[] = { BPF_STMT(BPF_STX, BPF_MEMWORDS), RETURN(ALLOW) };
	struct sock_filter endless[] = { LOAD(nr) };

	(void)state;
	assert_false(allows(beyond, COUNT(beyond), 1, 0));
	assert_false(allows(jumps, COUNT(jumps), 1, 0));
	assert_false(allows(divides, COUNT(divides), 1, 0));
	assert_false(allows(stores, COUNT(stores), 1, 0));
	assert_false(allows(endless, COUNT(endless), 1, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listed_calls_pass),
		cmocka_unit_test(arguments_are_compared_in_halves),
		cmocka_unit_test(computed_results_count),
		cmocka_unit_test(invalid_filters_allow_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
