"""The C interface against the C++ headers: every function of the classes that it offers, and every member of
their structs, is there under the same name.

Fails when a function or a member was added to C++ and forgotten in C.
"""

import os
import re
import unittest
from pathlib import Path

HEADER = Path(os.environ["OCELLUS_TEST_HEADER"])
C = HEADER.read_text()
C_FUNCTIONS = set(re.findall(r"\b(ocellus_\w+)\(", C))

#: class, header, prefix in C, and the functions whose names differ
CLASSES = (
    ("Engine", "engine.h", "engine", {}),
    ("OperatorHandle", "operator.h", "operator", {}),
    ("Operator", "operator.h", "operator", {"info_for": "probe"}),
    ("OperatorGroup", "operator_group.h", "group", {"engine": "get_engine_info"}),
    ("FrameMailbox", "frame_mailbox.h", "mailbox", {}),
)
#: struct, header, struct in C, and the members that C has in another form
STRUCTS = (
    ("EngineConfig", "engine.h", "ocellus_engine_config", {"zero_copy"}),  # an option
    ("Footprint", "memory.h", "ocellus_footprint", set()),
    ("MemoryUse", "memory.h", "ocellus_memory_use", set()),
    ("OperatorStats", "operator.h", "ocellus_stats", set()),
    ("Frame", "frame.h", "ocellus_frame", {"size", "space"}),  # width, height; memory
)


def body(header: str, kind: str, name: str) -> str:
    text = re.sub(r"//.*", "", (HEADER.parent / header).read_text())
    found = re.search(rf"^{kind} {name}(?: :[^{{]*)? {{\n(.*?)^}};", text, re.M | re.S)
    assert found, f"{header} has no {kind} {name}"
    return found.group(1).split("private:")[0]


def functions(header: str, name: str) -> set[str]:
    inside = re.sub(r"\n      +", " ", body(header, "class", name))
    declared = re.findall(r"^  (?:static )?[\w:<>&* ]*?[ >&*](\w+)\([^{;]*\)[^{;(]*[;{]", inside, re.M)
    return {one for one in declared if one != name and not one.startswith("operator")}


class CList(unittest.TestCase):
    def test_functions(self) -> None:
        for name, header, prefix, other in CLASSES:
            declared = functions(header, name)
            self.assertIn("create" if name != "OperatorHandle" else "wait", declared)
            for function in declared:
                c_name = other.get(function, function)
                names = {f"ocellus_{prefix}_{c_name}", f"ocellus_{prefix}_get_{c_name}"}
                self.assertTrue(names & C_FUNCTIONS, f"C has no {' or '.join(sorted(names))} for {name}::{function}")
            self.assertTrue(name == "Operator" or f"ocellus_{prefix}_destroy" in C_FUNCTIONS)
        for free in ("wait_any", "row_bytes", "status_name", "version"):
            self.assertIn(f"ocellus_{free}", C_FUNCTIONS)

    def test_members(self) -> None:
        for name, header, c_name, other in STRUCTS:
            inside = re.sub(r"\{[^}]*\}", "", body(header, "struct", name))
            declared = set(re.findall(r"^  (?! )[\w:<>, ]+[ *](\w+)(?: = [^;]*)?;", inside, re.M))
            self.assertGreater(len(declared), 2, name)
            found = re.search(rf"^typedef struct {c_name} {{\n(.*?)^}} {c_name};", C, re.M | re.S)
            assert found, c_name
            c_members = set(re.findall(r"[ *](\w+);", found.group(1)))
            self.assertEqual(declared - other - c_members, set(), f"{c_name} lacks members of {name}")


if __name__ == "__main__":
    unittest.main()
