"""The name of a control: the same conversations of a stand-in without weights, as an experiment beside the other."""

#: The end of a control's name, behind that of its experiment.
_CONTROL = " (control)"


def control_name(experiment: str) -> str:
    """Return the name of the control of an experiment."""
    return f"{experiment}{_CONTROL}"


def controlled_name(experiment: str) -> str | None:
    """Return the name of the experiment that one is the control of; `None` if it is not called like a control."""
    return experiment.removesuffix(_CONTROL) if experiment.endswith(_CONTROL) else None
