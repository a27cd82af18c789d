// Files in and out, whole. Every failure is an InputError that names the path and the system's
// reason; a file that could not be written in full is not written at all.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace ddpx::io {

// No file of ours comes near it; a larger one is some other file, named by mistake.
inline constexpr std::size_t kLargestFile = std::size_t{256} << 20;
inline constexpr std::size_t kLargestLog = std::size_t{16} << 20;

// The content of `path`; "-" is standard input.
[[nodiscard]] std::string read_text(const std::string& path);

// The content of a log, of whatever size: from kLargestLog on only the lines that may matter (see
// log_text.hpp), the others empty. Text that begins like JSON is read whole.
[[nodiscard]] std::string read_log(const std::string& path);

// What messages call `path`: "-" is standard input there too.
[[nodiscard]] std::string shown_path(const std::string& path);

// Makes `text` the content of `path`; "-" is standard output. A regular file is replaced in one
// step (written beside itself, then renamed) and keeps its permissions; devices and pipes are
// written to.
void write_text(const std::string& path, std::string_view text);

// The same for what took long to get: when `path` cannot be written, `text` goes to a fresh file in
// the temporary directory, and the InputError says which.
void write_or_keep(const std::string& path, std::string_view text);

// Minutes of measuring must not end at a file that cannot be written: asks before, writes nothing.
// InputError at `flag`. "-" is standard output.
void check_writable(std::string_view flag, const std::string& path);

struct NamedText {
  std::string path;
  std::string text;
};
// All of them or none: every file is written beside itself before the first is replaced.
void write_texts(std::span<const NamedText> files);

// Whether two names mean one file, whatever way they name it. Standard streams are no files.
[[nodiscard]] bool same_file(const std::string& a, const std::string& b);

}  // namespace ddpx::io
