#include "apps/optical_flow/kernel_bank_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <streambuf>
#include <string_view>
#include <vector>

#include "apps/common/json_text.h"
#include "apps/common/printable.h"
#include "apps/io/input_file.h"
#include "apps/optical_flow/kernel_bank_writer.h"
#include "optical_flow/kernel_bank_file.h"

namespace ocellus::app {

const char* const kKernelTextHelp =
    "The text consists of words and numbers separated by white space; # begins a comment:\n"
    "  uniform  or  per-pixel WIDTH HEIGHT\n"
    "  taps NX NY NT\n"
    "  convolutions C\n"
    "  terms R               (default 1)\n"
    "  note WORDS            (optional; to the end of the line)\n"
    "  data                  then, for each pixel (row by row), convolution and term:\n"
    "                        NX numbers wx, NY numbers wy, NT numbers wt\n"
    "The text comes from a file or a pipe and may have any length. Between two words there may\n"
    "be at most 1 MiB of white space and comments.";
static_assert(kMostJsonBytes == std::size_t{64} << 20, "the help says so");
const char* const kKernelJsonHelp =
    "JSON is one object:\n"
    "  {\"note\": \"...\", \"form\": \"uniform\", \"kernels\": K}  or\n"
    "  {\"note\": \"...\", \"form\": \"per-pixel\", \"size\": [WIDTH, HEIGHT], \"pixels\": [K, K, "
    "...]}  row by row,\n"
    "  K = [convolution, ...], convolution = [term, ...], term = {\"x\": [...], \"y\": [...], "
    "\"t\": [...]}\n"
    "It may have at most 64 MiB and 800,000 values; use from-text for larger banks.";

namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostNote = 255;

/// Numbers are read as double, so that the error text can show one beyond the range of float.
float checked_tap(double value, const std::string& where) {
  if (std::fabs(value) <= detail::kMaxFileTap) return static_cast<float>(value);  // false for NaN
  throw InputError(
      fmt::format("{}: a tap is {:g}; taps must be finite and at most 1e6", where, value));
}

// ---- text

/// Splits a text into words and counts lines. It holds little in memory, whatever the text
/// contains.
class Words {
 public:
  explicit Words(std::istream& text) : text_(*text.rdbuf()) {}

  bool next(std::string& word) {
    if (!skip_to_word()) return false;
    word.clear();
    while (!at_end() && !is_space(peek())) {
      word += take();
      if (word.size() > kMostOfWord) {
        throw InputError(fmt::format("line {}: \"{}\" is longer than {} characters", line_,
                                     printable(word, 40), kMostOfWord));
      }
    }
    return true;
  }

  std::string need(const char* what) {
    std::string word;
    if (!next(word)) throw InputError(fmt::format("the text ends where {} should be", what));
    return word;
  }

  template <typename T>
  T number(const char* what) {
    const std::string word = need(what);
    T value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool good = end == word.data() + word.size() && error != std::errc::invalid_argument;
    if (good && error == std::errc{}) return value;
    throw InputError(fmt::format("line {}: \"{}\" is {} {}", line_, printable(word, kMostOfValue),
                                 good ? "out of range for" : "not", what));
  }

  /// The rest of the line, cut off after `most` bytes.
  std::string rest_of_line(std::size_t most) {
    std::string rest;
    for (std::size_t read = 0; !at_end() && peek() != '\n'; ++read) {
      if (read == kMostOfGap)
        throw InputError(fmt::format("line {}: it is longer than {} characters", line_, read));
      const char c = take();
      if (rest.size() < most && !(rest.empty() && is_space(c))) rest += c;
    }
    return rest;
  }

  std::uint64_t line() const { return line_; }

 private:
  using Traits = std::streambuf::traits_type;
  static constexpr std::size_t kMostOfWord = 1000;
  static constexpr std::size_t kMostOfGap = std::size_t{1} << 20;

  static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  bool at_end() { return Traits::eq_int_type(text_.sgetc(), Traits::eof()); }
  char peek() { return Traits::to_char_type(text_.sgetc()); }
  char take() { return Traits::to_char_type(text_.sbumpc()); }

