#!/usr/bin/env bash
# What needs two GPUs, in a few minutes: the tests on one and two ranks and on two "hosts",
# calibrations with and without CUPTI, and what the user sees where something is in the way. Needs no
# compiler: build/bin and build/tests/ddpx_gpu_ranks_tests are enough. Results are printed; logs and
# measurements go to $OUT, where that is set.
#
#   tests/gpu.sh          under 4 minutes
#   tests/gpu.sh long     1,000 set-ups of a communicator, and a calibration with --full
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=build/bin
tests=build/tests/ddpx_gpu_ranks_tests
out=${OUT:-$(mktemp -d)}
# Where the libraries of PyTorch's wheels lie, for programs that were built elsewhere.
wheels=$(python3 - 2>/dev/null <<'P'
import glob, os, sys
found = {os.path.dirname(f) for p in sys.path for n in ("libnccl.so*", "libcublas.so*", "libcupti.so*")
         for f in glob.glob(os.path.join(p, "nvidia", "*", "lib", n)) + glob.glob(os.path.join(p, "nvidia", "*", "lib", "*", n))}
print(":".join(sorted(found)))
P
)
export LD_LIBRARY_PATH=${wheels:+$wheels:}${LD_LIBRARY_PATH:-}
failed=0
say() { printf '%-34s %s\n' "$1" "$2"; }

ranks() { # ranks NAME WORDS... : the tests by run_ranks.sh
  local log="$out/$1.log" began=$SECONDS
  tests/profiler/cuda/run_ranks.sh "${@:2}" >"$log" 2>&1 || failed=1
  say "tests, $1" "$(grep -c '^\[       OK' "$log") passed, $(grep -cE '^\[  FAILED  \] .*\(|^rank [0-9]' "$log") failed, $((SECONDS - began)) s"
  grep -E '^skipped|Failure|^rank [0-9]|set-ups|over before|Error' "$log" | head -12
}

calibrated() { # calibrated NAME OPTIONS... : what it says of the box, and how long it took
  local began=$SECONDS
  $bin/ddpx-calibrate --backend cuda --measurements "$out/$1.json" -o "$out/$1-machine.json" "${@:2}" >"$out/$1.txt" 2>"$out/$1.err" || failed=1
  say "calibrate ${*:2}" "$((SECONDS - began)) s"
  tail -3 "$out/$1.err"
  sed -n '/kernel grids known/p; /bias and activation/p; /their gradients/p; /copy bandwidth/p; /beside/p; /^Notes/,$p' "$out/$1.txt"
}

if [[ ${1:-} == long ]]; then
  DDPX_COMMUNICATORS=1000 ranks communicators-1000 2 $tests --gtest_filter='Communicators.set_up*'
  calibrated full --full
  exit $failed
fi

skip='-Soak*:*Torch*'
ranks one-rank 1 $tests --gtest_filter="$skip:Training*"
# Before any other test has loaded the kernels, and once more what once hung, by itself.
ranks loading 2 $tests --gtest_filter='Loading*'
ranks adamw 2 $tests --gtest_filter='AdamW*'
ranks two-ranks 2 $tests --gtest_filter="$skip"
ranks two-hosts --hosts 2 $tests --gtest_filter='*Contract*:*two_hosts*:Training*'
calibrated quick --quick
calibrated no-cupti --quick --no-cupti
calibrated host-memory --only-link --quick --transport shm

# What the user sees where something is in the way.
seen() { # seen NAME COMMAND... : its first line and exit status
  local text status
  text=$("${@:2}" 2>&1 >/dev/null)
  status=$?
  say "$1" "exit $status: $(tail -1 <<<"$text")"
}
few=(--only-link --quick --collectives all_reduce --dtypes fp32 -o "$out/seen.json" --measurements "$out/seen-raw.json")
seen "99 ranks" $bin/ddpx-calibrate --backend cuda --ranks 99 "${few[@]}"
seen "no GPU visible" env CUDA_VISIBLE_DEVICES= $bin/ddpx-calibrate --backend cuda "${few[@]}"
noted() { # noted NAME PATTERN COMMAND... : what the measurements say
  "${@:3}" >/dev/null 2>"$out/noted.err" || tail -1 "$out/noted.err"
  say "$1" "$(grep -oE "$2" "$out/seen-raw.json" | head -1)"
}
noted "one core for two ranks" 'ranks share a core[^"]*' taskset -c 0 $bin/ddpx-calibrate --backend cuda "${few[@]}"
noted "NVLS asked for" 'NVLS is on[^"]*' env NCCL_NVLS_ENABLE=1 $bin/ddpx-calibrate --backend cuda "${few[@]}"
if mount -t tmpfs -o size=16m none /dev/shm 2>/dev/null; then
  noted "/dev/shm of 16 MB" '/dev/shm is too small[^"]*' $bin/ddpx-calibrate --backend cuda --transport shm "${few[@]}"
  umount /dev/shm
else
  say "/dev/shm of 16 MB" "not tried: no right to mount"
fi
exit $failed
