// Fuzz target: any bytes as a template file or as a kernel bank, processed up to frames. The
// lengths and checksums of the header are corrected where possible. The operator accepts what the
// reader has accepted, or refuses it with a text, and then computes. Sanitizers detect other
// faults.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "fuzz/memory_file.h"
#include "fuzz/model_bytes.h"
#include "fuzz/operators.h"
#include "halftone/template_file.h"
#include "ocellus/cell_templates.h"
#include "ocellus/kernel_taps.h"
#include "ocellus/ocellus.h"
#include "optical_flow/kernel_bank_file.h"

namespace {

using namespace ocellus;
using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kMostMemory = std::size_t{8} << 20;

template <typename Operator, typename View>
void run(Operator& op, const Frame& frame, const View& view) {
  const auto ticket = op.submit(frame, view);
  if (!ticket || !op.wait(*ticket, Deadline::never())) std::abort();
}

// ---- templates

void templates_to_frames(Bytes bytes) {
  if (!fuzz::mend_header(bytes, detail::kCellTemplateKind, false)) return;
  const fuzz::MemoryFile file(bytes.data(), bytes.size());
  CellularNetworkConfig config;
  const auto info = read_cell_template_file(file.path().c_str(), config.stages);
  if (!info) {
    fuzz::check(info.error());
    return;
  }
  config.size = {19, 13};
  config.stage_count = info->stages;
  // The check sees all numbers of sweeps and passes; a run uses few.
  config.max_sweeps = 40;
  auto made = fuzz::make<CellularNetwork>(config, 1, kMostMemory);
  if (!made) return;
  Bytes pixels(19 * 13);
  Bytes out(pixels.size());
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = bytes[i % bytes.size()];
  Frame frame;
  frame.data = pixels.data();
  frame.size = config.size;
  frame.stride = 19;
  OperatorOutput view;
  view.planes[0] = {out.data(), config.size, 19, PixelFormat::kGray8, MemorySpace::kHost, nullptr};
  run(made->op, frame, view);
  made->op.reset();
  run(made->op, frame, view);
}

// ---- kernel banks

std::vector<float> frame_of(const Bytes& bytes, std::size_t area, int number) {
  std::vector<float> pixels(area);
  for (std::size_t i = 0; i < area; ++i) {
    const std::uint8_t value = bytes[(7 * i + static_cast<std::size_t>(number)) % bytes.size()];
    pixels[i] = value == 255   ? std::numeric_limits<float>::quiet_NaN()
                : value == 254 ? 1e14f
                               : static_cast<float>(value);
  }
  return pixels;
}

template <typename Operator, typename Config>
void kernels_to_frames(const Config& config, const Bytes& bytes, const OperatorOutput& view) {
  auto made = fuzz::make<Operator>(config, 1, kMostMemory);
  if (!made) return;
  for (int f = 0; f < 3; ++f) {
    const std::vector<float> pixels = frame_of(
        bytes,
        static_cast<std::size_t>(config.size.width) * static_cast<std::size_t>(config.size.height),
        f);
    Frame frame;
    frame.data = pixels.data();
    frame.size = config.size;
    frame.stride = config.size.width * 4;
    frame.format = config.format;
    run(made->op, frame, view);
  }
}

void bank_to_frames(Bytes bytes) {
  if (!fuzz::mend_header(bytes, detail::kKernelBankKind, true)) return;
  const auto header =
      detail::parse_model_header(detail::kKernelBankKind, bytes.data(), bytes.size(), bytes.size());
  if (!header) return;
  // Most random floats are far out of range, so taps are reduced.
  for (std::size_t at = header->arrays_at; at + 4 <= bytes.size(); at += 4) {
    float tap = 0.0f;
    std::memcpy(&tap, bytes.data() + at, 4);
    constexpr float kLargest = detail::kMaxFileTap;
    if (!(std::fabs(tap) <= kLargest)) std::memcpy(bytes.data() + at, &kLargest, 4);
  }
  fuzz::mend_header(bytes, detail::kKernelBankKind, true);
  const fuzz::MemoryFile file(bytes.data(), bytes.size());
  const std::string path = file.path();
  const auto info = read_kernel_file_info(path.c_str());
  if (!info) {
    fuzz::check(info.error());
    return;
  }
  const ImageSize size = info->kernels.form != KernelForm::kUniform ? info->size : ImageSize{17, 9};
  constexpr std::size_t kMostPixels = 4096;
  const std::size_t area =
      static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
  if (area > kMostPixels) return;
  std::vector<float> out(kMaxConvolutions * area);
  for (const CoefficientStorage storage : {CoefficientStorage::kFloat, CoefficientStorage::kHalf}) {
    SpatioTemporalFilterConfig filter;
    filter.kernels = info->kernels;
    if (!filter.kernels.path.assign(path)) std::abort();
    filter.size = size;
    filter.format = PixelFormat::kFloat32;
    filter.storage = storage;
    OperatorOutput planes;
    for (std::size_t c = 0; c < static_cast<std::size_t>(filter.kernels.convolutions); ++c)
      planes.planes[c] = {out.data() + c * area,
                          size,
                          size.width * static_cast<std::ptrdiff_t>(sizeof(float)),
                          PixelFormat::kFloat32,
                          MemorySpace::kHost,
                          nullptr};
    kernels_to_frames<SpatioTemporalFilter>(filter, bytes, planes);
    if (filter.kernels.convolutions != 3) continue;
    OpticalFlowConfig flow = OpticalFlowConfig::with_kernels(size);
    flow.kernels = filter.kernels;
    flow.format = filter.format;
    flow.storage = storage;
    flow.window = 3;
    kernels_to_frames<OpticalFlow>(flow, bytes, planes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The kind's name is at byte 8 of both kinds of files.
  constexpr std::size_t kLeast = 64;
  constexpr std::size_t kMost = std::size_t{1} << 16;
  if (size < kLeast || size > kMost) return 0;
  const Bytes bytes(data, data + size);
  if (std::memcmp(data + 8, detail::kKernelBankKind.id, 7) == 0)
    bank_to_frames(bytes);
  else
    templates_to_frames(bytes);
  return 0;
}
