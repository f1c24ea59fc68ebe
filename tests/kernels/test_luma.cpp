// The kernels that take luma out of frames with color and put it into pictures, and the memory that
// such frames and pictures pass through. The kernels run on the host, so no test needs a GPU.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "conformance/conformance.h"
#include "kernels/core/luma.h"
#include "kernels/fake_driver.h"
#include "kernels/host_work.h"
#include "ocellus/buffer.h"
#include "support/color_frame.h"

namespace ocellus::test {
namespace {

constexpr std::uint8_t kGuard = 0xA5;

/// Gray values in rows that begin at multiples of a word, between guard values.
struct GrayRows {
  explicit GrayRows(ImageSize size)
      : stride((size.width + 3) / 4 * 4 + 4),
        bytes(static_cast<std::size_t>(stride) * static_cast<std::size_t>(size.height), kGuard) {}

  std::uint8_t* row(int y) { return bytes.data() + stride * y; }

  std::ptrdiff_t stride;
  std::vector<std::uint8_t> bytes;
};

template <typename Argument>
void run_kernel(cuda::Kernel<Argument> kernel, ImageSize size, int rows_of_blocks,
                Argument argument) {
  void* arguments[] = {&argument};
  const int along = (size.width + cuda::kLumaThreads * cuda::kLumaPixels - 1) /
                    (cuda::kLumaThreads * cuda::kLumaPixels);
  const auto work =
      host_work({reinterpret_cast<const void*>(kernel), static_cast<unsigned>(along),
                 static_cast<unsigned>(rows_of_blocks), 1, cuda::kLumaThreads, 0, arguments});
  ASSERT_TRUE(work);
  work();
}

class LumaKernels : public testing::TestWithParam<PixelFormat> {};
INSTANTIATE_TEST_SUITE_P(Formats, LumaKernels, testing::ValuesIn(kColors),
                         [](const auto& made) { return std::string(name_of(made.param)); });

// Fails when a kernel gives another byte than the plain loop, where rows are aligned to words and
// where not, at the end of a row, with fewer blocks than rows, or when it writes beside its pixels.
TEST_P(LumaKernels, MatchThePlainLoop) {
  const PixelFormat format = GetParam();
  for (const ImageSize size : {ImageSize{1, 1}, {2, 3}, {37, 23}, {64, 5}, {517, 3}}) {
    for (const int padding : {0, 1, 4}) {
      SCOPED_TRACE(std::to_string(size.width) + " padding " + std::to_string(padding));
      const ColorFrame color(size, format, 7, padding);
      const FrameBuffer wanted = color.gray();
      GrayRows gray(size);
      cuda::FrameParams frame{};
      frame.color = color.row(0);
      frame.color_stride = color.stride();
      run_kernel(
          cuda::kLumaKernel, size, 2,
          cuda::LumaArguments{&frame, gray.row(0), gray.stride, format, size.width, size.height});
      for (int y = 0; y < size.height; ++y) {
        for (int x = 0; x < size.width; ++x) ASSERT_EQ(gray.row(y)[x], wanted.value(x, y));
        ASSERT_EQ(gray.row(y)[gray.stride - 1], kGuard) << "behind the word of row " << y;
      }
      PlaneF luma(size.width, size.height);
      for (int y = 0; y < size.height; ++y) {
        for (int x = 0; x < size.width; ++x) {
          gray.row(y)[x] = static_cast<std::uint8_t>(31 * x + 7 * y);
          luma.at(x, y) = static_cast<float>(gray.row(y)[x]);
        }
      }
      for (const PictureColor kept : {PictureColor::kKept, PictureColor::kNeutral}) {
        for (const bool in_place : {false, true}) {
          ColorFrame picture(size, format, in_place ? 7 : 8, in_place ? padding : padding + 3);
          const std::vector<std::uint8_t> expected = picture_bytes(picture, color, luma, kept);
          frame.color = in_place ? picture.row(0) : color.row(0);
          frame.picture = picture.row(0);
          frame.picture_stride = picture.stride();
          frame.out[0] = gray.row(0);
          frame.out_stride[0] = gray.stride;
          run_kernel(cuda::kPutLumaKernel, size, 2,
                     cuda::PutLumaArguments{&frame, format, kept, size.width, size.height});
          ASSERT_EQ(picture.bytes(), expected) << "in place " << in_place;
        }
      }
      // A caller that wants the gray plane.
      frame.picture = nullptr;
      run_kernel(
          cuda::kPutLumaKernel, size, 1,
          cuda::PutLumaArguments{&frame, format, PictureColor::kKept, size.width, size.height});
    }
  }
}

/// A halftone of frames in RGB that keeps their color, and memory for a frame and a picture.
struct ColorOnDevice : testing::Test {
  static constexpr ImageSize kSize{37, 23};
  static constexpr std::size_t kBytes = 3 * 37 * 23;

