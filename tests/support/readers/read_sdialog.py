"""Read a dialogue with SDialog, and print what is in it as JSON."""

import json
import sys

from sdialog import Dialog

dialog = Dialog.from_file(sys.argv[1])
said = [[turn.speaker, turn.text] for turn in dialog.turns]
print(json.dumps({"id": dialog.id, "seed": dialog.seed, "said": said, "personas": list(dialog.personas)}))
