"""Timing of whole commands: start of the process included, files in the page cache."""
import os
import select
import subprocess
import tempfile
import time


class Figures:
    def __init__(self):
        self.wall = self.cpu = float("inf")
        self.after_child = float("inf")  # of the wall time, what comes after the end of its child
        self.own_cpu = float("inf")  # without that of its children
        self.memory = 0  # bytes at most


def own_cpu(pid):
    """Seconds of a process that has ended and is not yet waited for, to a hundredth or so."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def child_of(pid):
    """The first child that a process has, or None if it ends without one."""
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children = file.read().split()
        if children:
            return int(children[0])
        time.sleep(0.001)
    return None


def wait_for_end(pid):
    """Of a process that is not ours."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    select.select([handle], [], [])
    os.close(handle)


def once(command, figures, has_child=False):
    with open(os.devnull, "w") as nowhere:
        started = time.perf_counter()
        child = subprocess.Popen(command, stdout=nowhere, stderr=nowhere, stdin=subprocess.DEVNULL)
        grandchild = child_of(child.pid) if has_child else None
        if grandchild:
            wait_for_end(grandchild)
        child_ended = time.perf_counter()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        ended = time.perf_counter()
        figures.own_cpu = min(figures.own_cpu, own_cpu(child.pid))
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit status {child.returncode}")
    figures.wall = min(figures.wall, ended - started)
    if grandchild:
        figures.after_child = min(figures.after_child, ended - child_ended)
    figures.cpu = min(figures.cpu, usage.ru_utime + usage.ru_stime)


def memory_of(command):
    """Peak resident bytes, by time(1): wait4() would count the pages of this interpreter."""
    with tempfile.NamedTemporaryFile("r") as report:
        subprocess.run(["/usr/bin/time", "-q", "-f", "%M", "-o", report.name, "--", *command],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        return int(report.read().split()[-1]) * 1024


def spare_memory():
    """Bytes that the machine could still give to programs."""
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable"))


def compare(commands, rounds):
    """Figures of each command, the rounds interleaved so that all see the same machine; minima."""
    commands = [[str(word) for word in command] for command in commands]
    all_figures = [Figures() for _ in commands]
    for _ in range(rounds):
        for command, figures in zip(commands, all_figures):
            once(command, figures)
    return all_figures
