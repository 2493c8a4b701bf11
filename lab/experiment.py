"""An experiment as data: cases × settings × trials, from a YAML file or from Python."""

from pydantic import Field

from state.parameters import NodeSetting
from state.records import Record

#: The parameters of a setting by name, as `--set` takes them.
Setting = dict[str, NodeSetting | None]


class Experiment(Record):
    """Which conversations an experiment has. Source: APP §2 (cases, and trials of each)."""

    name: str = Field(min_length=1, max_length=80, description="what it is called in the store")
    description: str = ""
    cases: tuple[str, ...] = Field(min_length=1, description="scenarios, as `tertulia run` takes them")
    settings: dict[str, Setting] = Field(min_length=1, description="by name, parameters over those of the scenario")
    trials: int = Field(10, ge=1, le=10_000, description="conversations of each case in each setting (APP §2: 10)")
    rounds: int | None = Field(None, ge=1, description="most rounds of each; unset: the scenario's")
    seed: int = Field(1, description="of the first trial; trial t has seed + t - 1, in every case and setting")
    model: str = Field("smollm2", description="everybody's model")
    baseline: str | None = Field(None, description="the setting that others are compared with; unset: the first")
    cohort_size: int = Field(10, ge=1, le=1024, description="conversations that are driven side by side")
