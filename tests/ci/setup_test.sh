#!/usr/bin/env bash
# setup.sh where mirrors fail: an apt-get that fails as often as it is told, and no package is there.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
program() { cat >"$folder/bin/$1" && chmod +x "$folder/bin/$1"; }

program dpkg-query <<'END'
#!/bin/sh
echo not-installed
END
program sudo <<'END'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
exec "$@"
END
program sleep </dev/null
# Notes what it was asked; fails while FILE-OF-FAILURES has a line for that.
program apt-get <<END
#!/bin/sh
for word in "\$@"; do case \$word in update | install) what=\$word ;; esac; done
echo \$what >>'$folder/asked'
if grep -qx \$what '$folder/failures'; then
  sed -i "0,/^\$what\$/{//d}" '$folder/failures'
  exit 100
fi
END

# setup FAILURES: what setup.sh says on a host where apt-get fails at these, and its exit code.
setup() {
  : >"$folder/asked"
  printf '%s\n' "$@" >"$folder/failures"
  code=0
  PATH=$folder/bin:$PATH ./setup.sh >"$folder/said" 2>&1 || code=$?
}
expect() {
  [[ $1 == "$2" ]] || { echo "expected '$2', got '$1'"; cat "$folder/said"; exit 1; }
}

setup
expect "$code $(paste -sd' ' "$folder/asked")" "0 update install"
setup update
expect "$code $(paste -sd' ' "$folder/asked")" "0 update update install"
setup install install
expect "$code $(paste -sd' ' "$folder/asked")" "0 update install update install update install"
setup install install install
expect "$code $(paste -sd' ' "$folder/asked")" "1 update install update install update install"
expect "$(grep -c 'apt-get install failed three times' "$folder/said")" 1
setup update update update
expect "$code $(paste -sd' ' "$folder/asked")" "1 update update update"
