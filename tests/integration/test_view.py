"""Views agree: the replies of `allo view` against the other commands, SQL, and sums over the calls of the tree.

One server answers all requests about a file, so a reply must not depend on those before it.
"""
import collections
import itertools
import json
import random
import shutil
import tempfile
import pathlib

from allotest import ALLO, BUILD, GOLDEN, ROOT, SLOW, Test
from lives import Lives
from recordings import RUNTIME, built
from viewserver import ViewServer

ROUNDS = 3 if SLOW else 8
RANDOM = 20260711
NEVER = (1 << 63) - 1
RECORDINGS = ("server.allo", "notes.allo", "sampled.allo", "killed.allo", "shuffled.allo")
PROFILES = ("dhat/valgrind-heap.json", "dhat/valgrind-cpp.json", "dhat/dhat-rs-heap.json", "pprof/go-heap.pb.gz",
            "pprof/inline-dropframes.pb.gz", "heaptrack/demo.zst", "folded/dhat-total-bytes.folded",
            "gperftools/gperftools.heap", "jemalloc/jemalloc.heap", "massif/valgrind.massif", "v8/node.heapprofile",
            "perf/inlined.txt", "bpftrace/maps.json")
EVENT_METRICS = ("events", "units")
LEAKY_PROFILES = ("dhat/valgrind-heap.json", "dhat/valgrind-cpp.json", "pprof/go-heap.pb.gz", "heaptrack/demo.zst")


class Question:
    """A part of a file: members of requests, and the same as options of commands."""

    def __init__(self, metric, window=None, filters=(), options=()):
        self.metric, self.window, self.filters = metric, window, list(filters)
        self.members = {"filters": self.filters}
        self.options = list(options)
        if "full" in filters:
            self.options += ["--keep-allocator"]
        else:
            self.options += ["--trim-allocator", "--trim-startup"]
        if window:
            self.members |= {"from": window[0], "to": window[1]}
            self.options += ["--range", f"{window[0]}ns..{window[1]}ns"]

    @property
    def sums(self):
        """The same for asks and commands that are about one metric."""
        return {**self.members, "metric": self.metric}

    def __str__(self):
        return f"{self.metric} {self.window} {self.filters}"


class Viewed:
    """A file, its server, and the names of its calls."""

    def __init__(self, test, path):
        self.test, self.path = test, path
        self.server = ViewServer(test.tmp, path)
        test.addCleanup(self.server.close)
        self.open = self.ask("open")
        # Commands about a range have no metrics of events if there are none in it.
        self.metrics = [metric["name"] for metric in self.open["metrics"] if metric["name"] not in EVENT_METRICS]

    def ask(self, ask, **members):
        reply = self.server.ask(ask, **members)
        self.test.assertIsNone(reply.error, (ask, members))
        return reply

    def names(self):
        """(full name, file) of each call by number, and of call 0."""
        reply = self.ask("names")
        return [("", "")] + [(full or name, file) for name, full, file in reply.rows("name", "full", "file")]

    def paths(self, **members):
        """{calls from the root: (self, total)}; every node must add up."""
        reply = self.ask("tree", **{"least": 0, **members})
        found, path = {}, []
        children = collections.Counter()
        for call, depth, own, total in reply.rows("call", "depth", "self", "total"):
            self.test.assertLessEqual(depth, len(path) + (not found == {}))
            path = path[:depth] if depth else []
            if depth:
                path = path[:depth - 1] + [call]
                children[tuple(path[:-1])] += total
            self.test.assertNotIn(tuple(path), found, "siblings differ")
            found[tuple(path)] = (own, total)
        for path, (own, total) in found.items():
            self.test.assertEqual(own + children[path], total, path)
        self.test.assertEqual(sum(reply["left_out"]) + sum(map(abs, reply["left_out_value"])), 0)
        return found


def inverted(paths):
    """The tree from the leaves on: {calls from the root: (self, total)}."""
    found = collections.defaultdict(lambda: [0, 0])
    for path, (own, _) in paths.items():
        for depth in range(len(path) + 1):
            found[path[::-1][:depth]][1] += own
        found[path[::-1]][0] += own
    return {path: tuple(sums) for path, sums in found.items() if sums[1]}


def trees_of(stacks):
    """The tree of stacks, given as pairs of calls and a value."""
    found = collections.defaultdict(lambda: [0, 0])
    for path, value in stacks:
        for depth in range(len(path) + 1):
            found[path[:depth]][1] += value
        found[path][0] += value
    return {path: tuple(sums) for path, sums in found.items() if sums[1]}


def with_values(paths):
    return {path: sums for path, sums in paths.items() if sums[1]}


class ViewTest(Test):
    SANITIZED = False

    @classmethod
    def setUpClass(cls):
        """Recordings of all kinds, with their names inside."""
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="allo-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)

    def recording(self, name, *command, options=()):
        """A recording whose names are stored in it, made once for the class."""
        path = self.folder / f"{name}.allo"
        if not path.exists():
            made = self.tmp / f"{name}.allo"
            self.must(ALLO, "run", "-q", "-f", *options, "-o", made, "--", *command)
            self.allo("symbolize", "-q", made, "-o", path)
        return path

    def recordings(self):
        """Recordings of one thread, of several, with labels and marks, and sampled ones."""
        plain = built("views.c")
        notes = built("views.c", "-DNOTES", f"-I{ROOT / 'include'}", RUNTIME, f"-Wl,-rpath,{BUILD / 'capture'}",
                      name="views_notes")
        return [self.recording("one", plain), self.recording("threads", plain, 3), self.recording("notes", notes, 2),
                self.recording("sampled", plain, 2, options=("-m", "sampled", "--rate", 700)),
                self.recording("cpp", built("boxes.cpp"), 23, 3, 5),
                *(GOLDEN / "allo" / name for name in RECORDINGS)]

    def exact_recordings(self):
        return [path for path in self.recordings() if "sampled" not in path.name]

    def plain_recordings(self):
        """Those without frees of blocks that are not known."""
        return [path for path in self.exact_recordings() if "shuffled" not in path.name]

    def profiles(self):
        return [GOLDEN / name for name in PROFILES]

    def each_file(self, paths, check):
        """Calls check(file) for each."""
        for path in paths:
            with self.subTest(path.name):
                file = Viewed(self, path)
                check(file)
                file.server.close()

    def each_question(self, paths, check, rounds=ROUNDS):
        """Calls check(file, question, luck) with random questions about each file, the same in each run."""
        self.each_file(paths, lambda file: self.ask_about(file, check, rounds))

    def ask_about(self, file, check, rounds=ROUNDS):
        luck = random.Random(f"{RANDOM} {file.path.name}")
        names = file.names()
        for _ in range(rounds):
            filters, options = self.filters(luck, file, names)
            question = Question(luck.choice(file.metrics), self.window(luck, file), filters, options)
            with self.subTest(f"{file.path.name}: {question}"):
                check(file, question, luck)

    def window(self, luck, file):
        """A random range of time, or none."""
        end = file.open.head.get("duration_ns", 0)
        if not end or luck.random() < 0.3:
            return None
        first, last = sorted(luck.randrange(end + 1) for _ in range(2))
        return first, max(last, first + 1)

    def filters(self, luck, file, names):
        """Random filters, and the options of commands that do the same."""
        known = [name for name, _ in names if name and not set(name) & set("[/\n")] or ["main"]
        name = luck.choice(known)
        choices = [([], []), (["full"], []), ([f"focus:fn:={name}"], ["-F", f"fn:={name}"]),
                   ([f"ignore:fn:={name}"], ["-I", f"fn:={name}"]), ([f"hide:fn:={name}"], ["-H", f"fn:={name}"]),
                   ([f"show:{name[:1]}"], ["--show", name[:1]])]
        for thread in file.open.head.get("threads", ())[:3]:
            choices.append(([f"thread:{thread['id']}"], ["--thread", thread["id"]]))
        if file.open["has"]["labels"]:
            choices += [(["label:request=upload"], ["-L", "request=upload"]), (["label:request"], ["-L", "request"])]
        return luck.choice(choices)

    def command(self, file, question, *words):
        return self.allo_json(*words, *question.options, "-q", file.path)


