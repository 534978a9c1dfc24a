"""The binary interface of TensorRT 10.16 as src/surface/abi.tsv states it, for the tools that generate from it.

Kinds of rows (tab-separated: kind, class, index, name, type): `class` with its size and alignment; `base`; `field` in
order; `slot`, a virtual function that the class declares, in order; `inline`, a member that calls one of an
implementation's virtual functions; `symbol`, a function that the libraries export.
"""
import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "src/surface/abi.tsv"


@dataclass
class Function:
    name: str
    result: str
    parameters: list[str]
    const: bool
    noexcept: bool
    default: bool = False  # A slot with a body.
    calls: tuple[str, str] = ("", "")  # Of inline members: the data member, its function.

    @property
    def is_destructor(self) -> bool:
        return self.name.startswith("~")

    @property
    def signature(self) -> tuple:
        return self.name, tuple(self.parameters), self.const

    def pointer(self, scope: str) -> str:
        """The type of a pointer to it as a member of `scope`."""
        return f"{self.result} ({scope}::*)({', '.join(self.parameters)}){' const' * self.const}"


@dataclass
class Class:
    name: str
    size: int
    align: int
    bases: list[str] = field(default_factory=list)
    fields: list[tuple[str, str]] = field(default_factory=list)
    slots: list[Function] = field(default_factory=list)
    inlines: list[Function] = field(default_factory=list)

    @property
    def short(self) -> str:
        return self.name.split("::")[-1]

    @property
    def is_table(self) -> bool:
        return self.name.startswith("nvinfer1::apiv::")

    @property
    def implementation(self) -> tuple[str, str] | None:
        """The data member of a handle that points to its implementation, and that class."""
        for name, kind in self.fields:
            if kind.startswith("apiv::"):
                return name, "nvinfer1::" + kind.rstrip(" *")
        return None


@dataclass
class Table:
    classes: dict[str, Class]
    symbols: list[tuple[str, str, Function]]  # Name, name in the object file, type.

    def find(self, name: str) -> Class:
        """A class by its name, with or without its namespace; Dims is Dims64."""
        name = "nvinfer1::Dims64" if name == "nvinfer1::Dims" else name
        return self.classes.get(name) or self.classes["nvinfer1::" + name]

    def chain(self, cls: Class) -> list[Class]:
        """The class's bases, from the outermost to itself."""
        outer = [c for base in cls.bases for c in self.chain(self.find(base))]
        return outer + [cls]

    def virtual_table(self, cls: Class) -> list[tuple[Class, Function]]:
        """The contents of each place of the virtual table, after the Itanium rules for single inheritance: an overrider
        takes its base's place, anything else the next; a destructor has two, for complete and for deleted objects."""
        places: list[tuple[Class, Function]] = []
        for declared in self.chain(cls):
            for slot in declared.slots:
                key = "~" if slot.is_destructor else slot.signature
                same = [i for i, (_, f) in enumerate(places) if ("~" if f.is_destructor else f.signature) == key]
                for place in same:
                    places[place] = (declared, slot)
                if not same:
                    places += [(declared, slot)] * (2 if slot.is_destructor else 1)
        return places


def split_parameters(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text else []


SIGNATURE = re.compile(r"(?P<result>.*?) \((?P<parameters>.*)\)(?P<words>(?: (?:const|noexcept|override|has-default))*)"
                       r"(?: calls (?P<object>\w+)->(?P<callee>\w+))?$")


def function(name: str, text: str) -> Function:
    if name.startswith("~"):
        return Function(name, "", [], False, True)
    match = SIGNATURE.match(text)
    words = match["words"].split()
    return Function(name, match["result"], split_parameters(match["parameters"]), "const" in words, "noexcept" in words,
                    "has-default" in words, (match["object"] or "", match["callee"] or ""))


def read(path: Path = TABLE) -> Table:
    table = Table({}, [])
    for line in path.read_text().splitlines()[1:]:
        kind, cls, _, name, text = (line.split("\t") + [""])[:5]
        if kind == "class":
            table.classes[cls] = Class(cls, int(name.removeprefix("size ")), int(text.removeprefix("align ")))
        elif kind == "symbol":
            table.symbols.append((cls, name, function(cls, text)))
        elif kind == "base":
            table.classes[cls].bases.append(name)
        elif kind == "field":
            table.classes[cls].fields.append((name, text))
        elif kind == "slot":
            table.classes[cls].slots.append(function(name, text))
        elif kind == "inline":
            table.classes[cls].inlines.append(function(name, text))
    return table
