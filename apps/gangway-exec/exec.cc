// gangway-exec: runs a command in another pod of the same namespace, as the account of the pod that it is called in. A
// static program: any root file system will do.
//
//   gangway-exec [-c CONTAINER] [-w SECONDS] POD -- COMMAND [ARGUMENT]...
//
// A pod that does not run yet is waited for that long. Output and errors come through; there is no input. It ends with
// the command's exit code, and with 255 when that is not known: it could not be asked for, or the connection was lost.
// The command is not told of either.
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "secure_stream.h"
#include "web_socket.h"

namespace {

using gangway::exec::SecureStream;
using gangway::exec::WebSocket;

constexpr int kUnknown = 255;
constexpr const char* kAccount = "/var/run/secrets/kubernetes.io/serviceaccount/";
constexpr const char* kProtocol = "v5.channel.k8s.io";
enum Channel : char { kOutput = 1, kErrors = 2, kStatus = 3 };

int give_up(const std::string& why) {
  std::fprintf(stderr, "gangway-exec: %s\n", why.c_str());
  return kUnknown;
}

std::string account_file(const char* name) {
  std::string text;
  if (std::FILE* file = std::fopen((std::string(kAccount) + name).c_str(), "re")) {
    char chunk[4096];
    for (std::size_t count = 0; (count = std::fread(chunk, 1, sizeof chunk, file)) > 0;) text.append(chunk, count);
    std::fclose(file);
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string escaped(const std::string& text) {
  constexpr const char* kDigits = "0123456789ABCDEF";
  std::string result;
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    if ((byte < 128 && std::isalnum(byte) != 0) || byte == '-' || byte == '_' || byte == '.') {
      result += each;
    } else {
      result += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return result;
}

bool write_all(int descriptor, const char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t done = write(descriptor, bytes, count);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    bytes += done;
    count -= static_cast<std::size_t>(done);
  }
  return true;
}

// {"status":"Success"}, or a failure among whose causes is {"reason":"ExitCode","message":"7"}.
int code_in(const std::string& status) {
  if (status.find("\"Success\"") != std::string::npos) return 0;
  const std::size_t reason = status.find("\"ExitCode\"");
  if (reason == std::string::npos) return give_up(status);
  const std::size_t begin = status.rfind('{', reason);
  const std::string cause = status.substr(begin, status.find('}', reason) - begin);
  const std::size_t message = cause.find("\"message\"");
  const std::size_t digits = cause.find_first_of("0123456789", message == std::string::npos ? cause.size() : message);
  return digits == std::string::npos ? give_up(status) : std::atoi(cause.c_str() + digits);
}

int follow(WebSocket& socket) {
  std::string message;
  while (socket.next(message)) {
    if (message.empty()) continue;
    const char* bytes = message.data() + 1;
    const std::size_t count = message.size() - 1;
    if (message[0] == kStatus) return code_in(message.substr(1));
    // Whoever read our output may have gone; the command goes on, and its exit code is still wanted.
    if (message[0] == kOutput) write_all(STDOUT_FILENO, bytes, count);
    if (message[0] == kErrors) write_all(STDERR_FILENO, bytes, count);
  }
  return give_up("the connection was lost" + (socket.error().empty() ? "" : ": " + socket.error()));
}

int usage() {
  std::fprintf(stderr, "usage: gangway-exec [-c CONTAINER] [-w SECONDS] POD -- COMMAND [ARGUMENT]...\n");
  return kUnknown;
}

// What a server says of a pod that is not there yet, has no node, or whose container has not started; and a server
// that is not there itself. Nothing has been run then.
bool may_come(const WebSocket& socket) {
  const int status = socket.status();
  const bool has_no_node = status == 400 && socket.error().find("does not have a host") != std::string::npos;
  return status == 0 || has_no_node || status == 404 || status >= 500;
}

long now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec;
}

void rest() {
  const timespec half_a_second{0, 500'000'000};
  nanosleep(&half_a_second, nullptr);
}

}  // namespace

int main(int count, char** given) {
  int at = 1;
  long patience = 0;
  std::string options = "?stdout=true&stderr=true";
  for (; at + 1 < count && given[at][0] == '-'; at += 2) {
    if (std::strcmp(given[at], "-c") == 0) {
      options += "&container=" + escaped(given[at + 1]);
    } else if (std::strcmp(given[at], "-w") == 0) {
      patience = std::atol(given[at + 1]);
    } else {
      return usage();
    }
  }
  if (at + 2 >= count || std::strcmp(given[at + 1], "--") != 0) return usage();
  const std::string pod = given[at];
  for (at += 2; at < count; ++at) options += "&command=" + escaped(given[at]);
  std::signal(SIGPIPE, SIG_IGN);

  const char* host = std::getenv("KUBERNETES_SERVICE_HOST");
  const char* port = std::getenv("KUBERNETES_SERVICE_PORT");
  const std::string ns = account_file("namespace");
  if (host == nullptr || port == nullptr || account_file("token").empty() || ns.empty())
    return give_up("this pod has no account with the cluster: it needs KUBERNETES_SERVICE_HOST and a token");
  const std::string target = "/api/v1/namespaces/" + escaped(ns) + "/pods/" + escaped(pod) + "/exec" + options;
  for (const long end = now() + patience;; rest()) {
    SecureStream stream;
    WebSocket socket(stream);
    const bool is_connected = stream.connect(host, port, std::string(kAccount) + "ca.crt");
    if (is_connected && socket.open(host, target, account_file("token"), kProtocol)) return follow(socket);
    if (now() >= end || !may_come(socket)) return give_up(is_connected ? socket.error() : stream.error());
  }
}
