#!/bin/sh
# build.sh OUT_DIR LIB_DIR: compiles the programs of this folder into OUT_DIR, against the stand-in libraries in LIB_DIR
# (libcuda.so.1, libcudart.so.12, libcudart.so.13, libumsim_cudart_static.a). What is newer than its sources is left alone.
# Run the programs with LD_LIBRARY_PATH=LIB_DIR.
set -eu

if [ $# -ne 2 ]; then
    echo "usage: build.sh OUT_DIR LIB_DIR" >&2
    exit 2
fi
CC=${CC:-cc}
CXX=${CXX:-c++}
if ! command -v "$CC" >/dev/null 2>&1; then
    echo "build.sh: no C compiler ($CC): install one or set CC" >&2
    exit 3
fi
src=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/sub"
out=$(cd "$1" && pwd)
lib=$(cd "$2" && pwd)
for need in libcuda.so.1 libcudart.so.12 libcudart.so.13 libumsim_cudart_static.a; do
    if [ ! -e "$lib/$need" ]; then
        echo "build.sh: $lib/$need is missing" >&2
        exit 4
    fi
done

flags="-O1 -g -std=gnu11 -Wall -Wextra -fno-omit-frame-pointer"
jobs=0

# make TARGET SOURCE ARGUMENTS...: compiles unless the target is newer than its source, the headers and this script.
make_one() {
    target=$1
    source=$2
    shift 2
    fresh=yes
    for input in "$src/$source" "$src/cuda_min.h" "$src/loader.h" "$src/fake.h" "$src/build.sh"; do
        [ "$target" -nt "$input" ] || fresh=no
    done
    # The libraries too: references carry their symbol versions.
    for input in libcuda.so.1 libcudart.so.12 libcudart.so.13 libumsim_cudart_static.a; do
        [ "$target" -nt "$lib/$input" ] || fresh=no
    done
    [ $fresh = yes ] && return 0
    case $source in *.cc) compile="$CXX -O1 -g -std=gnu++17 -Wall -Wextra -fno-omit-frame-pointer" ;; *) compile="$CC $flags" ;; esac
    # shellcheck disable=SC2086
    $compile -o "$target.new" "$src/$source" "$@" && mv "$target.new" "$target" || : >"$out/.failed" &
    jobs=$((jobs + 1))
    if [ $jobs -ge 4 ]; then
        wait
        jobs=0
    fi
}

rm -f "$out/.failed"
runtime13="-L$lib -l:libcudart.so.13"
runtime12="-L$lib -l:libcudart.so.12"
driver="-L$lib -l:libcuda.so.1"
# Helper libraries are found beside the programs; the stand-ins are found by LD_LIBRARY_PATH alone, as the real ones are.
beside="-Wl,-rpath,\$ORIGIN -Wl,--enable-new-dtags"
shared="-shared -fPIC"

