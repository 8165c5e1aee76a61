"""Run BFCL's own evaluator on result files, as `bfcl evaluate` does: `python evaluate.py RESULTS SCORES v3|v4`.

The table of models is replaced by the two that the exporter names, with BFCL's own handlers: the real one imports the clients of 20 providers.
"""

import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace

HANDLERS = {
    "google/gemma-3-1b-it": ("local_inference.gemma:GemmaHandler", False),
    "gpt-4o-2024-11-20-FC": ("api_inference.openai_response:OpenAIResponsesHandler", True),
}
TABLE = "bfcl_eval.constants.model_config"


def main(results: Path, scores: Path, version: str) -> None:
    """Evaluate every category there is."""
    os.environ |= {"BFCL_PROJECT_ROOT": str(scores.parent), "OPENAI_API_KEY": "none"}
    table = ModuleType(TABLE)
    table.MODEL_CONFIG_MAPPING = found = {}  # type: ignore[attr-defined]
    sys.modules[TABLE] = table
    named = {path.name.replace("_", "/") for path in results.iterdir()}
    for name in named & HANDLERS.keys():
        place, native = HANDLERS[name]
        module, _, attribute = place.partition(":")
        if version == "v3":
            module = module.replace("openai_response", "openai")
            attribute = attribute.replace("OpenAIResponsesHandler", "OpenAIHandler")
        found[name] = SimpleNamespace(
            model_name=name.removesuffix("-FC") if version == "v4" else name,
            model_handler=getattr(import_module(f"bfcl_eval.model_handler.{module}"), attribute),
            is_fc_model=native,
            underscore_to_dot=native,
            display_name=name,
            url="",
            org="",
            license="",
            input_price=None,
            output_price=None,
        )
    evaluate = import_module("bfcl_eval.eval_checker.eval_runner").main
    evaluate(None, ["all"], str(results), str(scores), **({"partial_eval": True} if version == "v4" else {}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
