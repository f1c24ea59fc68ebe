// The ink of a frame with the layout find: from pixels to runs, and from the runs of candidates to
// images. The arithmetic is that of InkLevels, InkComponents and InkImager, with the same results.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/core/shared_memory.cuh"
#include "kernels/image/pixels.cuh"
#include "kernels/neocognitron/block.cuh"
#include "kernels/neocognitron/block_team.cuh"
#include "kernels/neocognitron/gray.cuh"

namespace ocellus::cuda {
namespace {

using detail::InkArea;
using detail::InkGrid;
using detail::InkLevel;
using detail::InkRange;
using detail::InkRun;
using detail::InkWindow;
using detail::LevelMap;

constexpr int kWord = kMaskBits;
static_assert(kWord == kWarp);

__device__ int lane_of_warp() {
  return static_cast<int>(threadIdx.x) % kWarp;
}
__device__ int warp_of_block() {
  return static_cast<int>(threadIdx.x) / kWarp;
}

// All lanes get the result.
__device__ int warp_sum(int value) {
  return BlockTeam<kInkThreads>::combine_lanes(value, detail::Plus());
}
__device__ int warp_largest(int value) {
  return BlockTeam<kInkThreads>::combine_lanes(value, detail::Larger());
}

/// Pixels of a field in 8 bits.
struct FieldPixels {
  const std::uint8_t* first;
  std::int64_t stride;

  __device__ FieldPixels(const InkArguments& a, const InkField& field) {
    stride = a.size.width;
    first = row_at(a.gray, stride, field.y) + field.x;
  }
  __device__ const std::uint8_t* row(int y) const { return first + y * stride; }
};

__device__ bool ink_is_light(const InkArguments& a, const InkField& field) {
  if (a.ink != CharacterInk::kAuto) return a.ink == CharacterInk::kLight;
  return static_cast<long long>(*field.votes) > 0;
}

/// The row of blocks of this block of the grid. Previous kernels do not change it, so that it is
/// read while they run.
struct OwnRow {
  const InkField field;
  InkGrid grid;
  int row;
  int columns;
  int top;  ///< of the pixels
  int bottom;

