#!/bin/sh
# Make an environment with the tools that read exported runs: Inspect, and OpenTelemetry's official exporter.
#
#     sh scripts/exports.sh [VENV]          default VENV: .venv-exports
#     .venv/bin/python -m pytest tests/exchange/exports
#
# The tests find it as .venv-exports, or by TALM_SIM_EXPORTS_PYTHON. It has none of our packages: these tools want others than we do.
set -eu
cd "$(dirname "$0")/.."
. scripts/environment.sh
environment "${1:-.venv-exports}" scripts/exports.sh inspect_ai==0.3.285 opentelemetry-exporter-otlp-proto-http==1.45.2