class Sums(ViewTest):
    """Trees, tables, callers and callees, and searches."""

    def test_of_recordings(self):
        self.each_question(self.recordings(), self.check)

    def test_of_profiles(self):
        self.each_question(self.profiles(), self.check)

    def check(self, file, question, luck):
        names = file.names()
        paths = self.check_tree(file, question, names)
        self.check_inverted(file, question, paths, names)
        self.check_ages(file, question)
        self.check_left_out(file, question, paths)
        for by in ("function", "site", "file", "module", "address", "leaf"):
            self.check_table(file, question, by, names)
        self.check_pages(file, question, luck)
        calls = sorted({call for path in paths for call in path})
        for call in luck.sample(calls, min(3, len(calls))):
            self.check_peek(file, question, paths, names, call)
            self.check_pivot(file, question, paths, call)
        for path in luck.sample(sorted(paths), min(3, len(paths))):
            self.check_root(file, question, paths, path)
        self.check_search(file, question, paths, names, luck)

    def named(self, paths, names):
        """Paths by names, which two calls may share."""
        return sorted(([names[call] for call in path], *sums) for path, sums in paths.items() if sums[1] or not path)

    def nodes(self, file, question, *options):
        """The same of `allo tree`."""
        nodes, found = {0: []}, []
        for node in self.command(file, question, "tree", "--min", 0, "-M", question.metric, *options)["nodes"]:
            if "parent" in node:
                nodes[node["id"]] = [*nodes[node["parent"]], (node["name"], node["file"])]
            if node["total"] or not node["id"]:
                found.append((nodes[node["id"]], node["self"], node["total"]))
        return sorted(found)

    def check_tree(self, file, question, names):
        paths = file.paths(**question.sums)
        reply = file.ask("tree", **question.sums)
        self.assertEqual(self.named(paths, names), self.nodes(file, question))
        self.assertEqual(reply["sum"], paths[()][1])
        self.assertEqual(reply["sum"], sum(own for own, _ in paths.values()))
        whole = self.allo_json("top", "-n", 0, "-M", question.metric, "-q", *[
            option for option in question.options if question.window and option in ("--range", question.options[-1])],
            file.path)["sum"]
        if not any(name.startswith("thread:") for name in question.filters):
            self.assertEqual(reply["whole"], whole)
        return paths

    def check_inverted(self, file, question, paths, names):
        up = file.paths(**question.sums, invert=True)
        self.assertEqual(with_values({path: (0, total) for path, (_, total) in up.items()}),
                         {path: (0, total) for path, (_, total) in inverted(paths).items()})
        self.assertEqual(self.named(up, names), self.nodes(file, question, "-i"))

    def check_ages(self, file, question):
        """The average age of a node's blocks: two sums of its own."""
        reply = file.ask("tree", **question.sums, least=0, age=True)
        self.assertNotIn("age", file.ask("tree", **question.sums).columns)
        if not {"lifetime", "alloc_blocks"} <= set(file.metrics):
            self.assertNotIn("age", reply.columns)
            return
        lives, blocks = (file.paths(**{**question.sums, "metric": metric}) for metric in ("lifetime", "alloc_blocks"))
        path = []
        for call, depth, age in reply.rows("call", "depth", "age"):
            path = [*path[:depth - 1], call] if depth else []
            count = blocks.get(tuple(path), (0, 0))[1]
            expected = lives[tuple(path)][1] / count if count else -1
            self.assertLessEqual(abs(age - expected), 1e-12 * abs(expected), path)

    def check_left_out(self, file, question, paths):
        """Children, the rest that is left out, and the node itself are its total."""
        for least in (0.02, 0.3):
            reply = file.ask("tree", **question.sums, least=least)
            parents, children, counts = [], collections.Counter(), collections.Counter()
            for row, (depth, total) in enumerate(reply.rows("depth", "total")):
                parents[depth:] = [row]
                if depth:
                    children[parents[depth - 1]] += total
                    counts[parents[depth - 1]] += 1
            for row, (own, total, rest, more) in enumerate(
                    reply.rows("self", "total", "left_out_value", "left_out")):
                self.assertEqual(own + children[row] + rest, total)
                if not more:
                    self.assertEqual(rest, 0)
            self.assertEqual(reply["total"][0], paths[()][1])
            self.assertLessEqual(len(reply["call"]), len(paths))

    def check_table(self, file, question, by, names):
        reply = file.ask("table", **question.sums, by=by, most=1000000)
        theirs = self.command(file, question, "top", "-n", 0, "--by", by, "-M", question.metric)
        self.assertEqual(reply["sum"], [theirs["sum"]])
        self.assertEqual(reply["rows"], theirs["row_count"])
        own, total = reply[f"self.{question.metric}"], reply[f"total.{question.metric}"]
        rows = [(names[call][0] if call else name, line, *sums)
                for call, line, name, *sums in zip(reply["call"], reply["line"], reply["name"], own, total)]
        self.assertEqual(sorted(rows), sorted(
            (row["name"], row.get("line", 0), row["self"], row["total"]) for row in theirs["rows"]), by)
        self.assertEqual(sum(own) + theirs["frameless"], theirs["sum"])

    def check_pages(self, file, question, luck):
        """Pages are parts of the whole table, in every order."""
        column = f"self.{question.metric}"
        for sort in ("self", "total", "name", "change"):
            for ascending in (False, True):
                asked = {**question.sums, "by": "function", "sort": sort, "ascending": ascending}
                all_rows = file.ask("table", **asked, most=1000000)
                whole = all_rows.rows("call", "name", column, f"total.{question.metric}")
                most = luck.randrange(1, len(whole) + 2)
                pages = [row for start in range(0, len(whole) + 1, most) for row in
                         file.ask("table", **asked, offset=start, most=most).rows(
                             "call", "name", column, f"total.{question.metric}")]
                self.assertEqual(pages, whole)
                keys = {"self": [row[2] for row in whole], "total": [row[3] for row in whole],
                        "change": [abs(row[2]) for row in whole]}.get(sort)
                if keys:
                    self.assertEqual(keys, sorted(keys, reverse=not ascending))
        self.assertEqual(file.ask("table", **question.sums, offset=1 << 40)["call"], [])
        self.assertEqual(file.ask("table", **question.sums, most=0)["call"], [])

    def edges(self, reply, names, is_callee):
        return sorted((names[call], total) for call, total, callee in reply.rows("call", "total", "is_callee")
                      if callee == is_callee)

    def check_peek(self, file, question, paths, names, call):
        reply = file.server.ask("peek", **question.sums, call=call)
        if reply.error:
            self.assertIn("function with a name", reply.error["message"])
            return
        passing = [(path, own) for path, (own, _) in paths.items() if call in path]
        self.assertEqual(reply.head["total"], sum(own for _, own in passing))
        found = self.command(file, question, "peek", f"fn:={names[call][0]}", "-n", 0, "-M", question.metric)
        matches = [match for match in found["matches"] if (match["name"], match.get("file", "")) == names[call]]
        if not matches:
            self.assertEqual(reply.head["total"], 0)
            return
        self.assertEqual((reply.head["self"], reply.head["total"], reply.head["outermost"]),
                         (matches[0]["self"], matches[0]["total"], matches[0]["outermost"]))
        for is_callee, key in ((0, "callers"), (1, "callees")):
            self.assertEqual(self.edges(reply, names, is_callee),
                             sorted((self.call_of(row), row["total"]) for row in matches[0][key]))

    @staticmethod
    def call_of(row):
        """As names() has it: an unknown function is call 0."""
        return ("", "") if row["name"] == "???" else (row["name"], row.get("file", ""))

    def check_pivot(self, file, question, paths, call):
        """The callees of its outermost calls, and the callers of its innermost ones."""
        passing = [(path, own) for path, (own, _) in paths.items() if call in path and own]
        below = trees_of((path[path.index(call):], own) for path, own in passing)
        above = inverted(trees_of((path[:len(path) - path[::-1].index(call)], own) for path, own in passing))
        self.assertEqual(with_values(file.paths(**question.sums, pivot=call)), below)
        found = with_values(file.paths(**question.sums, pivot=call, invert=True))
        self.assertEqual({path: total for path, (_, total) in found.items()},
                         {path: total for path, (_, total) in above.items()})

    def check_root(self, file, question, paths, root):
        branch = with_values(file.paths(**question.sums, root=list(root)))
        self.assertEqual(branch, trees_of((path, own) for path, (own, _) in paths.items()
                                          if own and path[:len(root)] == root))
        up = file.paths(**question.sums, root=list(root), invert=True)
        self.assertEqual(up[()][1], paths[root][1])

    def check_search(self, file, question, paths, names, luck):
        """The functions with a name, and the sum of all stacks that have a matching call."""
        name = luck.choice([name for name, _ in names if name and not set(name) & set("[/\n")] or ["main"])
        reply = file.ask("search", **question.sums, text=f"fn:={name}", most=1000000)
        found = {call for call, (other, _) in enumerate(names) if other == name}
        self.assertLessEqual(set(reply["call"]), found)
        self.assertEqual(reply["value"], sum(own for path, (own, _) in paths.items() if found & set(path)))
        for call, total in reply.rows("call", "total"):
            self.assertEqual(total, sum(own for path, (own, _) in paths.items() if call in path))
        part = file.ask("search", **question.sums, text=name[:3], most=1000000)
        self.assertEqual(part["total"], sorted(part["total"], reverse=True))
        self.assertGreaterEqual(part["value"], max(part["total"], default=0))
        self.assertEqual(file.ask("search", **question.sums, text=name[:3], most=1)["call"], part["call"][:1])
        if question.filters == ["full"] and name.isidentifier():
            theirs = self.command(file, question, "top", "-F", name[:3], "-M", question.metric)
            self.assertEqual(part["value"], theirs["sum"])


