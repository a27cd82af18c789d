#include "profiler/cuda/nccl_logging.hpp"

#include <dlfcn.h>
#include <nccl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace ddpx::cuda {
namespace {

using Reset = void (*)();

// Exported by NCCL (src/debug.cc), deprecated in its header: it makes NCCL read NCCL_DEBUG and its
// like again.
Reset reset_of_nccl() {
  Dl_info where{};
  if (::dladdr(reinterpret_cast<void*>(&ncclGetVersion), &where) == 0) return nullptr;
  void* const library = ::dlopen(where.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* const symbol = ::dlsym(library, "ncclResetDebugInit");
  ::dlclose(library);  // the count that RTLD_NOLOAD added
  return reinterpret_cast<Reset>(symbol);
}

}  // namespace

std::unique_ptr<NcclLogging> NcclLogging::start() {
  const char* const asked = std::getenv("NCCL_DEBUG");
  const Reset reset = reset_of_nccl();
  if ((asked != nullptr && *asked != '\0') || reset == nullptr) return nullptr;
  const char* const temporary = std::getenv("TMPDIR");
  std::string path = temporary != nullptr && temporary[0] == '/' ? temporary : "/tmp";
  path += "/ddpx-nccl-XXXXXX";
  const int file = ::mkstemp(path.data());
  if (file < 0) return nullptr;
  ::close(file);
  return std::unique_ptr<NcclLogging>(new NcclLogging(std::move(path), reset));
}

NcclLogging::NcclLogging(std::string path, Reset reset) : path_(std::move(path)), reset_(reset) {
  ::setenv("NCCL_DEBUG", "INFO", 1);
  ::setenv("NCCL_DEBUG_SUBSYS", "INIT,TUNING", 1);
  ::setenv("NCCL_DEBUG_FILE", path_.c_str(), 1);
  reset_();
}

NcclLogging::~NcclLogging() {
  for (const char* name : {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"}) ::unsetenv(name);
  reset_();
  static_cast<void>(std::remove(path_.c_str()));
}

std::string NcclLogging::fresh() {
  std::string text;
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path_.c_str(), "r"), &std::fclose);
  if (!file || std::fseek(file.get(), static_cast<long>(read_), SEEK_SET) != 0) return text;
  std::vector<char> block(1 << 16);
  for (std::size_t n; (n = std::fread(block.data(), 1, block.size(), file.get())) > 0;)
    text.append(block.data(), n);
  read_ += text.size();
  return text;
}

}  // namespace ddpx::cuda
