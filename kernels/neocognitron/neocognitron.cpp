// Neocognitron on CUDA. With the layout tiles, all of a frame is on the device. With the other
// layouts, the host finds and draws the candidates and chooses the characters among them, in two
// functions between the kernels.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "core/failure.h"
#include "image/gray_rows.h"
#include "kernels/neocognitron/network_operator.h"
#include "neocognitron/backend.h"
#include "neocognitron/character_reader.h"

namespace ocellus::cuda {
namespace {

using detail::GrayPlane;
using detail::NeocognitronPlan;

static_assert(kImageSide == detail::InkImager::kSide);
static_assert(std::size(HostCandidates{}.images) == NeocognitronPlan::kMostCandidates);

// ---- layout tiles

class TileNeocognitron final : public NetworkOperator {
 public:
  explicit TileNeocognitron(const NeocognitronPlan& plan) noexcept
      : NetworkOperator(plan, std::min(plan.tile_count(), plan.max_characters)) {}

 private:
  void layout(LayoutBuilder& device) noexcept override {
    place_network(device);
    candidates_.scores =
        device.take<float>(candidate_count() * static_cast<std::size_t>(table().classes));
  }

  Expected<void> prepare(Scope& cuda) noexcept override {
    OCELLUS_TRY(load_kernel(cuda, tile_contrast_kernel(plan_.format), 0));
    OCELLUS_TRY(load_kernel(cuda, tile_record_kernel(), 0));
    OCELLUS_TRY(upload(cuda, present_, &candidates_.count, sizeof(int)));
    return load_network(cuda);
  }

  Expected<void> record(Scope& cuda, int slot, cudaStream_t stream) noexcept override {
    ContrastArguments contrast = contrast_arguments(slot);
    contrast.tile = plan_.tile;
    contrast.columns = plan_.tile_columns();
    contrast.ink = plan_.ink;
    OCELLUS_TRY(launch(cuda, stream, tile_contrast_kernel(plan_.format), contrast_grid(),
                       dim3(kContrastThreads), 0, contrast));
    OCELLUS_TRY(launch_layers(cuda, stream, nullptr));
    RecordArguments result{};
    result.frame = params(slot);
    result.state = state();
    result.outcome = outcome(slot);
    result.candidates = candidates_;
    result.class_count = table().classes;
    result.record = static_cast<NeocognitronRecord*>(record_of(slot));
    result.tile = plan_.tile;
    result.truncated = plan_.tile_count() > plan_.max_characters;
    result.columns = plan_.tile_columns();
    result.calibration = table().calibration;
    result.min_confidence = plan_.min_confidence;
    return launch(cuda, stream, tile_record_kernel(), dim3(kMaxCharacters), dim3(kRecordThreads), 0,
                  result, true);
  }
};

// ---- layouts find and boxes

class FindingNeocognitron final : public NetworkOperator {
 public:
  explicit FindingNeocognitron(const NeocognitronPlan& plan) noexcept
      : NetworkOperator(plan, plan.max_candidates()) {}

 private:
  /// What the functions of the host get.
  struct Context {
    FindingNeocognitron* self = nullptr;
    int slot = 0;
  };

  std::size_t row_bytes() const noexcept {
    return static_cast<std::size_t>(plan_.size.width) *
           static_cast<std::size_t>(bytes_per_pixel(plan_.format));
  }
  bool converts() const noexcept { return plan_.format != PixelFormat::kGray8; }

  void layout(LayoutBuilder& device) noexcept override {
    place_network(device);
    device_images_ = device.take<std::uint8_t>(candidate_count() * kImagePixels);
    device_sizes_ = device.take<CandidateImage>(candidate_count());
  }

