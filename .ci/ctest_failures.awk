# What the tests that failed said, from the log of `ctest --output-on-failure`: theirs alone, each under its name, and which passed only
# when they were tried again.
#
#   awk -f .ci/ctest_failures.awk LOG

/^ *([0-9]+\/[0-9]+ +)?Test +#[0-9]+: / {
  name = $0
  sub(/^.*Test +#[0-9]+: /, "", name)
  sub(/ .*$/, "", name)
  telling = /\*\*\*/ && !/\*\*\*Skipped/
  if (telling) {
    tries[name]++
    said[name] = "" # of the last try
    lines[name] = 0
  }
  next
}
/^ *Start +[0-9]+: / { telling = 0 }
/^[0-9]+% tests passed/ { telling = 0; ended = 1 }
/^The following tests FAILED:/ { listing = 1; next }
listing && /^[ \t]*[0-9]+ - / { failed[++count] = $3; how[$3] = substr($0, index($0, "(")); next }
# What GoogleTest says of every test.
/^(Running main|Note: Google Test filter|\[(=+|-+| RUN +| +OK +| +FAILED +| +PASSED +)\]|$)/ { next }
telling { said[name] = said[name] "  " $0 "\n"; lines[name]++ }

END {
  if (!ended) # by a signal: what had failed by then
    for (name in tries) {
      failed[++count] = name
      how[name] = "(of a run that did not end)"
    }
  for (i = 1; i <= count; i++) {
    name = failed[i]
    lost[name] = 1
    if (i > kMostTests) continue
    print name " " how[name]
    split(said[name], line, "\n")
    for (l = 1; l <= lines[name]; l++) {
      if (l > kFirst && l <= lines[name] - kLast) {
        if (l == kFirst + 1) print "  ..."
        continue
      }
      print line[l]
    }
  }
  if (count > kMostTests) print "and " count - kMostTests " more"
  for (name in tries)
    if (!(name in lost)) print "passed when tried again: " name
}

BEGIN {
  kMostTests = 10
  kFirst = 15 # lines of one test
  kLast = 30
}
