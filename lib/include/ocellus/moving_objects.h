// MovingObjects: boxes around what moves in a flow field.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "ocellus/frame.h"
#include "ocellus/optical_flow.h"
#include "ocellus/options.h"
#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

struct MovingObject {
  Rect box{};      ///< in pixels of the flow planes
  float u = 0.0f;  ///< mean motion to the right, pixels per frame
  float v = 0.0f;  ///< mean motion down, pixels per frame
  /// Pixels of its cells and of those between two of them in a row, a multiple of those of a cell.
  std::int64_t area{};
};

/// Largest value of MovingObjectsConfig::max_objects.
inline constexpr int kMaxMovingObjects = 256;

struct MovingObjectsConfig {
  ImageSize size{};         ///< of the flow planes, 1x1 to 16384x16384
  float min_motion = 1.0f;  ///< pixels per frame, 0 or more: less is not motion
  /// 0 or more: motion below this multiple of its standard deviation is noise. It has an effect
  /// only if the field has the plane `deviation`.
  float min_deviations = 2.0f;
  /// Pixels, 0 to 2^28: smaller objects are left out. 0: those of 16 cells. Videos that a codec
  /// compressed have blocks that move on still ground; two or three of them have this area.
  int min_area = 0;
  int max_objects = 32;  ///< 1 to kMaxMovingObjects; the largest are kept

  /// The members min_area and max_objects by name, with their ranges. `min_motion` and
  /// `min_deviations` are those of OverlayConfig.
  static OptionTable options() noexcept;
};

/// Finds the objects of one field after the other. Not thread-safe. Only `create` allocates.
///
/// The field is sampled in the center of square cells, of which the shorter side of the image has
/// about 120, but none is smaller than 4 pixels. A cell moves if its vector is valid, at least
/// `min_motion` long, and at least `min_deviations` times its standard deviation. Two cells that
/// move belong to one object if they are at most two cells apart along each axis and their vectors
/// differ by at most half a pixel or half the longer one. The objects are the connected components
/// of this relation. A body without texture inside is found by its edge. The time of a field is
/// bounded, because the number of cells is.
class MovingObjects {
 public:
  /// Errors: InvalidArgument (the text names the member and its range), OutOfMemory.
  static Expected<MovingObjects> create(const MovingObjectsConfig& config) noexcept;

  MovingObjects(MovingObjects&&) noexcept;
  MovingObjects& operator=(MovingObjects&&) noexcept;
  ~MovingObjects();

  /// Returns the objects, the largest first, until the next call. The planes must have the
  /// configured size; those of another size have no objects.
  std::span<const MovingObject> find(const FlowOutput& flow) noexcept;
  /// Whether the last field moves at this pixel: whether its cell belongs to an object that is
  /// large enough. False outside the planes.
  bool moves_at(int x, int y) const noexcept;
  /// The number of objects of the last field, with those beyond `max_objects`.
  int found() const noexcept;
  /// Side of a cell in pixels.
  int cell() const noexcept;

 private:
  struct State;
  explicit MovingObjects(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace ocellus

#pragma GCC visibility pop