  /// Skips white space and comments. Returns false at the end of the text.
  bool skip_to_word() {
    bool in_comment = false;
    for (std::size_t skipped = 0; !at_end(); ++skipped) {
      if (skipped > kMostOfGap) {
        throw InputError(
            fmt::format("line {}: more than {} bytes of white space and comments without a word",
                        line_, kMostOfGap));
      }
      const char c = peek();
      if (c == '\n') {
        in_comment = false;
        ++line_;
      } else if (!in_comment && !is_space(c)) {
        if (c != '#') return true;
        in_comment = true;
      }
      take();
    }
    return false;
  }

  std::streambuf& text_;
  std::uint64_t line_ = 1;
};

// ---- JSON

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

const Json& json_array(const Json& parent, const char* name, std::size_t expected,
                       const std::string& where) {
  if (!parent.is_array() || parent.empty())
    throw InputError(fmt::format("{} must be an array of {}s", where, name));
  if (expected > 0 && parent.size() != expected) {
    throw InputError(
        fmt::format("{} has {} {}s; it must have {}", where, parent.size(), name, expected));
  }
  return parent;
}

}  // namespace

void kernel_bank_from_text(std::istream& text, const std::string& out) {
  Words words(text);
  KernelBankShape shape;
  shape.terms = 1;
  bool have_form = false;
  for (int fields = 0;; ++fields) {
    const std::string word = words.need("\"data\"");
    if (word == "data") break;
    if (word == "uniform") {
      shape.form = KernelForm::kUniform;
      have_form = true;
    } else if (word == "per-pixel") {
      shape.form = KernelForm::kPerPixel;
      shape.size.width = words.number<int>("the image's width");
      shape.size.height = words.number<int>("the image's height");
      have_form = true;
    } else if (word == "taps") {
      shape.nx = words.number<int>("a number of taps");
      shape.ny = words.number<int>("a number of taps");
      shape.nt = words.number<int>("a number of taps");
    } else if (word == "convolutions") {
      shape.convolutions = words.number<int>("a number of convolutions");
    } else if (word == "terms") {
      shape.terms = words.number<int>("a number of terms");
    } else if (word == "note") {
      shape.note = words.rest_of_line(kMostNote);
    } else {
      throw InputError(fmt::format(
          "line {}: \"{}\"; it must be uniform, per-pixel, taps, convolutions, terms, note or data",
          words.line(), printable(word, kMostOfValue)));
    }
    constexpr int kMostFields = 100;
    if (fields == kMostFields)
      throw InputError(fmt::format("line {}: no \"data\" after {} fields", words.line(), fields));
  }
  if (!have_form) throw InputError("\"uniform\" or \"per-pixel\" is missing before \"data\"");
  if (shape.nx == 0) throw InputError("\"taps\" is missing before \"data\"");
  if (shape.convolutions == 0) throw InputError("\"convolutions\" is missing before \"data\"");
  KernelBankWriter writer(out, shape);
  std::vector<float> taps(static_cast<std::size_t>(shape.nx + shape.ny + shape.nt));
  for (std::uint64_t i = 0; i < KernelBankWriter::entries(shape); ++i) {
    for (float& tap : taps) {
      const double value = words.number<double>("a tap (a number)");
      tap = checked_tap(value, fmt::format("line {}", words.line()));
    }
    writer.add(taps.data(), taps.data() + shape.nx, taps.data() + shape.nx + shape.ny);
  }
  if (std::string word; words.next(word)) {
    throw InputError(fmt::format("line {}: \"{}\" follows after the last tap", words.line(),
                                 printable(word, kMostOfValue)));
  }
  writer.finish();
}

