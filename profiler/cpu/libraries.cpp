#include "profiler/cpu/libraries.hpp"

#include <cblas.h>
#include <mpi.h>

#include <array>
#include <cstdlib>
#include <string_view>

namespace ddpx::cpu {
namespace {

// Switches that change what a collective costs. Others name directories of this run.
constexpr std::array<const char*, 4> kSwitches{"OMPI_MCA_btl", "OMPI_MCA_mpi_yield_when_idle",
                                               "OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_coll"};

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  // "Open MPI v4.1.4, package: Debian OpenMPI, ident: ...": what follows the comma names a builder.
  const std::string version(text.data(), static_cast<std::size_t>(length));
  return version.substr(0, version.find_first_of(",\n"));
}

std::string blas_version() {
  // "OpenBLAS 0.3.21 NO_AFFINITY ... SkylakeX MAX_THREADS=64": version and kernels are what counts.
  return openblas_get_config();
}

}  // namespace

std::optional<LinkDescription> link_between(int ranks, int ranks_on_host) {
  if (ranks < 2) return std::nullopt;
  LinkDescription link;
  link.source = "measured by ddpx-calibrate";
  const std::string_view transports = variable("OMPI_MCA_btl");
  const bool shared_memory = transports.empty() || transports.starts_with('^') ||
                             transports.find("vader") != std::string_view::npos ||
                             transports.find("sm") != std::string_view::npos;
  if (ranks_on_host < ranks) {
    link.name = "network";
    link.title = "MPI between hosts";
    link.topology = Topology::network;
  } else if (shared_memory) {
    link.name = "shm";
    link.title = "CPU ranks over shared memory";
    link.topology = Topology::host_memory;
  } else {
    link.name = "tcp";
    link.title = "CPU ranks over TCP on one host";
    link.topology = Topology::network;
  }
  return link;
}

std::vector<std::pair<std::string, std::string>> library_context() {
  std::vector<std::pair<std::string, std::string>> context{{"mpi", mpi_version()},
                                                           {"blas", blas_version()}};
  for (const char* name : kSwitches) {
    if (!variable(name).empty()) context.emplace_back(name, variable(name));
  }
  return context;
}

}  // namespace ddpx::cpu
