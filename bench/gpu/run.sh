#!/usr/bin/env bash
# bench/gpu/run.sh ARCHIVE WORK PART… : unpacks the archive of pack.ts into the folder WORK, once, and runs a part of run.ts
# with the Node that is in it. Needs bash and the python3 that PyTorch is installed for; no network, no npm.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -lt 3 ]; then
  sed -n '2,3s/^# //p' "$0" >&2
  exit 2
fi
archive=$1 work=$2
shift 2
if [ ! -e "$work/manifest.json" ]; then
  rm -rf "$work.part"
  python3 -W ignore -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$archive" "$work.part"
  mkdir -p "$(dirname "$work")"
  mv "$work.part" "$work"
fi
exec "$work/node/bin/node" "$here/run.ts" --work "$work" "$@"
