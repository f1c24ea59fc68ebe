// Makes text from outside (file names, words and keys of input files) safe to display. Everything
// that the program prints or draws of such text goes through here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ocellus::app {

/// The most bytes of a whole message, and of one value in a message.
inline constexpr std::size_t kMostOfMessage = 10'000;
inline constexpr std::size_t kMostOfValue = 200;

/// Returns `text` for a terminal or an SVG file. Control characters, line ends, bytes that are not
/// UTF-8 and characters that change the text direction are replaced by escapes such as \x1b or
/// \u202e. Text longer than `most` bytes is cut off, which the result states. Escapes in the input
/// are not escaped again.
std::string printable(std::string_view text, std::size_t most = kMostOfMessage);

/// Writes to stderr without changes. A failure is ignored, because there is no other place to
/// report it.
void tell(const std::string& text);

/// Tells once per process that `what` is ignored, with the name of the first file that has it:
/// "ocellus: PATH: WHAT". Later calls with the same `what` do nothing.
void tell_once(const std::string& path, const std::string& what);

/// JSON text with the same characters replaced by JSON escapes, so that the strings keep their
/// values.
std::string printable_json(std::string_view json);

/// For example "1.5 GiB".
std::string bytes_text(std::uint64_t bytes);

}  // namespace ocellus::app