  __device__ explicit OwnRow(const InkArguments& a)
      : field(a.fields[a.rows[blockIdx.x].field]),
        grid(field.grid),
        row(a.rows[blockIdx.x].row),
        columns(grid.columns()),
        top(row << grid.bits),
        bottom(min(top + grid.side(), grid.height)) {}
  __device__ int words() const { return (grid.width + kWord - 1) / kWord; }
};

// ---- the frame in 8 bits

__device__ bool is_finite(std::uint16_t) {
  return true;
}
__device__ bool is_finite(float pixel) {
  return isfinite(pixel);
}

template <typename Pixel>
__global__ void __launch_bounds__(kGrayThreads) write_gray(const __grid_constant__ InkArguments a) {
  let_next_begin();
  bool finite = true;
  for (int y = static_cast<int>(blockIdx.x); y < a.size.height; y += static_cast<int>(gridDim.x)) {
    const Pixel* const from =
        row_at(static_cast<const Pixel*>(a.frame->image), a.frame->image_stride, y);
    std::uint8_t* const to = a.gray + static_cast<std::int64_t>(y) * a.size.width;
    if constexpr (std::is_same_v<Pixel, std::uint8_t>) {
      copy_row<kGrayThreads>(from, to, a.size.width);
    } else {
      for (int x = static_cast<int>(threadIdx.x); x < a.size.width; x += kGrayThreads) {
        finite = finite && is_finite(from[x]);
        to[x] = static_cast<std::uint8_t>(gray_of(from[x]));
      }
    }
  }
  if (!finite) atomicOr(&a.state->bad, 1u);
}

// ---- levels

/// A warp measures a block.
__global__ void __launch_bounds__(kInkThreads)
    measure_blocks(const __grid_constant__ InkArguments a) {
  const OwnRow own(a);
  take_turn();
  const FieldPixels pixels(a, own.field);
  if (threadIdx.x == 0 && own.row == 0) *own.field.votes = 0;
  const int side = own.grid.side();
  const int height = own.bottom - own.top;
  for (int c = warp_of_block(); c < own.columns; c += kInkThreads / kWarp) {
    const int left = c << own.grid.bits;
    const int width = min(side, own.grid.width - left);
    int sum = 0;
    int squares = 0;
    int low = 255;
    int high = 0;
    for (int i = lane_of_warp(); i < side * height; i += kWarp) {
      const int x = i & (side - 1);
      if (x >= width) continue;
      const int pixel = pixels.row(own.top + (i >> own.grid.bits))[left + x];
      sum += pixel;
      squares += pixel * pixel;
      low = min(low, pixel);
      high = max(high, pixel);
    }
    sum = warp_sum(sum);
    squares = warp_sum(squares);
    low = -warp_largest(-low);
    high = warp_largest(high);
    if (lane_of_warp() != 0) continue;
    const int count = width * height;
    const detail::BlockSums sums{sum, squares};
    const auto spread = static_cast<float>(detail::block_spread(sums, count));
    const int deviation = detail::block_deviation(sqrtf(spread), count);
    const detail::BlockSums all = detail::whole_block(sums, count, own.grid.bits);
    own.field.blocks[own.row * own.columns + c] = {all.sum, all.squares >> own.grid.square_bits(),
                                                   deviation, static_cast<std::uint8_t>(low),
                                                   static_cast<std::uint8_t>(high)};
  }
}

__device__ void add(InkBlock& sum, const InkBlock& block) {
  sum.sum += block.sum;
  sum.squares += block.squares;
  sum.deviation = min(sum.deviation, block.deviation);
  sum.low = static_cast<std::uint8_t>(min(static_cast<int>(sum.low), static_cast<int>(block.low)));
  sum.high =
      static_cast<std::uint8_t>(max(static_cast<int>(sum.high), static_cast<int>(block.high)));
}

/// Combines `count` blocks, `step` blocks apart.
__device__ InkBlock combined(const InkBlock* first, int count, int step) {
  InkBlock sum = *first;
  for (int i = 1; i < count; ++i) add(sum, first[i * step]);
  return sum;
}

constexpr int kMostColumns = kMaxImageSide >> 3;

__global__ void __launch_bounds__(kInkThreads)
    collect_windows(const __grid_constant__ InkArguments a) {
  __shared__ InkBlock of_columns[kMostColumns];
  const OwnRow own(a);
  take_turn();
  const int radius = own.grid.radius;
  const int thread = static_cast<int>(threadIdx.x);
  const int above = max(0, own.row - radius);
  const int below = min(own.grid.rows(), own.row + radius + 1);
  for (int c = thread; c < own.columns; c += kInkThreads)
    of_columns[c] =
        combined(own.field.blocks + above * own.columns + c, below - above, own.columns);
  __syncthreads();
  long long votes[1] = {0};
  const int column_pixels = own.grid.window_rows(own.row) << 2 * own.grid.bits;
  for (int c = thread; c < own.columns; c += kInkThreads) {
    const int left = max(0, c - radius);
    const InkBlock sum = combined(of_columns + left, min(own.columns, c + radius + 1) - left, 1);
    const InkWindow window{own.grid.window_columns(c) * column_pixels,
                           sum.sum,
                           sum.squares,
                           sum.deviation,
                           sum.low,
                           sum.high};
    own.field.windows[own.row * own.columns + c] = window;
    votes[0] += detail::vote_for_light(window);
  }
  combine_to_first_warp<kInkThreads>(votes, detail::Plus());
  if (thread == 0) atomicAdd(own.field.votes, static_cast<unsigned long long>(votes[0]));
}

// ---- ink

/// The bits of a word at which runs begin. `before`: the word on its left.
__device__ std::uint32_t run_begins(std::uint32_t word, std::uint32_t before) {
  return word & ~(word << 1 | before >> (kWord - 1));
}

/// Writes the levels of a row of blocks, the ink of its pixels, and the number of runs of each row.
__global__ void __launch_bounds__(kInkThreads) write_masks(const __grid_constant__ InkArguments a) {
  __shared__ std::int16_t thresholds[3 * kMostColumns];
  const OwnRow own(a);
  take_turn();
  const InkField& field = own.field;
  const bool light = ink_is_light(a, field);
  const int thread = static_cast<int>(threadIdx.x);
  const int first = max(own.row - 1, 0);
  const int end = min(own.row + 2, own.grid.rows());
  for (int i = thread; i < (end - first) * own.columns; i += kInkThreads) {
    const int at = first * own.columns + i;
    const InkLevel level = detail::window_level(field.windows[at], light, own.grid.square_bits());
    thresholds[i] = level.threshold;
    if (at / own.columns != own.row) continue;
    field.background[at] = level.background;
    field.threshold[at] = level.threshold;
    field.noise[at] = level.noise;
  }
  __syncthreads();
  const auto threshold_of = [&](int column, int row) -> int {
    return thresholds[(row - first) * own.columns + column];
  };
  const FieldPixels pixels(a, field);
  const int words = own.words();
  const int invert = light ? 255 : 0;
  constexpr int kWarps = kInkThreads / kWarp;
  const int end_word = own.bottom * words;
  const auto pixel_of = [&](int i) -> int {
    return pixels.row(i / words)[min(i % words * kWord + lane_of_warp(), own.grid.width - 1)];
  };
  // The pixels of the next word are loaded before those of a word are compared.
  int i = own.top * words + warp_of_block();
  int next = i < end_word ? pixel_of(i) : 0;
#pragma unroll 1
  for (; i < end_word; i += kWarps) {
    const int pixel = next;
    next = pixel_of(min(i + kWarps, end_word - 1));
    const int y = i / words;
    const int x = i % words * kWord + lane_of_warp();
    const bool ink =
        x < own.grid.width &&
        (pixel ^ invert) < detail::level_pixel(detail::level_at(
                               own.grid, threshold_of, x, detail::threshold_row_of(own.grid, y)));
    const std::uint32_t word = __ballot_sync(kAllLanes, ink);
    if (lane_of_warp() == 0) field.masks[i] = word;
  }
  __syncthreads();
  for (int y = own.top + warp_of_block(); y < own.bottom; y += kInkThreads / kWarp) {
    const std::uint32_t* const row = field.masks + y * words;
    int count = 0;
    for (int w = lane_of_warp(); w < words; w += kWarp)
      count += __popc(run_begins(row[w], w == 0 ? 0 : row[w - 1]));
    count = warp_sum(count);
    if (lane_of_warp() == 0) field.row_runs[y] = count;
  }
}

/// The first pixel at or behind x that is no ink.
__device__ int end_of_run(const std::uint32_t* row, int words, int x) {
  int word = x / kWord;
  std::uint32_t ground = ~row[word] & ~0u << x % kWord;
  while (ground == 0) {
    if (++word == words) return words * kWord;
    ground = ~row[word];
  }
  return word * kWord + __ffs(static_cast<int>(ground)) - 1;
}

/// Writes the runs of a row of pixels from place `place` on. All lanes of a warp must call it.
__device__ void write_row(const OwnRow& own, const FieldPixels& pixels, bool light, int y,
                          int place) {
  const InkField& field = own.field;
  const int words = own.words();
  const std::uint32_t* const row = field.masks + y * words;
  const std::uint8_t* const line = pixels.row(y);
  const LevelMap background{field.background, own.columns};
  const int invert = light ? 255 : 0;
  for (int first = 0; first < words; first += kWarp) {
    const int w = first + lane_of_warp();
    std::uint32_t begins = 0;
    if (w < words) begins = run_begins(row[w], w == 0 ? 0 : row[w - 1]);
    const int own_count = __popc(begins);
    const int behind = scan_warp(own_count);
    for (int at = place + behind - own_count; begins != 0; begins &= begins - 1, ++at) {
      if (at >= field.ink.run_capacity) break;
      const int x = w * kWord + __ffs(static_cast<int>(begins)) - 1;
      const int end = min(end_of_run(row, words, x), own.grid.width);
      int sum = 0;
      for (int i = x; i < end; ++i) sum += line[i] ^ invert;
      const int level = detail::level_at(own.grid, background, (x + end) / 2, y);
      field.ink.runs[at] = {static_cast<std::uint16_t>(y), static_cast<std::uint16_t>(x),
                            static_cast<std::uint16_t>(end),
                            detail::run_contrast(level, sum, end - x), 0};
    }
    place += __shfl_sync(kAllLanes, behind, kWarp - 1);
  }
}

/// A warp writes the runs of a row of pixels.
__global__ void __launch_bounds__(kInkThreads) write_runs(const __grid_constant__ InkArguments a) {
  const OwnRow own(a);
  take_turn();
  const InkField& field = own.field;
  const FieldPixels pixels(a, field);
  const bool light = ink_is_light(a, field);
  for (int y = own.top + warp_of_block(); y < own.bottom; y += kInkThreads / kWarp) {
    int above = 0;
#pragma unroll 8
    for (int i = lane_of_warp(); i < y; i += kWarp) above += field.row_runs[i];
    above = warp_sum(above);
    const int count = field.row_runs[y];
    if (lane_of_warp() == 0) {
      field.ink.row_begin[y] = min(above, field.ink.run_capacity);
      if (y == own.grid.height - 1) {
        field.ink.row_begin[y + 1] = min(above + count, field.ink.run_capacity);
        *field.run_count = above + count;
      }
    }
    write_row(own, pixels, light, y, above);
  }
}

// ---- candidates

using Team = BlockTeam<kInkGroupThreads>;
static_assert(detail::kMaxParts <= kInkGroupThreads && detail::kMaxParts == Team::kDistributed);
static_assert(Team::kDistributeWork == kDistributeWork);

__device__ detail::CandidateSearch<Team> candidates_of(const InkField& field) {
  return {Team(), field.lattice, field.parts, *field.part_counts};
}

__global__ void __launch_bounds__(kInkGroupThreads, 1)
    find_groups(const __grid_constant__ InkArguments a) {
  OCELLUS_DYNAMIC_SHARED(std::uint64_t, shared);
  const InkField field = a.fields[blockIdx.x];
  take_turn();
  detail::InkArrays ink = field.ink;
  detail::PartArrays parts = field.parts;
  layout_search(a.near_runs, shared, ink, parts);
  const Team team;
  detail::InkSearch components(team, ink, *field.run_count);
  const detail::InkCounts found = components.find();
  ink.row_begin = components.row_begin();
  const detail::PartCounts counts =
      detail::PartSearch(team, parts, ink, components.runs(), found).find();
  if (team.index() == 0) *field.part_counts = counts;
  detail::CandidateSearch(team, field.lattice, parts, counts).select_wide();
}

__global__ void __launch_bounds__(kInkGroupThreads, 1)
    cut_groups(const __grid_constant__ InkArguments a) {
  OCELLUS_DYNAMIC_SHARED(std::uint64_t, shared);
  const auto block = static_cast<int>(blockIdx.x);
  detail::SplitArrays split;
  if (a.splits != nullptr) {
    split = a.splits[block];
  } else {
    detail::LayoutBuilder memory(shared, 16);
    split.layout(memory);
  }
  take_turn();
  int next = block;
  for (int f = 0; f < a.field_count; ++f) {
    const InkField& field = a.fields[f];
    const int cuts = *field.lattice.cut_count;
    for (; next < cuts; next += kInkCutBlocks) candidates_of(field).cut(next, split);
    next -= cuts;
  }
}

__global__ void __launch_bounds__(kInkGroupThreads, 1)
    find_candidates(const __grid_constant__ InkArguments a) {
  OCELLUS_DYNAMIC_SHARED(std::uint64_t, shared);
  InkField field = a.fields[blockIdx.x];
  detail::LayoutBuilder memory(shared, 16);
  field.lattice.layout_entries(memory);
  take_turn();
  const detail::CandidateCounts counts = candidates_of(field).find(ink_is_light(a, field));
  if (threadIdx.x == 0) *field.counts = counts;
}

// ---- images of candidates

/// Runs of a candidate that fit into shared memory.
constexpr int kSharedRuns = 1024;
constexpr int kContrasts = 256;

/// What a block draws. It has what it reads of the field, which would be loaded again behind each
/// write.
struct Drawing {
  InkGrid grid;
  LevelMap background;
  LevelMap threshold;
  FieldPixels pixels;
  const InkRun* runs;
  int count;
  int invert;

