"""Made-up people in the files of other programs, built here: cards, lorebooks, agents, profiles, personas."""

import base64
import io
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest

#: Made-up files that several checkouts share; not every checkout has them.
SHARED = Path(__file__).parents[3] / "shared" / "field_cases" / "characters"

DESCRIPTION = """<!-- drawn in a hurry -->
[Character("Mirela Stan") { Clothes("grey coat" + "boots") }]
## Habits
- counts her steps
**Fear:** deep water

{{char}} mends locks in Port Ost. She never lends a key to {{user}}.
<START>
{{user}}: Are you open?
{{char}}: *looks up* "Until the lamp goes out."
"""

BOOK: dict[str, Any] = {
    "name": "Port Ost",
    "scan_depth": 3,
    "entries": [
        {"keys": ["quay", "harbour"], "content": "@@depth 4\nThe quay sank in April.", "enabled": True,
         "insertion_order": 2, "comment": "the quay", "secondary_keys": ["April"], "selective": True},
        {"keys": ["/lamps?/i"], "content": "Lamps cost nine crowns.", "enabled": True, "insertion_order": 1},
        {"keys": ["always"], "content": "Everybody owes her a favour.", "enabled": True, "constant": True},
        {"keys": ["ghost"], "content": "There is no ghost.", "enabled": False},
    ],
}  # fmt: skip

FIELDS: dict[str, Any] = {
    "name": "Mirela Stan",
    "description": DESCRIPTION,
    "personality": "exact, wary",
    "scenario": "<USER> has lost a key.",
    "first_mes": "*wipes her hands* Which door, {{user}}?",
    "mes_example": "<START>\n{{user}}: How much?\n{{char}}: Nine. *shrugs*\n<START>\n{{user}}: Thank you.",
}

CARD_V2: dict[str, Any] = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "name": "Mirela Stan",
    "fav": True,
    "personality": "another temper",
    "data": {
        **FIELDS,
        "creator_notes": "for quiet evenings",
        "system_prompt": "Speak as {{char}}.",
        "post_history_instructions": "Stay brief.",
        "alternate_greetings": ["Closed. {{random:Tomorrow,Later}}, {{roll:d6}}."],
        "tags": ["locks"],
        "creator": "nobody",
        "character_version": "3",
        "extensions": {"talkativeness": "0.4", "depth_prompt": {"prompt": "Recall the quay.", "depth": 4}},
        "character_book": BOOK,
    },
}

CARD_V3: dict[str, Any] = {
    "spec": "chara_card_v3",
    "spec_version": "3.0",
    "data": {
        **CARD_V2["data"],
        "nickname": "Miri",
        "group_only_greetings": ["All of you at once?"],
        "creation_date": 1746000000,
        "assets": [{"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"}],
        "a_later_field": {"of": "a later version"},
    },
}

LOREBOOK: dict[str, Any] = {
    "entries": {
        "0": {"uid": 0, "key": ["ferry"], "keysecondary": [], "content": "The ferry leaves at six, {{char}} knows.",
              "constant": False, "order": 7, "disable": False, "probability": 80},
        "1": {"uid": 1, "key": ["fog"], "content": "Fog hides the mole.", "disable": True},
    }
}  # fmt: skip

AGENT: dict[str, Any] = {
    "type": "TinyPerson",
    "persona": {
        "name": "Tobias Kern",
        "age": 51,
        "nationality": "Swiss",
        "residence": "Chur",
        "occupation": {"title": "Signalman", "organization": "a valley railway", "description": "You set the points."},
        "style": "Slow, with numbers.",
        "personality": {
            "traits": ["You are calm at night.", "You forget birthdays but no timetable."],
            "big_five": {"openness": "Low. Likes what he knows.", "extraversion": "Medium. Depends."},
        },
        "preferences": {"interests": ["alpine flowers"], "likes": ["tea"], "dislikes": ["whistles"]},
        "beliefs": ["A late train is a broken word."],
        "skills": ["You can read a signal in fog."],
        "behaviors": {"general": ["Winds his watch."], "routines": {"morning": ["Sweeps the platform."]}},
        "relationships": [{"name": "Rosa", "description": "Your sister, who keeps goats."}],
        "other_facts": ["You grew up beside a tunnel. It smelled of coal."],
        "long_term_goals": ["To see the sea."],
        "health": "A bad knee.",
    },
    "mental_state": {"emotions": "calm"},
}

