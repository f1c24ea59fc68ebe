// Text that comes from outside (names of files, words and keys of texts and JSON), made fit to be
// shown. All that the program prints or draws of such text goes through here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ocellus::app {

/// Of a whole message; of one value in a message.
inline constexpr std::size_t kMostOfMessage = 10'000;
inline constexpr std::size_t kMostOfValue = 200;

/// `text` for a terminal or an SVG. Control characters, line ends, what is not UTF-8, and
/// characters that turn the direction of a line stand as \x1b or \u202e. What is longer than `most`
/// bytes is cut off, and the text says so. Escapes are not escaped again.
std::string printable(std::string_view text, std::size_t most = kMostOfMessage);

/// To stderr, as it is. Nobody can be told of a stderr that cannot be written, so that is no error.
void tell(const std::string& text);

/// JSON text with the same characters as JSON's own escapes, which stand for the same string.
std::string printable_json(std::string_view json);

}  // namespace ocellus::app
