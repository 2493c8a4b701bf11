"""Words by which a German, French or Spanish line is empty, names somebody, or is broken, for the rules of `sense`.

The rules do not know a conversation's language. So a line is empty only where all its words are those of one language,
and a pattern has no word that means something else in an English line.
"""

import re

_POLITE_TEXTS = (
    # German, with `ss` for `ß`, as words are folded
    """
    danke dank dir ihnen euch vielen herzlichen lieben schönen sehr so wirklich nochmal nochmals wieder für alles die
    deine hilfe ich mich mir bin es das ist war tut leid entschuldigung entschuldige verzeihung bitte gern gerne
    geschehen keine kein ursache problem ok okay ja nein doch genau stimmt richtig klar gut schön prima super toll
    wunderbar perfekt natürlich selbstverständlich sicher unbedingt absolut einverstanden freut auch ach oh ah hallo
    hi hey guten morgen tag abend tschüss auf wiedersehen bis bald später dann und aber verstehe weiss zu nett von lieb
    du hast recht da sehe finde ganz
    """,
    # French
    """
    merci beaucoup bien à toi vous tout tous vraiment encore infiniment mille fois pour de ton votre aide je te suis
    désolé désolée navré navrée pardon excuse excusez moi m me s il plaît plait t en prie rien c est ce n pas grave ça
    va oui non si d accord ok okay exactement exact parfait parfaitement super génial bon bonne très absolument
    évidemment bien sûr entendu volontiers avec plaisir ah oh bonjour bonsoir salut au revoir à bientôt demain plus
    tard et mais comprends sais gentil as raison vrai tu le la
    """,
    # Spanish
    """
    gracias muchas mil muchísimas por todo tu su ayuda de verdad otra vez a ti usted vosotros lo siento mucho perdón
    perdona disculpa disculpe favor nada no hay qué que problema sí si vale ok okay claro bien bueno muy buena idea
    perfecto genial estupendo exacto exactamente cierto desde luego por supuesto acuerdo estoy es eso así ah oh hola
    buenos buenas días tardes noches adiós hasta luego pronto mañana y pero entiendo sé te me tienes tiene razón igual
    igualmente con gusto encantado encantada amable tan
    """,
)
#: Words that say nothing by themselves, by language.
POLITE = tuple(frozenset(text.split()) for text in _POLITE_TEXTS)

#: What stands before one's own name.
SAYS_WHO = re.compile(
    r"\b(?:ich bin|ich hei(?:ß|ss)e|mein name (?:ist|war|lautet)|hier (?:ist|spricht)|nenn(?:t|en sie)? mich"
    r"|deine?|eure?|ihre?|als|für|namens"
    r"|je suis|je m['’]appelle|mon nom est|moi,? c['’]est|c['’]est|ici|appelle(?:z)?-moi|comme|pour|nommée?"
    r"|soy|me llamo|mi nombre es|ll[aá]m(?:a|e|en)me|aquí|como|para|llamad[oa])[\s,:]*$",
    re.IGNORECASE,
)
#: The same, where nothing else can stand before a name than the name of who one says to be.
_SAYS_I = re.compile(
    r"\b(?:ich hei(?:ß|ss)e|mein name (?:ist|lautet)|je m['’]appelle|mon nom est|soy|me llamo|mi nombre es)\s*$",
    re.IGNORECASE,
)
#: `Ich bin Bo.`, but `Ich bin Bo dankbar`; `Je suis Bo.`, but `Je suis Bo depuis ce matin`.
_AM, _ENDS = re.compile(r"\b(?:ich bin|je suis)\s*$", re.IGNORECASE), re.compile(r"\s*(?:$|[.,!?…])")

#: What stands before the name of somebody who is talked about, and not to; and behind it.
_WITH_OTHERS = re.compile(r"\b(?:von|über|ohne|bei|avec|chez|sans|con|sobre|sin|decirle a)\s+$", re.IGNORECASE)
_BEFORE_OTHERS = re.compile(r"\b(?:mit|frage?|fragen|dass|ob|wenn|weil|que|à)\s+$", re.IGNORECASE)
_DOES = re.compile(
    r"\s+(?:ist|hat|hatte|wird|würde|sagte?|weiß|wusste|denkt|dachte|kommt|kam|ging|und ich"
    r"|est|était|avait|veut|voulait|sait|savait|pense|disait|vient|et moi"
    r"|está|estaba|tiene|tenía|quiere|quería|sabe|sabía|piensa|dijo|vino|fue|y yo)\b"
)
_IS_CALLED = re.compile(r"\s*[,?!.]")

_BROKEN = re.compile(
    r"\b(?:[cjl]|qu|jusqu|lorsqu|aujourd)['’]\s+[a-zà-ÿ]"  # `j’ ai`
    r"|\b(und|ich|mit|ein|eine|auf|für|nicht|et|les|une|des|avec|pour|el|los|un|una|con|por|para)\s+\1\b",
    re.IGNORECASE,
)


def says_to_be(before: str, behind: str) -> bool:
    """Return whether the name between two parts of a line is that of who says it, as they put it."""
    return bool(_SAYS_I.search(before) or (_AM.search(before) and _ENDS.match(behind)))


def tells_about(before: str, behind: str) -> bool:
    """Return whether the name between two parts of a line is that of somebody who is talked about, and not to."""
    is_called = bool(_IS_CALLED.match(behind))
    return bool(_DOES.match(behind) or _WITH_OTHERS.search(before) or (_BEFORE_OTHERS.search(before) and not is_called))


def is_broken(text: str) -> bool:
    """Return whether a French elision has come apart, or a word that nobody doubles stands there twice."""
    return bool(_BROKEN.search(text))
