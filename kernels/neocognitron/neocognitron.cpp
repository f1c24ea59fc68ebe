// Neocognitron on CUDA. With the layouts tiles and find, all of a frame is on the device. With the
// layout boxes, the host draws the candidates, in a function between the kernels, and writes the
// record in another one.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "core/failure.h"
#include "image/gray_rows.h"
#include "kernels/core/cuda_operator.h"
#include "kernels/neocognitron/kernels.h"
#include "neocognitron/character_reader.h"
#include "neocognitron/cpu/layers.h"
#include "neocognitron/references.h"

namespace ocellus::cuda {
namespace {

using detail::CharacterFinder;
using detail::CharacterReader;
using detail::GrayPlane;
using detail::NeocognitronPlan;

using detail::kMaxWindowTaps;
using detail::padded_planes;
using detail::squared;

static_assert(std::size(HostCandidates{}.images) == NeocognitronPlan::kMostCandidates);

/// Candidates that go through the network together. A frame with more of them, such as a form, has
/// several batches, one after the other in the same memory.
constexpr int kBatchCandidates = 2 * kMaxFieldCharacters;

/// Blocks of candidates that run side by side. UG has few blocks for a candidate, so that more of
/// its candidates do.
constexpr unsigned kCandidateBlocks = 16;
constexpr unsigned kContrastCandidates = 32;

constexpr int kOctet = 8;  // planes

// ---- the network

/// The layers of a neocognitron from UG to UC4 on the device, for all candidates of a batch
/// together.
class NetworkOperator : public CudaOperator {
 protected:
  NetworkOperator(const detail::NeocognitronPlan& plan, int candidates) noexcept
      : CudaOperator(detail::info_of(plan)), plan_(plan) {
    candidates_.count = candidates;
    const NeocognitronParameters& parameters = table().parameters;
    contrast_window_ = detail::contrast_window(parameters);
    for (std::size_t i = 0; i < kStages; ++i)
      simple_windows_[i] = detail::simple_window(parameters, static_cast<int>(i));
    for (std::size_t i = 0; i < complex_windows_.size(); ++i)
      complex_windows_[i] = detail::complex_window(parameters, static_cast<int>(i));
  }

  void place_network(LayoutBuilder& device) noexcept {
    const std::size_t count = candidate_count();
    candidates_.simple_stride = 0;
    candidates_.cell_stride = 0;
    for (std::size_t i = 0; i < kStages; ++i) {
      const std::size_t positions = squared(simple_windows_[i].sides.out);
      candidates_.simple_stride =
          std::max(candidates_.simple_stride, positions * static_cast<std::size_t>(stride(i)));
      simple_taps_[i] = device.take<WindowTap>(kMaxWindowTaps);
      weights_[i] = device.take<std::uint16_t>(rows(i) * static_cast<std::size_t>(stride(i)));
      if (i == complex_windows_.size()) continue;
      complex_taps_[i] = device.take<WindowTap>(kMaxWindowTaps);
      candidates_.cell_stride =
          std::max(candidates_.cell_stride, squared(complex_windows_[i].sides.out) *
                                                static_cast<std::size_t>(table().planes[i]));
    }
    contrast_taps_ = device.take<WindowTap>(kMaxWindowTaps);
    LayoutBuilder references(nullptr, kDeviceAlignment);
    references_.layout(table(), references);
    reference_arrays_ = device.take<char>(references.bytes());
    classes_ = device.take<DeviceClass>(static_cast<std::size_t>(table().classes));

    candidates_.present = present_ = device.take<int>(1);
    candidates_.progress = device.take<unsigned long long>(count);
    candidates_.capped = device.take<int>(count);
    candidates_.contrast = device.take<float>(count * kContrastCells);
    candidates_.simple = device.take<float>(count * candidates_.simple_stride);
    candidates_.any = device.take<std::uint8_t>(count * kMostPositions);
    candidates_.cells = device.take<ActiveCell>(count * candidates_.cell_stride);
    candidates_.counts = device.take<int>(count * kMostPositions);
    candidates_.energies = device.take<float>(count * kMostPositions);
  }

