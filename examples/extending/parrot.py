"""Responder `parrot`: says what it was asked."""

from talm_sim import HumanReply, Responder, ResponderContext, register_responder


@register_responder("parrot", about="Says what it was asked.")
def parrot(context: ResponderContext) -> Responder:
    """Make the responder of one episode."""

    async def answer(question: str, ask: int) -> HumanReply:
        return HumanReply(f"You ask: {question}", "parrot")

    return answer
