# shellcheck shell=bash
# Functions that the scripts in ci/ share. Sourced, never run.

set -euo pipefail

note() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# die MESSAGE...: the last words of a failing step; they say what to do next.
die() {
  note "error: $*"
  exit 1
}

# usage_error MESSAGE...: exit code 2 is kept for a wrong command line.
usage_error() {
  note "$*"
  note "see: ${0##*/} --help"
  exit 2
}

have() { command -v "$1" >/dev/null 2>&1; }

# docker_runs: whether Docker's engine answers, not only its client is installed.
docker_runs() { have docker && docker version >/dev/null 2>&1; }

# save_image IMAGE FILE: an archive of an image that ci/image/build has built.
save_image() {
  if docker_runs; then docker save -o "$2" "$1"; else podman save --quiet -o "$2" "$1"; fi
}

# as_root COMMAND...: run it as root, through sudo when we are somebody else.
as_root() {
  if [[ $EUID -eq 0 ]]; then
    "$@"
  elif have sudo && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
    sudo "$@"
  else
    die "this needs root and sudo cannot be used without asking: run '$0' as root once, then again as you"
  fi
}

# lock_file FD PATH SECONDS: take PATH's lock on descriptor FD. The file may be removed by its holder,
# so the lock counts only when PATH is still the file that was locked.
lock_file() {
  local fd=$1 path=$2 seconds=$3
  while :; do
    [[ -e $path ]] || (umask 000 && : >"$path") 2>/dev/null || true
    # Opened for reading: /tmp may refuse O_CREAT on the file of another user (fs.protected_regular).
    eval "exec $fd<\"\$path\"" || die "cannot open the lock $path: remove it or set CEPH_CI_DIR to another folder"
    flock -w "$seconds" "$fd" || die "another process has held $path for ${seconds} s: see 'fuser -v $path'"
    [[ /proc/self/fd/$fd -ef $path ]] && return
  done
}

# jdk_version JAVAC: its major version. The file "release" of a JDK answers at once; starting Java takes a while.
jdk_version() {
  local release
  release=$(dirname "$(dirname "$(readlink -f "$1")")")/release
  if [[ -f $release ]]; then
    sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$release"
  else
    "$1" -version 2>&1 | sed -n 's/^javac \([0-9]*\).*/\1/p'
  fi
}

# find_jdk: the folder of a JDK from 17 on: JAVA_HOME, else the one on the PATH, else one of the system's.
find_jdk() {
  local javac version
  for javac in "${JAVA_HOME:-/nonexistent}/bin/javac" "$(command -v javac || true)" /usr/lib/jvm/*/bin/javac; do
    [[ -x $javac ]] || continue
    version=$(jdk_version "$javac")
    ((${version:-0} >= 17)) || continue
    dirname "$(dirname "$(readlink -f "$javac")")"
    return
  done
  return 1
}

# network_failed LOG: whether Maven failed because a download did not get through; trying again helps then.
network_failed() {
  grep -qE '^\[ERROR\].*(Could not transfer|Connection (timed|reset|refused)|Read timed out|Unknown host|Premature end)' "$1" &&
    ! untrusted "$1"
}

# untrusted LOG: whether Maven failed because it does not trust who it talks to.
untrusted() { grep -q 'PKIX path building failed' "$1"; }
