#!/usr/bin/env bash
# compute-sanitizer (NVIDIA, "Compute Sanitizer") over the tests on GPUs: memcheck, racecheck,
# initcheck and synccheck, one rank alone and two together (on one GPU as two "hosts"). Exits with 1
# where a tool finds anything, and with 2 where it cannot run here at all (gVisor refuses it the device).
#
#   docs/results/sanitizers.sh [TOOL...]    some minutes on two GPUs; one tool alone is faster
#
# Tests that wait on a clock or repeat thousands of steps are left out: under the tools each kernel
# takes a hundred times as long. NCCL's own kernels are left out of all but memcheck: they synchronise
# by memory and by barriers of parts of a block, which the tools do not follow. Calls that fail are
# not counted: NCCL asks for kernels of every architecture, and ours are checked where they are made.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
program=${DDPX_GPU_TESTS:-build/tests/ddpx_gpu_ranks_tests}
tools=("$@")
((${#tools[@]})) || tools=(memcheck racecheck initcheck synccheck)
command -v compute-sanitizer >/dev/null || {
  echo "compute-sanitizer is not in PATH; it is in the CUDA toolkit's bin" >&2
  exit 2
}
kernels='CudaKernels.*:AdamW*:Autocast*'
together='Training*'
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failed=0
for tool in "${tools[@]}"; do
  options=(--tool "$tool" --error-exitcode 9 --print-limit 5)
  [[ $tool == memcheck ]] && options+=(--report-api-errors no)
  [[ $tool != memcheck ]] && options+=(--kernel-name-exclude kernel_substring=nccl)
  for ranks in 1 2; do
    filter=$kernels apart=()
    ((ranks == 2)) && filter=$together
    ((ranks > gpus)) && apart=(--hosts)
    log=$out/$tool-$ranks
    tests/profiler/cuda/run_ranks.sh "${apart[@]}" "$ranks" compute-sanitizer "${options[@]}" "$program" \
      --gtest_filter="$filter" >"$log" 2>&1
    status=$?
    if grep -q "Device not supported" "$log"; then
      echo "$tool: this machine refuses compute-sanitizer the device" >&2
      exit 2
    fi
    passed=$(grep -c '^\[       OK' "$log")
    if grep -q '^skipped' "$log"; then
      echo "$tool, $ranks ranks: $(grep -m1 '^skipped' "$log")"
      continue
    fi
    echo "$tool, $ranks rank(s): $passed tests; $(grep -h 'SUMMARY' "$log" | sort | uniq -c | tr -s ' ' | tr '\n' ';')"
    if ((status != 0 || passed == 0)); then
      failed=1
      grep -hE '^=========' "$log" | head -40
    fi
  done
done
exit $failed
