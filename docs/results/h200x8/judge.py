#!/usr/bin/env python3
"""Fits the machines that docs/results/h200x8.sh measured into FOLDER and lays forecasts beside every row there. Needs no GPU.

    judge.py FOLDER

Writes summary.md, contention.md, and of each engine the machine, its fit and two validations: forecast from two GPUs (carried) and with
links calibrated at the rows' own count (right-count). DDPX_BIN_DIR names the folder of the programs (default: build/bin).
"""

import sys

from box import carry_lines, contention_lines, link_lines, spread_lines
from errors import engine_lines
from study import Study


def judge(folder):
    study = Study(folder)
    lines = ["# Four and eight GPUs, from a calibration of two", ""]
    lines += engine_lines(study, "native", "Native engine") + engine_lines(study, "torch", "PyTorch")
    lines += link_lines(study) + carry_lines(study) + contention_lines(study) + spread_lines(study)
    with open(study.at("summary.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    shown = [text for text in lines if not text.startswith("|") or "GPUs, all |" in text or text.startswith(("| GPUs | two", "| 4 | ", "| 8 | ", "| rows", "| B", "| Amdahl", "| baseline"))]
    print("\n".join(shown) + f"\nAll of it is in {study.at('summary.md')}.")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    judge(sys.argv[1])
