"""The order of the rooms, and what stands in one room only."""

import ast
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TypeGuard

from support.package import PACKAGE, ROOT, package_files

import tertulia

#: The rooms from the lowest up; a room imports only rooms that stand before it, and itself. `tertulia` is the face: the
#: modules that lie in no room.
ROOMS = (
    *("state", "prompts", "models", "storage", "worlds", "metrics", "nodes", "graphs"),
    *("views", "runs", "langgraph", "lab", "viewer", "api", "tertulia", "rules", "cli"),
)

#: Rooms that know less than their place would allow: models and store reach nodes through the runtime context.
KNOWS_ONLY = {
    "nodes": {"state", "prompts"},
    "graphs": {"state", "prompts", "nodes"},
    "metrics": {"state"},
    "rules": {"tertulia"},
}

HEAVY = {"torch", "transformers", "sentence_transformers"}

FILES = list(package_files(".py"))

#: What is held to be short, and is no room.
BESIDES = sorted(file for folder in ("benchmarks", "tests") for file in (ROOT / folder).rglob("*.py"))

#: What a reader can take in at once: lines of a file, and lines of code of a function.
FILE_LINES, FUNCTION_LINES = 450, 50

#: Lines of the command line together: it parses, calls and prints, and what takes more belongs into a room above.
COMMAND_LINE_LINES = 7_300

#: Sets how OpenMP's threads wait, which is read from the environment alone; users of Python need it too.
SETS_THREADS = PACKAGE / "models" / "local" / "threads.py"


def nodes_of(file: Path) -> list[ast.AST]:
    """All nodes of the syntax of a file; the first is the module."""
    return list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))


def room_of(file: Path) -> str:
    folder, *inner = file.relative_to(PACKAGE).parts
    return folder if inner else "tertulia"


