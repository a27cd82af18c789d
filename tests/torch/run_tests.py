"""Runs one file of these tests for ctest: exit code 77, and why, where this Python has no PyTorch or every test is skipped.

usage: run_tests.py FILE
"""

import pathlib
import sys
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

try:
    import torch

    torch.nn
except (ImportError, AttributeError) as error:
    print(f"no PyTorch for {sys.executable}: {error}")
    sys.exit(77)

result = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromName(pathlib.Path(sys.argv[1]).stem))
if result.wasSuccessful() and result.testsRun == len(result.skipped) > 0:
    sys.exit(77)
sys.exit(not result.wasSuccessful() or result.testsRun == 0)
