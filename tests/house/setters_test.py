"""The tables of setters and getters that tests walk are those of the header."""
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Not layers of parsed networks: no ILayer, or made through calls of their own.
OTHERS = {"ILayer", "ITensor", "INetworkDefinition", "IBuilderConfig", "IBuilder", "IIfConditional", "ILoop", "IAttention"}


def setters_of_header() -> set[tuple[str, str]]:
    text = re.sub(r"//.*", "", (ROOT / "include/NvInfer.h").read_text())
    found = set()
    for name, body in re.findall(r"class (I\w+)\s*:\s*public \w+\s*\{(.*?)\n\};", text, re.S):
        for setter, operands in re.findall(r"^  (?:[A-Z_]+ )?(?:virtual )?\w+ set(\w+)\(([^)]*)\)", body, re.M):
            if name not in OTHERS and "," not in operands and "ITensor&" not in operands:
                found.add((name, setter))
    return found


def getters_of_header() -> set[tuple[str, str]]:
    text = re.sub(r"//.*", "", (ROOT / "include/NvInfer.h").read_text())
    found, layers = set(), {"ILayer"}
    for name, base, body in re.findall(r"class (I\w+)\s*:\s*public (\w+)\s*\{(.*?)\n\};", text, re.S):
        if base not in layers:
            continue
        layers.add(name)
        for getter in re.findall(r"\b((?:get|is)\w+)\(\)(?: const)? noexcept;", body):
            found.add((name, getter))
    return found


# Implemented by applications.
THEIRS = {"IPluginV2", "IPluginCreator", "IPluginV3OneRuntime"}


def all_setters() -> set[tuple[str, str]]:
    """Of every public header."""
    found = set()
    for header in sorted(ROOT.glob("include/*.h")):
        text = re.sub(r"//.*", "", header.read_text())
        for name, body in re.findall(r"class (I\w+)\s*(?::[^{]*)?\{(.*?)\n\};", text, re.S):
            found |= {(name, setter) for setter in re.findall(r"^  (?:[A-Z_]+ )?(?:virtual )?[\w:]+[ *&]+set(\w+)\(", body, re.M)}
    return {row for row in found if row[0] not in THEIRS}


class Setters(unittest.TestCase):
    def test_every_setter_of_the_surface_is_in_a_table(self):
        of_layers = set(re.findall(r"^TENON_SETTER\((\w+), (\w+)\)$", (ROOT / "tests/onnx/setters/setters.def").read_text(), re.M))
        numbers = re.findall(r"^TENON_BUILDER_SETTING\((\w+),", (ROOT / "src/api/builder_settings.def").read_text(), re.M)
        rows = set(re.findall(r"^TENON_GIVEN\((?:\w+::)?(\w+), (\w+),", (ROOT / "tests/api/calls/setters.def").read_text(), re.M))
        self.assertGreater(len(rows), 80)
        listed = rows | of_layers | {("IBuilderConfig", name) for name in numbers}
        self.assertEqual(all_setters() - listed, set())
        self.assertEqual(rows - all_setters(), set())

    def test_every_getter_of_a_layer_is_in_the_table(self):
        table = (ROOT / "tests/onnx/getters/getters.def").read_text()
        rows = set(re.findall(r"^TENON_GETTER\((\w+), (\w+)\)$", table, re.M))
        self.assertGreater(len(rows), 100)
        self.assertEqual(rows, getters_of_header())

    def test_every_setter_of_a_layer_is_in_the_table(self):
        table = (ROOT / "tests/onnx/setters/setters.def").read_text()
        rows = set(re.findall(r"^TENON_SETTER\((\w+), (\w+)\)$", table, re.M))
        self.assertGreater(len(rows), 100)
        self.assertEqual(rows, setters_of_header())


if __name__ == "__main__":
    sys.exit(unittest.main())
