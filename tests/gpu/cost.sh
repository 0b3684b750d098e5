#!/bin/bash
# What recording costs on a GPU machine, beside CUPTI, all in one run (about 5 minutes):
#   one cudaGetDevice, untraced, under the hook, and with an empty pair of CUPTI callbacks; by static cudart, where both see
#   one call, and by shared cudart, where both see the driver's call inside it as well
#   one PyTorch training step that waits for the GPU, and one that is bound by launching, untraced and under the hook
# Each way is a process of its own, in turn over the rounds; medians count.
#
#   tests/gpu/cost.sh UMTUI [OUT]     UMTUI: the umtui binary; OUT: folder for the numbers
#   ROUNDS=7 CALLS=200000 STEPS=60   may be set
set -u
if [ $# -lt 1 ]; then
    echo "usage: cost.sh UMTUI [OUT]" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
umtui=$(realpath "$1")
out=$(mkdir -p "${2:-/tmp/umtui-gpu-cost}" && realpath "${2:-/tmp/umtui-gpu-cost}")
rounds=${ROUNDS:-7} calls=${CALLS:-200000} steps=${STEPS:-60}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH=$PATH:/usr/local/cuda/bin
if ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L >/dev/null 2>&1; then
    echo "skipped: no GPU here (nvidia-smi finds none)"
    exit 0
fi
failures=0
fail() { echo "FAILED $*"; failures=$((failures + 1)); }

# number UNIT COMMAND...: the number that the command prints after its unit; its errors are ours
number() {
    local unit=$1
    shift
    "$@" | awk -v unit="$unit" '$1 == unit { print $2 }'
}

# hooked UNIT COMMAND...: the same under the hook; the recording must hold calls, none lost, and is removed
hooked() {
    local unit=$1 result
    shift
    result=$(number "$unit" "$umtui" record -o "$work/rec" -- "$@" 2>"$work/record.err")
    "$umtui" report --format json "$work/rec" >"$work/report.json" 2>>"$work/record.err" &&
        python3 -c 'import json,sys; r=json.load(open(sys.argv[1])); sys.exit(not r["apis"] or r["trace"]["lost"] > 0)' "$work/report.json" ||
        { echo "recording: $(cat "$work/record.err")" >&2; result=; }
    rm -rf "$work/rec"
    echo "$result"
}

# keep FILE ROUND WAY NUMBER
keep() {
    if [ -n "$4" ]; then echo "$2 $3 $4" >>"$1"; else fail "$(basename "$1"): $3 in round $2"; fi
}

# What runs before and after other things has to run on the same kind of clock.
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1
echo "clocksource $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource), load $(cut -d' ' -f1 /proc/loadavg)"

if command -v nvcc >/dev/null; then
    cuda=$(dirname "$(dirname "$(realpath "$(command -v nvcc)")")")
    include=$(find "$cuda" -name cupti.h -printf '%h\n' 2>/dev/null | head -1)
    library=$(find "$cuda" -name 'libcupti.so' -printf '%h\n' 2>/dev/null | head -1)
    export LD_LIBRARY_PATH=$cuda/lib64:$library:${LD_LIBRARY_PATH:-}
    for kind in static shared; do
        nvcc -O2 -cudart $kind ${include:+-I"$include"} -o "$work/cost_$kind" "$here/cost.c" ${library:+-L"$library"} -lcupti || {
            fail "cost_$kind does not compile"
            continue
        }
        file=$out/call_$kind.txt
        : >"$file"
        for round in $(seq "$rounds"); do
            keep "$file" "$round" untraced "$(number ns "$work/cost_$kind" "$calls")"
            keep "$file" "$round" hook "$(hooked ns "$work/cost_$kind" "$calls")"
            keep "$file" "$round" cupti "$(COST_CUPTI=$([ $kind = shared ] && echo driver || echo runtime) number ns "$work/cost_$kind" "$calls")"
        done
        echo "$kind cudart:"
        python3 "$here/cost_summary.py" call "$file" || fail "call, $kind cudart"
    done
else
    echo "skipped cudaGetDevice: no nvcc on the path"
fi

if python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
    for size in gpu launch; do
        file=$out/step_$size.txt
        : >"$file"
        for round in $(seq "$rounds"); do
            keep "$file" "$round" untraced "$(number ms python3 "$here/cost_step.py" $size "$steps")"
            keep "$file" "$round" hook "$(hooked ms python3 "$here/cost_step.py" $size "$steps")"
        done
        echo "training step, $size:"
        # Where launching is what takes the time, the target does not hold; the number is for the record.
        python3 "$here/cost_summary.py" step "$file" || [ $size = launch ] || fail "step"
    done
else
    echo "skipped the training step: no PyTorch with a GPU"
fi
[ $failures = 0 ] && echo "all within the targets" || echo "$failures outside the targets or failed"
[ $failures = 0 ]
