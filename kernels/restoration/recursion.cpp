// Restoration on CUDA by recursion: continue the image, run the quadrants in overlapping tiles, add
// the quadrants.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>

#include "core/failure.h"
#include "kernels/restoration/recursion.h"

namespace ocellus::cuda {

void write_recursion_table(const RestorationFilter& filter, int support, float* table) noexcept {
  const auto side = static_cast<std::size_t>(round_up_to_columns(support));
  const auto m = static_cast<std::size_t>(filter.support);
  for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
    for (const RestorationFilter::Taps* taps : {&filter.feedforward[q], &filter.feedback[q]}) {
      for (std::size_t r2 = 0; r2 < side; ++r2)
        for (std::size_t r1 = 0; r1 < side; ++r1)
          *table++ = r1 < m && r2 < m ? (*taps)[r1 * m + r2] : 0.0f;
    }
  }
}

namespace {

/// The estimated time of all blocks in cycles, as measured on compute capability 9.0. `resident` is
/// the number of blocks that fit on a multiprocessor at once.
double estimated_cycles(const RecursionTask& task, int warps, int height, int blocks,
                        int resident) noexcept {
  constexpr int kSchedulers = 4;  // of a multiprocessor
  const double m = task.support;
  // A step of a warp that has a scheduler of its own, and what each further warp adds.
  const double alone = 400.0 - 32.0 * m + 14.0 * m * m;
  const double further = alone * (0.8 - 1.4 / m);
  const double steps = height + task.margin_y + 33.0 * warps;
  const auto time_of = [&](int at_once) {
    const auto of_scheduler = static_cast<int>(block_count(at_once * warps, kSchedulers));
    return at_once == 0 ? 0.0 : steps * (alone + further * (of_scheduler - 1));
  };
  const auto of_one = static_cast<int>(block_count(blocks, task.multiprocessors));
  const int full = of_one / resident;  // times that a multiprocessor runs as many as fit
  return full * time_of(resident) + time_of(of_one - full * resident);
}

}  // namespace

RecursionTiles choose_recursion_tiles(const RecursionTask& task,
                                      const ResidentBlocks& resident) noexcept {
  RecursionTiles best;
  double least = 0.0;
  for (int warps = 1; warps <= kMaxRecursionThreads / 32; ++warps) {
    const int at_once = resident[static_cast<std::size_t>(warps - 1)];
    const int room = warps * 32 * kRecursionColumns - task.margin_x;
    if (at_once < 1 || room < kRecursionColumns) continue;
    const auto across = static_cast<int>(block_count(task.plane_width, room));
    const int width = round_up_to_columns(static_cast<int>(block_count(task.plane_width, across)));
    const auto needed =
        static_cast<int>(block_count(width + task.margin_x, 32 * kRecursionColumns));
    if (needed < warps) continue;  // fewer warps make the same tiles
    for (int wanted = 1; wanted <= task.height; ++wanted) {
      const auto height = static_cast<int>(block_count(task.height, wanted));
      if (wanted > 1 && height < kLeastTileHeight) break;
      const auto down = static_cast<int>(block_count(task.height, height));
      const double cycles =
          estimated_cycles(task, warps, height, kFilterQuadrants * across * down, at_once);
      if (best.threads != 0 && cycles >= least) continue;
      least = cycles;
      best = {warps * 32, width, height, across, down};
    }
  }
  return best;
}

namespace {

class CudaRecursion final : public RecursionOperator {
 public:
  explicit CudaRecursion(const detail::RestorationPlan& plan) noexcept
      : RecursionOperator(plan, detail::info_of(plan)),
        variant_(recursion_variant(plan.filter.support)) {
    plane_width_ = round_up_to_columns(plan.size.width);
  }

 private:
  std::size_t plane_pixels() const noexcept {
    return static_cast<std::size_t>(plane_width_) * static_cast<std::size_t>(plan_.size.height);
  }

  void layout(LayoutBuilder& device) noexcept override {
    place_image(device);
    tables_ = device.take<float>(table_floats());
    planes_ = device.take<float>(kFilterQuadrants * plane_pixels());
  }
  std::size_t table_floats() const noexcept {
    return kFilterQuadrants * static_cast<std::size_t>(recursion_table_floats(variant_.support));
  }

  Expected<void> prepare(Scope& cuda) noexcept override {
    OCELLUS_TRY(load_image_kernels(cuda));
    OCELLUS_TRY(choose_tiles(cuda));
    const std::unique_ptr<float[]> table(new (std::nothrow) float[table_floats()]);
    if (!table) return detail::no_memory_for_operator();
    write_recursion_table(plan_.filter, variant_.support, table.get());
    return upload(cuda, tables_, table.get(), table_floats() * sizeof(float));
  }

  Expected<void> choose_tiles(Scope& cuda) noexcept {
    const auto most = static_cast<std::size_t>(device_traits().shared_bytes_per_block);
    const int margin = image_.margin_x;
    // The fewest threads whose columns reach beyond the margin.
    const int least_threads = margin / (32 * kRecursionColumns) * 32 + 32;
    int threads = 0;
    for (int t = 32; t <= kMaxRecursionThreads; t += 32)
      if (recursion_shared_bytes(variant_, t) <= most) threads = t;
    if (threads < least_threads) {
      return tl::unexpected(make_error(
          Status::kUnsupported,
          "restoration by recursion with a padding of %d pixels needs %zu bytes of shared memory; "
          "the device has %zu for each block",
          plan_.padding, recursion_shared_bytes(variant_, least_threads), most));
    }
    OCELLUS_TRY(load_kernel(cuda, variant_.kernel, recursion_shared_bytes(variant_, threads)));
    ResidentBlocks resident{};
    for (int t = least_threads; t <= threads; t += 32) {
      OCELLUS_TRY_ASSIGN(
          blocks, resident_blocks(cuda, variant_.kernel, t, recursion_shared_bytes(variant_, t)));
      resident[static_cast<std::size_t>(t / 32 - 1)] = *blocks;
    }
    tiles_ =
        choose_recursion_tiles({plane_width_, plan_.size.height, image_.margin_x, image_.margin_y,
                                variant_.support, device_traits().multiprocessors},
                               resident);
    if (tiles_.threads != 0) return {};
    return tl::unexpected(make_error(Status::kUnsupported,
                                     "the device cannot run the recursion for a support of %d",
                                     plan_.filter.support));
  }

  Expected<void> record(Scope& cuda, int slot, cudaStream_t stream) noexcept override {
    OCELLUS_TRY(launch_continue(cuda, slot, stream));
    const RecursionArguments arguments{image_,         tables_,      planes_,
                                       plane_pixels(), plane_width_, plan_.size.height,
                                       tiles_.width,   tiles_.height};
    OCELLUS_TRY(launch(cuda, stream, variant_.kernel,
                       dim3(static_cast<unsigned>(tiles_.across),
                            static_cast<unsigned>(tiles_.down), kFilterQuadrants),
                       dim3(static_cast<unsigned>(tiles_.threads)),
                       recursion_shared_bytes(variant_, tiles_.threads), arguments));
    return launch_add(cuda, slot, stream, planes_, plane_pixels(), plane_width_);
  }

  RecursionVariant variant_;
  RecursionTiles tiles_;
  int plane_width_ = 0;
  float* tables_ = nullptr;
  float* planes_ = nullptr;
};

}  // namespace

std::unique_ptr<detail::OperatorInstance> make_recursion(
    const detail::RestorationPlan& plan) noexcept {
  return std::unique_ptr<detail::OperatorInstance>(new (std::nothrow) CudaRecursion(plan));
}

}  // namespace ocellus::cuda
