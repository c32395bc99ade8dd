#!/usr/bin/env bash
# On a machine with NVIDIA GPUs: compares what raxl says with nvidia-smi, field by field, and keeps a redacted snapshot.
#
#   tests/gpu/run.sh [OUT]     OUT: a folder for results.json, the outputs and the snapshot (default: gpu-results)
#
# Needs nvidia-smi, Python 3.10+, and raxl: that of PYTHON, else of .venv, else of the wheels that `make gpu-wheels` puts
# into tests/gpu/wheels. It changes nothing on the machine, and ends within six minutes. Exit 1: a field differs.
set -uo pipefail
cd "$(dirname "$0")/../.."
out="${1:-gpu-results}"
mkdir -p "$out"

python="${PYTHON:-.venv/bin/python}"
if ! "$python" -c 'import raxl' 2>/dev/null; then
  python3 -m venv "$out/venv" && python="$out/venv/bin/python"
  "$python" -m pip install --quiet --no-index --find-links tests/gpu/wheels --no-deps tests/gpu/wheels/*.whl || exit 4
fi
command -v nvidia-smi >/dev/null || { echo "nvidia-smi is not on the path" >&2; exit 4; }

raxl() { timeout 60 "$python" -m raxl "$@"; }
timeout 60 nvidia-smi -q -x >"$out/query.xml"
timeout 60 nvidia-smi topo -m >"$out/matrix.txt"
raxl topo --record "$out/node.tar.gz" >"$out/topo.txt" 2>"$out/topo.err"; echo "raxl topo: exit $?"
raxl discover --from "$out/node.tar.gz" >"$out/discover.txt"
raxl topo --format json --from "$out/node.tar.gz" >"$out/inventory.json"
raxl topo --format json --as-node tool --from "$out/query.xml" --from "$out/matrix.txt" >"$out/tool.json"
raxl snapshot --from "$out/node.tar.gz" --redact --output "$out/redacted.tar.gz"
cat "$out/topo.txt" "$out/discover.txt"
"$python" tests/gpu/compare.py "$out/inventory.json" "$out/query.xml" "$out/matrix.txt" --results "$out/results.json"