PRESETS = ("total-bytes", "total-blocks", "tiny", "short-lived", "unused-bytes", "unused-blocks", "low-access-bytes",
           "low-access-blocks", "peak-bytes", "end-bytes", "reads", "high-reads", "writes", "high-writes")
# Columns of the ask "dhat", and the metrics that they may show.
DHAT_FIELDS = {"total_bytes": ("alloc_bytes", "copy_bytes", "units", "samples"), "total_blocks": ("alloc_blocks",
               "copy_blocks", "events"), "lifetime": ("lifetime",), "peak_bytes": ("peak_bytes",),
               "peak_blocks": ("peak_blocks",), "end_bytes": ("end_bytes", "live_bytes"),
               "end_blocks": ("end_blocks", "live_blocks"), "read_bytes": ("read_bytes",),
               "write_bytes": ("write_bytes",)}
DHAT_COLUMNS = ("number", "of", "children", "points", "significant", "merged", "first_call", "calls")
DHAT_FILES = ("dhat/valgrind-heap.json", "dhat/valgrind-cpp.json", "dhat/dhat-rs-heap.json", "pprof/go-heap.pb.gz",
              "heaptrack/demo.zst", "folded/dhat-total-bytes.folded")


class Presets(ViewTest):
    """The tree of DHAT's viewer is that of `allo tree --dhat`."""

    def test_of_recordings(self):
        self.each_question(self.recordings(), self.check, 3)

    def test_of_profiles(self):
        self.each_question([GOLDEN / name for name in DHAT_FILES], self.check, 3)

    def check(self, file, question, luck):
        names = file.names()
        for preset in file.open["presets"]:
            theirs = self.command(file, question, "tree", "--dhat", "--sort", preset)
            reply = file.ask("dhat", **question.members, preset=preset)
            self.assertEqual((reply["preset"], reply["min_percent"]), (preset, theirs["min_percent"]))
            is_filtered = question.filters != ["full"]  # the command then shows no accesses
            self.assertEqual([node[:9 if is_filtered else 10] for node in self.nodes(reply, names)],
                             [self.node(node)[:9 if is_filtered else 10] for node in theirs["nodes"]], preset)
        missing = luck.choice([name for name in PRESETS if name not in file.open["presets"]] or ["nonsense"])
        self.assertEqual(file.server.ask("dhat", preset=missing).error["code"], "usage")

    def nodes(self, reply, names):
        parents, found = [], []
        runs = iter(reply.rows("run_length", "run_count") if "runs" in reply.columns else ())
        accesses = [[next(runs) for _ in range(count)] for count in reply.columns.get("runs", ())]
        for row, (number, of, children, points, significant, merged, first, count) in enumerate(
                reply.rows(*DHAT_COLUMNS)):
            depth = reply["depth"][row]
            parents[depth:] = [row]
            calls = zip(reply["call"][first:first + count], reply["line"][first:first + count])
            values = {field: reply[field][row] for field in DHAT_FIELDS if field in reply.columns}
            found.append((parents[depth - 1] if depth else None, number, of, children, points, bool(significant), merged,
                          [(*names[call], line) for call, line in calls], values, accesses[row] if accesses else []))
        self.assertEqual(list(runs), [])
        return found

    def node(self, node):
        values = {field: node["values"][name] for field, all_names in DHAT_FIELDS.items() for name in all_names
                  if name in node["values"]}
        return (node.get("parent"), node["number"], node["of"], node["children"], node["points"], node["significant"],
                node.get("merged", 0), [(call["name"], call["file"], call["line"]) for call in node["calls"]], values,
                [tuple(run) for run in node.get("accesses", [])])

    def test_all_14_are_offered_for_dhat_files(self):
        file = Viewed(self, GOLDEN / "dhat" / "valgrind-heap.json")
        self.assertEqual(tuple(file.open["presets"]), PRESETS)

    def test_accesses_by_byte_are_those_of_the_file(self):
        path = GOLDEN / "dhat" / "valgrind-heap.json"
        points = [point["acc"] for point in json.loads(path.read_text())["pps"] if "acc" in point]
        file = Viewed(self, path)
        nodes = self.nodes(file.ask("dhat", least=0, filters=["full"]), file.names())
        expected = {tuple(itertools.chain(*(-length * [count] for length, count in zip(runs[::2], runs[1::2]))))
                    for runs in points}
        self.assertEqual({tuple(itertools.chain(*(int(length) * [count] for length, count in node[-1])))
                          for node in nodes if node[-1]}, expected)

    def test_joined_points_have_no_accesses(self):
        dhat = json.loads((GOLDEN / "dhat" / "valgrind-heap.json").read_text())
        point = next(point for point in dhat["pps"] if "acc" in point)
        dhat["ftbl"] += ["0x1: one (a.c:1)", "0x2: two (a.c:2)", "0x3: root (a.c:3)"]
        dhat["pps"] = [{**point, "fs": [len(dhat["ftbl"]) - 3 + number, len(dhat["ftbl"]) - 1]} for number in (0, 1)]
        file = Viewed(self, self.file("joined.json", json.dumps(dhat)))
        for filters, runs in ((["full"], 2), (["full", "hide:fn:=one"], 2), (["full", "show:fn:=root"], 0)):
            reply = file.ask("dhat", least=0, filters=filters)
            self.assertEqual(sum(count > 0 for count in reply.columns.get("runs", ())), runs, filters)

    def test_recordings_offer_those_without_accesses(self):
        file = Viewed(self, GOLDEN / "allo" / "server.allo")
        self.assertEqual(file.open["presets"], ["total-bytes", "total-blocks", "tiny", "short-lived", "peak-bytes",
                                                "end-bytes"])

    def test_every_remainder_opens_until_there_is_none(self):
        self.each_file([GOLDEN / "dhat" / "valgrind-heap.json", GOLDEN / "allo" / "server.allo"], self.check_remainders)

    def check_remainders(self, file):
        """Nodes, sums and points stay the same while merged nodes become single ones."""
        for preset in file.open["presets"]:
            asked = {"preset": preset, "filters": ["full"]}
            opened, reply = [], file.ask("dhat", **asked)
            while any(reply["merged"]):
                row = next(row for row, merged in enumerate(reply["merged"]) if merged)
                parent = max(above for above in range(row) if reply["depth"][above] == reply["depth"][row] - 1)
                merged, siblings = reply["merged"][row], reply["children"][parent]
                opened += [reply["point"][parent], reply["depth"][parent]]
                reply = file.ask("dhat", **asked, open=opened)
                again = next(row for row, place in enumerate(reply.rows("point", "depth")) if place == tuple(opened[-2:]))
                self.assertEqual(reply["children"][again], siblings - 1 + merged, (preset, opened))
            plain = {"read_bytes": "reads", "write_bytes": "writes"}.get(reply["key"], reply["key"].replace("_", "-"))
            whole = file.ask("dhat", preset=plain, least=0, filters=["full"])
            self.assertEqual(reply["points"][0], whole["points"][0])
            self.assertEqual(sum(count == 0 for count in reply["children"]),
                             sum(count == 0 for count in whole["children"]))

    def test_a_threshold_is_a_share(self):
        file = Viewed(self, GOLDEN / "dhat" / "valgrind-cpp.json")
        for least in (0, 0.002, 0.3):
            theirs = self.allo_json("tree", "--dhat", "--sort", "peak-bytes", "--min", 100 * least, "-q", file.path)
            reply = file.ask("dhat", preset="peak-bytes", least=least, filters=["full"])
            self.assertEqual(self.nodes(reply, file.names()), [self.node(node) for node in theirs["nodes"]])

    def test_a_search_marks_nodes_and_the_way_to_them(self):
        file = Viewed(self, GOLDEN / "dhat" / "valgrind-cpp.json")
        names = file.names()
        text = next(name for name, _ in names if name.startswith("main"))[:4]
        reply = file.ask("dhat", preset="total-bytes", search=f"fn:{text}")
        nodes = self.nodes(reply, names)
        found = [any(text in name for name, *_ in node[7]) for node in nodes]
        self.assertEqual([match & 1 for match in reply["match"]], found)
        self.assertEqual(reply["matches"], sum(found))
        self.assertGreater(reply["matches"], 0)
        above = {node[0] for node, is_match in zip(nodes, reply["match"]) if is_match} - {None}
        self.assertEqual({row for row, match in enumerate(reply["match"]) if match & 2}, above)


