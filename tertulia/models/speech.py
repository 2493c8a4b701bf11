"""Signs that speech of a local model never has, and the end of a sentence, for answers of servers too.

A grammar forbids these signs (`local.grammar`); speech from a server keeps them, but for control characters
(`served.spoken_line`). All are parts of a character class.
"""

from tertulia.state.sentences import SPACED_ENDS, UNSPACED_ENDS

#: Signs that only markup needs: emphasis within words, and signs between words.
EMPHASIS, BRACKETS = "*#`_~", r"<>{}\[\]|^="

#: Line breaks and control characters.
CONTROLS = r"\x00-\x1F\x7F-\x9F\u2028\u2029"

#: The end of a sentence; a quotation mark or a bracket may follow it.
SENTENCE_END = f"[{SPACED_ENDS}{UNSPACED_ENDS}]"
