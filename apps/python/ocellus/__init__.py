"""Ocellus: real-time vision operators for cameras.

    flow = ocellus.Operator("flow", size=(640, 480), preset="fast")
    u, v, confidence = flow(frame)

    motion = ocellus.flow(first, second)  # once, without an operator to keep

`frame` is a gray image, a NumPy array of shape (480, 640). The options of an operator are keywords;
docs/options.md lists them. The package needs the shared library libocellus_c.so, see `library_path`.
"""

from ._draw import Picture
from ._library import (
    DeadlineMissed,
    Error,
    InvalidArgument,
    Status,
    __version__,
    library_path,
    library_version,
)
from ._once import apply, digits, flow, halftone, restore
from ._operator import (
    CancelOutcome,
    FieldInfo,
    FieldRole,
    FrameInfo,
    Operator,
    OperatorInfo,
    PlaneInfo,
    Result,
    Stats,
    Ticket,
    operators,
)
from ._program import identify, train_digits

__all__ = [
    "CancelOutcome",
    "DeadlineMissed",
    "Error",
    "FieldInfo",
    "FieldRole",
    "FrameInfo",
    "InvalidArgument",
    "Operator",
    "OperatorInfo",
    "Picture",
    "PlaneInfo",
    "Result",
    "Stats",
    "Status",
    "Ticket",
    "__version__",
    "apply",
    "digits",
    "flow",
    "halftone",
    "identify",
    "library_path",
    "library_version",
    "operators",
    "restore",
    "train_digits",
]
