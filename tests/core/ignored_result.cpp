// Code that ignores a result. CALL (0 to 4) selects the statement. The compiler must warn.
#include "ocellus/ocellus.h"

void ignore(ocellus::Engine& engine, ocellus::OpticalFlow& flow, const ocellus::Frame& frame,
            const ocellus::FlowOutput& out) {
#if CALL == 0
  static_cast<void>(engine), static_cast<void>(flow.submit(frame, out));  // ignored explicitly
#elif CALL == 1
  flow.submit(frame, out);
#elif CALL == 2
  flow.wait(ocellus::Ticket{}, ocellus::Deadline::never());
#elif CALL == 3
  ocellus::OpticalFlow::create(engine, {});
#elif CALL == 4
  ocellus::Engine::create({});
#endif
}
