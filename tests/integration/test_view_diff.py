"""Comparisons in the page: each side of a reply is that of a request about this side alone."""
import collections
import json
import random

from allotest import ALLO, GOLDEN
from recordings import built
from test_view import NEVER, RANDOM, ROUNDS, ViewTest
from viewserver import ViewServer

NEW, OLD, BOTH = 0, 1, 2
FILTERS = ([], ["full"], ["focus:fn:=grow"], ["ignore:hand_over"], ["mine"], ["wrappers:none"])
METRICS = ("peak_bytes", "end_bytes", "alloc_bytes", "alloc_blocks")
COUNTERS = ("alloc_blocks", "alloc_bytes", "live_bytes", "temporary_blocks", "frees_own", "frees_other")


def short(path):
    return path.rsplit("/", 1)[-1]


def before(*columns):
    return tuple(f"before_{column}" for column in columns)


def summed(rows):
    """Sums by key of rows of a key and numbers; keys whose numbers are all 0 are left out."""
    sums = collections.defaultdict(lambda: None)
    for key, *numbers in rows:
        sums[key] = [a + b for a, b in zip(sums[key] or [0] * len(numbers), numbers)]
    return {key: tuple(numbers) for key, numbers in sums.items() if any(numbers)}


class Comparison(ViewTest):
    """`allo view NEW OLD`: random ranges of both."""

    def setUp(self):
        super().setUp()
        plain = built("views.c")
        self.paths = self.recording("threads", plain, 3), self.recording("two", plain, 2)
        self.server = ViewServer(self.tmp, *self.paths)
        self.addCleanup(self.server.close)
        self.open = self.ask("open", file=BOTH)
        self.calls = [self.call_names(file) for file in (NEW, OLD, BOTH)]

    def ask(self, ask, **members):
        reply = self.server.ask(ask, **members)
        self.assertIsNone(reply.error, (ask, members))
        return reply

    def call_names(self, file):
        """(full name, file without folders) of each call by number."""
        reply = self.ask("names", file=file)
        return [("", "")] + [(full or name, short(path)) for name, full, path in reply.rows("name", "full", "file")]

    def each_part(self, check):
        luck = random.Random(f"{RANDOM} {self._testMethodName}")
        for i in range(2 * ROUNDS):
            first, last = sorted(luck.randrange(self.open["duration_ns"]) for _ in range(2))
            window = {"from": first, "to": last + 1} if i else {}
            members = {**window, "filters": luck.choice(FILTERS) if i else [], "metric": luck.choice(METRICS)}
            base = {}
            if luck.random() < 0.3:  # the base has its own range
                first, last = sorted(luck.randrange(self.open["before"]["duration_ns"]) for _ in range(2))
                base = {"from": first, "to": last + 1}
            with self.subTest(f"{members} {base}"):
                check(members, {**members, **base}, {"base": {"file": BOTH, **base}} if base else {})

    def test_the_description_has_the_figures_of_both(self):
        new, old = self.ask("open", file=NEW), self.ask("open", file=OLD)
        for key in ("events", "peak", "end", "allocated", "duration_ns"):
            self.assertEqual((self.open[key], self.open["before"][key]), (new[key], old[key]))
        self.assertEqual(self.open["before"]["threads"], len(old["threads"]))
        for data in ("time", "lifetimes", "threads", "sizes", "blocks", "lines", "comparison"):
            self.assertTrue(self.open["has"][data], data)

    def test_timelines(self):
        self.each_part(self.check_timeline)

    def check_timeline(self, members, base, request):
        both = self.ask("timeline", file=BOTH, **members, **request)
        new, old = self.ask("timeline", file=NEW, **members), self.ask("timeline", file=OLD, **base)
        self.assertEqual((both["peak"], both["before"]["peak"]), (new["peak"], old["peak"]))
        for column in ("ns", "min", "max", "end", "blocks", "allocs", "frees", "alloc_bytes"):
            self.assertEqual(both[column], new[column])
            self.assertEqual(both[f"before_{column}"], old[column])

    def test_tables_and_trees(self):
        self.each_part(self.check_table)

    def named(self, file, reply, columns):
        return summed((self.calls[file][call], *numbers) for call, *numbers in reply.rows("call", *columns))

    def check_table(self, members, base, request):
        metric, wide = members["metric"], {"most": 1000000}
        both = self.ask("table", file=BOTH, **members, **request, **wide)
        new, old = self.ask("table", file=NEW, **members, **wide), self.ask("table", file=OLD, **base, **wide)
        columns = (f"self.{metric}", f"total.{metric}")
        self.assertEqual(self.named(BOTH, both, columns), self.named(NEW, new, columns))
        self.assertEqual(self.named(BOTH, both, [f"before.{column}" for column in columns]),
                         self.named(OLD, old, columns))
        self.assertEqual((both["sum"], both["before_sum"]), (new["sum"], old["sum"]))
        tree = self.ask("tree", file=BOTH, **members, **request, least=0)
        self.assertEqual([tree["sum"], tree["before_sum"]], both["sum"] + both["before_sum"])
        self.assertEqual((sum(tree["self"]), sum(tree["before_self"])), (tree["sum"], tree["before_sum"]))

    def test_callers_and_callees(self):
        self.each_part(self.check_peek)

    def check_peek(self, members, base, request):
        call = self.calls[BOTH].index(("grow", "views.c"))
        both = self.ask("peek", file=BOTH, **members, **request, call=call)
        for file, part, names in ((NEW, members, ("self", "total")), (OLD, base, before("self", "total"))):
            alone = self.ask("peek", file=file, **part, call=self.calls[file].index(("grow", "views.c")))
            self.assertEqual([both.head[name] for name in names], [alone.head[name] for name in ("self", "total")])

    def test_sizes_and_lifetimes(self):
        self.each_part(self.check_histograms)

    def check_histograms(self, members, base, request):
        for ask in ("sizes", "lifetimes", "heat"):
            both = self.ask(ask, file=BOTH, **members, **request)
            new, old = self.ask(ask, file=NEW, **members), self.ask(ask, file=OLD, **base)
            keys = ("low_size", "low_life") if ask == "heat" else ("low", "high")
            for alone, columns in ((new, ("blocks", "bytes")), (old, before("blocks", "bytes"))):
                self.assertEqual(summed(((a, b), *sums) for a, b, *sums in both.rows(*keys, *columns)),
                                 summed(((a, b), *sums) for a, b, *sums in alone.rows(*keys, "blocks", "bytes")))
            if ask == "lifetimes":
                self.assertEqual([both[name] for name in ("live_blocks", "live_bytes")],
                                 [new[name] for name in ("live_blocks", "live_bytes")])
                self.assertEqual([both[name] for name in before("live_blocks", "live_bytes")],
                                 [old[name] for name in ("live_blocks", "live_bytes")])
            if ask == "sizes":
                self.check_exact(both, new, old)

    def check_exact(self, both, new, old):
        """The most frequent sizes on either side; a side has at most 20 of its own."""
        rows = {size: (now, past) for size, now, past in both.rows("size", "size_blocks", "before_size_blocks")}
        most = [max(pair) for pair in rows.values()]
        self.assertEqual(most, sorted(most, reverse=True))
        for alone, side in ((new, 0), (old, 1)):
            for size, blocks in alone.rows("size", "size_blocks"):
                if size in rows:
                    self.assertEqual(rows[size][side], blocks)
                else:
                    self.assertGreaterEqual(most[-1], blocks)

    def test_leaks(self):
        self.each_part(self.check_leaks)

    def stacks(self, file, reply, members, request, columns):
        """Sums by the names of the calls of a stack: a comparison joins stacks that differ by lines."""
        rows = []
        for stack, *sums in reply.rows("stack", *columns):
            calls = self.ask("stack", file=file, **members, **request, stack=stack)["call"]
            rows.append((tuple(self.calls[file][call] for call in calls), *sums))
        return summed(rows)

    def check_leaks(self, members, base, request):
        wide = {"most": 100000}
        both = self.ask("leaks", file=BOTH, **members, **request, **wide)
        new, old = self.ask("leaks", file=NEW, **members, **wide), self.ask("leaks", file=OLD, **base, **wide)
        for alone, file, part, columns in ((new, NEW, members, ("bytes", "blocks")),
                                           (old, OLD, base, before("bytes", "blocks"))):
            self.assertEqual([both.head[name] for name in columns], [alone.head[name] for name in ("bytes", "blocks")])
            self.assertEqual(self.stacks(BOTH, both, members, request, columns),
                             self.stacks(file, alone, part, {}, ("bytes", "blocks")))
        changes = [abs(now - past) for now, past, kind in both.rows("bytes", "before_bytes", "kind") if kind != 3]
        self.assertEqual(changes, sorted(changes, reverse=True))
        self.assertTrue(all(time >= 0 for time in both["first_ns"] + both["last_ns"]))
        parts = [self.ask("leaks", file=BOTH, **members, **request, kinds=[kind])
                 for kind in ("start", "growing", "later", "runtime")]
        self.assertEqual(sum(part["rows"] for part in parts), both["rows"])
        for name in ("bytes", "blocks", "before_bytes", "before_blocks"):
            self.assertEqual(sum(part.head[name] for part in parts), both.head[name])

    def test_threads(self):
        """Threads are matched by their names: all of these have one."""
        self.each_part(self.check_threads)

    def by_name(self, reply, columns):
        return summed((name, *sums) for name, *sums in reply.rows("name", *columns))

    def check_threads(self, members, base, request):
        both = self.ask("threads", file=BOTH, **members, **request)
        new, old = self.ask("threads", file=NEW, **members), self.ask("threads", file=OLD, **base)
        for alone, columns, freed in ((new, COUNTERS, "freed_blocks"), (old, before(*COUNTERS), "before_freed_blocks")):
            self.assertEqual(self.by_name(both, columns), self.by_name(alone, COUNTERS))
            self.assertEqual(sum(both[freed]), sum(alone["freed_blocks"]))
        self.assertEqual(len(both["id"]), max(len(new["id"]), len(old["id"])))

    def test_a_thread_of_one_of_the_recordings_is_a_filter(self):
        thread = self.ask("open", file=OLD)["threads"][-1]["id"]
        members = {"filters": [f"thread:{thread}"], "metric": "alloc_bytes"}
        both = self.ask("tree", file=BOTH, **members)
        self.assertEqual((both["sum"], both["before_sum"]), (0, self.ask("tree", file=OLD, **members)["sum"]))
        self.assertGreater(both["before_sum"], 0)
        self.assertEqual(self.server.ask("tree", file=BOTH, filters=["thread:nobody"]).error["code"], "usage")

    def test_lines(self):
        self.each_part(self.check_lines)

    def check_lines(self, members, base, request):
        path = self.source(NEW)
        both = self.ask("lines", file=BOTH, path="views.c", **members, **request)
        for file, part, columns in ((NEW, members, ("self", "total")), (OLD, base, before("self", "total"))):
            alone = self.ask("lines", file=file, path=path, **part)
            self.assertEqual(summed(both.rows("line", *columns)), summed(alone.rows("line", "self", "total")))
        source = self.ask("source", file=BOTH, path="views.c", **members, **request)
        self.assertEqual((sum(source["self"]), sum(source["before_self"])),
                         (sum(both["self"]), sum(both["before_self"])))

    def source(self, file):
        return next(path for path, in self.ask("names", file=file).rows("file") if short(path) == "views.c")

    def test_blocks_are_those_of_the_new_file(self):
        self.each_part(self.check_blocks)

    def check_blocks(self, members, base, request):
        both, new = self.ask("blocks", file=BOTH, **members, **request), self.ask("blocks", file=NEW, **members)
        for column in ("number", "alloc_ns", "free_ns", "size", "alloc_thread", "flags"):
            self.assertEqual(both[column], new[column])

    def test_findings_are_those_of_the_new_file(self):
        both, new = self.ask("findings", file=BOTH), self.ask("findings", file=NEW)
        self.assertEqual(both["sentence"], new["sentence"])
        self.assertGreater(len(both["sentence"]), 0)

    def test_requests_about_a_file_do_not_see_the_comparison(self):
        asked = {"file": OLD, "metric": "end_bytes", "from": 1000, "to": self.open["before"]["duration_ns"] // 2}
        first = self.ask("table", **asked)
        self.ask("table", file=BOTH, metric="end_bytes", filters=["mine"])
        self.assertEqual(self.ask("table", **asked).rows("name", "self.end_bytes"),
                         first.rows("name", "self.end_bytes"))

    def test_the_table_is_that_of_allo_diff(self):
        for metric in METRICS:
            theirs = self.allo_json("diff", "-q", "-n", 0, "-M", metric, "--trim-allocator", "--trim-startup",
                                    self.paths[OLD], self.paths[NEW])
            ours = self.ask("table", file=BOTH, metric=metric, most=100000)
            columns = (f"self.{metric}", f"before.self.{metric}")
            found = {key: row for key, row in self.named(BOTH, ours, columns).items() if row[0] != row[1]}
            self.assertEqual(sorted((name, *row) for (name, _), row in found.items()),
                             sorted((row["name"], row["new"], row["base"]) for row in theirs["rows"]
                                    if row["change"]))


class Ranges(ViewTest):
    """Two ranges of one recording."""

    def test_each_side_is_a_request_of_its_own(self):
        self.each_question(self.recordings(), self.check)

    def check(self, file, question, luck):
        window = self.window(luck, file) or (0, NEVER)
        base = {"from": window[0], "to": window[1] if window[1] < NEVER else 0}
        asked = {**question.members, "metric": question.metric}
        past = {**asked, "from": base["from"], "to": base["to"]}
        for ask, columns in (("sizes", ("blocks", "bytes")), ("lifetimes", ("blocks", "bytes")),
                             ("threads", COUNTERS), ("leaks", ("bytes", "blocks"))):
            keys = {"sizes": ("low",), "lifetimes": ("low",), "threads": ("id",), "leaks": ("stack",)}[ask]
            wide = {"most": 100000} if ask == "leaks" else {}
            both = file.ask(ask, **asked, base=base, **wide)
            for alone, names in ((file.ask(ask, **asked, **wide), columns),
                                 (file.ask(ask, **past, **wide), before(*columns))):
                self.assertEqual(summed(both.rows(*keys, *names)), summed(alone.rows(*keys, *columns)), ask)
            self.assertNotIn(before(*columns)[0], file.ask(ask, **asked).columns)


class Mixed(ViewTest):
    def test_a_comparison_with_a_profile_says_that_it_has_no_times(self):
        server = ViewServer(self.tmp, GOLDEN / "allo" / "notes.allo", GOLDEN / "dhat" / "valgrind-heap.json")
        self.addCleanup(server.close)
        head = server.ask("open", file=BOTH)
        self.assertFalse(head["has"]["time"])
        self.assertNotIn("before", head.head)
        for ask in ("sizes", "threads", "timeline"):
            error = server.ask(ask, file=BOTH).error
            self.assertIn("this comparison has no", error["message"])
            self.assertIn("two recordings", error["hint"])
        leaks = server.ask("leaks", file=BOTH)
        self.assertGreater(leaks.head["before_bytes"], 0)


class Replies(ViewTest):
    def test_the_command_and_the_server_answer_alike(self):
        paths = GOLDEN / "allo" / "notes.allo", GOLDEN / "allo" / "server.allo"
        server = ViewServer(self.tmp, *paths)
        self.addCleanup(server.close)
        for ask in ("open", "sizes", "lifetimes", "heat", "leaks", "threads", "timeline", "tree", "table"):
            request = json.dumps({"v": 1, "ask": ask, "file": BOTH})
            self.assertEqual(self.run_program(ALLO, "view", "--ask", request, *paths).stdout,
                             server.reply_to(request.encode()))
