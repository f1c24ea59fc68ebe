#!/bin/sh
# commit.sh TREE FOLDER: commit.cmake in a tree without git, in a repository, and in a folder of another project's repository.
set -eu
script=$1/toolchains/cmake/commit.cmake
rm -rf "$2"
mkdir -p "$2/tree/part"
cd "$2"
# Nothing above the folder is a repository, and no configuration of the user has an effect.
export GIT_CEILING_DIRECTORIES="$2" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
# check FOLDER TEXT [ARGUMENT]: the commit of the folder is TEXT.
check() {
  cmake -D SOURCE="$PWD/$1" -D HEADER="$PWD/header.h" ${3:+"$3"} -P "$script"
  [ "$(cat header.h)" = "#define OCELLUS_BUILD_COMMIT \"$2\"" ] || { echo "$1: expected $2, found $(cat header.h)"; exit 1; }
}
check tree unknown
check tree v1 -DCOMMIT=v1
git init -q tree
git -C tree config user.email a@example.org
git -C tree config user.name a
echo 1 >tree/file
git -C tree add file
git -C tree commit -q -m one
commit=$(git -C tree rev-parse HEAD)
check tree "$commit"
touch -d 2000-01-01 header.h
check tree "$commit"
[ "$(stat -c %Y header.h)" -lt 1000000000 ] || { echo "the header is written although the commit is the same"; exit 1; }
git -C tree tag -a -m one v1.0
check tree "$commit"
check tree/part unknown
echo 2 >tree/file
check tree "$commit-dirty"
