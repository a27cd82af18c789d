#include "profiler/meeting.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>

#include "model/error.hpp"
#include "profiler/job_names.hpp"

namespace ddpx {
namespace {

constexpr const char* kPortVariable = "DDPX_MEETING_PORT";
constexpr int kPortsAbove = 29;
constexpr std::uint64_t kMagic = 0x6464'7078'6d65'6574;  // "ddpxmeet"
constexpr std::chrono::milliseconds kPause{20};

// First thing a rank says, and rank 0's answer; a stranger on the port, or a rank of another job,
// is turned away instead.
struct Hello {
  std::uint64_t magic = kMagic;
  std::uint64_t token = 0;
  std::uint64_t rank = 0;
};

[[noreturn]] void fail(const std::string& doing, const std::string& problem) {
  throw DeviceError("ranks meeting: " + doing + ": " + problem);
}

[[noreturn]] void fail_errno(const std::string& doing) {
  fail(doing, std::generic_category().message(errno));
}

int port_number(const char* variable, int added) {
  const char* text = std::getenv(variable);
  const int port = text == nullptr ? 0 : std::atoi(text) + added;
  return port > 0 && port < 65536 ? port : 0;
}

struct Place {
  std::string host;  // empty: this one
  int port = 0;      // 0: any, left in `file`
  std::string file;
};

Place place_of(const RankPlace& place) {
  if (place.ranks_on_host == place.ranks) {
    const std::string directory = place.directory.empty()
                                      ? job_root() + "/" + kJobPrefix + std::to_string(::getuid()) +
                                            "-" + file_name(place.job) + "."
                                      : place.directory + "/";
    return {"", 0, directory + kMeetingName};
  }
  const char* host = std::getenv("MASTER_ADDR");
  int port = port_number(kPortVariable, 0);
  if (port == 0) port = port_number("MASTER_PORT", kPortsAbove);
  if (host == nullptr || port == 0)
    fail("ranks on several hosts",
         "MASTER_ADDR (the host of rank 0) and MASTER_PORT, or DDPX_MEETING_PORT, must be set");
  return {host, port, ""};
}

std::uint64_t token_of(const RankPlace& place) {
  return std::hash<std::string>{}(place.directory.empty() ? place.job : place.directory) ^
         static_cast<std::uint64_t>(place.ranks);
}

void send_all(int peer, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(peer, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) fail_errno("telling a rank");
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
}

void receive_all(int peer, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(peer, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) fail("hearing from a rank", "it has left");
    if (got < 0) fail_errno("hearing from a rank");
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

int listen_at(int port, const std::string& file) {
  const int listener = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool six = listener >= 0;
  const int socket = six ? listener : ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) fail_errno("opening a socket");
  const int on = 1;
  const int off = 0;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_storage address{};
  socklen_t size = 0;
  if (six) {
    ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    auto* a = reinterpret_cast<sockaddr_in6*>(&address);
    a->sin6_family = AF_INET6;
    a->sin6_addr = in6addr_any;
    a->sin6_port = htons(static_cast<std::uint16_t>(port));
    size = sizeof(sockaddr_in6);
  } else {
    auto* a = reinterpret_cast<sockaddr_in*>(&address);
    a->sin_family = AF_INET;
    a->sin_addr.s_addr = htonl(INADDR_ANY);
    a->sin_port = htons(static_cast<std::uint16_t>(port));
    size = sizeof(sockaddr_in);
  }
  if (::bind(socket, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(socket, SOMAXCONN) != 0)
    fail_errno("listening on port " + std::to_string(port));
  if (file.empty()) return socket;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  const int chosen = ntohs(six ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                               : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
  const std::string fresh = file + ".new";
  std::ofstream(fresh) << chosen << '\n';
  if (std::rename(fresh.c_str(), file.c_str()) != 0) fail_errno("leaving the port in " + file);
  return socket;
}

// The connected socket, or -1: not there yet.
int connected(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string service = std::to_string(port);
  if (::getaddrinfo(host.empty() ? "127.0.0.1" : host.c_str(), service.c_str(), &hints, &found) !=
      0)
    return -1;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, &::freeaddrinfo);
  for (const addrinfo* a = all.get(); a != nullptr; a = a->ai_next) {
    const int peer = ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    if (peer < 0) continue;
    if (::connect(peer, a->ai_addr, a->ai_addrlen) == 0) return peer;
    ::close(peer);
  }
  return -1;
}

void say_at_once(int peer) {
  const int on = 1;
  ::setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int port_in(const std::string& file) {
  int port = 0;
  std::ifstream(file) >> port;
  return port;
}

}  // namespace

Meeting::Meeting(const RankPlace& place, Seconds patience)
    : rank_(place.rank), ranks_(place.ranks) {
  if (ranks_ == 1) return;
  const Place where = place_of(place);
  const std::uint64_t token = token_of(place);
  if (rank_ == 0) {
    const int listener = listen_at(where.port, where.file);
    const std::unique_ptr<const int, void (*)(const int*)> closed(
        &listener, [](const int* socket) { ::close(*socket); });
    accept_all(listener, token, patience);
    if (!where.file.empty()) std::remove(where.file.c_str());
    return;
  }
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(patience.value()));
  const std::string host = where.host.empty() ? "this host" : where.host;
  bool turned_away = false;
  while (peers_.empty()) {
    const int port = where.file.empty() ? where.port : port_in(where.file);
    if (port > 0) turned_away |= join(where.host, port, token, end) == Answer::turned_away;
    if (!peers_.empty()) break;
    if (Clock::now() > end)
      fail("rank " + std::to_string(rank_) + " looking for rank 0",
           (turned_away ? "what answers at " + host + " is another job's rank 0, or has a rank " +
                              std::to_string(rank_) + " already"
                        : "it is not at " + host + " within " +
                              std::to_string(static_cast<int>(patience.value())) + " s"));
    std::this_thread::sleep_for(kPause);
  }
}

Meeting::~Meeting() {
  for (const int peer : peers_) ::close(peer);
}

void Meeting::accept_all(int listener, std::uint64_t token, Seconds patience) {
  peers_.assign(static_cast<std::size_t>(ranks_ - 1), -1);
  const auto end = Clock::now() + std::chrono::duration<double>(patience.value());
  int missing = ranks_ - 1;
  while (missing > 0) {
    pollfd waiting{listener, POLLIN, 0};
    if (Clock::now() > end)
      fail("rank 0 waiting for the others",
           std::to_string(missing) + " of " + std::to_string(ranks_ - 1) + " have not come");
    if (::poll(&waiting, 1, 100) <= 0) continue;
    const int peer = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer < 0) continue;
    Hello hello;
    timeval soon{2, 0};
    ::setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
    const ssize_t got = ::recv(peer, &hello, sizeof hello, MSG_WAITALL);
    const bool known = got == static_cast<ssize_t>(sizeof hello) && hello.magic == kMagic &&
                       hello.token == token && hello.rank >= 1 &&
                       hello.rank < static_cast<std::uint64_t>(ranks_) &&
                       peers_[hello.rank - 1] < 0;
    if (!known) {
      ::close(peer);
      continue;
    }
    const timeval never{0, 0};
    ::setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &never, sizeof never);
    say_at_once(peer);
    send_all(peer, std::as_bytes(std::span(&kMagic, 1)));
    peers_[hello.rank - 1] = peer;
    --missing;
  }
}