  __device__ int level(const LevelMap& map, int x, int y) const {
    return detail::level_at(grid, map, x, y);
  }
  __device__ int pixel(int x, int y) const { return pixels.row(y)[x] ^ invert; }
  __device__ int contrast(int x, int y) const {
    return max(0, detail::level_pixel(level(background, x, y)) - pixel(x, y));
  }
  /// The first run that is not above row y.
  __device__ int first_run(int y) const {
    return detail::first_without(0, count, [&](int r) { return runs[r].y < y; });
  }
};

/// Sets the table of stretched contrasts (InkImager::range). All threads must call it. `noise`: in
/// the middle of the ink.
__device__ void set_contrasts(const Drawing& drawing, int noise, std::uint8_t* stretched) {
  __shared__ unsigned counts[kContrasts];
  __shared__ int full;
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < kContrasts; i += kDrawThreads) counts[i] = 0;
  __syncthreads();
  // Most runs are short.
  constexpr int kLanes = 8;
  OCELLUS_TEAM_LOOP
  for (int r = thread / kLanes; r < drawing.count; r += kDrawThreads / kLanes) {
    const InkRun run = drawing.runs[r];
    OCELLUS_TEAM_LOOP
    for (int x = run.first + thread % kLanes; x < run.end; x += kLanes)
      atomicAdd(&counts[drawing.contrast(x, run.y)], 1u);
  }
  __syncthreads();
  if (thread < kWarp) {
    // A lane has some of the contrasts.
    constexpr int kEach = kContrasts / kWarp;
    const unsigned* const own = counts + thread * kEach;
    int sum = 0;
    for (int i = 0; i < kEach; ++i) sum += static_cast<int>(own[i]);
    const int behind = scan_warp(sum);
    const int total = __shfl_sync(kAllLanes, behind, kWarp - 1);
    const auto below = static_cast<int>(detail::ink_below_full(static_cast<unsigned>(total)));
    int found = kContrasts - 1;
    int until = behind;
    for (int i = kEach - 1; i >= 0; --i) {
      if (until > below) found = min(thread * kEach + i, kContrasts - 1);
      until -= static_cast<int>(own[i]);
    }
    found = -warp_largest(-found);
    if (thread == 0) full = found;
  }
  __syncthreads();
  const InkRange range(full, noise);
  for (int i = thread; i < kContrasts; i += kDrawThreads) stretched[i] = range.stretched(i);
  __syncthreads();
}

/// Sets the bits [first, end) that lie in an area.
__device__ void set_bits(std::uint32_t* bits, const InkArea& area, int first, int end) {
  first = max(first, area.left) - area.left;
  end = min(end, area.right) - area.left;
  OCELLUS_TEAM_LOOP
  for (int x = first; x < end;) {
    const int word = x / kWord;
    const int word_end = min((word + 1) * kWord, end);
    atomicOr(&bits[word], (~0u << x % kWord) & (~0u >> ((word + 1) * kWord - word_end)));
    x = word_end;
  }
}
__device__ bool bit_at(const std::uint32_t* bits, int x) {
  return (bits[x / kWord] >> x % kWord & 1u) != 0;
}

/// Writes row `row` of an image. `zones`: two rows of bits for the warp: ink, and what is near it.
/// Behind them are the sums of the columns. All lanes of a warp must call it.
__device__ void draw_row(const Drawing& drawing, const InkArea& area, const std::uint8_t* stretched,
                         int row, std::uint32_t* zones, int words, std::uint8_t* out) {
  std::uint32_t* const ink = zones;
  std::uint32_t* const near = zones + words;
  std::uint32_t* const sums = near + words;
  const int lane = lane_of_warp();
  const int begin = area.top + row * area.factor;
  const int last = min(begin + area.factor, area.bottom) - 1;
  OCELLUS_TEAM_LOOP
  for (int y = begin; y <= last; ++y) {
    OCELLUS_TEAM_LOOP
    for (int w = lane; w < words; w += kWarp) ink[w] = near[w] = 0;
    __syncwarp();
    OCELLUS_TEAM_LOOP
    for (int i = drawing.first_run(y - area.margin) + lane; i < drawing.count; i += kWarp) {
      const InkRun run = drawing.runs[i];
      if (run.y > y + area.margin) break;
      set_bits(near, area, run.first - area.margin, run.end + area.margin);
      if (run.y == y) set_bits(ink, area, run.first, run.end);
    }
    __syncwarp();
    OCELLUS_TEAM_LOOP
    for (int column = lane; column < area.size.width; column += kWarp) {
      const int first = column * area.factor;
      const int end = min(first + area.factor, area.right - area.left);
      std::uint32_t sum = y == begin ? 0 : sums[column];
      OCELLUS_TEAM_LOOP
      for (int x = first; x < end; ++x) {
        const int at = area.left + x;
        // All loads are issued at once.
        const int pixel = drawing.pixel(at, y);
        const int threshold = drawing.level(drawing.threshold, at, y);
        const int contrast = drawing.contrast(at, y);
        // Ink beside the character belongs to another one.
        const bool other = !bit_at(ink, x) && pixel < detail::level_pixel(threshold);
        if (bit_at(near, x) && !other) sum += stretched[contrast];
      }
      if (y == last)
        out[column] = detail::area_mean(sum, area.factor);
      else
        sums[column] = sum;
    }
    __syncwarp();
  }
}

__global__ void __launch_bounds__(kDrawThreads) draw(const __grid_constant__ DrawArguments a) {
  OCELLUS_DYNAMIC_SHARED(std::uint32_t, zones);
  __shared__ InkRun shared_runs[kSharedRuns];
  __shared__ std::uint8_t stretched[kContrasts];
  const detail::CandidateCounts* const counts = a.ink.fields->counts;
  take_turn();
  const auto strip = static_cast<int>(blockIdx.x);
  const int candidate = static_cast<int>(blockIdx.y);
  const int thread = static_cast<int>(threadIdx.x);
  const int own_place = a.first + candidate;
  int field_of = 0;
  int index_of = 0;
  const int total = detail::share_places(
      a.ink.field_count, a.most, [&](int field) { return counts[field].candidates; },
      [&](int field, int first, int count) {
        if (own_place < first || own_place >= first + count) return;
        field_of = field;
        index_of = own_place - first;
      });
  const int present = a.ink.state->bad != 0 ? 0 : max(0, min(total - a.first, a.count));
  if (candidate == 0 && strip == 0 && thread == 0) *a.present = present;
  if (candidate >= present) return;
  const InkField& field = a.ink.fields[field_of];
  const InkGrid grid = field.grid;
  const detail::InkRuns ink = field.lattice.inks[index_of];
  const bool fits = ink.count <= kSharedRuns;
  const auto map_of = [&](const std::int16_t* levels) { return LevelMap{levels, grid.columns()}; };
  const Drawing drawing{grid,
                        map_of(field.background),
                        map_of(field.threshold),
                        FieldPixels(a.ink, field),
                        fits ? shared_runs : ink.runs,
                        ink.count,
                        ink_is_light(a.ink, field) ? 255 : 0};
  const InkArea area =
      detail::ink_area(field.lattice.candidates[index_of].box, {grid.width, grid.height});
  const InkRun middle = ink.runs[ink.count / 2];
  const int noise = drawing.level(map_of(field.noise), middle.first, middle.y);
  OCELLUS_TEAM_LOOP
  for (int i = thread; fits && i < ink.count; i += kDrawThreads) shared_runs[i] = ink.runs[i];
  __syncthreads();
  if (strip == 0 && thread == 0) a.images[candidate] = {area.size.width, area.size.height};
  set_contrasts(drawing, noise, stretched);
  std::uint8_t* const out = a.to + static_cast<std::size_t>(candidate) * kImagePixels;
  std::uint32_t* const own =
      reinterpret_cast<std::uint32_t*>(zones) + (2 * a.words + kImageSide) * warp_of_block();
  constexpr int kWarps = kDrawThreads / kWarp;
  OCELLUS_TEAM_LOOP
  for (int row = strip * kWarps + warp_of_block(); row < area.size.height;
       row += kDrawStrips * kWarps)
    draw_row(drawing, area, stretched, row, own, a.words, out + row * kImageSide);
}

}  // namespace

Kernel<InkArguments> gray_kernel(PixelFormat format) noexcept {
  if (format == PixelFormat::kGray8) return write_gray<std::uint8_t>;
  return format == PixelFormat::kGray16 ? write_gray<std::uint16_t> : write_gray<float>;
}

const Kernel<InkArguments> kBlockKernel = measure_blocks;
const Kernel<InkArguments> kWindowKernel = collect_windows;
const Kernel<InkArguments> kMaskKernel = write_masks;
const Kernel<InkArguments> kRunKernel = write_runs;
const Kernel<InkArguments> kInkGroupKernel = find_groups;
const Kernel<InkArguments> kInkCutKernel = cut_groups;
const Kernel<InkArguments> kInkCandidateKernel = find_candidates;
const Kernel<DrawArguments> kDrawKernel = draw;

}  // namespace ocellus::cuda
