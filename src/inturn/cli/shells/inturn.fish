# Completion of inturn for fish: inturn completion fish | source
#
# It asks the inturn that is being typed, and so never knows more or less than that.

function __inturn_complete
    set -l words (commandline -opc)
    set -l program $words[1]
    set -e words[1]
    set -l current (commandline -ct)
    set -l answer ("$program" __complete -- $words "$current" 2>/dev/null)
    set -l head (string split -- \t $answer[1])
    set -e answer[1]
    switch $head[1]
        case words
            for line in $answer
                printf '%s\n' "$head[2]$line"
            end
        case files directories
            set -l typed (string sub -s (math (string length -- "$head[2]") + 1) -- "$current")
            if test $head[1] = files
                set answer (__fish_complete_path "$typed")
            else
                set answer (__fish_complete_directories "$typed" '')
            end
            for line in $answer
                printf '%s\n' "$head[2]$line"
            end
        case command
            # Complete what begins at that word as if it were alone on the line.
            set -l command (string escape -- $words[(math $head[2] + 1)..])
            complete -C "$(string join ' ' -- $command "$current")"
    end
end

complete -c inturn -k -f -a '(__inturn_complete)'
