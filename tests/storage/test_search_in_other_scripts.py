"""Search in scripts without spaces: what is found, and what only looks like it."""

import pytest

from tertulia.storage.parts.contents import Contents
from tertulia.storage.parts.search import search
from tertulia.storage.store import SqlStore

PARK = "我们去公园散步，好吗？"
COMPANY = "公司在园区里，公，园"
COFFEE = "Isabella在Hobbs咖啡馆喝コーヒー、2杯。"
WATER, TO_LEAD = "ดื่มน้ำเย็น", "เขานำทาง"
ENGLISH = "Isabella walks in the park."
BOOK, WINS = "मेरी किताब कहाँ है, Zoë?", "हाँ, कौन जीता है?"
POINTED, SINHALA = "قرأتُ كِتَابًا", "ශ්‍රී ලංකාව"
TEXTS = [PARK, COMPANY, COFFEE, WATER, TO_LEAD, ENGLISH, BOOK, WINS, POINTED, SINHALA]

#: What is found by each query.
FOUND = {
    "公园": [PARK],
    "园": [PARK, COMPANY],
    "公园 散步": [PARK],
    "公园 咖啡馆": [],
    '"去公园"': [PARK],
    "散步好吗": [],
    '"散步，好吗"': [PARK],
    "公司": [COMPANY],
    "isabella": [COFFEE, ENGLISH],
    "Isabella 咖啡馆": [COFFEE],
    "Isabell": [],
    "Isabell*": [COFFEE, ENGLISH],
    "Hobbs": [COFFEE],
    "コーヒー": [COFFEE],
    "コー*": [COFFEE],
    "コー": [],
    "น้ำ": [WATER],
    "นำ": [TO_LEAD],
    "park": [ENGLISH],
    "pa*": [ENGLISH],
    "。": [],
    "公园*": [PARK],
    "हाँ": [WINS],
    "कहाँ": [BOOK],
    "क": [],
    "कि*": [BOOK],
    "का*": [],
    "ी": [],
    '"मेरी किताब"': [BOOK],
    '"मेरा किताब"': [],
    '"जीता है"': [WINS],
    '"जाता है"': [],
    "है": [BOOK, WINS],
    "zoe किताब": [BOOK],
    "zoe हाँ": [],
    "كِتَابًا": [POINTED],
    "ابًا": [],
    "ශ්‍රී": [SINHALA],
    "රී": [],
}


def say(store: SqlStore, *texts: str) -> None:
    with store.file.transaction():
        for turn, text in enumerate(texts, start=1):
            Contents(store.file).save_passage("k3f9", turn, "玛丽亚", "utterance", text)


@pytest.fixture
def spoken(store_with_runs: SqlStore) -> SqlStore:
    say(store_with_runs, *TEXTS)
    return store_with_runs


def test_what_is_found(spoken: SqlStore) -> None:
    for run in ("k3f9", None):
        found = {
            query: [passage.text for passage in search(spoken.file, query, run, ("utterance",))] for query in FOUND
        }
        assert found == FOUND


def test_what_somebody_remembers_is_found(spoken: SqlStore) -> None:
    with spoken.file.transaction():
        start = spoken.file.rows("SELECT case_id FROM runs WHERE run = 'k3f9'")[0]["case_id"]
        spoken.file.write("DELETE FROM passages WHERE start_id = ?", start)
        Contents(spoken.file).save_start_memories(start, [("玛丽亚", "玛丽亚常去公园")])
    assert [(found.kind, found.text) for found in search(spoken.file, "公园", "k3f9")] == [
        ("memory", "玛丽亚常去公园"),
        ("utterance", PARK),
    ]
