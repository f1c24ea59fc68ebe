# Root folders of Debian, for check-in and check-packages, which define `die`. This file is sourced.
# shellcheck shell=bash

# The first archive of this machine's apt sources that is not of security updates.
# shellcheck disable=SC2016  # apt replaces this
mirror=${OCELLUS_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/*$' || true)}
[ -n "$mirror" ] || die "apt's sources on this machine name no Debian mirror; set OCELLUS_MIRROR to its URL"

# make_root <suite> <folder> <log>: fills an empty folder.
make_root() {
  debootstrap --variant=minbase --include=ca-certificates "$1" "$2" "$mirror" >"$3" 2>&1 ||
    { tail -n 20 "$3" >&2; die "debootstrap $1 failed; see $3"; }
  echo force-unsafe-io >"$2/etc/dpkg/dpkg.cfg.d/unsafe-io"  # installs faster; the folder can be made anew
}
