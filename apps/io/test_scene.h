// TestScene: a synthetic image sequence whose motion is known exactly.
#pragma once

#include <array>
#include <string>

#include "apps/io/flow_file.h"
#include "apps/io/image_io.h"

namespace ocellus::app {

/// A smooth texture (a sum of sinusoids, so that it is defined everywhere) that an affine map moves
/// from frame to frame: I(p, t) = T(M^-t (p - c)), c the image's center. A point at p lies at c + M
/// (p - c) in the next frame, so the flow is the same in all frames.
class TestScene {
 public:
  enum class Motion { kTranslate, kAffine };

  /// "test:", "test:640x480",
  /// "test:640x480@30,frames=60,motion=affine|translate,u=1.2,v=-0.7,bits=8|16,seed=1". u and v
  /// move the image's center. Throws InputError that names the part it does not understand.
  static TestScene parse(const std::string& text);

  ImageSize size() const { return size_; }
  double fps() const { return fps_; }
  int frames() const { return frames_; }
  Motion motion() const { return motion_; }

  /// Brightness before rounding, in the range of 8 bits, at any place and moment.
  double brightness(double x, double y, double t) const;
  /// Motion from frame t to frame t+1 of what is at (x, y), the same for every t.
  void motion_at(double x, double y, double& u, double& v) const;
  /// The image at frame t, rounded to its format.
  GrayImage frame(int t) const;
  FlowField truth() const;

 private:
  struct Affine {
    double a = 1.0, b = 0.0, c = 0.0;  // x' = a x + b y + c
    double d = 0.0, e = 1.0, f = 0.0;  // y' = d x + e y + f
  };
  struct Wave {
    double kx = 0.0, ky = 0.0, phase = 0.0, amplitude = 0.0;
  };
  static constexpr int kWaves = 40;

  TestScene() = default;
  void make_texture();
  /// From a place in frame t to the place in the texture.
  Affine to_texture(double t) const;

  ImageSize size_{640, 480};
  double fps_ = 30.0;
  int frames_ = 60;
  Motion motion_ = Motion::kAffine;
  PixelFormat format_ = PixelFormat::kGray8;
  unsigned seed_ = 1;
  double u_ = 0.6;
  double v_ = -0.35;
  double rotation_ = 0.0;  // radians per frame
  double zoom_ = 1.0;      // per frame
  std::array<Wave, kWaves> waves_{};
};

}  // namespace ocellus::app