class Compared(ViewTest):
    def test_two_ranges_are_two_tables(self):
        """The values before are those of a request about the base alone."""
        self.each_question(self.recordings(), self.check)

    def check(self, file, question, luck):
        window = self.window(luck, file) or (0, 0)
        base = {"from": window[0], "to": window[1]}
        self.check_tables(file, question, base)
        self.check_trees(file, question, base)

    def keyed(self, reply, *columns):
        return {(call, name): sums for call, name, *sums in reply.rows("call", "name", *columns) if any(sums)}

    def check_tables(self, file, question, base):
        metric = question.metric
        both = file.ask("table", **question.sums, base=base, most=1000000)
        now = file.ask("table", **question.sums, most=1000000)
        before = file.ask("table", **{**question.sums, **base}, most=1000000)
        columns = f"self.{metric}", f"total.{metric}"
        self.assertEqual(self.keyed(both, *columns), self.keyed(now, *columns))
        self.assertEqual(self.keyed(both, *("before." + column for column in columns)), self.keyed(before, *columns))
        self.assertNotIn(f"before.self.{metric}", now.columns)
        changes = file.ask("table", **question.sums, base=base, sort="change", most=1000000)
        sizes = [abs(own - past) for own, past in changes.rows(columns[0], "before." + columns[0])]
        self.assertEqual(sizes, sorted(sizes, reverse=True))

    def check_trees(self, file, question, base):
        reply = file.ask("tree", **question.sums, base=base, least=0)
        before = file.ask("tree", **{**question.sums, **base}, least=0)
        self.assertEqual(reply["before_total"][0], before["total"][0])
        self.assertEqual(sum(reply["before_self"]), sum(before["self"]))
        self.assertEqual(sum(reply["self"]), reply["total"][0])

    def test_several_metrics_are_several_tables(self):
        """A function may have no value of one of them."""
        self.each_question(self.recordings(), self.check_metrics, 2)

    def check_metrics(self, file, question, luck):
        whole = {**question.members, "by": "site", "most": 1000000, "metric": question.metric}
        together = file.ask("table", **whole, metrics=file.metrics)
        for metric in file.metrics:
            columns = ("name", "place", f"self.{metric}", f"total.{metric}")
            alone = file.ask("table", **{**whole, "metric": metric})
            self.assertEqual(sorted(row for row in together.rows(*columns) if any(row[2:])),
                             sorted(row for row in alone.rows(*columns) if any(row[2:])), metric)

    def test_a_profile_without_times_has_no_base(self):
        file = Viewed(self, GOLDEN / PROFILES[0])
        error = file.server.ask("table", base={"from": 0, "to": 0}).error
        self.assertEqual(error["code"], "usage")
        self.assertIn("no time axis", error["message"])


