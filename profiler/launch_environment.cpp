#include "profiler/launch_environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "model/error.hpp"
#include "model/quantity.hpp"

namespace ddpx {

Transport transport_from(const std::string& word, Library library) {
  const bool gpus = library == Library::nccl;
  if (word == "auto") return Transport::automatic;
  if (word == "p2p" && gpus) return Transport::peer_to_peer;
  if (word == "shm") return Transport::shared_memory;
  if (word == "socket") return Transport::socket;
  throw InputError("--transport",
                   "'" + shown(word) + "' is not accepted: auto, " +
                       (gpus ? "p2p (between GPUs), shm (host memory)" : "shm (shared memory)") +
                       " or socket (TCP over loopback)");
}

Environment::Environment() {
  for (char** entry = environ; *entry != nullptr; ++entry) variables_.emplace_back(*entry);
}

void Environment::unset(const std::string& name) {
  std::erase_if(variables_, [&](const std::string& v) { return v.starts_with(name + "="); });
}

void Environment::set(const std::string& name, const std::string& value) {
  unset(name);
  variables_.push_back(name + "=" + value);
}

void Environment::prefer(const std::string& name, const std::string& value) {
  if (std::getenv(name.c_str()) == nullptr) set(name, value);
}

void add_mpi_switches(Transport transport, const std::string& directory, Environment& environment) {
  environment.set("OPENBLAS_NUM_THREADS", "1");
  environment.prefer("OMPI_ALLOW_RUN_AS_ROOT", "1");  // containers often have no other user
  environment.prefer("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  environment.prefer("OMPI_MCA_rmaps_base_oversubscribe", "1");  // more ranks than cores
  environment.prefer("OMPI_MCA_hwloc_base_binding_policy",
                     "none");                      // ranks take their core themselves
  environment.prefer("OMPI_MCA_plm", "isolated");  // one host: no ssh
  environment.prefer("OMPI_MCA_pml", "ob1");
  // Single copies need ptrace rights, which containers withhold.
  environment.prefer("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
  if (transport == Transport::socket) {
    environment.set("OMPI_MCA_btl", "self,tcp");
    environment.prefer("OMPI_MCA_btl_tcp_if_include", "lo");
  } else {
    environment.set("OMPI_MCA_btl", "self,vader");
  }
  environment.set("OMPI_MCA_orte_tmpdir_base", directory);
  environment.set("OMPI_MCA_btl_vader_backing_directory", directory);
}

void add_nccl_switches(Transport transport, std::optional<int> channels, Environment& environment) {
  environment.prefer("NCCL_NVLS_ENABLE", "0");
  if (transport == Transport::shared_memory || transport == Transport::socket)
    environment.set("NCCL_P2P_DISABLE", "1");
  if (transport == Transport::socket) {
    environment.set("NCCL_SHM_DISABLE", "1");
    environment.set("NCCL_NET", "Socket");
    environment.prefer("NCCL_SOCKET_IFNAME", "lo");
  }
  if (!channels) return;
  // The older name is read by every version; where both are, the lower wins.
  environment.set("NCCL_MAX_CTAS", std::to_string(*channels));
  environment.set("NCCL_MAX_NCHANNELS", std::to_string(*channels));
}

}  // namespace ddpx
