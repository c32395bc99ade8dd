#!/usr/bin/env bash
# On a machine with NVIDIA GPUs: compares what raxl says with nvidia-smi, field by field, and keeps a redacted snapshot;
# then measures the transports, and keeps the results beside it without the machine's name, with rows for
# docs/evidence.md. The measuring was never run on a GPU yet.
#
#   tests/gpu/run.sh [OUT]     OUT: a folder for results.json, the outputs, the snapshot and bench-*.json, and
#                              evidence.md with the rows (default: gpu-results)
#
# Needs nvidia-smi, Python 3.10+, and raxl: that of PYTHON, else of .venv, else of the wheels that `make gpu-wheels` puts
# into tests/gpu/wheels. Transports need ray there too, and what moves tensors: torch, nixl; what is missing is said. It
# changes nothing on the machine, and ends within ten minutes. Exit 1: a field differs, or a transport is not as it says.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 4
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
code=$?

if ! "$python" -c 'import ray' 2>/dev/null; then
  echo "raxl bench-transport: not run, there is no ray here (pip install ray; torch and nixl for more than sockets)"
  exit "$code"
fi
"$python" - <<'EOF'
try:
    import torch
except ImportError:
    print("no torch here: NCCL, CUDA IPC, gloo and NIXL through Ray are unavailable (pip install torch)")
else:
    if not torch.cuda.is_available():
        print(f"torch {torch.__version__} finds no GPU: NCCL and CUDA IPC are unavailable")
    elif not torch.distributed.is_nccl_available():
        print(f"torch {torch.__version__} was built without NCCL: NCCL is unavailable")
EOF

# measure PATTERN TRANSPORTS SECONDS: at most so long, its end included
measure() {
  local bench="$out/bench-$1.json"
  rm -f "$bench" "$out/told-$1.txt"
  timeout --signal INT --kill-after 15 "$(($3 - 15))" "$python" -m raxl bench-transport --transport "$2" --pattern "$1" \
    --budget 60s --format json --output "$bench" 2>"$out/bench-$1.err"
  local ended=$?
  echo "raxl bench-transport --pattern $1: exit $ended"
  [ "$ended" != 1 ] || code=1
  [ ! -s "$bench" ] || "$python" tests/gpu/keep.py "$bench" "$out/query.xml" "$out/recording-$1.json" | tee "$out/told-$1.txt"
}
measure p2p all 160
measure all-reduce torch-nccl,torch-gloo 80
cat "$out"/told-*.txt 2>/dev/null | grep '^| ' >"$out/evidence.md"
exit "$code"
