#include "bench/device_rows.h"

namespace ocellus::app {

void DeviceRow::measure(const EngineConfig& engine, const OperatorMaker& maker,
                        const RunMemory& memory, const std::vector<const GrayImage*>& frames,
                        int most_frames, int planes, const std::function<void(DeviceRun&)>& then) {
  try {
    DeviceRun run(engine, maker, memory, frames, planes);
    times = run.measure(most_frames);
    if (then) then(run);
  } catch (const RowRefused& refused) {
    refusal = refused.what();
  }
}

bool add_figures(Json& json, const DeviceRow& row, const cuda::DeviceLimits& limits) {
  if (!row.has_figures()) {
    json["not_run"] = row.refusal;
    return false;
  }
  add_times(json, row.times);
  add_floor(json, row.work, limits);
  json["ratio"] = row.ms() / floor_of(row.work, limits).ms;
  return true;
}

std::vector<const GrayImage*> frames_in_flight(const Clip& clip, int depth) {
  std::vector<const GrayImage*> frames;
  for (int i = 0; i < depth; ++i) frames.push_back(&clip.cyclic(static_cast<std::size_t>(i)));
  return frames;
}

}  // namespace ocellus::app
