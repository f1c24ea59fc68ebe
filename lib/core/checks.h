// Checks of configuration fields and of planes. Errors: InvalidArgument; the text names the field,
// its value and its range.
#pragma once

#include "ocellus/frame.h"
#include "ocellus/operator.h"
#include "ocellus/status.h"

namespace ocellus::detail {

using Check = Expected<void>;

/// "kGray8"
const char* format_name(PixelFormat format) noexcept;

Check check_range(const char* field, int value, int low, int high) noexcept;
/// Checks the fields `size`, `format`, `roi` and `depth`, which have the same meaning in every
/// configuration.
Check check_geometry(ImageSize size, PixelFormat format, const Rect& roi, int depth) noexcept;

/// Checks size, format, stride and alignment of a plane that is not null. `what`: in words, such as
/// "output plane". `frame`: the format of the frames.
Check check_plane(const char* what, const PlaneInfo& info, const ImageView& plane,
                  PixelFormat frame = PixelFormat::kGray8) noexcept;

/// Returns `roi`, or the whole image if `roi` is empty.
Rect whole_or(const Rect& roi, ImageSize size) noexcept;

}  // namespace ocellus::detail
