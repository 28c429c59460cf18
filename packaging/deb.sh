#!/bin/bash
# packaging/deb.sh [FOLDER]   Debian packages of HEAD, into FOLDER (default: packages/), and an index, which makes FOLDER a
#                             repository of apt.  It needs the build dependencies of packaging/debian/control
#                             (docs/how-to/install.md).
#
# Profiles (DEB_BUILD_PROFILES): pkg.perp.noengines without perp-engines, pkg.perp.nolive without the module of perp live.
# DEB_BUILD_OPTIONS: nocheck, noautodbgsym, parallel=N as dpkg-buildpackage has them.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
to=$(mkdir -p "${1:-packages}" && cd "${1:-packages}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$here/packaging/debian/changelog")
mkdir "$work/perp-$version"
git -C "$here" archive HEAD | tar -x -C "$work/perp-$version"
cd "$work/perp-$version"
mv packaging/debian debian
DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS:-parallel=$(nproc)} dpkg-buildpackage -us -uc -b
mv ../*.deb ../*.changes ../*.buildinfo "$to"
cd "$to"
dpkg-scanpackages --multiversion . >Packages
echo "packages of perp $version: $to"
