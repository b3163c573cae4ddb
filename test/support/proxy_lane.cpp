// SPDX-License-Identifier: BSL-1.0
#include "support/proxy_lane.hpp"

#include "support/resp_frames.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <utility>

namespace conch::test {
namespace {

namespace asio = boost::asio;
using error_code = boost::system::error_code;

/// Long enough for the server to say something else meanwhile.
constexpr std::chrono::milliseconds held_back_for{15};

bool is_message(const std::string& frame) {
    return frame.starts_with('>') && frame.find("\r\nmessage\r\n") < 20;
}

}  // namespace

proxy_lane::proxy_lane(socket& from, socket& to, proxy_damage& damage, bool replies)
    : from_{from},
      to_{to},
      damage_{damage},
      replies_{replies},
      due_{from.get_executor()},
      later_{from.get_executor()} {}

void proxy_lane::start(std::weak_ptr<void> owner, std::function<void()> ended) {
    owner_ = std::move(owner);
    ended_ = std::move(ended);
    read();
}

void proxy_lane::go_on() {
    if (!damage_.reorder) {
        release_pushes();
    }
    read();
    write();
}

void proxy_lane::truncate_after(std::size_t bytes) { left_ = bytes; }

void proxy_lane::inject(std::string bytes) { enqueue(std::move(bytes)); }

void proxy_lane::read() {
    if (reading_ || at_end_ || stalled() || waiting_ > enough || !from_.is_open()) {
        return;
    }
    reading_ = true;
    from_.async_read_some(asio::buffer(buffer_),
                          [this, self = owner_.lock()](error_code ec, std::size_t count) {
                              reading_ = false;
                              at_end_ = at_end_ || ec;
                              admit(count);
                              read();
                              write();
                          });
}

void proxy_lane::admit(std::size_t count) {
    if (swallow_) {
        damage_.swallowed_of_clients += replies_ ? 0 : count;
        return;
    }
    if (!replies_) {
        enqueue(std::string(buffer_.data(), count));
        return;
    }
    unsplit_.append(buffer_.data(), count);
    split();
}

void proxy_lane::split() {
    std::string whole;
    std::size_t at = 0;
    for (;;) {
        const std::size_t length = frame_length(std::string_view{unsplit_}.substr(at));
        if (length == 0) {
            break;
        }
        std::string frame = unsplit_.substr(at, length);
        at += length;
        if (damage_.reorder && is_message(frame)) {
            if (held_back_.empty()) {
                later_.expires_after(held_back_for);
                later_.async_wait([this, self = owner_.lock()](error_code ec) {
                    if (!ec) {
                        release_pushes();
                        write();
                    }
                });
            }
            held_back_.push_back(std::move(frame));
        } else {
            whole += frame;
        }
    }
    unsplit_.erase(0, at);
    enqueue(std::move(whole));
}

void proxy_lane::release_pushes() {
    damage_.reordered += held_back_.size();
    std::reverse(held_back_.begin(), held_back_.end());
    for (std::string& frame : held_back_) {
        enqueue(std::move(frame));
    }
    held_back_.clear();
}

void proxy_lane::enqueue(std::string bytes) {
    if (bytes.empty()) {
        return;
    }
    waiting_ += bytes.size();
    pieces_.push_back({steady::now() + damage_.delay, std::move(bytes)});
    write();
}

void proxy_lane::wait_until(steady::time_point due) {
    due_.expires_at(due);
    due_.async_wait([this, self = owner_.lock()](error_code ec) {
        if (!ec) {
            write();
        }
    });
}

void proxy_lane::write() {
    if (writing_ || stalled()) {
        return;
    }
    if (pieces_.empty()) {
        if (at_end_ && !reading_) {
            end();
        }
        return;
    }
    std::string& front = pieces_.front().bytes;
    if (damage_.delay.count() > 0 && pieces_.front().due > steady::now()) {
        wait_until(pieces_.front().due);
        return;
    }
    if (!to_.is_open()) {
        waiting_ = 0;
        pieces_.clear();
        return;
    }
    writing_ = true;
    const std::size_t most = damage_.dribble ? 1 : front.size();
    to_.async_write_some(asio::buffer(front.data(), std::min(most, left_)),
                         [this, self = owner_.lock()](error_code ec, std::size_t count) {
                             writing_ = false;
                             if (ec) {
                                 end();
                                 return;
                             }
                             damage_.passed += count;
                             damage_.dribbled += damage_.dribble ? 1 : 0;
                             waiting_ -= std::min(waiting_, count);
                             left_ -= count;
                             if (!pieces_.empty()) {
                                 pieces_.front().bytes.erase(0, count);
                                 if (pieces_.front().bytes.empty()) {
                                     pieces_.pop_front();
                                 }
                             }
                             if (left_ == 0) {
                                 end();
                                 return;
                             }
                             read();
                             write();
                         });
}

void proxy_lane::end() {
    due_.cancel();
    later_.cancel();
    if (ended_) {
        std::exchange(ended_, nullptr)();
    }
}

}  // namespace conch::test
