"""A PostgreSQL server for a test or a benchmark."""
import os
import pathlib
import resource
import signal
import subprocess

from allotest import ENVIRONMENT, HANG, IS_ROOT, wait_until

# Of each query, far more than any needs: a plan that goes wrong must end, not fill the machine.
SECONDS, MEMORY = 600, 1 << 30


def no_more_memory(most):
    """A limit of address space, for preexec_fn."""
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most))


class PostgreSQL:
    """A server with files of its own, which only this test can reach: it listens to a socket in a folder."""

    def __init__(self, folder):
        self.folder = folder
        self.user = []
        if IS_ROOT:  # which PostgreSQL refuses
            os.chown(folder, 65534, 65534)
            self.user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[4]))
        self.programs = programs[-1].parent
        options = {"listen_addresses": "", "unix_socket_directories": folder, "fsync": "off", "wal_level": "minimal",
                   "max_wal_senders": 0, "shared_buffers": "64MB", "work_mem": "64MB", "temp_file_limit": "1GB"}
        subprocess.run([*self.user, self.programs / "initdb", "-D", folder / "data", "-U", "allo", "-A", "trust", "-N",
                        "-E", "UTF8", "--locale=C"], check=True, cwd=folder, stdout=subprocess.DEVNULL)
        with open(folder / "log", "wb") as log:
            # Shared buffers count for each of its processes.
            self.server = subprocess.Popen(
                [*self.user, self.programs / "postgres", "-D", folder / "data",
                 *(word for name, value in options.items() for word in ("-c", f"{name}={value}"))],
                cwd=folder, stdout=log, stderr=log, preexec_fn=no_more_memory(2 * MEMORY))
        wait_until(lambda: self.server.poll() is not None or self.ask("postgres", "select 1")[0] == 0)

    def ask(self, database, sql, seconds=SECONDS):
        """The exit status, and the answer as CSV or the errors."""
        done = subprocess.run(["psql", "-X", "-q", "-h", self.folder, "-U", "allo", "-d", database, "--csv", "-t", "-f", "-"],
                              input=sql.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=HANG,
                              env={**ENVIRONMENT, "PGOPTIONS": f"-c statement_timeout={seconds}s"})
        return done.returncode or bool(done.stderr), (done.stderr or done.stdout).decode()

    def close(self):
        self.server.send_signal(signal.SIGINT)  # it closes connections
        self.server.wait(HANG)
