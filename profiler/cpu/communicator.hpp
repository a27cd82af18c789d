// MPI behind values that own what they open. Every call throws DeviceError naming what was being
// done.
//
// MPI starts with the first Communicator of a process (thread level MPI_THREAD_MULTIPLE: one thread
// may move messages while another computes) and ends with the last. A Communicator is a
// communicator of its own, so that the messages of two of them never mix; what is collective on one
// of them is to be called in the same order on all ranks, by one thread at a time. Collectives that
// move gradients are made of messages (ring.hpp).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace ddpx::cpu {

class Session;

// A message under way. Its buffer must live until it is done; destroying it waits, unless an
// exception is under way (the peers may never come: whoever started the ranks ends them).
class Request {
 public:
  Request() = default;
  explicit Request(MPI_Request request) : request_(request) {}
  Request(Request&& other) noexcept;
  Request& operator=(Request&& other) noexcept;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request();

  // Whether it is done; asking is also what makes MPI go on with it.
  [[nodiscard]] bool test();
  void wait();

 private:
  friend class Requests;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

// Several of them, asked about together: the question is what costs. Destroying them is as with
// one.
class Requests {
 public:
  Requests() = default;
  Requests(Requests&&) = default;
  Requests& operator=(Requests&&) = delete;
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  ~Requests();

  void add(Request request);
  // How many ended since the last question.
  [[nodiscard]] std::size_t test();
  [[nodiscard]] bool done() const { return open_ == 0; }

 private:
  std::vector<MPI_Request> requests_;
  std::vector<int> ended_;  // room for an answer
  std::size_t open_ = 0;
};

class Communicator {
 public:
  // A duplicate of the communicator of all ranks; a program started without mpirun is one rank.
  // Collective.
  [[nodiscard]] static Communicator world();
  // Collective.
  [[nodiscard]] Communicator duplicate() const;

  Communicator(Communicator&& other) noexcept;
  Communicator& operator=(Communicator&& other) noexcept;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  // This rank among those of its host. Collective.
  struct Place {
    int rank = 0;
    int ranks = 1;
  };
  [[nodiscard]] Place place_on_host() const;

  void barrier() const;

  // One message to or from another rank; messages of one sender and tag arrive in the order they
  // were started.
  [[nodiscard]] Request start_send(std::span<const std::byte> message, int to, int tag) const;
  [[nodiscard]] Request start_receive(std::span<std::byte> message, int from, int tag) const;

  // Element by element the largest of all ranks: the slowest rank's times, the same everywhere.
  void maximum(std::span<double> values) const;

 private:
  Communicator(std::shared_ptr<Session> session, MPI_Comm handle);

  std::shared_ptr<Session> session_;
  MPI_Comm handle_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace ddpx::cpu
