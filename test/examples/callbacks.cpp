// SPDX-License-Identifier: BSL-1.0
// A program without coroutines: three jobs, one after the other, under one lock:
// `callbacks [REDIS_URL]`.
#include <conch/conch.hpp>

#include <boost/asio/io_context.hpp>

#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

using namespace std::chrono_literals;

class job : public std::enable_shared_from_this<job> {
public:
    job(const conch::mutex& m, int number, std::function<void()> ended)
        : mutex_{m}, number_{number}, ended_{std::move(ended)} {}

    void start() {
        auto self = shared_from_this();
        mutex_.async_lock({.wait = 10s}, [self](conch::error_code ec, conch::hold h) {
            if (ec) {
                self->end(ec.message());
                return;
            }
            self->work(std::move(h));
        });
    }

private:
    void work(conch::hold h) {
        std::cout << "job " << number_ << " runs\n";
        hold_ = std::move(h);
        auto self = shared_from_this();
        hold_.async_wait_lost([self](conch::error_code why) {
            if (why) {  // stop what you do; without an error it was released
                std::cout << "job " << self->number_ << ": " << why.message() << "\n";
            }
        });
        hold_.async_unlock([self](conch::error_code ec) {
            self->end(ec ? ec.message() : std::string{"done"});
        });
    }

    void end(const std::string& how) {
        std::cout << "job " << number_ << ": " << how << "\n";
        ended_();
    }

    conch::mutex mutex_;
    int number_;
    std::function<void()> ended_;
    conch::hold hold_{};
};

int main(int argc, char* argv[]) {
    boost::asio::io_context io;
    auto settings = conch::config::from_url(argc > 1 ? argv[1] : "redis://127.0.0.1");
    settings.log = [](conch::log_level level, std::string_view line) {
        if (level >= conch::log_level::warning) {
            std::cerr << "conch: " << line << "\n";
        }
    };
    conch::client redis{io, settings};
    const conch::mutex m{redis, "jobs"};
    int left = 3;
    for (int i = 1; i <= 3; ++i) {
        std::make_shared<job>(m, i, [&] {
            if (--left == 0) {
                redis.async_shutdown([](conch::error_code) {});
            }
        })->start();
    }
    io.run();  // returns after the shutdown
}
