"""The tensors of public models, by name, as their checkpoints hold them in bf16.

Each row has the values of the model's `config.json`; the shapes follow from them as Hugging Face's
`LlamaForCausalLM`, `MistralForCausalLM`, `Qwen2ForCausalLM` and `Qwen3ForCausalLM` make them. Values and numbers of
parameters were entered without the repositories at hand: unverified, but that a test holds the sums of the ones against
the others.
"""

from __future__ import annotations

from typing import NamedTuple

BYTES = 2
"""Of an element in bf16."""


class Model(NamedTuple):
    """What decides the shapes, by the names of `config.json`."""

    source: str
    """The repository at huggingface.co whose `config.json` it is."""
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    intermediate_size: int
    vocab_size: int
    tie_word_embeddings: bool = False
    head_dim: int = 0
    """0: hidden_size / num_attention_heads."""
    has_bias: bool = False
    """Of the projections to queries, keys and values: Qwen2."""
    has_norms: bool = False
    """Of queries and keys, by head: Qwen3."""


MODELS = {
    "qwen2.5-0.5b": Model("Qwen/Qwen2.5-0.5B", 896, 24, 14, 2, 4864, 151936, True, has_bias=True),
    "qwen2.5-1.5b": Model("Qwen/Qwen2.5-1.5B", 1536, 28, 12, 2, 8960, 151936, True, has_bias=True),
    "qwen2.5-3b": Model("Qwen/Qwen2.5-3B", 2048, 36, 16, 2, 11008, 151936, True, has_bias=True),
    "qwen2.5-7b": Model("Qwen/Qwen2.5-7B", 3584, 28, 28, 4, 18944, 152064, has_bias=True),
    "qwen2.5-14b": Model("Qwen/Qwen2.5-14B", 5120, 48, 40, 8, 13824, 152064, has_bias=True),
    "qwen2.5-32b": Model("Qwen/Qwen2.5-32B", 5120, 64, 40, 8, 27648, 152064, has_bias=True),
    "qwen2.5-72b": Model("Qwen/Qwen2.5-72B", 8192, 80, 64, 8, 29568, 152064, has_bias=True),
    "qwen3-8b": Model("Qwen/Qwen3-8B", 4096, 36, 32, 8, 12288, 151936, head_dim=128, has_norms=True),
    "llama-3.2-1b": Model("meta-llama/Llama-3.2-1B", 2048, 16, 32, 8, 8192, 128256, True),
    "llama-3.2-3b": Model("meta-llama/Llama-3.2-3B", 3072, 28, 24, 8, 8192, 128256, True),
    "llama-3-8b": Model("meta-llama/Meta-Llama-3-8B", 4096, 32, 32, 8, 14336, 128256),
    "llama-3-70b": Model("meta-llama/Meta-Llama-3-70B", 8192, 80, 64, 8, 28672, 128256),
    "mistral-7b": Model("mistralai/Mistral-7B-v0.1", 4096, 32, 32, 8, 14336, 32000),
}


def shapes(model: Model) -> list[tuple[int, ...]]:
    """Of all tensors, in the order of the layers."""
    hidden, inner = model.hidden_size, model.intermediate_size
    head = model.head_dim or hidden // model.num_attention_heads
    queries, keys = model.num_attention_heads * head, model.num_key_value_heads * head
    layer: list[tuple[int, ...]] = [(queries, hidden), (keys, hidden), (keys, hidden), (hidden, queries)]
    layer += [(queries,), (keys,), (keys,)] if model.has_bias else []
    layer += [(head,), (head,)] if model.has_norms else []
    layer += [(inner, hidden), (inner, hidden), (hidden, inner), (hidden,), (hidden,)]
    embedding = (model.vocab_size, hidden)
    last = [] if model.tie_word_embeddings else [embedding]
    return [embedding, *(shape for _ in range(model.num_hidden_layers) for shape in layer), (hidden,), *last]
