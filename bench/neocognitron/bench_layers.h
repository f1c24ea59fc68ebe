// What the files of `ocellus bench digits --schedule papers` and `all` share: the characters and
// the columns of the table.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "apps/io/digit_scene.h"
#include "bench/neocognitron/bench.h"
#include "bench/papers/neocognitron/paper_programs.h"
#include "ocellus/neocognitron_training.h"

namespace ocellus::app {

/// A network and characters to recognize.
struct LayerBenchCase {
  std::string model;  ///< that the operator reads
  TrainedNeocognitron network;
  DigitImages digits;
  std::vector<std::vector<float>> characters;  ///< U0 of each digit
  /// Similarities of each character to the classes by the operator on the CPU, and the largest
  /// similarities to references.
  std::vector<std::vector<float>> scores;
  std::vector<std::vector<float>> largest;
};

/// A program or a schedule with its times in milliseconds, one for each character.
struct LayerColumn {
  std::string name;
  std::string group;                                               ///< "paper" or "ours"
  std::string processor;                                           ///< "cpu" or "cuda"
  std::array<std::vector<double>, kNeocognitronStages> simple_ms;  ///< empty: not measured
  std::vector<double> character_ms;                                ///< from U0 to UC4
  std::vector<double> transfer_ms;  ///< on a device: from and to the host; may be empty
  /// On a device: kSeveral characters by the clock of the host, transfers included, one after
  /// another and overlapping. May be empty.
  std::vector<double> in_turn_ms;
  std::vector<double> overlapped_ms;
  std::array<int, kNeocognitronStages> threads{};  ///< of a block; 0: not known
  paper::PaperNetwork::Counts counts{};            ///< of all characters; 0: not known
  /// On a device: instructions of `counts` in the time of a layer, divided by the most that the
  /// device executes in it. Empty: not known.
  std::vector<double> instruction_share;
  /// Threads of a block that were tried for S1 to S4, and the milliseconds of the layer.
  std::array<std::vector<std::pair<double, double>>, kNeocognitronStages> trials;
  double difference = 0.0;  ///< the largest one from the operator on the CPU
};

/// Notes the difference of cells or scores from those of the operator. Throws std::runtime_error if
/// it is above the tolerance: the times of wrong results mean nothing.
void note_difference(LayerColumn& column, const char* what, const std::vector<float>& expected,
                     const std::vector<float>& actual);

/// Characters that are recognized at the same time: as many as a telephone number has.
inline constexpr int kSeveral = 8;
/// Streams in which they overlap.
inline constexpr int kStreams = 4;

/// Characters on which each S-layer is compared.
inline constexpr std::size_t kComparedCharacters = 3;

/// The columns of a CUDA device. Calls `done` after each one.
std::vector<LayerColumn> device_layer_columns(const DigitsBenchOptions& options,
                                              const EngineConfig& engine,
                                              const LayerBenchCase& made,
                                              const std::function<void()>& done);

/// Measures all columns on the CPU and, if `info` is of one, on a CUDA device. Prints the tables.
int bench_digit_layers(const DigitsBenchOptions& options, const EngineConfig& engine,
                       const EngineInfo& info);

}  // namespace ocellus::app
