# SPDX-License-Identifier: GPL-3.0-or-later
# A bare root of the distribution of this machine, for the scripts that read this file: its archive is made once and kept. It needs
# root, chroot and mmdebstrap or debootstrap, and the packages of the distribution. PERP_BARE: where roots are made.
#
# bare_root_new WHAT     unpacks it, with the way to the packages; a reader without the means ends with status 77
# inside USER COMMAND    runs in it
# Two roots at a time: another root and archives are set between.
home=${PERP_BARE:-/var/cache/perp-bare}
root=$home/root
archives=$home/archives
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")

skip() { printf '\n**** SKIPPED: %s. %s on a bare machine. ****\n\n' "$1" "$bare_what"; exit 77; }
say() { printf '\n== bare (%d s): %s\n' "$SECONDS" "$*"; }

bare_root_new() { # WHAT
  bare_what=$1
  [[ $(id -u) == 0 ]] || skip 'not root'
  [[ -n $suite ]] && command -v apt-get >/dev/null || skip 'this is no Debian system'
  unshare -m chroot / true 2>/dev/null || skip 'chroot is not permitted'
  sources=()
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do [[ ! -s $list ]] || sources+=("$list"); done
  mkdir -p "$home"
  archive=$home/$suite.tar
  if [[ ! -s $archive ]]; then
    say "making a root of $suite (kept in $archive)"
    # under another name first: a root that was not finished is no root
    if command -v mmdebstrap >/dev/null; then
      mmdebstrap --quiet --format=tar --variant=minbase "$suite" "$archive.new" "${sources[@]}"
    elif command -v debootstrap >/dev/null; then
      rm -rf "$home/new"
      debootstrap --variant=minbase "$suite" "$home/new" >/dev/null
      for list in "${sources[@]}"; do cp "$list" "$home/new/${list#/}"; done
      tar -C "$home/new" -cf "$archive.new" .
      rm -rf "$home/new"
    else
      echo 'tests/bare/run needs mmdebstrap or debootstrap (apt-get install mmdebstrap)' >&2
      exit 1
    fi
    mv "$archive.new" "$archive"
  fi
  rm -rf "$root"
  mkdir -p "$root"
  tar -C "$root" -xf "$archive"
  echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io" # thrown away soon: dpkg waits for no disk, as in Debian's containers
  # the way to the packages: names of hosts, proxies
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  apt-config dump | grep -iE '^Acquire::.*proxy' >"$root/etc/apt/apt.conf.d/90proxy" || true
}

# in a file system of its own, so that nothing stays mounted; standard input is empty, as for a job
inside() { # USER COMMAND
  mkdir -p "$archives/partial"
  unshare -m bash -c '
    set -e
    mount --bind "$1" "$1" # a root to be mounted on: some tests unshare
    mount --bind /dev "$1/dev"
    mount -t proc proc "$1/proc"
    mount -t tmpfs tmpfs "$1/tmp"
    mkdir -p "$1/var/cache/apt/archives"
    mount --bind "$4" "$1/var/cache/apt/archives" # downloaded once
    exec chroot "$1" su - "$2" -s /bin/sh -c "$3"' inside "$root" "$1" \
    "export LC_ALL=C.UTF-8 http_proxy='${http_proxy:-}' https_proxy='${https_proxy:-}'; $2" "$archives" </dev/null
}
