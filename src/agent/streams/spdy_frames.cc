#include "agent/streams/spdy_frames.h"

#include <zlib.h>

#include <algorithm>

#include "base/check.h"

namespace gangway::agent {
namespace {

constexpr std::size_t kFrameHeader = 8;
constexpr unsigned kVersion = 3;
constexpr std::uint8_t kFin = 1;
constexpr std::uint32_t kMaxLength = 0xffffff;
// Of a control frame, and of the headers it unfolds to. Kubernetes' own take a few hundred bytes.
constexpr std::size_t kMaxControl = 64 * 1024;
constexpr std::size_t kMaxHeaders = 64 * 1024;

const Bytef* bytes_of(std::string_view text) {
  return reinterpret_cast<const Bytef*>(text.data());
}

std::uint32_t number(std::string_view bytes, std::size_t at, std::size_t size = 4) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

std::uint32_t stream_id(std::string_view bytes, std::size_t at) {
  return number(bytes, at) & 0x7fffffffU;
}

void append_number(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xffU);
}

void append_control(std::string& out, SpdyType type, std::uint8_t flags, std::string_view payload) {
  append_number(out, 0x80000000U | kVersion << 16 | static_cast<unsigned>(type));
  append_number(out, static_cast<std::uint32_t>(flags) << 24 | static_cast<std::uint32_t>(payload.size()));
  out += payload;
}

Error broken(std::string_view what) {
  return bad_request("SPDY: " + std::string(what));
}

// The smallest payload that a control frame of this type can have.
std::size_t least_payload(SpdyType type) {
  switch (type) {
    case SpdyType::kSynStream:
      return 10;
    case SpdyType::kRstStream:
    case SpdyType::kGoAway:
    case SpdyType::kWindowUpdate:
      return 8;
    case SpdyType::kSynReply:
    case SpdyType::kHeaders:
    case SpdyType::kSettings:
    case SpdyType::kPing:
      return 4;
    case SpdyType::kData:
      break;
  }
  return 0;
}

}  // namespace

std::string_view spdy_header(const SpdyHeaders& headers, std::string_view name) {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& h) { return h.first == name; });
  return found != headers.end() ? std::string_view(found->second) : std::string_view();
}

class SpdyReader::Inflater {
 public:
  Inflater() { GW_CHECK(::inflateInit(&stream_) == Z_OK); }
  ~Inflater() { ::inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  Result<std::string> inflate(std::string_view block) {
    std::string out;
    char piece[4096];
    stream_.next_in = const_cast<Bytef*>(bytes_of(block));
    stream_.avail_in = static_cast<uInt>(block.size());
    for (;;) {
      stream_.next_out = reinterpret_cast<Bytef*>(piece);
      stream_.avail_out = sizeof piece;
      const int code = ::inflate(&stream_, Z_SYNC_FLUSH);
      if (code == Z_NEED_DICT) {
        const auto& words = spdy_dictionary();
        if (::inflateSetDictionary(&stream_, bytes_of(words), static_cast<uInt>(words.size())) != Z_OK)
          return broken("the headers are compressed with another dictionary");
        continue;
      }
      if (code != Z_OK && code != Z_BUF_ERROR) return broken("the headers cannot be decompressed");
      out.append(piece, sizeof piece - stream_.avail_out);
      if (out.size() > kMaxHeaders) return broken("the headers are too large");
      if (stream_.avail_out != 0) break;
    }
    if (stream_.avail_in != 0) return broken("the headers cannot be decompressed");
    return out;
  }

 private:
  z_stream stream_{};
};

SpdyReader::SpdyReader() : inflater_(std::make_unique<Inflater>()) {}
SpdyReader::~SpdyReader() = default;

Result<void> SpdyReader::feed(std::string_view bytes, std::vector<SpdyFrame>& frames) {
  while (!bytes.empty()) {
    if (data_left_ > 0) {
      const auto part = bytes.substr(0, data_left_);
      bytes.remove_prefix(part.size());
      data_left_ -= static_cast<std::uint32_t>(part.size());
      SpdyFrame frame = data_frame_;
      frame.data = part;
      frame.fin = data_frame_.fin && data_left_ == 0;
      frames.push_back(std::move(frame));
      continue;
    }
    const auto part = bytes.substr(0, wanted_ - buffer_.size());
    bytes.remove_prefix(part.size());
    buffer_ += part;
    if (buffer_.size() < wanted_) break;
    const std::uint32_t length = number(buffer_, 5, 3);
    if ((static_cast<unsigned char>(buffer_[0]) & 0x80U) == 0) {
      data_frame_ = {.type = SpdyType::kData, .stream = stream_id(buffer_, 0), .fin = (buffer_[4] & kFin) != 0};
      if (data_frame_.stream == 0) return broken("data of no stream");
      data_left_ = length;
      if (length == 0) frames.push_back(data_frame_);
    } else if (wanted_ == kFrameHeader && length > 0) {
      if (length > kMaxControl) return broken("a control frame is too large");
      wanted_ = kFrameHeader + length;
      continue;
    } else {
      GW_CHECKED(take_control(frames));
    }
    buffer_.clear();
    wanted_ = kFrameHeader;
  }
  return {};
}

Result<void> SpdyReader::take_control(std::vector<SpdyFrame>& frames) {
  if ((number(buffer_, 0, 2) & 0x7fffU) != kVersion) return broken("not version 3");
  const std::uint32_t type = number(buffer_, 2, 2);
  SpdyFrame frame;
  frame.type = static_cast<SpdyType>(type);
  frame.fin = (buffer_[4] & kFin) != 0;
  const std::string_view payload = std::string_view(buffer_).substr(kFrameHeader);
  // What is not known is to be passed over.
  const bool known = (type >= 1 && type <= 9 && type != 5);
  if (!known) return {};
  if (payload.size() < least_payload(frame.type)) return broken("a frame is cut short");
  switch (frame.type) {
    case SpdyType::kSynStream:
      frame.stream = stream_id(payload, 0);
      GW_CHECKED(read_headers(payload.substr(10), frame.headers));
      break;
    case SpdyType::kSynReply:
    case SpdyType::kHeaders:
      frame.stream = stream_id(payload, 0);
      GW_CHECKED(read_headers(payload.substr(4), frame.headers));
      break;
    case SpdyType::kRstStream:
    case SpdyType::kGoAway:
    case SpdyType::kWindowUpdate:
      frame.stream = stream_id(payload, 0);
      frame.value = number(payload, 4);
      break;
    case SpdyType::kPing:
      frame.value = number(payload, 0);
      break;
    case SpdyType::kSettings:
    case SpdyType::kData:
      break;
  }
  frames.push_back(std::move(frame));
  return {};
}

Result<void> SpdyReader::read_headers(std::string_view block, SpdyHeaders& headers) {
  GW_TRY(const std::string text, inflater_->inflate(block));
  std::string_view rest = text;
  const auto take_text = [&](std::string& into) {
    if (rest.size() < 4) return false;
    const std::uint32_t size = number(rest, 0);
    rest.remove_prefix(4);
    if (size > rest.size()) return false;
    into = rest.substr(0, size);
    rest.remove_prefix(size);
    return true;
  };
  if (rest.size() < 4) return broken("a header block is cut short");
  const std::uint32_t count = number(rest, 0);
  rest.remove_prefix(4);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::pair<std::string, std::string> header;
    if (!take_text(header.first) || !take_text(header.second)) return broken("a header block is cut short");
    headers.push_back(std::move(header));
  }
  return {};
}

