#!/bin/sh
# check_hardening.sh <readelf> <source folder> <build folder> <file>...
# Looks at finished programs, libraries and object files: are they hardened, and do they tell nothing of the machine that made
# them? Exit 0: yes; 1: no (printed); 2: could not look.
set -u
export LC_ALL=C
readelf=$1
source=$2
build=$3
shift 3
[ $# -gt 0 ] || { echo "no files were given"; exit 2; }
command -v "$readelf" > /dev/null || { echo "$readelf is needed"; exit 2; }

# The linker marks a program only where every object of it is marked, the compiler's own start files too.
# OCELLUS_FOREIGN_OBJECTS=1: there are others' that are not.
marks_of() { "$readelf" -nW "$1" 2> /dev/null | sed -n 's/.*x86 feature: *//p; s/.*AArch64 feature: *//p' | tr -d ' ' | tr ',' '\n'; }
case "$("$readelf" -hW "$1" | sed -n 's/^ *Machine: *//p')" in
  *X86-64*) marks="IBT SHSTK" ;;
  *AArch64*) marks="BTI PAC" ;;
  *) marks="" ;;
esac
start=$(${CC:-cc} -print-file-name=crt1.o 2> /dev/null)
start_marks=""
[ -n "${OCELLUS_FOREIGN_OBJECTS:-}" ] || [ ! -f "$start" ] || start_marks=$(marks_of "$start")

found=0
bad() {
  echo "$file $*"
  found=1
}

objects=0
for file in "$@"; do
  [ -r "$file" ] || { echo "cannot read $file"; exit 2; }
  header=$("$readelf" -hW "$file") || exit 2
  has=$(marks_of "$file")
  if printf '%s\n' "$header" | grep -q 'Type: *REL '; then
    objects=$((objects + 1))
    for mark in $marks; do
      printf '%s\n' "$has" | grep -qx "$mark" || bad "was compiled without protection of its jumps: no $mark"
    done
  else
    segments=$("$readelf" -lW "$file")
    dynamic=$("$readelf" -dW "$file")
    symbols=$("$readelf" --dyn-syms -W "$file")
    printf '%s\n' "$header" | grep -q 'Type: *DYN ' || bad "lies at a fixed address: it was linked without -pie"
    printf '%s\n' "$segments" | grep -q GNU_RELRO || bad "has tables of the loader that stay writable: no GNU_RELRO"
    printf '%s\n' "$dynamic" | grep -q 'BIND_NOW\|FLAGS_1.*NOW' || bad "finds its functions late: no BIND_NOW, so not all tables are read-only"
    printf '%s\n' "$segments" | awk '$1 == "GNU_STACK" { seen = 1; if ($7 ~ /E/) bad = 1 } END { exit seen && !bad ? 0 : 1 }' ||
      bad "has a stack that can be executed"
    ! printf '%s\n' "$segments" | grep -q 'LOAD .* RWE ' || bad "has memory that can be written and executed"
    ! printf '%s\n' "$dynamic" | grep -q TEXTREL || bad "writes to its own code when it is loaded: TEXTREL"
    printf '%s\n' "$symbols" | grep -q '__stack_chk_fail' || bad "does not watch its stack: no __stack_chk_fail"
    printf '%s\n' "$symbols" | grep -v __stack_chk_fail | grep -q '__[a-z0-9_]*_chk' ||
      bad "does not check sizes in calls of the C library: no function of FORTIFY"
    for mark in $start_marks; do
      printf '%s\n' "$marks" | grep -qw "$mark" || continue
      printf '%s\n' "$has" | grep -qx "$mark" || bad "is not protected in its jumps: no $mark"
    done
    # A folder that is found relative to the file may stand there.
    search=$(printf '%s\n' "$dynamic" | sed -n 's/.*(R\(UN\)\{0,1\}PATH).*\[\(.*\)\].*/\2/p')
    for path in $(printf '%s\n' "$search" | tr ':' ' '); do
      case "$path" in
        '$ORIGIN'*) ;;
        *) bad "looks for libraries in $path" ;;
      esac
    done
  fi
  for path in "$source" "$build"; do
    ! grep -q -a -F "$path/" "$file" || bad "names $path, a folder of the machine that made it"
  done
done
echo "$# files, $objects of them objects"
exit $found
