"""Words by which German, French and Spanish lines call, ask and hand on: alternatives for the patterns of `address`.

They are beside the English ones in one pattern, so that nobody has to name the language of a line. A word that means
something else in an English line (`was`, `will`, `on`) is not there by itself.
"""

#: The placeholder of a name.
NAME = "\0"
ROW = rf"(?:{NAME}(?:\s*,|\s+(?:and|or|und|oder|et|ou|y|e|o|u))*\s+)*"

#: Between the beginning of a sentence and the name of the person called.
CALLS = (
    r"und|aber|also|nun|na|ja|nein|gut|okay|tja|bitte|danke|vielen dank|danke dir|entschuldig(?:e|ung)|tut mir leid"
    r"|hallo|lieber?|guten (?:morgen|tag|abend)|und (?:du|was ist mit)|was ist mit|wie wäre es mit|gute idee|stimmt"
    r"|et|mais|alors|donc|bon|oui|non|merci|merci (?:bien|beaucoup)|pardon|désolée?|bonjour|bonsoir|salut|ch(?:er|ère)"
    r"|et toi|s['’]il te pla[iî]t|bien vu|d['’]accord|dis|tiens"
    r"|y|e|pero|entonces|pues|bueno|bien|vale|sí|gracias|muchas gracias|perdón|perdona|hola|oye|mira|querid[oa]"
    r"|buen[oa]s (?:días|tardes|noches)|y tú|por favor|de acuerdo|qué tal"
)
#: At the beginning of a sentence that only thanks.
THANKS = r"vielen dank|danke|merci|gracias|muchas gracias|mil gracias"
#: Behind the name of the person called, without a comma.
BEHIND_CALL = (
    r"(?:kannst|könntest|willst|würdest|hast|bist|meinst|denkst|weißt|magst|siehst) du"
    r"|was (?:meinst|denkst|sagst|hältst)|wie siehst|wo|wann|warum|wieso|du (?:zuerst|bist dran|fängst an)|bitte"
    r"|(?:qu['’]|que |comment |pourquoi |où |quand )(?:\w+ )?\w+-tu"
    r"|(?:peux|veux|as|es|vas|penses|crois|sais|pourrais)-tu"
    r"|à toi|vas-y|s['’]il te pla[iî]t"
    r"|(?:qué|cuándo|dónde|cómo|por qué|cuál|quién)|te toca|tu turno|adelante|por favor"
)
#: Before a name at the end of a question: that of the person asked.
ASKS_LAST = (
    r"meinst du|denkst du|sagst du|hältst du(?: davon)?|findest du|dir|euch|-tu|toi|piensas|opinas|crees|dices|tú"
)
#: Between names in a row.
JOINTS = r"\bund\b|\boder\b|\bet\b|\bou\b|\by\b|\be\b|\bo\b|\bu\b"

#: In a question with one of these, a person named without being called is only talked about.
OTHERS_MEANT = (
    r"du|dich|dir|dein\w*|ihr|euch|euer|eure\w*|wir|uns|unser\w*|ich|mich|mir|mein|meine[mnrs]?|wer|wen|wem|jemand\w*"
    r"|irgendwer|alle|sie"
    r"|tu|te|toi|ton|tes|vous|votre|vos|nous|notre|nos|je|moi|mon|mes|qui|quelqu['’]un|qu['’]on|t['’]\w+|j['’]\w+"
    r"|tú|ti|tus|vosotr[oa]s|ustedes|usted|vuestr[oa]s?|nosotr[oa]s|nuestr[oa]s?|yo|mí|mi|mis|quién(?:es)?|alguien"
    r"|has (?:visto|oído|hablado|dicho|preguntado|sabido)"
    r"|habéis|sabes|crees|piensas|opinas|quieres|puedes|recuerdas|viste|tienes|conoces|sabéis|hemos|vamos|podemos"
)
#: In these a question is to all hearers.
TO_ALL = (
    r"d(?:ie|en) anderen|ihr anderen|alle anderen|die übrigen|der rest|ihr alle|ihr beiden|euch allen|alle|jemand\w*"
    r"|irgendwer|meint ihr|denkt ihr|haltet ihr|findet ihr|(?:wer|einer|eine|keiner|jeder) von euch|wer (?:noch|sonst)"
    r"|les autres|vous autres|vous tous|vous toutes|tout le monde|quelqu['’]un|chacun|qui d['’]autre"
    r"|personne d['’]autre|d['’]entre (?:vous|nous)|en pensez-vous|dites-vous"
    r"|l[oa]s demás|l[oa]s otr[oa]s|el resto|tod[oa]s|alguien|vosotr[oa]s|ustedes|nadie más|quién más|cada uno"
)
#: In these a question is to a person called before it.
TO_ONE = r"du|dich|dir|dein\w*|tu|te|toi|ton|tes|t['’]\w+|tú|ti|tus|contigo|puedes|quieres|sabes|crees|podrías|podrás"

