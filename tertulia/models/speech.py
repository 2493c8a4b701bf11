"""Signs that speech never has, and how its sentences end: one rule for grammars and for the answers of servers.

A grammar forbids these signs (`local.grammar`); from a server's answer they are taken out (`served.repair`).
All are parts of a character class.
"""

#: Signs that only markup needs: emphasis, which stands within words, and signs that part words.
EMPHASIS, BRACKETS = "*#`_~", r"<>{}\[\]|^="

#: Line breaks and control characters.
CONTROLS = r"\x00-\x1F\x7F-\x9F\u2028\u2029"

#: The end of a sentence; a quotation mark or a bracket may follow it.
SENTENCE_END = "[.!?…。！？]"
