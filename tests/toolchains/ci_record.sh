#!/bin/sh
# ci_record.sh <source tree> <folder>: the records of `.ci/run --all`, in a tree of one source whose formatter is a script.
set -eu
tree=$1
work=$2
rm -rf "$work"
mkdir -p "$work/tree/.ci" "$work/bin"
cp "$tree/.ci/run" "$work/tree/.ci/run"
cat >"$work/bin/clang-format" <<'TEXT'
#!/bin/sh
case $* in *--version*) echo 1.0; exit ;; esac
echo formatted >>"$FORMATTED"
! grep -q wrong "$3"
TEXT
chmod +x "$work/bin/clang-format"
export PATH="$work/bin:$PATH" FORMATTED="$work/formatted"
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
cd "$work/tree"
git init --quiet .
echo build >.gitignore
echo right >source.cpp
git add .

# check <what> <exit status> <runs of the formatter so far> <arguments of .ci/run>...
check() {
  what=$1 status=$2 runs=$3
  shift 3
  got=0
  .ci/run "$@" >"$work/log" 2>&1 || got=$?
  count=$(wc -l <"$FORMATTED")
  if [ "$got" -eq "$status" ] && [ "$count" -eq "$runs" ]; then return; fi
  echo "$what: exit status $got, want $status; $count runs of the step, want $runs"
  cat "$work/log"
  exit 1
}
check "the first run" 0 1 --all format
check "a step that passed for this tree" 0 1 --all format
grep -q "passed before for this tree" "$work/log" || { echo "the log does not say why nothing ran"; exit 1; }
check "without --all" 0 2 format
check "after a run without --all, which removes the record" 0 3 --all format
check "and again" 0 3 --all format
echo changed >>source.cpp
check "a changed file" 0 4 --all format
echo text >new.txt
check "a new file" 0 5 --all format
echo object >build/new.o
check "a file that git ignores" 0 5 --all format
echo wrong >>source.cpp
check "a step that fails" 1 6 --all format
check "a step that failed before" 1 7 --all format
