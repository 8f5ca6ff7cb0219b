"""A pseudo-terminal of a given size, for output that depends on it."""
import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

from allotest import HANG


class Terminal:
    """Runs a program on a terminal; its output is in `said`, its exit status in `status`."""

    def __init__(self, command, columns=80, rows=24, env=None, cwd=None):
        self.said = b""
        self.status = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            # The parent sets the size first: until then nothing may look at it.
            os.read(0, 1)
            if cwd:
                os.chdir(cwd)
            os.execvpe(str(command[0]), [str(word) for word in command], {**os.environ, **(env or {})})
        attributes = termios.tcgetattr(self.fd)
        attributes[3] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(self.fd, termios.TCSANOW, attributes)
        self.resize(columns, rows)
        os.write(self.fd, b"\n")

    def type(self, text):
        os.write(self.fd, text.encode())

    def read(self, seconds):
        """Reads once; False when the program has ended or prints nothing for so long."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.fd, 1 << 16)
        except OSError:  # the other end is closed
            data = b""
        self.said += data
        return bool(data)

    def wait_for(self, text, seconds=HANG):
        """Reads until the text has come; everything up to there."""
        end = time.monotonic() + seconds
        while text.encode() not in self.said:
            if time.monotonic() > end or not self.read(end - time.monotonic()):
                raise AssertionError(f"no {text!r} in {self.said.decode(errors='replace')!r}")
        before, self.said = self.said.split(text.encode(), 1)
        return before.decode(errors="replace")

    def resize(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def drawn(self):
        """The screen as it was drawn last, escape sequences included."""
        return self.said.rsplit(b"\033[H", 1)[-1].decode(errors="replace")

    def page(self):
        """The lines of the screen as text."""
        lines = re.sub(r"\033\[[0-9;?]*[A-Za-z]", "", self.drawn()).split("\n")
        return "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1].rstrip() for line in lines)

    def until(self, pattern):
        """Reads until the screen matches; the match."""
        end = time.monotonic() + HANG
        while not (found := re.search(pattern, self.page(), re.M)):
            if time.monotonic() > end or not self.read(end - time.monotonic()):
                raise AssertionError(f"no {pattern!r} in:\n{self.page()}")
        return found

    def finish(self):
        """Waits for the end of the program; all its output, as text."""
        while self.read(HANG):
            pass
        self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return self.said.decode(errors="replace").replace("\r\n", "\n")


def on_terminal(*command, **options):
    """(status, text) of a program on a terminal."""
    terminal = Terminal(command, **options)
    text = terminal.finish()
    return terminal.status, text
