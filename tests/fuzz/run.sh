#!/bin/bash
# Drives each target with libFuzzer for some minutes: tests/fuzz/run.sh <minutes> [target...]. What it finds is kept in the cache and taken up again; an input
# that breaks a target is named, and belongs into tests/fuzz/corpus once it is fixed.
set -euo pipefail
cd "$(dirname "$0")"
minutes=$1
shift
targets=("$@")
[[ $minutes =~ ^[1-9][0-9]*$ ]] || { echo "fuzz: MINUTES is \"$minutes\". Use a whole number from 1 on." >&2; exit 2; }
for target in "${targets[@]}"; do
  [ -d "corpus/$target" ] || { echo "fuzz: T is \"$target\", which is no target. Use one of:" $(ls corpus) >&2; exit 2; }
done
[ ${#targets[@]} -gt 0 ] || targets=($(ls corpus))
cache=${CAREEN_CACHE:-$HOME/.cache/careen}/fuzz
host=$(rustc -vV | sed -n 's/^host: //p')

# The flags of cargo-fuzz for `--sanitizer none`, which are all known to a stable compiler. The code under test has no `unsafe`, so that
# AddressSanitizer would watch over the standard library alone. A target folder of its own: nothing else is built with these.
export RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Cllvm-args=-simplifycfg-branch-fold-threshold=0 \
--cfg fuzzing -Ccodegen-units=1 -Cdebug-assertions -Coverflow-checks"
export CARGO_TARGET_DIR=${CAREEN_FUZZ_TARGET_DIR:-$cache/target}
cargo build --quiet --release --target "$host" -p careen-fuzz --features engine --bins

broken=()
for target in "${targets[@]}"; do
  mkdir -p "$cache/corpus/$target" "$cache/broken"
  log=$cache/$target.log
  echo "fuzz: $target for $minutes min"
  if "$CARGO_TARGET_DIR/$host/release/fuzz-$target" -max_total_time=$((minutes * 60)) -max_len=4096 -timeout=10 -rss_limit_mb=1024 \
    -artifact_prefix="$cache/broken/$target-" -print_final_stats=1 "$cache/corpus/$target" "corpus/$target" >"$log" 2>&1; then
    sed -n 's/^stat::number_of_executed_units: */fuzz:   held, executions: /p' "$log"
  else
    broken+=("$target")
    sed -nE '/panicked at|assertion|left:|right:|Test unit written/s/^/fuzz:   /p' "$log"
  fi
done
if [ ${#broken[@]} -gt 0 ]; then
  echo "fuzz: broken: ${broken[*]}; the whole output is in $cache/<target>.log"
  exit 1
fi
echo "fuzz: ${#targets[@]} targets held for $minutes min each"
