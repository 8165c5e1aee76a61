from __future__ import annotations

from pathlib import Path

from tests.models.loopback import Answer

MODEL = "openai-api/my-server/tiny"


class Server:
    """The tiny model behind `/completions`, as vLLM answers: a token of half a character has an empty text."""

    def __init__(self, folder: Path) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype="float32").eval()

    def answer(self, text: str) -> Answer:
        import torch

        ids = self.tokenizer.encode(text, add_special_tokens=False)
        with torch.inference_mode():
            logprobs = torch.log_softmax(self.model(torch.tensor([ids])).logits[0].float(), -1)
        values = [None, *(float(logprobs[at, token]) for at, token in enumerate(ids[1:]))]
        texts, waiting = [], []
        for token in ids:
            waiting.append(token)
            said = self.tokenizer.decode(waiting)
            texts.append("" if "\ufffd" in said else said)
            waiting = waiting if "\ufffd" in said else []
        choice = {"text": f"{text}!", "logprobs": {"tokens": [*texts, "!"], "token_logprobs": [*values, -1.0]}}
        return Answer({"choices": [choice], "usage": {"prompt_tokens": len(ids), "completion_tokens": 1, "total_tokens": len(ids) + 1}})
