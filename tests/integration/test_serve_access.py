"""Who may ask `allo serve`, and requests that are made to deceive or to block it."""
import base64
import html
import re
import urllib.request

from allotest import HANG, Test, unsanitized, wait_until
from service import Redis, Server


def basic(name, password):
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def is_closed(peer):
    peer.setblocking(False)
    try:
        return peer.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


class AccessTest(Test):
    @classmethod
    def setUpClass(cls):
        cls.redis = Redis("--dormant")
        cls.addClassCleanup(cls.redis.close)

    def serve(self, *arguments, **options):
        server = Server(self.redis, self.redis.pid, *arguments, **options)
        self.addCleanup(server.close)
        return server


class Tokens(AccessTest):
    def test_a_token_is_made_and_printed(self):
        server = self.serve(makes_token=True)
        token, port = re.fullmatch(r"http://allo:([0-9a-f]{32})@127\.0\.0\.1:(\d+)", server.url).groups()
        server.port = int(port)
        self.assertEqual(server.status("/metrics"), 401)
        self.assertEqual(server.status("/metrics", Authorization=f"Bearer {token}"), 200)
        self.assertEqual(server.status("/enable", body=b""), 401)
        self.assertEqual(server.status("/enable", body=b"", Authorization=f"Bearer {token}"), 200)
        self.assertEqual(server.status("/disable", body=b"", Authorization=f"Bearer {token}"), 200)
        # The printed address works as it is.
        with urllib.request.urlopen(urllib.request.Request(
                f"http://127.0.0.1:{port}/metrics",
                headers={"Authorization": basic("allo", token)}), timeout=HANG) as answer:
            self.assertEqual(answer.status, 200)
        self.assertNotIn(token, self.serve(makes_token=True).url)

    def test_the_index_links_to_the_page_with_the_token(self):
        """The page cannot know the token otherwise.  All other links send it as the index did."""
        token = "a<b&c-0123456789abcd"
        server = self.serve(token=token)
        status, _, index = server.ask("/")
        links = [html.unescape(link) for link in re.findall(r'href="([^"]*)"', index.decode())]
        self.assertEqual(status, 200)
        self.assertEqual([link for link in links if "#" in link], [f"/view?pid={self.redis.pid}#k={token}"])
        server.token = None
        self.assertEqual(server.status("/"), 401)
        _, _, index = self.serve().ask("/")
        self.assertIn(f'"/view?pid={self.redis.pid}"', index.decode())

    def test_recordings_are_switched_with_a_token_only(self):
        server = self.serve()
        self.assertEqual(server.status("/metrics"), 200)
        for path in ("/enable", "/disable"):
            status, _, why = server.ask(path, body=b"")
            self.assertEqual(status, 403)
            self.assertIn(b"--no-token", why)

    def test_the_user_of_a_unix_socket_needs_no_token(self):
        path = self.redis.tmp / "allo.sock"
        self.serve(listen=f"unix:{path}")
        said = self.must("curl", "-s", "-X", "POST", "--unix-socket", path, "http://localhost/enable")
        self.assertIn("recording to", said)
        self.must("curl", "-s", "-X", "POST", "--unix-socket", path, "http://localhost/disable")


class Deceit(AccessTest):
    def statuses(self, server, head, body=b""):
        """The statuses of all replies on one connection."""
        with server.connect() as peer:
            peer.sendall(head.encode() + b"\r\n\r\n" + body)
            peer.shutdown(1)
            said = b""
            while piece := peer.recv(1 << 16):
                said += piece
        return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", said)]

    def test_a_second_request_is_not_smuggled(self):
        server = self.serve()
        start = "POST /pprof/symbol HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        hidden = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        for lengths in ("Content-Length: 3\r\nContent-Length: 46", "Content-Length: 0\r\nTransfer-Encoding: chunked",
                        "Transfer-Encoding: chunked\r\nContent-Length: 5",
                        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
                        "content-length: 3\r\nCONTENT-LENGTH: 3"):
            with self.subTest(lengths):
                self.assertIn(self.statuses(server, start + lengths, b"0\r\n\r\n" + hidden), ([400], []))
        self.assertEqual(self.statuses(server, start + "Content-Length: 3\r\nConnection: close", b"0x1"), [200])

    def test_a_nul_does_not_end_a_path(self):
        server = self.serve()
        for path in ("/metrics%00.png", "/metrics%00", "/metrics?%00", "/%00/metrics"):
            with self.subTest(path):
                found = self.statuses(server, f"GET {path} HTTP/1.1\r\nHost: [::1]\r\nConnection: close")
                self.assertEqual(found, [200 if "?" in path else 404])
        self.assertEqual(self.statuses(server, "GET /%6detrics HTTP/1.1\r\nHost: [::1]\r\nConnection: close"), [200])

    def test_a_raw_nul_opens_no_door(self):
        """libmicrohttpd ends a path or a value there: the part before it is checked like any other."""
        token = "0123456789abcdef"
        server = self.serve(token=token)
        for path, host, given, statuses in (("/metrics", "127.0.0.1", token, [200]),
                                            ("/metrics", "127.0.0.1\0.evil.example", token, [200, 400]),
                                            ("/metrics", "evil.example\0127.0.0.1", token, [403, 400]),
                                            ("/metrics", "127.0.0.1", token[:-1] + "\0" + token[-1], [401, 400]),
                                            ("/metrics", "127.0.0.1", "\0" + token, [401, 400]),
                                            ("/met\0rics", "127.0.0.1", token, [404, 400])):
            with self.subTest(path=path, host=host, given=given):
                found = self.statuses(server, f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {given}\r\n"
                                      "Connection: close")
                self.assertIn(found, [[status] for status in statuses] + [[]])

    @unsanitized
    def test_silent_connections_do_not_keep_others_out(self):
        server = self.serve()
        silent = [server.connect() for _ in range(2100)]
        # Each new connection takes the place of a silent one at once, not after its time is over.
        for _ in range(20):
            self.assertEqual(server.status("/metrics"), 200)
        closed = sum(is_closed(peer) for peer in silent[:200])
        self.assertGreater(closed, 100)
        self.assertFalse(any(is_closed(peer) for peer in silent[-20:]))
        for peer in silent:
            peer.close()
        wait_until(lambda: server.status("/metrics") == 200)
