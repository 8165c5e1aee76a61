"""A service as many have one: pets.json describes it, with references and with arguments in path, query, header and body.

python pets.py [PORT]    serves it on loopback until Ctrl-C, and prints the address of its document
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

DOCUMENT = Path(__file__).with_name("pets.json")
NAMES = {3: "Bello", 7: "Minka", 9: "Hansi"}
SOLD = {9}
WEIGHTS = {3: 21.5, 7: 4.2, 9: 0.03}


def list_pets(status: str, limit: int) -> list[dict[str, Any]]:
    """Return the first pets of a status."""
    return [{"id": number, "name": name} for number, name in NAMES.items() if (number in SOLD) == (status == "sold")][:limit]


class Service(BaseHTTPRequestHandler):
    """Answers the operations of the document."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer what reads."""
        url = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        _, _, number = url.path.partition("/pets/")
        if url.path == "/openapi.json":
            self.answer(200, json.loads(DOCUMENT.read_text(encoding="utf-8")))
        elif url.path == "/pets":
            self.answer(200, list_pets(query.get("status", "available"), int(query.get("limit", "10"))))
        elif number.isdecimal() and int(number) in NAMES:
            factor = 2.2046 if query.get("unit") == "lb" else 1
            found = {"id": int(number), "name": NAMES[int(number)], "weight": round(WEIGHTS[int(number)] * factor, 2)}
            self.answer(200, {**found, "shop": self.headers.get("X-Shop")})
        else:
            self.answer(404, {"detail": "there is no such pet"})

    def do_POST(self) -> None:
        """Answer what books."""
        visit = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.answer(201, {**visit, "confirmation": f"P{self.path.split('/')[2]}-{visit['day'].replace('-', '')}"})

    def answer(self, status: int, value: Any) -> None:
        """Send JSON."""
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing of each request."""


if __name__ == "__main__":
    service = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Service)
    print(f"http://127.0.0.1:{service.server_port}/openapi.json", flush=True)
    service.serve_forever()
