"""Drop-in commands with missing, empty, unreadable and unwritable arguments: each error names its file."""
import os
import shutil

from allotest import ALLO, GOLDEN, IS_ROOT, Test

DHAT = GOLDEN / "dhat" / "dhat-rs-heap.json"
DTRACE = GOLDEN / "dtrace" / "macos-ustack-only.txt"
RHEAPER = GOLDEN / "rheaper" / "server.tar"


class Messages(Test):
    def setUp(self):
        super().setUp()
        for name in ("dhat-pprof", "dtrace2spall", "rheaper"):
            (self.tmp / name).symlink_to(ALLO)
        (self.tmp / "folder").mkdir()
        self.file("empty", "")
        self.file("garbage", "what is this\n" * 30)

    def fails(self, name, *arguments, status=1, file, **options):
        """The error, in one line that names the file."""
        done = self.run_program(self.tmp / name, *arguments, **options)
        said = done.stderr.decode()
        self.assertEqual(done.returncode, status, said)
        errors = [line for line in said.splitlines() if line.startswith("allo: error: ")]
        self.assertEqual(len(errors), 1, said)
        self.assertIn(file, errors[0])
        return errors[0]

    def test_dhat_pprof(self):
        for arguments, file in (
                ([], "dhat-heap.json: cannot open"), (["nosuch"], "nosuch: cannot open"), ([""], "'': cannot open"),
                (["folder"], "folder"), (["empty"], "empty: is empty"), (["garbage"], "garbage:1:"),
                ([DHAT, ""], "'': is not the name of an output file"), ([DHAT, "nosuch/out.pb.gz"], "nosuch/out.pb.gz: cannot"),
                ([DHAT, "folder"], "folder: cannot write")):
            with self.subTest(arguments):
                self.fails("dhat-pprof", *arguments, file=file)
        self.assertFalse((self.tmp / "dhat-heap.pb.gz").exists())

    def test_dtrace2spall(self):
        text = DTRACE.read_bytes()
        for arguments, data, file in (
                (["-o", ""], text, "'': is not the name of an output file"), (["-o", "nosuch/x"], text, "nosuch/x: cannot"),
                (["-o", "folder"], text, "folder: cannot write"), (["-o", "out"], b"", "standard input: is empty"),
                (["-o", "out"], b"what is this\n", "standard input:"), (["--passthrough"], text, "name"),
                (["-o", "out", "--fields", "a,b,c"], text, "standard input:")):
            with self.subTest(arguments):
                done = self.run_program(self.tmp / "dtrace2spall", *arguments, input=data)
                said = done.stderr.decode()
                self.assertEqual(done.returncode, 1, said)
                self.assertEqual(said.count("allo: error: "), 1)
                self.assertIn(file, said)

    def test_rheaper(self):
        self.file("there.db", "x")
        for arguments, file in (
                (["nosuch", "out.db"], "nosuch: cannot open"), (["", "out.db"], "'': cannot open"), (["folder", "out.db"], "folder"),
                (["empty", "out.db"], "empty: is empty"), (["garbage", "out.db"], "garbage"),
                ([RHEAPER, "there.db"], "there.db: exists"), ([RHEAPER, ""], "''"), ([RHEAPER, "nosuch/out.db"], "nosuch/out.db"),
                ([RHEAPER, "folder"], "folder")):
            with self.subTest(arguments):
                self.fails("rheaper", *arguments, file=file)
        self.assertFalse((self.tmp / "out.db").exists())

    def test_files_without_permission(self):
        if IS_ROOT and not shutil.which("setpriv"):
            self.skipTest("root may read everything, and setpriv(1) is missing")
        user = self.allo_of_a_user()
        shutil.copy(DHAT, self.tmp / "mine.json")
        (self.tmp / "mine.json").chmod(0)
        shutil.copy(DHAT, self.tmp / "yours.json")
        (self.tmp / "folder").chmod(0o555)
        program = self.tmp / "bin"
        program.mkdir()
        program.chmod(0o755)
        # argv[0] selects the command, so it must be called under its name.
        os.link(user[-1], program / "dhat-pprof") if IS_ROOT else (program / "dhat-pprof").symlink_to(ALLO)
        start = [*user[:-1], program / "dhat-pprof"]
        for arguments, file in ((["mine.json", "-"], "mine.json: cannot open"),
                                (["yours.json", "folder/out.pb.gz"], "folder/out.pb.gz: cannot")):
            with self.subTest(arguments):
                done = self.run_program(*start, *arguments)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(f"allo: error: {file}", done.stderr.decode())
