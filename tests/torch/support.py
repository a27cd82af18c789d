"""What the tests of ddpx_torch share: where the package lies, a folder of one's own, commands run as a user runs them."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "torch"), str(pathlib.Path(__file__).parent)]


class Folder(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="ddpx-torch-test-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def write(self, name, content):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    def read(self, name):
        return json.loads((self.folder / name).read_text())

    def command(self, *arguments, environment=None, timeout=240):
        """Runs python3 -m ddpx_torch in the test's folder."""
        path = os.pathsep.join([str(ROOT / "torch"), str(pathlib.Path(__file__).parent)])
        variables = dict(os.environ, PYTHONPATH=path, GLOO_SOCKET_IFNAME="lo", **(environment or {}))
        return subprocess.run(
            [sys.executable, "-m", "ddpx_torch", *map(str, arguments)],
            cwd=self.folder,
            env=variables,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def refused(self, *arguments, says, code=2, environment=None):
        """One line, the exit code, and no file."""
        result = self.command(*arguments, environment=environment)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        for words in [says] if isinstance(says, str) else says:
            self.assertIn(words, result.stderr)
        self.assertFalse((self.folder / "runs.json").exists())


def program(name):
    """A C++ program where it was built, else None."""
    folder = pathlib.Path(os.environ.get("DDPX_BIN_DIR", ROOT / "build" / "bin"))
    return folder / name if (folder / name).exists() else None
