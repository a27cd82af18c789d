#!/usr/bin/env bash
# .ci/ctest_failures.awk on a real log: a test that fails, one that crashes at length, one that runs out of time, one that is not
# there, one that passes when tried again, one that is skipped and one that passes.
#
#   ctest_failures_test.sh CTEST
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/CTestTestfile.cmake" <<END
add_test(fails sh -c "echo '[ RUN      ] A.b'; echo 'a.cpp:3: Failure'; exit 1")
add_test(crashes sh -c "seq 100; kill -SEGV \$\$")
add_test(hangs sh -c "echo begun; exec sleep 20")
set_tests_properties(hangs PROPERTIES TIMEOUT 1)
add_test(second sh -c "echo once; test -e '$folder/been' || { touch '$folder/been'; exit 1; }")
add_test(skipped sh -c "echo not here; exit 77")
set_tests_properties(skipped PROPERTIES SKIP_RETURN_CODE 77)
add_test(passes true)
END
"$1" --test-dir "$folder" -j 3 --output-on-failure --repeat until-pass:2 >"$folder/log" 2>&1 && { echo "nothing failed"; exit 1; }

cat >"$folder/expected" <<END
fails (Failed)
  a.cpp:3: Failure
crashes (SEGFAULT)
$(seq 15 | sed 's/^/  /')
  ...
$(seq 71 100 | sed 's/^/  /')
hangs (Timeout)
  begun
passed when tried again: second
END
awk -f .ci/ctest_failures.awk "$folder/log" | diff "$folder/expected" - || { cat "$folder/log"; exit 1; }

# Of a run that was ended early nothing is said to have passed.
sed '/tests passed/,$d' "$folder/log" >"$folder/cut"
awk -f .ci/ctest_failures.awk "$folder/cut" | grep -q '^second (of a run that did not end)$' || { cat "$folder/cut"; exit 1; }
