// NetworkOperatorPlan: a checked configuration of the operator Network in the form that backends
// work from.
#pragma once

#include <memory>

#include "core/operator_instance.h"
#include "cortical_network/network_file.h"
#include "cortical_network/patches.h"
#include "ocellus/network.h"

namespace ocellus::detail {

/// Plain data.
struct NetworkOperatorPlan : NetworkConfig, PatchGrid {
  PixelFormat input_format = PixelFormat::kGray8;  ///< of the frames
  CorticalNetworkConfig network;                   ///< of the options, or of the file
  NetworkPlan plan;
  ReadOutTable read_out;
  std::uint64_t array_hash = 0;  ///< of the arrays that belong to the table of the file
};

/// Checks every field and reads the table of the model. Errors: those of Network::create.
Expected<void> make_plan(const NetworkConfig& config, NetworkOperatorPlan& plan) noexcept;
OperatorInfo info_of(const NetworkOperatorPlan& plan) noexcept;

/// What an operator learns and keeps.
struct NetworkModelArrays : HypercolumnArrays {
  /// Steps in which the network has learned. On CUDA the first member of a NetworkStep.
  std::uint64_t* steps = nullptr;
  std::int32_t* class_bias = nullptr;  ///< of the read-out
  std::int16_t* read_out = nullptr;
  std::size_t bytes = 0;
};
/// The arrays at `bytes`, or without memory their length.
NetworkModelArrays model_arrays_at(const NetworkOperatorPlan& plan, std::uint8_t* bytes) noexcept;
/// What an instance says of what it learns: all of these arrays.
OperatorInstance::Learned learned_of(const NetworkOperatorPlan& plan) noexcept;

/// Compares the arrays of a file with their checksum, before memory is taken for them. Errors:
/// IoError, CorruptFile.
Expected<void> verify_network_file(const NetworkOperatorPlan& plan) noexcept;

/// Fills the arrays with a new network, or with that of the file. For creation. Errors: IoError,
/// CorruptFile (also if the file is no longer the one that was planned with), OutOfMemory.
Expected<void> read_network(const NetworkOperatorPlan& plan, std::uint8_t* to) noexcept;

/// Writes the file of a network with what `instance`, an operator of this plan that learns, has
/// learned. Does not allocate. Errors: InvalidArgument (path), IoError, those of read_learned.
Expected<void> save_network(const char* path, const NetworkOperatorPlan& plan,
                            OperatorInstance& instance) noexcept;

/// Instances without memory; null when the system has none.
std::unique_ptr<OperatorInstance> make_on_cpu(const NetworkOperatorPlan& plan,
                                              int workers) noexcept;
std::unique_ptr<OperatorInstance> make_on_cuda(const NetworkOperatorPlan& plan) noexcept;

}  // namespace ocellus::detail