void kernel_bank_from_json(std::istream& json, const std::string& out) {
  const Json root = json_object(read_text(json, kMostJsonBytes));
  for (const auto& [key, value] : root.items()) {
    static const std::set<std::string> kKnown = {"note", "form", "size", "kernels", "pixels"};
    if (!kKnown.contains(key)) {
      throw InputError(
          fmt::format("\"{}\" is unknown; the fields are note, form, size, kernels, pixels",
                      printable(key, kMostOfValue)));
    }
  }
  const std::string form =
      root.contains("form") && root["form"].is_string() ? root["form"].get<std::string>() : "";
  if (form != "uniform" && form != "per-pixel")
    throw InputError("\"form\" must be \"uniform\" or \"per-pixel\"");
  const bool per_pixel = form == "per-pixel";
  KernelBankShape shape;
  shape.form = per_pixel ? KernelForm::kPerPixel : KernelForm::kUniform;
  if (root.contains("note")) {
    if (!root["note"].is_string()) throw InputError("\"note\" must be a string");
    shape.note = root["note"].get<std::string>();
  }
  std::size_t pixels = 1;
  if (per_pixel) {
    const Json size = root.value("size", Json());
    if (!size.is_array() || size.size() != 2 || !size[0].is_number_unsigned() ||
        !size[1].is_number_unsigned() || size[0] > kMaxImageSide || size[1] > kMaxImageSide) {
      throw InputError(
          fmt::format("\"size\" must be [width, height], each 1 to {}", kMaxImageSide));
    }
    shape.size = {size[0].get<int>(), size[1].get<int>()};
    pixels =
        static_cast<std::size_t>(shape.size.width) * static_cast<std::size_t>(shape.size.height);
    if (pixels == 0)
      throw InputError(
          fmt::format("\"size\" must be [width, height], each 1 to {}", kMaxImageSide));
  }
  const char* const list = per_pixel ? "pixels" : "kernels";
  if (!root.contains(list) || root.contains(per_pixel ? "kernels" : "pixels")) {
    throw InputError(fmt::format("a {} bank has its taps in \"{}\"", form, list));
  }
  if (per_pixel) json_array(root[list], "pixel", pixels, "\"pixels\"");

  std::unique_ptr<KernelBankWriter> writer;
  for (std::size_t p = 0; p < pixels; ++p) {
    const std::string at_pixel = per_pixel ? fmt::format("pixels[{}]", p) : "kernels";
    const Json& kernels = json_array(per_pixel ? root[list][p] : root[list], "convolution",
                                     static_cast<std::size_t>(shape.convolutions), at_pixel);
    if (kernels.size() > kMaxConvolutions) {
      throw InputError(fmt::format("{} has {} convolutions; at most {} are allowed", at_pixel,
                                   kernels.size(), kMaxConvolutions));
    }
    shape.convolutions = static_cast<int>(kernels.size());
    for (std::size_t c = 0; c < kernels.size(); ++c) {
      const std::string at_convolution = fmt::format("{}[{}]", at_pixel, c);
      const Json& terms =
          json_array(kernels[c], "term", static_cast<std::size_t>(shape.terms), at_convolution);
      if (terms.size() > kMaxKernelTerms) {
        throw InputError(fmt::format("{} has {} terms; at most {} are allowed", at_convolution,
                                     terms.size(), kMaxKernelTerms));
      }
      shape.terms = static_cast<int>(terms.size());
      for (std::size_t r = 0; r < terms.size(); ++r) {
        const std::string where = fmt::format("{}[{}]", at_convolution, r);
        if (!terms[r].is_object())
          throw InputError(fmt::format("{} must be an object with x, y and t", where));
        const std::vector<float> x = json_taps(terms[r], "x", shape.nx, where);
        const std::vector<float> y = json_taps(terms[r], "y", shape.ny, where);
        const std::vector<float> t = json_taps(terms[r], "t", shape.nt, where);
        if (!writer) {
          const auto clamp = [](std::size_t n) {
            return static_cast<int>(std::min<std::size_t>(n, 1000));
          };
          shape.nx = clamp(x.size());
          shape.ny = clamp(y.size());
          shape.nt = clamp(t.size());
          writer = std::make_unique<KernelBankWriter>(out, shape);
        }
        writer->add(x.data(), y.data(), t.data());
      }
    }
  }
  writer->finish();
}

}  // namespace ocellus::app
