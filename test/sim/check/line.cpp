// SPDX-License-Identifier: BSL-1.0
// A fair lock goes to the waiters in the order in which the server gave them their places, as long
// as these last: to nobody else, and given by a release that nobody hears of for no longer than the
// place.
#include "sim/simulation.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace conch::sim {
namespace {

class line final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "line"; }
    bool of_one_line() const noexcept override { return true; }

    void ran(const script_run& r) override {
        const auto lock = all_.name_in(r);
        if (!lock || all_.how().may_forget() || r.answer.is_error() ||
            !(r.is("acquire") || r.is("release"))) {
            return;
        }
        lock_line& l = lines_[*lock];
        const std::string field{r.args.front()};
        const std::int64_t now = all_.server().wall_clock() / 1000;
        if (r.is("release")) {
            std::erase_if(l.places, [&](const place& p) { return p.field == field; });
        } else if (r.answer.what == reply::kind::integer && r.args[3] != "0") {
            ask(l, field, now, now + to_integer(r.args[3]).value_or(0));
        }
        const std::string* holder =
            all_.server().redis().holder(r.keys.front(), all_.server().wall_clock());
        if (holder && *holder != l.holder) {
            granted(l, *holder, now, r);
        }
        l.holder = holder ? *holder : std::string{};
    }

private:
    struct place {
        std::string field;
        std::int64_t until;
        bool late = false;  ///< it asked when it was over: where it stands is unknown
    };
    struct lock_line {
        std::string holder{};
        std::vector<place> places{};
    };

    static void ask(lock_line& l, const std::string& field, std::int64_t now, std::int64_t until) {
        const auto p = std::find_if(l.places.begin(), l.places.end(),
                                    [&](const place& other) { return other.field == field; });
        if (p == l.places.end()) {
            l.places.push_back({field, until});
        } else {
            p->late = p->late || p->until <= now;
            p->until = until;
        }
    }

    void granted(lock_line& l, const std::string& to, std::int64_t now, const script_run& r) {
        const auto own = std::find_if(l.places.begin(), l.places.end(),
                                      [&](const place& p) { return p.field == to; });
        const bool known = own != l.places.end();
        if (!known || !own->late) {
            for (auto p = l.places.begin(); p != own; ++p) {
                if (!p->late && p->until > now) {
                    violate(to + " gets the lock before " + p->field);
                }
            }
        }
        if (r.is("release") && r.answer.what == reply::kind::integer && r.answer.integer == 0) {
            const std::int64_t left =
                all_.server().redis().left(r.keys.front(), all_.server().wall_clock());
            if (!known || left < 0 || now + left > own->until) {
                violate(to + " is given the lock for longer than its place");
            }
        }
        if (known) {
            l.places.erase(own);
        }
    }

    std::map<std::size_t, lock_line> lines_{};
};

}  // namespace

std::unique_ptr<checker> make_line(simulation& s) { return std::make_unique<line>(s); }

}  // namespace conch::sim
