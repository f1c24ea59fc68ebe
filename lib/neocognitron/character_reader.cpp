#include "neocognitron/character_reader.h"

#include <algorithm>
#include <cstddef>
#include <new>
#include <type_traits>

namespace ocellus::detail {
namespace {

/// Constructs an object in memory of the builder, which takes more memory itself, and calls `then`
/// with it. In the pass that counts bytes, `at` is null, and the object is dropped after that.
template <typename T, typename Then, typename... Arguments>
void construct(T* at, LayoutBuilder& memory, const Then& then,
               const Arguments&... arguments) noexcept {
  static_assert(std::is_trivially_destructible_v<T>);
  if (at == nullptr)
    then(T(arguments..., memory));
  else
    then(*new (at) T(arguments..., memory));
}

GrayPlane crop(const GrayPlane& plane, const Rect& rect) noexcept {
  return {plane.row(rect.y) + rect.x, plane.stride, {rect.width, rect.height}};
}

}  // namespace

Rect CharacterReader::tile(int index) const noexcept {
  const int columns = plan_->tile_columns();
  return {index % columns * plan_->tile.width, index / columns * plan_->tile.height,
          plan_->tile.width, plan_->tile.height};
}

CharacterFinderConfig CharacterReader::finder_config(const NeocognitronPlan& plan,
                                                     std::size_t field) noexcept {
  const bool has_boxes = plan.layout == CharacterLayout::kBoxes;
  const Rect& rect = plan.fields.fields[field];
  CharacterFinderConfig config;
  config.size = has_boxes ? plan.size : ImageSize{rect.width, rect.height};
  config.ink = plan.ink;
  config.min_height = plan.min_height;
  config.max_height = plan.max_height;
  config.drop_outline = !has_boxes && plan.text_parts > 0;
  return config;
}

void CharacterReader::layout(const NeocognitronPlan& plan, int workers,
                             LayoutBuilder& memory) noexcept {
  plan_ = &plan;
  const bool has_tiles = plan.layout == CharacterLayout::kTiles;
  const bool has_boxes = plan.layout == CharacterLayout::kBoxes;
  finder_count_ = has_tiles ? 0 : has_boxes ? 1 : plan.fields.count;
  const auto most = static_cast<std::size_t>(plan.max_candidates());
  sources_ = memory.take<Source>(most);
  candidate_scores_ = memory.take<CandidateScore>(most);
  bests_ = memory.take<BestClass>(most);
  reserved_ = memory.take<int>(static_cast<std::size_t>(finder_count_));
  finders_ = memory.take<CharacterFinder>(static_cast<std::size_t>(finder_count_));
  boxes_ = memory.take<BoxInk>(static_cast<std::size_t>(has_boxes ? workers : 0));
  for (int i = 0; i < finder_count_; ++i) {
    const CharacterFinderConfig config = finder_config(plan, static_cast<std::size_t>(i));
    construct(
        finders_ == nullptr ? nullptr : finders_ + i, memory,
        [&](const CharacterFinder& finder) {
          for (int w = 0; has_boxes && w < workers; ++w)
            construct(
                boxes_ == nullptr ? nullptr : boxes_ + w, memory, [](const BoxInk&) {},
                finder.components());
        },
        config);
  }
  for (int w = 0; w < workers; ++w) {
    const auto i = static_cast<std::size_t>(w);
    constexpr auto kPixels = static_cast<std::size_t>(InkImager::kSide * InkImager::kSide);
    const std::size_t tile =
        static_cast<std::size_t>(plan.tile.width) * static_cast<std::size_t>(plan.tile.height);
    images_[i] = memory.take<std::uint8_t>(has_tiles ? tile : kPixels);
    imagers_[i] = nullptr;
    if (has_tiles) continue;
    imagers_[i] = memory.take<InkImager>(1);
    construct(
        imagers_[i], memory, [](const InkImager&) {}, plan.size);
  }
}

GrayPlane CharacterReader::view_of(int finder, const GrayPlane& plane) const noexcept {
  const bool whole = plan_->layout == CharacterLayout::kBoxes;
  return whole ? plane : crop(plane, plan_->fields.fields[static_cast<std::size_t>(finder)]);
}

void CharacterReader::measure(int half, const GrayPlane& plane) noexcept {
  const int finder = half / CharacterFinder::kHalves;
  finders_[finder].measure(view_of(finder, plane), half % CharacterFinder::kHalves);
}

void CharacterReader::extract(int half, const GrayPlane& plane) noexcept {
  const int finder = half / CharacterFinder::kHalves;
  finders_[finder].extract(view_of(finder, plane), half % CharacterFinder::kHalves);
}

void CharacterReader::reserve(int most) noexcept {
  int behind = 0;
  for (int part = finder_count_ - 1; part >= 0; --part) {
    reserved_[part] = behind;
    behind += std::min(candidates_of(part), most / finder_count_);
  }
}

int CharacterReader::collect() noexcept {
  count_ = 0;
  truncated_ = false;
  const int most = plan_->max_candidates();
  if (plan_->layout != CharacterLayout::kFind) {
    const int all =
        plan_->layout == CharacterLayout::kTiles ? plan_->tile_count() : plan_->fields.count;
    truncated_ = all > most;
    for (; count_ < std::min(all, most); ++count_) sources_[count_] = {0, count_};
    return count_;
  }
  count_ = share_places(
      finder_count_, most, [this](int part) { return candidates_of(part); },
      [this](int part, int first, int count) {
        truncated_ = truncated_ || finders_[part].truncated() || candidates_of(part) > count;
        for (int i = 0; i < count; ++i) sources_[first + i] = {part, i};
      });
  return count_;
}

InkImage CharacterReader::draw(int candidate, const GrayPlane& plane, int worker) noexcept {
  const auto w = static_cast<std::size_t>(worker);
  const Source source = sources_[candidate];
  std::uint8_t* const image = images_[w];
  if (plan_->layout == CharacterLayout::kTiles) {
    const Rect box = tile(source.index);
    // The ink is the minority of the border.
    bool dark = plan_->ink == CharacterInk::kDark;
    if (plan_->ink == CharacterInk::kAuto) {
      long sum = 0;
      long count = 0;
      for (int y = 0; y < box.height; ++y) {
        const bool edge = y == 0 || y == box.height - 1;
        for (int x = 0; x < box.width; x += edge ? 1 : box.width - 1, ++count)
          sum += plane.row(box.y + y)[box.x + x];
      }
      dark = 2 * sum > 255 * count;
    }
    const std::uint8_t invert = dark ? 255 : 0;
    for (int y = 0; y < box.height; ++y) {
      const std::uint8_t* const from = plane.row(box.y + y) + box.x;
      std::uint8_t* const to = image + static_cast<std::ptrdiff_t>(y) * box.width;
      for (int x = 0; x < box.width; ++x) to[x] = static_cast<std::uint8_t>(from[x] ^ invert);
    }
    return {image, box.width, box.height, box.width};
  }
  const CharacterFinder& finder = finders_[source.part];
  ImageSize size;
  if (plan_->layout == CharacterLayout::kBoxes) {
    const Rect& box = plan_->fields.fields[static_cast<std::size_t>(source.index)];
    size = imagers_[w]->draw(plane, finder.levels(),
                             boxes_[worker].select(finder.components(), box), box, image);
  } else {
    const CharacterCandidate& found = finder.candidates()[static_cast<std::size_t>(source.index)];
    size = imagers_[w]->draw(view_of(source.part, plane), finder.levels(), finder.ink(source.index),
                             found.box, image);
  }
  return {image, size.width, size.height, InkImager::kSide};
}

void CharacterReader::add(int candidate, const Rect& box, int line, int field, const float* scores,
                          bool complete, NeocognitronRecord& record,
                          const ImageView& rows) const noexcept {
  const auto i = static_cast<std::size_t>(record.count++);
  const BestClass& best = bests_[candidate];
  record.label[i] = best.label;
  record.similarity[i] = best.similarity;
  record.margin[i] = best.lead();
  record.x[i] = box.x;
  record.y[i] = box.y;
  record.width[i] = box.width;
  record.height[i] = box.height;
  record.line[i] = line;
  record.field[i] = field;
  if (best.label < 0) {
    record.flags[i] |= kCharacterEmpty;
  } else {
    record.confidence[i] = plan_->model.table.calibration.confidence(best.lead(), best.similarity);
    if (record.confidence[i] < plan_->min_confidence) record.flags[i] |= kCharacterRejected;
  }
  if (!complete) record.flags[i] |= kCharacterCapped;
  std::copy_n(scores, plan_->model.table.characters(), rows.row<float>(static_cast<int>(i)));
}

void CharacterReader::clear_rows(const ImageView& rows) const noexcept {
  for (int y = 0; y < plan_->max_characters; ++y)
    std::fill_n(rows.row<float>(y), plan_->model.table.characters(), 0.0f);
}

void CharacterReader::finish(const float* scores, const std::uint8_t* complete,
                             NeocognitronRecord& record, const ImageView& rows) noexcept {
  clear_rows(rows);
  record.truncated = truncated_;
  const NeocognitronTable& table = plan_->model.table;
  const auto scores_of = [&](int candidate) { return scores + candidate * table.classes; };
  for (int i = 0; i < count_; ++i) {
    const BestClass best = best_class(scores_of(i), table.characters(), table.has_other);
    bests_[i] = best;
    candidate_scores_[i] = {best.label, best.similarity, best.margin, best.other};
  }
  if (plan_->layout != CharacterLayout::kFind) {
    const bool has_tiles = plan_->layout == CharacterLayout::kTiles;
    for (int i = 0; i < count_; ++i) {
      const Rect box = has_tiles ? tile(i) : plan_->fields.fields[static_cast<std::size_t>(i)];
      add(i, box, 0, has_tiles ? 0 : i, scores_of(i), complete[i] != 0, record, rows);
    }
    return;
  }
  reserve(plan_->max_characters);
  int begin = 0;
  while (begin < count_) {
    // The candidates of one part.
    const int part = sources_[begin].part;
    int end = begin + 1;
    while (end < count_ && sources_[end].part == part) ++end;
    const auto candidates =
        finders_[part].candidates().first(static_cast<std::size_t>(end - begin));
    choose_characters(candidates, {candidate_scores_ + begin, candidates.size()}, table.odds,
                      table.known_sizes(), choice_);
    record.truncated = record.truncated || choice_.more;
    const Rect& field = plan_->fields.fields[static_cast<std::size_t>(part)];
    for (const std::uint8_t chosen : choice_.chosen()) {
      if (record.count == plan_->max_characters - reserved_[part]) {
        record.truncated = true;
        break;
      }
      const CharacterCandidate& found = candidates[chosen];
      const Rect box{found.box.x + field.x, found.box.y + field.y, found.box.width,
                     found.box.height};
      const int candidate = begin + chosen;
      add(candidate, box, found.line, part, scores_of(candidate), complete[candidate] != 0, record,
          rows);
    }
    begin = end;
  }
}

}  // namespace ocellus::detail