class Database(ViewTest):
    """SQL counts the same."""

    def sql(self, path, query):
        return self.allo_json("sql", "--no-cache", "-q", path, query)["rows"]

    def test_sums_of_all_metrics(self):
        self.each_file([*self.recordings(), *self.profiles()], self.check_sums)

    def check_sums(self, file):
        sums = dict(self.sql(file.path, "select m.name, sum(s.value) from sample s join metric m on m.id = s.metric "
                                        "where m.adds_up group by 1"))
        for metric in file.metrics:
            if metric in sums:
                reply = file.ask("tree", metric=metric, filters=["full"], least=0)
                self.assertEqual((metric, reply["sum"], reply["whole"]), (metric, sums[metric], sums[metric]))

    def test_blocks_of_ranges(self):
        self.each_file(self.exact_recordings(), self.check_ranges)

    def check_ranges(self, file):
        blocks = self.sql(file.path, "select size, alloc_ns, free_ns, coalesce(first_ns, alloc_ns), is_resized_on "
                                     "from allocation")
        self.assertGreater(len(blocks), 0)
        self.ask_about(file, lambda file, question, luck: self.check_blocks(file, question.window or (0, NEVER), blocks))

    def check_blocks(self, file, window, blocks):
        asked = {"from": window[0], "to": window[1] if window[1] < NEVER else 0, "filters": ["full"]}
        start, end = window
        made = [size for size, alloc, *_ in blocks if start <= alloc < end]
        sizes = file.ask("sizes", **asked)
        self.assertEqual((sizes["all_blocks"], sizes["all_bytes"]), (len(made), sum(made)))
        self.check_bins(sizes, [(size, size) for size in made])
        counts = sorted(collections.Counter(made).items(), key=lambda item: (-item[1], item[0]))
        self.assertEqual(sizes.rows("size", "size_blocks"), counts[:20])
        lives = [(free - first, size) for size, _, free, first, resized in blocks
                 if first >= start and free < end and not resized]
        reply = file.ask("lifetimes", **asked)
        self.check_bins(reply, lives)
        self.assertEqual(reply["all_blocks"], len(lives))
        live = [size for size, alloc, free, first, _ in blocks if first >= start and alloc < end <= free]
        self.assertEqual((reply["live_blocks"], reply["live_bytes"]), (len(live), sum(live)))
        heat = file.ask("heat", **asked)
        self.assertEqual((sum(heat["blocks"]), sum(heat["bytes"])), (len(lives), sum(size for _, size in lives)))
        self.assertEqual(sorted(zip(*(heat[name] for name in ("low_size", "low_life", "blocks")))),
                         sorted((*key, count) for key, count in collections.Counter(
                             (self.power(size), self.power(life)) for life, size in lives).items()))

    @staticmethod
    def power(value):
        """The lowest value of its bin: bins end at 0, 1, 2, 4, 8, ..."""
        return value if value < 2 else (1 << (value - 1).bit_length() - 1) + 1

    def check_bins(self, reply, pairs):
        """`pairs` are values to group by, and sizes."""
        for low, high, blocks, held in reply.rows("low", "high", "blocks", "bytes"):
            inside = [size for value, size in pairs if low <= value <= high]
            self.assertEqual((blocks, held), (len(inside), sum(inside)), (low, high))
        self.assertEqual(sum(reply["blocks"]), len(pairs))