class SpdyWriter::Deflater {
 public:
  Deflater() {
    GW_CHECK(::deflateInit(&stream_, Z_DEFAULT_COMPRESSION) == Z_OK);
    const auto& words = spdy_dictionary();
    GW_CHECK(::deflateSetDictionary(&stream_, bytes_of(words), static_cast<uInt>(words.size())) == Z_OK);
  }
  ~Deflater() { ::deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  std::string deflate(std::string_view text) {
    std::string out;
    char piece[4096];
    stream_.next_in = const_cast<Bytef*>(bytes_of(text));
    stream_.avail_in = static_cast<uInt>(text.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(piece);
      stream_.avail_out = sizeof piece;
      ::deflate(&stream_, Z_SYNC_FLUSH);
      out.append(piece, sizeof piece - stream_.avail_out);
    } while (stream_.avail_out == 0);
    return out;
  }

 private:
  z_stream stream_{};
};

SpdyWriter::SpdyWriter() : deflater_(std::make_unique<Deflater>()) {}
SpdyWriter::~SpdyWriter() = default;

std::string SpdyWriter::header_block(const SpdyHeaders& headers) {
  std::string text;
  append_number(text, static_cast<std::uint32_t>(headers.size()));
  for (const auto& [name, value] : headers) {
    append_number(text, static_cast<std::uint32_t>(name.size()));
    text += name;
    append_number(text, static_cast<std::uint32_t>(value.size()));
    text += value;
  }
  return deflater_->deflate(text);
}

void SpdyWriter::syn_stream(std::string& out, std::uint32_t stream, const SpdyHeaders& headers, bool fin) {
  std::string payload;
  append_number(payload, stream);
  append_number(payload, 0);  // belongs to no other stream
  payload.append(2, '\0');    // priority and slot
  payload += header_block(headers);
  append_control(out, SpdyType::kSynStream, fin ? kFin : 0, payload);
}

void SpdyWriter::syn_reply(std::string& out, std::uint32_t stream, const SpdyHeaders& headers, bool fin) {
  std::string payload;
  append_number(payload, stream);
  payload += header_block(headers);
  append_control(out, SpdyType::kSynReply, fin ? kFin : 0, payload);
}

void SpdyWriter::data(std::string& out, std::uint32_t stream, std::string_view bytes, bool fin) {
  do {
    const auto part = bytes.substr(0, kMaxLength);
    bytes.remove_prefix(part.size());
    append_number(out, stream);
    append_number(out, (fin && bytes.empty() ? kFin : 0U) << 24 | static_cast<std::uint32_t>(part.size()));
    out += part;
  } while (!bytes.empty());
}

void SpdyWriter::rst_stream(std::string& out, std::uint32_t stream, std::uint32_t reason) {
  std::string payload;
  append_number(payload, stream);
  append_number(payload, reason);
  append_control(out, SpdyType::kRstStream, 0, payload);
}

void SpdyWriter::ping(std::string& out, std::uint32_t id) {
  std::string payload;
  append_number(payload, id);
  append_control(out, SpdyType::kPing, 0, payload);
}

void SpdyWriter::go_away(std::string& out, std::uint32_t last_stream, std::uint32_t reason) {
  std::string payload;
  append_number(payload, last_stream);
  append_number(payload, reason);
  append_control(out, SpdyType::kGoAway, 0, payload);
}

}  // namespace gangway::agent
