#pragma once

// The data shipped with ddpx (fitted machines, links), compiled into the programs: they answer
// wherever they are copied to, and need no install step. The definition is generated from the files
// listed in io/CMakeLists.txt (see cmake/embed.cmake); text is a file's content, byte for byte.

#include <span>
#include <string_view>

namespace ddpx::io {

struct EmbeddedFile {
  std::string_view path;  // from the repository's root: "calibration/links/nvlink4.json"
  std::string_view text;
};

// In the order they are listed, the same in every build.
std::span<const EmbeddedFile> embedded_files();

}  // namespace ddpx::io
