"""Every class, member, enumerator and function of TensorRT 10.16's Python module exists, with the kind that it has there."""
import inspect
from pathlib import Path

import pytest
import tensorrt as trt

ROWS = [line.split(": ", 1) if ": " in line else (line.rstrip(":"), "")
        for line in (Path(__file__).parent / "surface.txt").read_text().splitlines() if not line.startswith("#")]
CASES = [(*head.split(" ", 1), members.split()) for head, members in ROWS]
CLASSES = [(name, members) for kind, name, members in CASES if kind == "class"]

# Names that begin so are called; "error_code"s and the like are read. ParserError's members are all called.
VERBS = ("get_", "set_", "add_", "mark_", "unmark_", "create_", "build_", "deserialize_", "clear_", "register_",
         "deregister_", "refit_", "parse_", "load_", "reset_", "remove_", "report_", "supports_", "execute_", "infer_",
         "phase_", "step_", "allocate", "deallocate", "reallocate", "write", "read", "acquire_", "release_", "select_",
         "process_", "configure_", "attach_", "detach_", "declare_", "initialize", "terminate", "enqueue", "__",
         "on_shape")
# Names that begin so and are read all the same.
READ = {"enqueue_emits_profile"}


def found(name):
    item = trt
    for part in name.split("."):
        item = getattr(item, part)
    return item


@pytest.mark.parametrize("kind,name,members", CASES, ids=[f"{kind}-{name}" for kind, name, _ in CASES])
def test_is_there(kind, name, members):
    item = trt if name == "module" else found(name)
    missing = [member for member in members if not hasattr(item, member) and not is_instance_attribute(name, member)]
    assert not missing, f"{name} lacks {missing}"
    if kind == "class":
        assert inspect.isclass(item)
    if kind == "enum":
        assert set(members) <= set(item.__members__)
        for member in members:
            value = getattr(item, member)
            assert isinstance(value, item) and int(value) == value.value
            assert str(value) == f"{item.__name__}.{value.name}"
    if kind == "function":
        assert all(callable(getattr(trt, member)) for member in members)


def is_instance_attribute(name, member):
    """Classes that are Python's have some of their members in their objects only."""
    return name in ("ISymExpr", "KernelLaunchParams") and hasattr(found(name)(), member)


@pytest.mark.parametrize("name,members", CLASSES, ids=[name for name, _ in CLASSES])
def test_kinds(name, members):
    """Verbs are methods, and no method is hidden behind a property."""
    item = found(name)
    for member in members:
        if member.startswith(VERBS) and member not in READ and not is_instance_attribute(name, member):
            assert callable(getattr(item, member)), f"{name}.{member} is not a method"
            assert not isinstance(inspect.getattr_static(item, member), property), f"{name}.{member} is a property"


def test_counts():
    assert len(CLASSES) == 146
    assert sum(kind == "enum" for kind, _, _ in CASES) == 64  # 63 of the module, and ILogger.Severity
