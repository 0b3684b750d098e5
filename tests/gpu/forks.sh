#!/bin/bash
# What recording costs a program of many processes, on the wall, medians of runs in turn.
#
#   tests/gpu/forks.sh UMTUI [RUNS]
set -u
here=$(cd "$(dirname "$0")" && pwd)
umtui=$(realpath "$1")
runs=${2:-3}
work=$(mktemp -d)
memory=$(mktemp -d -p /dev/shm)
export PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo "skipped: no nvcc on the path"; exit 0; }
cd "$work" || exit 2
nvcc -arch=native -O1 -o forks "$here/forks.cu" || exit 1
for run in $(seq "$runs"); do
    for kind in "idle 1000 8" "refused 1000 8" "work 160 8"; do
        name=${kind%% *}
        # shellcheck disable=SC2086
        {
            ./forks $kind >>"$name.untraced"
            "$umtui" record -o "$memory/$name.$run" -- ./forks $kind >>"$name.shm" 2>/dev/null
            "$umtui" record -o "$work/$name.$run" -- ./forks $kind >>"$name.disk" 2>/dev/null
        }
        [ "$run" = 1 ] && echo "$name: $(find "$memory/$name.$run" -name '*.umt' | wc -l) files, $(du -sk "$memory/$name.$run" | cut -f1) KiB; $("$umtui" report --format json "$memory/$name.$run" | python3 -c 'import json,sys; t=json.load(sys.stdin)["trace"]; print(t["processes"], "processes,", t["events"], "events,", t["lost"], "lost")')"
        rm -rf "${memory:?}/$name.$run" "${work:?}/$name.$run"
    done
done
python3 - <<'P'
from statistics import median
for kind in ("idle", "refused", "work"):
    times = {how: median(float(line.split()[0]) for line in open(f"{kind}.{how}")) for how in ("untraced", "shm", "disk")}
    failed = sum(int(line.split()[2]) for how in times for line in open(f"{kind}.{how}"))
    ratios = ", ".join(f"{how} {times[how] / times['untraced']:.3f}" for how in ("shm", "disk"))
    print(f"{kind:8} untraced {times['untraced']:9.2f} ms; times as long: {ratios}; {failed} children failed")
P
rm -rf "$work" "$memory"
