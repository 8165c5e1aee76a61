"""Tiny random models, one an architecture, whose weights are so large that whatever goes wrong in them shows in the scores."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.models.local.tiny import write_tokenizer

SHAPE: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 1,
}
SLIDES = ["sliding_attention", "full_attention"]
MLA: dict[str, Any] = {
    "num_key_value_heads": 4,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 8,
}
MAMBA: dict[str, Any] = {
    "mamba_n_heads": 4,
    "mamba_d_head": 16,
    "mamba_n_groups": 1,
    "mamba_d_state": 8,
    "mamba_expand": 2,
    "mamba_chunk_size": 8,
}
DELTA: dict[str, Any] = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "head_dim": 8,
}
MOE: dict[str, Any] = {"num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
LONGROPE: dict[str, Any] = {
    "rope_type": "longrope",
    "rope_theta": 1e4,
    "original_max_position_embeddings": 32,
    "short_factor": [1.0] * 4,
    "long_factor": [1.0, 2.0, 5.0, 9.0],
}


@dataclass(frozen=True)
class Architecture:
    """One model of the matrix.

    Attributes:
        kind: Model type of transformers.
        more: What its configuration needs beyond `SHAPE`.
        label: Where a type stands in the matrix more than once.
        shared: Whether options are read from the prompt's cache.
    """

    kind: str
    more: dict[str, Any] = field(default_factory=dict)
    label: str = ""
    shared: bool = True

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.label}" if self.label else self.kind


def _whole(kind: str, **more: Any) -> Architecture:
    return Architecture(kind, more, shared=False)


def _shared(kind: str, label: str = "", **more: Any) -> Architecture:
    return Architecture(kind, more, label)


ARCHITECTURES = (
    # Every layer sees everything.
    *map(_shared, ("llama", "qwen2", "qwen3", "gemma", "phi", "olmo", "olmo2", "granite", "starcoder2", "stablelm", "nemotron")),
    *map(_shared, ("glm", "glm4", "ernie4_5", "seed_oss", "apertus", "arcee", "ministral3", "gpt2", "gpt_neox", "falcon", "bloom", "mpt")),
    *map(_shared, ("gpt_bigcode", "bitnet", "nanochat", "persimmon", "diffllama")),
    _shared("cohere", logit_scale=1.0),
    _shared("opt", word_embed_proj_dim=32, ffn_dim=48),
    _shared("smollm3", no_rope_layers=[1, 0]),
    _shared("helium", head_dim=8),
    _shared("hunyuan_v1_dense", head_dim=8),
    # Some layers see a window or a chunk.
    _shared("mistral", sliding_window=8),
    _shared("qwen2", "sliding", use_sliding_window=True, sliding_window=8, max_window_layers=1, layer_types=SLIDES[::-1]),
    _shared("gemma2", sliding_window=8, attn_logit_softcapping=2.0, final_logit_softcapping=5.0, head_dim=8, query_pre_attn_scalar=8),
    _shared("gemma3_text", sliding_window=8, layer_types=SLIDES, head_dim=8, query_pre_attn_scalar=8),
    _shared("olmo3", sliding_window=8, layer_types=SLIDES),
    _shared("cohere2", sliding_window=8, layer_types=SLIDES, head_dim=8, logit_scale=1.0),
    _shared("exaone4", sliding_window=8, layer_types=SLIDES),
    _shared("ministral", sliding_window=8, layer_types=SLIDES, head_dim=8),
    _shared("vaultgemma", sliding_window=8, layer_types=SLIDES, head_dim=8, query_pre_attn_scalar=8),
    _shared("llama4_text", attention_chunk_size=8, no_rope_layers=[1, 0], head_dim=8, intermediate_size_mlp=48, **MOE),
    _shared("gpt_oss", sliding_window=8, layer_types=SLIDES, head_dim=8, **MOE),
    _shared("gemma4_text", sliding_window=8, layer_types=SLIDES, head_dim=8, global_head_dim=8, vocab_size_per_layer_input=266),
    # The text's part of a model that also sees.
    _shared(
        "gemma3",
        "with-eyes",
        text_config={"sliding_window": 8, "layer_types": SLIDES, "head_dim": 8, "query_pre_attn_scalar": 8},
        vision_config={"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 28},
        mm_tokens_per_image=4,
    ),
    # Positions turn by another factor in a long text.
    _shared("phi3", rope_parameters=LONGROPE),
    _shared("phimoe", rope_parameters={**LONGROPE, "short_mscale": 1.0, "long_mscale": 1.2}, **MOE),
    # Experts, and attention by way of a narrow layer.
    *(_shared(kind, **MOE) for kind in ("mixtral", "qwen2_moe", "qwen3_moe", "olmoe", "granitemoe", "flex_olmo", "minimax_m2", "jetmoe")),
    _shared("glm4_moe", n_group=1, topk_group=1, first_k_dense_replace=1, **MOE),
    _shared("ernie4_5_moe", moe_num_experts=4, moe_k=2, moe_layer_start_index=1, moe_intermediate_size=16),
    _shared("deepseek_v2", n_group=1, topk_group=1, first_k_dense_replace=1, **MLA, **MOE),
    _shared("deepseek_v3", n_group=1, topk_group=1, first_k_dense_replace=1, **MLA, **MOE),
    # Hybrid, recurrent and linear attention.
    _whole("qwen3_next", layer_types=["linear_attention", "full_attention"], **DELTA, **MOE, shared_expert_intermediate_size=16),
    _whole("qwen3_5_text", layer_types=["linear_attention", "full_attention"], **DELTA),
    _whole("lfm2", layer_types=["conv", "full_attention"], block_auto_adjust_ff_dim=False),
    _whole("falcon_h1", mamba_d_ssm=64, **MAMBA),
    _whole("bamba", attn_layer_indices=[1], **MAMBA),
    _whole("granitemoehybrid", layer_types=["mamba", "attention"], shared_intermediate_size=48, **MAMBA, **MOE),
    _whole(
        "nemotron_h", hybrid_override_pattern="M*-", num_hidden_layers=3, mamba_num_heads=4, mamba_head_dim=16, n_groups=1, ssm_state_size=8
    ),
    _whole("jamba", attn_layer_offset=1, attn_layer_period=2, expert_layer_offset=1, expert_layer_period=2, mamba_d_state=8, **MOE),
    _whole("mamba2", num_heads=4, head_dim=16, state_size=8, n_groups=1, expand=2, chunk_size=8),
    _whole("mamba", state_size=8),
    _whole("falcon_mamba", state_size=8),
    _whole("recurrent_gemma", block_types=["recurrent", "attention"], attention_window_size=8, lru_width=32, head_dim=8),
    _whole("xlstm", num_heads=4, num_blocks=2, chunk_size=8, mode="inference"),
    _whole("rwkv"),
    _whole("minimax", layer_types=["linear_attention", "full_attention"], block_size=8, **MOE),
    _whole("olmo_hybrid"),
    _whole("zamba2", layers_block_type=["mamba", "hybrid"], n_mamba_heads=4, mamba_d_state=8, mamba_ngroups=1, num_mem_blocks=1, chunk_size=8),
)

REFUSED = tuple(map(_whole, ("bert", "roberta", "electra", "xlm-roberta", "camembert")))
"""Architectures whose tokens see what follows them: the library gives them a head for texts, but no score of theirs means anything."""


def write_model(directory: Path, architecture: Architecture) -> Path:
    """Write a model with its tokenizer."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    size = write_tokenizer(directory)
    more = {**SHAPE, "vocab_size": size + 5, **architecture.more}
    if "text_config" in more:
        more["text_config"] = {**SHAPE, "vocab_size": size + 5, **more["text_config"]}
    config = AutoConfig.for_model(architecture.kind, **more)
    torch.manual_seed(11)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager", dtype=torch.float32)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim >= 2 and "conv" not in name and "A_log" not in name:
                # Of an embedding every entry matters as it is; of a layer what it sums over.
                weight.normal_(0, 1.0 if "embed" in name or "wte" in name else 2.0 / math.sqrt(weight.shape[-1]))
    model.save_pretrained(directory)
    return directory
