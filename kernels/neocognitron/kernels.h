// The kernels of Neocognitron and the plain data that they take. A candidate is an image that may
// be a character. The candidates of a batch go through a layer together. Where a grid has
// candidates along y, it may have fewer blocks: they take the candidates in turn.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/core/frame_params.h"
#include "neocognitron/candidate_search.h"
#include "neocognitron/geometry.h"
#include "neocognitron/ink_area.h"
#include "neocognitron/ink_grid.h"
#include "neocognitron/ink_run.h"
#include "ocellus/neocognitron.h"

namespace ocellus::cuda {

using detail::WindowTap;

/// A cell of a C-layer that is not 0.
struct ActiveCell {
  float value;
  int plane;
};

/// The memory of a batch of candidates. Each array has one part for each candidate; sizes below are
/// those of a part.
struct CandidateArrays {
  int count;           ///< candidates that there is room for
  const int* present;  ///< candidates of the batch
  /// The first 32 bits count the blocks of a layer that have ended, the others their active cells.
  /// 0 between two kernels.
  unsigned long long* progress;
  int* capped;  ///< 1 if a layer had more active cells than its capacity

  float* contrast;  ///< UG: the value, negative for plane 0; contrast_cells
  /// S-cells of a layer, [position][plane]. Positions without an active cell are not written.
  float* simple;
  std::size_t simple_stride;  ///< floats from candidate to candidate
  std::uint8_t* any;          ///< is an S-cell of the position active? kMostPositions
  ActiveCell* cells;          ///< of a C-layer: each position has room for all planes
  std::size_t cell_stride;    ///< cells from candidate to candidate
  int* counts;                ///< active cells of each position of the C-layer; kMostPositions
  float* energies;            ///< sum of the squares of a position's cells; kMostPositions
  float* scores;              ///< similarity to each class; may be pinned memory
};
inline constexpr int kContrastCells = detail::kContrastSides.out * detail::kContrastSides.out;
inline constexpr int kMostPositions = detail::kSimpleSides[0].out * detail::kSimpleSides[0].out;

/// Images of candidates, row after row.
inline constexpr int kImageSide = detail::kDrawnSide;
inline constexpr int kImagePixels = kImageSide * kImageSide;
struct CandidateImage {
  int width;
  int height;
};
/// In pinned memory: what the host tells the device of a frame.
struct HostCandidates {
  int present;
  unsigned bad;  ///< not 0: the frame has values that are not finite
  CandidateImage images[2 * kMaxCharacters];
};

// ---- ink on the device, layout find

/// Statistics of the pixels of a block (detail::BlockStatistic).
struct InkBlock {
  int sum;
  int squares;
  int deviation;
  std::uint8_t low;
  std::uint8_t high;
};

/// A field in which characters are found. Its arrays are on the device unless stated otherwise.
struct InkField {
  int x;  ///< in the frame
  int y;
  detail::InkGrid grid;
  InkBlock* blocks;
  detail::InkWindow* windows;  ///< around each block
  unsigned long long* votes;   ///< for light ink; signed
  std::int16_t* background;    ///< of each block, as the following ones
  std::int16_t* threshold;
  std::int16_t* noise;
  std::uint32_t* masks;  ///< ink of each row of pixels in whole words, a bit for each pixel
  int* row_runs;         ///< runs of each row of pixels
  int* run_count;        ///< runs of the field, also those that had no place
  detail::InkArrays ink;
  detail::PartArrays parts;
  detail::PartCounts* part_counts;
  detail::LatticeArrays lattice;
  detail::CandidateCounts* counts;  ///< those of all fields follow each other
};

inline constexpr int kMaskBits = 32;

/// A row of blocks of a field.
struct InkRow {
  int field;
  int row;
};

struct InkArguments {
  const FrameParams* frame;
  TemporalState* state;
  const InkField* fields;
  int field_count;
  const detail::SplitArrays* splits;  ///< of each block of kInkCutKernel; null: in shared memory
  const InkRow* rows;
  CharacterInk ink;
  ImageSize size;      ///< of the frame
  std::uint8_t* gray;  ///< the frame in 8 bits, row after row
  int near_runs;       ///< layout_search
};
inline constexpr int kGrayThreads = 256;
/// Writes the frame in 8 bits, so that the kernels behind read pinned memory no more. Blocks take
/// rows in turn.
Kernel<InkArguments> gray_kernel(PixelFormat format) noexcept;
inline constexpr int kInkThreads = 1024;
// Blocks: the rows of blocks of all fields.
extern const Kernel<InkArguments> kBlockKernel;   ///< statistics of blocks
extern const Kernel<InkArguments> kWindowKernel;  ///< statistics of windows, votes
extern const Kernel<InkArguments> kMaskKernel;    ///< levels, ink, number of runs
extern const Kernel<InkArguments> kRunKernel;     ///< runs
inline constexpr int kInkGroupThreads = 512;
/// Groups of ink. A block for each field, with shared memory that `layout_search` places.
extern const Kernel<InkArguments> kInkGroupKernel;
inline constexpr int kDistributeWork = kInkGroupThreads / 32 * detail::kMaxParts / 2;
/// Runs that fit into shared memory: the first of these numbers for which there is room. A frame of
/// 640x480 pixels with a line of text has about 3,000 runs, one with a form 8,000.
inline constexpr int kNearRuns[] = {9216, 5632};
inline constexpr int kNearRows = 1536;        ///< of a field, whose begins fit, too
inline constexpr int kNearComponents = 4800;  ///< whose parts fit, too
/// Places in the shared memory of a block `ink.work`, and unless `near_runs` is 0, the arrays of so
/// many runs and of parts. Returns the size of the memory.
constexpr std::size_t layout_search(int near_runs, void* shared, detail::InkArrays& ink,
                                    detail::PartArrays& parts) noexcept {
  detail::LayoutBuilder memory(shared, 16);
  const auto runs = static_cast<std::size_t>(near_runs);
  if (near_runs > 0) {
    ink.near_row_begin = memory.take<int>(kNearRows);
    ink.near_runs = memory.take<detail::InkRun>(runs);
  }
  // The search for parts begins when the one for components has ended.
  detail::LayoutBuilder work = memory;
  ink.work = work.take<int>(detail::kSearchWork);
  if (near_runs == 0) return work.bytes();
  ink.near_capacity = near_runs;
  ink.near_rows = kNearRows;
  ink.near_parents = work.take<int>(runs);
  ink.near_places = work.take<int>(runs);
  memory.take<int>(kDistributeWork);
  parts.near_components = kNearComponents;
  parts.near_part_of = memory.take<std::int16_t>(kNearComponents);
  parts.layout_parts(memory);
  return std::max(work.bytes(), memory.bytes());
}
/// Cuts of wide groups, which kInkCutBlocks blocks take in turn.
extern const Kernel<InkArguments> kInkCutKernel;
inline constexpr int kInkCutBlocks = 16;
/// The shared memory of a block without InkArguments::splits.
inline std::size_t shared_split_bytes() noexcept {
  detail::LayoutBuilder memory(nullptr, 16);
  detail::SplitArrays().layout(memory);
  return memory.bytes();
}
/// Candidates. A block for each field.
extern const Kernel<InkArguments> kInkCandidateKernel;
/// The shared memory of a block.
inline std::size_t entry_bytes() noexcept {
  detail::LayoutBuilder memory(nullptr, 16);
  detail::LatticeArrays{}.layout_entries(memory);
  return memory.bytes();
}

struct DrawArguments {
  InkArguments ink;
  int most;          ///< candidates of all batches
  int first;         ///< candidate of the batch
  int count;         ///< candidates that a batch has room for
  int words;         ///< of the ink of a row of the largest field
  std::uint8_t* to;  ///< on the device, as the following ones: of a batch
  CandidateImage* images;
  int* present;
};
inline constexpr int kDrawThreads = 512;
/// Shared memory of a block.
constexpr std::size_t draw_bytes(int words) noexcept {
  return static_cast<std::size_t>(kDrawThreads / 32 * (2 * words + kImageSide)) *
         sizeof(std::uint32_t);
}
/// Blocks that share the rows of an image, most of which have fewer than 64.
inline constexpr int kDrawStrips = 4;
/// Draws candidates. Blocks: (kDrawStrips, candidates of a batch), so that those present come
/// first.
extern const Kernel<DrawArguments> kDrawKernel;

// ---- the frame on its way to the host, layout boxes

struct CopyFrameArguments {
  const FrameParams* frame;
  int row_bytes;
  int rows;
  std::uint8_t* to;  ///< pinned memory, row after row without gaps
};
inline constexpr int kCopyThreads = 256;
/// Blocks take rows in turn.
extern const Kernel<CopyFrameArguments> kCopyFrameKernel;

struct FetchArguments {
  const HostCandidates* host;
  int first;                 ///< candidate of the batch
  int count;                 ///< candidates that a batch has room for
  const std::uint8_t* from;  ///< pinned images of all candidates
  std::uint8_t* to;          ///< on the device, as the following ones: of a batch
  CandidateImage* images;
  int* present;
};
/// A block for each candidate of a batch.
extern const Kernel<FetchArguments> kFetchKernel;

// ---- normalization and UG

struct ContrastArguments {
  const FrameParams* frame;
  TemporalState* state;
  CandidateArrays candidates;
  // Layout tiles.
  ImageSize tile;
  int columns;  ///< of tiles
  CharacterInk ink;
  // Other layouts.
  const std::uint8_t* images;
  const CandidateImage* sizes;

