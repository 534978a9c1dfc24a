#!/usr/bin/env bash
# Runs a command as on a machine without NVRTC and without a cache folder: in a mount namespace of its own every
# libnvrtc is an empty file, and TENON_CACHE_DIR is a new folder. Says how many kernels were compiled all the same.
#
# usage: sudo bench/without_nvrtc.sh COMMAND...
#
#     bench/without_nvrtc.sh /tmp/new_shapes --wait resnet50.plan 1
#     bench/without_nvrtc.sh build/release/bin/trtexec --loadEngine=resnet50.plan
set -eu
if [ "${TENON_NVRTC_HIDDEN:-}" != 1 ]; then
  TENON_NVRTC_HIDDEN=1 exec unshare --mount "$0" "$@"
fi
unset TENON_NVRTC_HIDDEN
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
find / -name 'libnvrtc*.so*' -not -path '/proc/*' -type f 2> /dev/null | while read -r file; do
  mount --bind /dev/null "$file"
done
status=0
TENON_CACHE_DIR=$cache "$@" || status=$?
echo "without NVRTC: $(find "$cache" -path '*/kernels/*' -size +1k | wc -l) kernels compiled, exit status $status"
exit $status
