#!/bin/bash
# What recording costs a program of many processes, on the wall, medians of runs in turn.
#
#   tests/gpu/forks.sh UMTUI [RUNS] [WORKERS] [KIND]     WORKERS: children that use CUDA, 160 if not said. KIND: only
#                                                        those whose name begins so, e.g. work
set -u
here=$(cd "$(dirname "$0")" && pwd)
umtui=$(realpath "$1")
runs=${2:-3}
workers=${3:-160}
only=${4:-}
work=$(mktemp -d)
memory=$(mktemp -d -p /dev/shm)
export PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo "skipped: no nvcc on the path"; exit 0; }
cd "$work" || exit 2
nvcc -arch=native -O1 -o forks "$here/forks.cu" || exit 1
hook=$(eval "$("$umtui" env -o "$memory/none")" && echo "$LD_PRELOAD")
# one KIND HOW FOLDER COMMAND...: how long a kind of children took, and what was recorded the first time.
one() {
    local kind=$1 how=$2 folder=$3
    shift 3
    # shellcheck disable=SC2086
    "$@" ./forks $kind >>"$kind.$how" 2>/dev/null
    [ "$run$how" = 1shm ] && echo "$kind: $(find "$folder" -name '*.umt' | wc -l) files, $(du -sk "$folder" | cut -f1) KiB; $("$umtui" report --format json "$folder" | python3 -c 'import json,sys; t=json.load(sys.stdin)["trace"]; print(t["processes"], "processes,", t["events"], "events,", t["lost"], "lost")')"
    rm -rf "$folder"
}
for run in $(seq "$runs"); do
    for kind in "idle 500 1" "idle 1000 8" "refused 1000 8" "work $workers 8"; do
        case $kind in "$only"*) ;; *) continue ;; esac
        one "$kind" untraced "$memory/none" env
        one "$kind" loaded "$memory/none" env "LD_PRELOAD=$hook"
        one "$kind" shm "$memory/rec" "$umtui" record -o "$memory/rec" --
        one "$kind" shm-no-gpu "$memory/rec" "$umtui" record --no-gpu -o "$memory/rec" --
        one "$kind" disk "$work/rec" "$umtui" record -o "$work/rec" --
        one "$kind" disk-no-gpu "$work/rec" "$umtui" record --no-gpu -o "$work/rec" --
    done
done
python3 - <<'P'
from glob import glob
from statistics import median
for kind in sorted({path.rsplit(".", 1)[0] for path in glob("*.untraced")}):
    lines = {how: [line.split() for line in open(f"{kind}.{how}")]
             for how in ("untraced", "loaded", "shm", "shm-no-gpu", "disk", "disk-no-gpu")}
    times = {how: median(float(words[0]) for words in found) for how, found in lines.items()}
    failed = sum(int(words[2]) for found in lines.values() for words in found)
    ratios = ", ".join(f"{how} {times[how] / times['untraced']:.3f}" for how in times if how != "untraced")
    print(f"{kind:15} untraced {times['untraced']:9.2f} ms; times as long: {ratios}; {failed} children failed")
P
rm -rf "$work" "$memory"
