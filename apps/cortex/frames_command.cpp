// ocellus cortex FRAMES: classifies frames, or the tiles of frames.
#include "apps/cortex/cortex_command.h"
#include "apps/io/output_file.h"

namespace ocellus::app {
namespace {

/// Runs the command, and saves what the frames have taught.
class CortexJob : public FrameJob {
 public:
  explicit CortexJob(const CortexCommand& command) : FrameJob(command, {}), command_(command) {
    if (!command.save_model.empty())
      require_writable_model(command.save_model,
                             command.options.config().get_if<CortexConfig>()->model.c_str());
  }

 private:
  void finish() override {
    if (!command_.save_model.empty()) frame_run().save_model(command_.save_model);
  }

  const CortexCommand& command_;
};

}  // namespace

int classify_frames(const CortexCommand& command) {
  return CortexJob(command).run();
}

}  // namespace ocellus::app
