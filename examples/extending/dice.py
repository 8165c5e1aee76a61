"""Category `dice`: what dice can show."""

from fastapi import APIRouter

router = APIRouter(prefix="/dice")


@router.get("/faces", operation_id="list_faces", summary="List the faces of a die.")
def list_faces(sides: int) -> dict[str, list[int]]:
    """List the faces of a die with so many sides."""
    return {"faces": list(range(1, sides + 1))}
