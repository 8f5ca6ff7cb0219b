"""Writes a C file that keeps a compiler busy: gen_c.py FUNCTIONS > FILE"""
import sys


class Numbers:
    """The same ones each time."""

    def __init__(self):
        self.state = 99

    def __call__(self, below):
        self.state = (self.state * 1103515245 + 12345) & 0x7FFFFFFF
        return (self.state >> 8) % below


number = Numbers()


def loop(function):
    return (f"for (int i = 0; i < k + {number(9)}; i++) {{ sum += table{function}[i & 15] * (i ^ {number(99)}); "
            f"if (sum & {1 << number(8)}) mix ^= s->words[i & 7]; }}")


def choice(_):
    return (f"switch (sum & 7) {{ case 0: sum += {number(99)}; break; case 1: sum ^= k; /* fallthrough */ "
            f"case 2: mix += sum; break; case 5: return sum - {number(9)}; default: sum <<= 1; }}")


def call(function):
    if function == 0:
        return repeat(function)
    return f"sum += function{number(function)}(s->next ? s->next : s, sum & {number(63)});"


def pointer(_):
    return (f"if (s->call && (mix & {number(255)})) sum -= s->call(s, (int)(mix >> {number(31)})); "
            f"else s->words[{number(8)}] += sum;")


def fraction(_):
    return (f"{{ double d = sum * {number(50)}.5; for (int i = 0; i < 8; i++) d += s->words[i] / (i + 1.0); "
            f"sum += (int)d; }}")


def repeat(_):
    return (f"do {{ mix = mix * 31 + s->words[mix & 7]; sum ^= (int)(mix >> {number(20)}); }} "
            f"while ((mix & {(1 << (2 + number(4))) - 1}) && --k > 0);")


def main():
    count = int(sys.argv[1])
    kinds = (loop, choice, call, pointer, fraction, repeat)
    print("typedef unsigned long word;\n"
          "typedef struct S { word words[8]; struct S *next; int (*call)(struct S *, int); } S;")
    for function in range(count):
        numbers = ", ".join(str(number(1000)) for _ in range(12))
        print(f"static int table{function}[{16 + number(64)}] = {{ {numbers} }};")
        print(f"int function{function}(S *s, int k)\n{{\n\tint sum = k;\n\tword mix = {number(1 << 20)}u;")
        for _ in range(6 + number(10)):
            print("\t" + kinds[number(len(kinds))](function))
        print("\treturn sum + (int)mix;\n}")
    calls = "\n".join(f"\tsum += function{i}(&s, {number(7)});" for i in range(count))
    print(f"int main(void)\n{{\n\tstatic S s;\n\tint sum = 0;\n{calls}\n\treturn sum & 127;\n}}")


main()