class Single(ViewTest):
    """Leaks, threads, blocks and times."""

    def test_leaks(self):
        self.each_question(self.recordings(), self.check_leaks)
        self.each_question([GOLDEN / name for name in LEAKY_PROFILES], self.check_leaks, 2)

    def check_leaks(self, file, question, luck):
        names = file.names()
        reply = file.ask("leaks", **question.members, most=1000000)
        theirs = self.command(file, question, "leaks", "-n", 0, "--depth", 0)
        self.assertEqual(tuple(reply.head[name] for name in ("rows", "bytes", "blocks")),
                         (theirs["leak_count"], theirs["sum"], theirs.get("sum_blocks", 0)))
        kinds = ("start", "growing", "later", "runtime", None)
        ours = []
        for row in range(reply["rows"]):
            stack = file.ask("stack", **question.members, stack=reply["stack"][row])
            ours.append((reply.columns["bytes"][row], reply.columns["blocks"][row], kinds[reply["kind"][row]],
                         reply["first_ns"][row], reply["last_ns"][row], reply["births"][10 * row:10 * row + 10],
                         [names[call][0] for call in stack["call"]]))
        self.assertEqual(sorted(ours, key=str), sorted((
            (leak["total"], leak.get("total_blocks", 0), leak.get("kind"), leak.get("first_ns", -1),
             leak.get("last_ns", -1), leak.get("births", [0] * 10), [frame["name"] for frame in leak["frames"]])
            for leak in theirs["leaks"]), key=str))
        # JSON has ten digits.
        for growth, expected in zip(sorted(reply["growth"]), sorted(leak.get("growth", 0) for leak in theirs["leaks"])):
            self.assertAlmostEqual(growth, expected, delta=abs(expected) * 1e-8)
        self.assertEqual(file.ask("leaks", **question.members, most=1, offset=1)["stack"], reply["stack"][1:2])
        for kind in ("start", "growing", "later", "runtime"):
            part = file.ask("leaks", **question.members, kinds=[kind], most=1000000)
            self.assertEqual(part["rows"], sum(row[2] == kind for row in ours))

    def test_suppressed_leaks(self):
        """Patterns hide the same stacks as a file of `allo leaks --suppressions`."""
        self.each_question(self.recordings(), self.check_suppressed, 3)
        self.each_question([GOLDEN / name for name in LEAKY_PROFILES], self.check_suppressed, 2)

    def check_suppressed(self, file, question, luck):
        known = [name for name, _ in file.names() if name and not set(name) & set("*$\n")] or ["main"]
        patterns = [f"^{luck.choice(known)}$", luck.choice(known)[:2], "nothing has this name"]
        path = self.file("some.supp", "".join(f"leak:{pattern}\n" for pattern in patterns))
        theirs = self.command(file, question, "leaks", "-n", 0, "--suppressions", path)
        members = {**question.members, "filters": question.filters + [f"suppress:{text}" for text in patterns]}
        reply = file.ask("leaks", **members, most=1000000)
        self.assertEqual(tuple(reply.head[name] for name in ("rows", "bytes", "blocks")),
                         (theirs["leak_count"], theirs["sum"], theirs.get("sum_blocks", 0)))
        self.assertEqual(sorted(reply.columns["bytes"]), sorted(leak["total"] for leak in theirs["leaks"]))
        self.assertEqual(reply.rows("suppressed", "suppressed_bytes", "suppressed_blocks", "suppressed_stacks"),
                         [(found["pattern"], found["hidden"], found.get("hidden_blocks", 0), found["stacks"])
                          for found in theirs["suppressions"]])
        for stack in reply["stack"]:
            file.ask("stack", **members, stack=stack)

    def test_threads(self):
        self.each_question(self.plain_recordings(), self.check_threads)

    def check_threads(self, file, question, luck):
        if question.filters not in ([], ["full"]) and not question.filters[0].startswith("thread:"):
            return  # `allo threads` has no other filters
        options = [option for option in question.options if "keep-" not in str(option) and "trim-" not in str(option)]
        theirs = self.allo_json("threads", "-n", 0, "-q", *options, file.path)
        reply = file.ask("threads", **{**question.members, "filters": [
            *(name for name in question.filters if name != "full"), "full"]})
        matrix = reply.rows("from", "to", "freed_blocks", "freed_bytes")
        ours = {}
        for row, (tid, name, *sums) in enumerate(reply.rows(
                "id", "name", "alloc_blocks", "alloc_bytes", "live_bytes", "temporary_blocks", "frees_own",
                "frees_other")):
            by_others = sum(blocks for maker, freer, blocks, _ in matrix if maker == row != freer)
            frees = sum(blocks for _, freer, blocks, _ in matrix if freer == row)
            self.assertEqual(frees, sums[4] + sums[5])
            if any(sums) or by_others:
                ours[tid, name] = (*sums[:4], sums[4] + sums[5], sums[5], by_others)
        rows = {(row["tid"], row["name"]): (row["allocations"], row["alloc_bytes"], row["end_bytes"],
                                            row["temporary_blocks"], row["frees"], row["frees_of_others"],
                                            row["freed_by_others"]) for row in theirs["threads"]}
        self.assertEqual(ours, {key: row for key, row in rows.items() if any(row)})

    def test_blocks(self):
        self.each_question(self.recordings(), self.check_blocks)

    def check_blocks(self, file, question, luck):
        text = self.allo("blocks", "-n", 0, "--sort", "time", "--json", "-q", *question.options, file.path)
        theirs = [json.loads(line) for line in text.splitlines()]
        reply = file.ask("blocks", **question.members, most=100000, sort="alloc", ascending=True)
        self.assertEqual((reply["rows"], reply["bytes"]), (len(theirs), sum(row["size"] for row in theirs)))
        tids = [0, *(thread["id"] for thread in file.open["threads"])]
        ours = [(*row, tids[alloc], tids[free]) for *row, alloc, free in reply.rows(
            "number", "alloc_ns", "free_ns", "size", "alloc_thread", "free_thread")]
        self.assertEqual(sorted(ours), sorted((row["number"], row["alloc_ns"], row.get("free_ns", -1), row["size"],
                                               row["tid"], row.get("free_tid", 0)) for row in theirs))
        self.check_block_order(file, question, luck, ours)
        places = {stack: (site, place) for stack, site, place in
                  file.ask("leaks", **question.members, most=100000).rows("stack", "site", "place")}
        for stack, site, place in reply.rows("stack", "site", "place"):
            self.assertEqual(places.get(stack, (site, place)), (site, place))
        if not file.open["has"]["sampled"]:
            self.check_places_of_sizes(file, question, reply)
        for site in set(reply["site"]) - {0}:
            part = file.ask("blocks", **question.members, most=100000, site=site)
            self.assertEqual(part["rows"], reply["site"].count(site))
        if theirs:
            low, high = sorted(luck.choice(theirs)["size"] for _ in range(2))
            part = file.ask("blocks", **question.members, size_from=low, size_to=high)
            self.assertEqual(part["rows"], sum(low <= row["size"] <= high for row in theirs))
            at = luck.choice(theirs)["alloc_ns"]
            part = file.ask("blocks", **question.members, at=at)
            self.assertEqual(part["rows"], sum(row["alloc_ns"] <= at < row.get("free_ns", NEVER) for row in theirs))

    def check_places_of_sizes(self, file, question, blocks):
        """The line that allocates the most blocks of a size."""
        begin, end = question.window or (0, NEVER)
        places = collections.defaultdict(collections.Counter)
        for size, place, site, ns in blocks.rows("size", "place", "site", "alloc_ns"):
            if begin <= ns < end:
                places[size][place, site] += 1
        sizes = file.ask("sizes", **question.members)
        for size, place, site in sizes.rows("size", "size_place", "size_call"):
            self.assertEqual(places[size][place, site], max(places[size].values()), (size, place, site))

    def check_block_order(self, file, question, luck, ours):
        keys = {"size": lambda row: row[3], "alloc": lambda row: row[1],
                "free": lambda row: row[2] if row[2] >= 0 else NEVER,
                "lifetime": lambda row: row[2] - row[1] if row[2] >= 0 else NEVER}
        for sort, key in keys.items():
            for ascending in (False, True):
                wanted = sorted(ours, key=lambda row: (key(row) if ascending else -key(row), row[0]))
                first, most = luck.randrange(len(ours) + 1), luck.randrange(30)
                reply = file.ask("blocks", **question.members, sort=sort, ascending=ascending, offset=first, most=most)
                self.assertEqual(reply["number"], [row[0] for row in wanted[first:first + most]])

    def test_chains_of_reallocs(self):
        """Against the events of the recording."""
        self.each_file(self.plain_recordings(), self.check_chains)

    def check_chains(self, file):
        live, chains, numbers = {}, collections.defaultdict(list), itertools.count(1)
        for event in (json.loads(line) for line in self.allo("events", "--json", "-q", file.path).splitlines()):
            block = event.get("block", event.get("pointer"))
            before = event.get("old_block", event.get("old_pointer")) if event["event"] == "realloc" else block
            chain = live.pop(before, None)
            if event["event"] in ("alloc", "realloc"):
                number = next(numbers)
                live[block] = chain if chain and event["event"] == "realloc" else number
                chains[live[block]].append((number, event["size"]))
        longest = max(chains, key=lambda first: len(chains[first]))
        for first in {longest, *list(chains)[:3]}:
            reply = file.ask("blocks", chain=first, sort="reallocs", ascending=True)
            self.assertEqual(reply.rows("number", "size", "chain", "reallocs"),
                             [(number, size, first, step) for step, (number, size) in enumerate(chains[first])])
        reply = file.ask("blocks", sort="reallocs", most=1)
        self.assertEqual(reply["reallocs"], [len(chains[longest]) - 1])

    def test_timelines(self):
        """Against the heap behind each event of the recording."""
        self.each_file(self.plain_recordings(), self.check_timelines)

    def check_timelines(self, file):
        lives = Lives([json.loads(line) for line in self.allo("events", "--json", "-q", file.path).splitlines()])
        self.ask_about(file, lambda file, question, luck: self.check_timeline(
            file, question.window, luck.randrange(1, 200), lives))

    def check_timeline(self, file, window, steps, lives):
        asked = {"from": window[0], "to": window[1]} if window else {}
        reply = file.ask("timeline", steps=steps, **asked)
        ends = [*reply["ns"][1:], reply["to"]]
        self.assertEqual(reply["ns"], [reply["from"] + i * reply["step_ns"] for i in range(len(ends))])
        self.assertLessEqual(len(ends), steps)
        heap = list(lives.heap())
        for row, (start, end) in enumerate(zip(reply["ns"], ends)):
            is_last = row == len(ends) - 1 and not window
            inside = [state for state in heap if start <= state[0] and (state[0] < end or is_last)]
            before = [state for state in heap if state[0] < start][-1:] or [(0, 0, 0)]
            levels = [state[1] for state in before + inside]
            last = (before + inside)[-1]
            self.assertEqual([reply[name][row] for name in ("min", "max", "end", "blocks")],
                             [min(levels), max(levels), last[1], last[2]], (row, start, end))
            made = [block for block in lives.blocks if start <= block.alloc_ns and (block.alloc_ns < end or is_last)]
            ended = [block for block in lives.blocks if start <= block.free_ns < NEVER // 2 and
                     (block.free_ns < end or is_last)]
            self.assertEqual([reply[name][row] for name in ("allocs", "frees", "alloc_bytes")],
                             [len(made), len(ended), sum(block.size for block in made)])
        self.assertEqual(reply["peak"]["bytes"], max(reply["max"]))

    def test_peaks(self):
        self.each_file(self.recordings(), self.check_peak)

    def check_peak(self, file):
        theirs = self.allo_json("timeline", "-q", file.path)
        reply = file.ask("timeline")
        self.assertEqual(reply["peak"], {"ns": theirs["peak_ns"], "bytes": theirs["peak_bytes"],
                                         "blocks": theirs["peak_blocks"]})
        for ours, key in (("allocs", "allocations"), ("frees", "frees"), ("alloc_bytes", "alloc_bytes")):
            self.assertEqual(sum(reply[ours]), sum(step[key] for step in theirs["steps"]))


