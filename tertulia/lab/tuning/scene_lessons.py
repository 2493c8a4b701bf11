"""From scenes to lessons: the product's own prompts, with the lines, thoughts, questions and answers of people."""

from tertulia.lab.tuning.album_lessons import album_lesson
from tertulia.lab.tuning.dialogue_lessons import case_of, dialogue_lesson, drafts_lessons, pair_lesson
from tertulia.lab.tuning.lesson import Lesson, answer_of
from tertulia.lab.tuning.meeting_lessons import meeting_lessons
from tertulia.prompts.ending import continuation, ending_prompt
from tertulia.prompts.revise import Conflict, assemble_rewriting
from tertulia.state.album import CALLS
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Unit
from tertulia.worlds.scenes import (
    AlbumScene,
    DialogueScene,
    DraftsScene,
    EndingScene,
    MeetingScene,
    PairScene,
    RewritingScene,
    Scene,
)


def lessons_of(scene: Scene, number: int) -> list[Lesson]:
    """Return the lessons of a scene; its number among all scenes keys the draws."""
    generator = keyed_generator(number, node="lesson")
    match scene:
        case DialogueScene():
            case = case_of(scene)
            return [dialogue_lesson(case, scene.lines, person.name, generator) for person in scene.people]
        case MeetingScene():
            return list(meeting_lessons(scene, generator))
        case AlbumScene():
            return [album_lesson(scene, call, generator) for call in CALLS]
        case PairScene():
            return [pair_lesson(scene, generator), pair_lesson(scene, generator, contradicts=True)]
        case DraftsScene():
            return drafts_lessons(scene, generator)
        case EndingScene():
            return [_ending(scene)]
        case RewritingScene():
            return [_rewriting(scene)]


def _ending(scene: EndingScene) -> Lesson:
    return Lesson("ending", ending_prompt(scene.line, scene.reply), answer=("", continuation(scene.parts)))


def _rewriting(scene: RewritingScene) -> Lesson:
    statements = [
        Unit(id=f"s{number}", block="memory", kind="item", text=text) for number, text in enumerate(scene.statements)
    ]
    conflict = Conflict(
        scene.speaker, scene.listener, statements, scene.heard, scene.reply, scene.comment, layout="chat_turns"
    )
    return Lesson("rewriting", assemble_rewriting(conflict), answer=answer_of({scene.speaker: scene.rewritten}))