  /// Loads the kernels and reads the model. Errors: those of ModelArrays::read_arrays, OutOfMemory,
  /// those of CUDA.
  Expected<void> load_network(Scope& cuda) noexcept {
    OCELLUS_TRY(load_kernels(cuda));
    const auto upload_taps = [&](WindowTap* to, const detail::CellWindow& window) {
      return upload(cuda, to, window.tap.data(),
                    static_cast<std::size_t>(window.taps) * sizeof(WindowTap));
    };
    OCELLUS_TRY(upload_taps(contrast_taps_, contrast_window_));
    for (std::size_t i = 0; i < complex_windows_.size(); ++i)
      OCELLUS_TRY(upload_taps(complex_taps_[i], complex_windows_[i]));
    detail::ModelArrays arrays;
    OCELLUS_TRY(arrays.read_arrays(plan_.model));
    for (std::size_t i = 0; i < kStages; ++i) {
      OCELLUS_TRY(upload_taps(simple_taps_[i], simple_windows_[i]));
      OCELLUS_TRY(load_weights(cuda, i, arrays.weights(static_cast<int>(i))));
    }
    return load_references(cuda, arrays.weights(3));
  }

  /// What the first kernel of a batch needs, apart from the images.
  ContrastArguments contrast_arguments(int slot) const noexcept {
    ContrastArguments a{};
    a.frame = params(slot);
    a.state = state();
    a.candidates = candidates_;
    a.deslant = table().normalization.deslant;
    a.extent = table().normalization.extent;
    a.taps = contrast_taps_;
    a.tap_count = contrast_window_.taps;
    a.first = contrast_window_.first;
    a.threshold = table().parameters.contrast_threshold;
    a.capacity = detail::active_capacity(table(), 0, plan_.max_active);
    return a;
  }

  dim3 contrast_grid() const noexcept { return grid(kContrastBlocks, kContrastCandidates); }

  /// Launches the layers behind UG. `scores` and `complete` are those of the batch. `complete`: 1
  /// for each candidate that kept to the capacities; may be null.
  Expected<void> launch_layers(Scope& cuda, cudaStream_t stream, float* scores,
                               std::uint8_t* complete) noexcept {
    for (std::size_t i = 0; i < kStages; ++i) {
      const SimpleArguments simple = simple_arguments(i);
      const auto positions = static_cast<unsigned>(squared(simple.side_out));
      if (i + 1 == kStages) {
        dim3 blocks = grid(positions);
        blocks.z = block_count(simple.octets, simple.block_octets);
        OCELLUS_TRY(launch(cuda, stream, kReferenceKernel, blocks, dim3(kReferenceThreads), 0,
                           simple, true));
        break;
      }
      OCELLUS_TRY(launch_simple(cuda, stream, i, simple));
      const ComplexArguments complex = complex_arguments(i);
      const unsigned blocks =
          block_count(complex.side_out * complex.side_out, kComplexBlockPositions);
      OCELLUS_TRY(launch(cuda, stream, complex_kernel(complex.planes), grid(blocks),
                         dim3(kComplexThreads), 0, complex, true));
    }
    CandidateArrays candidates = candidates_;
    candidates.scores = scores;
    const ReadoutArguments readout{
        .candidates = candidates,
        .classes = classes_,
        .class_count = table().classes,
        .positions = static_cast<int>(squared(simple_windows_[3].sides.out)),
        .stride = stride(3),
        .complete = complete};
    return launch(cuda, stream, kReadoutKernel, grid(static_cast<unsigned>(table().classes)),
                  dim3(kReadoutThreads), 0, readout, true);
  }

  const detail::NeocognitronTable& table() const noexcept { return plan_.model.table; }
  std::size_t candidate_count() const noexcept {
    return static_cast<std::size_t>(candidates_.count);
  }

  detail::NeocognitronPlan plan_;
  CandidateArrays candidates_{};
  int* present_ = nullptr;  ///< CandidateArrays::present

 private:
  static constexpr std::size_t kStages = kNeocognitronStages;

  dim3 grid(unsigned blocks, unsigned candidates = kCandidateBlocks) const noexcept {
    return dim3(blocks, std::min(static_cast<unsigned>(candidates_.count), candidates));
  }

  int stride(std::size_t stage) const noexcept { return padded_planes(table().planes[stage]); }

  std::size_t rows(std::size_t stage) const noexcept {
    return static_cast<std::size_t>(simple_windows_[stage].taps) *
           static_cast<std::size_t>(detail::planes_below(table(), static_cast<int>(stage)));
  }

