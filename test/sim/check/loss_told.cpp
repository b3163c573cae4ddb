// SPDX-License-Identifier: BSL-1.0
// A hold that the server misses when it is asked to renew it is told as lost in the turn in which
// the client gets that answer: also by a master that took over, or that rules beside the old one.
// Where its hash slot moves, the client may have given up that question: then by the next answer.
#include "sim/simulation.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace conch::sim {
namespace {

class loss_told final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "loss_told"; }

    void ran(const script_run& r) override {
        for (std::size_t i = 0; r.is("renew") && i < r.answer.items.size(); ++i) {
            const reply& one = r.answer.items[i];
            if (one.what == reply::kind::integer && one.integer == 0) {
                missed_.push_back({r.client, r.line, std::string{r.args[2 * i]}});
            }
        }
        if (r.script == "shared_downgrade" && r.answer.what == reply::kind::integer &&
            r.answer.integer == 0) {
            missed_.push_back({r.client, r.line, std::string{r.args[1]}, true});
        }
    }

    void turned(std::uint64_t client) override {
        std::erase_if(missed_, [&](const missing& m) {
            const bool arrived = m.client == client && all_.net().has_delivered(m.line) &&
                                 !all_.clients()[client]->has_unread();
            if (arrived) {
                look(m);
            }
            return arrived || all_.net().closed_at(m.line) >= 0;
        });
    }

private:
    struct missing {
        std::uint64_t client;
        std::uint64_t line;
        std::string field;
        bool as_either = false;  ///< a downgrade finds neither the writer nor the reader
    };

    void look(const missing& m) {
        for (const held& h : all_.holds()) {
            const bool is_it = m.as_either
                                   ? all_.reader_of(h) == m.field
                                   : all_.field_of(h) == m.field && !all_.may_be_downgraded(h);
            const bool told = h.view->lost.load() != 0;
            if (h.client == m.client && is_it && !told && !is_elsewhere(h, m.line) &&
                !(has_moved(h) && let_off_.insert(m.field).second)) {
                violate("user " + std::to_string(h.user) + " isn't told that the server misses " +
                        m.field);
            }
        }
    }

    /// Its hash slot went to another server than that of the line: the client asks there instead.
    bool is_elsewhere(const held& h, std::uint64_t line) const {
        return has_moved(h) && !all_.server().is_home(line, all_.spec(h.name)->name());
    }
    bool has_moved(const held& h) const {
        return all_.server().has_moved(all_.spec(h.name)->name());
    }

    std::vector<missing> missed_{};
    std::set<std::string> let_off_{};  // by one answer
};

}  // namespace

std::unique_ptr<checker> make_loss_told(simulation& s) { return std::make_unique<loss_told>(s); }

}  // namespace conch::sim
