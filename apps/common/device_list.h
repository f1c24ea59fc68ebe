// Options that list devices of this machine.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "ocellus/engine.h"

namespace ocellus::app {

/// A device of this machine.
struct ListedDevice {
  std::string name;     ///< "cpu" or "cuda:1"
  EngineConfig engine;  ///< without its memory
  EngineInfo info;      ///< of such an engine
  std::string limit;    ///< what the list has after a comma; empty: nothing
};

// `engine`: the configuration of each engine but for its backend.

/// All CUDA devices that answer.
std::vector<ListedDevice> cuda_devices(const EngineConfig& engine);
/// Throws InputError.
ListedDevice cpu_device(const EngineConfig& engine);

/// Parses devices with spaces between them, such as "cuda:0,3GB cpu", at least one. `option` and
/// `whole`, the word for all devices, which the caller has looked for, are named in errors. Throws
/// InputError.
std::vector<ListedDevice> parse_device_list(const std::string& option, const std::string& text,
                                            const EngineConfig& engine, const std::string& whole);

/// The devices that process frames: those of `text`, without limits. "all": all CUDA devices, or
/// the CPU if there is none. Throws InputError.
std::vector<ListedDevice> parse_frame_devices(const std::string& option, const std::string& text,
                                              const EngineConfig& engine);

/// What the help of an option says about the value for parse_frame_devices.
inline constexpr const char* kFrameDevicesHelp =
    "Devices with spaces between them, cpu or cuda:N, such as \"cuda:0 cuda:1\"; all: all CUDA "
    "devices, or the CPU if there is none";

/// Adds --devices, which replaces --backend. `command` must have the common options.
void add_devices_option(CLI::App& command, CommonOptions& options);

/// The engines of --devices, or the one of --backend, with their memory not yet set. Throws
/// InputError.
std::vector<EngineConfig> engine_configs(const CommonOptions& options);

}  // namespace ocellus::app