  void layout_pinned(LayoutBuilder& pinned) noexcept override {
    const auto classes = static_cast<std::size_t>(table().classes);
    const auto height = static_cast<std::size_t>(plan_.size.height);
    host_ = pinned.take<HostCandidates>(1);
    images_ = pinned.take<std::uint8_t>(candidate_count() * kImagePixels);
    frame_ = pinned.take<std::uint8_t>(row_bytes() * height);
    gray_ = pinned.take<std::uint8_t>(
        converts() ? static_cast<std::size_t>(plan_.size.width) * height : 0);
    candidates_.scores = pinned.take<float>(candidate_count() * classes);
    complete_ = pinned.take<std::uint8_t>(candidate_count());
    rows_ = pinned.take<float>(kMaxCharacters * classes);
    reader_.layout(plan_, HostCalls::kWorkers, pinned);
  }

  Expected<void> prepare(Scope& cuda) noexcept override {
    OCELLUS_TRY(prepare_host_calls(cuda));
    OCELLUS_TRY(load_kernel(cuda, copy_frame_kernel(), 0));
    OCELLUS_TRY(load_kernel(cuda, fetch_kernel(), 0));
    OCELLUS_TRY(load_kernel(cuda, image_contrast_kernel(), 0));
    OCELLUS_TRY(load_kernel(cuda, row_kernel(), 0));
    return load_network(cuda);
  }

  Expected<void> record(Scope& cuda, int slot, cudaStream_t stream) noexcept override {
    Context& context = contexts_[static_cast<std::size_t>(slot)];
    context = {this, slot};
    OCELLUS_TRY(launch_copy(cuda, slot, stream));
    OCELLUS_TRY(launch_host(cuda, slot, stream, &FindingNeocognitron::find, &context));
    const FetchArguments fetch{.host = host_,
                               .from = images_,
                               .to = device_images_,
                               .images = device_sizes_,
                               .present = present_};
    if (Expected<void> done =
            launch(cuda, stream, fetch_kernel(), dim3(static_cast<unsigned>(candidates_.count)),
                   dim3(kCopyThreads), 0, fetch);
        !done)
      return done;
    ContrastArguments contrast = contrast_arguments(slot);
    contrast.images = device_images_;
    contrast.sizes = device_sizes_;
    OCELLUS_TRY(launch(cuda, stream, image_contrast_kernel(), contrast_grid(),
                       dim3(kContrastThreads), 0, contrast, true));
    OCELLUS_TRY(launch_layers(cuda, stream, complete_));
    if (Expected<void> done =
            launch_host(cuda, slot, stream, &FindingNeocognitron::finish, &context);
        !done)
      return done;
    RecordArguments result{};
    result.frame = params(slot);
    result.state = state();
    result.outcome = outcome(slot);
    result.class_count = table().classes;
    result.host = host_;
    result.rows = rows_;
    return launch(cuda, stream, row_kernel(), dim3(kMaxCharacters), dim3(kRecordThreads), 0,
                  result);
  }

  /// Copies a frame that only the device has.
  Expected<void> launch_copy(Scope& cuda, int slot, cudaStream_t stream) noexcept {
    const CopyFrameArguments copy{.frame = params(slot),
                                  .row_bytes = static_cast<int>(row_bytes()),
                                  .rows = plan_.size.height,
                                  .to = frame_};
    const int blocks = std::min(plan_.size.height, device_traits().multiprocessors);
    return launch(cuda, stream, copy_frame_kernel(), dim3(static_cast<unsigned>(blocks)),
                  dim3(kCopyThreads), 0, copy);
  }

  /// The frame in gray levels of 8 bits. False if a value is not finite.
  bool gray_plane(int slot, GrayPlane& plane) noexcept {
    Frame frame = host_frame(slot);
    if (frame.data == nullptr) {
      frame.data = frame_;
      frame.stride = static_cast<std::ptrdiff_t>(row_bytes());
    }
    plane = {static_cast<const std::uint8_t*>(frame.data), frame.stride, plan_.size};
    if (!converts()) return true;
    plane = {gray_, plan_.size.width, plan_.size};
    bool finite = true;
    for (int y = 0; y < plan_.size.height; ++y)
      finite = detail::write_gray_row(frame, y,
                                      gray_ + static_cast<std::ptrdiff_t>(y) * plan_.size.width) &&
               finite;
    return finite;
  }

