#include "io/provenance.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "ddpx_version.hpp"

namespace ddpx::io {
namespace {

// Switches that change how long a step takes.
constexpr std::array<std::string_view, 3> kSwitches{"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS",
                                                    "OPENBLAS_NUM_THREADS"};
// NCCL's own that say where, not how.
constexpr std::array<std::string_view, 2> kAddresses{"NCCL_COMM_ID", "NCCL_HOSTID"};

bool is_switch(std::string_view name) {
  const auto among = [&](const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return (name.starts_with("NCCL_") && !among(kAddresses)) || among(kSwitches);
}

Context switches() {
  Context found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !is_switch(text.substr(0, equals))) continue;
    found.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  std::sort(found.begin(), found.end());  // the environment has no order
  return found;
}

std::string operating_system() {
  utsname names{};
  if (::uname(&names) != 0) return "unknown";
  return std::string(names.sysname) + " " + names.release + " " + names.machine;
}

// The first processor's; Linux on x86 says "model name", on Arm often nothing.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string compiler() {
#ifdef __clang__
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

}  // namespace

std::string version() {
  std::string text(kVersion);
  if (!kGitDescribe.empty()) text += " (" + std::string(kGitDescribe) + ")";
  return text;
}

Context provenance() {
  Context context{{"ddpx", version()},
                  {"compiler", compiler()},
                  {"os", operating_system()},
                  {"cpu", processor()}};
  for (auto& pair : switches()) context.push_back(std::move(pair));
  return context;
}

}  // namespace ddpx::io