  Expected<void> load_kernels(Scope& cuda) noexcept {
    OCELLUS_TRY(load_kernel(cuda, kEdgeKernel, 0));
    OCELLUS_TRY(load_kernel(cuda, kNarrowKernel, 0));
    OCELLUS_TRY(load_kernel(cuda, kSimpleKernel, 0));
    OCELLUS_TRY(load_kernel(cuda, kReferenceKernel, 0));
    for (std::size_t i = 0; i < complex_windows_.size(); ++i)
      OCELLUS_TRY(load_kernel(cuda, complex_kernel(table().planes[i]), 0));
    return load_kernel(cuda, kReadoutKernel, 0);
  }

  Expected<void> load_weights(Scope& cuda, std::size_t stage,
                              const std::uint16_t* weights) noexcept {
    const auto planes = static_cast<std::size_t>(table().planes[stage]);
    const auto padded = static_cast<std::size_t>(stride(stage));
    const std::size_t count = rows(stage) * padded;
    const std::unique_ptr<std::uint16_t[]> values(new (std::nothrow) std::uint16_t[count]);
    if (!values) return detail::no_memory_for_operator();
    for (std::size_t row = 0; row < rows(stage); ++row) {
      std::uint16_t* const to = values.get() + row * padded;
      std::copy_n(weights + row * planes, planes, to);
      std::fill_n(to + planes, padded - planes, std::uint16_t{0});
    }
    return upload(cuda, weights_[stage], values.get(), count * sizeof(std::uint16_t));
  }

  Expected<void> load_references(Scope& cuda, const std::uint16_t* weights) noexcept {
    LayoutBuilder counting(nullptr, kDeviceAlignment);
    references_.layout(table(), counting);
    const std::unique_ptr<char, void (*)(void*)> arrays(
        static_cast<char*>(std::aligned_alloc(
            kDeviceAlignment, detail::align_up(counting.bytes(), kDeviceAlignment))),
        std::free);
    const std::unique_ptr<DeviceClass[]> classes(
        new (std::nothrow) DeviceClass[static_cast<std::size_t>(table().classes)]);
    if (!arrays || !classes) return detail::no_memory_for_operator();
    LayoutBuilder placing(arrays.get(), kDeviceAlignment);
    references_.layout(table(), placing);
    if (!references_.prepare(table(), weights)) return detail::no_memory_for_operator();
    const auto on_device = [&](const float* array) {
      return reinterpret_cast<const float*>(reference_arrays_ +
                                            (reinterpret_cast<const char*>(array) - arrays.get()));
    };
    for (int c = 0; c < references_.count(); ++c) {
      const detail::ClassReferences& own = references_.references(c);
      classes[static_cast<std::size_t>(c)] = {on_device(own.products),
                                              on_device(own.scales),
                                              on_device(own.smallest),
                                              own.count,
                                              own.stride,
                                              references_.first(c)};
    }
    OCELLUS_TRY(upload(cuda, reference_arrays_, arrays.get(), counting.bytes()));
    return upload(cuda, classes_, classes.get(),
                  static_cast<std::size_t>(table().classes) * sizeof(DeviceClass));
  }

  SimpleArguments simple_arguments(std::size_t stage) const noexcept {
    const detail::CellWindow& window = simple_windows_[stage];
    const int octets = stride(stage) / kOctet;
    return {.candidates = candidates_,
            .taps = simple_taps_[stage],
            .tap_count = window.taps,
            .side_in = window.sides.in,
            .side_out = window.sides.out,
            .first = window.first,
            .in_planes = detail::planes_below(table(), static_cast<int>(stage)),
            .weights = weights_[stage],
            .octets = octets,
            .block_octets = std::min(octets, kReferenceOctets),
            .threshold = table().parameters.stages[stage].threshold,
            .bias = 1.0f / table().parameters.gain};
  }

  Expected<void> launch_simple(Scope& cuda, cudaStream_t stream, std::size_t stage,
                               const SimpleArguments& simple) noexcept {
    const int positions = simple.side_out * simple.side_out;
    if (stage == 0) {
      return launch(cuda, stream, kEdgeKernel, grid(block_count(positions, kEdgeBlockPositions)),
                    dim3(kEdgeThreads), 0, simple, true);
    }
    if (simple.octets <= kNarrowOctets) {
      return launch(cuda, stream, kNarrowKernel,
                    grid(block_count(positions, kNarrowBlockPositions)), dim3(kNarrowThreads), 0,
                    simple, true);
    }
    return launch(cuda, stream, kSimpleKernel, grid(static_cast<unsigned>(positions)),
                  dim3(kSimpleThreads), 0, simple, true);
  }

