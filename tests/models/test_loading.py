"""Opening models by name: folders, the cache of the hub, a hub that is not there, and files that would run code."""

from __future__ import annotations

import json
import shutil
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import huggingface_hub.constants
import pytest
from support.tiny import save_tiny

from tertulia.models.loading import open_embedder, open_model
from tertulia.state.errors import ModelError, TrustError
from tertulia.state.language_model import Activity

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a hub at an address where nobody listens."""
    use_hub(monkeypatch, "http://127.0.0.1:9")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def use_hub(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", endpoint)
    template = endpoint + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)


@pytest.mark.usefixtures("hub_cache")
def test_a_hub_that_can_t_be_reached_is_said_within_seconds_with_the_remedy(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):  # the first time, libraries are imported
        started = time.monotonic()
        with pytest.raises(ModelError) as raised:
            open_model("nobody/nothing", cache=tmp_path)
        with pytest.raises(ModelError, match=r"nobody/nothing is not on this machine.*minilm"):
            open_embedder("nobody/nothing")
    assert time.monotonic() - started < 10
    message = str(raised.value)
    for part in ("nobody/nothing", "http://127.0.0.1:9", "can't be reached", "model='smollm2'", "HF_ENDPOINT"):
        assert part in message
    assert "\n" not in message
    assert "etry" not in "".join(capfd.readouterr())


@pytest.mark.usefixtures("hub_cache")
def test_a_hub_that_does_not_answer_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tertulia.models.local.hub._ANSWER_S", 0.2)
    monkeypatch.setattr("tertulia.models.local.hub._ask_hub", lambda *_: time.sleep(2))
    with pytest.raises(ModelError, match=r"can't be reached \(no answer within 0.2 s\)"):
        open_model("nobody/nothing", cache=tmp_path)


class _HubWithoutModels(BaseHTTPRequestHandler):
    code = "RepoNotFound"

    def do_HEAD(self) -> None:
        self.send_response(403 if self.code == "GatedRepo" else 404)
        self.send_header("X-Error-Code", self.code)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.mark.usefixtures("hub_cache")
@pytest.mark.parametrize(
    ("code", "words"), [("RepoNotFound", "the hub has no nobody/nothing"), ("GatedRepo", "gated.*HF_TOKEN")]
)
def test_a_hub_that_refuses_a_model_is_told_from_one_that_can_t_be_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, words: str
) -> None:
    handler = type("Handler", (_HubWithoutModels,), {"code": code})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        use_hub(monkeypatch, f"http://127.0.0.1:{server.server_port}")
        with pytest.raises(ModelError, match=words):
            open_model("nobody/nothing", cache=tmp_path)
        server.shutdown()


def test_what_is_in_the_cache_of_the_hub_is_loaded_without_a_request(
    tmp_path: Path, hub_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where the hub is asked in vain, it is asked again after a wait.
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: pytest.fail("the hub was asked"))
    repository = hub_cache / "models--somebody--tiny"
    save_tiny(repository / "snapshots" / COMMIT)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    reported: list[Activity] = []
    opened = open_model("somebody/tiny", cache=tmp_path, precision="float32", report=reported.append)
    assert (opened.id, reported) == ("somebody/tiny", [])


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_no_code_of_a_folder_is_executed_and_nobody_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    folder = save_tiny(tmp_path / "tiny")
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("the user was asked"))
    settings = json.loads((folder / file).read_text())
    classes = {"config.json": ("AutoConfig", "AutoModelForCausalLM"), "tokenizer_config.json": ("AutoTokenizer",)}
    mapped = {name: ["evil.Evil", "evil.Evil"] if name == "AutoTokenizer" else "evil.Evil" for name in classes[file]}
    settings |= {"auto_map": mapped, "model_type": "evil", "tokenizer_class": "Evil", "architectures": ["Evil"]}
    (folder / file).write_text(json.dumps(settings))
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')\nclass Evil: pass\n")
    with pytest.raises(TrustError, match=r"code of its own, which is not executed.* --trust-remote-code "):
        open_model(str(folder), cache=tmp_path)
    assert not (tmp_path / "executed").exists()


def test_a_kernel_that_a_configuration_names_is_not_fetched(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "tiny")
    settings = json.loads((folder / "config.json").read_text())
    named = {"attn_implementation": "someone/kernel", "experts_implementation": "someone/kernel"}
    (folder / "config.json").write_text(json.dumps({**settings, **named, "trust_remote_code": True}))
    assert open_model(str(folder), cache=tmp_path).traits.context_window


def test_no_module_of_an_embedder_s_folder_is_executed(tmp_path: Path) -> None:
    weights = embedded_minilm()
    folder = tmp_path / "evil"
    shutil.copytree(weights, folder)
    modules = json.loads((folder / "modules.json").read_text())
    modules[-1]["type"] = "evil.Evil"
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')\nclass Evil: pass\n")
    with pytest.raises(ModelError, match="can't be loaded"):
        open_embedder(str(folder))
    assert not (tmp_path / "executed").exists()


def embedded_minilm() -> Path:
    from tertulia.models.local.embedder import weights

    return weights() or pytest.skip("the embedder's weights are not installed")
