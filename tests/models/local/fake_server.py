"""Stands in for `vllm serve` in a process of its own: says what it was told to do on its command line, and answers like a server.

    python fake_server.py MODE FILE --host 127.0.0.1 --port PORT ...

Modes: `serve`; `crash` while starting; `hang` without ever answering; `deaf`, which does not end when asked to; `other`, which refuses our key;
`die` with the first chat request. Process ids of itself and of a child it starts go to FILE.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

mode, file = sys.argv[1:3]
port = int(sys.argv[sys.argv.index("--port") + 1])
worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
scratch = Path(f"{file}.part")
scratch.write_text(f"{os.getpid()} {worker.pid}")
scratch.replace(file)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        mine = self.headers.get("authorization") == f"Bearer {os.environ['VLLM_API_KEY']}" and mode != "other"
        self.reply(200 if self.path == "/health" or mine else 401, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if mode == "die":
            print("(APIServer pid=7) ERROR 11-21 10:00:00 [core.py:12] RuntimeError: the engine is gone", flush=True)
            os._exit(1)
        message = {"role": "assistant", "content": f"{body['model']} {body.get('top_p')}"}
        self.reply(200, {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3, "completion_tokens": 2}})

    def reply(self, status: int, body: object) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        pass


if mode == "crash":
    print("(EngineCore pid=9) ERROR 11-21 10:00:00 [core.py:12] ValueError: no room for the \x1b[31mcache\x1b[0m", file=sys.stderr)
    print("RuntimeError: Engine core initialization failed. See root cause above.", file=sys.stderr)
    sys.exit(1)
if mode == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if mode == "hang":
    print("loading", flush=True)
    time.sleep(600)
ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
