# shellcheck shell=bash
# Debian from its mirrors, without any image: which suite has which Ceph, and a bare system in a folder. Sourced, never run.

readonly debian_keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# debian_suite RELEASE: the suite of Debian that has this release of Ceph; nothing when none has.
debian_suite() {
  case $1 in
    16) echo bookworm ;;
    18) echo trixie ;;
    20) echo forky ;;
  esac
}

# The mirror of Debian in this host's sources of apt. Where no lists are there yet, the sources' first line has to do.
debian_mirror() {
  local url=${CI_DEBIAN_MIRROR:-}
  # shellcheck disable=SC2016
  [[ -n $url ]] || url=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | awk 'NR == 1')
  if [[ -z $url && $(. /etc/os-release && echo "$ID") == debian ]]; then
    # shellcheck disable=SC2016
    url=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | awk '/\/debian\/*$/ && !n++')
  fi
  [[ -n $url ]] || die "no source of apt is a mirror of Debian: set CI_DEBIAN_MIRROR to the URL of one"
  echo "${url%/}"
}

# The mirror of Debian's security updates in this host's sources of apt; nothing when there is none.
debian_security_mirror() {
  local url
  # shellcheck disable=SC2016
  url=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian-Security' | awk 'NR == 1')
  echo "${url%/}"
}

install_debootstrap() {
  have debootstrap && [[ -e $debian_keyring ]] ||
    DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends debootstrap debian-archive-keyring >&2 ||
    die "apt could not install debootstrap and debian-archive-keyring: see its message above"
}

# bare_debian SUITE MIRROR FOLDER LOG: Debian's minimal system in FOLDER, which must not be there yet.
bare_debian() {
  # The script is named, since an older debootstrap does not know newer suites; they are all made alike.
  if ! unshare --mount --propagation slave debootstrap --variant=minbase --keyring="$debian_keyring" "$1" "$3" "$2" \
    /usr/share/debootstrap/scripts/sid >"$4" 2>&1; then
    tail -n 5 "$4" >&2
    die "debootstrap failed, see $4: check the network and the mirror $2, then run this again"
  fi
}
