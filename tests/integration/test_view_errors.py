"""Requests that are wrong, and files that are made to deceive: `allo view --ask` answers with an error, or with texts
that every page can show."""
import json
import random

from allotest import ALLO, GOLDEN, SLOW, Test, cpu_seconds
from inputs import dhat, dhat_of_stacks
from replyfile import Reply
from viewserver import ViewServer

RECORDING = GOLDEN / "allo" / "notes.allo"
PROFILE = GOLDEN / "dhat" / "valgrind-heap.json"

USAGE = [
    ({"ask": "dance"}, "'dance'"),
    ({"ask": ""}, "ask ''"),
    ({"ask": "tree", "colour": 1}, "unknown member 'colour'"),
    ({"ask": "tree", "metric": "weight"}, "weight"),
    ({"ask": "table", "metrics": ["alloc_bytes", "weight"]}, "weight"),
    ({"ask": "table", "metrics": ["alloc_bytes"] * 13}, "at most 12 metrics"),
    ({"ask": "table", "by": "moon"}, "'moon' is none of function, site"),
    ({"ask": "table", "sort": "moon"}, "'moon' is none of self"),
    ({"ask": "tree", "grain": "moon"}, "'moon' is none of function, line"),
    ({"ask": "tree", "filters": ["fokus:a"]}, "unknown filter 'fokus:a'"),
    ({"ask": "tree", "filters": [""]}, "unknown filter ''"),
    ({"ask": "tree", "filters": ["wrappers:some"]}, "'some' is none of auto"),
    ({"ask": "tree", "filters": ["focus:/(/"]}, "("),
    ({"ask": "tree", "filters": ["focus:"]}, ""),
    ({"ask": "tree", "pivot": 0}, "there is no call 0"),
    ({"ask": "tree", "pivot": 1 << 31}, f"there is no call {1 << 31}"),
    ({"ask": "tree", "file": 7}, "there is no file 7"),
    ({"ask": "tree", "base": {"file": 7}}, ""),
    ({"ask": "tree", "root": [1 << 32]}, f"{1 << 32} is not an id"),
    ({"ask": "names", "ids": [0]}, "there is no call 0"),
    ({"ask": "names", "ids": [1, 1 << 30]}, f"there is no call {1 << 30}"),
    ({"ask": "peek"}, "'call' must be"),
    ({"ask": "peek", "call": 1 << 40}, "'call' must be"),
    ({"ask": "stack", "stack": 1 << 40}, "there is no stack"),
    ({"ask": "stack"}, "stack"),
    ({"ask": "search"}, 'no "text"'),
    ({"ask": "search", "text": "/(/"}, "("),
    ({"ask": "leaks", "kinds": ["old"]}, "'old' is none of"),
    ({"ask": "tree", "metric": "alloc\0bytes"}, "NUL"),
]

FOR_RECORDINGS = [
    ({"ask": "timeline", "steps": 0}, "steps must be from 1 to 20000"),
    ({"ask": "timeline", "steps": 20001}, "steps must be from 1 to 20000"),
    ({"ask": "tree", "filters": ["thread:nosuch"]}, "nosuch"),
    ({"ask": "blocks", "sort": "colour"}, "'colour' is none of size"),
    ({"ask": "tree", "from": 500, "to": 400}, "the range ends before it starts"),
    ({"ask": "timeline", "from": 500, "to": 400}, "the range ends before it starts"),
    ({"ask": "tree", "base": {"from": 500, "to": 400}}, "the range ends before it starts"),
]

WITHOUT_TIMES = [{"ask": "tree", "from": 1}, {"ask": "table", "to": 5}, {"ask": "tree", "filters": ["thread:1"]},
                 {"ask": "timeline"}, {"ask": "blocks"}, {"ask": "sizes"}, {"ask": "lifetimes"}, {"ask": "heat"},
                 {"ask": "threads"}]

# Members of each type, with values of others.
WRONG_TYPES = [("ask", 1), ("metric", 5), ("filters", "focus:a"), ("filters", [1]), ("from", "0"), ("to", -1),
               ("root", 1), ("root", ["a"]), ("invert", 1), ("least", "0"), ("base", 1), ("base", {"metric": "a"}),
               ("ids", {}), ("v", "1")]

NOT_JSON = ["", "{", "[]", "1", "{}", "null", '{"v":1}', '{"v":2,"ask":"open"}', '{"ask":"open"}', '{"v":1,"ask":"open"} x',
            '{"v":1,"ask":"open",}', '{"v":1,"ask":"op', "[" * 30000, '{"v":1,"base":' * 4000, '{"v":1,"ask":"\\ud800"}']