  ComplexArguments complex_arguments(std::size_t stage) const noexcept {
    const detail::CellWindow& window = complex_windows_[stage];
    const auto taps = window.all();
    const auto center =
        std::find_if(taps.begin(), taps.end(), [](const WindowTap& tap) { return tap.weight < 0; });
    return {.candidates = candidates_,
            .taps = complex_taps_[stage],
            .center_taps = static_cast<int>(center - taps.begin()),
            .tap_count = window.taps,
            .side_in = window.sides.in,
            .side_out = window.sides.out,
            .first = window.first,
            .planes = table().planes[stage],
            .stride = stride(stage),
            .capacity =
                detail::active_capacity(table(), static_cast<int>(stage) + 1, plan_.max_active)};
  }

  detail::CellWindow contrast_window_;
  std::array<detail::CellWindow, kStages> simple_windows_;
  std::array<detail::CellWindow, kStages - 1> complex_windows_;
  detail::ReferenceClasses references_;
  // On the device.
  WindowTap* contrast_taps_ = nullptr;
  std::array<WindowTap*, kStages> simple_taps_{};
  std::array<WindowTap*, kStages - 1> complex_taps_{};
  std::array<std::uint16_t*, kStages> weights_{};
  char* reference_arrays_ = nullptr;
  DeviceClass* classes_ = nullptr;
};

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
    OCELLUS_TRY(load_kernel(cuda, kTileRecordKernel, 0));
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
    OCELLUS_TRY(launch_layers(cuda, stream, candidates_.scores, nullptr));
    RecordArguments result{};
    result.frame = params(slot);
    result.state = state();
    result.outcome = outcome(slot);
    result.candidates = candidates_;
    result.class_count = table().classes;
    result.characters = table().characters();
    result.record = static_cast<NeocognitronRecord*>(record_of(slot));
    result.tile = plan_.tile;
    result.truncated = plan_.tile_count() > plan_.max_characters;
    result.columns = plan_.tile_columns();
    result.calibration = table().calibration;
    result.min_confidence = plan_.min_confidence;
    return launch(cuda, stream, kTileRecordKernel,
                  dim3(static_cast<unsigned>(plan_.max_characters)), dim3(kRecordThreads), 0,
                  result, true);
  }
};

// ---- layouts find and boxes

/// Recognizes images of candidates.
class ImageNeocognitron : public NetworkOperator {
 protected:
  explicit ImageNeocognitron(const NeocognitronPlan& plan) noexcept
      : NetworkOperator(plan, std::min(plan.max_candidates(), kBatchCandidates)) {}

  void layout(LayoutBuilder& device) noexcept override {
    place_network(device);
    device_images_ = device.take<std::uint8_t>(candidate_count() * kImagePixels);
    device_sizes_ = device.take<CandidateImage>(candidate_count());
  }

  /// Places what the network says of all candidates, in device memory or pinned memory.
  void place_scores(LayoutBuilder& memory) noexcept {
    const auto candidates = static_cast<std::size_t>(plan_.max_candidates());
    scores_ = memory.take<float>(candidates * static_cast<std::size_t>(table().classes));
    complete_ = memory.take<std::uint8_t>(candidates);
  }

  Expected<void> prepare(Scope& cuda) noexcept override {
    OCELLUS_TRY(load_kernel(cuda, kImageContrastKernel, 0));
    return load_network(cuda);
  }

  /// Launches the kernel that brings the images of the candidates from `first` on, at most `count`,
  /// to `device_images_`, with their sizes and their number.
  virtual Expected<void> launch_images(Scope& cuda, int slot, cudaStream_t stream, int first,
                                       int count) noexcept = 0;

