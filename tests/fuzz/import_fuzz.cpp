// libFuzzer's entry; tests/fuzz/fuzz.sh builds and runs it.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/import_anything.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ddpx::fuzz::import_anything({reinterpret_cast<const char*>(data), size});
  return 0;
}
