#!/usr/bin/env bash
# setup.sh [VENV [PACKAGE...]]: installs missing packages on Debian 12 or Ubuntu 24.04, these packages too, and makes
# the Python environment. Prints nothing when everything is there.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${1:-.venv}

packages=(g++ cmake make ninja-build ccache git libfmt-dev nlohmann-json3-dev libflatbuffers-dev
  flatbuffers-compiler libprotobuf-dev protobuf-compiler libxxhash-dev libgtest-dev libbenchmark-dev
  dpkg-dev pkgconf python3 python3-venv "${@:2}")
# For the browser test, which is skipped without; Ubuntu has it as a snap alone.
[ "$(. /etc/os-release && echo "$ID")" != debian ] || packages+=(chromium chromium-driver)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
  [ "$status" = "install ok installed" ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "setup: installing ${missing[*]}"
  as_root=()
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "setup: neither root nor sudo; ask whoever may to run: apt-get install ${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
fi

# The stamp holds the requirements that were installed last, so that an unchanged list costs nothing.
wanted=$(cat requirements.txt requirements-test.txt)
stamp="$venv/.requirements"
if [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$wanted" ]; then
  echo "setup: making the Python environment in $venv"
  [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt -r requirements-test.txt
  printf '%s\n' "$wanted" > "$stamp"
fi