Meeting::Answer Meeting::join(const std::string& host, int port, std::uint64_t token,
                              Clock::time_point end) {
  const int peer = connected(host, port);
  if (peer < 0) return Answer::none;
  say_at_once(peer);
  const Hello hello{kMagic, token, static_cast<std::uint64_t>(rank_)};
  std::uint64_t answer = 0;
  const bool sent = ::send(peer, &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello;
  pollfd waiting{peer, POLLIN, 0};
  while (sent && Clock::now() < end && ::poll(&waiting, 1, 100) <= 0) continue;
  if (sent && ::recv(peer, &answer, sizeof answer, MSG_DONTWAIT) == sizeof answer &&
      answer == kMagic) {
    peers_ = {peer};
    return Answer::welcome;
  }
  ::close(peer);
  return Answer::turned_away;
}

void Meeting::barrier() {
  double nothing = 0;
  maximum({&nothing, 1});
}

void Meeting::maximum(std::span<double> values) {
  if (ranks_ == 1) return;
  if (rank_ != 0) {
    send_all(peers_.front(), std::as_bytes(values));
    receive_all(peers_.front(), std::as_writable_bytes(values));
    return;
  }
  std::vector<double> theirs(values.size());
  for (const int peer : peers_) {
    receive_all(peer, std::as_writable_bytes(std::span(theirs)));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::max(values[i], theirs[i]);
  }
  for (const int peer : peers_) send_all(peer, std::as_bytes(values));
}

void Meeting::broadcast(std::span<std::byte> bytes) {
  if (rank_ != 0) {
    if (ranks_ > 1) receive_all(peers_.front(), bytes);
    return;
  }
  for (const int peer : peers_) send_all(peer, bytes);
}

}  // namespace ddpx
