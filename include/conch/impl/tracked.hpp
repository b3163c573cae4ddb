// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_TRACKED_HPP
#define CONCH_IMPL_TRACKED_HPP

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>

#include <type_traits>
#include <utility>

namespace conch::impl {

/// A handler's executor whose context has work until this is gone. (`executor_work_guard` of
/// Boost 1.81 does not compile for a strand of `any_io_executor`.)
template <typename Executor>
class tracked {
    using tracking = std::decay_t<decltype(boost::asio::prefer(
        std::declval<const Executor&>(), boost::asio::execution::outstanding_work.tracked))>;

public:
    explicit tracked(const Executor& e)
        : executor_{e},
          tracking_{
              boost::asio::prefer(executor_, boost::asio::execution::outstanding_work.tracked)} {}

    const Executor& get_executor() const noexcept { return executor_; }

private:
    Executor executor_;
    tracking tracking_;
};

/// The type is the same with and without work: one of them is enough.
template <>
class tracked<boost::asio::any_io_executor> {
public:
    explicit tracked(const boost::asio::any_io_executor& e)
        : tracking_{boost::asio::prefer(e, boost::asio::execution::outstanding_work.tracked)} {}

    boost::asio::any_io_executor get_executor() const {
        return boost::asio::prefer(tracking_, boost::asio::execution::outstanding_work.untracked);
    }

private:
    boost::asio::any_io_executor tracking_;
};

}  // namespace conch::impl

#endif
