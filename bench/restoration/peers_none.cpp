#include "bench/restoration/peers.h"

namespace ocellus::app {

std::vector<std::unique_ptr<RestorationPeer>> make_restoration_peers(const ImpulseResponse&,
                                                                     ImageSize, int) {
  return {};
}

}  // namespace ocellus::app