class History(ViewTest):
    """Live memory by function, at equal distances in time."""

    def test_moments_have_the_live_memory(self):
        self.each_question(self.recordings(), self.check_moments)

    def check_moments(self, file, question, luck):
        steps, most = luck.randrange(1, 8), luck.randrange(5)
        reply = file.ask("history", **question.members, steps=steps, most=most)
        first, end = question.window or (0, file.open["duration_ns"] + 1)
        self.assertEqual(reply["ns"], [max(first + 1, first + int((end - first) * (step + 1) / steps)) for step in range(steps)])
        most_of = collections.defaultdict(float)
        for step, ns in enumerate(reply["ns"]):
            live = collections.Counter()
            for call, own in file.ask("leaks", filters=question.filters, to=int(ns), most=1000000).rows("site", "bytes"):
                live[call] += own
            shown = {call: reply["bytes"][row * steps + step] for row, call in enumerate(reply["call"])}
            for call, own in live.items():
                most_of[call] = max(most_of[call], own)
            self.assertEqual(shown, {call: live.get(call, 0) for call in shown}, ns)
            self.assertEqual(reply["rest"][step], sum(live.values()) - sum(shown.values()), ns)
        self.assertEqual(reply["rows"], len(most_of))
        self.assertEqual([most_of[call] for call in reply["call"]], sorted(most_of.values(), reverse=True)[:most])

    def test_there_is_a_limit(self):
        file = Viewed(self, GOLDEN / "allo" / "server.allo")
        for steps in (0, 1001):
            self.assertEqual(file.server.ask("history", steps=steps).error["code"], "usage")
        profile = Viewed(self, GOLDEN / "dhat" / "valgrind-heap.json")
        self.assertIn("times", profile.server.ask("history").error["message"])


