#!/usr/bin/env bash
# Everything that has to hold before a commit: both build trees without a warning, all tests (the
# slow ones and those of ranks only where optimized), formatting, lint, and headers that compile
# alone. Prints one line per check; the logs are in build/test-logs.
#
#   DDPX_TIDY=all ./test.sh     lint every file, not only the changed ones
#   DDPX_TIDY=none ./test.sh    leave linting out
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit

logs=build/test-logs
mkdir -p $logs
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 # clones in other folders share compiled files
jobs=$(nproc)
passed=0 failed=0 skipped=0

# check NAME COMMAND...: runs it into a log. A command that returns 77 was skipped, its last line
# says why.
check() {
  local name=$1 log=$logs/$1.log start=$SECONDS status=0
  shift
  "$@" >"$log" 2>&1 </dev/null || status=$?
  case $status in
    0) passed=$((passed + 1)); printf 'ok      %-22s %4d s\n' "$name" $((SECONDS - start)) ;;
    77) skipped=$((skipped + 1)); printf 'skipped %-22s %s\n' "$name" "$(tail -n 1 "$log")" ;;
    *)
      failed=$((failed + 1))
      printf 'FAILED  %-22s %4d s   %s\n' "$name" $((SECONDS - start)) "$log"
      [[ $name == tests-* ]] || grep -E 'error:|warning:|CMake Error|FAILED' -A 1 "$log" | awk '!seen[$0]++' |
        head -n 30 | sed 's/^/        /'
      ;;
  esac
  return $status
}

# Files of C++, changed or all, each ended by a zero byte. Without git (an archive) all is all there is.
cpp_files() {
  local is_cpp='\.(cpp|hpp|cu|cuh)$'
  if ! git rev-parse -q --verify HEAD >/dev/null 2>&1; then
    find . -path ./build -prune -o -type f -print0 | sed -z 's|^\./||'
  elif [[ $1 == all ]]; then
    git ls-files -z -co --exclude-standard
  else
    # What this branch adds to the main branch, committed or not; in a clean clone the last commit.
    local base
    base=$(git merge-base HEAD '@{upstream}' 2>/dev/null || git rev-parse HEAD)
    if [[ -n $(git diff --name-only "$base") || -n $(git ls-files -o --exclude-standard) ]]; then
      git diff -z --name-only --diff-filter=d "$base"
      git ls-files -z -o --exclude-standard
    else
      git diff-tree -z -r --root -m --first-parent --no-commit-id --name-only --diff-filter=d HEAD
    fi
  fi | grep -zE "$is_cpp" | while IFS= read -r -d '' file; do
    [[ -f $file ]] && printf '%s\0' "$file" # listed, but deleted and not yet committed
  done
  return 0
}

# Formatting and lint differ from version to version, so only the one we write with may object.
tool_14() {
  local tool
  for tool in "$1-14" "$1"; do
    if "$tool" --version 2>/dev/null | grep -q 'version 14\.'; then
      echo "$tool"
      return
    fi
  done
  return 1
}

format() {
  local tool
  tool=$(tool_14 clang-format) || { echo "no clang-format of version 14 here"; return 77; }
  local unlike
  unlike=$(cpp_files all | xargs -0 -n 16 -P "$jobs" "$tool" --dry-run 2>&1 |
    sed -n "s/:.*-Wclang-format-violations.*//p" | sort -u | sed "s/^/error: $tool -i /") ||
    { echo "error: $tool could not be run on every file"; return 1; }
  [[ -z $unlike ]] || { echo "$unlike"; return 1; }
}

# Headers are linted through the .cpp file of their name, or the unit in which they are compiled alone.
tidy() {
  local tool file units=()
  [[ ${DDPX_TIDY:-changed} != none ]] || { echo "DDPX_TIDY=none"; return 77; }
  tool=$(tool_14 clang-tidy) || { echo "no clang-tidy of version 14 here"; return 77; }
  while IFS= read -r -d '' file; do
    case $file in
      *.cpp) units+=("$file") ;;
      *.hpp)
        for file in "${file%.hpp}.cpp" "build/${file%%/*}/ddpx_${file%%/*}_verify_interface_header_sets/$file.cxx"; do
          [[ -f $file ]] && units+=("$file")
        done
        ;;
    esac
  done < <(cpp_files "${DDPX_TIDY:-changed}")
  ((${#units[@]})) || { echo "no changed C++ file"; return 0; }
  printf '%s\0' "${units[@]}" | sort -zu | xargs -0 -n 1 -P "$jobs" "$tool" -p build --quiet
}

# All errors in one run, not the first file's only.
build() {
  cmake --build "$1" -j "$jobs" "${@:2}" -- -k 0
}

# run_tests TREE NAME AT-ONCE CTEST-ARGUMENTS...: what those said that failed, and the closing lines whatever they say.
run_tests() {
  local tree=$1 name=tests-$2 at_once=$3
  shift 3
  check "$name" ctest --test-dir "$tree" -j "$at_once" --output-on-failure --no-tests=error "$@"
  {
    awk -f .ci/ctest_failures.awk "$logs/$name.log"
    grep -E 'No tests|tests passed|^Total Test time' "$logs/$name.log"
  } | sed 's/^/        /'
}

check format format
if check configure-release cmake --preset ci && check build-release build build; then
  run_tests build release "$jobs" -LE 'mpi|link'
  # Ranks are processes that wait for each other: a machine busy with something else can starve one.
  # Those that may run beside others mostly wait; the rest have the machine to themselves.
  run_tests build ranks $((2 * jobs)) -L 'mpi|link' --repeat until-pass:3
  check headers build build --target header_self_containment
  check tidy tidy
fi
if check configure-sanitized cmake --preset dev &&
  check build-sanitized build build/asan --target ddpx_quick_tests; then
  run_tests build/asan sanitized "$jobs" -LE 'slow|mpi|link' -E '_NOT_BUILT$' # those of ranks
fi

echo "checks: $passed passed, $failed failed, $skipped skipped"
((failed == 0))
