// TestScene: a synthetic image sequence with exactly known motion.
#pragma once

#include <array>
#include <string>

#include "apps/io/flow_file.h"
#include "apps/io/image_io.h"

namespace ocellus::app {

/// A smooth texture that an affine map moves from frame to frame: I(p, t) = T(M^-t (p - c)), where
/// c is the image's center. The texture is a sum of sinusoids, so it is defined everywhere. A point
/// at p lies at c + M (p - c) in the next frame, so the flow is the same in all frames.
class TestScene {
 public:
  enum class Motion { kTranslate, kAffine };

  /// Parses "test:", "test:640x480" or a full text such as
  /// "test:640x480@30,frames=60,motion=affine,u=1.2,v=-0.7,bits=16,seed=1". u and v are the motion
  /// of the image's center. Throws InputError that names the invalid part.
  static TestScene parse(const std::string& text);

  ImageSize size() const { return size_; }
  double fps() const { return fps_; }
  int frames() const { return frames_; }
  Motion motion() const { return motion_; }

  /// Brightness before rounding, on the scale of 8 bits, at any position and time.
  double brightness(double x, double y, double t) const;
  /// Motion from frame t to frame t+1 of the point at (x, y). It is the same for every t.
  void motion_at(double x, double y, double& u, double& v) const;
  /// The image at frame t, rounded to the scene's format.
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
  /// Maps a position in frame t to a position in the texture.
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
