"""The server of `allo view`: who may ask it, and that it answers as `allo view --ask` does."""
import gzip
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
from urllib.parse import quote

from allotest import ALLO, ENVIRONMENT, GOLDEN, HANG, Test, unsanitized, wait_until
from replyfile import Reply
from terminal import Terminal
from viewserver import ViewServer

RECORDING = GOLDEN / "allo" / "notes.allo"
PROFILE = GOLDEN / "dhat" / "valgrind-heap.json"
OPEN = b'{"v":1,"ask":"open"}'


class ServerTest(Test):
    def serve(self, *files, **options):
        server = ViewServer(self.tmp, *(files or (RECORDING,)), **options)
        self.addCleanup(server.close)
        return server

    def asked(self, request, *files):
        """The bytes that `allo view --ask` writes."""
        done = self.run_program(ALLO, "view", "--ask", request, *files)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout


class Access(ServerTest):
    def setUp(self):
        super().setUp()
        self.server = self.serve()

    def status(self, path, *arguments, **options):
        return self.server.send(path, *arguments, **options)[0]

    def test_a_request_needs_the_token(self):
        self.assertEqual(self.status("/ask", OPEN), 200)
        for token in (False, "0" * 32, self.server.token[:-1], self.server.token + "0", " "):
            status, _, body = self.server.send("/ask", OPEN, token=token)
            self.assertEqual(status, 401, token)
            self.assertNotIn(b"ALLOrep1", body)

    def test_another_server_has_another_token(self):
        other = self.serve()
        self.assertNotEqual(other.token, self.server.token)
        self.assertEqual(other.send("/ask", OPEN, token=self.server.token)[0], 401)

    def test_the_page_needs_no_token_and_has_a_policy(self):
        status, headers, body = self.server.send("/view", token=False)
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        page = gzip.decompress(body).decode()
        self.assertIn("frame-ancestors 'none'", headers["Content-Security-Policy"])
        self.assertEqual((headers["X-Frame-Options"], headers["X-Content-Type-Options"]), ("DENY", "nosniff"))
        policy = re.search(r'http-equiv="?Content-Security-Policy"? content="([^"]+)"', page)[1]
        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";") if rule.strip())
        self.assertEqual(rules["default-src"], "'none'")
        self.assertNotIn("unsafe-inline", rules["script-src"])
        self.assertNotRegex(policy, r"https?:")
        # It shows no data of the file.
        self.assertNotIn(self.server.token, page)
        self.assertNotIn(RECORDING.name, page)

    @unsanitized  # these builds have no engine
    def test_the_engine_is_that_of_reports(self):
        status, headers, body = self.server.send("/engine", token=False)
        self.assertEqual((status, headers["Content-Type"]), (200, "application/zstd"))
        unpacked = subprocess.run(["zstd", "-dc"], input=body, stdout=subprocess.PIPE, check=True).stdout
        self.assertTrue(unpacked.startswith(b"\0asm"))
        self.assertIn(self.status("/engine", token=False, Host="example.com"), (400, 403, 421))

    def test_other_names_of_this_machine_are_refused(self):
        """A page of another site may have its name point here."""
        for host in ("example.com", f"example.com:{self.server.port}", "127.0.0.1.example.com", ""):
            self.assertIn(self.status("/ask", OPEN, Host=host), (400, 403, 421), host)
            self.assertIn(self.status("/view", token=False, Host=host), (400, 403, 421), host)

    def test_pages_of_other_sites_are_refused(self):
        for origin in ("http://example.com", "null", f"http://127.0.0.1:{self.server.port + 1}"):
            self.assertEqual(self.status("/ask", OPEN, Origin=origin), 403, origin)
        self.assertEqual(self.status("/ask", OPEN, Origin=self.server.url), 200)

    def test_asking_is_a_post(self):
        for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS"):
            status, headers, _ = self.server.send("/ask", method=method)
            self.assertEqual(status, 405, method)
            self.assertIn("POST", headers["Allow"])
        self.assertEqual(self.status("/view", b"", method="POST"), 405)

    def test_large_bodies_are_refused(self):
        """The engine refuses what is above its limit, and the server a body that it would have to keep."""
        reply = Reply(self.server.reply_to(b" " * (64 << 10) + OPEN))
        self.assertEqual(reply.error["code"], "limit")
        self.assertEqual(self.announce(2 << 20), 413)
        self.assertEqual(self.status("/ask", OPEN), 200)

    def announce(self, length):
        """The status of a request whose body is announced, and not sent: a server need not read it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=HANG)
        self.addCleanup(connection.close)
        connection.putrequest("POST", "/ask")
        connection.putheader("Authorization", f"Bearer {self.server.token}")
        connection.putheader("Content-Length", str(length))
        connection.endheaders()
        return connection.getresponse().status

    def test_an_empty_body_is_an_error(self):
        self.assertIn(Reply(self.server.reply_to(b"")).error["code"], ("format", "usage"))

    def sql(self, query):
        return self.server.ask("sql", query=query)

    def test_columns_of_one_name_keep_their_values(self):
        reply = self.sql("select 1 as x, 2 as x, 3 as x")
        self.assertEqual(list(reply.rows(*reply["names"])), [("1", "2", "3")])

    def test_queries_read_this_file_only(self):
        """A page of another site cannot ask, but a query may come with a link: it must do no harm."""
        secret = self.tmp / "secret.db"
        with sqlite3.connect(secret) as other:
            other.execute("create table passwords as select 'hunter2' as word")
        written = self.tmp / "written"
        other.close()
        for query in (f"attach '{secret}' as other", f"attach 'file:{secret}?immutable=1' as other",
                      f"attach '{secret}' as other; select * from other.passwords", f"attach '{written}' as other",
                      "attach ':memory:' as other", "detach main", f"vacuum into '{written}'", "vacuum",
                      f"select load_extension('{written}')", f"select writefile('{written}', 'x')",
                      f"select readfile('{secret}')", "select edit('x', 'touch written')",
                      "pragma writable_schema = on", "pragma database_list", f"pragma temp_store_directory = '{self.tmp}'",
                      "pragma journal_mode = wal", "pragma query_only = off", "select * from pragma_database_list",
                      "create table t(x)", "create temp table t(x)", "create view v as select 1",
                      "create temp trigger t instead of insert on allocation begin select 1; end",
                      "create temp view v as select 1", "drop view temp.allocation", "insert into meta values ('a', 'b')",
                      "update meta set value = ''", "delete from meta", "begin", "savepoint a", "reindex", "analyze",
                      "create virtual table t using fts5(x)", "select 1; delete from meta"):
            reply = self.sql(query)
            self.assertIsNotNone(reply.error, query)
            self.assertFalse(written.exists(), query)
            self.assertNotIn(b"hunter2", reply.data, query)

    def test_a_refused_statement_is_explained(self):
        for query in ("attach 'x' as y", "delete from meta", "pragma journal_mode = wal"):
            error = self.sql("select 1; " + query).error
            self.assertEqual(error["code"], "usage", query)
            self.assertIn("only queries that read this file's tables are allowed here", error["message"])
            self.assertIn("allo sql FILE", error["hint"])

    def test_results_have_a_limit(self):
        """The server keeps a reply in memory."""
        numbers = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 100) "
        self.assertIn("too big", self.sql("select length(zeroblob(100000000))").error["message"])
        self.assertEqual(self.sql(numbers + "select hex(zeroblob(1000000)) from n").error["code"], "limit")
        self.assertEqual(self.sql(numbers + "select hex(zeroblob(10000)) from n").head["rows"], 100)

    def test_queries_may_read_all_of_the_file(self):
        for query in ("select count(*) from allocation", "select site from allocation limit 1", "select * from site",
                      "with recursive n(i) as (select 1 union all select i + 1 from n where i < 9) select sum(i) from n",
                      "pragma table_info(sample)", "select name from sqlite_schema", "explain select 1",
                      "select name from pragma_table_info('sample')", "select group_concat(name) over () from metric"):
            self.assertIsNone(self.sql(query).error, query)
        self.assertIn("is a column of", self.sql("select peak_bytes from allocation").error["hint"])

    def test_there_are_no_files_behind_paths(self):
        for path in ("/../../etc/passwd", "/view/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/view/", "/ask/x",
                     f"//{quote(str(RECORDING))}", quote(str(RECORDING)), "/view%00", "/favicon.ico"):
            status, _, body = self.server.send(path)
            self.assertEqual(status, 404, path)
            self.assertNotIn(b"root:", body)


class Replies(ServerTest):
    REQUESTS = [{"ask": ask} for ask in ("open", "names", "tree", "table", "leaks", "sizes", "lifetimes", "heat", "threads",
                                         "blocks", "timeline")] + [
        {"ask": "tree", "filters": ["full"], "invert": True}, {"ask": "table", "by": "site", "filters": ["mine"]},
        {"ask": "peek", "call": 1}, {"ask": "search", "text": "a"}, {"ask": "nothing"}, {"ask": "tree", "pivot": 1},
        {"ask": "table", "filters": ["wrappers:none"]}, {"ask": "tree", "filters": ["label:request=upload"]}]

    def test_they_are_those_of_the_command_to_the_byte(self):
        """In any order, and again: a reply does not depend on those before it."""
        for file in (RECORDING, PROFILE):
            server = self.serve(file)
            requests = [json.dumps({"v": 1, **request}) for request in self.REQUESTS]
            wanted = {request: self.asked(request, file) for request in requests}
            for request in (*requests, *requests[::-1], *requests[::3], *requests[1::3]):
                self.assertEqual(server.reply_to(request.encode()), wanted[request], (file, request))
            server.close()

    def test_several_files(self):
        server = self.serve(RECORDING, PROFILE)
        self.assertIn("allo", server.ask("open")["file"]["format"])
        self.assertEqual(server.ask("open", file=1)["file"]["name"], str(PROFILE))
        self.assertEqual(server.ask("open", file=3).error["code"], "usage")
        self.assertEqual(server.ask("table", base={"file": 3}).error["code"], "usage")

    def test_the_second_of_two_files_is_the_base(self):
        server = self.serve(PROFILE, GOLDEN / "dhat" / "valgrind-cpp.json")
        self.assertTrue(server.ask("open", file=2)["has"]["comparison"])
        for metric in ("alloc_bytes", "end_blocks"):
            both = server.ask("tree", file=2, metric=metric, filters=["full"])
            now, before = (server.ask("tree", file=file, metric=metric, filters=["full"]) for file in (0, 1))
            self.assertEqual((both["total"][0], both["before_total"][0]), (now["total"][0], before["total"][0]))
            self.assertNotEqual(now["total"][0], before["total"][0])


class Start(ServerTest):
    def test_the_page_opens_in_a_given_state(self):
        state = "view=leaks&f=focus%3Afn%3A%3Dmain"
        self.assertIn(f"&{state}\n", self.serve("--show", state, RECORDING).said)
        for bad in ("a b", "x'y", "view=\n", "<script>", "a" * 9000):
            self.assertIn("--show", self.allo_fails("view", "--show", bad, RECORDING, status=2))

    @unsanitized
    def test_signals_end_it(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            server = self.serve()
            self.assertEqual(server.ask("open").error, None)
            self.assertEqual(server.end(number), 0)

    def test_the_address_is_printed(self):
        server = self.serve()
        self.assertRegex(server.said, r"^allo: open http://127\.0\.0\.1:\d+/view#k=[0-9a-f]{32}\n"
                                      r"allo: Ctrl-C ends the viewer\n$")

    def test_a_busy_port_is_passed_over(self):
        """Others may use these ports, too."""
        first = self.serve(listen=())
        second = self.serve(listen=())
        self.assertGreaterEqual(first.port, 2556)
        self.assertGreater(second.port, first.port)
        self.assertEqual(second.ask("open").error, None)
        self.assertEqual(first.ask("open").error, None)

    def test_a_port_that_was_asked_for_is_not_replaced(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            self.assertIn(address, self.allo_fails("view", "--no-open", "--listen", address, RECORDING))

    def test_other_machines_are_not_served(self):
        why = self.allo_fails("view", "--no-open", "--listen", "0.0.0.0:0", RECORDING, status=2)
        self.assertIn("open to other machines", why)

    def test_the_tunnel_over_ssh_is_printed(self):
        server = self.serve(SSH_CONNECTION="10.0.0.1 50000 10.0.0.2 22")
        self.assertIn(f"ssh -L {server.port}:127.0.0.1:{server.port} {socket.gethostname()}", server.said)

    def test_no_window_opens_without_a_terminal(self):
        opener = self.file("xdg-open", "#!/bin/sh\ntouch opened\n")
        opener.chmod(0o755)
        environment = {"DISPLAY": ":9", "PATH": f"{self.tmp}:{ENVIRONMENT['PATH']}"}
        self.serve(**environment).ask("open")
        self.assertFalse((self.tmp / "opened").exists())

    def test_a_window_opens_on_a_desktop(self):
        """In a terminal with a display, by xdg-open; not with --no-open, and not without a display."""
        opener = self.file("xdg-open", '#!/bin/sh\necho "$1" > "$0.said"\n')
        opener.chmod(0o755)
        said = self.tmp / "xdg-open.said"
        for display, words, opens in (({"DISPLAY": ":9"}, (), True), ({"WAYLAND_DISPLAY": "wayland-9"}, (), True),
                                      ({"DISPLAY": ":9"}, ("--no-open",), False), ({}, (), False)):
            desktop = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "SSH_CONNECTION": "", **display}
            terminal = Terminal([ALLO, "view", *words, "--listen", "127.0.0.1:0", RECORDING], 200, 24, cwd=self.tmp,
                                env={**ENVIRONMENT, **desktop, "PATH": f"{self.tmp}:{ENVIRONMENT['PATH']}"})
            self.addCleanup(terminal.finish)
            self.addCleanup(terminal.type, "\x03")
            printed = re.search(r"(opened|open) (http://\S+/view#k=[0-9a-f]+)", terminal.wait_for("Ctrl-C ends the viewer"))
            self.assertEqual(printed[1], "opened" if opens else "open", (display, words))
            if opens:
                self.assertEqual(wait_until(lambda: said.exists() and said.read_text()), f"{printed[2]}\n")
                said.unlink()
            self.assertFalse(said.exists())

    def test_without_a_file_the_newest_recording_is_shown(self):
        self.assertIn("there is no *.allo in this folder", self.allo_fails("view", "--no-open", status=2))
        for age, name in enumerate(("new.allo", "old.allo", "oldest.allo", "other.txt")):
            shutil.copy(RECORDING, self.tmp / name)
            os.utime(self.tmp / name, (10 ** 9 - age, 10 ** 9 - age))
        (self.tmp / "folder.allo").mkdir()
        server = ViewServer(self.tmp)
        self.addCleanup(server.close)
        self.assertIn("allo: showing new.allo, the newest recording here\n", server.said)
        self.assertEqual(server.ask("open")["file"]["name"], "new.allo")
        os.utime(self.tmp / "old.allo", ns=(10 ** 18 + 1, 10 ** 18 + 1))
        self.assertEqual(Reply(self.asked(OPEN.decode(), "-q"))["file"]["name"], "old.allo")

    def test_a_file_that_cannot_be_read_is_named(self):
        self.assertIn("missing.allo", self.allo_fails("view", "--no-open", self.tmp / "missing.allo"))
        self.allo_fails("view", "--no-open", self.file("odd.bin", bytes(range(256)) * 9))
        self.allo_fails("view", status=2)