  bool deslant;
  float extent;
  const WindowTap* taps;
  int tap_count;
  int first;  ///< CellWindow::first
  float threshold;
  unsigned capacity;
};
inline constexpr int kContrastThreads = 1024;
inline constexpr int kContrastRows = 5;   ///< of UG for a block
inline constexpr int kContrastReach = 3;  ///< largest |dy|: radii are 4 or less
inline constexpr unsigned kContrastBlocks =
    (detail::kContrastSides.out + kContrastRows - 1) / kContrastRows;
/// Blocks: (kContrastBlocks, candidates).
Kernel<ContrastArguments> tile_contrast_kernel(PixelFormat format) noexcept;
extern const Kernel<ContrastArguments> kImageContrastKernel;

// ---- S-cells

struct SimpleArguments {
  CandidateArrays candidates;
  const WindowTap* taps;
  int tap_count;
  int side_in;
  int side_out;
  int first;
  int in_planes;
  /// Binary16, [tap * in_planes + kappa][padded planes], 16-byte aligned.
  const std::uint16_t* weights;
  int octets;        ///< padded planes / 8
  int block_octets;  ///< of a block of US4
  float threshold;
  float bias;  ///< 1 / gain
};
/// Radii are 6 or less: there are at most 112 taps.
inline constexpr int kMaxSimpleTaps = 128;
inline constexpr int kEdgeThreads = 256;
inline constexpr int kEdgeBlockPositions = kEdgeThreads / kEdgePlanes;
/// US1. Blocks: (positions / kEdgeBlockPositions, candidates).
extern const Kernel<SimpleArguments> kEdgeKernel;
/// US2 and US3 with at most kNarrowOctets octets. A warp computes a position. Blocks: (positions /
/// kNarrowBlockPositions, candidates).
inline constexpr int kNarrowOctets = 4;
inline constexpr int kNarrowThreads = 128;
inline constexpr int kNarrowBlockPositions = kNarrowThreads / 32;
extern const Kernel<SimpleArguments> kNarrowKernel;
inline constexpr int kSimpleThreads = 128;
/// US2 and US3 with any number of octets. Blocks: (positions, candidates).
extern const Kernel<SimpleArguments> kSimpleKernel;
inline constexpr int kReferenceThreads = 256;
inline constexpr int kReferenceOctets = 8;  ///< of a block, at most
/// US4: the similarities take the place of the S-cells. Blocks: (positions, candidates, planes).
extern const Kernel<SimpleArguments> kReferenceKernel;

// ---- C-cells

struct ComplexArguments {
  CandidateArrays candidates;
  const WindowTap* taps;
  int center_taps;  ///< the positive ones, which come first
  int tap_count;
  int side_in;
  int side_out;
  int first;
  int planes;
  int stride;  ///< padded planes
  unsigned capacity;
};
inline constexpr int kComplexThreads = 256;
inline constexpr int kComplexBlockPositions = kComplexThreads / 32;
/// Blocks: (positions / kComplexBlockPositions, candidates).
Kernel<ComplexArguments> complex_kernel(int planes) noexcept;

// ---- UC4 and the record

/// detail::ClassReferences on the device.
struct DeviceClass {
  const float* products;
  const float* scales;
  const float* smallest;
  int count;
  int stride;
  int first;  ///< reference
};
struct ReadoutArguments {
  CandidateArrays candidates;
  const DeviceClass* classes;
  int class_count;
  int positions;           ///< of US4
  int stride;              ///< similarities of a position
  std::uint8_t* complete;  ///< for each candidate; may be null
};
inline constexpr int kReadoutThreads = 512;
/// Blocks: (classes, candidates).
extern const Kernel<ReadoutArguments> kReadoutKernel;

struct RecordArguments {
  const FrameParams* frame;
  TemporalState* state;
  FrameOutcome* outcome;
  CandidateArrays candidates;
  int class_count;  ///< scores of a candidate
  int characters;   ///< classes of characters, which come first
  // Layout tiles.
  NeocognitronRecord* record;  ///< pinned memory, cleared by the host
  ImageSize tile;
  int columns;
  bool truncated;
  ConfidenceCalibration calibration;
  float min_confidence;
  // Layout boxes: pinned memory.
  const HostCandidates* host;
  const float* rows;
  // Layout find.
  InkArguments ink;
  int most;             ///< candidates of a frame
  int max_characters;   ///< rows of the result
  const float* scores;  ///< of all candidates
  const std::uint8_t* complete;
  CharacterOdds odds;
  const CharacterSize* sizes;  ///< on the device
  int size_count;
};
inline constexpr int kRecordThreads = 128;
// The last kernel of a frame. Blocks of the first two: the rows of the result.
extern const Kernel<RecordArguments> kTileRecordKernel;
/// Copies the rows that the host wrote.
extern const Kernel<RecordArguments> kRowKernel;
/// Chooses the characters, and writes the record and the rows of the result. One block.
extern const Kernel<RecordArguments> kChoiceKernel;
inline constexpr int kChoiceThreads = 512;

}  // namespace ocellus::cuda
