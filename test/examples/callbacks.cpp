// SPDX-License-Identifier: BSL-1.0
// A program without coroutines: three jobs, one after the other, under one lock:
// `callbacks [REDIS_URL]`.
#include <conch/conch.hpp>

#include <boost/asio/io_context.hpp>

#include <iostream>
#include <memory>
#include <utility>

class job : public std::enable_shared_from_this<job> {
public:
    job(const conch::mutex& m, int number) : mutex_{m}, number_{number} {}

    void start() {
        auto self = shared_from_this();
        mutex_.async_lock([self](conch::error_code ec, conch::hold h) {
            if (ec) {
                std::cout << "job " << self->number_ << ": " << ec.message() << "\n";
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
        hold_.async_unlock([self](conch::error_code ec) {
            std::cout << "job " << self->number_ << (ec ? " lost its lock\n" : " is done\n");
        });
    }

    conch::mutex mutex_;
    int number_;
    conch::hold hold_{};
};

int main(int argc, char* argv[]) {
    boost::asio::io_context io;
    conch::client redis{io, conch::config::from_url(argc > 1 ? argv[1] : "redis://127.0.0.1")};
    const conch::mutex m{redis, "jobs"};
    for (int i = 1; i <= 3; ++i) {
        std::make_shared<job>(m, i)->start();
    }
    while (redis.stats().releases < 3 && io.run_one() > 0) {
    }
    redis.async_shutdown([](conch::error_code) {});
    io.run();
}
