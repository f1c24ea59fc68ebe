#!/usr/bin/env bash
# new_operator.sh SOURCE WORK ARGUMENTS...: writes a new operator into a copy of the source tree, counts the files that it
# changes, builds it with these arguments of cmake, and runs what goes through the list of operators.
set -euo pipefail
source=$(cd "$1" && pwd)
work=$2
shift 2
has_gst=${OCELLUS_HAS_GSTREAMER:-OFF}
[ -n "${CUDAARCHS:-}" ] || unset CUDAARCHS
export LC_ALL=C.UTF-8

name=trial_mean
short=trial
most_files=4  # without the generated ones
most_lines=2  # of a file that is not generated: the entry and its include

say() { printf '\n==> %s\n' "$*"; }
fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}

# ---- two copies: one stays as it is

rm -rf "$work"
mkdir -p "$work/tree" "$work/original"
work=$(cd "$work" && pwd)
tree=$work/tree
original=$work/original
cd "$source"
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  git ls-files -z --cached --others --exclude-standard
else
  find . -path ./build -prune -o -path './.git' -prune -o -type f -print0
fi | while IFS= read -r -d '' file; do if [ -f "$file" ]; then printf '%s\0' "${file#./}"; fi; done >"$work/files"
tar -c --null -T "$work/files" | tar -x -C "$original"
cp -a "$original/." "$tree"
cd "$tree"

# One line for each file that was there and differs: its name, lines that were removed, lines that were added.
changes() {
  local file difference
  while IFS= read -r -d '' file; do
    cmp -s "$original/$file" "$tree/$file" && continue
    difference=$(diff -U0 "$original/$file" "$tree/$file" | sed 1,2d || true)
    printf '%s %s %s\n' "$file" "$(grep -c '^-' <<<"$difference" || true)" "$(grep -c '^+' <<<"$difference" || true)"
  done <"$work/files"
}

# ---- what the script refuses

say "Arguments that are refused"
refuses() {
  local says=$1 output status=0
  shift
  output=$(toolchains/new-operator "$@" 2>&1) || status=$?
  printf '%-40s %s\n' "$*" "$(tail -n 1 <<<"$output")"
  [ "$status" -eq 2 ] || fail "new-operator $*: exit status $status, not 2"
  grep -qF -- "$says" <<<"$output" || fail "new-operator $*: it does not say: $says"
}
refuses "the name is missing"
refuses "the name is \"\"" "" other
refuses "must be a to z" BoxMean
refuses "must be a to z" 2d
refuses "must be a to z" box__mean
refuses "must be a to z" ../up
refuses "must be a to z" $name Short
refuses "unknown option" $name --sumary
refuses "too many" $name $short more
refuses "no full stop" $name --summary "It ends here."
refuses "capital letter" $name --summary "a \"b\""
refuses "lib/halftone exists" halftone dots
refuses "lib/core exists" core
refuses "engine.h exists" engine
refuses "gstocellusbase.h exists" $name base
refuses "gstocellusflow.cpp exists" $name flow
refuses "command \"latency\"" $name latency
mv gst-plugins/elements.cpp elements.away
refuses "lacks gst-plugins/elements.cpp" $name
sed 's/return done/return all/' elements.away >gst-plugins/elements.cpp
refuses "lacks the place" $name
mv elements.away gst-plugins/elements.cpp
[ -z "$(changes)" ] || fail "what was refused has changed files: $(changes)"
[ ! -e "lib/$name" ] || fail "what was refused has written lib/$name"
toolchains/new-operator --help | grep -q '^usage: ' || fail "--help"

# ---- the operator

say "new-operator $name $short"
toolchains/new-operator $name $short --summary "Mean of a few pixels"
if command -v clang-format >/dev/null; then
  find . -name "*$name*" -o -path "*/$name/*" -o -name "gstocellus$short.*" | grep -E '[.](h|cpp|cu)$' |
    xargs clang-format --dry-run --Werror gst-plugins/elements.cpp lib/operators.cpp apps/main.cpp
fi

say "Configuring"
# The compiler's cache serves copies in any folder.
export CCACHE_BASEDIR=$tree CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros,include_file_mtime,include_file_ctime}
cmake -S . -B build "$@" >"$work/configure.log" || { cat "$work/configure.log"; fail "cmake"; }

# Suites that go through the list of operators, and the operator's own tests.
tests=(core.operator_list core.options program.options conformance.contracts "conformance.$name" realtime.steady_state
  realtime.failing_system fuzz.options fuzz.operators)
targets=(ocellus-program)
if grep -q '^OCELLUS_CUDA:STRING=ON' build/CMakeCache.txt; then tests+=(kernels.faults kernels.streams); fi
if [ "$has_gst" = ON ]; then
  tests+=(gst.options gst.inspect "gst.$name" fuzz.element)
  targets+=(gstocellus)
fi
for test in "${tests[@]}"; do
  case "$test" in
    fuzz.*) targets+=("${test//./_}") ;;
    *) targets+=("test_${test//./_}") ;;
  esac