class ErrorTest(Test):
    def serve(self, file):
        server = ViewServer(self.tmp, file)
        self.addCleanup(server.close)
        return server

    def error_of(self, server, body):
        """The error of a reply, which has no columns and a message."""
        reply = Reply(server.reply_to(body))
        self.assertIsNotNone(reply.error, body[:200])
        self.assertEqual((set(reply.error), reply.columns), ({"code", "message", "hint"}, {}))
        self.assertGreater(len(reply.error["message"]), 5)
        return reply.error

    def assert_usage(self, server, requests):
        for request, part in requests:
            with self.subTest(str(request)):
                error = self.error_of(server, json.dumps({"v": 1, **request}).encode())
                self.assertIn(error["code"], ("usage", "format"))
                self.assertIn(part, error["message"])


class Requests(ErrorTest):
    def test_about_a_recording(self):
        server = self.serve(RECORDING)
        self.assert_usage(server, USAGE)
        self.assert_usage(server, FOR_RECORDINGS)

    def test_about_a_profile(self):
        server = self.serve(PROFILE)
        self.assert_usage(server, USAGE)
        self.assert_usage(server, [(request, "has no") for request in WITHOUT_TIMES])
        for request in WITHOUT_TIMES:
            error = self.error_of(server, json.dumps({"v": 1, **request}).encode())
            self.assertIn("allo run", error["hint"])

    def test_values_of_a_wrong_type(self):
        server = self.serve(RECORDING)
        for member, value in WRONG_TYPES:
            with self.subTest(member=member, value=value):
                self.error_of(server, json.dumps({"v": 1, "ask": "tree", **{member: value}}).encode())

    def test_that_are_not_requests(self):
        server = self.serve(PROFILE)
        for body in NOT_JSON:
            with self.subTest(body[:40]):
                self.error_of(server, body.encode())
        self.error_of(server, b'{"v":1,"ask":"open"}\0')
        self.error_of(server, b'{"v":1,"ask":"\xff\xfe"}')

    def test_that_are_long(self):
        """64 KiB are allowed, and one byte more is not."""
        server = self.serve(PROFILE)
        request = '{"v":1,"ask":"search","text":"%s"}'
        longest = request % ("a" * ((64 << 10) - len(request) + 2))
        self.assertEqual(len(longest), 64 << 10)
        self.assertIsNone(Reply(server.reply_to(longest.encode())).error)
        self.assertEqual(self.error_of(server, longest.encode() + b" ")["code"], "limit")

    def test_the_command_answers_as_well(self):
        done = self.run_program(ALLO, "view", "--ask", '{"v":1,"ask":"dance"}', PROFILE)
        self.assertEqual(done.returncode, 0)
        self.assertIn("dance", Reply(done.stdout).error["message"])

    def test_damaged_requests(self):
        """The server survives them all, and answers as before."""
        luck = random.Random(20261118)
        server = self.serve(RECORDING)
        before = server.reply_to(b'{"v":1,"ask":"tree"}')
        seeds = [json.dumps({"v": 1, **request}) for request, _ in USAGE + FOR_RECORDINGS]
        for _ in range(100 if SLOW else 400):
            body = bytearray(luck.choice(seeds).encode())
            for _ in range(luck.randrange(1, 4)):
                body[luck.randrange(len(body))] = luck.choice(b'"{}[]:,0129-aeE.\\\x00\xff')
            Reply(server.reply_to(bytes(body)))
        self.assertEqual(server.reply_to(b'{"v":1,"ask":"tree"}'), before)


