#!/bin/sh
# Builds the targets without cargo-fuzz and without a nightly compiler: `fuzz/build.sh` puts them into
# TARGET/x86_64-unknown-linux-gnu/release, where TARGET is CARGO_TARGET_DIR or fuzz/target.
set -eu
cd "$(dirname "$0")"
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares"
exec cargo build --release --target "$(rustc -vV | sed -n 's/^host: //p')" "$@"
