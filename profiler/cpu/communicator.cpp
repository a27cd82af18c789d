#include "profiler/cpu/communicator.hpp"

#include <array>
#include <exception>
#include <limits>
#include <string>
#include <utility>

#include "model/error.hpp"

namespace ddpx::cpu {
namespace {

void check(int status, const char* doing) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  throw DeviceError(std::string("MPI: ") + doing + ": " +
                    std::string(text.data(), static_cast<std::size_t>(length)));
}

int count_of(std::size_t elements, const char* doing) {
  if (elements <= static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return static_cast<int>(elements);
  throw DeviceError(std::string("MPI: ") + doing + ": " + std::to_string(elements) +
                    " elements are more than one call takes");
}

bool started = false;

}  // namespace

// MPI from start to end. Only one in the life of a process: MPI cannot be started again.
class Session {
 public:
  static std::shared_ptr<Session> get() {
    static std::weak_ptr<Session> current;
    if (auto session = current.lock()) return session;
    if (started) throw DeviceError("MPI: starting: it has ended already in this process");
    auto session = std::make_shared<Session>();
    current = session;
    return session;
  }

  Session() {
    started = true;
    int level = MPI_THREAD_SINGLE;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "starting");
    if (level < MPI_THREAD_MULTIPLE)
      throw DeviceError("MPI: starting: this library cannot be used from several threads");
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    // MPI_Finalize waits for all ranks, and a rank that failed may be waited for in vain.
    if (std::uncaught_exceptions() > 0) return;
    MPI_Finalize();
  }
};

Request::Request(Request&& other) noexcept
    : request_(std::exchange(other.request_, MPI_REQUEST_NULL)) {}

Request& Request::operator=(Request&& other) noexcept {
  std::swap(request_, other.request_);
  return *this;
}

Request::~Request() {
  if (request_ != MPI_REQUEST_NULL && std::uncaught_exceptions() == 0)
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
}

bool Request::test() {
  int done = 0;
  check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "going on with a collective");
  return done != 0;
}

void Request::wait() { check(MPI_Wait(&request_, MPI_STATUS_IGNORE), "waiting for a collective"); }

Requests::~Requests() {
  if (open_ > 0 && std::uncaught_exceptions() == 0)
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
}

void Requests::add(Request request) {
  if (done()) requests_.clear();
  requests_.push_back(std::exchange(request.request_, MPI_REQUEST_NULL));
  ended_.resize(requests_.size());
  ++open_;
}

std::size_t Requests::test() {
  if (done()) return 0;
  int ended = 0;
  check(MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &ended, ended_.data(),
                     MPI_STATUSES_IGNORE),
        "going on with a collective");
  open_ -= static_cast<std::size_t>(ended);
  return static_cast<std::size_t>(ended);
}

Communicator::Communicator(std::shared_ptr<Session> session, MPI_Comm handle)
    : session_(std::move(session)), handle_(handle) {
  check(MPI_Comm_set_errhandler(handle_, MPI_ERRORS_RETURN), "setting up a communicator");
  check(MPI_Comm_rank(handle_, &rank_), "asking for the rank");
  check(MPI_Comm_size(handle_, &size_), "asking for the number of ranks");
}

Communicator Communicator::world() {
  auto session = Session::get();
  MPI_Comm handle = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &handle), "duplicating the communicator of all ranks");
  return {std::move(session), handle};
}

Communicator Communicator::duplicate() const {
  MPI_Comm handle = MPI_COMM_NULL;
  check(MPI_Comm_dup(handle_, &handle), "duplicating a communicator");
  return {session_, handle};
}

Communicator::Communicator(Communicator&& other) noexcept
    : session_(std::move(other.session_)),
      handle_(std::exchange(other.handle_, MPI_COMM_NULL)),
      rank_(other.rank_),
      size_(other.size_) {}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  std::swap(session_, other.session_);
  std::swap(handle_, other.handle_);
  std::swap(rank_, other.rank_);
  std::swap(size_, other.size_);
  return *this;
}

Communicator::~Communicator() {
  if (handle_ != MPI_COMM_NULL && std::uncaught_exceptions() == 0) MPI_Comm_free(&handle_);
}

Communicator::Place Communicator::place_on_host() const {
  MPI_Comm host = MPI_COMM_NULL;
  check(MPI_Comm_split_type(handle_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host),
        "finding the ranks of this host");
  Place place;
  check(MPI_Comm_rank(host, &place.rank), "asking for the rank on this host");
  check(MPI_Comm_size(host, &place.ranks), "asking for the ranks of this host");
  MPI_Comm_free(&host);
  return place;
}

void Communicator::barrier() const { check(MPI_Barrier(handle_), "a barrier"); }

Request Communicator::start_send(std::span<const std::byte> message, int to, int tag) const {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Isend(message.data(), count_of(message.size(), "sending"), MPI_BYTE, to, tag, handle_,
                  &request),
        "sending");
  return Request(request);
}

Request Communicator::start_receive(std::span<std::byte> message, int from, int tag) const {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Irecv(message.data(), count_of(message.size(), "receiving"), MPI_BYTE, from, tag,
                  handle_, &request),
        "receiving");
  return Request(request);
}

void Communicator::maximum(std::span<double> values) const {
  check(MPI_Allreduce(MPI_IN_PLACE, values.data(), count_of(values.size(), "a maximum"), MPI_DOUBLE,
                      MPI_MAX, handle_),
        "finding the slowest rank");
}

}  // namespace ddpx::cpu
