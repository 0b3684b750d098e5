#!/bin/bash
# What recording unified memory costs beside plain CUPTI doing the same, in one run: a round of bounce.cu, ms, medians of
# several runs taken in turn.
#
#   tests/gpu/um_cost.sh UMTUI [RUNS]
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
nvcc -arch=native -O1 -o bounce "$here/bounce.cu" &
cc -O1 -fPIC -shared -I"$cuda/include" -I"$cupti" -o peer.so "$here/peer.c" -L"$lib" -lcupti &
wait
export LD_LIBRARY_PATH=$cuda/lib64:$lib:${LD_LIBRARY_PATH:-}
# once NAME COMMAND...: appends the two times to NAME
once() {
    local name=$1
    shift
    "$@" 2>&1 >/dev/null | sed -n 's/^round ms faulting \([0-9.]*\) prefetch \([0-9.]*\)$/\1 \2/p' >>"$name.times"
}
for run in $(seq "$runs"); do
    once untraced ./bounce 10
    once api "$umtui" record --no-gpu -o "rec$run.0" -- ./bounce 10
    once peer env CUDA_INJECTION64_PATH="$work/peer.so" ./bounce 10
    once umtui "$umtui" record -o "rec$run.1" -- ./bounce 10
    once peer_faults env PEER_FAULTS=1 CUDA_INJECTION64_PATH="$work/peer.so" ./bounce 10
    once umtui_faults "$umtui" record --um-faults -o "rec$run.2" -- ./bounce 10
    rm -rf rec*
done
python3 - <<'P'
from statistics import median
times = {}
for name in ("untraced", "api", "peer", "umtui", "peer_faults", "umtui_faults"):
    rows = [list(map(float, line.split())) for line in open(name + ".times")]
    times[name] = [median(column) for column in zip(*rows)]
    print(f"{name:14} round {times[name][0]:7.2f} ms   with prefetch {times[name][1]:7.2f} ms   ({len(rows)} runs)")
for a, b in (("umtui", "peer"), ("umtui_faults", "peer_faults"), ("umtui", "untraced"), ("umtui_faults", "untraced"), ("api", "untraced")):
    print(f"{a} / {b}: {times[a][0] / times[b][0]:.3f}   with prefetch {times[a][1] / times[b][1]:.3f}")
P
rm -rf "$work"