# shellcheck disable=SC2086
{
    make_one "$out/libnext.so" libnext.c $shared -ldl
    make_one "$out/libtool.so" libtool.c $shared
    make_one "$out/libdeep.so" libdeep.c $shared $driver
    make_one "$out/libmajor12.so" libmajor12.c $shared $runtime12
    make_one "$out/libmajor13.so" libmajor13.c $shared $runtime13
    make_one "$out/sub/librunpath.so" librunpath.c $shared $beside -ldl
    make_one "$out/sub/libprivate.so" libprivate.c $shared $runtime13
    make_one "$out/libforeign.so" libforeign.c $shared
    make_one "$out/libexit.so" libexit.c $shared $runtime13
    make_one "$out/liboracle.so" liboracle.c $shared -ldl
    make_one "$out/libsecond.so" libsecond.c $shared -ldl
    make_one "$out/libmalloc.so" libmalloc.c $shared
    make_one "$out/libfrozen.so" libfrozen.c $shared
    make_one "$out/libtracer.so" libtracer.c $shared -ldl
    make_one "$out/libinjected.so" libinjected.c $shared -ldl
    mkdir -p "$out/fake"
    make_one "$out/fake/libcuda.so.1" libfake.c $shared -Wl,-soname,libcuda.so.1
    wait

    for name in linked rtld_default threads graphs nodes kinds fork errors structs nested die longjmp counter exec spawn nothing ends part onkey ranges handed known; do
        make_one "$out/$name" $name.c $runtime13 $driver -ldl -lpthread
    done
    for name in linked_driver longname; do
        make_one "$out/$name" $name.c $driver
    done
    make_one "$out/cupti" cupti.c $driver -ldl -lpthread
    make_one "$out/gpu" gpu.c $driver -lpthread
    make_one "$out/profiled" profiled.c $driver -L$lib -l:libcupti.so.13 -ldl -lpthread
    mkdir -p "$out/quick-driver"
    make_one "$out/quick-driver/libcuda.so.1" libquick.c $shared -DDRIVER -Wl,-soname,libcuda.so.1
    wait
    make_one "$out/quick-driver/libcupti.so.13" libquick.c $shared -Wl,-soname,libcupti.so.13 -L"$out/quick-driver" -l:libcuda.so.1
    make_one "$out/quick" quick.c -L"$out/quick-driver" -l:libcuda.so.1
    # CUPTIs with something wrong, named as the real one is.
    mkdir -p "$out/cupti-lacks" "$out/cupti-hangs" "$out/cupti-slow"
    make_one "$out/cupti-lacks/libcupti.so.13" libcupti_part.c $shared -DLACKS
    # What they do not have themselves is the stand-in's.
    part="$shared -L$lib -Wl,--no-as-needed -l:libcupti.so.13 -ldl"
    make_one "$out/cupti-hangs/libcupti.so.12" libcupti_part.c $part -DHANGS -Wl,-soname,libcupti.so.12
    make_one "$out/cupti-slow/libcupti.so.12" libcupti_part.c $part -DSLOW -Wl,-soname,libcupti.so.12
    for name in dlopen_local dlopen_global absolute getproc reload dlerror ways weak; do
        make_one "$out/$name" $name.c -ldl
    done
    make_one "$out/static_cudart" static_cudart.c "$lib/libumsim_cudart_static.a" -ldl -lpthread -lm -lgcc_s
    make_one "$out/libversion.so" libversion.c $shared
    for name in deepbind two_majors crowded for_all; do
        make_one "$out/$name" $name.c $beside -ldl
    done
    make_one "$out/runpath" runpath.c -Wl,-rpath,\$ORIGIN/sub -Wl,--enable-new-dtags -ldl
    make_one "$out/foreign" foreign.c $beside $runtime13 -ldl
    # The forwarding library comes before the tool, and both before the runtime, as with an OpenMP runtime and its tool.
    make_one "$out/rtld_next" rtld_next.c -Wl,--no-as-needed "$out/libnext.so" "$out/libtool.so" $beside $runtime13 -ldl
    # These find the driver of libfake.c with LD_LIBRARY_PATH=OUT_DIR/fake.
    fake="-fexceptions -L$out/fake -l:libcuda.so.1 -lpthread -ldl"
    for name in begins sigalrm leaving limits loop scale onesite floats sandbox sudden snapshot jumps allocates registers slow moves ticking together; do
        make_one "$out/$name" $name.c $fake
    done
    make_one "$out/libasks.so" libasks.c $shared $fake
    make_one "$out/libbare.so" libasks.c $shared
    make_one "$out/libheld.so" libheld.c $shared
    make_one "$out/inside" inside.c $beside $fake
    make_one "$out/held" held.c $beside -rdynamic $fake
    # Not everybody has a C++ compiler beside the C compiler.
    if command -v "$CXX" >/dev/null 2>&1; then make_one "$out/throws" throws.cc $fake; fi
    # This one finds it without an environment too.
    make_one "$out/family" family.c -L"$out/fake" -l:libcuda.so.1 -Wl,-rpath,\$ORIGIN/fake -Wl,--enable-new-dtags -lpthread -ldl
    make_one "$out/stranger" stranger.c -ldl -lpthread
    # Where there is a compiler for them.
    if $CC $flags -static -DSTATIC "$src/stranger.c" -o "$out/.try" -lpthread 2>/dev/null; then
        make_one "$out/stranger-static" stranger.c -static -DSTATIC -lpthread
    fi
    if $CC $flags -m32 "$src/stranger.c" -o "$out/.try" -ldl -lpthread 2>/dev/null; then
        make_one "$out/stranger-32" stranger.c -m32 -ldl -lpthread
    fi
    rm -f "$out/.try"
    if command -v musl-gcc >/dev/null 2>&1; then
        wait
        own=$CC
        CC=musl-gcc
        make_one "$out/stranger-musl" stranger.c
        CC=$own
    fi
    make_one "$out/exit_order" exit_order.c "$out/libexit.so" $beside $runtime13
    wait
}

if [ -e "$out/.failed" ]; then
    echo "build.sh: some programs did not compile" >&2
    exit 1
fi
