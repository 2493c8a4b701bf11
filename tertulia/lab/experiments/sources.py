"""The sources of an experiment's cases: cases of one town, or of one log, are not independent of each other."""

#: The text between a scenario and the number of one of its cases.
_NUMBERED = ":"


def source_of(case: str) -> str:
    """Return the source of a case as `tertulia run` takes it: `tidewell` of `tidewell:3`, the folder of a log's cases.

    A scenario that is one case is a source of its own.
    """
    name, _, number = case.rpartition(_NUMBERED)
    return name if name and number.isdigit() else case
