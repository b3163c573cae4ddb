# SPDX-License-Identifier: BSL-1.0
# Completion for bash: source this file, or install it as
# share/bash-completion/completions/conch.

_conch() {
    local current=$2 previous=$3 command=${COMP_WORDS[1]-} options i
    local server='--redis --connect-timeout --help -h'
    local lock="--plain --fair --rw --semaphore $server"
    local terms="-n --nonblock --nb -w --wait --timeout -E --conflict-exit-code -l --lock -s --shared
        --at-most --lease --max-hold --grace --fenced --service -v --verbose -q --quiet $lock"
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(
            compgen -W 'run rate hold ls top who status watch release demo help --help --version' -- "$current")
        return
    fi
    case $command in
        run)
            options="-c --command --at-least --lead --once-per --at --progress-within $terms"
            ;;
        rate)
            options="--limit --per --permits --fixed --burst -w --wait --timeout -E
                --conflict-exit-code -c --command --service -v --verbose -q --quiet $server"
            ;;
        hold) options="-b --background --kill $terms" ;;
        ls) options="--json --sort --held-longer --plain --page --pause $server" ;;
        top) options="--interval --sort --plain --page --pause $server" ;;
        who) options="--json $server" ;;
        status) options="--json $lock" ;;
        watch) options="--json --count $lock" ;;
        release) options="--force $lock" ;;
        demo) options='--processes --coroutines --seconds --redis --help -h' ;;
        help)
            mapfile -t COMPREPLY < <(compgen -W 'run rate hold ls top who status watch release demo' -- "$current")
            return
            ;;
        *) return ;;
    esac
    if [[ $command == run || $command == rate ]]; then
        # Behind NAME, everything belongs to the command that is run.
        for ((i = 2; i < COMP_CWORD; ++i)); do
            case ${COMP_WORDS[i]} in
                -w | --wait | --timeout | -E | --conflict-exit-code | -c | --command | --lease | \
                    -l | --lock | --at-most | --at-least | --progress-within | --once-per | --at | --service | --max-hold | --grace | --limit | --per | --permits | --redis | \
                    --connect-timeout)
                    ((++i))
                    ;;
                -*) ;;
                *)
                    [[ ${COMP_WORDS[i + 1]-} == -- && COMP_CWORD -gt i+1 ]] && ((++i))
                    _conch_command "$current" $((i + 1))
                    return
                    ;;
            esac
        done
    fi
    case $previous in
        -w | --wait | --timeout | -E | --conflict-exit-code | -c | --command | --lease | \
            --at-most | --at-least | --progress-within | --once-per | --at | --max-hold | --grace | --limit | --per | --permits | --redis | --connect-timeout | \
            --service | --held-longer | --interval | --page | --pause | \
            --count | --processes | --coroutines | --seconds)
            return
            ;;
    esac
    if [[ $previous == --sort ]]; then
        mapfile -t COMPREPLY < <(
            compgen -W 'name kind holder service held lease depth waiting fence wants' -- "$current")
        return
    fi
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    fi
}

# The command's own completion where bash-completion is there, else commands and files.
_conch_command() {
    if declare -F _command_offset >/dev/null; then
        _command_offset "$2"
    elif ((COMP_CWORD == $2)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$1")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$1")
    fi
}

complete -F _conch conch
