#!/usr/bin/env bash
# Installs what building and testing ddpx needs, from the distribution's own packages (Debian 12,
# Ubuntu 24.04 and newer). Quick and silent about it when everything is there already.
set -euo pipefail

packages=(
  build-essential cmake ninja-build ccache git
  libopenmpi-dev openmpi-bin libopenblas-dev
  libeigen3-dev nlohmann-json3-dev libcli11-dev libfmt-dev
  libgtest-dev libgmock-dev libbenchmark-dev
  clang libclang-rt-dev # compiles for the sanitizers, and fuzzes
  clang-format clang-tidy
  iproute2      # tc shapes the links of the link test
)

# PyTorch is large and only its own tests need it, which are skipped without.
[[ -n ${CI:-} ]] && packages+=(python3-torch)

fail() {
  echo "setup.sh: $*" >&2
  exit 1
}

command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
  fail "needs Debian or Ubuntu; elsewhere install the equivalents of: ${packages[*]}"

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $state == installed ]] || missing+=("$package")
done

if ((${#missing[@]})); then
  echo "setup.sh: installing ${missing[*]}" >&2
  by_hand="apt-get update && apt-get install -y ${missing[*]}"

  as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || fail "not root and no sudo; run as root: $by_hand"
    as_root=(sudo)
    # Without a terminal sudo could not ask for the password, and would hang or fail obscurely.
    if [[ ! -t 0 ]]; then
      sudo -n true 2>/dev/null || fail "sudo wants a password and there is no terminal; run as root: $by_hand"
      as_root=(sudo -n)
    fi
  fi
  apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 \
      -o Acquire::Retries=3 -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 "$@" >&2 </dev/null
  }

  # Mirrors fail for a moment now and then, or have moved on since their lists were read: both are
  # asked again, and what was downloaded is kept.
  for attempt in 1 2 3; do
    did=update
    if apt update; then
      did=install
      apt install -y --no-install-recommends "${missing[@]}" && break
    fi
    ((attempt < 3)) || fail "apt-get $did failed three times (see above); is the network reachable? By hand, as root: $by_hand"
    sleep $((attempt * 10))
  done
fi

# An old distribution installs happily and then fails far from the cause.
cmake_version=$(cmake --version | sed -n '1s/^cmake version //p')
printf '%s\n' 3.25 "$cmake_version" | sort -V -C ||
  fail "cmake $cmake_version found, 3.25 or newer needed (Debian 12, Ubuntu 24.04)"
