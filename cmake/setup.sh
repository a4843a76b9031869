# shellcheck shell=bash disable=SC2034
# Shared by samples/quickstart, tests/run and .ci/run: installs what is missing on Debian or Ubuntu.
# Source it; it defines functions and lists only. Progress goes to stderr.

BUILD_PACKAGES=(g++ cmake ninja-build libfmt-dev libcli11-dev nlohmann-json3-dev libeigen3-dev libboost-dev
  libkainjow-mustache-dev libjs-chart.js libelf-dev liburing-dev python3)
TEST_PACKAGES=(doctest-dev libvalijson-dev binutils bindfs python3-prometheus-client python3-pytest python3-ipython)
CHECK_PACKAGES=(ccache clang-14 clang-format-14 clang-tidy-14 mkdocs mkdocs-material)

# Prints a heading.
say() {
  printf '\n== %s\n' "$*" >&2
}

# Says what is wrong and what to do, and ends the script with 3 (environment).
give_up() {
  printf '\n%s\n' "$@" >&2
  exit 3
}

# Runs a command as root: as we are, or through sudo.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo > /dev/null; then
    sudo "$@"
  else
    give_up "This needs root once, and there is no sudo. As root, run:" "  $*"
  fi
}

# Prints those of the named packages that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2> /dev/null | grep -qx installed || printf '%s\n' "$package"
  done
}

apt() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" \
    < /dev/null > /dev/null
}

# ensure_packages NAME...: installs those that are missing.
ensure_packages() {
  command -v dpkg-query > /dev/null || give_up \
    "This script installs what it needs with apt-get, which this system does not have. Install the equivalents of:" "  $*"
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ "${#missing[@]}" -gt 0 ] || return 0
  say "Installing ${missing[*]}"
  apt update || give_up "apt-get update failed: is this machine online?"
  apt install -y --no-install-recommends "${missing[@]}" || give_up "apt-get could not install: ${missing[*]}"
}

# Prints every python3 on PATH, then the system's, each once.
python_candidates() {
  local folder
  {
    printf '%s\n' "${STALLCAST_PYTHON:-}"
    printf '%s\n' "$PATH" | tr ':' '\n' | while read -r folder; do printf '%s\n' "${folder:-.}/python3"; done
    printf '%s\n' /usr/bin/python3 "$1/.venv/bin/python3"
  } | awk 'NF && !seen[$0]++'
}

# find_torch_python ROOT: prints the first python that imports torch, numpy and PIL; fails if there is none.
# STALLCAST_PYTHON names one to try first.
find_torch_python() {
  local candidate
  while read -r candidate; do
    if [ -x "$candidate" ] && "$candidate" -c 'import torch, numpy, PIL' > /dev/null 2>&1 < /dev/null; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done < <(python_candidates "$1")
  return 1
}

# True if apt offers a torch that is new enough. Debian's package is small and takes a minute.
apt_has_torch() {
  local version
  version=$(apt-cache policy python3-torch 2> /dev/null | awk '/Candidate:/ {print $2}')
  [ -n "$version" ] && [ "$version" != "(none)" ] && dpkg --compare-versions "$version" ge 1.13
}

# ensure_torch_python ROOT: as find_torch_python, but installs one where there is none:
# the distribution's packages, or else torch from PyPI in ROOT/.venv.
ensure_torch_python() {
  find_torch_python "$1" && return 0
  say "No python3 on PATH imports torch, numpy and PIL"
  apt update || give_up "apt-get update failed: is this machine online?"
  if apt_has_torch; then
    ensure_packages python3 python3-torch python3-numpy python3-pil
  else
    ensure_packages python3 python3-venv
    say "Installing torch into $1/.venv (this downloads a large package)"
    { /usr/bin/python3 -m venv "$1/.venv" && "$1/.venv/bin/python3" -m pip install --quiet torch numpy pillow; } >&2 \
      || give_up "torch could not be installed into $1/.venv"
  fi
  find_torch_python "$1" || give_up "torch was installed, but no python imports torch, numpy and PIL"
}

# build_jobs GIB: how many compilations at once, by cores and by memory, of which each takes that much: about 1 GiB, or 2
# where each layer is one source.
build_jobs() {
  local cores most
  cores=$(nproc)
  most=$(awk -v each="$1" '/MemAvailable/ {print int($2 / 1048576 / each)}' /proc/meminfo)
  if [ "$most" -lt "$cores" ]; then cores=$most; fi
  if [ "$cores" -lt 1 ]; then cores=1; fi
  printf '%s\n' "$cores"
}

# How many tests at once, in slots of a third of a core: most tests take two of them (tests/CMakeLists.txt), and wait as much
# as they compute.
test_slots() {
  printf '%s\n' $(($(nproc) * 3))
}