  static void find(void* argument) noexcept {
    const Context& context = *static_cast<const Context*>(argument);
    context.self->find_candidates(context.slot);
  }
  static void finish(void* argument) noexcept {
    const Context& context = *static_cast<const Context*>(argument);
    FindingNeocognitron& self = *context.self;
    const ImageView rows = self.host_rows();
    if (self.host_->bad != 0) {
      self.reader_.clear_rows(rows);
      return;
    }
    auto& result = *static_cast<NeocognitronRecord*>(self.record_of(context.slot));
    self.reader_.finish(self.candidates_.scores, self.complete_, result, rows);
  }

  void find_candidates(int slot) noexcept {
    host_->present = 0;
    host_->bad = gray_plane(slot, plane_) ? 0 : 1;
    if (host_->bad != 0) return;
    using Self = FindingNeocognitron;
    share_on_host(reader_.halves(), &Self::run_part<&Self::measure>, this);
    for (int field = 0; field < reader_.fields(); ++field) reader_.set_levels(field);
    share_on_host(reader_.halves(), &Self::run_part<&Self::extract>, this);
    share_on_host(reader_.fields(), &Self::run_part<&Self::find_characters>, this);
    const int count = reader_.collect();
    share_on_host(count, &Self::run_part<&Self::draw>, this);
    host_->present = count;
  }

  template <void (FindingNeocognitron::*Step)(int, int) noexcept>
  static void run_part(void* self, int part, int worker) noexcept {
    (static_cast<FindingNeocognitron*>(self)->*Step)(part, worker);
  }
  void measure(int half, int) noexcept { reader_.measure(half, plane_); }
  void extract(int half, int) noexcept { reader_.extract(half, plane_); }
  void find_characters(int field, int) noexcept { reader_.find(field); }
  void draw(int candidate, int worker) noexcept {
    const detail::InkImage image = reader_.draw(candidate, plane_, worker);
    host_->images[candidate] = {image.width, image.height};
    std::memcpy(images_ + static_cast<std::size_t>(candidate) * kImagePixels, image.ink,
                static_cast<std::size_t>(image.height) * kImageSide);
  }

  /// The rows that the last kernel copies to the result.
  ImageView host_rows() const noexcept {
    ImageView rows;
    rows.data = rows_;
    rows.size = {table().classes, kMaxCharacters};
    rows.stride = static_cast<std::ptrdiff_t>(sizeof(float)) * table().classes;
    rows.format = PixelFormat::kFloat32;
    rows.space = MemorySpace::kPinned;
    return rows;
  }

  detail::CharacterReader reader_;
  GrayPlane plane_{};  ///< of the frame in which characters are found
  std::array<Context, kMaxDepth> contexts_{};
  // Pinned memory. Frames follow each other in a stream, so that one set is enough.
  HostCandidates* host_ = nullptr;
  std::uint8_t* images_ = nullptr;
  std::uint8_t* frame_ = nullptr;  ///< a frame that only the device had
  std::uint8_t* gray_ = nullptr;   ///< a frame of another format, converted
  std::uint8_t* complete_ = nullptr;
  float* rows_ = nullptr;
  // Device memory.
  std::uint8_t* device_images_ = nullptr;
  CandidateImage* device_sizes_ = nullptr;
};

}  // namespace
}  // namespace ocellus::cuda

namespace ocellus::detail {

std::unique_ptr<OperatorInstance> make_neocognitron_cuda(const NeocognitronPlan& plan) noexcept {
  if (plan.layout == CharacterLayout::kTiles)
    return std::unique_ptr<OperatorInstance>(new (std::nothrow) cuda::TileNeocognitron(plan));
  return std::unique_ptr<OperatorInstance>(new (std::nothrow) cuda::FindingNeocognitron(plan));
}

}  // namespace ocellus::detail
