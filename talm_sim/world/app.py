"""The FastAPI application of the tool service."""

import importlib
import pkgutil

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from talm_sim.world import HEALTH_PATH, routers


def create_app() -> FastAPI:
    """Build the application out of every module found in `service/routers/`.

    Building it loads no data: each router reads its package at its first call.
    """
    app = FastAPI(
        title="talm-sim tools",
        description="Read-only tools over open data that ships inside Python packages.",
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        exception_handlers={RequestValidationError: _explain_invalid_arguments, OverflowError: _explain_overflow},
    )
    for module in pkgutil.iter_modules(routers.__path__, routers.__name__ + "."):
        router: APIRouter = importlib.import_module(module.name).router
        app.include_router(router, tags=[module.name.rpartition(".")[2]])

    @app.get(HEALTH_PATH, include_in_schema=False)
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    return app


async def _explain_invalid_arguments(_request: Request, error: Exception) -> JSONResponse:
    """Answer 422 with one sentence a model can act on, in the same shape as every other error of the service."""
    assert isinstance(error, RequestValidationError)
    faults = (f"{'.'.join(str(part) for part in fault['loc'][1:]) or 'request'}: {fault['msg']}" for fault in error.errors())
    return JSONResponse({"detail": "; ".join(faults)}, status_code=422)


async def _explain_overflow(_request: Request, _error: Exception) -> JSONResponse:
    """Answer 422 where a sum with an argument leaves the calendar, as ten days before the year 1 do."""
    return JSONResponse({"detail": "a date or number is too near the end of what can be computed; give one further from it"}, status_code=422)
