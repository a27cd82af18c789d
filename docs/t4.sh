#!/usr/bin/env bash
# Builds ddpx on a notebook host with two T4 (Ubuntu 22.04, CUDA 12.4 or newer, PyTorch), calibrates
# and validates there: docs/t4.md. About a quarter of an hour, most of it compiling on few cores.
#
#   docs/t4.sh            all of it; results in the current folder
#   docs/t4.sh --build    no more than building, and what would be measured
set -euo pipefail
here=$(pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# What is missing of: a compiler of C++20, and the libraries by their packages of Ubuntu 22.04.
wanted=(g++-12 libeigen3-dev nlohmann-json3-dev libcli11-dev libfmt-dev)
missing=()
for package in "${wanted[@]}"; do
  dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
done
if ((${#missing[@]})); then
  apt-get -qq update
  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}"
fi
# Ubuntu 22.04's CMake is 3.22.
cmake_is=$(cmake --version 2>/dev/null | sed -n '1s/.* //p')
if [[ $(printf '%s\n3.25\n' "${cmake_is:-0}" | sort -V | head -1) != 3.25 ]] || ! command -v ninja >/dev/null; then
  python3 -m pip install -q 'cmake>=3.25' ninja
fi

export CXX=g++-12 CUDAHOSTCXX=g++-12
cmake --preset release -B build/t4 -DDDPX_WITH_CUDA=ON -DDDPX_WITH_MPI=OFF -DDDPX_TESTS=OFF -DDDPX_BENCH=OFF \
  -DCMAKE_CUDA_ARCHITECTURES=75-real >/dev/null
cmake --build build/t4 --target ddpx-calibrate ddpx-predict ddpx-validate -- -v >build/t4/log.txt 2>&1 ||
  { tail -20 build/t4/log.txt >&2; exit 1; }
bin=$(pwd)/build/t4/bin

if [[ ${1:-} == --build ]]; then
  exec "$bin/ddpx-calibrate" --backend cuda --quick --dtypes fp32,fp16 --dry-run
fi
cd "$here"
"$bin/ddpx-calibrate" --backend cuda --quick --dtypes fp32,fp16 --measurements t4-raw.json -o t4.json
"$bin/ddpx-predict" --machine t4.json --network mlp:depth=8 --sweep width=256:8192 --batch 256 --crossover
"$bin/ddpx-validate" --run --machine t4.json --network mlp:depth=8 --sweep width=256:4096 --batch 256 \
  --transport auto --processes 2 --runs t4-runs.json --markdown t4.md
