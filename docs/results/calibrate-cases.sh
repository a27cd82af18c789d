#!/usr/bin/env bash
# Runs the simulations that docs/results/calibrate-cases.md names again, and prints each with its
# outcome. Needs a build with tests, and no GPU; exits with 1 where one fails or is not there.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tests=${DDPX_BUILD:-build}/tests
failed=0
run() { # run CASE PROGRAM FILTER
  local log
  log=$("$tests/$2" --gtest_filter="$3" 2>&1) || failed=1
  grep -q '^\[       OK' <<<"$log" || failed=1
  sed -nE "s/^\[ +(OK|FAILED) \] ([A-Za-z]+)\.([A-Za-z0-9_]+).*/$1\t\1\t\2: \3/p" <<<"$log" | sort -u
}
run "U101 U103 U106" ddpx_cupti_tests '*'
run "U051 U111 U115 U127" ddpx_cuda_facts_tests 'Preflight*'
run "U051 U055" ddpx_cuda_facts_tests 'Topology*'
run "U112" ddpx_profiler_tests 'Watch.*'
run "U112" ddpx_launch_tests '*ByTheProgram*:-*all_wait*:*hanging*'
run "U116 U122" ddpx_calibration_tests 'BoxNotes*'
run "U116" ddpx_cuda_facts_tests 'Loads*'
exit $failed
