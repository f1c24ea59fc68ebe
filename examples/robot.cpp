// A robot's camera loop: moving objects, a sharper picture and digits, all from the newest frame
// and by a deadline. Reads frames of 8-bit gray pixels from standard input.
#include <ocellus/ocellus.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

using namespace ocellus;

template <typename T>
T need(Expected<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "robot: %s\n", result.error().text);
  std::exit(1);
}

int main(int argc, char** argv) {
  const ImageSize size{argc > 1 ? std::atoi(argv[1]) : 640, argc > 2 ? std::atoi(argv[2]) : 480};
  const std::chrono::milliseconds budget(argc > 3 ? std::atoi(argv[3]) : 33);
  OpticalFlowConfig flow_config = OpticalFlowConfig::fast(size);
  flow_config.objects = 16;
  const RestorationConfig sharpen_config{.size = size};
  const NeocognitronConfig digits_config{.size = size};

  // All memory is taken here: for the mailbox, and for three operators that share the workers.
  EngineConfig engine_config;
  engine_config.memory = FrameMailbox::footprint(size);
  Engine engine = need(create_engine(engine_config, {flow_config, sharpen_config, digits_config}));
  FrameMailbox mailbox = need(FrameMailbox::create(engine, size));

  // Results, before the operators that write them.
  const auto plane = [](std::vector<float>& values, ImageSize of) {
    values.resize(static_cast<std::size_t>(of.width) * static_cast<std::size_t>(of.height));
    return ImageView{values.data(), of, of.width * 4, PixelFormat::kFloat32};
  };
  std::vector<float> u, v, scores;
  std::vector<unsigned char> sharp(static_cast<std::size_t>(size.width * size.height));
  MovingObjectsRecord objects;
  NeocognitronRecord text;
  OpticalFlow flow = need(OpticalFlow::create(engine, flow_config));
  Restoration sharpen = need(Restoration::create(engine, sharpen_config));
  Neocognitron digits = need(Neocognitron::create(engine, digits_config));
  const FlowOutput motion{.u = plane(u, size), .v = plane(v, size), .objects = &objects};
  const ImageView picture{sharp.data(), size, size.width};
  const ImageView score_rows = plane(scores, digits.info().planes[0].size);

  std::thread camera([&] {
    for (std::uint64_t number = 0;; ++number) {
      const ImageView to = mailbox.back();
      for (int y = 0; y < size.height; ++y)
        if (std::fread(to.row<char>(y), static_cast<std::size_t>(size.width), 1, stdin) != 1)
          return mailbox.close();
      mailbox.publish(number);
    }
  });
  OperatorHandle* const all[] = {&flow, &sharpen, &digits};
  std::size_t last = 0;
  char line[128];
  while (const Expected<Frame> frame = mailbox.take(Deadline::never())) {  // until the camera ends
    const Ticket tickets[] = {need(flow.submit(*frame, motion)),
                              need(sharpen.submit(*frame, picture)),
                              need(digits.submit(*frame, score_rows, &text))};
    Deadline deadline = Deadline::after(budget);
    const int number = static_cast<int>(frame->sequence);
    for (int left = 3; left > 0;) {
      const Expected<std::size_t> done = wait_any(all, deadline, last);
      if (!done && !deadline.is_never()) {
        std::printf("frame %d: late\n", number);  // a robot brakes here
        deadline = Deadline::never();             // the operators still use the frame
        continue;
      }
      last = need(done);
      need(all[last]->wait(tickets[last], Deadline::never()));
      --left;
    }
    write_text(digits.info(), &text, kAllParts, line);
    std::printf("frame %d: %d moving objects, digits \"%s\"\n", number, objects.count, line);
  }
  camera.join();
  std::printf("%d frames were replaced by newer ones\n", static_cast<int>(mailbox.replaced()));
}