  /// Recognizes all candidates. A batch without candidates has nothing to do.
  Expected<void> launch_batches(Scope& cuda, int slot, cudaStream_t stream) noexcept {
    for (int first = 0; first < plan_.max_candidates(); first += candidates_.count) {
      OCELLUS_TRY(launch_images(cuda, slot, stream, first,
                                std::min(candidates_.count, plan_.max_candidates() - first)));
      ContrastArguments contrast = contrast_arguments(slot);
      contrast.images = device_images_;
      contrast.sizes = device_sizes_;
      OCELLUS_TRY(launch(cuda, stream, kImageContrastKernel, contrast_grid(),
                         dim3(kContrastThreads), 0, contrast, true));
      const auto at = static_cast<std::size_t>(first);
      OCELLUS_TRY(launch_layers(
          cuda, stream, scores_ + at * static_cast<std::size_t>(table().classes), complete_ + at));
    }
    return {};
  }

  /// What the last kernel needs.
  RecordArguments record_arguments(int slot) const noexcept {
    RecordArguments a{};
    a.frame = params(slot);
    a.state = state();
    a.outcome = outcome(slot);
    a.class_count = table().classes;
    a.characters = table().characters();
    return a;
  }

  bool converts() const noexcept { return plan_.format != PixelFormat::kGray8; }
  std::size_t pixels() const noexcept {
    return static_cast<std::size_t>(plan_.size.width) * static_cast<std::size_t>(plan_.size.height);
  }

  float* scores_ = nullptr;
  std::uint8_t* complete_ = nullptr;
  // Device memory.
  std::uint8_t* device_images_ = nullptr;
  CandidateImage* device_sizes_ = nullptr;
};

// ---- layout find

/// All of a frame is on the device.
class FindingNeocognitron final : public ImageNeocognitron {
 public:
  explicit FindingNeocognitron(const NeocognitronPlan& plan) noexcept : ImageNeocognitron(plan) {}

 private:
  void layout(LayoutBuilder& device) noexcept override {
    ImageNeocognitron::layout(device);
    place_scores(device);
    sizes_ = device.take<CharacterSize>(table().known_sizes().size());
    gray_ = device.take<std::uint8_t>(pixels());
    device_fields_ = device.take<InkField>(field_count());
    auto* const counts = device.take<detail::CandidateCounts>(field_count());
    row_count_ = 0;
    words_ = 0;
    for (std::size_t i = 0; i < field_count(); ++i) {
      const Rect& rect = plan_.fields.fields[i];
      InkField& field = fields_[i];
      field = {};
      field.x = rect.x;
      field.y = rect.y;
      const detail::CharacterFinderConfig config = CharacterReader::finder_config(plan_, i);
      field.grid = CharacterFinder::grid_of(config);
      const std::size_t blocks = static_cast<std::size_t>(field.grid.columns()) *
                                 static_cast<std::size_t>(field.grid.rows());
      const auto rows = static_cast<std::size_t>(rect.height);
      const auto words = block_count(rect.width, kMaskBits);
      field.blocks = device.take<InkBlock>(blocks);
      field.windows = device.take<detail::InkWindow>(blocks);
      field.votes = device.take<unsigned long long>(1);
      field.background = device.take<std::int16_t>(blocks);
      field.threshold = device.take<std::int16_t>(blocks);
      field.noise = device.take<std::int16_t>(blocks);
      field.masks = device.take<std::uint32_t>(words * rows);
      field.row_runs = device.take<int>(rows);
      field.run_count = device.take<int>(1);
      field.ink = CharacterFinder::layout_ink(config, device);
      field.parts = CharacterFinder::layout_parts(config, field.ink, device);
      field.part_counts = device.take<detail::PartCounts>(1);
      field.counts = counts == nullptr ? nullptr : counts + i;
      field.lattice.layout(field.ink.run_capacity, config.split_touching, device);
      row_count_ += static_cast<unsigned>(field.grid.rows());
      words_ = std::max(words_, static_cast<int>(words));
    }
    rows_of_blocks_ = device.take<InkRow>(row_count_);
    for (detail::SplitArrays& split : splits_) split.layout(device);
    device_splits_ = device.take<detail::SplitArrays>(splits_.size());
  }

