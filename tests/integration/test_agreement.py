"""Any window is one answer: replay, change log, tree, table and SQL agree in 300 random windows, in all metrics.

The replay writes all samples of a window (`allo convert --no-cache --to json`); everything else is compared with them.
The page's engine answers from its change log.
"""
import collections
import contextlib
import random
import sqlite3

from allotest import SLOW
from profilejson import Profile
import test_view  # as a module: its tests are not tests of this file

WINDOWS = 3000 if SLOW else 300

# Metrics that rows of blocks tell: the value of a row, and the rows that count.
MADE = "alloc_ns >= :start and alloc_ns < :end"
LIVE = "alloc_ns < :end and free_ns >= :end"
TEMPORARY = "is_temporary and free_ns >= :start and free_ns < :end"
OF_BLOCKS = {"alloc_bytes": ("a.size", MADE), "alloc_blocks": ("1", MADE), "end_bytes": ("a.size", LIVE),
             "end_blocks": ("1", LIVE), "temporary_blocks": ("1", TEMPORARY)}


class Windows(test_view.ViewTest):
    def test_all_ways_to_ask_agree(self):
        paths = self.recordings()
        self.done = 0
        for number, path in enumerate(paths):
            count = WINDOWS * (number + 1) // len(paths) - WINDOWS * number // len(paths)
            with self.subTest(path.name):
                self.check_recording(path, count)
        self.assertEqual(self.done, WINDOWS)

    def check_recording(self, path, count):
        file, luck = test_view.Viewed(self, path), random.Random(f"{test_view.RANDOM} {path.name}")
        names = file.names()
        self.assertGreaterEqual(len(file.metrics), 9)
        self.allo("convert", "-q", "-f", path, "-o", "blocks.db")
        with contextlib.closing(sqlite3.connect(self.tmp / "blocks.db")) as database:
            times = [ns for row in database.execute("select alloc_ns, free_ns from allocation") for ns in row
                     if ns < test_view.NEVER]
            for _ in range(count):
                window = self.random_window(luck, times, file.open["duration_ns"])
                with self.subTest(f"{path.name}: {window}"):
                    self.check_window(file, names, database, window, luck)
                self.done += 1
        file.server.close()

    @staticmethod
    def random_window(luck, times, end):
        """From one time to another: of an event, or of no event."""
        first, last = sorted(luck.choice(times) if luck.random() < 0.7 else luck.randrange(end + 1) for _ in range(2))
        return first, max(last, first + 1)

    def check_window(self, file, names, database, window, luck):
        text = self.written(file.path, window)
        profile = Profile(text)
        starts = {module["path"]: module.get("start", 0) for module in profile.json["modules"] if module}
        stacks = [(self.calls(frames, starts), values) for frames, values, *_ in profile.samples]
        columns = {metric["name"]: column for column, metric in enumerate(profile.metrics)}
        self.assertLessEqual(set(file.metrics), set(columns))
        asked = {"from": window[0], "to": window[1], "filters": ["full"]}
        self.check_table(file, names, asked, stacks, columns, luck.choice(file.metrics))
        for metric in self.sums(file):
            self.check_tree(file, names, {**asked, "metric": metric}, stacks, columns[metric])
        if self.is_exact(file):
            self.check_sql(database, window, stacks, columns)

    @staticmethod
    def is_exact(file):
        """Estimates are rounded such that all samples add up, so those of a function depend on their order."""
        return not file.open["has"]["sampled"]

    @staticmethod
    def sums(file):
        """Maxima of sites do not add up, so samples do not tell those of functions."""
        return [metric["name"] for metric in file.open["metrics"] if metric["additive"] and metric["name"] in file.metrics]

    def written(self, path, window):
        """All samples of a window, by a replay."""
        return self.allo("convert", "-q", "--no-cache", "--to", "json", "-o", "-", "--range",
                         f"{window[0]}ns..{window[1]}ns", path)

    @staticmethod
    def calls(frames, starts):
        """(name, file) of each call, from the innermost.  Code without a name is a place in its module."""
        found = []
        for frame in frames:
            for call in frame:
                place = f"0x{call.address - starts.get(call.module, 0):x} [{(call.module or '').rsplit('/', 1)[-1]}]"
                found.append((call.name, call.file or "") if call.name else (place, ""))
        return tuple(found)

    def assert_same(self, found, expected, about):
        """Tells the first differences of large dictionaries."""
        differences = [(key, found.get(key), expected.get(key)) for key in {**found, **expected}
                       if found.get(key) != expected.get(key)]
        self.assertEqual(differences[:1], [], about)

    def check_table(self, file, names, asked, stacks, columns, metric):
        """Own values are those of the innermost call; a function counts once per stack.  Code without a name is a row
        for each module."""
        metrics = self.sums(file)
        expected = collections.defaultdict(lambda: [0] * (2 * len(metrics)))
        for calls, values in stacks:
            functions = [(name[name.index("["):], "") if name.startswith("0x") else (name, path) for name, path in calls]
            for place, each in enumerate(metrics):
                value = values[columns[each]]
                if functions:
                    expected[functions[0]][2 * place] += value
                for function in set(functions):
                    expected[function][2 * place + 1] += value
        wanted = [f"{part}.{each}" for each in metrics for part in ("self", "total")]
        reply = file.ask("table", **asked, metrics=sorted({*metrics, metric}), by="function", most=1000000)
        found = {names[call] if call else (name, ""): sums for call, name, *sums in reply.rows("call", "name", *wanted)}
        if self.is_exact(file):
            self.assert_same({call: sums for call, sums in found.items() if any(sums)},
                             {call: sums for call, sums in expected.items() if any(sums)}, "table")
        self.check_command(file, names, asked, reply, metric)

    def check_command(self, file, names, asked, reply, metric):
        """`allo top --json`."""
        theirs = self.allo_json("top", "-q", "-n", 0, "--keep-allocator", "-M", metric,
                                "--range", f"{asked['from']}ns..{asked['to']}ns", file.path)
        ours = [(names[call][0] if call else name, *sums) for call, name, *sums in reply.rows(
            "call", "name", f"self.{metric}", f"total.{metric}")]
        self.assertEqual(sorted(row for row in ours if any(row[1:])), sorted(
            (row["name"], row["self"], row["total"]) for row in theirs["rows"] if row["self"] or row["total"]), metric)

    def check_tree(self, file, names, asked, stacks, column):
        expected = collections.Counter()
        for calls, values in stacks:
            expected[calls[::-1]] += values[column]
        reply, path, found = file.ask("tree", **asked, least=0), [], collections.Counter()
        for call, depth, own in reply.rows("call", "depth", "self"):
            path[max(depth - 1, 0):] = [names[call]] if depth else []
            found[tuple(path)] += own
        if self.is_exact(file):
            self.assert_same(+found, +expected, asked["metric"])
        self.assertEqual(reply["sum"], sum(expected.values()))

    def check_sql(self, database, window, stacks, columns):
        for metric, (value, rows) in OF_BLOCKS.items():
            query = f"""select coalesce(f.name, ''), sum({value}) from allocation a left join stack s on s.id = a.stack
                left join frame fr on fr.id = s.frame left join function f on f.id = fr.function where {rows} group by 1"""
            found = dict(database.execute(query, {"start": window[0], "end": window[1]}).fetchall())
            expected = collections.Counter()
            for calls, values in stacks:
                expected[calls[0][0] if calls else ""] += values[columns[metric]]
            self.assertEqual(sum(found.values()), sum(expected.values()), metric)
            named = {name: sums for name, sums in expected.items() if sums and "0x" not in name and name}
            self.assertEqual({name: found.get(name, 0) for name in named}, named, metric)
