"""Who may read a recording and the files made from it, and which databases beside a recording are trusted."""
import os
import shutil
import stat
import unittest

from allotest import ALLO, ENVIRONMENT, IS_ROOT, Test, unpacked
from recordings import built, preloaded

NOBODY = 65534
COUNT = "select count(*) from allocation"


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


class Permissions(Test):
    def setUp(self):
        super().setUp()
        before = os.umask(0o022)
        self.addCleanup(os.umask, before)

    def record(self, *options):
        self.allo("run", "-qfo", "out.allo", *options, built("entry_points.c"))
        return self.tmp / "out.allo"

    def test_only_the_owner_reads_a_recording(self):
        for options in ((), ("--raw",)):
            self.assertEqual(mode(self.record(*options)), 0o600)
        self.must(built("entry_points.c"), env=preloaded(self.tmp / "linked.allo"))
        self.assertEqual(mode(self.tmp / "linked.allo"), 0o600)

    def test_files_made_from_a_private_recording_are_private(self):
        path = self.record()
        self.allo("convert", "-q", path, "-o", "heap.pb.gz")
        self.allo("convert", "-q", path, "-o", "heap.db")
        self.allo("diff", "-q", path, path, "-o", "diff.pb.gz")
        self.allo("symbolize", "-q", path, "-o", "named.allo")
        self.allo("symbolize", "-q", path)
        for name in ("heap.pb.gz", "heap.db", "diff.pb.gz", "named.allo", "out.allo"):
            self.assertEqual(mode(self.tmp / name), 0o600, name)
        with open(path, "rb") as given:
            self.allo("convert", "-q", "-", "-o", "redirected.json", "--to", "json", stdin=given)
        self.assertEqual(mode(self.tmp / "redirected.json"), 0o600)

    def test_files_made_from_a_public_recording_are_public(self):
        path = self.record()
        path.chmod(0o644)
        self.allo("convert", "-q", path, "-o", "heap.pb.gz")
        self.assertEqual(mode(self.tmp / "heap.pb.gz"), 0o644)

    def test_the_most_private_of_several_inputs_decides(self):
        path = self.record()
        public = shutil.copy(path, self.tmp / "public.allo")
        os.chmod(public, 0o644)
        self.allo("convert", "-q", public, path, "-o", "both.pb.gz")
        self.assertEqual(mode(self.tmp / "both.pb.gz"), 0o600)
        path.chmod(0o640)
        self.allo("convert", "-qf", public, path, "-o", "group.pb.gz")
        self.assertEqual(mode(self.tmp / "group.pb.gz"), 0o640)

    def test_a_replaced_file_keeps_its_permissions(self):
        self.file("heap.pb.gz", "old").chmod(0o644)
        self.allo("convert", "-qf", self.record(), "-o", "heap.pb.gz")
        self.assertEqual(mode(self.tmp / "heap.pb.gz"), 0o644)


class Databases(Test):
    """The database of a recording in the cache."""

    def setUp(self):
        super().setUp()
        self.allo("run", "-qo", "a.allo", built("entry_points.c"))

    @property
    def database(self):
        (found,) = (self.tmp / "cache" / "allotrope" / "databases").iterdir()
        return found

    def asked(self):
        """The answer of a query."""
        environment = {**ENVIRONMENT, "XDG_CACHE_HOME": str(self.tmp / "cache")}
        del environment["ALLO_NO_CACHE"]
        return self.allo("sql", "a.allo", COUNT, "--csv", env=environment)

    def forge(self):
        """Gives a database with the stamp of ours other contents; returns the right answer."""
        answer = self.asked()
        self.must("sqlite3", self.database, "delete from allocation where rowid % 2 = 0")
        self.assertNotEqual(self.asked(), answer)
        return answer

    def test_a_file_of_another_user_is_not_trusted(self):
        if not IS_ROOT:
            raise unittest.SkipTest("only root can give a file to another user")
        answer = self.forge()
        os.chown(self.database, NOBODY, NOBODY)
        self.assertEqual(self.asked(), answer)
        self.assertEqual(self.database.stat().st_uid, 0)

    def test_a_file_that_others_can_write_is_not_trusted(self):
        answer = self.forge()
        for given in (0o666, 0o620):
            self.database.chmod(given)
            self.assertEqual(self.asked(), answer)
            self.assertEqual(mode(self.database), 0o600)

    def test_links_pipes_and_folders_are_not_opened(self):
        answer = self.forge()
        path = self.database
        path.rename(self.tmp / "elsewhere.db")
        path.symlink_to(self.tmp / "elsewhere.db")
        forged = (self.tmp / "elsewhere.db").read_bytes()
        self.assertEqual(self.asked(), answer)
        self.assertEqual((self.tmp / "elsewhere.db").read_bytes(), forged)
        path.unlink()
        os.mkfifo(path)
        self.assertEqual(self.asked(), answer)
        path.unlink()
        path.mkdir()
        self.assertEqual(self.asked(), answer)


class Secrets(Test):
    SECRET = "--token=hunter2"

    def test_a_recording_without_a_command(self):
        for options in ((), ("--raw",)):
            self.allo("run", "-qfo", "out.allo", "--no-command", *options, built("entry_points.c"), self.SECRET)
            self.assertNotIn(b"hunter2", (self.tmp / "out.allo").read_bytes())
            self.assertEqual(self.allo_json("info", "out.allo")["command"], str(built("entry_points.c")))
        self.allo("run", "-qfo", "out.allo", "--raw", built("entry_points.c"), self.SECRET)
        self.assertIn(b"hunter2", (self.tmp / "out.allo").read_bytes())
        self.must(built("entry_points.c"), self.SECRET, env=preloaded(self.tmp / "linked.allo", ALLO_COMMAND="0"))
        self.assertNotIn(b"hunter2", (self.tmp / "linked.allo").read_bytes())

    def contents(self, path):
        """Of a file, or of all files of a folder."""
        return b"".join(unpacked(file) for file in (path.iterdir() if path.is_dir() else [path]))

    def test_every_format_without_a_command(self):
        self.allo("run", "-qo", "out.allo", built("entry_points.c"), self.SECRET)
        self.allo("convert", "-q", "out.allo", "-o", "again.pb.gz")
        formats = [entry["name"] for entry in self.allo_json("formats")["formats"] if entry["write"]]
        self.assertGreater(len(formats), 8)
        told = set()
        for source in ("out.allo", "again.pb.gz"):
            for name in formats:
                self.allo("convert", "-qf", source, "--to", name, "-o", f"open.{name}")
                if b"hunter2" in self.contents(self.tmp / f"open.{name}"):
                    told.add(name)
                self.allo("convert", "-qf", "--no-command", source, "--to", name, "-o", f"clean.{name}")
                self.assertNotIn(b"hunter2", self.contents(self.tmp / f"clean.{name}"), (source, name))
        self.assertLessEqual({"pprof", "json", "dhat", "sqlite", "massif"}, told)