#: Words of a question that talks of a person, and asks them only if it asks for their view (`ASKS_FOR_VIEW`).
FUNCTION_WORDS = (
    r"wann|wo|wohin|woher|warum|wieso|weshalb|wie|welch\w+|ist|sind|hat|haben|hatte|wird|kann|können|soll|muss|darf"
    r"|würde|könnte|sollte|das|dass|ein|eine|nicht|und|kommt|kam|geht|ging"
    r"|où|quand|pourquoi|comment|quelle?s?|est|sont|est-ce|les|des|avec|dans|une|que fait|qu['’]a"
    r"|qué|cuándo|dónde|cómo|cuál|cuánto|está|están|es|son|ha|han|fue|va|el|los|las|una|un"
)
_BEGINS = r"^\W*(?:(?:und|aber|oder|also|dann|nun|ja|et|mais|alors|bon|y|e|pero|entonces|bueno)\b\W*)*"
_AGREE_DE = r"einverstanden|bereit|dafür|dagegen|zufrieden|derselben meinung|auch dieser meinung|so weit"
_AGREE_FR = r"d['’]accord|prête?s?|pour|contre|contente?s?|sûre?s?"
_AGREE_ES = r"de acuerdo|list[oa]s?|conformes?|a favor|en contra|segur[oa]s?"
#: Questions for the view of those whom they name: `Was denkt Bo?`, `Bo est-il d'accord ?`, `¿Puede Bo venir?`.
ASKS_FOR_VIEW = (
    # German
    rf"\b(?:denk|mein|sag|glaub|brauch)(?:t|en)\s+{ROW}{NAME}"
    rf"|\b(?:findet|finden|hält|halten|wollen|möchten?|weiß|wissen|sieht|sehen|fühlt|fühlen|schlägt|schlagen|rät)"
    rf"\s+{ROW}{NAME}"
    rf"|\b(?:was|wohin|wozu|warum)\s+will\s+{ROW}{NAME}"
    rf"|\bstimm(?:t|en)\s+{ROW}{NAME}\b.*\bzu\b"
    rf"|\b(?:ist|sind|wären?)\s+{ROW}{NAME}\s+(?:\w+\s+)?(?:{_AGREE_DE})\b"
    rf"|\b(?:würde|sollte|könnte)n?\s+{ROW}{NAME}\s+(?:\w+\s+){{0,3}}(?:sagen|denken|tun|machen|vorschlagen|wollen|raten)\b"
    rf"|{_BEGINS}(?:kann|können|könnten?|würden?|wird|werden|sollten?|möchten?)\s+{ROW}{NAME}\s"
    # French
    rf"|\b(?:pense|veut|préfère|propose|croit|dit|ressent|suggère|ferait|dirait|voudrait|pensent|veulent|disent|croient)"
    rf"\s+{ROW}{NAME}"
    rf"|{NAME}\s+(?:en\s+)?(?:pense|veut|préfère|propose|croit|sait|dit|pensent|veulent|savent)(?:-t)?-(?:il|elle|on)s?\b"
    rf"|{NAME}\s+(?:est|sont|serait|seraient)-(?:il|elle)s?\s+(?:\w+\s+)?(?:{_AGREE_FR})"
    rf"|\best-ce\s+que\s+{ROW}{NAME}\s+(?:(?:en|y|le)\s+)?(?:pense|veut|préfère|propose|croit|sait|peut|pourrait|voudrait)"
    rf"|\best-ce\s+que\s+{ROW}{NAME}\s+(?:est|sont|serait)\s+(?:\w+\s+)?(?:{_AGREE_FR})"
    rf"|{_BEGINS}{ROW}{NAME}\s+(?:peut|pourrait|voudrait|peuvent|pourraient)-(?:il|elle)s?\b"
    # Spanish
    rf"|\b(?:piensa|opina|dice|quiere|cree|prefiere|propone|sabe|siente|necesita|recuerda|haría|diría)n?\s+{ROW}{NAME}"
    rf"|\bparecen?\s+a\s+{ROW}{NAME}"
    rf"|{NAME}\s+(?:qué\s+)?(?:piensa|opina|dice|quiere|cree|prefiere|propone|haría)n?\b"
    rf"|\bestán?\s+{ROW}{NAME}\s+(?:\w+\s+)?(?:{_AGREE_ES})\b|{NAME}\s+están?\s+(?:\w+\s+)?(?:{_AGREE_ES})\b"
    rf"|{_BEGINS}(?:puede|podría|querría|va a|debería)n?\s+{ROW}{NAME}\s"
)
#: Behind these, a person not spoken to is given the turn.
HANDS_ON = (
    r"\bhören wir(?: \w+)?,? was $|\bécoutons(?: maintenant)?(?: ce que| ce qu['’]en)? (?:pense |dit )?$"
    r"|\b(?:escuchemos|oigamos|escuchar|oír) (?:a|lo que (?:piensa|dice|opina)) $"
)
#: With one of these, the person called is asked to speak.
REQUEST = (
    r"sage? (?:uns|mir|doch|mal|bitte)|erzähle?|erkläre?|beschreibe?|antworte|sprich|fang an|mach weiter|du bist dran"
    r"|du zuerst|leg los|schieß los"
    r"|dis[- ](?:nous|moi)|raconte\b|explique\b|décris\b|réponds\b|parle\b|vas-y|à toi|toi d['’]abord"
    r"|dinos|dime|cuéntanos|cuéntame|explícanos|explícame|responde|contesta|adelante|te toca|tu turno"
    r"|tú primero|empieza tú"
)
