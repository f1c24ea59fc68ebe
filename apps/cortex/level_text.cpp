#include "apps/cortex/level_text.h"

#include <fmt/format.h>

#include <cstdio>

#include "apps/common/input_error.h"
#include "apps/common/printable.h"

namespace ocellus::app {

CorticalLevel parse_level(const std::string& text) {
  CorticalLevel level;
  int end = 0;
  const int read =
      std::sscanf(text.c_str(), "%5dx%5d/%5dx%5d:%5d%n", &level.window_width, &level.window_height,
                  &level.stride_x, &level.stride_y, &level.minicolumns, &end);
  if (read != 5 || static_cast<std::size_t>(end) != text.size()) {
    throw InputError(fmt::format(
        "--levels: '{}' is not a level; it must be the window, the stride and the number of "
        "minicolumns, such as 12x12/2x2:256",
        printable(text)));
  }
  return level;
}

}  // namespace ocellus::app