  Expected<void> prepare(Scope& cuda) noexcept override {
    OCELLUS_TRY(load_kernel(cuda, gray_kernel(plan_.format), 0));
    for (const Kernel<InkArguments> kernel : {kBlockKernel, kWindowKernel, kMaskKernel, kRunKernel})
      OCELLUS_TRY(load_kernel(cuda, kernel, 0));
    OCELLUS_TRY(load_kernel(cuda, kInkGroupKernel, search_bytes()));
    OCELLUS_TRY(load_kernel(cuda, kInkCutKernel, split_bytes()));
    OCELLUS_TRY(load_kernel(cuda, kInkCandidateKernel, entry_bytes()));
    OCELLUS_TRY(load_kernel(cuda, kDrawKernel, draw_bytes(words_)));
    const std::unique_ptr<InkRow[]> rows(new (std::nothrow) InkRow[row_count_]);
    if (!rows) return detail::no_memory_for_operator();
    InkRow* next = rows.get();
    for (std::size_t i = 0; i < field_count(); ++i) {
      for (int row = 0; row < fields_[i].grid.rows(); ++row) *next++ = {static_cast<int>(i), row};
    }
    OCELLUS_TRY(upload(cuda, rows_of_blocks_, rows.get(), row_count_ * sizeof(InkRow)));
    OCELLUS_TRY(upload(cuda, device_splits_, splits_.data(), sizeof(splits_)));
    OCELLUS_TRY(upload(cuda, device_fields_, fields_.data(), field_count() * sizeof(InkField)));
    const auto sizes = table().known_sizes();
    OCELLUS_TRY(upload(cuda, sizes_, sizes.data(), sizes.size_bytes()));
    OCELLUS_TRY(load_kernel(cuda, kChoiceKernel, 0));
    return ImageNeocognitron::prepare(cuda);
  }

  InkArguments ink_arguments(int slot) const noexcept {
    return {.frame = params(slot),
            .state = state(),
            .fields = device_fields_,
            .field_count = plan_.fields.count,
            .splits = split_bytes() > 0 ? nullptr : device_splits_,
            .rows = rows_of_blocks_,
            .ink = plan_.ink,
            .size = plan_.size,
            .gray = gray_,
            .near_runs = near_runs()};
  }

  // Beside the memory that depends on the launch.
  static constexpr std::size_t kOwnSharedBytes = 1024;
  bool fits_shared(std::size_t bytes) const noexcept {
    return bytes + kOwnSharedBytes <=
           static_cast<std::size_t>(device_traits().shared_bytes_per_block);
  }
  /// InkArguments::near_runs.
  int near_runs() const noexcept {
    for (const int runs : kNearRuns)
      if (fits_shared(bytes_of_search(runs))) return runs;
    return 0;
  }
  static std::size_t bytes_of_search(int near_runs) noexcept {
    detail::InkArrays ink{};
    detail::PartArrays parts{};
    return layout_search(near_runs, nullptr, ink, parts);
  }
  std::size_t search_bytes() const noexcept { return bytes_of_search(near_runs()); }
  /// Of the memory of a splitter; 0: it is not in shared memory.
  std::size_t split_bytes() const noexcept {
    const std::size_t bytes = shared_split_bytes();
    return fits_shared(bytes) ? bytes : 0;
  }

  Expected<void> record(Scope& cuda, int slot, cudaStream_t stream) noexcept override {
    OCELLUS_TRY(launch_search(cuda, slot, stream));
    OCELLUS_TRY(launch_batches(cuda, slot, stream));
    RecordArguments a = record_arguments(slot);
    a.record = static_cast<NeocognitronRecord*>(record_of(slot));
    a.calibration = table().calibration;
    a.min_confidence = plan_.min_confidence;
    a.ink = ink_arguments(slot);
    a.most = plan_.max_candidates();
    a.max_characters = plan_.max_characters;
    a.scores = scores_;
    a.complete = complete_;
    a.odds = table().odds;
    a.sizes = sizes_;
    a.size_count = static_cast<int>(table().known_sizes().size());
    return launch(cuda, stream, kChoiceKernel, dim3(1), dim3(kChoiceThreads), 0, a, true);
  }

  /// Finds the candidates.
  Expected<void> launch_search(Scope& cuda, int slot, cudaStream_t stream) noexcept {
    const InkArguments ink = ink_arguments(slot);
    const int rows = std::min(plan_.size.height, 4 * device_traits().multiprocessors);
    OCELLUS_TRY(launch(cuda, stream, gray_kernel(plan_.format), dim3(static_cast<unsigned>(rows)),
                       dim3(kGrayThreads), 0, ink));
    const dim3 blocks(row_count_);
    for (const Kernel<InkArguments> kernel : {kBlockKernel, kWindowKernel, kMaskKernel, kRunKernel})
      OCELLUS_TRY(launch(cuda, stream, kernel, blocks, dim3(kInkThreads), 0, ink, true));
    const dim3 threads(kInkGroupThreads);
    const dim3 of_fields(static_cast<unsigned>(field_count()));
    OCELLUS_TRY(
        launch(cuda, stream, kInkGroupKernel, of_fields, threads, search_bytes(), ink, true));
    OCELLUS_TRY(launch(cuda, stream, kInkCutKernel, dim3(kInkCutBlocks), threads, split_bytes(),
                       ink, true));
    return launch(cuda, stream, kInkCandidateKernel, of_fields, threads, entry_bytes(), ink, true);
  }

