"""A release: what its texts must say, and that the workflow runs what there is to run."""

import re
from pathlib import Path

import pytest
import yaml
from support.release import problem_of

ROOT = Path(__file__).parents[1]
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
CHANGELOG = "# Changelog\n\n## Unreleased\n\n{}## 0.5.0 (2026-12-01)\n\n* New.\n\n## 0.4.0\n\n* Old.\n"


@pytest.mark.parametrize(
    ("version", "tag", "unreleased", "problem"),
    [
        ("0.5.0", "v0.5.0", "", None),
        ("0.5.0", None, "* Next.\n\n", None),
        ("0.5.0", "v0.5.1", "", "the tag v0.5.1 is not that of the version in pyproject.toml: v0.5.0"),
        ("0.5.0", "0.5.0", "", "the tag 0.5.0 is not that of the version in pyproject.toml: v0.5.0"),
        ("0.6.0", "v0.6.0", "", "CHANGELOG.md has no section of version 0.6.0"),
        ("0.5.0", "v0.5.0", "* Next.\n\n", "CHANGELOG.md has lines under Unreleased"),
    ],
)
def test_a_release_has_its_tag_and_its_section(
    version: str, tag: str | None, unreleased: str, problem: str | None
) -> None:
    found = problem_of(version, CHANGELOG.format(unreleased), tag)
    assert found is None if problem is None else (found or "").startswith(problem)


def test_a_section_without_a_line_is_none() -> None:
    assert problem_of("0.5.0", "## 0.5.0\n\n## 0.4.0\n\n* Old.\n") is not None


def test_the_workflow_runs_targets_that_there_are_when_a_version_is_tagged() -> None:
    steps = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]
    called = [target for step in steps for target in re.findall(r"\bmake ([\w-]+)", step.get("run", ""))]
    targets = re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {"release-check", "ranges"} <= set(called) <= set(targets)
    assert WORKFLOW[True] == {"push": {"tags": ["v*"]}}, "YAML reads `on` as true"


def test_only_the_job_that_publishes_may_and_after_the_checks() -> None:
    jobs = WORKFLOW["jobs"]
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert [name for name, job in jobs.items() if "permissions" in job] == ["publish"]
    assert set(jobs["publish"]["needs"]) == set(jobs) - {"publish"}
    assert not any("secrets." in str(job) for job in jobs.values())
