// Black and white images and simple morphology on them, for comparison with the library of
// templates.
#pragma once

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/flow_files.h"
#include "support/plane.h"

namespace ocellus::test {

/// 1 is black.
using Bitmap = Plane<std::uint8_t>;
using Offsets = std::vector<std::pair<int, int>>;

inline const Offsets kSides = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
inline const Offsets kAround = {{1, 0},  {1, 1},   {0, 1},  {-1, 1},
                                {-1, 0}, {-1, -1}, {0, -1}, {1, -1}};

inline PlaneD gray_of(const Bitmap& bitmap) {
  PlaneD gray(bitmap.width, bitmap.height);
  for (std::size_t i = 0; i < gray.data.size(); ++i) gray.data[i] = bitmap.data[i] ? 0.0 : 255.0;
  return gray;
}

inline Bitmap bitmap_of(const PlaneD& gray) {
  Bitmap bitmap(gray.width, gray.height);
  for (std::size_t i = 0; i < gray.data.size(); ++i) bitmap.data[i] = gray.data[i] < 127.5;
  return bitmap;
}

/// A bitmap that is black where `black` returns true.
inline Bitmap each(const Bitmap& of, const std::function<bool(int x, int y)>& black) {
  Bitmap result(of.width, of.height);
  for (int y = 0; y < of.height; ++y) {
    for (int x = 0; x < of.width; ++x) result.at(x, y) = black(x, y);
  }
  return result;
}

inline bool inside(const Bitmap& bitmap, int x, int y) {
  return x >= 0 && x < bitmap.width && y >= 0 && y < bitmap.height;
}

/// The number of black neighbors. Cells outside the image count as `outside`.
inline int black_around(const Bitmap& bitmap, int x, int y, bool outside, const Offsets& offsets) {
  int count = 0;
  for (const auto& [dx, dy] : offsets)
    count += inside(bitmap, x + dx, y + dy) ? bitmap.at(x + dx, y + dy) : outside;
  return count;
}

/// Erosion: black where all cells of the element at this position are black. Cells outside the
/// image do not count.
inline Bitmap erode(const Bitmap& bitmap, const Offsets& element) {
  return each(bitmap, [&](int x, int y) {
    return std::all_of(element.begin(), element.end(), [&](const auto& d) {
      return !inside(bitmap, x + d.first, y + d.second) ||
             bitmap.at(x + d.first, y + d.second) != 0;
    });
  });
}

/// Dilation: every black cell is replaced by the element.
inline Bitmap dilate(const Bitmap& bitmap, const Offsets& element) {
  Bitmap result(bitmap.width, bitmap.height);
  for (int y = 0; y < bitmap.height; ++y) {
    for (int x = 0; x < bitmap.width; ++x) {
      for (const auto& [dx, dy] : element) {
        if (bitmap.at(x, y) && inside(bitmap, x + dx, y + dy)) result.at(x + dx, y + dy) = 1;
      }
    }
  }
  return result;
}

/// The cells of `value` that are connected to a seed by a path over `steps` within such cells.
inline Bitmap reached(const Bitmap& bitmap, const Bitmap& seeds, std::uint8_t value,
                      const Offsets& steps) {
  Bitmap result(bitmap.width, bitmap.height);
  std::vector<std::pair<int, int>> open;
  const auto enter = [&](int x, int y) {
    if (!inside(bitmap, x, y) || bitmap.at(x, y) != value || result.at(x, y)) return;
    result.at(x, y) = 1;
    open.emplace_back(x, y);
  };
  for (int y = 0; y < bitmap.height; ++y) {
    for (int x = 0; x < bitmap.width; ++x) {
      if (seeds.at(x, y)) enter(x, y);
    }
  }
  while (!open.empty()) {
    const auto [x, y] = open.back();
    open.pop_back();
    for (const auto& [dx, dy] : steps) enter(x + dx, y + dy);
  }
  return result;
}

/// The connected areas of one value, numbered from 1; 0 elsewhere.
struct Areas {
  Plane<int> number;
  int count = 0;

