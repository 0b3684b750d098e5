#!/bin/bash
# What each submitting call costs: untraced, with the hook's calls alone, with all it records of the GPU, and with plain CUPTI
# recording the same kinds without telling which call it was. Medians over runs taken in turn, ns a call.
#
#   tests/gpu/submit_cost.sh UMTUI [RUNS]
set -u
here=$(cd "$(dirname "$0")" && pwd)
umtui=$(realpath "$1")
runs=${2:-5}
work=$(mktemp -d)
export PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo "skipped: no nvcc on the path"; exit 0; }
cuda=$(dirname "$(dirname "$(realpath "$(command -v nvcc)")")")
cupti=$(find "$cuda" -name cupti.h -printf '%h\n' 2>/dev/null | head -1)
lib=$(find "$cuda" -name 'libcupti.so' -printf '%h\n' 2>/dev/null | head -1)
cd "$work" || exit 2
nvcc -arch=native -O1 -o submit "$here/submit.cu" &
cc -O1 -fPIC -shared -I"$cuda/include" -I"$cupti" -o peer.so "$here/peer.c" -L"$lib" -lcupti &
wait
export LD_LIBRARY_PATH=$cuda/lib64:$lib:${LD_LIBRARY_PATH:-}
for run in $(seq "$runs"); do
    ./submit >>untraced
    "$umtui" record --no-gpu -o "rec$run.0" -- ./submit 2>/dev/null >>calls
    "$umtui" record -o "rec$run.1" -- ./submit 2>/dev/null >>umtui
    CUDA_INJECTION64_PATH="$work/peer.so" ./submit >>peer
    rm -rf rec*
done
python3 - <<'P'
from statistics import median
tables = {}
for name in ("untraced", "calls", "umtui", "peer"):
    for line in open(name):
        function, ns = line.split()
        tables.setdefault(function, {}).setdefault(name, []).append(float(ns))
print(f"{'ns a call':22} untraced  calls alone  all of umtui  plain CUPTI  umtui / CUPTI")
for function, columns in tables.items():
    value = {name: median(list_) for name, list_ in columns.items()}
    print(f"{function:22} {value['untraced']:8.0f}  {value['calls']:11.0f}  {value['umtui']:12.0f}  {value['peer']:11.0f}  {value['umtui'] / value['peer']:.2f}")
P
rm -rf "$work"
