"""Choose how a model's scores are computed: from a shared cache if that is known to be right, otherwise by one full pass per option."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

# fmt: off
TESTED = frozenset({
    "apertus", "arcee", "bitnet", "bloom", "cohere", "cohere2", "deepseek_v2", "deepseek_v3", "diffllama", "ernie4_5", "ernie4_5_moe",
    "exaone4", "falcon", "flex_olmo", "gemma", "gemma2", "gemma3_text", "gemma4_text", "glm", "glm4", "glm4_moe", "gpt2", "gpt_bigcode",
    "gpt_neox", "gpt_oss", "granite", "granitemoe", "helium", "hunyuan_v1_dense", "jetmoe", "llama", "llama4_text", "minimax_m2",
    "ministral", "ministral3", "mistral", "mixtral", "mpt", "nanochat", "nemotron", "olmo", "olmo2", "olmo3", "olmoe", "opt", "persimmon",
    "phi", "phi3", "phimoe", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "seed_oss", "smollm3", "stablelm", "starcoder2", "vaultgemma",
})
# fmt: on
"""Types of models whose scores from a shared cache were compared with full passes, one by one (tests/models/local/test_matrix.py)."""

_WINDOWS = ("sliding_window", "attention_chunk_size", "layer_types")
"""Settings by which the library's cache forgets tokens."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The ways of scoring that a model allows.

    Attributes:
        shared: Whether options may continue from their prompt's cache, prompts together in one pass.
        continued: Whether a prompt may continue from what an earlier one left in the cache.
        seam: Tokens up to which positions are those of a short text; a longer one is read alone, and whole. None where there is no such length.
        tested: Whether the test matrix lists the type of model as one that shares.
        named: Arguments that the model's forward pass knows.
    """

    shared: bool
    continued: bool = False
    seam: int | None = None
    named: frozenset[str] = frozenset()
    tested: bool = True

    def arguments(self, keep: int) -> dict[str, Any]:
        """Return the arguments of a full pass of which the last `keep` logits are wanted."""
        wanted = {"use_cache": False, "logits_to_keep": keep}
        return {name: value for name, value in wanted.items() if name in self.named}


def reading_of(model: Any) -> Reading:
    """Return what a model of transformers allows."""
    from transformers.cache_utils import DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

    config = model.config.get_text_config()
    parameters = inspect.signature(model.forward).parameters
    named = frozenset(parameters) | ({"use_cache"} if any(one.kind is one.VAR_KEYWORD for one in parameters.values()) else set())
    layers = {type(layer) for layer in DynamicCache(config=config).layers}
    standard = bool(layers) and layers <= {DynamicLayer, DynamicSlidingWindowLayer} and "past_key_values" in named
    # A state cannot be cut, copied or padded as keys and values can, and some models keep theirs in a place of their own.
    shared = standard and not model._is_stateful and model._supports_default_dynamic_cache() and config.model_type in TESTED
    seam = min((one["original_max_position_embeddings"] for one in ropes(config) if one.get("rope_type") == "longrope"), default=None)
    # In half precision a prompt read in two parts is another one: what was asked before must not show.
    continued = shared and layers == {DynamicLayer} and model.dtype.itemsize >= 4
    return Reading(shared, continued=continued, seam=seam, named=named, tested=config.model_type in TESTED)


def ropes(config: Any) -> list[dict[str, Any]]:
    """Return the settings of a model's rotary positions, one for each kind of layer that has its own."""
    rope = getattr(config, "rope_parameters", None) or {}
    return [rope] if "rope_type" in rope else [one for one in rope.values() if isinstance(one, dict)]


def drop_stray_windows(config: Any) -> None:
    """Remove a window from a configuration whose type of model has none.

    A converted model often keeps such a key of the type it had before. Its layers ignore the key, but the library's cache obeys it: of a
    long prompt it would silently forget what lies beyond the window.
    """
    stray = [key for key in _WINDOWS if getattr(config, key, None) is not None]
    if not stray:
        return
    try:
        usual = type(config)()
    except Exception:  # a few types, of which none is tested, cannot be made without settings; theirs are left as they are
        return
    for key in stray:
        if not hasattr(usual, key):
            setattr(config, key, None)
