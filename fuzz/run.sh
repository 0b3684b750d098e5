#!/bin/sh
# Runs targets without cargo-fuzz: `fuzz/run.sh SECONDS TARGET...`, built by fuzz/build.sh. What is found lies in
# fuzz/artifacts/TARGET, what leads further in fuzz/corpus/TARGET.
set -eu
seconds=$1
shift
cd "$(dirname "$0")"
built=${CARGO_TARGET_DIR:-target}/$(rustc -vV | sed -n 's/^host: //p')/release
# Temporary files belong into memory.
TMPDIR=$(mktemp -d /dev/shm/umtui-fuzz.XXXXXX)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
for target in "$@"; do
    mkdir -p "corpus/$target" "artifacts/$target"
    length=4096
    seeds=seeds/$target
    more=
    case $target in
    native) length=262144 seeds=../tests/data ;;
    chrome | text | packed) length=16384 ;;
    stream) length=32768 ;;
    nsys) more=-len_control=0 ;;
    esac
    set -- -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len="$length" -print_final_stats=1 \
        -artifact_prefix="artifacts/$target/" $more
    if [ -e "dictionaries/$target.dict" ]; then
        set -- "$@" -dict="dictionaries/$target.dict"
    fi
    "$built/$target" "$@" "corpus/$target" "$seeds"
done