done
say "Building ${targets[*]}"
begin=$SECONDS
cmake --build build --parallel 2 --target "${targets[@]}" >"$work/build.log" || { tail -n 60 "$work/build.log"; fail "the build"; }
printf '%d s\n' $((SECONDS - begin))
toolchains/options-page

# ---- how many files

# counted: fails when too many files have been changed, or too many lines of one.
counted() {
  changes >"$work/changes"
  awk -v most_files="$most_files" -v most_lines="$most_lines" '
    { printf "  %-28s -%d +%d\n", $1, $2, $3
      if ($1 == "docs/options.md" || $1 == "apps/python/ocellus/__init__.pyi") next
      ++edited
      if ($2 > 0 || $3 > most_lines) { bad = 1; print "    more than " most_lines " new lines" } }
    END { printf "%d existing files edited; at most %d may be\n", edited, most_files; exit bad || edited > most_files }' "$work/changes"
}
say "Existing files that the operator changes"
counted || fail "too many files or lines for a new operator"
for file in docs/options.md apps/python/ocellus/__init__.pyi; do
  grep -q "^$file " "$work/changes" || fail "$file does not list the operator"
done
# The check itself: one file more, and a line too many.
echo >>README.md
counted >/dev/null && fail "a change of README.md is not counted"
cp "$original/README.md" README.md
cp CMakeLists.txt "$work/CMakeLists.txt"
printf '\n\n' >>CMakeLists.txt
counted >/dev/null && fail "three lines in CMakeLists.txt are not counted"
cp "$work/CMakeLists.txt" CMakeLists.txt

# ---- the program

# means WIDTH HEIGHT: pixels on standard input, their means of 3x3 with black around on standard output.
means() {
  awk -v width="$1" -v height="$2" '
    { for (i = 1; i <= NF; ++i) pixel[count++] = $i }
    END {
      for (y = 0; y < height; ++y) for (x = 0; x < width; ++x) {
        sum = 0
        for (dy = -1; dy <= 1; ++dy) for (dx = -1; dx <= 1; ++dx)
          if (x + dx >= 0 && x + dx < width && y + dy >= 0 && y + dy < height) sum += pixel[(y + dy) * width + x + dx]
        print int(sum / 9 + 0.5)
      }
      exit count != width * height
    }'
}
pgm() { printf 'P2 %d %d 255\n' "$1" "$2"; cat; }

say "ocellus $short"
program=$tree/build/bin/ocellus
cd "$work"
awk 'BEGIN { for (i = 0; i < 20; ++i) print (i * 67 + 11) % 256 }' >pixels
pgm 5 4 <pixels >in.pgm
means 5 4 <pixels | pgm 5 4 >expected.pgm
"$program" $short in.pgm -o out.png --border black
"$program" compare image out.png expected.pgm --json | tee compare.json
grep -Eq '"max(_abs)?_error": 0(\.0)?,?$|"mse": 0(\.0)?,?$|"rmse": 0(\.0)?,?$' compare.json || fail "the picture is not the mean"
"$program" compare image out.png in.pgm --json >other.json
if cmp -s compare.json other.json; then fail "the comparison sees no difference"; fi
"$program" $short --help | grep -q -- "--radius INT" || fail "ocellus $short --help lacks --radius"
"$program" options $short
"$program" options $short | grep -q "radius" || fail "ocellus options $short lacks the radius"
"$program" latency --pipeline "$short radius=2" --size 64x48 --fps 500 --frames 20 --budget-ms 10000 --memory host --json >latency.json ||
  fail "ocellus latency"
grep -q "\"operator\": \"$short\"" latency.json || fail "ocellus latency does not name the operator"

# ---- the element

if [ "$has_gst" = ON ]; then
  say "ocellus$short"
  GST_PLUGIN_PATH_1_0=$tree/build/lib/gstreamer-1.0 GST_REGISTRY_1_0=$work/registry \
    gst-launch-1.0 -q videotestsrc num-buffers=1 pattern=snow ! video/x-raw,format=GRAY8,width=32,height=24 ! tee name=t \
    t. ! queue ! filesink location="$work/before.gray" \
    t. ! queue ! ocellus$short border=black ! filesink location="$work/after.gray"
  od -An -v -tu1 before.gray | means 32 24 >expected
  od -An -v -tu1 -w1 after.gray | tr -d ' ' >got
  cmp expected got || fail "the element's picture is not the mean"
  printf '%d pixels are as expected\n' "$(wc -l <got)"
fi

# ---- tests

say "Tests: ${tests[*]}"
pattern=$(IFS='|'; printf '^(%s)$' "${tests[*]//./[.]}")
ctest --test-dir "$tree/build" -R "$pattern" --output-on-failure --no-tests=error | tee "$work/ctest.log"
for test in "${tests[@]}"; do
  grep -qE " $test \.+ +Passed" "$work/ctest.log" || fail "$test did not run"
done
say "A new operator changes $(wc -l <"$work/changes") existing files"
