"""Replies by grammar: never malformed or broken off, each row by its generator, scored while they are decoded."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace

import pytest
from support.on_use import on_use
from support.tiny import rendered_texts, tiny_language_model, tiny_model

from tertulia.models.loading import open_model
from tertulia.models.local.grammar import ends_with_sentence
from tertulia.prompts.placeholders import is_placeholder
from tertulia.state.errors import ContextWindowError, ModelError, NotFoundError, UsageError
from tertulia.state.language_model import GenerationRequest, ReplyField, ScoringOptions
from tertulia.state.records import Prompt, Unit

attention_scores = on_use("tertulia.models.local.attention_scores")
decoding = on_use("tertulia.models.local.decoding")
decoding_state = on_use("tertulia.models.local.decoding_state")
prefix = on_use("tertulia.models.local.prefix")
torch = on_use("torch")

NAMES = ["Ana Sol", 'Ana "Sol" Ruiz', "安娜", "Ana\nSol 🦆", "<|im_end|>"]
SPEECH = (ReplyField("Ana", "speech", max_tokens=24), ReplyField("over?", "boolean"))


@pytest.fixture(scope="module")
def model():
    return tiny_language_model()


def _request(model, fields=SPEECH, rows=3, reply_prefix="", temperature=1.5, texts=("The ferry leaves.", "At noon.")):
    prompt = rendered_texts(model, *texts, reply_prefix=reply_prefix)
    return GenerationRequest(prompt, fields, tuple(random.Random(i) for i in range(rows)), temperature, 1.0)


@pytest.mark.parametrize(("name", "prefixed"), [(name, at % 2 == 0) for at, name in enumerate(NAMES)])
async def test_replies_of_a_random_model_are_the_json_asked_for(model, name: str, prefixed: bool) -> None:
    fields = (
        ReplyField(name, "speech", max_tokens=20),
        ReplyField("over?", "boolean"),
        ReplyField("comment", "text", max_tokens=10),
        ReplyField("rating", "integer", minimum=1, maximum=10),
    )
    start = f'{{{json.dumps(name, ensure_ascii=False)}: "' if prefixed else ""
    for reply in await model.generate(_request(model, fields, rows=4, reply_prefix=start)):
        assert json.loads(reply.text) == reply.fields
        assert list(reply.fields) == [field.name for field in fields]
        assert start + model.tokenizer.decode(reply.tokens) == reply.text
        speech = str(reply.fields[name])
        assert ends_with_sentence(speech)
        assert not re.search(r'[\x00-\x1f"\\<>{}\[\]|*#`]', speech)
        assert isinstance(reply.fields["over?"], bool)
        assert 1 <= int(reply.fields["rating"]) <= 10
        first, past_last = reply.text_tokens
        written = model.tokenizer.decode(reply.tokens[first:past_last])
        assert speech in written
        assert len(written.replace(speech, "")) <= 4, "only quotes may share a token with the text"


async def test_a_text_is_no_longer_than_its_limit(model) -> None:
    for reply in await model.generate(_request(model, (ReplyField("Ana", "speech", max_tokens=8),), rows=8)):
        first, past_last = reply.text_tokens
        assert past_last - first <= 8 + 3  # the ellipsis of a text that trails off comes on top


@pytest.mark.parametrize(
    ("drawn", "spoken"), [("Noon is late. ", "Noon is late."), ("…", "……"), ("Late. The ferry ", "Late.")]
)
async def test_speech_is_closed_where_the_grammar_lets_it_end(
    model, monkeypatch: pytest.MonkeyPatch, drawn: str, spoken: str
) -> None:
    tokens = model.tokenizer.encode(drawn)
    script = iter(tokens)
    monkeypatch.setattr("tertulia.models.local.decoding.draw_token", lambda *_: next(script))
    (reply,) = await model.generate(_request(model, (ReplyField("Ana", "speech", max_tokens=len(tokens)),), rows=1))
    assert reply.fields["Ana"] == spoken


async def test_a_row_draws_from_its_generator_alone(model) -> None:
    replies = await model.generate(_request(model, rows=3))
    for index, reply in enumerate(replies):
        request = _request(model)
        alone = GenerationRequest(request.prompt, SPEECH, (random.Random(index),), 1.5, 1.0)
        assert (await model.generate(alone))[0].text == reply.text


async def test_likelihood_is_that_of_the_text_alone(model) -> None:
    request = _request(model, rows=1)
    reply = (await model.generate(request))[0]
    prompt = list(request.prompt.input_ids)
    plain = tiny_model("llama, grouped heads")
    with torch.inference_mode():
        logs = plain(torch.tensor([prompt + list(reply.tokens)])).logits[0].log_softmax(-1)
    first, past_last = reply.text_tokens
    expected = sum(logs[len(prompt) + i - 1, reply.tokens[i]].item() for i in range(first, past_last))
    assert await model.log_likelihood(request.prompt, reply) == pytest.approx(expected / (past_last - first), rel=1e-4)


async def test_probabilities_of_options_compare_whole_options(model) -> None:
    prompt = _request(model).prompt
    found = await model.probabilities(prompt, [" part", " go on", " sing"])
    assert sum(found) == pytest.approx(1)
    plain, totals = tiny_model("llama, grouped heads"), []
    for option in (" part", " go on", " sing"):
        tokens = model.tokenizer.encode(option)
        with torch.inference_mode():
            logs = plain(torch.tensor([[*prompt.input_ids, *tokens]])).logits[0].log_softmax(-1)
        start = len(prompt.input_ids) - 1
        totals.append(sum(logs[start + i, token] for i, token in enumerate(tokens)))
    assert found == pytest.approx(torch.stack(totals).softmax(0).tolist(), rel=1e-3)


async def test_options_that_begin_alike_are_read_once(model, monkeypatch: pytest.MonkeyPatch) -> None:
    read, rows = decoding_state.DecodingState.read, []
    monkeypatch.setattr(decoding_state.DecodingState, "read", lambda state, new: rows.extend(new) or read(state, new))
    prompt = _request(model).prompt
    options = [" calm", " a little calm", " a little glad", " glad", " a little"]
    found = await model.probabilities(prompt, options)
    assert len(rows) == 4, "` a little` has none of its own"
    pairs = [await model.probabilities(prompt, [option, options[0]]) for option in options]
    expected = torch.tensor([first / second for first, second in pairs])
    assert found == pytest.approx((expected / expected.sum()).tolist(), rel=1e-4)


def test_a_row_with_which_another_begins_is_no_row_of_its_own() -> None:
    rows = [(1, 2), (1,), (1, 2, 3), (2,), (1, 3), (1, 2), (2, 1, 1)]
    longest, row_of = decoding_state.longest_rows(rows)
    assert sorted(longest) == [(1, 2, 3), (1, 3), (2, 1, 1)]
    assert all(longest[at][: len(row)] == row for row, at in zip(rows, row_of, strict=True))


async def test_a_prompt_that_does_not_fit_says_by_how_much_and_what_is_largest() -> None:
    model = tiny_language_model(context_window=80)
    request = _request(model, texts=("The ferry leaves at noon. " * 20, "At noon."))
    with pytest.raises(ContextWindowError, match=r"\d+ tokens over the context window of tiny \(80\).*memory \(\d+\)"):
        await model.generate(request)
    with pytest.raises(ContextWindowError):
        await model.score(request.prompt, [[1, 2]], ScoringOptions())


async def test_a_response_without_tokens_is_refused(model) -> None:
    with pytest.raises(ModelError, match="no tokens"):
        await model.score(_request(model).prompt, [[]], ScoringOptions())


def test_a_folder_is_opened_and_what_is_none_is_refused(tmp_path) -> None:
    source = tiny_language_model()
    source.model.set_attn_implementation("sdpa")
    source.model.save_pretrained(tmp_path / "tiny")
    source.tokenizer.tokenizer.save_pretrained(tmp_path / "tiny")
    opened = open_model(str(tmp_path / "tiny"), cache=tmp_path, precision="float32")
    assert opened.traits.context_window == 2048
    assert opened.tokenizer.encode("ferry") == source.tokenizer.encode("ferry")
    with pytest.raises(NotFoundError, match="smollm2"):
        open_model("smolm2", cache=tmp_path)
    with pytest.raises(NotFoundError, match="no such folder"):
        open_model(str(tmp_path / "none"), cache=tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match=r"config\.json"):
        open_model(str(tmp_path / "empty"), cache=tmp_path)
    with pytest.raises(UsageError, match="bfloat16"):
        open_model("smollm2", cache=tmp_path, precision="bfloat")  # type: ignore[arg-type]


@pytest.mark.parametrize("words", ["What Ana Sol says…", "How Ana Sol says…"])
async def test_a_local_model_can_not_say_what_the_form_says(model, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    pending: list[int] = []

    def only_what_is_wanted(text: list[int], logits: torch.Tensor, *_: object) -> torch.Tensor:
        is_wanted = bool(pending) and bool(logits[pending[0]].isfinite())
        token = pending.pop(0) if is_wanted else int(logits.argmax())
        if not is_wanted:
            pending.clear()
        return torch.full_like(logits, -torch.inf).index_fill(0, torch.tensor(token), 0.0)

    monkeypatch.setattr("tertulia.models.local.decoding.text_logits", only_what_is_wanted)
    form = 'Reply so: {"Ana": "what Ana Sol says"}'
    shown = Unit(id="o", block="output_instruction", kind="text", text=form)
    request = _request(model, (ReplyField("Ana", "speech", max_tokens=40),), rows=1)
    with_form = Prompt(units=(shown,), speaker="Ana", layout="x")
    for source, is_spoken in ((request.prompt.source, True), (with_form, False)):
        pending[:] = model.tokenizer.encode(words + '"')
        ((reply,),) = [await model.generate(replace(request, prompt=replace(request.prompt, source=source)))]
        assert is_placeholder(str(reply.fields["Ana"]), "what Ana Sol says") is is_spoken


@pytest.mark.parametrize(
    ("text", "token", "goes_on"),
    [
        ("Leila H", "add", True),
        ("Leila", " H", False),
        ("Leila", ".", False),
        ("公", "园", False),
        ("It isn", "'", True),
        ("It isn'", "t", True),
        ("It isn’", "t", True),
        ("twenty-", "five", True),
        ("at 7:", "3", True),
        ("at 7.", "Now", False),
        ("He said: '", "No", False),
    ],
)
def test_a_token_that_goes_on_with_a_word_is_known(model, text: str, token: str, goes_on: bool) -> None:
    before = model.tokenizer.encode(text)
    assert decoding.continues_word(before, model.tokenizer.encode(token)[0], model.tokenizer) is goes_on


async def test_a_word_that_may_not_be_repeated_is_kept_from_beginning_and_not_broken_off(
    model, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = model.tokenizer.encode("knows")
    assert len(word) > 1, "a word of several tokens is what is to be tested"
    script, may_come = list(word), []

    def scripted(logits, *_):
        token = script.pop(0) if script else int(logits.argmax())
        may_come.append(bool(logits[token].isfinite()))
        return token

    monkeypatch.setattr("tertulia.models.local.decoding.draw_token", scripted)
    await model.generate(replace(_request(model, rows=1), no_repeat_from=(tuple(word),), no_repeat_ngram=1))
    assert may_come[: len(word)] == [False, *(True for _ in word[1:])]


@pytest.mark.parametrize(("length", "is_kept_out"), [(5, True), (3, True), (0, False)])
def test_three_tokens_of_a_recent_line_do_not_come_again(model, length: int, is_kept_out: bool) -> None:
    line = tuple(model.tokenizer.encode("We go to the quay and on."))
    request, logits = replace(_request(model), no_repeat_ngram=length), torch.zeros(len(model.tokenizer.tokenizer))
    words = [i for i in range(2, len(line)) if not decoding.continues_word(line[:i], line[i], model.tokenizer)]
    assert words
    for i in words:
        assert decoding.text_logits(line[:i], logits, None, request, model.tokenizer)[line[i]] == 0
        recent = replace(request, recent_lines=(line,))
        found = decoding.text_logits(line[:i], logits, None, recent, model.tokenizer)
        assert bool(found[line[i]] == -torch.inf) is is_kept_out
        assert (found == 0).sum() == len(logits) - is_kept_out
