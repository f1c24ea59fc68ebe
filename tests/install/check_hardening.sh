#!/bin/sh
# check_hardening.sh <readelf> <source folder> <build folder> <file>...
# Checks whether programs, libraries and object files are hardened, and contain no path of the
# machine that made them. Exit codes: 0 yes; 1 no, with the reasons; 2 the check could not run.
set -u
export LC_ALL=C
readelf=$1
source=$2
build=$3
shift 3
[ $# -gt 0 ] || { echo "no files were given"; exit 2; }
command -v "$readelf" > /dev/null || { echo "$readelf is needed"; exit 2; }

# The linker marks a program only if every object in it is marked, including the compiler's own
# start files. OCELLUS_FOREIGN_OBJECTS=1: the program contains objects from elsewhere without marks.
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
      printf '%s\n' "$has" | grep -qx "$mark" || bad "was compiled without branch protection: no $mark"
    done
  else
    segments=$("$readelf" -lW "$file")
    dynamic=$("$readelf" -dW "$file")
    symbols=$("$readelf" --dyn-syms -W "$file")
    printf '%s\n' "$header" | grep -q 'Type: *DYN ' || bad "has a fixed address: it was linked without -pie"
    printf '%s\n' "$segments" | grep -q GNU_RELRO || bad "keeps relocation tables writable: no GNU_RELRO"
    printf '%s\n' "$dynamic" | grep -q 'BIND_NOW\|FLAGS_1.*NOW' || bad "binds functions lazily, so that not all tables are read-only: no BIND_NOW"
    printf '%s\n' "$segments" | awk '$1 == "GNU_STACK" { seen = 1; if ($7 ~ /E/) bad = 1 } END { exit seen && !bad ? 0 : 1 }' ||
      bad "has a stack that can be executed"
    ! printf '%s\n' "$segments" | grep -q 'LOAD .* RWE ' || bad "has memory that can be written and executed"
    ! printf '%s\n' "$dynamic" | grep -q TEXTREL || bad "has relocations in its code: TEXTREL"
    printf '%s\n' "$symbols" | grep -q '__stack_chk_fail' || bad "has no stack protector: no __stack_chk_fail"
    printf '%s\n' "$symbols" | grep -v __stack_chk_fail | grep -q '__[a-z0-9_]*_chk' ||
      bad "does not check buffer sizes in calls of the C library: no function of FORTIFY"
    for mark in $start_marks; do
      printf '%s\n' "$marks" | grep -qw "$mark" || continue
      printf '%s\n' "$has" | grep -qx "$mark" || bad "has no branch protection: no $mark"
    done
    # A search path relative to the file is allowed.
    search=$(printf '%s\n' "$dynamic" | sed -n 's/.*(R\(UN\)\{0,1\}PATH).*\[\(.*\)\].*/\2/p')
    for path in $(printf '%s\n' "$search" | tr ':' ' '); do
      case "$path" in
        '$ORIGIN'*) ;;
        *) bad "searches for libraries in $path" ;;
      esac
    done
  fi
  for path in "$source" "$build"; do
    ! grep -q -a -F "$path/" "$file" || bad "contains $path, a folder of the machine that made it"
  done
done
echo "$# files, of which $objects are object files"
exit $found
