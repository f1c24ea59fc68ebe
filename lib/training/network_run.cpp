#include "training/network_run.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/failure.h"
#include "neocognitron/best_class.h"
#include "neocognitron/half.h"
#include "neocognitron/references.h"
#include "training/reference_learning.h"

namespace ocellus {
namespace detail {

Error stopped_training() noexcept {
  return make_error(Status::kUnsupported, "training: stopped before its end");
}

Expected<void> check_images(const LabeledImages& images) noexcept {
  for (const auto& [name, side] : {std::pair{"width", images.width}, {"height", images.height}}) {
    if (side < 8 || side > 1024)
      return invalid_argument("training: %s of the images is %d; it must be 8 to 1024", name, side);
  }
  const std::size_t expected = images.count() * images.pixels();
  if (images.ink.size() != expected) {
    return invalid_argument("training: there are %zu pixels; %zu images of %dx%d have %zu",
                            images.ink.size(), images.count(), images.width, images.height,
                            expected);
  }
  return {};
}

InkImage image_at(const LabeledImages& images, std::size_t i) noexcept {
  return {images.image(i), images.width, images.height, images.width};
}

namespace {

/// The references of a network in memory of their own.
class TrainedReferences {
 public:
  explicit TrainedReferences(const TrainedNeocognitron& trained) {
    NeocognitronTable table;
    table.parameters = trained.parameters;
    table.planes = trained.planes;
    table.classes = static_cast<int>(trained.names.size());
    for (const std::uint16_t label : trained.labels) ++table.references[label];
    LayoutBuilder counting;
    classes_.layout(table, counting);
    memory_ = AlignedArray<std::uint8_t>(counting.bytes());
    LayoutBuilder placing(memory_.get());
    classes_.layout(table, placing);
    std::vector<std::uint16_t> halves(trained.weights[3].size());
    std::transform(trained.weights[3].begin(), trained.weights[3].end(), halves.begin(),
                   half_from_float);
    if (!classes_.prepare(table, halves.data())) std::abort();  // as AlignedArray does
  }
  const ReferenceClasses& classes() const noexcept { return classes_; }

 private:
  AlignedArray<std::uint8_t> memory_;
  ReferenceClasses classes_;
};

}  // namespace

std::vector<CharacterScores> recognize_all(
    const TrainedNeocognitron& trained, const LabeledImages& images,
    const std::vector<DistortedImage>& which, ThreadTeam& team,
    const std::function<bool(const char* what, double share)>& progress) {
  Network network(trained.parameters);
  int below = kContrastPlanes;
  for (std::size_t l = 0; l < 3; ++l) {
    network.add(below, trained.planes[l], trained.weights[l]);
    below = trained.planes[l];
  }
  const Stage last(trained.parameters, 3, below, trained.planes[3], trained.weights[3]);
  const TrainedReferences references(trained);
  const auto rooms = network.rooms(team.threads());
  const int stride = last.layer().stride();
  std::vector<CharacterScores> out(which.size());
  const std::size_t positions = squared(last.window().sides.out);
  struct LastRoom {
    std::vector<float> v;
    AlignedFloats similarities;
    StoredCells cells;
    std::vector<float> scores;
  };
  std::vector<LastRoom> last_rooms(static_cast<std::size_t>(team.threads()));
  for (LastRoom& room : last_rooms) {
    room.v.resize(positions);
    room.similarities =
        AlignedFloats(positions * static_cast<std::size_t>(stride) + kPlaneAlignment);
  }
  // In parts, so that `progress` is called by this thread.
  constexpr std::size_t kPart = 512;
  for (std::size_t begin = 0; begin < out.size(); begin += kPart) {
    if (progress &&
        !progress("recognition", static_cast<double>(begin) / static_cast<double>(out.size())))
      return {};
    team.for_all(std::min(kPart, out.size() - begin), [&](std::size_t i, int thread) {
      Network::Room& room = *rooms[static_cast<std::size_t>(thread)];
      LastRoom& end = last_rooms[static_cast<std::size_t>(thread)];
      const DistortedImage& one = which[begin + i];
      write_u0(image_at(images, one.image), trained.normalization, one.distortion, room.u0);
      network.run(room, end.cells);
      reference_similarities(last.layer(), end.cells.view(), end.v.data(), end.similarities.get());
      end.scores.resize(trained.names.size());
      references.classes().score(end.similarities.get(), stride, end.scores.data());
      const BestClass best =
          best_class(end.scores.data(), static_cast<int>(trained.characters()), trained.has_other);
      out[begin + i] = {best.label, best.similarity, best.margin, best.other};
    });
  }
  return out;
}

}  // namespace detail

Expected<std::vector<CharacterScores>> recognize(
    const TrainedNeocognitron& network, const LabeledImages& images, int threads,
    const std::function<bool(const char* what, double share)>& progress) noexcept {
  using namespace detail;
  OCELLUS_TRY(check_images(images));
  std::vector<DistortedImage> which(images.count());
  for (std::size_t i = 0; i < which.size(); ++i) which[i].image = i;
  OCELLUS_TRY_ASSIGN(team, ThreadTeam::create(threads));
  std::vector<CharacterScores> scores = recognize_all(network, images, which, **team, progress);
  if (scores.size() != which.size()) return tl::unexpected(stopped_training());
  return scores;
}

}  // namespace ocellus
