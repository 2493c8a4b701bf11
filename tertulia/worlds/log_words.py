"""Facts that Generative Agents logs give in words alone, by language: the fields of a record are used first.

Versions of the program in other languages keep its fields, and often its English frame around their words (`Maria is
正在看书`), so the words of all languages are looked for in every log.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class LogWords:
    """The words of a language.

    Attributes:
        linking: Words between a name and its bearer's activity; followed by a space in languages with spaces.
        idle: The state of a thing, or a person, that does nothing.
        asleep: Beginnings of activities that are sleep.
        conversing: Parts of activities that are conversations.
    """

    linking: tuple[str, ...]
    idle: tuple[str, ...]
    asleep: tuple[str, ...]
    conversing: tuple[str, ...]


#: By language (ISO 639-1). A new language is an entry here.
LOG_WORDS = {
    "en": LogWords(("is ",), ("idle",), ("sleeping",), ("conversing about",)),
    "zh": LogWords(
        linking=(
            *("此时", "此刻", "现在", "目前", "当前", "正在", "正处于", "处于", "是", "此時", "現在", "當前", "處於"),
        ),
        idle=(
            *("空闲", "闲置", "空置", "空着", "闲着", "闲逛中", "待机", "无所事事", "无事可做", "无人使用", "没人使用"),
            *("没有人使用", "未使用", "未被使用", "没有被使用", "空閒", "閒置", "閒著", "空著", "待機", "無人使用"),
        ),
        asleep=("睡", "正在睡", "在睡", "入睡", "熟睡"),
        conversing=("谈论", "聊天", "交谈", "对话", "談論", "交談", "對話"),
    ),
    "ja": LogWords(
        linking=("は", "が", "現在", "今", "、"),
        idle=(
            *("アイドル", "アイドル状態", "待機中", "未使用", "空き", "空いている", "空いています", "空いた状態", "暇"),
            *("使われていない", "使われていません", "使用されていない", "使用されていません", "何もしていない"),
        ),
        asleep=("寝", "眠", "睡眠"),
        conversing=("について話", "について会話", "について語"),
    ),
    "ko": LogWords(
        linking=("은 ", "는 ", "이 ", "가 ", "현재 ", "지금 "),
        idle=("유휴", "유휴 상태", "대기", "비어 있", "비어있", "사용되지 않", "사용하지 않", "한가하", "한가"),
        asleep=("자고", "자는", "잠", "수면"),
        conversing=("대해 이야기", "대해 대화", "관해 이야기"),
    ),
    "es": LogWords(
        linking=("está ", "esta ", "se encuentra ", "se está ", "ahora "),
        idle=(
            *("inactivo", "inactiva", "desocupado", "desocupada", "libre", "ocioso", "ociosa", "sin usar", "sin uso"),
            *("en reposo", "sin hacer nada"),
        ),
        asleep=("durmiendo", "dormido", "dormida"),
        conversing=("conversando sobre", "hablando sobre", "hablando de", "charlando sobre"),
    ),
    "fr": LogWords(
        linking=("est ", "en train de ", "en train d'", "en train d’", "actuellement "),
        idle=(
            *("inactif", "inactive", "libre", "inoccupé", "inoccupée", "au repos", "inutilisé", "inutilisée"),
            *("oisif", "oisive"),
        ),
        asleep=("dormir", "dort", "endormi"),
        conversing=("discuter de", "parler de", "discute de", "parle de", "converser"),
    ),
    "de": LogWords(
        linking=("ist ", "gerade ", "zurzeit "),
        idle=("untätig", "unbenutzt", "ungenutzt", "frei", "im leerlauf", "in ruhe"),
        asleep=("schläft", "schlafen", "am schlafen", "schlafend"),
        conversing=("unterhält sich über", "spricht über", "redet über", "unterhalten sich über"),
    ),
    "pt": LogWords(
        linking=("está ",),
        idle=("ocioso", "ociosa", "livre", "inativo", "inativa", "desocupado", "desocupada", "sem uso", "parado"),
        asleep=("dormindo", "dormir"),
        conversing=("conversando sobre", "falando sobre", "conversar sobre"),
    ),
    "it": LogWords(
        linking=("è ", "sta "),
        idle=("inattivo", "inattiva", "libero", "libera", "inutilizzato", "inutilizzata", "a riposo"),
        asleep=("dormendo", "dorme"),
        conversing=("parlando di", "conversando su", "discutendo di"),
    ),
    "ru": LogWords(
        linking=("сейчас ", "— ", "- "),
        idle=(
            *("свободен", "свободна", "свободно", "свободны", "простаивает", "бездействует", "не используется"),
            *("не занят", "не занята", "не занято", "в режиме ожидания"),
        ),
        asleep=("спит", "сон"),
        conversing=("разговаривает о", "беседует о", "обсуждает"),
    ),
    "ar": LogWords(
        linking=("الآن ", "حاليا ", "حاليًا ", "يكون ", "تكون "),
        idle=(
            *("خامل", "خاملة", "شاغر", "شاغرة", "فارغ", "فارغة", "عاطل", "غير مستخدم", "غير مستخدمة"),
            *("غير مشغول", "غير مشغولة", "في وضع الخمول"),
        ),
        asleep=("نائم", "ينام", "تنام", "النوم"),
        conversing=("يتحدث عن", "تتحدث عن", "يتحدثان عن", "تتحدثان عن"),
    ),
    "hi": LogWords(
        linking=("अभी ", "इस समय "),
        idle=("खाली", "ख़ाली", "निष्क्रिय", "बेकार", "उपयोग में नहीं"),
        asleep=("सो रह", "सोना", "नींद"),
        conversing=("बारे में बात", "बातचीत"),
    ),
    "th": LogWords(
        linking=("กำลัง", "ตอนนี้", "ขณะนี้"),
        idle=("ว่าง", "ว่างอยู่", "ไม่ได้ใช้งาน", "ไม่ได้ถูกใช้งาน", "ไม่มีคนใช้", "ไม่มีใครใช้", "อยู่เฉยๆ"),
        asleep=("นอน", "หลับ"),
        conversing=("คุยเรื่อง", "สนทนาเกี่ยวกับ", "คุยเกี่ยวกับ"),
    ),
    "vi": LogWords(
        linking=("đang ", "hiện đang "),
        idle=("rảnh", "rảnh rỗi", "nhàn rỗi", "không hoạt động", "không được sử dụng", "không sử dụng", "trống"),
        asleep=("ngủ",),
        conversing=("trò chuyện về", "nói chuyện về"),
    ),
    "tr": LogWords(
        linking=("şu anda ", "şu an "),
        idle=("boşta", "boş", "kullanılmıyor", "atıl"),
        asleep=("uyu",),
        conversing=("hakkında konuş", "hakkında sohbet"),
    ),
}

#: Separators of the parts of a place, the largest first; in other languages the smallest comes first.
_LARGEST_FIRST = {"zh": "的", "ja": "の", "ko": " "}

#: Endings of a word for idle: particles, and ends of verbs.
_BEHIND_IDLE = r"(?:的|中|状态|狀態|着|です|だ|である|状態|다|습니다|음|상태|ครับ|है|หรือ|อยู่)*"


def _any_of(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_LINKING = re.compile(
    rf"\s*(?:(?:{_any_of(word for words in LOG_WORDS.values() for word in words.linking)})\s*)+", re.IGNORECASE
)
_IDLE = re.compile(
    rf"(?:{_any_of(word for words in LOG_WORDS.values() for word in words.idle)})\s*{_BEHIND_IDLE}[\s.。!！।]*",
    re.IGNORECASE,
)
_ASLEEP = tuple(word for words in LOG_WORDS.values() for word in words.asleep)
_CONVERSING = tuple(word for words in LOG_WORDS.values() for word in words.conversing)


def is_idle(state: str) -> bool:
    """Whether a description of a thing or a person says that it does nothing: `idle`, `is idle`, `是空闲的`."""
    link = _LINKING.match(state)
    return any(_IDLE.fullmatch(state, begin) for begin in {len(state) - len(state.lstrip()), link.end() if link else 0})


def is_asleep(activity: str) -> bool:
    """Whether an activity is sleep."""
    return activity.casefold().startswith(_ASLEEP)


def is_conversation(activity: str) -> bool:
    """Whether an activity is a conversation."""
    return any(words in activity for words in _CONVERSING)


def activity_in(description: str, name: str) -> str:
    """Return the activity in a description of a person, without their name: `Ann is reading` is `reading`."""
    behind = description.removeprefix(name)
    if behind == description:
        return description.strip()
    link = _LINKING.match(behind)
    return behind[link.end() if link else 0 :].strip()


def place_in_words(parts: Sequence[str], language: str) -> str:
    """Return the parts of a place, the largest first, as one phrase: `cafe at Hobbs Cafe`."""
    if language in _LARGEST_FIRST:
        return _LARGEST_FIRST[language].join(parts)
    return (" at " if language == "en" else ", ").join(reversed(parts))
