/* seccomp_filter.c - an interpreter of classic BPF, for the instructions that seccomp accepts. */
#include "capture/hooks/seccomp_filter.h"

#include <stdint.h>
#include <string.h>

struct machine {
	const struct seccomp_data *call;
	uint32_t a, x, memory[BPF_MEMWORDS];
};

/* The loads of BPF_LD and BPF_LDX.  False if the instruction is invalid. */
static bool load(const struct machine *m, const struct sock_filter *at, uint32_t *value)
{
	switch (at->code & ~(BPF_LD | BPF_LDX)) {
	case BPF_W | BPF_ABS:
		if (at->k > sizeof(*m->call) - sizeof(*value))
			return false;
		memcpy(value, (const char *)m->call + at->k, sizeof(*value));
		return true;
	case BPF_W | BPF_LEN:
		*value = sizeof(*m->call);
		return true;
	case BPF_IMM:
		*value = at->k;
		return true;
	case BPF_MEM:
		if (at->k >= BPF_MEMWORDS)
			return false;
		*value = m->memory[at->k];
		return true;
	default:
		return false;
	}
}

static bool compute(struct machine *m, const struct sock_filter *at)
{
	uint32_t by = BPF_SRC(at->code) == BPF_X ? m->x : at->k;

	switch (BPF_OP(at->code)) {
	case BPF_ADD:
		m->a += by;
		break;
	case BPF_SUB:
		m->a -= by;
		break;
	case BPF_MUL:
		m->a *= by;
		break;
	case BPF_DIV:
		if (by == 0)
			return false;
		m->a /= by;
		break;
	case BPF_AND:
		m->a &= by;
		break;
	case BPF_OR:
		m->a |= by;
		break;
	case BPF_XOR:
		m->a ^= by;
		break;
	case BPF_LSH:
		m->a = by < 32 ? m->a << by : 0;
		break;
	case BPF_RSH:
		m->a = by < 32 ? m->a >> by : 0;
		break;
	case BPF_NEG:
		m->a = 0 - m->a;
		break;
	default:
		return false;
	}
	return true;
}

static bool store(struct machine *m, const struct sock_filter *at, uint32_t value)
{
	if (at->k >= BPF_MEMWORDS)
		return false;
	m->memory[at->k] = value;
	return true;
}

static bool execute(struct machine *m, const struct sock_filter *at)
{
	switch (BPF_CLASS(at->code)) {
	case BPF_LD:
		return load(m, at, &m->a);
	case BPF_LDX:
		return load(m, at, &m->x);
	case BPF_ST:
		return store(m, at, m->a);
	case BPF_STX:
		return store(m, at, m->x);
	case BPF_ALU:
		return compute(m, at);
	case BPF_MISC:
		if (BPF_MISCOP(at->code) == BPF_TAX)
			m->x = m->a;
		else
			m->a = m->x;
		return true;
	default:
		return false;
	}
}

/* The number of instructions to skip. */
static uint32_t jump(const struct machine *m, const struct sock_filter *at)
{
	uint32_t with = BPF_SRC(at->code) == BPF_X ? m->x : at->k;
	bool is_true = false;

	switch (BPF_OP(at->code)) {
	case BPF_JA:
		return at->k;
	case BPF_JEQ:
		is_true = m->a == with;
		break;
	case BPF_JGT:
		is_true = m->a > with;
		break;
	case BPF_JGE:
		is_true = m->a >= with;
		break;
	case BPF_JSET:
		is_true = (m->a & with) != 0;
		break;
	}
	return is_true ? at->jt : at->jf;
}

static bool is_let_through(uint32_t result)
{
	uint32_t action = result & SECCOMP_RET_ACTION_FULL;

	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

/* Jumps only go forward, so every program ends. */
bool allo_seccomp_allows(const struct sock_fprog *filter, const struct seccomp_data *call)
{
	struct machine m = { .call = call };

	for (uint64_t i = 0; i < filter->len; i++) {
		const struct sock_filter *at = &filter->filter[i];

		if (BPF_CLASS(at->code) == BPF_RET)
			return is_let_through(BPF_RVAL(at->code) == BPF_A ? m.a : at->k);
		if (BPF_CLASS(at->code) == BPF_JMP)
			i += jump(&m, at);
		else if (!execute(&m, at))
			return false;
	}
	return false;
}
