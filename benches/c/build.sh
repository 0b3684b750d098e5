#!/bin/sh
# build.sh OUT_DIR: compiles what `cargo bench --bench record` measures. Says on stdout which peers cannot be built.
set -eu
src=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
CC=${CC:-cc}
flags="-O2 -std=gnu11 -Wall -Wextra -Werror"

# shellcheck disable=SC2086
{
    $CC $flags -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$out/libcuda.so.1" "$src/driver.c"
    for name in loop worst many; do
        $CC $flags -o "$out/$name" "$src/$name.c" -L"$out" -l:libcuda.so.1 -Wl,-rpath,"$out" -lpthread
    done
    # For uftrace: the called functions compiled with -pg, the loop that calls them not.
    $CC $flags -pg -c -o "$out/driver_pg.o" "$src/driver.c"
    $CC $flags -c -o "$out/loop.o" "$src/loop.c"
    $CC -pg -o "$out/loop_pg" "$out/loop.o" "$out/driver_pg.o" -lpthread
    $CC $flags -Wno-unused-parameter -shared -fPIC -I"$src" -o "$out/lttng.so" "$src/lttng.c" -llttng-ust -ldl \
        2>"$out/lttng.err" || echo "no LTTng: liblttng-ust-dev is missing"
}