  Areas(const Bitmap& bitmap, std::uint8_t value, const Offsets& steps)
      : number(bitmap.width, bitmap.height) {
    std::vector<std::pair<int, int>> open;
    const auto enter = [&](int x, int y) {
      if (!inside(bitmap, x, y) || bitmap.at(x, y) != value || number.at(x, y) != 0) return false;
      number.at(x, y) = count + 1;
      open.emplace_back(x, y);
      return true;
    };
    for (int y = 0; y < bitmap.height; ++y) {
      for (int x = 0; x < bitmap.width; ++x) {
        if (!enter(x, y)) continue;
        while (!open.empty()) {
          const auto [from_x, from_y] = open.back();
          open.pop_back();
          for (const auto& [dx, dy] : steps) enter(from_x + dx, from_y + dy);
        }
        ++count;
      }
    }
  }
};

/// White cells that are connected to the outside by 4-neighbors.
inline Bitmap background(const Bitmap& bitmap) {
  const Bitmap border = each(bitmap, [&](int x, int y) {
    return x == 0 || y == 0 || x == bitmap.width - 1 || y == bitmap.height - 1;
  });
  return reached(bitmap, border, 0, kSides);
}

inline int cells(const Bitmap& bitmap) {
  return static_cast<int>(std::count(bitmap.data.begin(), bitmap.data.end(), 1));
}

inline std::string drawn(const Bitmap& bitmap) {
  std::string text = "\n";
  for (int y = 0; y < bitmap.height; ++y) {
    for (int x = 0; x < bitmap.width; ++x) text += bitmap.at(x, y) ? '#' : '.';
    text += '\n';
  }
  return text;
}

/// Boxes, discs, frames, single cells and noise, with objects at the borders, in odd sizes.
inline std::vector<Bitmap> drawn_images() {
  std::vector<Bitmap> images;
  std::mt19937 random(3);
  const auto below = [&random](int n) {
    return static_cast<int>(random() % static_cast<unsigned>(n));
  };
  const ImageSize sizes[] = {{41, 37}, {64, 20}, {33, 1},  {1, 29},
                             {1, 1},   {2, 2},   {17, 48}, {50, 50}};
  for (const ImageSize size : sizes) {
    for (int kind = 0; kind < 3; ++kind) {
      Bitmap image(size.width, size.height);
      for (int object = 0; object < 9; ++object) {
        const int cx = below(size.width);
        const int cy = below(size.height);
        const int rx = 1 + below(9);
        const int ry = 1 + below(9);
        for (int y = 0; y < size.height; ++y) {
          for (int x = 0; x < size.width; ++x) {
            const int dx = std::abs(x - cx);
            const int dy = std::abs(y - cy);
            const bool box = dx <= rx && dy <= ry;
            const bool disc = dx * dx + dy * dy <= rx * rx;
            const bool frame = box && (dx == rx || dy == ry);
            const bool ring = disc && dx * dx + dy * dy > (rx - 2) * (rx - 2);
            const bool drawn[] = {box, disc, frame, ring, dx + dy == 0};
            if (drawn[(object + kind) % 5]) image.at(x, y) = 1;
          }
        }
      }
      if (kind == 1) {
        for (auto& cell : image.data) cell ^= below(12) == 0;
      } else if (kind == 2) {
        for (auto& cell : image.data) cell = below(5) < 2;
      }
      images.push_back(image);
    }
  }
  images.emplace_back(23, 11, std::uint8_t{0});
  images.emplace_back(23, 11, std::uint8_t{1});
  return images;
}

/// 50 pieces of photographs, black where darker than their mean. Empty if the data is missing.
inline std::vector<Bitmap> real_images(const std::string& folder) {
  std::vector<Bitmap> images;
  const char* const names[] = {"images/camera.pgm", "images/coins.pgm"};
  for (const char* const name : names) {
    const auto photograph = read_pgm(folder + "/" + name);
    if (!photograph) return {};
    for (int piece = 0; piece < 25; ++piece) {
      const int width = 90 + piece / 5;
      const int height = 91 - 2 * (piece / 5);
      const int left = (photograph->width - width) * (piece % 5) / 4;
      const int top = (photograph->height - height) * (piece / 5) / 4;
      double mean = 0.0;
      PlaneD gray(width, height);
      for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
          gray.at(x, y) = photograph->at(left + x, top + y);
          mean += gray.at(x, y) / (width * height);
        }
      }
      images.push_back(
          each(Bitmap(width, height), [&](int x, int y) { return gray.at(x, y) < mean; }));
    }
  }
  return images;
}

}  // namespace ocellus::test
