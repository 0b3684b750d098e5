#!/bin/bash
# Everything that needs a GPU, in one go (under 8 minutes on one H200): builds CUDA programs with nvcc, runs each
# with and without the hook, and holds the recording against what its source says.
#
#   tests/gpu/run.sh UMTUI [OUT]     UMTUI: the umtui binary; OUT: folder for logs and small traces
set -u
here=$(cd "$(dirname "$0")" && pwd)
umtui=$(realpath "$1")
out=$(mkdir -p "${2:-/tmp/umtui-gpu}" && realpath "${2:-/tmp/umtui-gpu}")
work=$(mktemp -d)
export PATH=$PATH:/usr/local/cuda/bin
if ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L >/dev/null 2>&1; then
    echo "skipped: no GPU here (nvidia-smi finds none)"
    exit 0
fi
command -v nvcc >/dev/null || { echo "skipped: no nvcc on the path"; exit 0; }
cuda=$(dirname "$(dirname "$(realpath "$(command -v nvcc)")")")
cupti=$(find "$cuda" -name cupti.h -printf '%h\n' 2>/dev/null | head -1)
failures=0
fail() { echo "FAILED $*"; failures=$((failures + 1)); }
cd "$work" || exit 2

nvcc -arch=native -O1 -o managed_static "$here/managed.cu" &
nvcc -arch=native -O1 -cudart shared -o managed_shared "$here/managed.cu" &
nvcc -arch=native -O1 -default-stream per-thread -o managed_ptds "$here/managed.cu" &
nvcc -arch=native -O1 -cudart shared -default-stream per-thread -o managed_shared_ptds "$here/managed.cu" &
nvcc -arch=native -O1 -o threads_static "$here/threads.cu" &
nvcc -arch=native -O1 -cudart shared -o threads_shared "$here/threads.cu" &
cc -O1 -I"$cuda/include" -o driver "$here/driver.c" -L"$cuda/lib64/stubs" -lcuda &
[ -n "$cupti" ] && cc -O1 -fPIC -shared -I"$cuda/include" -I"$cupti" -o count.so "$here/count.c" -L"$(find "$cuda" -name 'libcupti.so' -printf '%h\n' | head -1)" -lcupti &
wait
export LD_LIBRARY_PATH=$cuda/lib64:$(find "$cuda" -name 'libcupti.so' -printf '%h\n' 2>/dev/null | head -1):${LD_LIBRARY_PATH:-}

# one NAME LAYERS COMMAND...
one() {
    local name=$1 layers=$2
    shift 2
    "$@" >plain.out 2>plain.err
    local plain=$?
    "$umtui" record -o "$work/rec/$name" -- "$@" >hooked.out 2>hooked.err
    local hooked=$?
    [ $plain = $hooked ] || fail "$name: status $plain without, $hooked with the hook"
    cmp -s plain.out hooked.out || { fail "$name: output differs"; diff plain.out hooked.out | head -5; }
    "$umtui" report --format json "$work/rec/$name" >"$out/$name.json" || fail "$name: report"
    local counts=()
    if [ -f count.so ]; then
        COUNT_OUT=$work/$name.count CUDA_INJECTION64_PATH=$work/count.so "$@" >/dev/null 2>&1
        [ -f "$work/$name.count" ] && counts=("$work/$name.count")
    fi
    python3 "$here/check.py" "$name" "$out/$name.json" plain.err "$layers" "${counts[@]}" || fail "$name: counts"
}

one managed_static driver ./managed_static
one managed_shared runtime,driver ./managed_shared
one managed_ptds driver ./managed_ptds
one managed_shared_ptds runtime,driver ./managed_shared_ptds
one threads_static driver ./threads_static
one threads_shared runtime,driver ./threads_shared
one driver driver ./driver
if python3 -c 'import torch' 2>/dev/null; then one torch runtime,driver python3 "$here/torch_script.py"; else echo "skipped torch: not installed"; fi
if python3 -c 'import cupy' 2>/dev/null; then one cupy driver python3 "$here/cupy_script.py"; else echo "skipped cupy: not installed"; fi

for name in managed_static managed_shared driver; do
    for file in "$work/rec/$name"/*.umt; do cp "$file" "$out/$name.umt"; done
done
[ $failures = 0 ] && echo "all passed" || echo "$failures failed"
[ $failures = 0 ]
