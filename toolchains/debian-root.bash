# Root folders of Debian, for check-in and check-packages, which define `die`. This file is sourced.
# shellcheck shell=bash disable=SC2034

# The first archive of this machine's apt sources that is not of security updates.
# shellcheck disable=SC2016  # apt replaces this
mirror=${OCELLUS_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/*$' || true)}
[ -n "$mirror" ] || die "apt's sources on this machine name no Debian mirror; set OCELLUS_MIRROR to its URL"

# make_root <suite> <folder> <log>: fills an empty folder.
make_root() {
  debootstrap --variant=minbase --include=ca-certificates "$1" "$2" "$mirror" >"$3" 2>&1 ||
    { tail -n 20 "$3" >&2; die "debootstrap $1 failed; see $3"; }
  chmod 755 "$2"  # also for commands that run as another user
  echo force-unsafe-io >"$2/etc/dpkg/dpkg.cfg.d/unsafe-io"  # installs faster; the folder can be made anew
}

root=""         # the folder in which `inside` runs commands
environment=()  # NAME=VALUE for these commands, which have no other variables of this shell but those of proxies
shared=()       # folders of this machine that they see
child=""

# inside <command>: runs it in the root folder, in namespaces of its own: when it ends, or this script is killed, the kernel ends
# its processes and removes its mounts. /dev has no GPU.
inside() {
  # shellcheck disable=SC2016  # the inner shell expands these
  setsid --wait unshare --mount --pid --fork --kill-child --propagation private bash -euc '
    root=$1 shared=$2
    shift 2
    mount -t proc proc "$root/proc"
    mount -t sysfs -o ro sysfs "$root/sys"
    for folder in $shared; do
      mkdir -p "$root$folder"
      mount --rbind "$folder" "$root$folder"
    done
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    for file in null zero full random urandom tty; do
      : >"$root/dev/$file"
      mount --bind "/dev/$file" "$root/dev/$file"
    done
    for link in fd:/proc/self/fd stdin:/proc/self/fd/0 stdout:/proc/self/fd/1 stderr:/proc/self/fd/2 ptmx:pts/ptmx; do
      ln -s "${link#*:}" "$root/dev/${link%%:*}"
    done
    mkdir "$root/dev/shm" "$root/dev/pts"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$root/dev/pts"
    exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
      ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} chroot "$root" env "$@"
  ' bash "$root" "${shared[*]}" "${environment[@]}" "$@" </dev/null 9>&- &
  child=$!
  local status=0
  wait "$child" || status=$?
  child=""
  return "$status"
}

stop_inside() { [ -z "$child" ] || kill -KILL -- "-$child" 2>/dev/null || true; }
trap stop_inside EXIT
trap 'exit 130' INT TERM HUP