  static OperatorConfig config() {
    OperatorConfig made(*find_operator("halftone"));
    made.set_input(kSize, PixelFormat::kRgb);
    must(made.set_option("chroma", "keep"));
    return made;
  }
  static Engine engine(ZeroCopy zero_copy) {
    EngineConfig settings = engine_config(1, BackendChoice::kCuda);
    settings.zero_copy = zero_copy;
    for (const MemorySpace space : {MemorySpace::kHost, MemorySpace::kPinned, MemorySpace::kCuda}) {
      settings.memory += Buffer::footprint(space, kBytes);
      settings.memory += Buffer::footprint(space, kBytes);
    }
    return must(create_engine(settings, {config()}));
  }
  static std::vector<std::uint8_t> process(OperatorHandle& op, Buffer& in, Buffer& out) {
    Frame frame;
    frame.data = in.data();
    frame.size = kSize;
    frame.stride = row_bytes(PixelFormat::kRgb, kSize.width);
    frame.format = PixelFormat::kRgb;
    frame.space = in.space();
    OperatorOutput output;
    output.planes[0] = {out.data(), kSize, frame.stride, PixelFormat::kRgb, out.space(), nullptr};
    const Ticket ticket = must(op.submit(frame, output));
    must(op.wait(ticket, Deadline::never()));
    counted = fake_driver().bytes_to_device;
    counted_back = fake_driver().bytes_to_host;
    std::vector<std::uint8_t> got(kBytes);
    must(out.read(0, got.data(), got.size()));
    return got;
  }
  static inline std::size_t counted = 0;       ///< bytes from the host
  static inline std::size_t counted_back = 0;  ///< bytes to the host
};

// Fails when a picture with color differs for one of the kinds of memory of frame and picture, or
// when a byte of a frame and a picture in device memory crosses to the host or back. The parameters
// of a frame are sent only when they change.
// Promises: GST-005.
TEST_F(ColorOnDevice, EveryKindOfMemoryAndNoByteCrosses) {
  const ColorFrame color(kSize, PixelFormat::kRgb, 3);
  const std::vector<std::uint8_t> bytes = color.bytes();
  OperatorConfig gray(*find_operator("halftone"));
  gray.set_input(kSize, PixelFormat::kGray8);
  const Results luma = run(gray, {color.gray()}, 1, 1, BackendChoice::kCpu);
  const std::vector<std::uint8_t> expected =
      picture_bytes(color, color, luma.planes[0][0], PictureColor::kKept);
  for (const ZeroCopy zero_copy : {ZeroCopy::kOff, ZeroCopy::kOn}) {
    Engine made = engine(zero_copy);
    OperatorHandle op = must(config().create(made));
    for (const MemorySpace in : {MemorySpace::kHost, MemorySpace::kPinned, MemorySpace::kCuda}) {
      for (const MemorySpace out : {MemorySpace::kHost, MemorySpace::kPinned, MemorySpace::kCuda}) {
        SCOPED_TRACE(std::to_string(static_cast<int>(in)) + " to " +
                     std::to_string(static_cast<int>(out)));
        Buffer frame = must(Buffer::create(made, in, kBytes));
        Buffer picture = must(Buffer::create(made, out, kBytes));
        must(frame.write(0, bytes.data(), bytes.size()));
        for (int f = 0; f < 3; ++f) {
          fake_driver().bytes_to_device = fake_driver().bytes_to_host = 0;
          EXPECT_EQ(process(op, frame, picture), expected) << "frame " << f;
          if (in != MemorySpace::kCuda || out != MemorySpace::kCuda) continue;
          EXPECT_EQ(counted_back, 0U);
          EXPECT_EQ(counted, f == 0 ? sizeof(cuda::FrameParams) : 0U);
        }
        // The picture replaces the frame.
        EXPECT_EQ(process(op, frame, frame), expected);
      }
    }
  }
}

}  // namespace
}  // namespace ocellus::test
