#include <dlfcn.h>
#include <glob.h>

#include <cstdlib>

#include "profiler/cuda/cupti.hpp"

namespace ddpx::cuda {
namespace {

std::optional<std::string> environment(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::vector<std::string> matches(const std::string& pattern) {
  std::vector<std::string> found;
  glob_t paths{};
  if (::glob(pattern.c_str(), 0, nullptr, &paths) == 0) {
    for (std::size_t i = 0; i < paths.gl_pathc; ++i) found.emplace_back(paths.gl_pathv[i]);
  }
  ::globfree(&paths);
  return found;
}

}  // namespace

CuptiPlaces cupti_places(int cuda_major) {
  CuptiPlaces places;
  places.cuda_major = cuda_major;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const auto home = environment(name)) places.cuda_homes.push_back(*home);
  }
  places.cuda_homes.emplace_back("/usr/local/cuda");
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const auto prefix = environment(name);
    if (!prefix) continue;
    for (std::string& path : matches(*prefix + "/lib/python3*/site-packages"))
      places.site_packages.push_back(std::move(path));
  }
  for (const char* pattern :
       {"/usr/local/lib/python3*/dist-packages", "/usr/local/lib/python3*/site-packages"}) {
    for (std::string& path : matches(pattern)) places.site_packages.push_back(std::move(path));
  }
  return places;
}

std::vector<std::string> cupti_candidates(const CuptiPlaces& places) {
  std::vector<std::string> names;
  const auto versions = places.cuda_major == 12 ? std::vector<std::string>{".12", ".13", ""}
                                                : std::vector<std::string>{".13", ".12", ""};
  for (const std::string& version : versions) {
    const std::string file = "libcupti.so" + version;
    names.push_back(file);
    for (const std::string& home : places.cuda_homes) {
      for (const char* folder : {"/lib64/", "/extras/CUPTI/lib64/", "/lib/"})
        names.push_back(home + folder + file);
    }
    // Wheels of CUDA 12 have a folder of CUPTI's own, those of CUDA 13 one for all libraries.
    for (const std::string& packages : places.site_packages) {
      for (const char* folder : {"/nvidia/cu13/lib/", "/nvidia/cuda_cupti/lib/"})
        names.push_back(packages + folder + file);
    }
  }
  return names;
}

std::variant<std::unique_ptr<Tracer>, std::string> Tracer::load(const CuptiPlaces& places) {
  std::shared_ptr<void> library;
  std::string first_reason;
  const std::vector<std::string> candidates = cupti_candidates(places);
  for (const std::string& name : candidates) {
    if (void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      // Stays loaded: CUPTI's own threads may run until the process ends.
      library = std::shared_ptr<void>(handle, [](void*) {});
      break;
    }
    const char* const why = ::dlerror();
    if (first_reason.empty() && why != nullptr) first_reason = why;
  }
  if (!library) {
    return "CUPTI was not found under " + std::to_string(candidates.size()) + " names (" +
           first_reason + "; set LD_LIBRARY_PATH or CUDA_HOME): kernel grids are unknown and " +
           "intervals widen";
  }
  return open([library](const char* name) { return ::dlsym(library.get(), name); });
}

}  // namespace ddpx::cuda
