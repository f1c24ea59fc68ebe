// DigitSequence: synthetic camera frames of lines of digits or of forms, as FRAMES of the program.
#pragma once

#include <string>

#include "apps/io/digit_scene.h"

namespace ocellus::app {

/// Whether FRAMES are "test:digits" or "test:form", with or without options.
bool is_digit_sequence(const std::string& input);

/// What "test:digits,..." or "test:form,..." says.
struct DigitSequenceConfig {
  DigitSceneConfig scene;
  bool form = false;  ///< forms with fields in place of one line of digits
  double fps = 30.0;
  int frames = 60;
  std::string sheet;  ///< image file of the digits; empty: they are drawn from strokes

  /// Parses "test:digits" or a full text such as
  /// "test:digits@30,size=640x480,frames=60,digits=8,ink=dark,sheet=digits.png,seed=1". A form has
  /// 1280x960 pixels, and no option `digits`. Throws InputError that names the invalid part.
  static DigitSequenceConfig parse(const std::string& text);
};

/// Reads images of digits from a sheet such as digits.png of OpenCV: tiles of 20x20 pixels, bright
/// on black, in ten bands of equally many rows for the digits 0 to 9. Throws InputError.
DigitImages read_digit_sheet(const std::string& path);

/// Frames that do not depend on one another, each with its own digits, light and position of the
/// camera.
class DigitSequence {
 public:
  /// Throws InputError if the sheet cannot be read.
  explicit DigitSequence(const DigitSequenceConfig& config);

  double fps() const { return config_.fps; }
  int frames() const { return config_.frames; }
  DigitScene frame(int number) const;

 private:
  DigitSequenceConfig config_;
  DigitImages digits_;
};

}  // namespace ocellus::app