class Sources(ErrorTest):
    def test_lines_that_the_file_does_not_have_are_left_out(self):
        source = self.file("own.c", "one\ntwo\n")
        lines = (1, 2, 3, 4000000000, (1 << 64) - 1)
        points = [{"tb": 8, "tbk": 1, "fs": [at]} for at in range(1, len(lines) + 1)]
        frames = ["[root]", *(f"0x{line:x}: main ({source}:{line})" for line in lines)]
        reply = self.serve(self.file("heap.json", dhat(points, frames))).ask("source", path=str(source))
        self.assertIsNone(reply.error)
        self.assertEqual(list(reply.rows("line", "text", "self")), [(1, "one", 8), (2, "two", 8)])

    def test_a_path_of_any_length_is_found(self):
        folder = self.tmp / "registry" / ("index-" + "0123456789abcdef" * 6)
        folder.mkdir(parents=True)
        source = folder / "module.c"
        source.write_text("one\ntwo\n")
        server = self.serve(self.file("heap.json", dhat([{"tb": 8, "tbk": 1, "fs": [1]}], ["[root]", f"0x1: main ({source}:2)"])))
        self.assertEqual(list(server.ask("source", path=str(source)).rows("line", "self")), [(1, 0), (2, 8)])
        self.assertEqual(list(server.ask("lines", path=str(source)).rows("line")), [(2,)])

    def test_a_file_that_the_profile_does_not_name_is_not_read(self):
        server = self.serve(PROFILE)
        self.assert_usage(server, [({"ask": "source", "path": "/etc/passwd"}, "is not a source file of this profile"),
                                   ({"ask": "source"}, 'no "path"')])


class HostileNames(ErrorTest):
    NAMES = ["</script><script>alert(1)</script>", "\u202egnp.exe\u202c", "a\x01\x1b[2J\x7fb", "\"'&<>\\", "n" * 100000,
             "\U0001f600 emoji", "back\\slash", "{{template}}", "%s%n%x", "", " ", "\u2028line\u2029"]

    def texts(self, reply):
        return [text for values in reply.columns.values() for text in values if isinstance(text, str)]

    def replies(self, file):
        """All kinds of replies; the decoder checks that texts are UTF-8."""
        server = self.serve(file)
        replies = {ask: server.ask(ask, **members) for ask, members in (
            ("open", {}), ("names", {}), ("tree", {"least": 0}), ("table", {"by": "site"}), ("search", {"text": "a"}),
            ("stack", {"stack": 1}))}
        for reply in replies.values():
            self.assertIsNone(reply.error)
        return replies

    def test_odd_names_stay_themselves(self):
        names = [name for name in self.NAMES if "\\" not in name and name.strip() and "\"" not in name]
        file = self.file("odd.json", dhat_of_stacks([([name, "leaf"], 8) for name in names]))
        replies = self.replies(file)
        found = [full or name for name, full in replies["names"].rows("name", "full")]
        for name in names:
            self.assertIn(name, found, name[:50])
        self.assertEqual(replies["tree"]["total"][0], 8 * len(names))

    def test_bytes_that_are_not_utf8_are_replaced(self):
        odd = self.file("odd.folded", b"main;a\xffb\xc3(;\xed\xa0\x80 5\nmain;\xf8\x88\x80\x80\x80;" + b"\xfe" * 1000 + b" 3\n")
        replies = self.replies(odd)
        self.assertTrue(any("\ufffd" in text for text in self.texts(replies["names"])))
        self.assertEqual(replies["tree"]["sum"], 8)

    def test_long_names_of_files_are_whole(self):
        """A place is as long as the name of the file."""
        name = "f" * 3000 + ".c"
        points = json.loads(dhat_of_stacks([(["main", "leaf"], 8)]))
        points["ftbl"] = [frame.replace("a.c", name) for frame in points["ftbl"]]
        replies = self.replies(self.file("long.json", json.dumps(points)))
        self.assertEqual({place.split(":")[0] for place in replies["table"]["place"]}, {name})

    def deep(self, depth):
        """A profile of one stack, in which two functions call each other."""
        names = ";".join(f"f{level % 1000}" for level in range(depth))
        return self.file(f"deep-{depth}.folded", f"{names} 7\n")

    def cost(self, depth):
        """CPU seconds of replies about a deep stack."""
        server = self.serve(self.deep(depth))
        tree = server.ask("tree", least=0)
        self.assertEqual(max(tree["depth"]), depth)
        self.assertEqual(tree["self"][-1], 7)
        self.assertEqual(len(server.ask("stack", stack=1)["call"]), 1)
        for ask, members in (("names", {}), ("table", {}), ("search", {"text": "f1"}), ("peek", {"call": 1}),
                             ("tree", {"invert": True, "least": 0}), ("tree", {"pivot": 500, "least": 0}),
                             ("tree", {"root": list(range(1, 50)), "least": 0})):
            self.assertIsNone(server.ask(ask, **members).error)
        return cpu_seconds(server.process.pid)

    def test_a_stack_of_100000_calls(self):
        """Ten times the calls cost about ten times the work; the square would be a hundred times."""
        small, large = self.cost(10000), self.cost(100000)
        self.assertLess(large, 40 * max(small, 0.05))
