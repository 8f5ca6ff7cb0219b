"""`allo view`: its server, and the questions that tests ask it."""
import json
import re
import subprocess
import urllib.error
import urllib.request

from allotest import ALLO, ENVIRONMENT, HANG, wait_for_text
from replyfile import Reply


class ViewServer:
    """`allo view --no-open` for files; it listens on a free port unless the arguments name one."""

    def __init__(self, folder, *files, listen=("--listen", "127.0.0.1:0"), **environment):
        self.log = folder / "view.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([str(word) for word in (ALLO, "view", "--no-open", *listen, *files)],
                                            stderr=log, stdout=log, cwd=folder, env={**ENVIRONMENT, **environment})
        self.said = wait_for_text(self.log, "(?s).*Ctrl-C.*", self.process)[0]
        self.url, self.token = re.search(r"(http://\S+)/view#k=([0-9a-f]+)", self.said).groups()
        self.port = int(self.url.rsplit(":", 1)[1])

    def send(self, path, body=None, method=None, token=None, **headers):
        """Status, headers and body of an answer; headers are given with _ for -."""
        request = urllib.request.Request(self.url + path, data=body, method=method)
        if token is not False:
            request.add_header("Authorization", f"Bearer {token or self.token}")
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        try:
            with urllib.request.urlopen(request, timeout=HANG) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.headers, refusal.read()
        except OSError as failure:
            raise AssertionError(f"{failure}; the server has said {self.log.read_text()[-2000:]}") from failure

    def reply_to(self, body):
        """The bytes of the reply to a request, given as bytes."""
        status, _, reply = self.send("/ask", body)
        if status != 200:
            raise AssertionError(f"{status}: {reply[:500]}")
        return reply

    def ask(self, ask, **members):
        return Reply(self.reply_to(json.dumps({"v": 1, "ask": ask, **members}).encode()))

    def end(self, number):
        """Sends a signal; returns the status."""
        self.process.send_signal(number)
        return self.process.wait(HANG)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(HANG)
