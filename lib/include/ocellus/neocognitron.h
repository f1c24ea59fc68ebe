// Neocognitron: finds the characters of a frame and reads them.
//
// Source: Ikeda, Miyamoto, Ino, Hagihara, IPSJ Transactions 4(3), 2011, with the network of
// Fukushima, Neurocomputing 51, 2003; ocellus/neocognitron_model.h has the equations.
//
// A model says what the characters are. The library has the models "digits-small", which is fast,
// and "digits", which makes fewer mistakes, for ten handwritten digits. `ocellus train digits` and
// ocellus/neocognitron_training.h make others.
#pragma once

#include <array>
#include <cstdint>

#include "ocellus/frame.h"
#include "ocellus/neocognitron_model.h"
#include "ocellus/operator.h"
#include "ocellus/options.h"
#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

inline constexpr int kMaxCharacters = 512;      ///< of a frame
inline constexpr int kMaxFieldCharacters = 64;  ///< of a field, of a frame without fields; tiles
inline constexpr int kMaxTextFields = 64;       ///< of a frame; their text fits into an option

/// Where the characters of a frame are.
enum class CharacterLayout : std::uint8_t {
  kFind,   ///< anywhere in the frame, or in the fields: they are found
  kBoxes,  ///< each field is the box of one character
  kTiles,  ///< the frame is a grid of tiles, each an image of one character
};

/// Gray levels of the ink.
enum class CharacterInk : std::uint8_t {
  kAuto,   ///< decided for each frame, field or tile
  kDark,   ///< darker than the ground
  kLight,  ///< lighter than the ground
};

/// Rectangles of a frame, in the order in which they are read.
struct TextFields {
  int count = 0;
  std::array<Rect, kMaxTextFields> fields{};

  friend bool operator==(const TextFields& a, const TextFields& b) noexcept {
    return a.count == b.count && a.fields == b.fields;
  }
};

struct NeocognitronConfig {
  ImageSize size{};                          ///< 1x1 to 16384x16384, and at least a tile
  PixelFormat format = PixelFormat::kGray8;  ///< of the frames
  int depth = 1;                             ///< frames in flight, 1 to 8
  OperatorPriority priority = OperatorPriority::kNormal;  ///< among the operators of an engine
  /// The name of a model of the library, or the path of a model file.
  Text<kMaxOptionText> model{"digits-small"};
  CharacterLayout layout = CharacterLayout::kFind;
  /// kFind: fields with text; none: the whole frame. kBoxes: boxes of characters, at least one. All
  /// lie in the frame and have at least 8x8 pixels.
  TextFields fields{};
  /// kTiles: size of a tile, 8 to 1024 pixels. Whole tiles are read row after row, from the upper
  /// left corner of the frame on.
  int tile_width = 28;
  int tile_height = 28;
  CharacterInk ink = CharacterInk::kAuto;
  /// kFind, kBoxes: heights of characters in pixels, 0 to 16384. 0: the smallest is 1/48 of the
  /// shorter side of the field, at least 8; the largest is the height of the field.
  int min_height = 0;
  int max_height = 0;
  /// Characters of a frame that are read, 0 to kMaxCharacters. 0: kMaxFieldCharacters for each of
  /// the fields, in all at most kMaxCharacters. With kTiles, at most kMaxFieldCharacters. A frame
  /// with more of them says so. Each field may have its share, whatever is in the other ones.
  int max_characters = 0;
  /// Characters of less confidence are rejected, 0 to 1.
  float min_confidence = 0.5f;
  /// Cells of a C-layer that may be active, as a share of all, 0.01 to 1. It bounds the time of a
  /// character. Cells beyond it count as 0, and the character is marked.
  float max_active = 0.25f;

  /// All but size and format.
  static OptionTable options() noexcept;
};

/// What is true of a character. Bits of NeocognitronRecord::flags.
enum CharacterFlag : std::uint32_t {
  kCharacterRejected = 1u << 0,  ///< less confidence than NeocognitronConfig::min_confidence
  kCharacterCapped = 1u << 1,    ///< more active cells than NeocognitronConfig::max_active
  kCharacterEmpty = 1u << 2,     ///< kTiles: the tile has no ink
};

/// The characters of a frame: fields in their order, in each lines from top to bottom, in each
/// characters from left to right.
struct NeocognitronRecord {
  std::int32_t count = 0;  ///< characters, 0 to kMaxCharacters
  /// The frame has more characters than `max_characters`, or more ink than the lists hold.
  bool truncated = false;
  std::array<std::int32_t, kMaxCharacters> label{};  ///< class of the model; -1: empty tile
  std::array<float, kMaxCharacters> confidence{};    ///< 0 to 1
  std::array<float, kMaxCharacters> similarity{};    ///< of the class, 0 to 1
  /// Over the second class. Below 0: the model has learned what is no character, and that is more
  /// similar.
  std::array<float, kMaxCharacters> margin{};
  std::array<std::int32_t, kMaxCharacters> x{};       ///< left edge of the box in pixels
  std::array<std::int32_t, kMaxCharacters> y{};       ///< upper edge
  std::array<std::int32_t, kMaxCharacters> width{};   ///< pixels
  std::array<std::int32_t, kMaxCharacters> height{};  ///< pixels
  std::array<std::int32_t, kMaxCharacters> line{};    ///< line of its field
  std::array<std::int32_t, kMaxCharacters> field{};   ///< 0 without fields
  std::array<std::uint32_t, kMaxCharacters> flags{};  ///< CharacterFlag
};

/// A model in words and numbers.
struct CharacterModelInfo {
  int classes = 0;                                     ///< of characters
  bool has_other = false;                              ///< it has learned what is no character, too
  std::array<Text<32>, kMaxCharacterClasses> names{};  ///< of the classes
  std::array<int, kNeocognitronStages> planes{};       ///< of US1 to US4
  Text<256> note{};                                    ///< where the model comes from
};

/// Planes of the result: "scores", a row of floats for each of the characters that may be read, and
/// a column for each class of characters: the similarity to the class, 0 to 1. Rows behind the last
/// character are 0.
class Neocognitron : public Operator<Neocognitron, NeocognitronConfig, NeocognitronRecord> {
 public:
  /// Reads the model. Errors: InvalidArgument (empty name), IoError, CorruptFile.
  static Expected<CharacterModelInfo> read_model_info(const char* model) noexcept;
};

}  // namespace ocellus

#pragma GCC visibility pop
