#!/usr/bin/env bash
# Coverage-guided fuzzing of the importers with clang's libFuzzer, address and undefined-behaviour
# sanitizers: SECONDS, 20 unless given. Returns 77 where there is no clang with libFuzzer.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-20}
build=${2:-build/fuzz}
entry=${3:-tests/fuzz/import_fuzz.cpp}
clang=$(command -v clang++-14 || command -v clang++ || true)
[[ -n $clang ]] || { echo "no clang++ here"; exit 77; }
mkdir -p "$build/corpus"
echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' >"$build/probe.cpp"
"$clang" -fsanitize=fuzzer,address,undefined "$build/probe.cpp" -o "$build/probe" 2>/dev/null ||
  { echo "this clang++ has no libFuzzer"; exit 77; }
sources=(io/nccl_tests*.cpp io/nvbandwidth.cpp io/topology_matrix.cpp io/log_text.cpp io/one_line.cpp
  io/json_*.cpp io/nearest.cpp model/operation.cpp model/tree_wire.cpp)
compile=("$clang" -std=c++20 -O1 -g1 -I. -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)
command -v ccache >/dev/null && compile=(ccache "${compile[@]}")
objects=()
for source in "$entry" "${sources[@]}"; do objects+=("$build/${source//\//-}.o"); done
export build
printf '%s\0' "$entry" "${sources[@]}" |
  xargs -0 -P "$(nproc)" -I {} bash -c 'source=$1; "${@:2}" -c "$source" -o "$build/${source//\//-}.o"' _ {} "${compile[@]}"
"$clang" -fsanitize=fuzzer,address,undefined "${objects[@]}" -lfmt -o "$build/import_fuzz"
"$build/import_fuzz" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
  -print_final_stats=1 "$build/corpus" tests/io/inputs 2>"$build/log" || { tail -n 40 "$build/log"; exit 1; }
grep -E '^stat::|^Done' "$build/log" || tail -n 3 "$build/log"