  Expected<void> launch_images(Scope& cuda, int slot, cudaStream_t stream, int first,
                               int count) noexcept override {
    const DrawArguments draw{.ink = ink_arguments(slot),
                             .most = plan_.max_candidates(),
                             .first = first,
                             .count = count,
                             .words = words_,
                             .to = device_images_,
                             .images = device_sizes_,
                             .present = present_};
    return launch(cuda, stream, kDrawKernel, dim3(kDrawStrips, static_cast<unsigned>(count)),
                  dim3(kDrawThreads), draw_bytes(words_), draw, true);
  }

  std::size_t field_count() const noexcept { return static_cast<std::size_t>(plan_.fields.count); }

  std::array<InkField, kMaxTextFields> fields_{};
  std::array<detail::SplitArrays, kInkCutBlocks> splits_{};
  unsigned row_count_ = 0;  ///< rows of blocks of all fields
  int words_ = 0;           ///< DrawArguments::words
  // Device memory.
  CharacterSize* sizes_ = nullptr;
  InkField* device_fields_ = nullptr;
  InkRow* rows_of_blocks_ = nullptr;
  detail::SplitArrays* device_splits_ = nullptr;
  std::uint8_t* gray_ = nullptr;
};

// ---- layout boxes

/// Two functions of the host run between the kernels of a frame: before the network, the one that
/// draws the ink in boxes, for which the host gets the frame, and behind it, the one that writes
/// the record.
class BoxNeocognitron final : public ImageNeocognitron {
 public:
  explicit BoxNeocognitron(const NeocognitronPlan& plan) noexcept : ImageNeocognitron(plan) {}

 private:
  std::size_t row_bytes() const noexcept {
    return static_cast<std::size_t>(plan_.size.width) *
           static_cast<std::size_t>(bytes_per_pixel(plan_.format));
  }

  void layout_pinned(LayoutBuilder& pinned) noexcept override {
    place_scores(pinned);
    host_ = pinned.take<HostCandidates>(1);
    rows_ = pinned.take<float>(static_cast<std::size_t>(plan_.max_characters) *
                               static_cast<std::size_t>(table().characters()));
    reader_.layout(plan_, HostCalls::kWorkers, pinned);
    const auto candidates = static_cast<std::size_t>(plan_.max_candidates());
    images_ = pinned.take<std::uint8_t>(candidates * kImagePixels);
    frame_ = pinned.take<std::uint8_t>(row_bytes() * static_cast<std::size_t>(plan_.size.height));
    gray_ = pinned.take<std::uint8_t>(converts() ? pixels() : 0);
  }

  Expected<void> prepare(Scope& cuda) noexcept override {
    OCELLUS_TRY(prepare_host_calls(cuda));
    OCELLUS_TRY(load_kernel(cuda, kCopyFrameKernel, 0));
    OCELLUS_TRY(load_kernel(cuda, kFetchKernel, 0));
    OCELLUS_TRY(load_kernel(cuda, kRowKernel, 0));
    return ImageNeocognitron::prepare(cuda);
  }

  Expected<void> record(Scope& cuda, int slot, cudaStream_t stream) noexcept override {
    Context& context = contexts_[static_cast<std::size_t>(slot)];
    context = {this, slot};
    // Copies a frame that only the device has.
    const CopyFrameArguments copy{.frame = params(slot),
                                  .row_bytes = static_cast<int>(row_bytes()),
                                  .rows = plan_.size.height,
                                  .to = frame_};
    const int blocks = std::min(plan_.size.height, device_traits().multiprocessors);
    OCELLUS_TRY(launch(cuda, stream, kCopyFrameKernel, dim3(static_cast<unsigned>(blocks)),
                       dim3(kCopyThreads), 0, copy));
    OCELLUS_TRY(launch_host(cuda, slot, stream, &BoxNeocognitron::find, &context));
    OCELLUS_TRY(launch_batches(cuda, slot, stream));
    OCELLUS_TRY(launch_host(cuda, slot, stream, &BoxNeocognitron::finish, &context));
    RecordArguments result = record_arguments(slot);
    result.host = host_;
    result.rows = rows_;
    return launch(cuda, stream, kRowKernel, dim3(static_cast<unsigned>(plan_.max_characters)),
                  dim3(kRecordThreads), 0, result);
  }

