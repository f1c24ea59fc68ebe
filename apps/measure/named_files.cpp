#include "apps/measure/named_files.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "apps/common/common.h"

namespace ocellus::app {
namespace {

/// The parts of a chain such as "erosion | mine.ocellus", without blanks and the @ of a list.
std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('|'), text.size());
    std::string_view name = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    name.remove_prefix(std::min(name.find_first_not_of(" @"), name.size()));
    names.emplace_back(name.substr(0, name.find_last_not_of(' ') + 1));
  }
  return names;
}

/// Nothing if the file cannot be read.
std::optional<NamedFile> read_named_file(const std::string& path) {
  std::error_code error;
  if (path.find_first_of("./") == std::string::npos ||
      !std::filesystem::is_regular_file(path, error))
    return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  NamedFile named{path, 0, {}};
  XXH64_state_t hash;
  XXH64_reset(&hash, 0);
  std::vector<char> buffer(std::size_t{1} << 16);
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), file.gcount() > 0) {
    XXH64_update(&hash, buffer.data(), static_cast<std::size_t>(file.gcount()));
    named.bytes += static_cast<std::uint64_t>(file.gcount());
  }
  if (!file.eof() || file.bad()) return std::nullopt;
  named.xxh64 = fmt::format("{:016x}", XXH64_digest(&hash));
  return named;
}

}  // namespace

std::vector<NamedFile> named_files(const std::vector<OperatorConfig>& operators) {
  std::vector<NamedFile> files;
  for (const OperatorConfig& op : operators) {
    for (const Option& option : op.options()) {
      if (option.type != OptionType::kText || !op.means_something(option)) continue;
      for (const std::string& name : names_in(op.get_option(option).view())) {
        if (std::any_of(files.begin(), files.end(),
                        [&](const NamedFile& file) { return file.path == name; }))
          continue;
        if (std::optional<NamedFile> file = read_named_file(name))
          files.push_back(std::move(*file));
      }
    }
  }
  return files;
}

}  // namespace ocellus::app
