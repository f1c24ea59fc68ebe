"""One call for one result: an operator is made for the images, used once and closed."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import CudaArray, array_of
from ._draw import Picture, picture_of
from ._library import invalid
from ._operator import Operator, Result


def apply(name: str, *images: ArrayLike, color: Optional[str] = None, **options: Any) -> Result:
    """The result of an operator for the last of some images of one size, such as two frames of a video.

    For a video, make an `Operator` and keep it: it does not allocate in a frame.

    name: one of `operators()`
    images: gray images of shape (height, width), or with `color` as an Operator takes them
    options: those of the operator, and the keywords of Operator: backend, workers, ...
    """
    arrays = [array_of("an image", image) for image in images]
    if not arrays or arrays[0].ndim < 2:
        raise invalid(f"{name}: give images of shape (height, width)")
    height, width = arrays[0].shape[:2]
    with Operator(name, (width, height), dtype=arrays[0].dtype, color=color, **options) as op:
        for array in arrays:
            result = op(array if isinstance(array, CudaArray) else np.ascontiguousarray(array))
        if op.info.class_names:
            result.text = op.text(result)
        if result._has_items and isinstance(array, np.ndarray):
            result._drawing = result.draw(array)
    return result


def flow(first: ArrayLike, second: ArrayLike, **options: Any) -> Result:
    """The motion from the first image to the second: planes `u` (to the right), `v` (down), `confidence`."""
    return apply("flow", first, second, **options)


def _picture(name: str, image: ArrayLike, options: dict[str, Any]) -> Picture:
    if array_of("the image", image).ndim == 3:
        options.setdefault("color", "rgb")
    return picture_of(apply(name, image, **options)[0], options.get("color"))


def restore(image: ArrayLike, **options: Any) -> Picture:
    """An image without its blur: restore(image, filter="lens.ocellus"). Of an image of shape (height, width, 3),
    in RGB or as `color` says, the luma is restored and the color kept."""
    return _picture("restore", image, options)


def halftone(image: ArrayLike, **options: Any) -> Picture:
    """An image of a few gray levels that looks like the given one: halftone(image, preset="gray16")."""
    return _picture("halftone", image, options)


def digits(image: ArrayLike, **options: Any) -> Result:
    """The digits in an image: `text` is what was read, and `record` has boxes and confidences."""
    return apply("digits", image, **options)
