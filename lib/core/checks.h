// Checks of a configuration's fields. Errors: InvalidArgument; the text names the field, its value
// and its range.
#pragma once

#include "ocellus/frame.h"
#include "ocellus/status.h"

namespace ocellus::detail {

using Check = Expected<void>;

Check check_range(const char* field, int value, int low, int high) noexcept;
Check check_positive(const char* field, float value, bool infinity_allowed = false) noexcept;
/// And finite.
Check check_not_negative(const char* field, float value) noexcept;
/// The fields `size`, `format`, `roi` and `depth`, which mean the same in every configuration.
Check check_geometry(ImageSize size, PixelFormat format, const Rect& roi, int depth) noexcept;

/// The rectangle, or all of the image when it is empty.
Rect whole_or(const Rect& roi, ImageSize size) noexcept;

}  // namespace ocellus::detail
