"""Recordings of rheaper, written from the description of the format alone, and their sums: slow and plain."""
import collections
import io
import json
import pathlib
import random
import struct
import tarfile

from allotest import ALLO, Test
from profilejson import Profile, names

EVENT = struct.Struct("<B6Q")  # tag, nanoseconds, number, address, thread, backtrace, size
ALLOC, FREE = 0, 1
LATE_NS = 10_000_000
RETIRED_KEPT = 64
MAX = (1 << 64) - 1
METRICS = ("alloc_blocks", "alloc_bytes", "max_blocks", "max_bytes", "peak_blocks", "peak_bytes", "end_blocks",
           "end_bytes", "lifetime", "temporary_blocks")

Event = collections.namedtuple("Event", "tag ns number address backtrace size")


def frame(name, file="/src/main.rs", line=1):
    return {"file": file, "lineno": line, "sym_name": name}


def backtrace(number, *frames):
    return json.dumps({"frames": list(frames), "id": number}, separators=(",", ":")).encode()


class Recording:
    """A directory of rheaper's that is yet to be written: events by thread, lines of backtraces by file."""

    def __init__(self, threads=1):
        self.events = {f"events-ThreadId({i + 1})": [] for i in range(threads)}
        self.backtraces = {}
        self.tails = {}
        self.number = self.ns = 0
        self.live = set()  # addresses, where events are made by chance

    def _add(self, thread, event):
        self.events[f"events-ThreadId({thread + 1})"].append(event)
        self.number = event.number + 1
        self.ns = event.ns

    def alloc(self, address, size, backtrace=1, thread=0, after=100, number=None):
        self._add(thread, Event(ALLOC, self.ns + after, self.number if number is None else number, address,
                                backtrace, size))

    def free(self, address, thread=0, after=100, number=None):
        self._add(thread, Event(FREE, self.ns + after, self.number if number is None else number, address, 0, 0))

    def step(self, chance, sites):
        """Any event: few addresses, whose frees are not always seen."""
        thread, after = chance.randrange(len(self.events)), chance.choice((0, 1, 50, 400000, 30000000))
        address = 0x10 * chance.randint(1, 100)
        is_odd = chance.random() < 0.1
        if (address in self.live) == is_odd:
            self.alloc(address, chance.choice((0, 1, 16, 1009, 1 << 40)), chance.choice(sites), thread, after)
            self.live.add(address)
        else:
            self.free(address, thread, after)
            self.live.discard(address)

    def backtrace(self, number, *frames, file=0):
        self.backtraces.setdefault(f"bt-{file}", []).append(backtrace(number, *frames))

    def files(self):
        """Paths within the directory, and their bytes."""
        found = {}
        for name, events in self.events.items():
            found[f"events/{name}"] = b"".join(
                EVENT.pack(e.tag, e.ns, e.number, e.address, 0, e.backtrace, e.size) for e in events)
        for name, lines in self.backtraces.items():
            found[f"backtraces/{name}"] = b"".join(line + b"\n" for line in lines)
        for name, tail in self.tails.items():
            found[name] = found.get(name, b"") + tail
        return found

    def write(self, folder):
        folder = pathlib.Path(folder)
        for inner in ("events", "backtraces"):
            (folder / inner).mkdir(parents=True, exist_ok=True)
        for name, data in self.files().items():
            (folder / name).write_bytes(data)
        return folder

    def tar(self, name="rip-1700000000", **options):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", **options) as archive:
            for path, data in self.files().items():
                info = tarfile.TarInfo(f"{name}/{path}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        return out.getvalue()

    def merged(self):
        """All events by their numbers, each with its thread."""
        return sorted(((event, name) for name, events in self.events.items() for event in events),
                      key=lambda pair: (pair[0].number, pair[1]))


def named(recording, *numbers):
    """Gives each of these backtraces a different frame below main."""
    for number in numbers:
        recording.backtrace(number, frame(f"app::site_{number}::h{number:016x}", line=number & 0xffff),
                            frame("app::main::h0123456789abcdef"))
    return recording


def small():
    """Two threads, an address that comes again, a leak."""
    made = named(Recording(2), 7, 8)
    made.alloc(0x1000, 1009, 7)
    made.alloc(0x2000, 4099, 8, thread=1)
    made.free(0x1000, thread=1)
    made.alloc(0x1000, 65537, 8)
    made.free(0x1000)
    made.alloc(0x3000, 11, 7, thread=1)
    return made


def random_recording(seed):
    """Threads that lose frees, free unknown blocks, and come late."""
    chance = random.Random(seed)
    threads, sites = chance.choice((1, 2, 5)), chance.choice((1, 3, 40))
    recording = named(Recording(threads), *range(1, sites + 1))
    for _ in range(chance.choice((0, 10, 700))):
        recording.step(chance, range(1, sites + 1))
    if seed % 7 == 0:
        recording.alloc(MAX, 1 << 63, 1)
    return recording


def golden():
    """The recording in tests/golden/rheaper/: threads that share addresses, and one that was killed."""
    chance, server = random.Random(1009), Recording(3)
    for site in range(1, 24):
        server.backtrace(site * 0x9e3779b97f4a7c15 & MAX, None,
                         frame("rheaper::alloc::TrackerGuard::with::h2f7bcd4120d6efa7", "/rheaper/src/alloc.rs", 90),
                         frame(f"server::site_{site}::h{site:016x}", "/server/src/sites.rs", site),
                         frame("server::main::h0123456789abcdef", "/server/src/main.rs", site % 4), file=site % 3)
    for _ in range(600):
        server.step(chance, [site * 0x9e3779b97f4a7c15 & MAX for site in range(1, 24)])
    killed = Recording(2)
    for _ in range(40):
        killed.step(chance, [1, 2, 3])
    killed.tails = {"events/events-ThreadId(2)": b"\1" + bytes(20)}
    return {"server.tar": server.tar(format=tarfile.USTAR_FORMAT), "killed.tar": killed.tar(format=tarfile.USTAR_FORMAT)}


def example():
    """The recording in examples/rip-1700000000/: a cache that keeps a little of each request."""
    made = Recording(2)
    hash_of = {}
    own = ["backtrace::backtrace::libunwind::trace", "rheaper::alloc::TrackerGuard::with",
           "<rheaper::alloc::Allocator<A> as core::alloc::global::GlobalAlloc>::alloc", "__rust_alloc",
           "alloc::alloc::alloc"]

    def frames(*calls):
        for name, file, line in (*((name, "/rustc/library.rs", 1) for name in own), *calls,
                                 ("server::worker", "src/main.rs", 71), ("server::main", "src/main.rs", 12)):
            yield frame(f"{name}::h{hash_of.setdefault(name, 0x9e3779b97f4a7c15 * (len(hash_of) + 1) & MAX):016x}", file, line)

    read, parse, keep = 14887427388493581654, 6831336122721510729, 2113490791341760087
    made.backtrace(read, *frames(("server::http::read_body", "src/http.rs", 212)))
    made.backtrace(parse, *frames(("server::http::parse_header", "src/http.rs", 88)))
    made.backtrace(keep, *frames(("server::cache::insert", "src/cache.rs", 40)), file=1)
    for request in range(40):
        thread, body = request % 2, 0x7f0000100000 + request % 2 * 0x10000
        made.alloc(body, 4096 + 97 * request, read, thread, 200000)
        for header in range(3):
            made.alloc(0x7f0000200000 + 0x40 * header, 48, parse, thread, 900)
        made.alloc(0x7f0000300000 + 0x60 * request, 83, keep, thread, 5000)
        for header in range(3):
            made.free(0x7f0000200000 + 0x40 * header, thread, 300)
        made.free(body, thread, 400000)
    return made


class Heap:
    """The sums of a recording by backtrace id, as doc/formats/rheaper.md defines them."""

    def __init__(self, recording):
        self.live = {}      # address to (backtrace, size, birth, thread)
        self.sites = collections.defaultdict(lambda: dict.fromkeys(METRICS, 0))
        self.held = collections.defaultdict(lambda: [0, 0])
        self.bytes = self.peak = self.peak_ns = self.now = 0
        self.last_allocated = {}  # by thread: address and birth
        self.retired = collections.deque(maxlen=RETIRED_KEPT)
        self.unseen = self.reused = self.late = 0
        self.rows = []
        for event, thread in recording.merged():
            self.now = max(self.now, event.ns)
            (self.allocate if event.tag == ALLOC else self.release)(event, thread)
        for address, (site, size, birth, thread) in self.live.items():
            self.sites[site]["lifetime"] += self.now - birth
            self.rows.append((birth, None, size, address, thread))
        for site, (blocks, size) in self.held.items():
            self.sites[site]["end_blocks"], self.sites[site]["end_bytes"] = blocks, size

    def end(self, address, freer):
        site, size, birth, thread = self.live.pop(address)
        self.held[site][0] -= 1
        self.held[site][1] -= size
        self.bytes -= size
        self.sites[site]["lifetime"] += self.now - birth
        self.rows.append((birth, self.now, size, address, thread))
        if freer == thread and self.last_allocated.get(freer) == (address, birth):
            self.sites[site]["temporary_blocks"] += 1

    def allocate(self, event, thread):
        site = event.backtrace
        if event.address in self.live:
            self.reused += 1
            self.retired.append([event.address, self.now, thread])
            self.end(event.address, None)
        else:
            for retired in self.retired:
                if retired[0] == event.address and self.now - retired[1] <= LATE_NS:
                    retired[2] = thread
                    break
        self.live[event.address] = (site, event.size, self.now, thread)
        self.last_allocated[thread] = event.address, self.now
        self.bytes += event.size
        totals, held = self.sites[site], self.held[site]
        held[0] += 1
        held[1] += event.size
        totals["alloc_blocks"] += 1
        totals["alloc_bytes"] += event.size
        if (held[1], held[0]) > (totals["max_bytes"], totals["max_blocks"]):
            totals["max_blocks"], totals["max_bytes"] = held
        if self.bytes > self.peak:
            self.peak, self.peak_ns = self.bytes, self.now
            for other, totals in self.sites.items():
                totals["peak_blocks"], totals["peak_bytes"] = self.held[other]

    def release(self, event, thread):
        for retired in self.retired:
            if retired[0] == event.address and self.now - retired[1] <= LATE_NS:
                if event.address in self.live and retired[2] == thread:
                    break
                retired[0] = None
                self.late += 1
                return
        if event.address not in self.live:
            self.unseen += 1
            return
        self.end(event.address, thread)


class Rheaper(Test):
    """A test of reading a recording."""

    def profile(self, path, *options):
        return Profile(self.allo("convert", "-q", "--to", "json", *options, path))

    def totals(self, path):
        """Metrics by the names of stacks."""
        profile = self.profile(path)
        self.assertEqual([metric["name"] for metric in profile.metrics], list(METRICS))
        return {names(frames): dict(zip(METRICS, values)) for frames, values, *_ in profile.samples}

    def expected(self, recording):
        return {("app::main", f"app::site_{site}"): totals for site, totals in Heap(recording).sites.items()}

    def notes(self, path, status=None):
        """Kinds of notes and how many there are, as `allo verify` has them."""
        done = self.run_program(ALLO, "verify", "--json", path)
        found = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0 if found["ok"] else 3, done.stderr)
        if status is not None:
            self.assertEqual(done.returncode, status, found)
        return {note["kind"]: note["count"] for note in found["notes"]}

    def write(self, recording, name="rip-1700000000"):
        return recording.write(self.tmp / name)
