// WebSocket frames. The first byte says who reads (server or client) and how the bytes are cut; the rest is the wire.
#include <algorithm>

#include "base/utf8.h"
#include "fuzz.h"
#include "net/websocket.h"

namespace gangway::fuzz {
namespace {

constexpr std::size_t kMaxMessage = 300;

struct Outcome {
  std::uint16_t violation = 0;
  std::vector<net::WebSocketEvent> events;
};

Outcome read_in_pieces(std::string_view wire, bool masked, std::size_t piece) {
  Outcome outcome;
  net::WebSocketReader reader(masked, kMaxMessage);
  while (!wire.empty() && outcome.violation == 0) {
    const std::string part(wire.substr(0, piece));
    wire.remove_prefix(part.size());
    outcome.violation = reader.feed(part, outcome.events);
  }
  return outcome;
}

bool same(const Outcome& a, const Outcome& b) {
  return a.violation == b.violation &&
         std::equal(a.events.begin(), a.events.end(), b.events.begin(), b.events.end(),
                    [](const auto& x, const auto& y) { return x.opcode == y.opcode && x.data == y.data; });
}

// What one end writes the other end reads.
void check_written(net::WebSocketOpcode opcode, const std::string& payload) {
  for (const bool masked : {false, true}) {
    std::string wire;
    if (masked) {
      net::append_masked_websocket_frame(wire, opcode, payload, 0x01020384);
    } else {
      net::append_websocket_frame(wire, opcode, payload);
    }
    const auto read = read_in_pieces(wire, masked, wire.size());
    FUZZ_LAW(read.violation == 0 && read.events.size() == 1, payload);
    FUZZ_LAW(read.events[0].opcode == opcode && read.events[0].data == payload, payload);
  }
}

}  // namespace
}  // namespace gangway::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gangway;
  fuzz::Input input(data, size);
  const auto how = input.byte();
  const std::string wire(input.rest());
  const bool masked = (how & 1U) != 0;
  const auto whole = fuzz::read_in_pieces(wire, masked, std::max<std::size_t>(1, wire.size()));
  FUZZ_LAW(fuzz::same(whole, fuzz::read_in_pieces(wire, masked, 1 + (how >> 1U))), "cut differently, read differently");
  for (const auto& event : whole.events) {
    const bool control = static_cast<unsigned>(event.opcode) >= 8;
    FUZZ_LAW(event.data.size() <= (control ? 125 : fuzz::kMaxMessage), event.data);
    FUZZ_LAW(event.opcode != net::WebSocketOpcode::kText || valid_utf8(event.data), event.data);
    FUZZ_LAW(event.opcode != net::WebSocketOpcode::kContinuation, event.data);
    fuzz::check_written(event.opcode, event.data);
  }
  const auto payload = net::websocket_close_payload(net::kWebSocketNormal, wire);
  FUZZ_LAW(payload.size() <= 125 && valid_utf8(std::string_view(payload).substr(2)), payload);
  FUZZ_LAW(net::websocket_accept(wire).size() == 28, wire);
  return 0;
}