  Expected<void> launch_images(Scope& cuda, int, cudaStream_t stream, int first,
                               int count) noexcept override {
    const FetchArguments fetch{.host = host_,
                               .first = first,
                               .count = count,
                               .from = images_,
                               .to = device_images_,
                               .images = device_sizes_,
                               .present = present_};
    return launch(cuda, stream, kFetchKernel, dim3(static_cast<unsigned>(count)),
                  dim3(kCopyThreads), 0, fetch);
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

  /// What the functions of the host get.
  struct Context {
    BoxNeocognitron* self = nullptr;
    int slot = 0;
  };

  static void find(void* argument) noexcept {
    const Context& context = *static_cast<const Context*>(argument);
    context.self->find_candidates(context.slot);
  }
  static void finish(void* argument) noexcept {
    const Context& context = *static_cast<const Context*>(argument);
    BoxNeocognitron& self = *context.self;
    const ImageView rows = self.host_rows();
    if (self.host_->bad != 0) {
      self.reader_.clear_rows(rows);
      return;
    }
    auto& result = *static_cast<NeocognitronRecord*>(self.record_of(context.slot));
    self.reader_.finish(self.scores_, self.complete_, result, rows);
  }

  /// The rows that the last kernel copies to the result.
  ImageView host_rows() const noexcept {
    ImageView rows;
    rows.data = rows_;
    rows.size = {table().characters(), plan_.max_characters};
    rows.stride = static_cast<std::ptrdiff_t>(sizeof(float)) * table().characters();
    rows.format = PixelFormat::kFloat32;
    rows.space = MemorySpace::kPinned;
    return rows;
  }

  void find_candidates(int slot) noexcept {
    host_->present = 0;
    host_->bad = gray_plane(slot, plane_) ? 0 : 1;
    if (host_->bad != 0) return;
    using Self = BoxNeocognitron;
    share_on_host(reader_.halves(), &Self::run_part<&Self::measure>, this);
    for (int field = 0; field < reader_.fields(); ++field) reader_.set_levels(field);
    share_on_host(reader_.halves(), &Self::run_part<&Self::extract>, this);
    share_on_host(reader_.fields(), &Self::run_part<&Self::find_characters>, this);
    const int count = reader_.collect();
    share_on_host(count, &Self::run_part<&Self::draw>, this);
    host_->present = count;
  }

  template <void (BoxNeocognitron::*Step)(int, int) noexcept>
  static void run_part(void* self, int part, int worker) noexcept {
    (static_cast<BoxNeocognitron*>(self)->*Step)(part, worker);
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

  CharacterReader reader_;
  GrayPlane plane_{};  ///< of the frame in which characters are found
  std::array<Context, kMaxDepth> contexts_{};
  // Pinned memory. Frames follow each other in a stream, so that one set is enough.
  HostCandidates* host_ = nullptr;
  float* rows_ = nullptr;
  std::uint8_t* images_ = nullptr;
  std::uint8_t* frame_ = nullptr;  ///< a frame that only the device had
  std::uint8_t* gray_ = nullptr;   ///< a frame of another format, converted
};

}  // namespace
}  // namespace ocellus::cuda

namespace ocellus::detail {

std::unique_ptr<OperatorInstance> make_on_cuda(const NeocognitronPlan& plan) noexcept {
  if (plan.layout == CharacterLayout::kTiles)
    return std::unique_ptr<OperatorInstance>(new (std::nothrow) cuda::TileNeocognitron(plan));
  if (plan.layout == CharacterLayout::kBoxes)
    return std::unique_ptr<OperatorInstance>(new (std::nothrow) cuda::BoxNeocognitron(plan));
  return std::unique_ptr<OperatorInstance>(new (std::nothrow) cuda::FindingNeocognitron(plan));
}

}  // namespace ocellus::detail
