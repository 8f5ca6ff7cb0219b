"""`go tool pprof -raw`, with the same output for every version of Go.

Go 1.19 drops samples without frames and samples whose values are all zero, adds up samples with the same stack and
labels, and prints "file:line".  Go 1.26 shows all samples as they are in the file, and prints "file:line:column".
"""
import re


def raw_text(test, path, symbolize="none"):
    """The output, without columns, and without samples of zeros or of no frame."""
    text = test.must("go", "tool", "pprof", "-raw", f"-symbolize={symbolize}", path)
    text = re.sub(r"(?m)(:\d+):\d+ s=", r"\1 s=", text)
    head, rest = text.split("Samples:\n", 1)
    samples, rest = rest.split("Locations\n", 1)
    samples = re.sub(r"(?m)^(?:(?: +0)+: [\d ]*| +-?\d[-\d ]*: *)\n(?: {16}\S.*\n)*", "", samples)
    return f"{head}Samples:\n{samples}Locations\n{rest}"


def summed(samples):
    """Adds up the values of (values, stack, labels) with the same stack and labels, and drops sums of zero."""
    sums = {}
    for values, *rest in samples:
        before = sums.get(tuple(rest), (0,) * len(values))
        sums[tuple(rest)] = tuple(a + b for a, b in zip(before, values))
    return sorted((values, *rest) for rest, values in sums.items() if any(values))
