#!/bin/sh
# check_product.sh <nm> <ocellus-bench> <file of the product>...
# Checks that the product has no symbol of the papers. The first program must have some: otherwise the
# check would find none anywhere.
set -u
nm=$1
bench=$2
shift 2
papers() { "$nm" -C "$1" 2> /dev/null | grep ocellus::paper::; }
papers "$bench" > /dev/null || { echo "$bench has no code of the papers"; exit 1; }
for file in "$@"; do
  [ -r "$file" ] || { echo "cannot read $file"; exit 1; }
  if papers "$file" | head -n 5 | grep .; then
    echo "$file has code of the papers"
    exit 1
  fi
done
