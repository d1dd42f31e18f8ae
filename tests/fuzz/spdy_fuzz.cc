// SPDY frames. The first byte says how the bytes are cut; the rest is the wire. Header blocks are zlib streams with a
// dictionary and checksums, so the wire may also be a recipe: behind the letter 'H', lines of headers that are packed
// first.
#include <algorithm>

#include "agent/streams/spdy_frames.h"
#include "fuzz.h"

namespace gangway::fuzz {
namespace {

struct Outcome {
  bool broken = false;
  std::vector<agent::SpdyFrame> frames;
};

// Parts of one data frame are put together again: where they are cut depends on how the bytes came.
void join(std::vector<agent::SpdyFrame>& frames, agent::SpdyFrame frame) {
  const bool goes_on = !frames.empty() && frame.type == agent::SpdyType::kData &&
                       frames.back().type == agent::SpdyType::kData && frames.back().stream == frame.stream &&
                       !frames.back().fin;
  if (!goes_on) return frames.push_back(std::move(frame));
  frames.back().data += frame.data;
  frames.back().fin = frame.fin;
}

Outcome read_in_pieces(std::string_view wire, std::size_t piece) {
  Outcome outcome;
  agent::SpdyReader reader;
  while (!wire.empty() && !outcome.broken) {
    const std::string part(wire.substr(0, piece));
    wire.remove_prefix(part.size());
    std::vector<agent::SpdyFrame> frames;
    const auto read = reader.feed(part, frames);
    outcome.broken = !read;
    if (!read) FUZZ_LAW(read.error().message.starts_with("SPDY: "), read.error().message);
    for (auto& frame : frames) join(outcome.frames, std::move(frame));
  }
  return outcome;
}

bool same(const agent::SpdyFrame& a, const agent::SpdyFrame& b) {
  return a.type == b.type && a.stream == b.stream && a.fin == b.fin && a.headers == b.headers && a.data == b.data &&
         a.value == b.value;
}

// What one end writes the other end reads.
void check_written(const agent::SpdyFrame& frame) {
  agent::SpdyWriter writer;
  std::string wire;
  switch (frame.type) {
    case agent::SpdyType::kData:
      agent::SpdyWriter::data(wire, frame.stream, frame.data, frame.fin);
      break;
    case agent::SpdyType::kSynStream:
      writer.syn_stream(wire, frame.stream, frame.headers, frame.fin);
      break;
    case agent::SpdyType::kSynReply:
      writer.syn_reply(wire, frame.stream, frame.headers, frame.fin);
      break;
    default:
      return;
  }
  const auto read = read_in_pieces(wire, wire.size());
  FUZZ_LAW(!read.broken && read.frames.size() == 1 && same(read.frames[0], frame), frame.data);
}

// name=value, one a line, as a stream that opens; what follows an empty line is its data.
std::string packed(Input input) {
  agent::SpdyHeaders headers;
  for (auto line = input.line(); !line.empty(); line = input.line()) {
    const auto equals = std::min(line.find('='), line.size());
    headers.emplace_back(line.substr(0, equals), line.substr(std::min(line.size(), equals + 1)));
  }
  agent::SpdyWriter writer;
  std::string wire;
  writer.syn_stream(wire, 1, headers);
  writer.syn_reply(wire, 1, headers, true);
  agent::SpdyWriter::data(wire, 1, input.rest(), true);
  return wire;
}

}  // namespace
}  // namespace gangway::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gangway;
  fuzz::Input input(data, size);
  const auto how = input.byte();
  const std::string wire = how == 'H' ? fuzz::packed(input) : std::string(input.rest());
  const auto whole = fuzz::read_in_pieces(wire, std::max<std::size_t>(1, wire.size()));
  const auto pieces = fuzz::read_in_pieces(wire, 1 + (how >> 1U));
  FUZZ_LAW(whole.broken == pieces.broken, "cut differently, read differently");
  FUZZ_LAW(std::equal(whole.frames.begin(), whole.frames.end(), pieces.frames.begin(), pieces.frames.end(), fuzz::same),
           "cut differently, read differently");
  for (const auto& frame : whole.frames) {
    FUZZ_LAW(frame.stream <= 0x7fffffffU, "a stream's id has 31 bits");
    fuzz::check_written(frame);
  }
  std::string control;
  agent::SpdyWriter::ping(control, how);
  agent::SpdyWriter::rst_stream(control, 1, how);
  agent::SpdyWriter::go_away(control, 1, how);
  const auto read = fuzz::read_in_pieces(control, control.size());
  FUZZ_LAW(!read.broken && read.frames.size() == 3 && read.frames[0].value == how && read.frames[2].value == how, wire);
  return 0;
}
