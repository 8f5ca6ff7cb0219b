"""Makes DHAT files for tests."""
import json


def dhat(pps, ftbl, **fields):
    """A file with these program points and frames; `fields` change what it says of the run."""
    run = {"mode": "heap", "verb": "Allocated", "bklt": False, "bkacc": False, "tu": "instrs",
           "Mtu": "Minstr", "cmd": "p", "pid": 1, "te": 9}
    return json.dumps({"dhatFileVersion": 2, **run, **fields, "pps": pps,
                       "ftbl": ["[root]", *ftbl]})


def dhat_of_stacks(stacks):
    """A file of stacks, given as names, the outermost first, and their bytes."""
    table, pps = [], []
    for names, count in stacks:
        for name in names:
            table.append(f"0x{len(table) + 1:X}: {name} (a.c:{len(table) + 1})")
        fs = list(range(len(table), len(table) - len(names), -1))
        pps.append({"tb": count, "tbk": 1, "fs": fs})
    return dhat(pps, table)