class Generations(ViewTest):
    """Live memory by the segment between marks in which it was allocated."""

    def test_segments_add_up_to_the_leaks(self):
        self.each_question(self.recordings(), self.check_sums)

    def check_sums(self, file, question, luck):
        end = file.open["duration_ns"]
        marks = sorted(luck.randrange(1, end + 1) for _ in range(luck.randrange(5)))
        members = {**question.members, "from": 0}
        reply = file.ask("generations", **members, marks=marks, most=1000000)
        whole = file.ask("leaks", **members, most=1000000)
        edges = [0, *sorted({ns for ns in marks if 0 < ns < members.get("to", end + 1)}), members.get("to", end + 1)]
        self.assertEqual(reply["segment_from"], edges[:-1])
        self.assertEqual(reply["segment_to"], edges[1:])
        sums = [sum(reply[f"segment_{column}"]) for column in ("bytes", "blocks")]
        for ours, theirs in zip(sums, (whole.head["bytes"], whole.head["blocks"])):
            self.assertLessEqual(abs(ours - theirs), len(edges) if file.open["has"]["sampled"] else 0)
        for column in ("bytes", "blocks"):
            rows = reply[column]
            for segment, total in enumerate(reply[f"segment_{column}"]):
                self.assertLessEqual(abs(sum(rows[segment::len(edges) - 1]) - total),
                                     reply["rows"] if file.open["has"]["sampled"] else 0)
        page = file.ask("generations", **members, marks=marks, most=1, offset=1)
        self.assertEqual(page["site"], reply["site"][1:2])

    def test_rows_are_those_of_sql(self):
        self.each_file(self.exact_recordings()[:4], self.check_rows)

    def check_rows(self, file):
        rows = self.allo_json("sql", "--no-cache", "-q", file.path, """
            select f.name, fr.line, a.size, coalesce(a.first_ns, a.alloc_ns), a.alloc_ns, a.free_ns from allocation a
            join stack s on s.id = a.stack join stack c on c.id = s.site join frame fr on fr.id = c.frame
            join function f on f.id = fr.function""")["rows"]
        self.assertGreater(len(rows), 0)
        names, luck = file.names(), random.Random(RANDOM)
        for _ in range(4):
            start, *marks, end = sorted(luck.randrange(1, file.open["duration_ns"]) for _ in range(5))
            reply = file.ask("generations", **{"from": start, "to": end}, marks=marks, most=1000000)
            edges = [start, *sorted(set(marks)), end]
            expected = collections.defaultdict(lambda: [[0, 0] for _ in edges[1:]])
            for name, line, size, birth, made, free in rows:
                if birth >= start and made < end <= free:
                    segment = sum(edge <= birth for edge in edges) - 1
                    expected[name, line][segment][0] += size
                    expected[name, line][segment][1] += 1
            count = len(edges) - 1
            amounts = list(zip(reply["bytes"], reply["blocks"]))
            ours = {(names[call][0], line): [list(amount) for amount in amounts[row * count:(row + 1) * count]]
                    for row, (call, line) in enumerate(reply.rows("site", "line"))}
            self.assertEqual(ours, dict(expected))
            self.assertEqual(dict(zip(ours, reply["repeats"])), {
                site: count >= 2 and all(blocks for _, blocks in amounts) for site, amounts in ours.items()})

    def test_a_leak_of_every_round_repeats(self):
        rounds = built("rounds.c", f"-I{ROOT / 'include'}", RUNTIME, f"-Wl,-rpath,{BUILD / 'capture'}")
        file = Viewed(self, self.recording("rounds", rounds, 4))
        names = file.names()
        reply = file.ask("generations")
        found = {names[call][0]: repeats for call, repeats in reply.rows("site", "repeats")}
        self.assertEqual({name: found[name] for name in ("repeats", "sometimes", "fill_cache", "main")},
                         {"repeats": 1, "sometimes": 0, "fill_cache": 0, "main": 0})
        self.assertEqual(len(reply["segment_from"]), 6)
        self.assertEqual(names[reply["site"][0]][0], "repeats")
        self.assertEqual(reply["blocks"][:6], [0, 1, 1, 1, 1, 0])
        self.assertEqual(reply["bytes"][:6], [0, 1000, 1001, 1002, 1003, 0])
        hidden = file.ask("generations", filters=["suppress:^repeats$"])
        self.assertNotIn("repeats", [names[call][0] for call in hidden["site"]])

    def test_of_many_marks_the_last_ones_count(self):
        file = Viewed(self, GOLDEN / "allo" / "server.allo")
        reply = file.ask("generations", marks=list(range(100, 200)))
        self.assertEqual((len(reply["segment_from"]), reply["marks_left_out"]), (32, 69))
        self.assertEqual(reply["segment_from"], [0, *range(169, 200)])

    def test_a_profile_has_none(self):
        error = Viewed(self, GOLDEN / PROFILES[0]).server.ask("generations").error
        self.assertIn("has no generations", error["message"])


class Names(ViewTest):
    def test_pages_of_names(self):
        self.each_file([*self.recordings()[:1], *self.profiles()], self.check_names)

    def check_names(self, file):
        columns = "call", "name", "full", "file", "line", "module", "kind"
        whole = file.ask("names")
        rows = whole.rows(*columns)
        self.assertEqual(whole["call"], list(range(1, whole["count"] + 1)))
        for most in (len(rows) // 20 + 1, len(rows), len(rows) + 5):
            pages = [row for since in range(1, len(rows) + 1, most)
                     for row in file.ask("names", since=since, most=most).rows(*columns)]
            self.assertEqual(pages, rows)
        chosen = whole["call"][::-2]
        self.assertEqual(file.ask("names", ids=chosen).rows(*columns), [rows[call - 1] for call in chosen])
        self.assertEqual(file.ask("names", since=len(rows) + 1)["call"], [])
        self.assertLessEqual(max(whole["module"]), len(file.open["modules"]))

    def test_calls_keep_their_numbers(self):
        """Filters may cut frames into parts."""
        self.each_file([*self.recordings()[:3], *self.profiles()], self.check_numbers)

    def check_numbers(self, file):
        before = file.names()
        for filters in (["hide:a"], ["show:e"], ["mine"], ["full"]):
            file.ask("tree", filters=filters)
        self.assertEqual(file.names()[:len(before)], before)
