#!/bin/sh
# promises.sh <tree> <empty folder>: fails when docs/promises.md and the tests do not agree, or when toolchains/promises does not
# find that they do not.
set -eu
tree=$1 work=$2
"$tree/toolchains/promises" --check

refuses() { # <text>
  if "$tree/toolchains/promises" --check --root "$work" >"$work/out" 2>&1; then echo "not found: $1"; exit 1; fi
  grep -q "$1" "$work/out" || { echo "not told: $1"; cat "$work/out"; exit 1; }
}
rm -rf "$work"
mkdir -p "$work/docs" "$work/tests"
printf '%s\n' '| promise | what | tests |' '|---|---|---|' '| RT-001 | one | |' >"$work/docs/promises.md"
refuses 'RT-001 has no test'
printf '%s\n' '// Promises: RT-001.' 'TEST(Suite, Proves) {' >"$work/tests/test.cpp"
refuses 'is not up to date'
"$tree/toolchains/promises" --root "$work"
grep -q 'Suite.Proves' "$work/docs/promises.md"
"$tree/toolchains/promises" --check --root "$work"
printf '%s\n' '# Promises: RT-002.' 'add_test(NAME other COMMAND true)' >"$work/tests/CMakeLists.txt"
refuses 'no row for RT-002, which tests/CMakeLists.txt proves'
rm "$work/tests/CMakeLists.txt"
printf '%s\n' '// Promises: RT-001.' 'TEST(Suite, DISABLED_Proves) {' >"$work/tests/test.cpp"
refuses 'Suite.DISABLED_Proves is disabled'
printf '%s\n' '// Promises RT-001.' 'TEST(Suite, Proves) {' >"$work/tests/test.cpp"
refuses 'RT-001 has no test'
printf '%s\n' '// Promises: RT-001.' >"$work/tests/test.cpp"
refuses 'no test follows'
