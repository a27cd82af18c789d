#include "profiler/module.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "model/error.hpp"

namespace ddpx {

Module::Module(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  path_ = (folder / file).string();
  const fs::path installed = folder / ".." / "lib" / "ddpx" / file;
  if (!fs::exists(path_, error) && fs::exists(installed, error)) path_ = installed.string();
  handle_ = ::dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ != nullptr) return;
  const char* problem = ::dlerror();
  throw DeviceError("loading " + file + ": " + (problem == nullptr ? "unknown" : problem));
}

bool has_gpu_driver() {
  for (const char* node : {"/dev/nvidiactl", "/dev/dxg", "/dev/nvgpu", "/dev/nvhost-ctrl-gpu"}) {
    if (::access(node, F_OK) == 0) return true;
  }
  return false;
}

void* Module::find(const char* name) const {
  void* symbol = ::dlsym(handle_, name);
  if (symbol == nullptr) throw DeviceError("loading " + path_ + ": it has no " + name);
  return symbol;
}

}  // namespace ddpx
