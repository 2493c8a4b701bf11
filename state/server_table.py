"""The features of a server that runs depend on, as they were seen when it was asked."""

from pydantic import Field

from tertulia.state.records import Record

#: The step under which a run keeps a table.
STEP = "server"


class ServerFinding(Record):
    """A feature of a server."""

    feature: str
    honoured: bool | None = Field(description="None: its answers do not show it")
    seen: str = Field(description="in words, as far as it helps")


class ServerTable(Record):
    """The features of a model's server."""

    server: str = Field(description="the name under which the model is opened")
    checked: str = Field(description="when, in ISO 8601")
    requests: int
    findings: tuple[ServerFinding, ...]

    def lacking(self) -> list[str]:
        """Return the features that are not honoured."""
        return [finding.feature for finding in self.findings if finding.honoured is False]
