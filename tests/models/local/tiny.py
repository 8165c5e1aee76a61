"""A tiny random model of transformers with a tokenizer of its own, made in a second: exactness needs no trained weights."""

from __future__ import annotations

from pathlib import Path

CHAT_TEMPLATE = (
    "{% if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}"
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}"
    "{% for call in message.tool_calls or [] %}<tool_call>{{ call.function.arguments | tojson }}</tool_call>{% endfor %}</s>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
CONTEXT = 512


def make_tiny(
    directory: Path, *, sliding: bool = False, opening: bool = True, chat_template: str = CHAT_TEMPLATE, context: int = CONTEXT
) -> Path:
    """Write a model of two layers.

    Args:
        directory: Made if absent.
        sliding: Whether attention reaches 16 tokens back only, as Mistral's did.
        opening: Whether the tokenizer puts `<s>` before every text.
        chat_template: Of the tokenizer.
        context: Tokens of the context.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

    size = write_tokenizer(directory, opening=opening, chat_template=chat_template)
    shape = {
        "vocab_size": size + 5,  # wider than the vocabulary, as many models are
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": context,
        "initializer_range": 0.3,
        "bos_token_id": 0,
        "eos_token_id": 1,
    }
    torch.manual_seed(7)
    model = MistralForCausalLM(MistralConfig(**shape, sliding_window=16)) if sliding else LlamaForCausalLM(LlamaConfig(**shape))
    model.save_pretrained(directory)
    return directory


def write_tokenizer(directory: Path, *, opening: bool = True, chat_template: str = CHAT_TEMPLATE) -> int:
    """Write a tokenizer of bytes and three more texts; returns how many tokens it has."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {text: number for number, text in enumerate(["<s>", "</s>", *alphabet, "Ġthe", "th", "he"])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[("t", "h"), ("h", "e")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    if opening:
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 0)])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", chat_template=chat_template or None)
    fast.save_pretrained(directory)
    return len(vocabulary)
