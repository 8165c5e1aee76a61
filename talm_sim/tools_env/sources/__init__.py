"""Sources of tools: each kind in its own file, under one protocol.

From the lowest layer up:

- `base.py` is the protocol
- `http_client.py` sends requests to one server, `http.py` is tools over HTTP
- `registry.py` opens a source by its kind
- `tool_code.py` reads what tool code needs, `sandbox_walls.py`, `sandbox_child.py` and `sandbox.py` shut it in and run it
- `fail_talms.py` is a tool folder in the form of Fail-TaLMs, `bfcl/` the simulated APIs of BFCL
- `references.py` follows a document's references, `tool_schemas.py` writes a tool's schema for show and for checks
- `openapi_limits.py` and `openapi_document.py` turn a document into tools, `openapi_proofs.py` says who calls them
- `spec_file.py` is a file of descriptions, which only a person or a recording executes
- `openapi.py` is any OpenAPI document as a source
- `sdk_tools.py` turns tools of the OpenAI Agents SDK into LangChain's
- `factories.py` makes Python tools that every episode has for itself, `injected.py` finds what a graph gives them, `python.py` is Python tools
- `mcp_transports.py` and `mcp_connection.py` hold the connection to an MCP server, `mcp.py` is the source
"""
