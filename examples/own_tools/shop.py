"""A shop's agent and its three tools: `talm-sim try --agent shop:agent --model sim/asker --tools-from shop:tools --writing`."""

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

PRICES = {"lamp": 24.5, "chair": 89.0, "table": 240.0}


def find_price(item: str) -> dict[str, object]:
    """Find what an item costs, such as 'lamp'."""
    return {"item": item, "price_in_euro": PRICES[item], "goes_with": [other for other in PRICES if other != item]}


def convert_money(amount: float, currency: str) -> dict[str, object]:
    """Convert an amount of euros to another currency, such as 'USD'."""
    return {"currency": currency, "converted_amount": round(amount * {"USD": 1.17, "CHF": 0.93}[currency], 2)}


def estimate_delivery(postcode: str) -> str:
    """Estimate how many days a delivery takes to a postcode, such as '1010'."""
    return f"{2 + int(postcode[0]) % 4} working days"


def agent(tools: list[BaseTool], model: BaseChatModel) -> object:
    """Return the agent of one episode: a model that calls tools until it answers."""
    bound = model.bind_tools(tools)

    async def think(state: MessagesState) -> dict[str, object]:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState).add_node("think", think).add_node("tools", ToolNode(tools, handle_tool_errors=True))
    graph.add_edge(START, "think").add_conditional_edges("think", tools_condition).add_edge("tools", "think")
    return graph.compile()


tools = [find_price, convert_money, estimate_delivery]
