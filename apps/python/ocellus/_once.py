"""One call for one result: an operator is made for the images, used once and closed."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._library import invalid
from ._operator import Operator, Result


def apply(name: str, *images: ArrayLike, color: Optional[str] = None, **options: Any) -> Result:
    """The result of an operator for the last of some images of one size, such as two frames of a video.

    For a video, make an `Operator` and keep it: it does not allocate in a frame.

    name: one of `operators()`
    images: gray images of shape (height, width), or with `color` as an Operator takes them
    options: those of the operator, and the keywords of Operator: backend, workers, ...
    """
    arrays = [np.asarray(image) for image in images]
    if not arrays or arrays[0].ndim < 2:
        raise invalid(f"{name}: give images of shape (height, width)")
    height, width = arrays[0].shape[:2]
    with Operator(name, (width, height), dtype=arrays[0].dtype, color=color, **options) as op:
        for array in arrays:
            result = op(np.ascontiguousarray(array))
        result.text = op.text(result)
    return result


def flow(first: ArrayLike, second: ArrayLike, **options: Any) -> Result:
    """The motion from the first image to the second: planes `u` (to the right), `v` (down), `confidence`."""
    return apply("flow", first, second, **options)


def _picture(name: str, image: ArrayLike, options: dict[str, Any]) -> NDArray[Any]:
    array = np.asarray(image)
    if array.ndim == 3:
        options.setdefault("color", "rgb")
    return apply(name, array, **options)[0]


def restore(image: ArrayLike, **options: Any) -> NDArray[Any]:
    """An image without its blur: restore(image, filter="lens.ocellus"). Of an image of shape (height, width, 3),
    in RGB or as `color` says, the luma is restored and the color kept."""
    return _picture("restore", image, options)


def halftone(image: ArrayLike, **options: Any) -> NDArray[Any]:
    """An image of a few gray levels that looks like the given one: halftone(image, preset="gray16")."""
    return _picture("halftone", image, options)


def digits(image: ArrayLike, **options: Any) -> Result:
    """The digits in an image: `text` is what was read, and `record` has boxes and confidences."""
    return apply("digits", image, **options)
