#include "apps/optical_flow/kernel_bank_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <streambuf>
#include <string_view>
#include <tuple>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/json_text.h"
#include "apps/common/printable.h"
#include "apps/io/output_file.h"
#include "optical_flow/kernel_bank_file.h"

namespace ocellus::app {

const char* const kKernelJsonHelp =
    "The file is one object:\n"
    "  {\"note\": \"...\", \"form\": \"uniform\", \"kernels\": K}  or\n"
    "  {\"note\": \"...\", \"form\": \"per-pixel\", \"size\": [WIDTH, HEIGHT], \"pixels\": [K, K, "
    "...]}  row by row,\n"
    "  K = [convolution, ...], convolution = [term, ...], term = {\"x\": [...], \"y\": [...], "
    "\"t\": [...]}\n"
    "With \"form\": \"full\", which is otherwise as per-pixel, kernels need not be separable:\n"
    "  convolution = [{\"taps\": [[[...], ...], ...]}]  by frame from the newest, by row, by "
    "column\n"
    "It may have any length if all members stand before \"pixels\"; otherwise at most\n"
    "800,000 values.";
static_assert(kMostJsonValues == 800'000, "the help says so");

namespace {

using Json = nlohmann::json;

/// Numbers are read as double, so that the error text can show one beyond the range of float.
float checked_tap(double value, const std::string& where) {
  if (std::fabs(value) <= detail::kMaxFileTap) return static_cast<float>(value);  // false for NaN
  throw InputError(
      fmt::format("{}: a tap is {:g}; taps must be finite and at most 1e6", where, value));
}

std::vector<float> json_taps(const Json& term, const char* axis, int expected,
                             const std::string& where) {
  const auto found = term.find(axis);
  if (found == term.end() || !found->is_array() || found->empty()) {
    throw InputError(fmt::format("{}: \"{}\" must be an array of taps", where, axis));
  }
  if (expected > 0 && found->size() != static_cast<std::size_t>(expected)) {
    throw InputError(fmt::format("{}: \"{}\" has {} taps; the first kernel has {}", where, axis,
                                 found->size(), expected));
  }
  std::vector<float> taps;
  for (const Json& tap : *found) {
    if (!tap.is_number())
      throw InputError(
          fmt::format("{}: \"{}\" contains something other than numbers", where, axis));
    taps.push_back(checked_tap(tap.get<double>(), fmt::format("{}: \"{}\"", where, axis)));
  }
  return taps;
}

/// `expected`: 0 for the first array of its kind, which has at most `most` elements.
void check_array(const Json& array, const char* name, int expected, int most,
                 const std::string& where) {
  if (!array.is_array() || array.empty())
    throw InputError(fmt::format("{} must be an array of {}s", where, name));
  if (expected > 0 && array.size() != static_cast<std::size_t>(expected)) {
    throw InputError(
        fmt::format("{} has {} {}s; it must have {}", where, array.size(), name, expected));
  }
  if (array.size() > static_cast<std::size_t>(most)) {
    throw InputError(
        fmt::format("{} has {} {}s; at most {} are allowed", where, array.size(), name, most));
  }
}

/// `taps` of a full kernel, by frame, row and column. `expected`: 0 or the sizes, which it sets.
std::vector<float> json_full_taps(const Json& term, std::array<int, 3>& expected,
                                  const std::string& where) {
  std::vector<float> taps;
  const auto add = [&](const auto& self, const Json& value, std::size_t axis) -> void {
    if (axis == expected.size()) {
      if (!value.is_number())
        throw InputError(fmt::format("{}: \"taps\" contains something other than numbers", where));
      taps.push_back(checked_tap(value.get<double>(), where + ": \"taps\""));
      return;
    }
    constexpr const char* kParts[] = {"frame", "row", "column"};
    check_array(value, kParts[axis], expected[axis], kMaxKernelTaps, where + ": \"taps\"");
    expected[axis] = static_cast<int>(value.size());
    for (const Json& part : value) self(self, part, axis + 1);
  };
  if (!term.contains("taps")) throw InputError(fmt::format("{} has no \"taps\"", where));
  add(add, term["taps"], 0);
  return taps;
}

/// The text for the parser, which would keep a string of any length in memory.
class BoundedText : public std::streambuf {
 public:
  explicit BoundedText(std::streambuf& from) : from_(from) {}

  /// The parser has completed a value.
  void found_value() { since_value_ = 0; }

 protected:
  int_type underflow() override {
    if (since_value_ > kMostJsonBytes) {
      throw InputError(fmt::format("it has more than {} without a value, which is the limit",
                                   bytes_text(kMostJsonBytes)));
    }
    const std::streamsize got = from_.sgetn(bytes_.data(), bytes_.size());
    if (got <= 0) return traits_type::eof();
    since_value_ += static_cast<std::size_t>(got);
    setg(bytes_.data(), bytes_.data(), bytes_.data() + got);
    return traits_type::to_int_type(bytes_[0]);
  }

 private:
  std::streambuf& from_;
  std::size_t since_value_ = 0;
  std::array<char, 4096> bytes_;
};

/// Writes the bank while it is parsed. If its form and its size come before its pixels, each pixel
/// is written and forgotten as soon as it is complete.
class Conversion {
 public:
  Conversion(std::istream& json, const std::string& out) : text_(*json.rdbuf()), out_(out) {}

  void run() {
    check_begin();
    std::istream text(&text_);
    text.exceptions(std::ios::badbit);
    try {
      std::ignore = Json::parse(text, [this](int depth, Json::parse_event_t event, Json& value) {
        return keeps(depth, event, value);
      });
    } catch (const Json::exception& error) {
      refuse_json(error);
    }
    set_shape();
    if (bank_.form == KernelForm::kUniform) {
      write(members_["kernels"], "kernels");
    } else {
      const Json& rest = members_["pixels"];
      if (!rest.is_array()) throw InputError("\"pixels\" must be an array of pixels");
      for (const Json& kernels : rest) write_pixel(kernels);
      const auto pixels = static_cast<std::uint64_t>(bank_.size.width) *
                          static_cast<std::uint64_t>(bank_.size.height);
      if (pixels_ != pixels) {
        throw InputError(fmt::format("\"pixels\" has {} pixels; it must have {}", pixels_, pixels));
      }
    }
    take(writer_->finish(), out_);
  }

 private:
  /// The text must not be one that the parser reports in its own words.
  void check_begin() {
    const auto peek = [this] { return text_.sgetc(); };
    while (peek() == ' ' || (peek() >= '\t' && peek() <= '\r')) text_.sbumpc();
    if (peek() == std::streambuf::traits_type::eof()) throw InputError("it is empty");
    if (peek() == '{' || peek() == '[') return;
    std::string begin(2 * kMostOfValue, '\0');
    begin.resize(static_cast<std::size_t>(
        text_.sgetn(begin.data(), static_cast<std::streamsize>(begin.size()))));
    check_json_begin(begin);
  }

  /// What the parser has found. Returns whether the parser keeps it.
  bool keeps(int depth, Json::parse_event_t event, Json& value) {
    using Event = Json::parse_event_t;
    text_.found_value();
    if (depth > kMostJsonDepth) {
      throw InputError(fmt::format("the JSON nests arrays and objects deeper than the limit, {}",
                                   kMostJsonDepth));
    }
    const bool is_complete =
        event == Event::value || event == Event::array_end || event == Event::object_end;
    if (event == Event::value || event == Event::array_start || event == Event::object_start)
      ++kept_;
    if (kept_ > kMostJsonValues) {
      throw InputError(
          fmt::format("the JSON has too many values; the limit is {}, unless \"form\" and \"size\" "
                      "stand before \"pixels\"",
                      kMostJsonValues));
    }
    // The time of the parser grows with the square of the number of objects in an array.
    constexpr int kConvolutionDepth = 3;
    if (event == Event::array_start && depth <= kConvolutionDepth) objects_ = 0;
    if (event == Event::object_start && depth > 0 && ++objects_ > kMaxKernelTerms) {
      throw InputError(
          fmt::format("a convolution in \"{}\" has more than {} terms", member_, kMaxKernelTerms));
    }
    if (depth == 0 && event != Event::object_start && event != Event::object_end)
      throw InputError("the JSON is not an object");
    if (depth == 1 && event == Event::key) {
      member_ = value.get<std::string>();
      constexpr std::string_view kKnown[] = {"note", "form", "size", "kernels", "pixels"};
      if (std::find(std::begin(kKnown), std::end(kKnown), member_) == std::end(kKnown)) {
        throw InputError(
            fmt::format("\"{}\" is unknown; the fields are note, form, size, kernels, pixels",
                        printable(member_, kMostOfValue)));
      }
      if (pixels_ > 0)
        throw InputError(fmt::format("\"{}\" must stand before \"pixels\"", member_));
      return true;
    }
    if (depth == 1 && is_complete) {
      members_[member_] = std::move(value);
      return false;
    }
    if (depth == 2 && is_complete && member_ == "pixels" && members_.contains("form") &&
        members_.contains("size")) {
      write_pixel(value);
      kept_ = 0;
      return false;
    }
    return true;
  }

  /// Takes the members that are known before the first taps.
  void set_shape() {
    if (shaped_) return;
    shaped_ = true;
    const Json& form = members_["form"];
    if (form != "uniform" && form != "per-pixel" && form != "full")
      throw InputError("\"form\" must be \"uniform\", \"per-pixel\" or \"full\"");
    const bool per_pixel = form != "uniform";
    bank_.form = !per_pixel       ? KernelForm::kUniform
                 : form == "full" ? KernelForm::kFull
                                  : KernelForm::kPerPixel;
    bank_.size = {1, 1};
    if (per_pixel) {
      const Json& size = members_["size"];
      const auto is_side = [](const Json& side) {
        return side.is_number_unsigned() && side > 0 && side <= kMaxImageSide;
      };
      if (!size.is_array() || size.size() != 2 || !is_side(size[0]) || !is_side(size[1])) {
        throw InputError(
            fmt::format("\"size\" must be [width, height], each 1 to {}", kMaxImageSide));
      }
      bank_.size = {size[0].get<int>(), size[1].get<int>()};
    }
    const bool has_pixels = members_.contains("pixels") || member_ == "pixels";
    if (has_pixels != per_pixel || members_.contains("kernels") == per_pixel) {
      throw InputError(fmt::format("a {} bank has its taps in \"{}\"", form.get<std::string>(),
                                   per_pixel ? "pixels" : "kernels"));
    }
  }

  void write_pixel(const Json& kernels) {
    set_shape();
    write(kernels, fmt::format("pixels[{}]", pixels_));
    ++pixels_;
  }

  void write(const Json& kernels, const std::string& at_pixel) {
    check_array(kernels, "convolution", bank_.convolutions, kMaxConvolutions, at_pixel);
    bank_.convolutions = static_cast<int>(kernels.size());
    for (std::size_t c = 0; c < kernels.size(); ++c) {
      const std::string at_convolution = fmt::format("{}[{}]", at_pixel, c);
      const Json& terms = kernels[c];
      check_array(terms, "term", bank_.terms, bank_.form == KernelForm::kFull ? 1 : kMaxKernelTerms,
                  at_convolution);
      bank_.terms = static_cast<int>(terms.size());
      for (std::size_t r = 0; r < terms.size(); ++r)
        write_term(terms[r], fmt::format("{}[{}]", at_convolution, r));
    }
  }

  void write_term(const Json& term, const std::string& where) {
    const bool full = bank_.form == KernelForm::kFull;
    if (!term.is_object())
      throw InputError(
          fmt::format("{} must be an object with {}", where, full ? "taps" : "x, y and t"));
    if (full) {
      std::array<int, 3> sizes = {bank_.nt, bank_.ny, bank_.nx};
      const std::vector<float> taps = json_full_taps(term, sizes, where);
      const auto size = [&](std::size_t axis) { return static_cast<std::size_t>(sizes[axis]); };
      if (!writer_) open(size(2), size(1), size(0));
      take(writer_->add(taps.data(), nullptr, nullptr), where);
      return;
    }
    const std::vector<float> x = json_taps(term, "x", bank_.nx, where);
    const std::vector<float> y = json_taps(term, "y", bank_.ny, where);
    const std::vector<float> t = json_taps(term, "t", bank_.nt, where);
    if (!writer_) open(x.size(), y.size(), t.size());
    take(writer_->add(x.data(), y.data(), t.data()), where);
  }

  void open(std::size_t nx, std::size_t ny, std::size_t nt) {
    // The writer reports what is out of range.
    const auto count = [](std::size_t n) {
      return static_cast<int>(std::min<std::size_t>(n, 1000));
    };
    bank_.nx = count(nx);
    bank_.ny = count(ny);
    bank_.nt = count(nt);
    if (members_.contains("note")) {
      if (!members_["note"].is_string()) throw InputError("\"note\" must be a string");
      const auto note = members_["note"].get<std::string>();
      detail::copy_note(bank_.note, sizeof(bank_.note), note.data(), note.size());
    }
    writer_ = open_kernel_bank(out_, bank_);
  }

  BoundedText text_;
  const std::string& out_;               // must outlive the writer
  std::map<std::string, Json> members_;  ///< of the object; without the pixels that are written
  std::string member_;                   ///< that is being read
  std::size_t kept_ = 0;                 ///< values that the parser may hold
  int objects_ = 0;                      ///< of the array that is being read
  bool shaped_ = false;
  detail::KernelBankHeader bank_;
  std::uint64_t pixels_ = 0;  ///< that are written
  std::unique_ptr<detail::KernelBankWriter> writer_;
};

}  // namespace

std::unique_ptr<detail::KernelBankWriter> open_kernel_bank(const std::string& path,
                                                           const detail::KernelBankHeader& bank) {
  require_writable_model(path);
  require_free_space(path, bank.tap_bytes());
  auto writer = std::make_unique<detail::KernelBankWriter>();
  take(writer->open(path.c_str(), bank), "kernels");
  return writer;
}

void kernel_bank_from_json(std::istream& json, const std::string& out) {
  Conversion(json, out).run();
}

}  // namespace ocellus::app
