// A backend that lies in a shared library beside the programs, loaded when it is asked for.
#pragma once

#include <string>

namespace ddpx {

class Module {
 public:
  // `file` in the folder of this program, or in ../lib/ddpx beside it. Throws DeviceError saying
  // what is missing.
  explicit Module(const std::string& file);

  // Throws DeviceError when the module has no such symbol.
  template <class Function>
  [[nodiscard]] Function* symbol(const char* name) const {
    return reinterpret_cast<Function*>(find(name));
  }

 private:
  [[nodiscard]] void* find(const char* name) const;

  std::string path_;
  // Never unloaded: what was made by the module may outlive whoever loaded it.
  void* handle_ = nullptr;
};

// Whether the kernel shows an NVIDIA driver to this process: its control device, WSL's, or Tegra's.
// Costs nothing, where loading CUDA to be told of no GPU takes a tenth of a second.
[[nodiscard]] bool has_gpu_driver();

}  // namespace ddpx
