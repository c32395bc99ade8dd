"""`--tensors`: which tensors are moved, of a model by name or from a file.

A file is one of these:

- lines of text, `4096x4096 bf16` or `16MiB`, a name before it or not, `#` for comments;
- JSON: a list of such texts, of numbers of bytes, or of `{"shape": [4096, 4096], "dtype": "bf16"}`; or an object of
  them by name, which is also what stands in the header of a safetensors file;
- a safetensors file, or the `.index.json` of several beside it: their headers alone are read.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from raxl.bench import models, request
from raxl.errors import UnreadableInput, UsageError

DEFAULT = "qwen2.5-0.5b"
_MOST_TENSORS = 100_000
_MOST_TEXT = 64 << 20
_BYTES = {
    **dict.fromkeys(("f64", "float64", "double", "i64", "int64", "u64", "uint64"), 8),
    **dict.fromkeys(("f32", "float32", "fp32", "float", "i32", "int32", "u32", "uint32"), 4),
    **dict.fromkeys(("bf16", "bfloat16", "f16", "float16", "fp16", "half", "i16", "int16", "u16", "uint16"), 2),
    **dict.fromkeys(("f8", "fp8", "float8", "f8_e4m3", "f8_e5m2", "float8_e4m3fn", "float8_e5m2"), 1),
    **dict.fromkeys(("i8", "int8", "u8", "uint8", "bool"), 1),
}
"""Of an element, by the names of safetensors, torch and the field."""
_SHAPE = re.compile(r"[0-9]{1,12}(?:x[0-9]{1,12})*")
_LENGTH = struct.Struct("<Q")


class TensorList(NamedTuple):
    """What is moved."""

    name: str
    """The model's, or the file's."""
    sizes: tuple[int, ...]
    """Bytes of each tensor."""

    @property
    def size_bytes(self) -> int:
        """Of all of them."""
        return sum(self.sizes)


def tensors(text: str) -> TensorList:
    """A model of that name, else what stands in the file. Raises UsageError, UnreadableInput."""
    model = models.MODELS.get(text.lower())
    if model is not None:
        return TensorList(text.lower(), tuple(math.prod(shape) * models.BYTES for shape in models.shapes(model)))
    path = Path(text)
    if not path.exists():
        raise UsageError(f"--tensors {text}: no such model or file", f"models: {', '.join(models.MODELS)}")
    try:
        sizes = tuple(_file(path))
    except OSError as error:
        raise UnreadableInput(f"{path} cannot be read", error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableInput(f"{path} is no list of tensors", str(error)[:200]) from error
    if not 0 < len(sizes) <= _MOST_TENSORS or sum(sizes) > request.LARGEST:
        words = f"it has {len(sizes)} of {sum(sizes)} bytes; 1 to {_MOST_TENSORS}, 1024 GiB at most"
        raise UnreadableInput(f"{path} is no list of tensors that can be moved", words)
    return TensorList(path.name, sizes)


def actors(text: str) -> tuple[int, int]:
    """`4x2`: training and inference actors. Raises UsageError."""
    found = re.fullmatch(r"\s*([0-9]{1,3})\s*x\s*([0-9]{1,3})\s*", text)
    if found is None or "0" in (found[1].lstrip("0") or "0", found[2].lstrip("0") or "0"):
        raise UsageError(f"--actors {text}", "training and inference actors: 1x1, 4x2")
    return int(found[1]), int(found[2])


def _file(path: Path) -> list[int]:
    if path.exists() and not path.is_file():  # a pipe may never end
        raise ValueError(f"{path.name} is no regular file")
    with path.open("rb") as file:
        head = file.read(_LENGTH.size + 1)
        if len(head) > _LENGTH.size and head.endswith(b"{") and _LENGTH.unpack(head[:-1])[0] <= _MOST_TEXT:
            return _values(json.loads(head[-1:] + file.read(_LENGTH.unpack(head[:-1])[0] - 1)))
        text = (head + file.read(_MOST_TEXT)).decode("utf-8")
    if text.lstrip()[:1] not in ("[", "{"):
        lines = (line.partition("#")[0].strip() for line in text.splitlines())
        return [_text(line) for line in lines if line]
    document = json.loads(text)
    if isinstance(document, dict) and isinstance(document.get("weight_map"), dict):
        names = dict.fromkeys(str(name) for name in document["weight_map"].values())
        return [size for name in names for size in _file(path.parent / Path(name).name)]
    return _values(document)


def _values(document: Any) -> list[int]:
    if isinstance(document, Mapping):
        return [_value(value) for name, value in document.items() if name != "__metadata__"]
    if isinstance(document, list):
        return [_value(value) for value in document]
    raise ValueError("it holds neither a list nor an object")


def _value(value: Any) -> int:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping) and isinstance(value.get("shape"), list):
        return _size(value["shape"], str(value.get("dtype")))
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise ValueError(f"no tensor: {str(value)[:60]}")


def _text(line: str) -> int:
    """`lm_head 4096x4096 bf16`, `16MiB`."""
    words = line.split()
    if len(words) > 1 and _SHAPE.fullmatch(words[-2]) and not words[-1].isdigit():
        return _size(map(int, words[-2].split("x")), words[-1])
    try:
        return request.size(words[-1])
    except (UsageError, IndexError):
        raise ValueError(f"no tensor: {line[:60]}; 4096x4096 bf16, or 16MiB") from None


def _size(shape: Iterable[Any], dtype: str) -> int:
    width = _BYTES.get(dtype.lower().removeprefix("torch."))
    if width is None:
        raise ValueError(f"no dtype that is known: {dtype[:60]}")
    size = width
    for length in shape:
        if not isinstance(length, int) or length < 1:
            raise ValueError(f"no length of a tensor: {str(length)[:60]}")
        size *= length
    return size