FRAGMENT: dict[str, Any] = {"type": "Fragment", "persona": {"beliefs": ["Rain is honest."], "age": 3, "style": "Slow."}}

PROFILE: dict[str, Any] = {
    "pk": "01J",
    "first_name": "Noor",
    "last_name": "Haddad",
    "age": 29,
    "occupation": "Glazier",
    "gender": "Woman",
    "gender_pronoun": "She/her",
    "public_info": "Noor cuts glass. She races pigeons.",
    "big_five": "Openness to Experience - High; Extraversion - Low; Neuroticism - Medium",
    "moral_values": ["fairness"],
    "schwartz_personal_values": ["security"],
    "personality_and_values": "Noor trusts what she can measure.",
    "decision_making_style": "Directive",
    "secret": "Noor broke the chapel window.",
    "mbti": "ISTJ",
}

PERSONA: dict[str, Any] = {
    "name": "Olga Prins",
    "age": "62",
    "race": "",
    "language": "Dutch",
    "role": "lock nurse",
    "background": "Thirty years of night shifts. She sold her boat.",
    "personality": "brisk",
    "circumstances": "Waits for a letter.",
    "rules": "Never gives advice.",
    "years_of_experience": 30,
    "interests": "tulips, and old maps (of canals, mostly)",
    "_metadata": {"version": "0.3", "className": "Nurse", "seed": 5},
}

SCRATCH: dict[str, Any] = {
    "name": "Ada Quinn",
    "first_name": "Ada",
    "last_name": "Quinn",
    "age": 40,
    "innate": "stern, fair",
    "learned": "Ada Quinn runs the post office. She reads no postcards.",
    "currently": "Ada Quinn has lost a parcel.",
    "lifestyle": "Ada Quinn rises at five.",
    "living_area": "the town:Quinn House:kitchen",
    "daily_plan_req": "Ada Quinn opens at eight.",
    "vision_r": 8,
    "act_description": "sleeping",
    "favourite_saying": "What is sealed is sealed.",
    "planned_path": [],
}


#: A file of each format, by a name for it.
SOURCES = {"v1": FIELDS, "v2": CARD_V2, "v3": CARD_V3, "lorebook": LOREBOOK, "tinytroupe": AGENT, "sotopia": PROFILE,
           "sdialog": PERSONA, "scratch": SCRATCH}  # fmt: skip


def json_file(folder: Path, value: Any, name: str = "person.json") -> Path:
    """Write a value as JSON and return the file."""
    file = folder / name
    file.write_text(json.dumps(value), encoding="utf-8")
    return file


def png(chunks: dict[str, bytes], kind: bytes = b"tEXt", after: bytes = b"") -> bytes:
    """Return a PNG of one pixel with chunks behind its pixels, as programs write them, and bytes behind its end."""
    pixels = zlib.compress(b"\0\0\0\0\0")
    parts = [(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 6, 0, 0, 0)), (b"IDAT", pixels)]
    before = {b"tEXt": b"\0", b"zTXt": b"\0\0", b"iTXt": b"\0\1\0\0\0"}[kind]
    for keyword, text in chunks.items():
        packed = text if kind == b"tEXt" else zlib.compress(text)
        parts.append((kind, keyword.encode() + before + packed))
    parts.append((b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, body) for name, body in parts) + after


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def encoded(card: Any) -> bytes:
    """Return a card as chunks have it."""
    return base64.b64encode(json.dumps(card).encode())


def zipped(files: dict[str, bytes]) -> bytes:
    """Return a zip of files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return content.getvalue()


def shared_files() -> list[Path]:
    """Return the shared files of people; skip the test if there are none."""
    files = sorted(file for file in SHARED.glob("*.*") if file.suffix != ".md")
    if not files:
        pytest.skip("no shared field cases")
    return files
