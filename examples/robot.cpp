// A robot's camera loop: moving objects, a sharper picture and digits, all from the newest frame
// and by a deadline. Reads frames of 8-bit gray pixels from standard input.
#include <ocellus/ocellus.h>

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
  flow_config.priority = OperatorPriority::kHigh;  // it finds what the robot must not hit
  const RestorationConfig sharpen_config{.size = size, .filter = "gaussian-1.5"};
  const NeocognitronConfig digits_config{.size = size, .priority = OperatorPriority::kLow};
  // All memory of the library is taken here: the mailbox, and three operators that share workers.
  const EngineConfig engine_config{.memory = FrameMailbox::footprint(size)};
  Engine engine = need(create_engine(engine_config, {flow_config, sharpen_config, digits_config}));
  FrameMailbox mailbox = need(FrameMailbox::create(engine, size));
  const int pixels = size.width * size.height;
  std::vector<float> u(pixels), v(pixels), scores(kMaxFieldCharacters * kMaxCharacterClasses);
  std::vector<unsigned char> sharp(pixels);
  const auto plane = [](std::vector<float>& values, ImageSize of) {
    return ImageView{values.data(), of, of.width * 4, PixelFormat::kFloat32};
  };
  MovingObjectsRecord objects;
  NeocognitronRecord text;
  OpticalFlow flow = need(OpticalFlow::create(engine, flow_config));
  Restoration sharpen = need(Restoration::create(engine, sharpen_config));
  Neocognitron digits = need(Neocognitron::create(engine, digits_config));
  const std::jthread camera([&] {
    for (std::uint64_t number = 0;; mailbox.publish(number++))
      for (int y = 0; y < size.height; ++y)
        if (std::fread(mailbox.back().row<char>(y), size.width, 1, stdin) != 1)
          return mailbox.close();
  });
  OperatorHandle* const all[] = {&flow, &sharpen, &digits};
  const FlowOutput motion{.u = plane(u, size), .v = plane(v, size), .objects = &objects};
  while (const Expected<Frame> frame = mailbox.take(Deadline::never())) {  // until the camera ends
    const int number = static_cast<int>(frame->sequence);
    const Ticket tickets[] = {
        need(flow.submit(*frame, motion)),
        need(sharpen.submit(*frame, ImageView{sharp.data(), size, size.width})),
        need(digits.submit(*frame, plane(scores, digits.info().planes[0].size), &text))};
    Deadline deadline = Deadline::after(budget);
    for (int left = 3; left > 0; --left) {
      Expected<std::size_t> done = wait_any(all, deadline);
      if (!done && !deadline.is_never()) {
        std::printf("frame %d: late\n", number);             // a robot brakes here
        done = wait_any(all, deadline = Deadline::never());  // the frame is still in use
      }
      need(all[need(done)]->wait(tickets[*done], Deadline::never()));
    }
    char line[128];
    write_text(digits.info(), &text, kAllParts, line);
    std::printf("frame %d: %d moving objects, digits \"%s\"\n", number, objects.count, line);
  }
  std::printf("%d frames were replaced by newer ones\n", static_cast<int>(mailbox.replaced()));
}
