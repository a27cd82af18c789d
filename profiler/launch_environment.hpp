// The environment that ranks start with: the switches of the library that joins them. They go by
// environment, so that the user's own win and none has to be an argument.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpx {

// How the ranks of one host reach each other. `automatic` is the library's own choice: the fastest.
enum class Transport { automatic, peer_to_peer, shared_memory, socket };

// What joins the ranks, and so how they are started.
enum class Library { mpi, nccl };

// --transport's auto, p2p, shm or socket; only NCCL knows p2p. Throws InputError naming the word
// and what is accepted.
[[nodiscard]] Transport transport_from(const std::string& word, Library library);

// Variables as NAME=value, beginning with those of this process.
class Environment {
 public:
  Environment();
  void unset(const std::string& name);
  void set(const std::string& name, const std::string& value);
  // Only where the user has not set it.
  void prefer(const std::string& name, const std::string& value);
  [[nodiscard]] const std::vector<std::string>& variables() const { return variables_; }

 private:
  std::vector<std::string> variables_;
};

// Open MPI's switches. https://docs.open-mpi.org, "MCA parameters". What killed ranks would leave
// lies in `directory`.
void add_mpi_switches(Transport transport, const std::string& directory, Environment& environment);

// NCCL's switches. https://docs.nvidia.com/deeplearning/nccl, "Environment Variables". `channels`
// bounds how many channels, and so multiprocessors, a collective takes; nullopt: NCCL's choice.
// NCCL reads them once per process, so every variant is a process set of its own. Reduction inside
// the switch (NVLS) stays off unless the user's environment asks for it: it needs multicast memory
// that a shared host may not offer, and the ring is what the model prices.
void add_nccl_switches(Transport transport, std::optional<int> channels, Environment& environment);

}  // namespace ddpx