def module_of(file: Path) -> str:
    """The name by which the module of a file is imported."""
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports(file: Path) -> Iterator[str]:
    """The rooms and the packages of others that a file imports, wherever in it."""
    for node in nodes_of(file):
        if isinstance(node, ast.Import):
            yield from (room_imported(alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            yield room_imported(node.module or "")


def room_imported(module: str) -> str:
    """A room of ours with a dot before its name, the package of another one."""
    package, _, inner = module.partition(".")
    room = inner.partition(".")[0]
    return (f".{room}" if room in ROOMS else ".tertulia") if package == "tertulia" else package


def rooms_imported(file: Path) -> set[str]:
    return {name.removeprefix(".") for name in imports(file) if name.startswith(".")}


def modules_imported(file: Path) -> set[str]:
    """The modules from which a file imports, and all that may be one, wherever in it."""
    imports = [node for node in nodes_of(file) if isinstance(node, ast.ImportFrom)]
    return {name for node in imports for name in (node.module or "", *(f"{node.module}.{a.name}" for a in node.names))}


def attributes(file: Path) -> Iterator[str]:
    """What a file uses of other modules, as `module.name`, imported by name or reached by a dot."""
    for node in nodes_of(file):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def lines_of_code(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: Sequence[str]) -> int:
    """How many lines a function has besides its docstring, blank lines and comments."""
    body = lines[function.lineno - 1 : function.end_lineno]
    code = [line for line in body if line.strip() and not line.strip().startswith("#")]
    documented = function.body[0] if ast.get_docstring(function, clean=False) else None
    docstring = lines[documented.lineno - 1 : documented.end_lineno] if documented else []
    return len(code) - sum(bool(line.strip()) for line in docstring)


def is_call(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call)


def offenders(is_kept: Callable[[Path], bool], files: Sequence[Path] = FILES) -> list[str]:
    """The files that do not keep a rule."""
    return [str(file.relative_to(ROOT)) for file in files if not is_kept(file)]


def test_every_folder_with_code_is_a_room_or_known_not_to_be() -> None:
    assert {room_of(file) for file in FILES} == set(ROOMS)
    folders = {file.relative_to(ROOT).parts[0] for file in ROOT.glob("[!.]*/*.py")}
    assert folders - {"tests", "benchmarks", "tertulia"} <= set(ROOMS)


def test_a_room_imports_only_rooms_that_stand_above_it() -> None:
    def is_kept(file: Path) -> bool:
        room = room_of(file)
        allowed = KNOWS_ONLY.get(room, set(ROOMS[: ROOMS.index(room)])) | {room}
        return rooms_imported(file) <= allowed and not {"tests", "benchmarks"} & set(imports(file))

    assert offenders(is_kept) == []


def test_rules_of_a_language_use_public_names_alone_and_no_room_needs_them() -> None:
    for file in FILES:
        if room_of(file) == "rules":
            used = {name.removeprefix("tt.") for name in attributes(file) if name.startswith("tt.")}
            assert used <= set(tertulia.__all__)
            assert {name for name in modules_imported(file) if name.startswith("tertulia.")} <= {
                "tertulia.rules",
                "tertulia.rules.address_words",
            }
        else:
            assert "rules" not in rooms_imported(file)


def test_the_readme_of_a_room_names_what_it_imports() -> None:
    for room in sorted(set(ROOMS) - {"tertulia"}):
        imported = {name for file in FILES if room_of(file) == room for name in rooms_imported(file)} - {room}
        readme = (PACKAGE / room / "README.md").read_text(encoding="utf-8")
        ((start, named),) = re.findall(r"^Start with `([\w/.]+)`\. Imports: (.+)\.$", readme, re.MULTILINE)
        assert (PACKAGE / room / start).exists()
        assert named == (", ".join(name for name in ROOMS if name in imported) or "no other room")


def test_no_files_import_each_other_in_a_circle() -> None:
    modules = {module_of(file): file for file in FILES}
    TopologicalSorter({name: modules_imported(file) & set(modules) for name, file in modules.items()}).prepare()


def test_no_file_and_no_function_is_too_long() -> None:
    def is_kept(file: Path) -> bool:
        lines = file.read_text(encoding="utf-8").splitlines()
        functions = [node for node in nodes_of(file) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        is_long = any(lines_of_code(function, lines) > FUNCTION_LINES for function in functions)
        return len(lines) <= FILE_LINES and not is_long

    assert offenders(is_kept, [*FILES, *BESIDES]) == []


def test_the_command_line_only_parses_calls_and_prints() -> None:
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in FILES if room_of(file) == "cli")
    assert lines <= COMMAND_LINE_LINES


def test_only_models_knows_torch() -> None:
    assert offenders(lambda file: room_of(file) == "models" or not HEAVY & set(imports(file))) == []


def test_only_the_command_line_reads_the_environment() -> None:
    def is_kept(file: Path) -> bool:
        reads = {"os.environ", "os.environb", "os.getenv", "os.putenv"} & set(attributes(file))
        return room_of(file) == "cli" or not reads or file == SETS_THREADS

    assert offenders(is_kept) == []


def test_no_random_number_is_drawn_from_a_global_generator() -> None:
    def is_kept(file: Path) -> bool:
        called = {ast.unparse(node.func) for node in nodes_of(file) if is_call(node)}
        drawn = {name for name in called if name.startswith(("random.", "np.random.", "numpy.random."))}
        used = {name for name in attributes(file) if name.startswith("random.")}
        is_source = file == PACKAGE / "state" / "randomness.py"
        return drawn <= ({"random.Random"} if is_source else set()) and used <= {"random.Random"}

    assert offenders(is_kept) == []


def test_no_graph_is_compiled_when_a_module_is_imported() -> None:
    def is_kept(file: Path) -> bool:
        called = {
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            for statement in ast.iter_child_nodes(nodes_of(file)[0])
            if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            for node in ast.walk(statement)
            if is_call(node)
        }
        is_built = any(name == "StateGraph" or name.startswith("build_") for name in called)
        return not is_built and not (room_of(file) == "graphs" and called)

    assert offenders(is_kept) == []


def test_importing_loads_nothing_heavy() -> None:
    """One after the other in one process: langgraph comes with what drives conversations, and torch with none."""
    light = ["models.rehearsal", "models.batching", "storage.store", "worlds.catalog", "nodes.mechanisms.registry"]
    light += ["viewer.documents.by_path", "views.reading.removal", "views.reading.what_if"]  # what a page shows at once
    code = "import importlib, sys\nfor name in sys.argv[1:]:\n    importlib.import_module(f'tertulia.{name}')\n"
    code += "    print(name, *{module.partition('.')[0] for module in sys.modules})"
    command = [sys.executable, "-c", code, *light, "cli.main", "runs.driving.conversation"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for name, *loaded in map(str.split, printed):
        graphs = set() if name == "runs.driving.conversation" else {"langgraph", "langchain_core"}
        assert not (HEAVY | graphs) & set(loaded), name
    assert len(printed) == len(light) + 2


#: Per thousand words of comments and docstrings, at most: sentences name the thing, and say who does it.
WORDS = {"what": 1.35, "where": 1.05, "who": 0.09, "stands": 0.045, "somebody": 0.1}


def comments_and_docstrings(file: Path) -> Iterator[str]:
    with file.open("rb") as opened:
        yield from (token.string for token in tokenize.tokenize(opened.readline) if token.type == tokenize.COMMENT)
    for node in nodes_of(file):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def test_comments_and_docstrings_are_plain() -> None:
    texts = (text for file in FILES for text in comments_and_docstrings(file))
    words = Counter(word for text in texts for word in re.findall(r"[a-z']+", text.lower()))
    rates = {word: 1000 * words[word] / words.total() for word in WORDS}
    assert {word: rate for word, rate in rates.items() if rate > WORDS[word]} == {}


def test_files_that_docstrings_name_are_there() -> None:
    named = re.compile(rf"`((?:{'|'.join(ROOMS)})/[\w/]+\.(?:py|yaml|md))`")
    missing = {
        (str(file.relative_to(ROOT)), name)
        for file in [*FILES, *(ROOT / "benchmarks").rglob("*.py")]
        for name in named.findall(file.read_text(encoding="utf-8"))
        if not (ROOT / name).exists() and not (PACKAGE / name).exists()
    }
    assert not missing
