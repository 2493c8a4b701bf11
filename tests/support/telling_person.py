"""A person each of whose fields is a word of its own, to be looked for in prompts."""

from typing import Any

#: By field, the value; no two fields share a word, and no prompt has one of itself.
EVERY_FIELD: dict[str, Any] = {
    "name": "Quillon",
    "age": 97,
    "occupation": "zitherwright",
    "character": "brusquelike",
    "traits": ["extroverted"],
    "background": ["marshborn", "shipwrecked"],
    "lifestyle": "nightwalking",
    "home": "lanternloft",
    "style": "clipped-tongue",
    "examples": [{"after": "whereto", "text": "yonderward"}],
    "activity": "rope-splicing",
    "secrets": ["moonshining"],
    "memories": [{"text": "frostfair", "keys": ["sledge"]}],
    "goals": ["bridgemending"],
    "interests": ["beekeeping"],
    "relations": {"Other": "grudgeful"},
    "descriptions": ["weighs-every-word"],
    "setting": "timepressed",
}
