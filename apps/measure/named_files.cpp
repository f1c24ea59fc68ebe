#include "apps/measure/named_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "apps/common/common.h"

namespace ocellus::app {
namespace {

constexpr std::uint32_t kSha256Rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

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
  Sha256 hash;
  std::vector<char> buffer(std::size_t{1} << 16);
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), file.gcount() > 0) {
    hash.add(buffer.data(), static_cast<std::size_t>(file.gcount()));
    named.bytes += static_cast<std::uint64_t>(file.gcount());
  }
  if (!file.eof() || file.bad()) return std::nullopt;
  named.sha256 = hash.finish();
  return named;
}

}  // namespace

void Sha256::add_block(const std::uint8_t* block) {
  std::uint32_t w[64];
  for (int i = 0; i < 16; ++i, block += 4)
    w[i] = std::uint32_t{block[0]} << 24 | std::uint32_t{block[1]} << 16 |
           std::uint32_t{block[2]} << 8 | block[3];
  for (int i = 16; i < 64; ++i) {
    const std::uint32_t a = w[i - 15];
    const std::uint32_t b = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  std::uint32_t s[8];
  std::copy(std::begin(state_), std::end(state_), s);
  for (int i = 0; i < 64; ++i) {
    const std::uint32_t sum1 = std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25);
    const std::uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    const std::uint32_t t1 = s[7] + sum1 + choice + kSha256Rounds[i] + w[i];
    const std::uint32_t sum0 = std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22);
    const std::uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    std::copy_backward(s, s + 7, s + 8);
    s[4] += t1;
    s[0] = t1 + sum0 + majority;
  }
  for (int i = 0; i < 8; ++i) state_[i] += s[i];
}

void Sha256::add(const void* bytes, std::size_t count) {
  const auto* from = static_cast<const std::uint8_t*>(bytes);
  while (count > 0) {
    const std::size_t at = bytes_ % sizeof(block_);
    const std::size_t taken = std::min(count, sizeof(block_) - at);
    std::memcpy(block_ + at, from, taken);
    bytes_ += taken;
    from += taken;
    count -= taken;
    if (bytes_ % sizeof(block_) == 0) add_block(block_);
  }
}

std::string Sha256::finish() {
  const std::uint64_t bits = 8 * bytes_;
  constexpr std::uint8_t kEnd[64] = {0x80};
  // Up to the last 8 bytes of a block, which hold the length.
  add(kEnd, 1 + (sizeof(block_) + 55 - bytes_ % sizeof(block_)) % sizeof(block_));
  std::uint8_t length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<std::uint8_t>(bits >> (56 - 8 * i));
  add(length, sizeof(length));
  std::string text;
  for (const std::uint32_t word : state_) text += fmt::format("{:08x}", word);
  return text;
}

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
